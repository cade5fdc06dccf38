"""Convolutions of all members as products of windows: what grouped ones give, which cuDNN computes slowly.

Images (B, K*C, H, W) are channels last in memory. The windows that kernels see are copied side by side, and one batched
product serves all members and writes each output where it belongs. Kernels are of 3 x 3, padding is 1, and the stride
is 1 or 2; a transposed convolution has a stride of 2. What that sums at a pixel is the product of a window too: nothing
is added by atomic operations, and a seed repeats at no cost.
"""

import torch
import torch.nn.functional as F
from torch.autograd.function import once_differentiable

ALIGNED = 8  # values of 16 bits in 16 bytes, by which the fast kernels of cuBLAS go


def convolve_by_windows(x, weight, bias, n_members, stride):
    """Convolve images (B, K*in, H, W) by weight (K*out, in, 3, 3) and bias (K*out,), in the dtype of autocast."""
    x, weight, bias = autocast(x, weight, bias)
    kernels = weight.unflatten(0, (n_members, -1)).permute(0, 3, 4, 2, 1)  # (K, 3, 3, in, out)
    return _Convolution.apply(x, kernels, stride) + bias[:, None, None]


def convolve_transposed_by_windows(x, weight, bias, n_members, output_padding):
    """Do what `F.conv_transpose2d` does with weight (K*in, out, 3, 3) and bias (K*out,), in the dtype of autocast."""
    x, weight, bias = autocast(x, weight, bias)
    kernels = weight.unflatten(0, (n_members, -1)).permute(0, 3, 4, 1, 2)  # (K, 3, 3, in, out)
    size = tuple(2 * length - 1 + more for length, more in zip(x.shape[2:], output_padding, strict=True))
    return _TransposedConvolution.apply(x, kernels, size) + bias[:, None, None]


def autocast(x, *weights):
    """Tensors in the dtype of autocast, if it is on: before windows are copied, which then are half as many bytes."""
    kind = x.device.type
    if not torch.is_autocast_enabled(kind):
        return x, *weights
    return tuple(tensor.to(torch.get_autocast_dtype(kind)) for tensor in (x, *weights))


class _Convolution(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, kernels, stride):
        ctx.save_for_backward(x, kernels)  # and not the windows, which are up to nine times as large
        ctx.stride = stride
        return gather(x, kernels, stride)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        (x, kernels), stride = ctx.saved_tensors, ctx.stride
        of_x = None
        if ctx.needs_input_grad[0]:
            back = kernels.transpose(3, 4)
            of_x = gather(gradient, back.flip(1, 2), 1) if stride == 1 else spread(gradient, back, x.shape[2:])
        return of_x, correlate(x, gradient, len(kernels), stride), None


class _TransposedConvolution(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, kernels, size):
        ctx.save_for_backward(x, kernels)
        return spread(x, kernels, size)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        x, kernels = ctx.saved_tensors
        of_x = gather(gradient, kernels.transpose(3, 4), 2) if ctx.needs_input_grad[0] else None
        return of_x, correlate(gradient, x, len(kernels), 2).transpose(3, 4), None


def gather(x, kernels, stride):
    """Convolve images (B, K*a, H, W) by kernels (K, 3, 3, a, b): (B, K*b, ceil(H/stride), ceil(W/stride))."""
    size = [-(-length // stride) for length in x.shape[2:]]
    windows = windows_of(x, len(kernels), 3, stride, 1, size)
    return as_images(multiply(windows, kernels.flatten(1, 3)).reshape(len(x), *size, -1))


def spread(x, kernels, size):
    """Take images (B, K*a, h, w) back to (B, K*b, H, W) by kernels (K, 3, 3, a, b), against a stride of 2.

    Each 2 x 2 pixels are a product of the window of 2 x 2 values that reach them.
    """
    n_members, n_out = len(kernels), kernels.shape[4]
    n_rows, _, h, w = x.shape
    products = multiply(windows_of(x, n_members, 2, 1, 0, (h, w)), kernels_of_pixels(kernels))  # (M, K, 2 * 2 * b)
    pixels = products.unflatten(0, (n_rows, h, w)).unflatten(4, (2, 2, n_out)).permute(0, 1, 4, 2, 5, 3, 6)
    whole = pixels.reshape(n_rows, 2 * h, 2 * w, n_members * n_out)
    return as_images(whole[:, : size[0], : size[1]].contiguous())


def correlate(x, y, n_members, stride):
    """Gradient (K, 3, 3, a, b) of kernels, from what they convolve (B, K*a, H, W) and the gradient y of the maps."""
    windows = windows_of(x, n_members, 3, stride, 1, y.shape[2:])  # (M, K, 9 * a or more)
    rows = y.permute(0, 2, 3, 1).reshape(len(windows), n_members, -1)  # (M, K, b)
    n_in = x.shape[1] // n_members
    return torch.bmm(windows.permute(1, 2, 0), rows.transpose(0, 1))[:, : 9 * n_in].unflatten(1, (3, 3, n_in))


def windows_of(x, n_members, length, stride, before, size):
    """Copy windows of x (B, K*C, H, W): (B*h*w, K, length * length * C), and zeros up to a multiple of ``ALIGNED``.

    There are h x w, as ``size`` says; the first begins so many pixels ``before`` x.
    """
    x = x.permute(0, 2, 3, 1)
    after = [stride * (n - 1) + length - before - n_x for n, n_x in zip(size, x.shape[1:3], strict=True)]
    x = F.pad(x, (0, 0, before, after[1], before, after[0])).unflatten(3, (n_members, -1))
    views = x.unfold(1, length, stride).unfold(2, length, stride).permute(0, 1, 2, 3, 5, 6, 4)  # (B, h, w, K, i, j, C)
    n_values = views.shape[4:].numel()
    windows = x.new_empty(*views.shape[:4], n_values + -n_values % ALIGNED)
    windows[..., :n_values].unflatten(4, views.shape[4:]).copy_(views)
    windows[..., n_values:] = 0
    return windows.flatten(0, 2)


def multiply(rows, matrices):
    """Multiply rows (M, K, p) by matrices (K, p or less, q) of the members: (M, K, q)."""
    n_in, n_out = matrices.shape[1:]
    matrices = F.pad(matrices, (0, -n_out % ALIGNED, 0, rows.shape[2] - n_in))
    products = rows.new_empty(*rows.shape[:2], matrices.shape[2])
    torch.bmm(rows.transpose(0, 1), matrices, out=products.transpose(0, 1))
    return products[..., :n_out]


def kernels_of_pixels(kernels):
    """Matrices (K, 2*2*a, 2*2*b) from windows of 2 x 2 values to 2 x 2 pixels, of kernels (K, 3, 3, a, b)."""
    by_row = taps_of_pixels(kernels, 1)  # (K, u, i, 3, a, b)
    by_both = taps_of_pixels(by_row, 3)  # (K, u, i, v, j, a, b), of pixel (u, v) and value (i, j)
    return by_both.permute(0, 2, 4, 5, 1, 3, 6).flatten(4, 6).flatten(1, 3)


def taps_of_pixels(kernels, dim):
    """Along one dimension, the taps by which the first and second pixel take the first and second value."""
    first, middle, last = kernels.unbind(dim)
    return torch.stack([middle, torch.zeros_like(middle), last, first], dim).unflatten(dim, (2, 2))


def as_images(rows):
    """(B, H, W, K*C) in memory to (B, K*C, H, W), channels last."""
    return rows.permute(0, 3, 1, 2)
