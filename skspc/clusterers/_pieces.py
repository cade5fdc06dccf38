"""In how many pieces a graph of neighbours is: parts that are hardly joined count as well as parts that are not."""

import math

import numpy as np
from scipy.sparse import csr_array, dia_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackError, eigsh

_APART = 0.09  # eigenvalue of the normalised Laplacian: below, two pieces are all but apart (docs/clusterers.md)
_DENSE_ROWS = 300  # up to here, all eigenvalues cost nothing
_MOST_ITERATIONS = 300


def has_more_pieces(neighbors, n_pieces):
    """Whether the graph of rows with their neighbours (N, k) is in more than so many pieces."""
    return eigenvalue_after(neighbors, n_pieces) < _APART


def eigenvalue_after(neighbors, n_pieces):
    """The eigenvalue that tells of one piece more than so many, of the graph of rows with their neighbours (N, k).

    Of the graph's normalised Laplacian there is an eigenvalue 0 for each connected component, and a small one for each
    part that few edges join to the others (von Luxburg 2007, "A tutorial on spectral clustering", sections 3.2 and
    7.1): it is the next one in ascending order. A cloud that is long, or has many rows in few dimensions, has small
    ones too. It is infinite where rows are too few, or it was not found. A row may be among its own neighbours.
    """
    n_rows = len(neighbors)
    if n_rows <= n_pieces + 1:
        return math.inf
    heads, tails = np.repeat(np.arange(n_rows), neighbors.shape[1]), neighbors.ravel()
    others = heads != tails
    edges = csr_array((np.ones(others.sum()), (heads[others], tails[others])), shape=(n_rows, n_rows))
    edges = ((edges + edges.T) > 0).astype(np.float64)
    if connected_components(edges, directed=False)[0] > n_pieces:
        return 0.0
    degrees = np.asarray(edges.sum(axis=1)).ravel()
    edges = edges + _diagonal(degrees == 0)  # a row without neighbours is a piece
    scale = _diagonal(1 / np.sqrt(np.maximum(degrees, 1)))
    largest = _largest_eigenvalues((scale @ edges @ scale).tocsr(), n_pieces + 1)
    return math.inf if largest is None else max(0.0, 1 - float(largest[0]))


def _diagonal(values):
    return dia_array((values[None].astype(np.float64), [0]), shape=(len(values), len(values)))


def _largest_eigenvalues(matrix, n):
    """The n largest eigenvalues of a symmetric matrix, the least of them first; None where they are not found."""
    if matrix.shape[0] <= _DENSE_ROWS:
        return np.linalg.eigvalsh(matrix.toarray())[-n:]
    start = np.random.default_rng(0).normal(size=matrix.shape[0])  # ARPACK's own would be another in each call
    try:
        # To the last digit: with a tolerance it ends before it has seen all copies of an eigenvalue.
        found = eigsh(matrix, k=n, which="LA", tol=0, v0=start, maxiter=_MOST_ITERATIONS, return_eigenvectors=False)
    except ArpackError:
        return None
    return np.sort(found)
