"""What all networks share."""

import math
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
import torch

Shape = tuple[int, ...]
Generators = Sequence[torch.Generator]
Size = int | Literal["auto"]
MIN_LATENTS, MAX_LATENTS, INPUTS_PER_LATENT = 10, 50, 12


def default_latent_size(latent_size: Size, input_shape: Shape) -> int:
    """Return the number of latents for inputs of ``input_shape``.

    "auto" is a twelfth of the number of inputs, between 10 and 50, and never more than the inputs.
    """
    if latent_size != "auto":
        check_sizes("latent_size", (latent_size,))
        return latent_size
    n_inputs = math.prod(input_shape)
    return min(n_inputs, max(MIN_LATENTS, min(MAX_LATENTS, n_inputs // INPUTS_PER_LATENT)))


def check_sizes(name: str, sizes: Iterable[object]) -> None:
    """Refuse sizes of layers that are not whole numbers from 1 up."""
    if not all(isinstance(size, (int, np.integer)) and size >= 1 for size in sizes):
        raise ValueError(f"{name}={sizes!r} must be whole numbers from 1 up.")
