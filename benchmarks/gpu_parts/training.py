"""Seconds of an epoch of pretraining, and what of it goes to convolutions, recording and sums that repeat.

The network is the shipped one for 28 x 28 images: strided 3 x 3 convolutions, 32-64-128.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import product

import torch

from skspc._ensemble.ensemble import Ensemble
from skspc._ensemble.plan import TrainingPlan, auto_batch_size
from skspc._method.objectives import Reconstruction
from skspc._runtime.devices import resolve_precision
from skspc._runtime.modes import ordinary_torch_modes, reproducible
from skspc._runtime.steps import CudaRecorder
from skspc.networks import ConvNetwork, _choice
from skspc.networks._layers import MemberConv2d, MemberConvTranspose2d

from .plain import plain_epoch
from .rows import N_ROWS, Found, Row, bar, random_images, timed

EPOCH_BAR = 1.0  # seconds, 70 000 rows and 15 members, as a fit has it
N_EPOCHS = 3  # of those measured, together
PATIENCE = 10.0  # seconds: a longer epoch is counted from a tenth of it
PRECISIONS = (torch.bfloat16, torch.float32)
MODES = {"as in a fit": (True, True), "not recorded": (False, True), "sums in any order": (True, False)}


class Always(dict):
    """What `_choice` is to know: every shape was measured, with one outcome."""

    def __init__(self, by_windows):
        super().__init__()
        self.by_windows = by_windows

    def __contains__(self, shape):
        return True

    def __missing__(self, shape):
        return self.by_windows


@contextmanager
def knowing(measured) -> Iterator[None]:
    """Convolve as if these were what was measured of the two ways: an empty dict is to measure anew."""
    before, _choice._by_windows = _choice._by_windows, measured
    try:
        yield
    finally:
        _choice._by_windows = before


@contextmanager
def training_mode(recorded, repeatable, device):
    """Train as a fit does, or without recorded steps, or without sums that repeat."""
    before = CudaRecorder.is_broken
    CudaRecorder.is_broken = before or not recorded
    try:
        with ordinary_torch_modes(), reproducible(device) if repeatable else nullcontext():
            yield
    finally:
        CudaRecorder.is_broken = before


def epoch_rows(job):
    """By way to convolve and precision."""
    on_card = job.device.type == "cuda"  # elsewhere there is one way
    ways = {"the way chosen": dict, "grouped": partial(Always, False), "by windows": partial(Always, True)}
    n_rows = job.part_of(N_ROWS)
    return [
        Row(f"epoch of {n_rows} x {job.n_members}, {name_of(precision)}, {way}", partial(by_way, job, precision, make))
        for precision, (way, make) in product(PRECISIONS, list(ways.items())[: 3 if on_card else 1])
    ]


def name_of(precision):
    return str(precision).removeprefix("torch.")


def by_way(job, precision, make_known):
    known = make_known()
    with knowing(known):
        seconds, note = seconds_of_epoch(job, precision)
    found = list(known.values())
    if found:
        note = f"by windows {sum(found)} of {len(found)} shapes; {note}"
    is_chosen = type(known) is dict and precision == resolve_precision("auto", job.device)
    return Found(f"{seconds:.2f} s", bar(seconds, EPOCH_BAR, job.is_whole and is_chosen), note)


def seconds_of_epoch(job, precision, batch_size="auto", mode="as in a fit"):
    """Seconds of an epoch, and how they were found: from a tenth of it where that is long."""
    X = random_images(job.part_of(N_ROWS))[0][:, None]
    if batch_size == "auto":
        batch_size = auto_batch_size(len(X), X.shape[1:])
    ensemble = Ensemble(
        ConvNetwork(), X.shape[1:], 0, job.n_members, job.device, batch_size=batch_size, precision=precision
    )
    few = X[: max(2 * batch_size, len(X) // 10)]
    share = len(few) / len(X)

    def train(rows, n_epochs):
        plan = TrainingPlan(n_epochs, min(batch_size, len(rows)), 1e-3)
        return timed(lambda: ensemble.train(Reconstruction(rows), plan), job.device)[1] / n_epochs

    with training_mode(*MODES[mode], job.device):
        tried = [train(few, 1) / share for _ in range(2)]  # the first measures ways and fills caches
        if tried[1] > PATIENCE:
            return tried[1], f"counted from {len(few)} rows; batches of {batch_size}"
        return train(X, N_EPOCHS), f"mean of {N_EPOCHS} epochs in a row; batches of {batch_size}"


def mode_rows(job):
    """By batch size, recording and order of sums; and beside modules of plain torch."""
    modes = MODES if job.device.type == "cuda" else list(MODES)[:1]
    rows = [
        Row(f"epoch, {name_of(precision)}, batches of {batch_size}, {mode}", partial(by_mode, job, *of_row))
        for of_row in product(PRECISIONS, (256, 1024), modes)
        for precision, batch_size, mode in [of_row]
    ]
    for precision in PRECISIONS:
        what = f"epoch, {name_of(precision)}, {job.n_members} compiled modules of plain torch, one by one"
        rows.append(Row(what, partial(compiled, job, precision)))
    return rows


def by_mode(job, precision, batch_size, mode):
    seconds, note = seconds_of_epoch(job, precision, batch_size, mode)
    return Found(f"{seconds:.2f} s", note=note)


def compiled(job, precision):
    X, _ = random_images(job.part_of(N_ROWS))
    return Found(f"{job.n_members * plain_epoch(X[:, None], precision, job.device):.2f} s", note="one is measured")


def convolution_rows(job):
    """Each convolution down and up, forward and back, in either way."""
    rows, batch_size = [], min(256, job.part_of(N_ROWS))
    for n_in, n_out, size in ((1, 32, 28), (32, 64, 14), (64, 128, 7)):
        for kind in ("down", "up"):
            what = f"convolution {kind}, {n_in} x {size} x {size}, {job.n_members} x {batch_size}, bfloat16"
            rows.append(Row(what, partial(convolution, job, kind, n_in, n_out, size, batch_size)))
    return rows


def convolution(job, kind, n_in, n_out, size, batch_size):
    """Milliseconds of one layer by either way, which give the same."""
    generators = [torch.Generator().manual_seed(i) for i in range(job.n_members)]
    if kind == "down":
        layer, n_channels, side = MemberConv2d(n_in, n_out, 2, generators), n_in, size
    else:
        layer = MemberConvTranspose2d(n_out, n_in, (size, size), generators)
        n_channels, side = n_out, (size + 1) // 2
    layer = layer.to(job.device)
    x = torch.randn(batch_size, job.n_members * n_channels, side, side).to(job.device)
    x = x.contiguous(memory_format=torch.channels_last).requires_grad_()
    ways = {"grouped": layer.grouped, "by windows": layer.by_windows}
    with ordinary_torch_modes(), reproducible(job.device):
        maps = [way(x, layer.weight, layer.bias).detach().cpu() for way in ways.values()]
        torch.testing.assert_close(*maps, rtol=1e-3, atol=1e-3)
        n_times = 10 if job.device.type == "cuda" else 1
        run = {name: partial(forward_and_back, way, x, layer) for name, way in ways.items()}
        least = {name: min(timed(run[name], job.device)[1] for _ in range(n_times)) for name in ways}
        with torch.autocast(job.device.type, torch.bfloat16):
            chosen = _choice.way_to_convolve(layer, x).__name__
    cells = ", ".join(f"{name} {1000 * seconds:.2f} ms" for name, seconds in least.items())
    return Found(cells, note=f"a fit takes {chosen}")


def forward_and_back(way, x, layer):
    with torch.autocast(x.device.type, torch.bfloat16):
        way(x, layer.weight, layer.bias).float().square().sum().backward()
