"""Scaling of the input, learnt in fit: images to [-1, 1] by one range, vectors to unit variance."""

import math
import warnings
from dataclasses import dataclass

import numpy as np

from .._runtime.arrays import RowsOfFile, lies_in_file
from .ranges import limits, warn_of_other_scale

ROWS_PER_CHUNK, VALUES_PER_CHUNK = 4096, 2**20  # at most, of which there are float64 copies at once
FARTHEST = 1e6  # standard deviations from the mean at which features of rows to predict are clipped
GREATEST = 1e30  # of values that are not scaled: networks compute in float32
MAX_SPREAD_OF_RANGES = 3.0  # as a factor; chosen on the tables of docs/data.md: one unit below 2.1, several above 3.3
LEAST_OF_CONSTANT = 1e-8  # of the scale of a constant feature: its rounding must not become large
NORM_TOLERANCE = 1e-3  # of lengths of rows in float16


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

        Bytes of images stay bytes, a quarter of the memory; each batch of them is scaled when it is taken. So is each
        batch of rows that lie in a file, of which no copy is made.
        """
        is_bytes = X.dtype == np.uint8 and self.limit == 1.0
        if isinstance(X, RowsOfFile):
            return X.changed(None if is_bytes else self.apply, self.input_shape, np.uint8 if is_bytes else np.float32)
        if is_bytes:
            return X.reshape(len(X), *self.input_shape)
        return self.training_rows(RowsOfFile(X)) if lies_in_file(X) else self.apply(X)

    def apply(self, X, dtype=np.float32, rows_per_chunk=ROWS_PER_CHUNK):
        """Scale rows (N, n_features) in float64 and return an array (N, *input_shape) of ``dtype``.

        No other float64 copy of the whole of X is made.
        """
        rows_per_chunk = max(1, min(rows_per_chunk, VALUES_PER_CHUNK // X.shape[1]))
        scaled = np.empty((len(X), X.shape[1]), dtype=dtype)
        for start in range(0, len(X), rows_per_chunk):
            chunk = np.array(X[start : start + rows_per_chunk], dtype=np.float64)
            with np.errstate(over="ignore"):  # a far row to predict; it is clipped
                chunk /= self.unit
                chunk -= self.offset
                chunk /= self.scale
            np.clip(chunk, -self.limit, self.limit, out=chunk)
            scaled[start : start + len(chunk)] = chunk
        return scaled.reshape(len(X), *self.input_shape)


def fit_image_scaling(X, input_shape):
    """Learn the map of one global range to [-1, 1]; uint8 stands for 0..255, whatever values occur."""
    low, high = limits(X)
    if X.dtype == np.uint8 and high == 1:
        warnings.warn(
            "X has uint8 images of 0 and 1. uint8 is scaled by 0..255, so that they fill 0.4 % of the range. "
            "Pass X.astype(bool) or X * 255.",
            UserWarning,
            stacklevel=6,  # the caller of fit
        )
    low, high = (0.0, 255.0) if X.dtype == np.uint8 else (low, high)
    largest = max(abs(low), abs(high))
    unit = math.ldexp(1.0, math.frexp(largest)[1] - 1) if largest else 1.0  # a power of two: nothing is rounded
    low, high = low / unit, high / unit
    return Scaling(unit, (low + high) / 2, (high - low) / 2 or 1.0, 1.0, tuple(input_shape))


def fit_vector_scaling(X, input_shape, scaling="auto"):
    """Learn the map that a ``scaling`` names: "standard", "global", None, or "auto", which is one of the first two.

    "standard" gives each feature unit variance, "global" all of them together: each is centred, and all have one scale.
    A constant feature becomes zero with both.
    """
    magnitude = np.max([np.abs(chunk).max(axis=0) for chunk in _chunks(X)], axis=0)
    if scaling is None:
        one = np.ones(X.shape[1])
        farthest = float(np.clip(FARTHEST * magnitude.max(), FARTHEST, GREATEST))
        return Scaling(one, 0 * one, one, farthest, tuple(input_shape))
    unit = np.where(magnitude == 0, 1.0, magnitude)
    mean = sum((chunk / unit).sum(axis=0) for chunk in _chunks(X)) / len(X)
    deviation = np.sqrt(sum(((chunk / unit - mean) ** 2).sum(axis=0) for chunk in _chunks(X)) / len(X))
    varies = deviation > 10 * np.finfo(np.float64).eps  # below, a deviation is the rounding of a constant
    if scaling == "global" or (scaling == "auto" and share_a_unit(X)):
        with np.errstate(over="ignore"):
            scale = np.minimum(_one_scale((deviation * unit)[varies]) / unit, np.finfo(np.float64).max)
        scale[~varies] = np.maximum(scale[~varies], LEAST_OF_CONSTANT)
    else:
        scale = np.where(varies, deviation, 1.0)
    return Scaling(unit, mean, scale, FARTHEST, tuple(input_shape))


def _one_scale(deviations):
    """Root mean square of deviations (n_features,) of any size; 1 if there are none."""
    largest = deviations.max(initial=0.0)
    if largest == 0:
        return 1.0
    return largest * np.sqrt(np.mean((deviations / largest) ** 2))


def share_a_unit(X):
    """Tell, by rows (N, n_features) alone, whether features are measured in one unit, as those of an embedding are.

    They are where all rows that are not zero have length one, or where the ranges of the features that vary differ by
    a factor of less than 3, as their geometric standard deviation has it.
    """
    if have_length_one(X):
        return True
    low = np.min([chunk.min(axis=0) for chunk in _chunks(X)], axis=0)
    high = np.max([chunk.max(axis=0) for chunk in _chunks(X)], axis=0)
    half_ranges = high / 2 - low / 2  # the range of the largest floats is none
    varying = half_ranges > 10 * np.finfo(np.float64).eps * np.maximum(np.abs(low), np.abs(high))
    return not varying.any() or bool(np.exp(np.std(np.log(half_ranges[varying]))) < MAX_SPREAD_OF_RANGES)


def have_length_one(X):
    """Whether all rows (N, n) have length one, those of zeros left out."""
    return all(_have_length_one(chunk) for chunk in _chunks(X))


def _have_length_one(rows):
    if np.abs(rows).max() > 2:  # whose squares may be infinite
        return False
    lengths = np.linalg.norm(rows, axis=1)
    return bool(np.all((lengths == 0) | (np.abs(lengths - 1) < NORM_TOLERANCE)))


def _chunks(X):
    """Yield some rows after the others, in float64 and in one order of memory: the last digits of sums depend on it."""
    for start in range(0, len(X), ROWS_PER_CHUNK):
        yield np.ascontiguousarray(X[start : start + ROWS_PER_CHUNK], dtype=np.float64)
