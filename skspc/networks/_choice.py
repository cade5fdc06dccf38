"""Grouped convolutions or windows: which of the two a layer uses on a CUDA device.

Each layer that convolves has both, as methods that take images, weight and bias. Elsewhere convolutions are grouped.
"""

import threading

import torch

N_TIMES = 5  # both ways are timed, after one time that is not
CLEARLY_FASTER = 0.75  # share of the other's time: close to a tie, another process is to choose alike

_by_windows: dict[tuple, bool] = {}  # what was found, for this process
_one_measures = threading.Lock()  # of the threads: what another does on a card would be in the time


def way_to_convolve(layer, x):
    """The layer's method that is to convolve images x (B, K*in, H, W)."""
    return layer.by_windows if x.device.type == "cuda" and goes_by_windows(layer, x) else layer.grouped


def goes_by_windows(layer, x):
    """Whether windows are to make it, on CUDA: as was measured for this shape, here and now if need be.

    A step is recorded after it has run, and thus finds its shapes measured; a recording itself cannot wait for a time.
    """
    key = (type(layer), layer.geometry, layer.weight.shape, x.shape, x.device, *_modes(x))
    if key not in _by_windows:
        if torch.cuda.is_current_stream_capturing():
            return estimated(layer)
        with _one_measures:
            if key not in _by_windows:
                _by_windows[key] = measured(layer, x)
    return _by_windows[key]


def _modes(x):
    """What else the time goes by: the dtype of products, and which gradients there are."""
    dtype = torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else x.dtype
    return dtype, torch.is_grad_enabled(), x.requires_grad


def estimated(layer):
    """Whether windows should be faster, by what either moves and computes: no card was asked.

    cuDNN computes groups of few channels at a hundredth of a card's speed, but one group is an ordinary convolution.
    """
    return layer.n_members > 1


def measured(layer, x):
    """Whether windows are faster by the clock, there and back; as estimated where neither is clearly."""
    arguments = [tensor.detach().requires_grad_(tensor.requires_grad) for tensor in (x, layer.weight, layer.bias)]
    grouped, by_windows = (_milliseconds(way, arguments) for way in (layer.grouped, layer.by_windows))
    if estimated(layer):
        return not grouped < CLEARLY_FASTER * by_windows
    return by_windows < CLEARLY_FASTER * grouped


def _milliseconds(way, arguments):
    """Least time that a way took; infinite if it fails, as for lack of memory."""
    wanted = [tensor for tensor in arguments if tensor.requires_grad]
    times = []
    try:
        with torch.cuda.device(arguments[0].device):
            for _ in range(1 + N_TIMES):
                begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                begin.record()
                maps = way(*arguments)
                if maps.requires_grad:
                    torch.autograd.grad(maps, wanted, maps.detach())
                end.record()
                times.append((begin, end))
            end.synchronize()
    except RuntimeError:
        return float("inf")
    return min(begin.elapsed_time(end) for begin, end in times[1:])
