"""The data sets that deep clustering is measured on, fetched whole: training and test rows together.

Each takes its set from a folder, if one is named and holds it, and from OpenML otherwise. A folder is named by
``data_home`` or by the environment variable ``SKSPC_DATA``. It may hold ``<name>.npz`` with arrays ``images`` (or
``features``) and ``labels``, or, for MNIST and Fashion-MNIST, a folder ``<name>`` with the four original idx files,
packed or not.
"""

import gzip
import math
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, cast, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import fetch_openml
from sklearn.utils import Bunch

from ._docstrings import filled_in

__all__ = ["fetch_fashion_mnist", "fetch_mnist", "fetch_optdigits", "fetch_pendigits", "fetch_usps"]

DIGITS = tuple("0123456789")
CLOTHES = (
    *("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat"),
    *("Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
)


@dataclass(frozen=True)
class Source:
    """What is known of a set: where OpenML has it, and what a whole copy of it looks like."""

    name: str
    title: str
    openml_id: int
    shape: tuple[int, ...]  # of one row: (H, W) of an image, or (n_features,)
    class_counts: tuple[int, ...]
    target_names: tuple[str, ...] = DIGITS
    low: float = 0.0  # what stands for 0 at OpenML
    high: float = 255.0  # what stands for ``largest`` there
    largest: int = 255  # value of a pixel or feature
    first_label: int = 0  # OpenML's, of class 0


MNIST = Source("mnist", "MNIST", 554, (28, 28), (6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958))
FASHION_MNIST = Source("fashion_mnist", "Fashion-MNIST", 40996, (28, 28), (7000,) * 10, CLOTHES)
USPS = Source(
    *("usps", "USPS", 41082, (16, 16), (1553, 1269, 929, 824, 852, 716, 834, 792, 708, 821)),
    low=-1.0,
    high=1.0,
    first_label=1,
)
PENDIGITS = Source(
    *("pendigits", "pendigits", 32, (16,), (1143, 1143, 1144, 1055, 1144, 1055, 1056, 1142, 1055, 1055)),
    high=100.0,
    largest=100,
)
OPTDIGITS = Source(
    *("optdigits", "optdigits", 28, (8, 8), (554, 571, 557, 572, 568, 558, 558, 566, 554, 562)), high=16.0, largest=16
)


Folder = str | os.PathLike[str] | None
Arrays = tuple[NDArray[np.uint8], NDArray[np.int64]]
Found = tuple[NDArray[Any], NDArray[Any], str]  # rows, target, and where they are from


class Fetcher(Protocol):
    """What the five functions are to a type checker: ``return_X_y`` decides what comes back."""

    __name__: str

    @overload
    def __call__(self, *, data_home: Folder = None, return_X_y: Literal[False] = False) -> Bunch: ...
    @overload
    def __call__(self, *, data_home: Folder = None, return_X_y: Literal[True]) -> Arrays: ...
    @overload
    def __call__(self, *, data_home: Folder = None, return_X_y: bool) -> Bunch | Arrays: ...


DETAILS = """Parameters
----------
data_home : str or path, default=None
    Folder to look in first; None is that of the environment variable ``SKSPC_DATA``, if set. What OpenML sends is kept
    by scikit-learn (see `sklearn.datasets.get_data_home`).
return_X_y : bool, default=False
    Whether two arrays are returned in place of a Bunch.

Returns
-------
data : Bunch
    ``data`` {flat} uint8, ``target`` ({n_rows},) int64, ``target_names``, ``DESCR``{images}.
    With ``return_X_y``, ({rows}, target).

Raises
------
ValueError
    If what was found is not the whole set.
OSError
    If the set is not in the folder and OpenML cannot be reached.

Examples
--------
>>> from skspc.datasets import {name}
>>> X, y = {name}(return_X_y=True)  # doctest: +SKIP
>>> X.shape  # doctest: +SKIP
{shape}
"""


def _details_of(source: Source) -> Callable[[Callable[..., Any]], Fetcher]:
    """Fill in what the docstrings of all sets share, and what of it a set's shape decides."""
    shape = (sum(source.class_counts), *source.shape)
    rows, images = ("images", f" and ``images`` {shape} uint8") if len(shape) == 3 else ("data", "")
    flat = (shape[0], math.prod(source.shape))
    return filled_in(details=DETAILS, shape=shape, n_rows=shape[0], flat=flat, images=images, rows=rows)


@_details_of(MNIST)
def fetch_mnist(*, data_home: Folder = None, return_X_y: bool = False) -> Bunch | Arrays:
    """Fetch MNIST: 70 000 handwritten digits, 28 x 28.

    {details}
    """
    return _fetch(MNIST, data_home, return_X_y)


@_details_of(FASHION_MNIST)
def fetch_fashion_mnist(*, data_home: Folder = None, return_X_y: bool = False) -> Bunch | Arrays:
    """Fetch Fashion-MNIST: 70 000 pieces of clothing, 28 x 28.

    {details}
    """
    return _fetch(FASHION_MNIST, data_home, return_X_y)


@_details_of(USPS)
def fetch_usps(*, data_home: Folder = None, return_X_y: bool = False) -> Bunch | Arrays:
    """Fetch USPS: 9298 handwritten digits, 16 x 16.

    {details}
    """
    return _fetch(USPS, data_home, return_X_y)


@_details_of(PENDIGITS)
def fetch_pendigits(*, data_home: Folder = None, return_X_y: bool = False) -> Bunch | Arrays:
    """Fetch pendigits: 10 992 digits, each eight points along the pen's path, 0..100.

    {details}
    """
    return _fetch(PENDIGITS, data_home, return_X_y)


@_details_of(OPTDIGITS)
def fetch_optdigits(*, data_home: Folder = None, return_X_y: bool = False) -> Bunch | Arrays:
    """Fetch optdigits: 5620 handwritten digits, 8 x 8, each pixel 0..16.

    scikit-learn's `load_digits` are its last 1797 rows.

    {details}
    """
    return _fetch(OPTDIGITS, data_home, return_X_y)


def _renamed(fetch: Fetcher) -> Fetcher:
    """Let a function be called by its old name, for one release."""

    def load(**settings: Any) -> Any:
        old = fetch.__name__.replace("fetch_", "load_")
        message = f"{old} is now called {fetch.__name__}; the old name goes in skspc 0.2."
        warnings.warn(message, FutureWarning, stacklevel=2)
        return fetch(**settings)

    return cast(Fetcher, load)


load_mnist, load_fashion_mnist, load_usps = map(_renamed, (fetch_mnist, fetch_fashion_mnist, fetch_usps))
load_pendigits, load_optdigits = map(_renamed, (fetch_pendigits, fetch_optdigits))


def _fetch(source: Source, data_home: Folder, return_X_y: bool) -> Bunch | Arrays:
    rows, target, origin = _from_folder(source, data_home) or _from_openml(source)
    _check_whole(source, rows, target, origin)
    rows = np.ascontiguousarray(rows.reshape(len(rows), *source.shape), dtype=np.uint8)
    target = target.astype(np.int64)
    if return_X_y:
        return rows, target
    bunch = Bunch(
        data=rows.reshape(len(rows), -1),
        target=target,
        target_names=np.array(source.target_names),
        DESCR=f"{source.title}: {len(rows)} rows of shape {source.shape}, 0 to {source.largest}; from {origin}.",
    )
    if len(source.shape) == 2:
        bunch.images = rows
    return bunch


def _from_folder(source: Source, data_home: Folder) -> Found | None:
    """Rows, target and origin from the folder; None if it is not named or does not hold the set."""
    data_home = data_home or os.environ.get("SKSPC_DATA")
    if not data_home:
        return None
    folder = Path(data_home).expanduser()
    if not folder.is_dir():
        raise FileNotFoundError(
            f"data_home={str(data_home)!r} is not a folder. Pass the folder that holds {source.name}.npz, or unset "
            "data_home (and SKSPC_DATA) to fetch the set from OpenML."
        )
    archive = folder / f"{source.name}.npz"
    if archive.exists():
        with np.load(archive, allow_pickle=False) as arrays:
            names = ["images" if "images" in arrays else "features", "labels"]
            lacking = [name for name in names if name not in arrays]
            if lacking:
                raise ValueError(
                    f"{archive} has no array {lacking[0]!r}. It must have 'images' or 'features', and 'labels'."
                )
            return *(arrays[name] for name in names), str(archive)
    stems = [f"{part}-{what}" for what in ("images", "labels") for part in ("train", "t10k")]
    parts = [part for stem in stems if (part := _read_idx(folder / source.name, stem)) is not None]
    if len(parts) < len(stems):
        return None
    return np.concatenate(parts[:2]), np.concatenate(parts[2:]), str(folder / source.name)


def _read_idx(folder: Path, stem: str) -> NDArray[np.uint8] | None:
    """Array of an idx file of unsigned bytes, packed or not; None without one."""
    found = sorted(folder.glob(f"{stem}?idx?-ubyte*"))  # dashes or dots, as unpacking programs have it
    if not found:
        return None
    opener = gzip.open if found[0].suffix == ".gz" else open
    with opener(found[0], "rb") as file:
        content = file.read()
    n_axes = content[3]
    shape = np.frombuffer(content, dtype=">i4", count=n_axes, offset=4)
    return np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * n_axes).reshape(shape)


