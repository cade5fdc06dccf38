"""Convolutional autoencoder for images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from sklearn.base import BaseEstimator
from torch import Tensor, nn

from ._common import Generators, Shape, Size, check_sizes, default_latent_size
from ._layers import (
    MemberBatchNorm,
    MemberBatchNorm2d,
    MemberConv2d,
    MemberConvTranspose2d,
    MemberLinear,
    channels_to_members,
    members_to_channels,
)

if TYPE_CHECKING:
    from typing_extensions import Self

MIN_IMAGE_SIZE = 8
_SMALLEST_MAP = 2
_LARGE_IMAGE = 16


class ConvNetwork(BaseEstimator):
    """Settings of a convolutional autoencoder: strided convolutions down, transposed convolutions up.

    Each stage halves height and width (3 x 3 kernels, batch normalisation, leaky ReLU); stages are left out once the
    maps are 2 pixels high or wide. The output layer is a tanh, as images are scaled to [-1, 1].

    Parameters
    ----------
    latent_size : int or "auto", default="auto"
        Number of latents m. "auto" is a twelfth of the number of pixels, at least 10 and at most 50 (the paper has
        50 for 28 x 28 and 20 for 16 x 16).
    channels : tuple of int, default=(32, 64, 128)
        Channels of each stage.
    convolutions_per_stage : int or "auto", default="auto"
        With 2, each of the encoder's strided convolutions is preceded by one of stride 1. "auto" is 2 for images less
        than 16 pixels high or wide, and 1 for others. On images of 8 x 8 fits with 2 took 1.6 times as long; they were
        .15 points more accurate in the mean of seven, with augmentation .7 in the mean of three (docs/rounds.md). On
        larger images a step is several times as slow.
    noise : float, default=0.1
        Standard deviation of the Gaussian noise added to the latents in training, in units of each latent's own
        standard deviation over the batch.

    References
    ----------
    Mahon & Lukasiewicz (2021), "Selective Pseudo-Label Clustering", Implementation Details.

    Examples
    --------
    >>> from skspc import SPCClustering
    >>> from skspc.networks import ConvNetwork
    >>> model = SPCClustering(n_clusters=10, network=ConvNetwork(latent_size=20))
    """

    def __init__(
        self,
        latent_size: Size = "auto",
        channels: Sequence[int] = (32, 64, 128),
        convolutions_per_stage: Size = "auto",
        noise: float = 0.1,
    ) -> None:
        self.latent_size = latent_size
        self.channels = channels
        self.convolutions_per_stage = convolutions_per_stage
        self.noise = noise

    def build(self, input_shape: Shape, generators: Generators) -> ConvAutoencoder:
        """Build K autoencoders as one torch module.

        Parameters
        ----------
        input_shape : tuple (C, H, W)
        generators : list of torch.Generator
            One a member, for its initial weights.

        Returns
        -------
        autoencoder : torch.nn.Module
            With ``encode``: ``(K, B, C, H, W)`` to ``(K, B, m)``, and ``decode`` back.

        Raises
        ------
        ValueError
            If ``channels`` is empty, or a size is no whole number from 1 up.
        """
        check_sizes("channels", self.channels)
        n_convolutions = self.convolutions_per_stage
        if n_convolutions == "auto":
            n_convolutions = 2 if min(input_shape[1:]) < _LARGE_IMAGE else 1
        check_sizes("convolutions_per_stage", (n_convolutions,))
        if len(self.channels) == 0:
            raise ValueError("channels=() leaves no convolution; name the channels of at least one stage.")
        latent_size = default_latent_size(self.latent_size, input_shape)
        return ConvAutoencoder(input_shape, self.channels, n_convolutions, latent_size, generators)


def stage_sizes(height: int, width: int, n_stages: int) -> list[tuple[int, int]]:
    """Sizes (H, W) of the image and of each stage's maps, halved until they are 2 pixels high or wide."""
    sizes = [(height, width)]
    while len(sizes) <= n_stages and min(sizes[-1]) > _SMALLEST_MAP:
        sizes.append(((sizes[-1][0] + 1) // 2, (sizes[-1][1] + 1) // 2))
    return sizes


class ConvAutoencoder(nn.Module):
    """K convolutional autoencoders as one module; see `ConvNetwork`."""

    is_recordable = True  # as a CUDA graph: nothing in it waits for a value

    def __init__(
        self,
        input_shape: Shape,
        channels: Sequence[int],
        convolutions_per_stage: int,
        latent_size: int,
        generators: Generators,
    ) -> None:
        super().__init__()
        n_channels, height, width = input_shape
        self.input_shape = tuple(input_shape)
        self.n_members = len(generators)
        self.latent_size = latent_size
        sizes = stage_sizes(height, width, len(channels))
        channels = tuple(channels[: len(sizes) - 1])
        self.sizes = {
            "latent_size": latent_size,
            "channels": channels,
            "convolutions_per_stage": convolutions_per_stage,
        }
        widths = [n_channels, *channels]
        self.map_shape = (widths[-1], *sizes[-1])
        n_flat = math.prod(self.map_shape)

        down: list[nn.Module] = []
        for n_in, n_out in pairwise(widths):
            for _ in range(convolutions_per_stage - 1):
                down += self._activated(MemberConv2d(n_in, n_out, 1, generators), n_out, generators)
                n_in = n_out
            down += self._activated(MemberConv2d(n_in, n_out, 2, generators), n_out, generators)
        self.down = nn.Sequential(*down)
        self.to_latent = MemberLinear(n_flat, latent_size, generators)

        self.from_latent = MemberLinear(latent_size, n_flat, generators)
        self.from_latent_norm = MemberBatchNorm(n_flat, generators)
        up: list[nn.Module] = []
        for stage in reversed(range(len(widths) - 1)):
            n_in, n_out = widths[stage + 1], widths[stage]
            layer = MemberConvTranspose2d(n_in, n_out, sizes[stage], generators, is_normalised=stage > 0)
            up += [layer, nn.Tanh()] if stage == 0 else self._activated(layer, n_out, generators)
        self.up = nn.Sequential(*up)

    def _activated(self, layer: nn.Module, n_out: int, generators: Generators) -> list[nn.Module]:
        return [layer, MemberBatchNorm2d(n_out, generators), nn.LeakyReLU(inplace=True)]

    def encode(self, x: Tensor) -> Tensor:
        maps = self.down(members_to_channels(x.to(_dtype_of(self.down))))  # (B, K*c, h, w)
        flat = channels_to_members(maps, self.n_members).flatten(2)
        z: Tensor = self.to_latent(flat.to(_dtype_of(self.to_latent)))  # (K, B, m)
        return z

    def for_inference(self, device: torch.device) -> Self:
        """Bring to a device and to the dtypes in which a row's latents do not depend on the rows beside it.

        That is float64, but for convolutions on the CPU: they make each image by itself, and are three times as fast in
        float32 (28 x 28 pixels).
        """
        self.to(device, torch.float64)
        if device.type == "cpu":
            self.down.float()
        return self

    def decode(self, z: Tensor) -> Tensor:
        flat = F.leaky_relu(self.from_latent_norm(self.from_latent(z)))  # (K, B, c*h*w)
        maps = members_to_channels(flat.unflatten(2, self.map_shape))
        x: Tensor = channels_to_members(self.up(maps), self.n_members)  # (K, B, C, H, W)
        return x


def _dtype_of(module: nn.Module) -> torch.dtype:
    return next(module.parameters()).dtype
