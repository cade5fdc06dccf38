"""Rows as a set: the distinct ones, and which of these each row is."""

import numpy as np


def distinct_rows(X):
    """Find the distinct rows, in the order of their first appearance.

    Parameters
    ----------
    X : ndarray of shape (N, n_features)

    Returns
    -------
    first : ndarray of shape (n_distinct,)
        Index of the first of each.
    inverse : ndarray of shape (N,)
        Which distinct row each row is.
    """
    # Adding zero makes -0.0 and 0.0 one value; as bytes they would differ.
    keys = np.ascontiguousarray(X + X.dtype.type(0) if X.dtype.kind == "f" else X)
    keys = keys.view(np.dtype((np.void, keys.dtype.itemsize * keys.shape[1]))).ravel()
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[inverse.ravel()]
