"""Rows: the one door from numpy to torch and back, where batches are taken from, and which rows are equal."""

import numpy as np
import torch

from .memory import RESIDENT_SHARE, free_memory


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
    return to_tensor(X, device) if free is None or X.nbytes <= RESIDENT_SHARE * free else X


def take_rows(X, index, device):
    """Take rows of X, of `place_rows`, as a floating batch (*index.shape, *input_shape) on the device.

    Bytes are images, and are scaled from 0..255 to [-1, 1].
    """
    if not isinstance(X, np.ndarray):
        batch = X[index]
    elif isinstance(index, slice) or device.type != "cuda":
        batch = to_tensor(X[index if isinstance(index, slice) else to_numpy(index)], device)
    else:
        batch = _send_rows(X, to_numpy(index), device)
    return batch.float() / 127.5 - 1 if batch.dtype == torch.uint8 else batch


def _send_rows(X, index, device):
    """Send rows of an array to a card from page-locked memory, which takes half the time and waits for nothing."""
    batch = torch.empty((*index.shape, *X.shape[1:]), dtype=to_tensor(X[:1], "cpu").dtype, pin_memory=True)
    np.take(X, index, axis=0, out=batch.numpy(), mode="clip")  # "raise" would make a copy first
    return batch.to(device, non_blocking=True)


def distinct_rows(X):
    """Find the distinct rows of X (N, n_features), in the order of their first appearance.

    Returned are the index of the first of each (n_distinct,), and which distinct row each row is (N,).
    """
    # Adding zero makes -0.0 and 0.0 one value; as bytes they would differ.
    keys = np.ascontiguousarray(X + X.dtype.type(0) if X.dtype.kind == "f" else X)
    keys = keys.view(np.dtype((np.void, keys.dtype.itemsize * keys.shape[1]))).ravel()
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[inverse.ravel()]
