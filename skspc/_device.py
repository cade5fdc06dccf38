"""The one door to torch devices, and from numpy to torch and back."""

import threading
from contextlib import contextmanager

import torch
from threadpoolctl import threadpool_limits

VALUES_PER_THREAD = 400_000  # input values in one operation that make another CPU thread worth its while


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
def threads_shared(n_tasks, n_values=None):
    """Share the threads of torch, BLAS and OpenMP between tasks in threads; afterwards, the caller's numbers again.

    Threads that wait for each other at every operation are slow as soon as another process wants a core: 5 members on
    256 images of 16 x 16 took 0.17 s a step on one thread and 1.8 s on two, on two cores with one other process busy.

    Parameters
    ----------
    n_tasks : int
    n_values : int, optional
        Input values of one operation, which is given no more threads than these can feed.

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
        with threadpool_limits(of_each):
            torch.set_num_threads(of_each)
            yield n_workers


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


def to_numpy(tensor):
    """Bring a tensor to the CPU as a numpy array."""
    return tensor.detach().cpu().numpy()
