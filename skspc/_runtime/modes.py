"""Modes of torch: those that a fit computes in, whatever the caller's, which are the caller's again afterwards."""

from contextlib import ExitStack, contextmanager

import torch

from .threads import forked, thread_limit


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


@contextmanager
def own_torch_modes():
    """Compute in torch's ordinary modes, whatever the caller's: no_grad, inference, autocast, another default device.

    These are modes of the thread, and its own again afterwards. (The default dtype is the whole process's: it is not
    touched, and nothing here goes by it.) In a forked process there is one thread.
    """
    with ExitStack() as modes:
        if forked.is_set():
            modes.enter_context(thread_limit(1))
        modes.enter_context(torch.inference_mode(False))
        modes.enter_context(torch.enable_grad())
        for device in ("cpu", *["cuda"] * torch.cuda.is_available()):
            modes.enter_context(torch.autocast(device, enabled=False))
        if torch.get_default_device().type != "cpu":  # setting it costs time at each operation
            modes.enter_context(torch.device("cpu"))
        yield
