"""Independent pieces of work side by side: in threads, or wherever joblib is configured to run them."""

import threading
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from queue import Empty, PriorityQueue

import torch
from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from joblib.parallel import get_active_backend

from .modes import float32_as_it_is
from .threads import thread_limit, threads_shared


def jobs_at_once(n_jobs):
    """Jobs that ``n_jobs`` or joblib's configuration asks for; None if neither does (one job there counts as none)."""
    n_configured = effective_n_jobs(n_jobs)
    return None if n_jobs is None and n_configured == 1 else n_configured


def is_distributed():
    """Whether joblib is configured to run jobs outside this process: in other processes, or on a cluster."""
    backend, _ = get_active_backend(prefer="threads")
    return not getattr(backend, "supports_sharedmem", False)


@contextmanager
def scattered(array):
    """Keep an array that many jobs take on all workers of a dask cluster; elsewhere there is nothing to do.

    It is joblib's own ``scatter``; without it the array would travel anew for each round.
    """
    backend, n_jobs = get_active_backend(prefer="threads")
    if not hasattr(backend, "data_futures"):
        yield
        return
    settings = {"client": backend.client, "wait_for_workers_timeout": backend.wait_for_workers_timeout}
    with parallel_config("dask", n_jobs=n_jobs, scatter=[array], **settings, **backend.submit_kwargs):
        yield


def run_elsewhere(function, shared, arguments, n_values, n_jobs, n_shares):
    """Call ``function(shared, *arguments[i])`` for each i by joblib's configured backend; the results in order.

    Arguments are sent as one tuple: dask takes large arrays out of the arguments of a job and holds them on one worker,
    and with that worker they are lost for the retry.
    """
    with threads_shared(len(arguments), n_values, n_shares=n_shares):
        n_threads = torch.get_num_threads()
    run = Parallel(n_jobs=n_jobs)
    return run(delayed(_run_here)(function, n_threads, shared, of_job) for of_job in arguments)


def _run_here(function, n_threads, shared, arguments):
    with float32_as_it_is(), thread_limit(n_threads):
        return function(shared, *arguments)


def run_side_by_side(runs, n_values, n_jobs=None, n_shares=None):
    """Advance generators to their ends, several at once, and return a list of what each returned.

    A worker takes the generator that is furthest behind, advances it by one step and puts it back: so five generators
    keep two workers busy to the end. What one computes depends on neither the number of workers nor their order.
    Numbers of values, jobs and shares are those of `skspc._runtime.threads.threads_shared`.

    Threads share nothing that they wait for, other than inside an operation: five autoencoders on batches of 256 images
    of 16 x 16 took 29 ms a member and step on one thread, 13 ms in threads of their own on two cores, and 17 ms with
    every operation split over both cores, which is many times as slow once another process wants a core.
    """
    returned = [None] * len(runs)
    waiting: PriorityQueue = PriorityQueue()
    for index in range(len(runs)):
        waiting.put((0, index))
    stop = threading.Event()

    def work():
        while not stop.is_set():
            try:
                n_steps, index = waiting.get_nowait()
            except Empty:  # each generator left is in another worker's hands
                return
            try:
                next(runs[index])
                waiting.put((n_steps + 1, index))
            except StopIteration as end:
                returned[index] = end.value

    with threads_shared(len(runs), n_values, n_jobs, n_shares) as n_workers:
        if n_workers == 1:
            work()
            return returned
        with ThreadPoolExecutor(n_workers, thread_name_prefix="skspc") as pool:
            futures = [pool.submit(work) for _ in range(n_workers)]
            try:
                wait(futures, return_when=FIRST_EXCEPTION)
            finally:
                stop.set()  # the others, after the step they are at
            for future in futures:
                future.result()
    return returned


def map_side_by_side(function, items, n_values, n_jobs=None, n_shares=None):
    """Call a function on each item, several at once; the results in order."""

    def call_once(item):
        return function(item)
        yield  # a generator without steps

    return run_side_by_side([call_once(item) for item in items], n_values, n_jobs, n_shares)
