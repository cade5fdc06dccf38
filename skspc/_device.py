"""The one door to torch devices, and from numpy to torch and back."""

from contextlib import contextmanager

import torch

SMALL_STEP = 100_000  # input values in one step, below which a second thread costs more than it brings


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
        torch.empty(0, device=resolved)
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
def threads_for(n_values):
    """Use one CPU thread for steps of few input values; the caller's setting comes back afterwards.

    On two cores, 5 members on batches of 64 images of 8 x 8 train as fast on one thread as on two; and two threads
    that wait for each other at every operation are many times slower as soon as another process wants a core.
    """
    before = torch.get_num_threads()
    if n_values < SMALL_STEP:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def to_numpy(tensor):
    """Bring a tensor to the CPU as a numpy array."""
    return tensor.detach().cpu().numpy()
