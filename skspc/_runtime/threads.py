"""Threads of torch, BLAS and OpenMP: shared out between tasks, and the caller's numbers again afterwards."""

import os
import threading
from contextlib import contextmanager

import torch
from threadpoolctl import threadpool_limits

VALUES_PER_THREAD = 400_000  # input values in one operation that make another CPU thread worth its while

# A process that was forked lacks the threads of GNU's OpenMP that its parent had, and torch waits for them forever.
forked = threading.Event()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forked.set)


@contextmanager
def threads_shared(n_tasks, n_values=None, n_jobs=None, n_shares=None):
    """Share the threads of torch, BLAS and OpenMP between tasks in threads; afterwards, the caller's numbers again.

    Threads that wait for each other at every operation are slow as soon as another process wants a core: 5 members on
    256 images of 16 x 16 took 0.17 s a step on one thread and 1.8 s on two, on two cores with one other process busy.

    Parameters
    ----------
    n_tasks : int
    n_values : int, optional
        Input values of one share's operation, which is given no more threads than these can feed.
    n_jobs : int, optional
        Tasks to run at once, if not as many as there are threads.
    n_shares : int, optional
        Shares of the threads, of which each operation has one: what the tasks are made of, if not the tasks themselves.
        The last digits of sums depend on the threads of an operation, which thus go neither by how the work is cut into
        tasks nor by ``n_jobs``.

    Yields
    ------
    n_workers : int
        Tasks to run at once, in threads that are started inside: torch's number is theirs from their start.
    """
    with torch_threads_kept():
        budget = torch.get_num_threads()
        of_each = max(1, budget // max(1, n_tasks if n_shares is None else n_shares))
        if n_values is not None:
            of_each = min(of_each, 1 + n_values // VALUES_PER_THREAD)
        with thread_limit(of_each):
            yield max(1, min(budget if n_jobs is None else n_jobs, n_tasks))


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
