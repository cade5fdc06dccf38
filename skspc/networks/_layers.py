"""Layers batched over ensemble members: K copies side by side, each with weights and batches of its own.

Vectors travel as (K, B, F). Images travel as (B, K*C, H, W), channels grouped by member, so that one grouped
convolution serves all members. Every member's weights are drawn from that member's generator alone: a member
is the same whichever members stand beside it.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


def _uniform(generators, shape, fan_in):
    """Draw one weight tensor a member, uniform in +-1/sqrt(fan_in) (torch's own default): (K, *shape)."""
    bound = 1.0 / math.sqrt(fan_in)
    drawn = [torch.empty(shape, dtype=torch.float32) for _ in generators]  # whatever torch's default dtype
    for weights, generator in zip(drawn, generators, strict=True):
        weights.uniform_(-bound, bound, generator=generator)
    return torch.stack(drawn)


class MemberLinear(nn.Module):
    """K affine maps: (K, B, in) -> (K, B, out)."""

    def __init__(self, n_in, n_out, generators):
        super().__init__()
        self.weight = nn.Parameter(_uniform(generators, (n_in, n_out), n_in))
        self.bias = nn.Parameter(_uniform(generators, (1, n_out), n_in))

    def forward(self, x):
        return torch.baddbmm(self.bias, x, self.weight)


class MemberBatchNorm(nn.BatchNorm1d):
    """K batch normalisations of vectors: (K, B, F) -> (K, B, F)."""

    def __init__(self, n_features, generators):
        super().__init__(len(generators) * n_features, dtype=torch.float32)

    def forward(self, x):
        n_members, n_rows, n_features = x.shape
        flat = x.transpose(0, 1).reshape(n_rows, n_members * n_features)
        return super().forward(flat).view(n_rows, n_members, n_features).transpose(0, 1)


class MemberConv2d(nn.Module):
    """K convolutions with 3x3 kernels: (B, K*in, H, W) -> (B, K*out, ceil(H/stride), ceil(W/stride))."""

    def __init__(self, n_in, n_out, stride, generators):
        super().__init__()
        self.n_members, self.stride = len(generators), stride
        self.weight = nn.Parameter(_uniform(generators, (n_out, n_in, 3, 3), 9 * n_in).flatten(0, 1))
        self.bias = nn.Parameter(_uniform(generators, (n_out,), 9 * n_in).flatten())

    def forward(self, x):
        weight = self.weight.contiguous(memory_format=torch.channels_last)
        return F.conv2d(x, weight, self.bias, stride=self.stride, padding=1, groups=self.n_members)


class MemberConvTranspose2d(nn.Module):
    """K transposed convolutions with 3x3 kernels and stride 2: (B, K*in, h, w) -> (B, K*out, H, W).

    ``size`` = (H, W) is the size that a convolution of stride 2 would bring to (h, w).
    """

    def __init__(self, n_in, n_out, size, generators):
        super().__init__()
        self.n_members = len(generators)
        # An output of 2h - 1 rows lacks the last one where H is even.
        self.output_padding = tuple(1 - length % 2 for length in size)
        fan_in = 9 * n_in / 4  # a stride of 2 leaves a quarter of the window's products to each output
        self.weight = nn.Parameter(_uniform(generators, (n_in, n_out, 3, 3), fan_in).flatten(0, 1))
        self.bias = nn.Parameter(_uniform(generators, (n_out,), fan_in).flatten())

    def forward(self, x):
        return F.conv_transpose2d(
            x,
            self.weight.contiguous(memory_format=torch.channels_last),
            self.bias,
            stride=2,
            padding=1,
            output_padding=self.output_padding,
            groups=self.n_members,
        )


def members_to_channels(x):
    """(K, B, C, H, W) -> (B, K*C, H, W), channels last in memory (much the faster layout for groups)."""
    images = x.transpose(0, 1).flatten(1, 2).contiguous(memory_format=torch.channels_last)
    if images.shape[1] == 1:  # of either layout: torch would go on in the slower one, and mix the two
        _, _, height, width = images.shape
        images = images.as_strided(images.shape, (height * width, 1, width, 1))
    return images


def channels_to_members(x, n_members):
    """(B, K*C, H, W) -> (K, B, C, H, W)."""
    return x.unflatten(1, (n_members, -1)).transpose(0, 1)
