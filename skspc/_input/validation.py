"""Checks of the input and of what scikit-learn's parameter constraints cannot say."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from scipy.sparse import issparse
from sklearn.utils import assert_all_finite

from .._constants import NOISE
from .._runtime.arrays import to_numpy
from ..augmentations import channels_first
from ..networks import MIN_IMAGE_SIZE, ConvNetwork, MLPNetwork

NETWORKS = {"conv": ConvNetwork, "mlp": MLPNetwork}
TAKEN = "an array, a DataFrame or a tensor of shape (N, n_features), (N, H, W) or (N, C, H, W)"
MISSING = {"NoneType": "None", "NAType": "pandas.NA", "NaTType": "pandas.NaT"}  # by the name of their type


def flatten_images(X):
    """Flatten images (N, H, W) or (N, C, H, W) to rows (N, C*H*W), and tell their shape (C, H, W).

    Anything else stays as it came, and its shape is None. A ValueError refuses what is no array, has more than four
    dimensions, or holds arrays or missing values as objects.
    """
    X = as_array(X)
    shape = tuple(X.shape)
    if len(shape) > 4:
        raise ValueError(
            f"X has {len(shape)} dimensions, and its shape is {shape}. Pass {TAKEN}; X.reshape(len(X), -1) makes rows "
            "of anything."
        )
    _check_cells(X)
    if len(shape) < 3 or issparse(X):
        return X, None
    X = np.asarray(X)
    return X.reshape(shape[0], math.prod(shape[1:])), full_image_shape(shape[1:])


def is_one_image(X, implied, image_shape):
    """Whether flattened rows X, of images of the ``implied`` shape or None, are one image of ``image_shape`` itself."""
    if implied is None:
        return (1, *X.shape) == image_shape and X.shape[1] != math.prod(image_shape)
    return (len(X), *implied[1:]) == image_shape != implied and implied[0] == 1


def as_array(X):
    """X as something with a shape; an array or a frame is left as it is."""
    X = from_torch(X)
    if all(hasattr(X, name) for name in ("X", "obs", "var")) and not hasattr(X, "__array__"):
        raise ValueError(
            f"X is of type {type(X).__name__}, which holds a matrix and more. Pass its matrix, .X (if that is sparse, "
            ".X.toarray()), or an embedding of it, e.g. .obsm['X_pca']."
        )
    if not hasattr(X, "shape"):
        is_array = isinstance(X, Sequence) or hasattr(X, "__array__") or hasattr(X, "__array_interface__")
        if not is_array or isinstance(X, (str, bytes)):
            raise ValueError(
                f"X is of type {type(X).__name__}, which is no array. Pass {TAKEN}. Of a data set or loader, stack the "
                "rows or join the batches first, by np.stack or np.concatenate."
            )
        X = np.asarray(X)
    if getattr(getattr(X, "dtype", None), "isbuiltin", 1) == 2:  # another package's, such as bfloat16 of ml_dtypes
        X = np.asarray(X).astype(np.float32)
    return X


def _check_cells(X):
    """Refuse objects that are no numbers and have a remedy: arrays, and missing values other than NaN."""
    dtypes: Any = np.atleast_1d(getattr(X, "dtypes", getattr(X, "dtype", "")))
    if not any(getattr(dtype, "kind", None) == "O" for dtype in dtypes):
        return
    for kind, value in {type(value): value for value in np.asarray(X, dtype=object).ravel()}.items():
        if isinstance(value, (list, tuple)) or getattr(value, "shape", None):
            raise ValueError(
                f"X holds values of type {kind.__name__}, each of which is several numbers. Stack them to one array: "
                "np.stack(X), or np.stack(X['name']) for a column of a DataFrame."
            )
        if kind.__name__ in MISSING:
            raise ValueError(
                f"X contains {MISSING[kind.__name__]}, a missing value. Fill these, e.g. by "
                "sklearn.impute.SimpleImputer or DataFrame.fillna, or drop their rows."
            )


def full_image_shape(shape):
    """(H, W) or (C, H, W) as (C, H, W)."""
    return (1, *shape) if len(shape) == 2 else tuple(shape)


def check_image_shape(image_shape, implied, n_features):
    """Settle the shape (C, H, W) of an image, or None, by the parameter and the shape implied by X, (C, H, W) or None.

    A ValueError tells if the two differ, or the pixels are not as many as features.
    """
    if image_shape is None:
        return implied
    whole = all(isinstance(length, (int, np.integer)) and length > 0 for length in image_shape)
    if len(image_shape) not in (2, 3) or not whole:
        raise ValueError(
            f"image_shape={image_shape!r} must be (height, width) or (channels, height, width), "
            "in positive whole numbers."
        )
    shape = full_image_shape(image_shape)
    if math.prod(shape) != n_features:
        raise ValueError(
            f"image_shape={image_shape!r} stands for {math.prod(shape)} pixels, but X has n_features={n_features}. "
            "Pass the shape that the rows were flattened from, or image_shape=None for vectors."
        )
    if implied is not None and implied != shape:
        raise ValueError(
            f"image_shape={image_shape!r} differs from the images in X, of shape {implied} as "
            "(channels, height, width). Leave image_shape=None: it is read off X."
        )
    return shape


def choose_network(network, image_shape):
    """Return a network's settings, for a name or an instance and rows that are images (C, H, W), or vectors (None).

    A ValueError refuses an unknown name, and convolution of no image or too small a one; a TypeError, an object without
    ``build`` or ``noise``.
    """
    if isinstance(network, str):
        if network == "auto":
            network = "mlp" if image_shape is None else "conv"
        if network not in NETWORKS:
            raise ValueError(
                f"network={network!r} is not known. Known names: 'auto', 'conv', 'mlp'; or pass an instance, "
                "e.g. skspc.networks.ConvNetwork(latent_size=20)."
            )
        network = NETWORKS[network]()
    missing = [name for name in ("build", "noise") if not hasattr(network, name)]
    if missing or isinstance(network, type):
        raise TypeError(
            f"network={network!r} must be 'auto', 'conv', 'mlp' or an instance with 'build' and 'noise', "
            "e.g. skspc.networks.MLPNetwork(hidden=(64,))."
        )
    if isinstance(network, ConvNetwork):
        _check_convolvable(image_shape)
    return network


def _check_convolvable(image_shape):
    if image_shape is None:
        raise ValueError(
            "network='conv' needs images, but X has flat rows and image_shape=None. Pass image_shape=(height, width) "
            "or (channels, height, width), or X of shape (N, H, W) or (N, C, H, W); or network='mlp'."
        )
    if min(image_shape[1:]) < MIN_IMAGE_SIZE:
        raise ValueError(
            f"Images of shape {image_shape} as (channels, height, width) are too small for network='conv', which "
            f"takes height and width from {MIN_IMAGE_SIZE} up. If channels come last, pass "
            f"{channels_first(image_shape)} and image_shape=None; if these are no images, pass network='mlp'."
        )


def check_n_samples(n_samples, n_clusters):
    """Refuse fewer than two rows, or fewer rows than clusters."""
    if n_samples < 2:
        raise ValueError(
            f"n_samples={n_samples} is too few to fit n_clusters={n_clusters}: at least 2 rows are needed."
        )
    if n_clusters != "auto" and n_samples < n_clusters:
        raise ValueError(
            f"n_samples={n_samples} is less than n_clusters={n_clusters}. Lower n_clusters or pass more rows."
        )


def check_known_labels(known_labels, n_rows, n_clusters, n_distinct):
    """Known labels of n_rows rows as integers (n_rows,), -1 where nothing is known; None where that is everywhere.

    A ValueError refuses another length, what is no whole number, and labels that there cannot be.
    """
    if known_labels is None:
        return None
    if np.ma.is_masked(known_labels):
        raise ValueError("known_labels has masked values. Pass known_labels.filled(-1): -1 is where nothing is known.")
    labels = np.asarray(from_torch(known_labels))
    if labels.shape != (n_rows,):
        raise ValueError(
            f"known_labels has the shape {labels.shape}, but X has {n_rows} rows. Pass one label for each row, shape "
            f"({n_rows},), with -1 where nothing is known."
        )
    try:
        with np.errstate(invalid="ignore"):
            whole = labels.astype(np.int64)
        exact = labels.dtype.kind not in "bSUmM" and bool(np.all(whole == labels))
    except (TypeError, ValueError, OverflowError):
        exact = False
    if not exact:
        raise ValueError(
            f"known_labels has type {labels.dtype} and holds what is no whole number. Pass labels 0, 1, ... and -1 "
            "where nothing is known (sklearn.preprocessing.LabelEncoder makes numbers of names; a missing value is no "
            "-1)."
        )
    lowest, highest = whole.min(), whole.max()
    most, why = (n_distinct, "as many as distinct rows") if n_clusters == "auto" else (n_clusters, "n_clusters")
    if lowest < NOISE or highest >= most:
        raise ValueError(
            f"known_labels holds {lowest if lowest < NOISE else highest}, and labels must be from -1 to {most - 1}, of "
            f"{most} clusters at most ({why}); -1 is for rows of which nothing is known."
        )
    return whole if highest > NOISE else None


def from_torch(X):
    """A tensor, or each of those in a list, as an array, wherever it lies and whatever is recorded for its gradient.

    Anything else stays as it came.
    """
    if type(X) in (list, tuple):
        return [from_torch(row) for row in X]
    if not torch.is_tensor(X) or X.layout != torch.strided:
        return X
    narrow = X.dtype.is_floating_point and X.dtype.itemsize < 4  # numpy has no bfloat16
    return to_numpy(X.float() if narrow else X)


def is_of_text(error):
    """Whether scikit-learn's error is of X that holds text: one of numpy's, or its own for arrays of nothing else."""
    return "could not convert" in str(error) or "arrays of bytes/strings" in str(error)


def check_no_times_beside_numbers(X):
    """Refuse a table with some columns of times, and name them; one of nothing else has a type that numbers lack."""
    dtypes: Any = getattr(X, "dtypes", {})
    if not hasattr(dtypes, "items"):  # a list, of a table that is not of pandas' kind
        return
    columns = [name for name, dtype in dtypes.items() if getattr(dtype, "kind", "-") in "mM"]
    if 0 < len(columns) < len(dtypes):
        raise TypeError(
            f"X has times beside numbers, in the columns {columns}. Leave them out, or make them numbers, e.g. days "
            "since the first."
        )


def no_number(error):
    """A ValueError for X that holds text, say."""
    return ValueError(
        f"X holds what is no number ({error}). Leave it out, or encode it, e.g. by sklearn.preprocessing.OneHotEncoder."
    )


def as_numbers(X) -> np.ndarray:
    """Make rows numbers that torch has: objects, and floats wider than 64 bits, become float64.

    The padding bytes of wide floats would tell equal rows apart. A ValueError refuses times, what is no number, and
    numbers beyond float64.
    """
    if X.dtype.kind in "mM":
        raise ValueError(f"X has type {X.dtype}, and times are no features. Pass numbers, e.g. X.astype('int64').")
    if X.dtype.kind != "O" and X.dtype.itemsize <= 8:
        return X
    try:
        with np.errstate(over="ignore"):
            X = X.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise no_number(error) from error
    assert_all_finite(X, input_name="X")
    return X
