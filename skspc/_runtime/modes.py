"""Modes of torch: those that a fit computes in, whatever the caller's, which are the caller's again afterwards."""

from contextlib import ExitStack, contextmanager, nullcontext, suppress
from typing import Any

import torch

from .shared import shared_by_threads
from .threads import forked, thread_limit

# Of torch 2.9 and later: what may round products of float32, by backend and operation.
_PRECISIONS = [("cuda", "matmul"), ("cudnn", "conv"), ("mkldnn", "matmul"), ("mkldnn", "conv")]
_EXACT = ("none", "ieee")


@shared_by_threads
@contextmanager
def float32_as_it_is():
    """Multiply float32 in float32, whatever was set for the process: `torch.set_float32_matmul_precision` and the like.

    Older and newer settings are both set, and set back, so that torch does not find them at odds.
    """
    products, convolutions = "highest", False
    with suppress(RuntimeError):  # whoever has set newer ones cannot read the older ones
        products = torch.get_float32_matmul_precision()
    with suppress(RuntimeError):
        convolutions = torch.backends.cudnn.allow_tf32
    found: list[Any] = [getattr(getattr(torch.backends, backend), name, None) for backend, name in _PRECISIONS]
    newer = [(flags, flags.fp32_precision) for flags in found if hasattr(flags, "fp32_precision")]
    if products != "highest":
        torch.set_float32_matmul_precision("highest")
    if convolutions:
        torch.backends.cudnn.allow_tf32 = False
    for flags, precision in newer:
        if precision not in _EXACT:
            flags.fp32_precision = "ieee"
    try:
        yield
    finally:
        if products != "highest":
            torch.set_float32_matmul_precision(products)
        if convolutions:
            torch.backends.cudnn.allow_tf32 = True
        for flags, precision in newer:
            if flags.fp32_precision != precision:
                flags.fp32_precision = precision


def reproducible(device):
    """Let cuDNN sum in the same order each time, so that a seed gives the same weights."""
    return _cudnn_repeats() if device.type == "cuda" else nullcontext()


@shared_by_threads
@contextmanager
def _cudnn_repeats():
    cudnn = torch.backends.cudnn
    before = cudnn.deterministic, cudnn.benchmark
    cudnn.deterministic, cudnn.benchmark = True, False
    try:
        yield
    finally:
        cudnn.deterministic, cudnn.benchmark = before


@contextmanager
def ordinary_torch_modes():
    """Compute in torch's ordinary modes, whatever the caller's: no_grad, inference, autocast, another default device.

    These are modes of the thread, and its own again afterwards; so are those of `float32_as_it_is`, which are the
    process's. (The default dtype is not touched, and nothing here goes by it.) In a forked process there is one thread.
    """
    with ExitStack() as modes:
        if forked.is_set():
            modes.enter_context(thread_limit(1))
        modes.enter_context(float32_as_it_is())
        modes.enter_context(torch.inference_mode(False))
        modes.enter_context(torch.enable_grad())
        for device in ("cpu", *["cuda"] * torch.cuda.is_available()):
            modes.enter_context(torch.autocast(device, enabled=False))
        if torch.get_default_device().type != "cpu":  # setting it costs time at each operation
            modes.enter_context(torch.device("cpu"))
        yield
