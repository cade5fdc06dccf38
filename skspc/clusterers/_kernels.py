"""The lock under which numba's parallel kernels run."""

import threading

# Where numba's threading layer is "workqueue", kernels in two threads at once end the process. Labellings run in
# threads, so whatever calls pynndescent or fast-hdbscan holds this.
KERNELS_LOCK = threading.Lock()
