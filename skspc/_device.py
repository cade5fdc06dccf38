"""The one door to torch devices, and from numpy to torch and back."""

import os
import threading
from contextlib import ExitStack, contextmanager, suppress

import numpy as np
import torch
from threadpoolctl import threadpool_limits

VALUES_PER_THREAD = 400_000  # input values in one operation that make another CPU thread worth its while
BFLOAT16_CAPABILITY = (8, 0)  # of a CUDA device (Ampere and later)
RESIDENT_SHARE = 0.5  # of a GPU's free memory that the rows may take; beyond, batches are sent one by one


def resolve_device(device):
    """Return the torch device that ``device`` names.

    Parameters
    ----------
    device : str or torch.device
        "auto" is CUDA where it is available and the CPU elsewhere.

    Returns
    -------
    device : torch.device

    Raises
    ------
    ValueError
        If torch does not know the name, or the device is not on this machine.
    """
    if isinstance(device, str) and device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        resolved = torch.device(device)
        torch.zeros(1, device=resolved).cpu()
    except (RuntimeError, AssertionError, NotImplementedError, TypeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(
            f"device={device!r} cannot be used on this machine ({reason}). Pass device='auto', "
            "which takes a CUDA device where there is one and the CPU elsewhere."
        ) from error
    return resolved


def training_devices(device):
    """Return the devices that members are dealt to: all CUDA devices where none is named by its index."""
    if device.type == "cuda" and device.index is None:
        return [torch.device("cuda", index) for index in range(torch.cuda.device_count())]
    return [device]


def free_memory(device):
    """Bytes free on a CUDA device, with those that torch keeps for later; None for others, which do not tell."""
    if device.type != "cuda":
        return None
    kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return torch.cuda.mem_get_info(device)[0] + kept


def memory_beside_rows(device, n_row_bytes):
    """Bytes free on a CUDA device once `place_rows` has put rows there; None for others."""
    free = free_memory(device)
    return free if free is None or n_row_bytes > RESIDENT_SHARE * free else free - n_row_bytes


@contextmanager
def reproducible(device):
    """Let cuDNN sum in the same order each time, so that a seed gives the same weights."""
    if device.type != "cuda":
        yield
        return
    cudnn = torch.backends.cudnn
    before = cudnn.deterministic, cudnn.benchmark
    cudnn.deterministic, cudnn.benchmark = True, False
    try:
        yield
    finally:
        cudnn.deterministic, cudnn.benchmark = before


cuda_memory_lock = threading.Lock()  # torch's memory is not to be released while a graph is recorded


def release_memory(device):
    """Give back to the device what torch keeps for later."""
    if device.type == "cuda":
        with cuda_memory_lock, suppress(RuntimeError):  # torch 2.5 refuses once a recording has broken off
            torch.cuda.empty_cache()


def resolve_precision(precision, device):
    """Return the dtype of the products in training.

    Parameters
    ----------
    precision : {"auto", "float32", "bfloat16"}
        "auto" is bfloat16 on CUDA devices whose hardware has it, and float32 elsewhere: on the CPU it saves no time.
    device : torch.device

    Returns
    -------
    dtype : torch.dtype
    """
    if precision == "auto" and device.type == "cuda":
        capabilities = [torch.cuda.get_device_capability(each) for each in training_devices(device)]
        return torch.bfloat16 if min(capabilities) >= BFLOAT16_CAPABILITY else torch.float32
    return torch.bfloat16 if precision == "bfloat16" else torch.float32


# A process that was forked lacks the threads of GNU's OpenMP that its parent had, and torch waits for them forever.
_forked = threading.Event()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked.set)


@contextmanager
def own_torch_modes():
    """Compute in torch's ordinary modes, whatever the caller's: no_grad, inference, autocast, another default device.

    These are modes of the thread, and its own again afterwards. (The default dtype is the whole process's: it is not
    touched, and nothing here goes by it.) In a forked process there is one thread.
    """
    with ExitStack() as modes:
        if _forked.is_set():
            modes.enter_context(thread_limit(1))
        modes.enter_context(torch.inference_mode(False))
        modes.enter_context(torch.enable_grad())
        for device in ("cpu", *["cuda"] * torch.cuda.is_available()):
            modes.enter_context(torch.autocast(device, enabled=False))
        if torch.get_default_device().type != "cpu":  # setting it costs time at each operation
            modes.enter_context(torch.device("cpu"))
        yield


