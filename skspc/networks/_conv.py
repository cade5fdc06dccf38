"""Convolutional autoencoder for images."""

import math
from itertools import pairwise

import torch.nn.functional as F
from sklearn.base import BaseEstimator
from torch import nn

from ._common import check_sizes, default_latent_size
from ._layers import (
    MemberBatchNorm,
    MemberConv2d,
    MemberConvTranspose2d,
    MemberLinear,
    channels_to_members,
    members_to_channels,
)

MIN_IMAGE_SIZE = 8
_SMALLEST_MAP = 2


class ConvNetwork(BaseEstimator):
    """Settings of a convolutional autoencoder: strided convolutions down, transposed convolutions up.

    Each stage halves height and width (3 x 3 kernels, batch normalisation, leaky ReLU). In images too small to be
    halved so often the first stages keep the size: 8 x 8 goes to 8 x 8, 4 x 4 and 2 x 2. The output layer is a tanh,
    as images are scaled to [-1, 1].

    Parameters
    ----------
    latent_size : int or "auto", default="auto"
        Number of latents m. "auto" is a twelfth of the number of pixels, at least 10 and at most 50 (the paper has
        50 for 28 x 28 and 20 for 16 x 16).
    channels : tuple of int, default=(32, 64, 128)
        Channels of each stage.
    convolutions_per_stage : int, default=1
        With 2, each strided convolution is preceded by one of stride 1: several times as slow.
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

    def __init__(self, latent_size="auto", channels=(32, 64, 128), convolutions_per_stage=1, noise=0.1):
        self.latent_size = latent_size
        self.channels = channels
        self.convolutions_per_stage = convolutions_per_stage
        self.noise = noise

    def build(self, input_shape, generators):
        """Build K autoencoders as one torch module.

        Parameters
        ----------
        input_shape : tuple (C, H, W)
        generators : list of torch.Generator
            One a member, for its initial weights.

        Returns
        -------
        autoencoder : torch.nn.Module
            With ``encode``: (K, B, C, H, W) -> (K, B, m) and ``decode`` back.
        """
        check_sizes("channels", self.channels)
        check_sizes("convolutions_per_stage", (self.convolutions_per_stage,))
        if len(self.channels) == 0:
            raise ValueError("channels=() leaves no convolution; name the channels of at least one stage.")
        latent_size = default_latent_size(self.latent_size, input_shape)
        return ConvAutoencoder(input_shape, self.channels, self.convolutions_per_stage, latent_size, generators)


def stage_strides(height, width, n_stages):
    """Strides of the stages: 2, but 1 in the first ones where an image is too small to be halved so often."""
    n_halvings = min(n_stages, int(math.log2(min(height, width) / _SMALLEST_MAP)))
    return [1] * (n_stages - n_halvings) + [2] * n_halvings


class ConvAutoencoder(nn.Module):
    """K convolutional autoencoders as one module; see `ConvNetwork`."""

    def __init__(self, input_shape, channels, convolutions_per_stage, latent_size, generators):
        super().__init__()
        n_channels, height, width = input_shape
        self.n_members = len(generators)
        self.latent_size = latent_size
        widths, strides = [n_channels, *channels], stage_strides(height, width, len(channels))
        sizes = [(height, width)]
        for stride in strides:
            sizes.append(tuple(-(-length // stride) for length in sizes[-1]))
        self.map_shape = (widths[-1], *sizes[-1])
        n_flat = math.prod(self.map_shape)

        down: list[nn.Module] = []
        for (n_in, n_out), stride in zip(pairwise(widths), strides, strict=True):
            for _ in range(convolutions_per_stage - 1):
                down += self._activated(MemberConv2d(n_in, n_out, 1, generators), n_out)
                n_in = n_out
            down += self._activated(MemberConv2d(n_in, n_out, stride, generators), n_out)
        self.down = nn.Sequential(*down)
        self.to_latent = MemberLinear(n_flat, latent_size, generators)

        self.from_latent = MemberLinear(latent_size, n_flat, generators)
        self.from_latent_norm = MemberBatchNorm(n_flat, generators)
        up: list[nn.Module] = []
        for stage in reversed(range(len(channels))):
            n_in, n_out = widths[stage + 1], widths[stage]
            layer: nn.Module
            if strides[stage] == 2:
                layer = MemberConvTranspose2d(n_in, n_out, sizes[stage], generators)
            else:
                layer = MemberConv2d(n_in, n_out, 1, generators)  # with stride 1 the two differ only in name
            up += [layer, nn.Tanh()] if stage == 0 else self._activated(layer, n_out)
        self.up = nn.Sequential(*up)

    def _activated(self, layer, n_out):
        return [layer, nn.BatchNorm2d(self.n_members * n_out), nn.LeakyReLU()]

    def encode(self, x):
        maps = self.down(members_to_channels(x))  # (B, K*c, h, w)
        return self.to_latent(channels_to_members(maps, self.n_members).flatten(2))  # (K, B, m)

    def decode(self, z):
        flat = F.leaky_relu(self.from_latent_norm(self.from_latent(z)))  # (K, B, c*h*w)
        maps = members_to_channels(flat.unflatten(2, self.map_shape))
        return channels_to_members(self.up(maps), self.n_members)  # (K, B, C, H, W)
