"""Settings of the whole process, while any thread needs them."""

import threading
from contextlib import ExitStack, contextmanager


def shared_by_threads(context):
    """Make a context that overlapping threads share: the first to enter sets up, and the last to leave restores.

    ``context`` returns a context manager, e.g. `warnings.catch_warnings`, of which threads that overlap would leave the
    settings of one to the others, and to the caller. What is returned does too.
    """
    lock, stack, n_entered = threading.Lock(), ExitStack(), 0

    @contextmanager
    def shared():
        nonlocal n_entered
        with lock:
            if n_entered == 0:
                stack.enter_context(context())
            n_entered += 1
        try:
            yield
        finally:
            with lock:
                n_entered -= 1
                if n_entered == 0:
                    stack.close()

    return shared
