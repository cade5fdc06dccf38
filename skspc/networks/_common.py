"""What all networks share."""

import math

import numpy as np

MIN_LATENTS, MAX_LATENTS, INPUTS_PER_LATENT = 10, 50, 12


def default_latent_size(latent_size, input_shape):
    """Return the number of latents for inputs of ``input_shape``.

    "auto" is a twelfth of the number of inputs, between 10 and 50, and never more than the inputs.
    """
    if latent_size != "auto":
        check_sizes("latent_size", (latent_size,))
        return latent_size
    n_inputs = math.prod(input_shape)
    return min(n_inputs, max(MIN_LATENTS, min(MAX_LATENTS, n_inputs // INPUTS_PER_LATENT)))


def check_sizes(name, sizes):
    """Refuse sizes of layers that are not whole numbers from 1 up."""
    if not all(isinstance(size, (int, np.integer)) and size >= 1 for size in sizes):
        raise ValueError(f"{name}={sizes!r} must be whole numbers from 1 up.")