def place_rows(X, device):
    """Rows where batches are taken from: on the device if they fit there, else where they are.

    Parameters
    ----------
    X : ndarray of shape (N, *input_shape)
    device : torch.device

    Returns
    -------
    X : ndarray or tensor
    """
    if device.type == "cpu":
        return X
    free = free_memory(device)
    return to_tensor(X, device) if free is None or X.nbytes <= RESIDENT_SHARE * free else X


def take_rows(X, index, device):
    """Take rows as a batch for a network.

    Parameters
    ----------
    X : ndarray or tensor of shape (N, *input_shape)
        Of `place_rows`. Bytes are images, and are scaled from 0..255 to [-1, 1].
    index : tensor of int, or slice
    device : torch.device

    Returns
    -------
    batch : tensor of shape (*index.shape, *input_shape), floating, on the device
    """
    if isinstance(X, np.ndarray):
        batch = to_tensor(X[index if isinstance(index, slice) else to_numpy(index)], device)
    else:
        batch = X[index]
    return batch.float() / 127.5 - 1 if batch.dtype == torch.uint8 else batch


def inference_device(device):
    """Return the device for float64 inference: ``device``, or the CPU where it cannot serve.

    A model fitted on a GPU predicts on a machine without one, and Apple's MPS has no float64.
    """
    try:
        resolved = resolve_device(device)
    except ValueError:
        return torch.device("cpu")
    return torch.device("cpu") if resolved.type == "mps" else resolved


@contextmanager
def threads_shared(n_tasks, n_values=None, n_jobs=None):
    """Share the threads of torch, BLAS and OpenMP between tasks in threads; afterwards, the caller's numbers again.

    Threads that wait for each other at every operation are slow as soon as another process wants a core: 5 members on
    256 images of 16 x 16 took 0.17 s a step on one thread and 1.8 s on two, on two cores with one other process busy.

    Parameters
    ----------
    n_tasks : int
    n_values : int, optional
        Input values of one operation, which is given no more threads than these can feed.
    n_jobs : int, optional
        Tasks to run at once, if not as many as there are threads. The threads of each do not depend on it, since the
        last digits of its sums depend on them.

    Yields
    ------
    n_workers : int
        Tasks to run at once, in threads that are started inside: torch's number is theirs from their start.
    """
    with torch_threads_kept():
        budget = torch.get_num_threads()
        n_workers = max(1, min(budget, n_tasks))
        of_each = budget // n_workers
        if n_values is not None:
            of_each = min(of_each, 1 + n_values // VALUES_PER_THREAD)
        with thread_limit(of_each):
            yield n_workers if n_jobs is None else max(1, min(n_jobs, n_tasks))


@contextmanager
def thread_limit(n_threads):
    """Give each operation of torch, BLAS and OpenMP so many threads; afterwards, the numbers before."""
    with torch_threads_kept(), threadpool_limits(n_threads):
        torch.set_num_threads(n_threads)
        yield


_kept_lock = threading.Lock()
_kept: list[int] = []  # torch's number before the first of those who now keep it, once for each of them


@contextmanager
def torch_threads_kept():
    """Give torch back its number of threads afterwards: numba's first parallel function sets it, through OpenMP.

    The number is the process's. Of fits that overlap in threads the last to end brings back what the first one found.
    """
    own = torch.get_num_threads()
    with _kept_lock:
        _kept.append(_kept[0] if _kept else own)
    try:
        yield
    finally:
        with _kept_lock:
            original = _kept.pop()
            torch.set_num_threads(own if _kept else original)


def to_tensor(array, device):
    """Bring a numpy array to a device; its memory is shared where that is the CPU and it can be written to."""
    return torch.from_numpy(array if array.flags.writeable else array.copy()).to(device)


def to_numpy(tensor):
    """Bring a tensor to the CPU as a numpy array."""
    return tensor.detach().cpu().numpy()
