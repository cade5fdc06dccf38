"""Layers batched over ensemble members: K copies side by side, each with weights and batches of its own.

Vectors travel as (K, B, F). Images travel as (B, K*C, H, W), channels grouped by member, so that one grouped
convolution serves all members; on CUDA maybe a product of windows, as `_choice` tells. Every member's weights are drawn
from that member's generator alone, and what a layer computes of a member on the CPU is bitwise the same whichever
members stand beside it. For that, matrices begin at whole blocks of memory, by which MKL's sums go. Where a member's
channels fill no whole blocks, of which torch and oneDNN compute the rest in another way, members are convolved one
after the other, and normalised with channels that fill up.
"""

import math
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

from ._choice import way_to_convolve
from ._windows import convolve_by_windows, convolve_transposed_by_windows

BLOCK = 16  # values of float32 in 64 bytes: the widest vector of a CPU, and the alignment that MKL asks for


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
        n_rows, (n_in, n_out) = x.shape[1], self.weight.shape[1:]
        if all(size % BLOCK == 0 for size in (n_rows * n_in, n_in * n_out, n_rows * n_out)):
            return torch.baddbmm(self.bias, x, self.weight)
        more_out, more_in = -n_out % BLOCK, 0 if n_rows % BLOCK == 0 else -n_in % BLOCK
        weight, x = F.pad(self.weight, (0, more_out, 0, more_in)), F.pad(x, (0, more_in)) if more_in else x
        return torch.baddbmm(F.pad(self.bias, (0, more_out)), x, weight)[..., :n_out]


class MemberBatchNorm(nn.BatchNorm1d):
    """K batch normalisations of vectors: (K, B, F) -> (K, B, F)."""

    def __init__(self, n_features, generators):
        super().__init__(len(generators) * n_features, dtype=torch.float32)

    def forward(self, x):
        n_members, n_rows, n_features = x.shape
        flat = torch.cat(x.unbind(), dim=1)  # gradients then lie member after member, and are summed alike for any K
        flat = normalise(self, flat, n_members) if breaks_blocks(x, n_features) else super().forward(flat)
        return flat.view(n_rows, n_members, n_features).transpose(0, 1)


