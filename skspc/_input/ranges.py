"""A warning of images that cannot be of the scale a model was fitted in; docs/data.md tells how often it errs."""

import warnings

import numpy as np

from .._runtime.arrays import chunks

SMALL, SMALL_UNIT = 0.01, 0.1  # largest magnitude over the learnt width; SMALL_UNIT: of fractions up to 1
BLACK = 1e-6  # this little is the rounding of zero
NEGATIVE = 0.1  # share of a range that lies below zero if its images are signed
CLIPPED = 0.01  # share of values far outside
MANY = 10  # images; fewer have by chance nothing below zero, or hardly any contrast


def limits(X):
    """The least and the greatest value of rows X (N, n_features)."""
    of_chunks = [(rows.min(), rows.max()) for rows in chunks(X)]
    return float(min(low for low, _ in of_chunks)), float(max(high for _, high in of_chunks))


def warn_of_other_scale(X, low, high, stacklevel):
    """Warn if images X (N, n_pixels) cannot be of the scale of those whose values, low to high, `fit` learnt."""
    lowest, highest = limits(X)
    reason = _find_reason(X, lowest, highest, low, high)
    if reason is None:
        return
    example = ""
    if low == 0 <= lowest and highest <= 1 and 128 <= high <= 255:
        example = ", e.g. X * 255"
    elif low == 0 <= lowest and 16 < highest <= 255 and 0.5 <= high <= 1:
        example = ", e.g. X / 255"
    warnings.warn(
        f"X has images with values from {lowest:g} to {highest:g}, but the range learnt in fit is {low:g} to {high:g}: "
        f"{reason}. Pass images in the scale of those fitted{example}.",
        UserWarning,
        stacklevel=stacklevel + 1,
    )


def _find_reason(X, lowest, highest, low, high):
    width, size = high - low, max(-lowest, highest)
    signed, many = low < -NEGATIVE * width, len(X) >= MANY
    if size < BLACK * width or (X.dtype == np.uint8 and (low, high) == (0, 255) and size > 1):
        return None
    floor = low - width / 2
    if low >= 0:
        floor = max(floor, NEGATIVE * (lowest - highest))
    floor, ceiling = np.float64(floor), np.float64(high + width / 2)  # a narrower type might not hold them
    if lowest < floor or highest > ceiling:
        n_outside = sum(np.sum(np.less(rows, floor) | np.greater(rows, ceiling)) for rows in chunks(X))
        outside = n_outside / X.size
        if outside > CLIPPED:
            return f"{outside:.0%} of them lie far outside and are clipped"
    small = size < SMALL * width or (size <= 1 and size < SMALL_UNIT * width and _has_fractions(X))
    if small and (many or not signed):
        return f"they fill {100 * size / width:.2g} % of it"
    return "none of them is below 0" if signed and many and lowest == 0 else None


def _has_fractions(X):
    return any((rows % 1).any() for rows in chunks(X))
