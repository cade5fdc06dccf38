"""Scaling of the input, learnt in fit: images to [-1, 1] by one range, vectors to unit variance a feature."""

import math
import warnings
from dataclasses import dataclass

import numpy as np

from .ranges import warn_of_other_scale

ROWS_PER_CHUNK = 4096  # of which there are float64 copies at once
FARTHEST = 1e6  # standard deviations from the mean at which features of rows to predict are clipped


@dataclass(frozen=True)
class Scaling:
    """An affine map of rows, ``(x / unit - offset) / scale``, and the shape a network takes them in.

    Attributes
    ----------
    unit, offset, scale : float or ndarray of shape (n_features,)
        In the unit, of the size of the largest magnitude, nothing overflows or vanishes.
    limit : float
        Results are clipped to [-limit, limit].
    input_shape : tuple
        Shape of a row for the network.
    """

    unit: float | np.ndarray
    offset: float | np.ndarray
    scale: float | np.ndarray
    limit: float
    input_shape: tuple

    def checked(self, X) -> np.ndarray:
        """Rows (N, n_features) to predict, as they are; images of another scale than those fitted get a warning."""
        if self.limit == 1.0:
            low, high = (float(self.unit * (self.offset + sign * self.scale)) for sign in (-1, 1))
            warn_of_other_scale(X, low, high, stacklevel=4)  # the caller of predict
        return X

    def training_rows(self, X):
        """Rows (N, n_features) as the ensemble trains on them: (N, *input_shape) in float32.

        Bytes of images stay bytes, a quarter of the memory; each batch of them is scaled when it is taken.
        """
        if X.dtype == np.uint8 and self.limit == 1.0:
            return X.reshape(len(X), *self.input_shape)
        return self.apply(X)

    def apply(self, X, dtype=np.float32, rows_per_chunk=ROWS_PER_CHUNK):
        """Scale rows (N, n_features) in float64 and return an array (N, *input_shape) of ``dtype``.

        No float64 copy of the whole of X is made.
        """
        scaled = np.empty((len(X), X.shape[1]), dtype=dtype)
        for start in range(0, len(X), rows_per_chunk):
            chunk = np.asarray(X[start : start + rows_per_chunk], dtype=np.float64)
            with np.errstate(over="ignore"):  # a far row to predict; it is clipped
                chunk = (chunk / self.unit - self.offset) / self.scale
            np.clip(chunk, -self.limit, self.limit, out=chunk)
            scaled[start : start + len(chunk)] = chunk
        return scaled.reshape(len(X), *self.input_shape)


def fit_image_scaling(X, input_shape):
    """Learn the map of one global range to [-1, 1]; uint8 stands for 0..255, whatever values occur."""
    if X.dtype == np.uint8 and X.max() == 1:
        warnings.warn(
            "X has uint8 images of 0 and 1. uint8 is scaled by 0..255, so that they fill 0.4 % of the range. "
            "Pass X.astype(bool) or X * 255.",
            UserWarning,
            stacklevel=5,  # the caller of fit
        )
    low, high = (0.0, 255.0) if X.dtype == np.uint8 else (float(X.min()), float(X.max()))
    largest = max(abs(low), abs(high))
    unit = math.ldexp(1.0, math.frexp(largest)[1] - 1) if largest else 1.0  # a power of two: nothing is rounded
    low, high = low / unit, high / unit
    return Scaling(unit, (low + high) / 2, (high - low) / 2 or 1.0, 1.0, tuple(input_shape))


def fit_vector_scaling(X, input_shape):
    """Learn to standardise each feature; a constant feature becomes zero."""
    unit = np.max([np.abs(chunk).max(axis=0) for chunk in _chunks(X)], axis=0)
    unit[unit == 0] = 1.0
    mean = sum((chunk / unit).sum(axis=0) for chunk in _chunks(X)) / len(X)
    deviation = np.sqrt(sum(((chunk / unit - mean) ** 2).sum(axis=0) for chunk in _chunks(X)) / len(X))
    # Below this, a deviation is the rounding of a constant.
    deviation[deviation <= 10 * np.finfo(np.float64).eps] = 1.0
    return Scaling(unit, mean, deviation, FARTHEST, tuple(input_shape))


def _chunks(X):
    """Yield some rows after the others, in float64 and in one order of memory: the last digits of sums depend on it."""
    for start in range(0, len(X), ROWS_PER_CHUNK):
        yield np.ascontiguousarray(X[start : start + ROWS_PER_CHUNK], dtype=np.float64)