class MemberBatchNorm2d(nn.BatchNorm2d):
    """K batch normalisations of images: (B, K*C, H, W) -> (B, K*C, H, W)."""

    def __init__(self, n_channels, generators):
        self.n_members = len(generators)
        super().__init__(self.n_members * n_channels, dtype=torch.float32)

    def forward(self, x):
        if breaks_blocks(x, self.num_features // self.n_members):
            return normalise(self, x, self.n_members)
        return super().forward(x)


def breaks_blocks(x, *n_channels):
    """Whether members' channels fill no whole blocks, on the CPU."""
    return x.device.type == "cpu" and any(n % BLOCK for n in n_channels)


def normalise(norm, x, n_members):
    """What a batch normalisation does, with channels added that fill each member's blocks: (B, K*F, ...) alike."""
    n_channels = norm.num_features // n_members
    more = -n_channels % BLOCK

    def fill(values):
        return F.pad(values.unflatten(0, (n_members, n_channels)), (0, more)).flatten()

    def take_back(values, dim):
        by_member = values.unflatten(dim, (n_members, n_channels + more))
        return by_member.narrow(dim + 1, 0, n_channels).flatten(dim, dim + 1)

    filled = F.pad(x.unflatten(1, (n_members, n_channels)), (0, 0) * (x.ndim - 2) + (0, more)).flatten(1, 2)
    mean, variance = fill(norm.running_mean), fill(norm.running_var)
    weights = fill(norm.weight), fill(norm.bias)
    normal = F.batch_norm(as_channels_last(filled), mean, variance, *weights, norm.training, norm.momentum, norm.eps)
    if normal.requires_grad:
        normal.register_hook(as_channels_last)  # else the gradient has another layout than the images
    if norm.training:
        norm.num_batches_tracked += 1
        norm.running_mean.copy_(take_back(mean, 0))
        norm.running_var.copy_(take_back(variance, 0))
    return take_back(normal, 1)


class MemberConv2d(nn.Module):
    """K convolutions with 3x3 kernels: (B, K*in, H, W) -> (B, K*out, ceil(H/stride), ceil(W/stride))."""

    def __init__(self, n_in, n_out, stride, generators):
        super().__init__()
        self.n_members, self.stride = len(generators), stride
        self.weight = nn.Parameter(_uniform(generators, (n_out, n_in, 3, 3), 9 * n_in).flatten(0, 1))
        self.bias = nn.Parameter(_uniform(generators, (n_out,), 9 * n_in).flatten())

    def forward(self, x):
        return way_to_convolve(self, x)(x, self.weight, self.bias)

    @property
    def geometry(self):
        return self.stride

    def grouped(self, x, weight, bias):
        return convolve(partial(F.conv2d, stride=self.stride, padding=1), x, weight, bias, self.n_members)

    def by_windows(self, x, weight, bias):
        return convolve_by_windows(x, weight, bias, self.n_members, self.stride)


class MemberConvTranspose2d(nn.Module):
    """K transposed convolutions with 3x3 kernels and stride 2: (B, K*in, h, w) -> (B, K*out, H, W).

    ``size`` = (H, W) is the size that a convolution of stride 2 would bring to (h, w). A bias that a normalisation
    takes away again is not trained: on the CPU its gradient, mere rounding, would take longer than that of the kernels.
    """

    is_normalised = False  # in pickles of before

    def __init__(self, n_in, n_out, size, generators, is_normalised=False):
        super().__init__()
        self.n_members, self.is_normalised = len(generators), is_normalised
        # An output of 2h - 1 rows lacks the last one where H is even.
        self.output_padding = tuple(1 - length % 2 for length in size)
        fan_in = 9 * n_in / 4  # a stride of 2 leaves a quarter of the window's products to each output
        self.weight = nn.Parameter(_uniform(generators, (n_in, n_out, 3, 3), fan_in).flatten(0, 1))
        self.bias = nn.Parameter(_uniform(generators, (n_out,), fan_in).flatten())

    def forward(self, x):
        bias = self.bias.detach() if self.is_normalised else self.bias
        return way_to_convolve(self, x)(x, self.weight, bias)

    @property
    def geometry(self):
        return self.output_padding

    def grouped(self, x, weight, bias):
        convolution = partial(F.conv_transpose2d, stride=2, padding=1, output_padding=self.output_padding)
        return convolve(convolution, x, weight, bias, self.n_members)

    def by_windows(self, x, weight, bias):
        return convolve_transposed_by_windows(x, weight, bias, self.n_members, self.output_padding)


def convolve(convolution, x, weight, bias, n_members):
    """Convolve images (B, K*in, H, W) by each member's own kernels: all at once, or one after the other on the CPU."""
    if not breaks_blocks(x, x.shape[1] // n_members, len(bias) // n_members):
        return convolution(x, weight.contiguous(memory_format=torch.channels_last), bias, groups=n_members)
    of_each = zip(x.chunk(n_members, dim=1), weight.chunk(n_members), bias.chunk(n_members), strict=True)
    return torch.cat([convolution(*map(as_channels_last, part)) for part in of_each], dim=1)


def as_channels_last(tensor):
    """Images or kernels with channels last in memory, the faster layout; biases as they are."""
    if tensor.ndim < 4:
        return tensor
    if tensor.shape[1] > 1:
        return tensor.contiguous(memory_format=torch.channels_last)
    # One channel is of either layout: torch would go on in the slower one, and mix the two.
    _, _, height, width = tensor.shape
    return tensor.contiguous().as_strided(tensor.shape, (height * width, 1, width, 1))


def members_to_channels(x):
    """(K, B, C, H, W) -> (B, K*C, H, W), channels last in memory (much the faster layout for groups)."""
    return as_channels_last(x.transpose(0, 1).flatten(1, 2))


def channels_to_members(x, n_members):
    """(B, K*C, H, W) -> (K, B, C, H, W)."""
    return x.unflatten(1, (n_members, -1)).transpose(0, 1)
