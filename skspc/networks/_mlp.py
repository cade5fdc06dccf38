"""Fully connected autoencoder for vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from sklearn.base import BaseEstimator
from torch import Tensor, nn

from ._common import Generators, Shape, Size, check_sizes, default_latent_size
from ._layers import MemberBatchNorm, MemberLinear

HIDDEN = (256, 256)
# As right for up to 30 features, and a step takes two fifths of the time; titles, of 50, lose (docs/speed.md).
FEW_HIDDEN, FEW_FEATURES = (128, 128), 32


class MLPNetwork(BaseEstimator):
    """Settings of a fully connected autoencoder with a linear output layer.

    Hidden layers have batch normalisation and leaky ReLU; the decoder mirrors the encoder.

    Parameters
    ----------
    latent_size : int or "auto", default="auto"
        Number of latents m. "auto" is a twelfth of the number of features, at least 10 (or the number of features,
        if that is less) and at most 50.
    hidden : tuple of int or "auto", default="auto"
        Widths of the encoder's hidden layers. "auto" is 128 and 128 for up to 32 features, else 256 and 256.
    noise : float, default=0.1
        Standard deviation of the Gaussian noise added to the latents in training, in units of each latent's own
        standard deviation over the batch.

    Examples
    --------
    >>> from skspc import SPCClustering
    >>> from skspc.networks import MLPNetwork
    >>> model = SPCClustering(n_clusters=3, network=MLPNetwork(hidden=(64,)))
    """

    def __init__(
        self, latent_size: Size = "auto", hidden: Sequence[int] | Literal["auto"] = "auto", noise: float = 0.1
    ) -> None:
        self.latent_size = latent_size
        self.hidden = hidden
        self.noise = noise

    def build(self, input_shape: Shape, generators: Generators) -> MLPAutoencoder:
        """Build K autoencoders as one torch module.

        Parameters
        ----------
        input_shape : tuple
            Images are flattened.
        generators : list of torch.Generator
            One a member, for its initial weights.

        Returns
        -------
        autoencoder : torch.nn.Module
            With ``encode``: ``(K, B, *input_shape)`` to ``(K, B, m)``, and ``decode`` back.

        Raises
        ------
        ValueError
            If a size is no whole number from 1 up.
        """
        hidden = default_hidden(self.hidden, input_shape)
        latent_size = default_latent_size(self.latent_size, input_shape)
        return MLPAutoencoder(input_shape, hidden, latent_size, generators)


def default_hidden(hidden: Sequence[int] | Literal["auto"], input_shape: Shape) -> Sequence[int]:
    """Return the widths of the hidden layers for inputs of ``input_shape``; see `MLPNetwork`."""
    if isinstance(hidden, str) and hidden == "auto":
        return FEW_HIDDEN if math.prod(input_shape) <= FEW_FEATURES else HIDDEN
    check_sizes("hidden", hidden)
    return hidden


class MLPAutoencoder(nn.Module):
    """K fully connected autoencoders as one module; see `MLPNetwork`."""

    is_recordable = True  # as a CUDA graph: nothing in it waits for a value

    def __init__(self, input_shape: Shape, hidden: Sequence[int], latent_size: int, generators: Generators) -> None:
        super().__init__()
        self.input_shape = tuple(input_shape)
        self.latent_size = latent_size
        self.sizes = {"latent_size": latent_size, "hidden": tuple(hidden)}
        n_inputs = math.prod(input_shape)
        self.encoder = _stack([n_inputs, *hidden, latent_size], generators)
        self.decoder = _stack([latent_size, *reversed(hidden), n_inputs], generators)

    def encode(self, x: Tensor) -> Tensor:
        z: Tensor = self.encoder(x.flatten(2))  # (K, B, m)
        return z

    def decode(self, z: Tensor) -> Tensor:
        x: Tensor = self.decoder(z).unflatten(2, self.input_shape)  # (K, B, *input_shape)
        return x


def _stack(widths: Sequence[int], generators: Generators) -> nn.Sequential:
    """Affine layers of the given widths, normalised and activated except for the last."""
    layers: list[nn.Module] = []
    for n_in, n_out in pairwise(widths[:-1]):
        layers += [MemberLinear(n_in, n_out, generators), MemberBatchNorm(n_out, generators), nn.LeakyReLU()]
    return nn.Sequential(*layers, MemberLinear(widths[-2], widths[-1], generators))
