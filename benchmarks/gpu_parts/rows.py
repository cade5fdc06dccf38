"""A row of a table, what was found for it, and what all rows are measured by."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property

import numpy as np
import torch

from skspc._runtime.devices import training_devices
from skspc.datasets import MNIST, fetch_mnist

N_MEMBERS, N_ROWS, N_CLUSTERS, N_LATENTS = 15, 70_000, 10, 50
LEAST_ROWS = 150  # of a part of the data


@dataclass(frozen=True)
class Found:
    """What a row says beside its name: a figure, verdicts, which stand in the summary too, and a note."""

    figure: str
    verdicts: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Row:
    what: str
    measure: Callable[[], Found]


@dataclass(frozen=True)
class Job:
    """What the tables are made of: a device, a share of the rows, and changes to the parameters of whole fits."""

    device: torch.device
    scale: float = 1.0
    n_members: int = N_MEMBERS
    folder: str | None = None
    has_random_images: bool = False
    changes: dict = field(default_factory=dict)
    models: dict = field(default_factory=dict)  # of whole fits, by members and precision

    @property
    def is_whole(self):
        """Whether it is what the bars are of."""
        full = self.scale == 1 and self.n_members == N_MEMBERS
        return self.device.type == "cuda" and full and not self.changes and not self.has_random_images

    def part_of(self, n_rows):
        return min(n_rows, max(LEAST_ROWS, int(self.scale * n_rows)))

    @cached_property
    def mnist(self):
        """Images (N, 28, 28) of bytes, and their classes."""
        n_rows = self.part_of(N_ROWS)
        if self.has_random_images:
            return random_images(n_rows)
        X, y = fetch_mnist(data_home=self.folder, return_X_y=True)
        return X.reshape(-1, *MNIST.shape)[:n_rows], y[:n_rows]


@cache
def random_images(n_rows):
    """Images of ten patterns under noise, and their classes."""
    random = np.random.default_rng(0)
    patterns = random.integers(0, 256, (N_CLUSTERS, *MNIST.shape))
    classes = random.integers(N_CLUSTERS, size=n_rows)
    images = np.empty((n_rows, *MNIST.shape), dtype=np.uint8)
    for chunk in np.array_split(np.arange(n_rows), -(-n_rows // 10_000)):
        noise = random.normal(0, 60, (len(chunk), *MNIST.shape))
        images[chunk] = np.clip(patterns[classes[chunk]] + noise, 0, 255)
    return images, classes


def cards(device):
    """The CUDA devices that a device stands for."""
    return [each for each in training_devices(device) if each.type == "cuda"]


def forget_peak(device):
    for card in cards(device):
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(card)


def peak_gib(device):
    """Most memory that tensors had on one card; None if they had none."""
    return max((torch.cuda.max_memory_allocated(card) for card in cards(device)), default=0) / 2**30 or None


def timed(function, device):
    """What a function returns, and its seconds."""
    wait_for(device)
    begin = time.perf_counter()
    returned = function()
    wait_for(device)
    return returned, time.perf_counter() - begin


def wait_for(device):
    for card in cards(device):
        torch.cuda.synchronize(card)


def bar(seconds, limit, is_whole):
    """The verdict on a bar, where the run is of the size that it is set for."""
    return (f"bar {limit:.1f} s: {'held' if seconds <= limit else 'MISSED'}",) if is_whole else ()


def alike(are_equal, yes, no):
    """A verdict of one word or the other; what should not be is in capitals."""
    return (yes if are_equal else no.upper(),)
