"""Devices and precisions by name: the one door to what torch computes on."""

import warnings

import torch

_REFUSALS = (RuntimeError, AssertionError, NotImplementedError, TypeError)  # what torch raises for a device
BFLOAT16_CAPABILITY = (8, 0)  # of a CUDA device (Ampere and later)


def resolve_device(device):
    """Return the torch device that a name stands for; "auto" is CUDA where it works and the CPU elsewhere.

    A RuntimeWarning tells of CUDA that is there and does not work; a ValueError of a name that torch does not
    know, and of a device that is not on this machine.
    """
    if isinstance(device, str) and device == "auto":
        return _cuda_if_it_works() if torch.cuda.is_available() else torch.device("cpu")
    try:
        return _probed(device)
    except _REFUSALS as error:
        reason = _first_line(error)
        raise ValueError(
            f"device={device!r} cannot be used on this machine ({reason}). Pass device='auto', "
            "which takes a CUDA device where there is one and the CPU elsewhere."
        ) from error


def _probed(device):
    """The device of that name, on which a kernel has run and a value has come back; else one of `_REFUSALS`."""
    resolved = torch.device(device)
    torch.zeros(1, device=resolved).cpu()
    return resolved


def _cuda_if_it_works():
    """CUDA, or the CPU where torch finds a card and cannot use it: in a forked process, or without kernels for it."""
    try:
        return _probed("cuda")
    except _REFUSALS as error:
        warnings.warn(
            f"device='auto' takes the CPU: torch finds a CUDA device and cannot use it ({_first_line(error)}). Pass "
            "device='cpu' if that is meant; else start processes by 'spawn', or install a torch that has kernels for "
            "this card.",
            RuntimeWarning,
            stacklevel=3,
        )
        return torch.device("cpu")


def _first_line(error):
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def training_devices(device):
    """Return the devices that members are dealt to: all CUDA devices where none is named by its index."""
    if device.type == "cuda" and device.index is None:
        return [torch.device("cuda", index) for index in range(torch.cuda.device_count())]
    return [device]


def inference_device(device):
    """Return the device for float64 inference: ``device``, or the CPU where it cannot serve.

    A model fitted on a GPU predicts on a machine without one, and Apple's MPS has no float64.
    """
    try:
        resolved = resolve_device(device)
    except ValueError:
        return torch.device("cpu")
    return torch.device("cpu") if resolved.type == "mps" else resolved


def resolve_precision(precision, device):
    """Return the dtype of the products in training.

    "auto" is bfloat16 on CUDA devices whose hardware has it, and float32 elsewhere: on the CPU it saves no time.
    """
    if precision == "auto" and device.type == "cuda":
        capabilities = [torch.cuda.get_device_capability(each) for each in training_devices(device)]
        return torch.bfloat16 if min(capabilities) >= BFLOAT16_CAPABILITY else torch.float32
    return torch.bfloat16 if precision == "bfloat16" else torch.float32
