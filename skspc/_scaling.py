"""Scaling of the input, learnt in fit: images to [-1, 1] by one range, vectors to unit variance a feature."""

from dataclasses import dataclass

import numpy as np
import torch


@dataclass(frozen=True)
class Scaling:
    """An affine map of rows, ``(x - offset) / scale``, and the shape a network takes them in.

    Attributes
    ----------
    offset, scale : float or ndarray of shape (n_features,)
    clip : bool
        Whether results are clipped to [-1, 1] (images).
    input_shape : tuple
        Shape of a row for the network.
    """

    offset: float | np.ndarray
    scale: float | np.ndarray
    clip: bool
    input_shape: tuple

    def apply(self, X, device, dtype=torch.float32, rows_per_chunk=4096):
        """Scale rows (N, n_features) in float64 and return a tensor (N, *input_shape).

        No float64 copy of the whole of X is made.
        """
        scaled = torch.empty((len(X), X.shape[1]), dtype=dtype)
        for start in range(0, len(X), rows_per_chunk):
            chunk = np.asarray(X[start : start + rows_per_chunk], dtype=np.float64)
            chunk = (chunk - self.offset) / self.scale
            if self.clip:
                np.clip(chunk, -1.0, 1.0, out=chunk)
            scaled[start : start + len(chunk)] = torch.from_numpy(chunk)
        return scaled.view(len(X), *self.input_shape).to(device)


def fit_image_scaling(X, input_shape):
    """Learn the map of one global range to [-1, 1]; uint8 stands for 0..255, whatever values occur."""
    low, high = (0.0, 255.0) if X.dtype == np.uint8 else (float(X.min()), float(X.max()))
    half_range = high / 2 - low / 2
    return Scaling(low / 2 + high / 2, half_range or 1.0, True, tuple(input_shape))


def fit_vector_scaling(X, input_shape):
    """Learn to standardise each feature; a constant feature becomes zero.

    Features are divided by their largest magnitude first, so that no square overflows or vanishes.
    """
    largest = np.abs(X, dtype=np.float64).max(axis=0)
    largest[largest == 0] = 1.0
    relative = X / largest
    mean, deviation = relative.mean(axis=0), relative.std(axis=0)
    # Below this, a deviation is the rounding of a constant.
    deviation[deviation <= 10 * np.finfo(np.float64).eps] = 1.0
    return Scaling(mean * largest, deviation * largest, False, tuple(input_shape))
