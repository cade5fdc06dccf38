"""Rows: the one door from numpy to torch and back, where batches are taken from, and which rows are equal."""

import math
from hashlib import blake2b
from mmap import mmap

import numpy as np
import torch

from .memory import RESIDENT_SHARE, free_memory

_HASH_BYTES = 16
_VALUES_PER_CHUNK = 2**20  # that are copied at once where the whole is not to be


class RowsOfFile:
    """Rows of an array that lies in a file, read and changed when they are asked for: the whole is never in memory.

    Batches are taken from it by slices or arrays of indices, as from an array.

    Parameters
    ----------
    X : ndarray of shape (N, n_features)
    which : ndarray of shape (n,), int, optional
        The rows, if not all.
    change : callable, optional
        Makes of rows (m, n_features) an array (m, *row_shape), of ``dtype``.
    row_shape : tuple, optional
        Shape of a row, if not (n_features,).
    dtype : dtype, optional
        Of what comes out, if not that of X.
    """

    def __init__(self, X, which=None, change=None, row_shape=None, dtype=None):
        self.X, self.which, self.change = X, which, change
        self.shape = (len(X) if which is None else len(which), *(X.shape[1:] if row_shape is None else row_shape))
        self.dtype = np.dtype(X.dtype if dtype is None else dtype)

    def __len__(self):
        return self.shape[0]

    @property
    def nbytes(self):
        return math.prod(self.shape) * self.dtype.itemsize

    def __getitem__(self, index):
        rows = self.X[index if self.which is None else self.which[index]]
        made = rows if self.change is None else self.change(rows.reshape(-1, rows.shape[-1]))
        return made.reshape(*rows.shape[:-1], *self.shape[1:])

    def changed(self, change, row_shape, dtype):
        """The same rows, changed before they come out."""
        return RowsOfFile(self.X, self.which, change, row_shape, dtype)


def lies_in_file(X):
    """Whether an array, or what it is a view of, is a memory-mapped file."""
    while isinstance(X, np.ndarray):  # down to what holds the memory: a copy of a memmap is one by name alone
        X = X.base
    return isinstance(X, (mmap, RowsOfFile))


def rows_at(X, index):
    """The rows of X at increasing indices: X itself if these are all, and no copy of what lies in a file."""
    if len(index) == len(X):
        return X
    return RowsOfFile(X, index) if lies_in_file(X) else X[index]


def chunks(X):
    """Yield some rows of X after the others, few enough that copies of them take little memory."""
    n_rows = max(1, _VALUES_PER_CHUNK // math.prod(X.shape[1:]))
    for start in range(0, len(X), n_rows):
        yield X[start : start + n_rows]


def to_tensor(array, device):
    """Bring a numpy array to a device; its memory is shared where that is the CPU and it can be written to."""
    return torch.from_numpy(array if array.flags.writeable else array.copy()).to(device)


def to_numpy(tensor):
    """Bring a tensor to the CPU as a numpy array, whatever is recorded for its gradient, or as its sign."""
    return tensor.numpy(force=True)


def place_rows(X, device):
    """Rows X (N, *input_shape) where batches are taken from: on the device if they fit there, else where they are."""
    if device.type == "cpu":
        return X
    free = free_memory(device)
    if free is not None and X.nbytes > RESIDENT_SHARE * free:
        return X
    return torch.cat([to_tensor(rows, device) for rows in chunks(X)]) if lies_in_file(X) else to_tensor(X, device)


def take_rows(X, index, device):
    """Take rows of X, of `place_rows`, as a floating batch (*index.shape, *input_shape) on the device.

    Bytes are images, and are scaled from 0..255 to [-1, 1].
    """
    if torch.is_tensor(X):
        batch = X[index]
    elif isinstance(index, slice) or device.type != "cuda":
        batch = to_tensor(X[index if isinstance(index, slice) else to_numpy(index)], device)
    else:
        batch = _send_rows(X, to_numpy(index), device)
    return batch.float() / 127.5 - 1 if batch.dtype == torch.uint8 else batch


def _send_rows(X, index, device):
    """Send rows of an array to a card from page-locked memory, which takes half the time and waits for nothing."""
    batch = torch.empty((*index.shape, *X.shape[1:]), dtype=to_tensor(X[:1], "cpu").dtype, pin_memory=True)
    if isinstance(X, np.ndarray):
        np.take(X, index, axis=0, out=batch.numpy(), mode="clip")  # "raise" would make a copy first
    else:
        batch.numpy()[:] = X[index]
    return batch.to(device, non_blocking=True)


def distinct_rows(X):
    """Find the distinct rows of X (N, n_features), in the order of their first appearance.

    Returned are the index of the first of each (n_distinct,), and which distinct row each row is (N,).
    """
    # Rows are told apart by a hash of 128 bits, which takes no copy of all rows; two that differ have the same by a
    # chance of 2**-128.
    hashes = b"".join(blake2b(row, digest_size=_HASH_BYTES).digest() for rows in chunks(X) for row in _comparable(rows))
    keys = np.frombuffer(hashes, dtype=np.dtype((np.void, _HASH_BYTES)))
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[inverse.ravel()]


def _comparable(rows):
    """Rows of which equal ones have equal bytes: adding zero makes -0.0 and 0.0 one value."""
    return np.ascontiguousarray(rows + rows.dtype.type(0) if rows.dtype.kind == "f" else rows)