def _from_openml(source: Source) -> Found:
    """Rows, target and origin from OpenML."""
    try:
        fetched = fetch_openml(data_id=source.openml_id, as_frame=False, parser="liac-arff")
    except OSError as error:
        raise OSError(
            f"{source.title} is in no folder that was named, and OpenML (data set {source.openml_id}) cannot be "
            f"reached: {error}. Pass data_home, or set SKSPC_DATA, to a folder with {source.name}.npz (arrays 'images' "
            "or 'features', and 'labels')."
        ) from error
    values = np.asarray(fetched.data, dtype=np.float64)
    if not np.allclose([values.min(), values.max()], [source.low, source.high]):
        raise ValueError(
            f"OpenML's data set {source.openml_id} is not {source.title} as it was: its values go from "
            f"{values.min()} to {values.max()}, not from {source.low} to {source.high}. Pass data_home with a copy of "
            "your own."
        )
    rows = np.round((values - source.low) / (source.high - source.low) * source.largest)
    target = np.asarray(fetched.target).astype(np.int64) - source.first_label
    return rows, target, f"OpenML, data set {source.openml_id}"


def _check_whole(source: Source, rows: NDArray[Any], target: NDArray[Any], origin: str) -> None:
    """Refuse a set with other rows a class than the whole one has, or rows of another shape or range."""
    n_values = math.prod(source.shape)
    if len(rows) != len(target) or math.prod(rows.shape[1:]) != n_values:
        raise ValueError(
            f"{origin} is not {source.title}: it has {len(rows)} rows of shape {rows.shape[1:]} and {len(target)} "
            f"labels, where rows of shape {source.shape} are expected, and a label for each."
        )
    if rows.min() < 0 or rows.max() > source.largest or (rows != np.round(rows)).any():
        raise ValueError(
            f"{origin} is not {source.title}: its values go from {rows.min()} to {rows.max()}, and are to be whole "
            f"numbers from 0 to {source.largest}. Scale them, or pass another data_home."
        )
    target = target.astype(np.int64)
    counts = tuple(np.bincount(target[target >= 0], minlength=len(source.class_counts)).tolist())
    if counts != source.class_counts or (target < 0).any():
        raise ValueError(
            f"{origin} is not the whole of {source.title}: it has {counts} rows of each class, not "
            f"{source.class_counts}. Replace it, or pass another data_home."
        )
