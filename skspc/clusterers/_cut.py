"""Flat clusterings with exactly C clusters, read off one single-linkage tree.

A tree is an array (N - 1, 4) in scipy's form: the two nodes merged, their distance, the number of rows below.
"""

import numpy as np
from hdbscan._hdbscan_tree import labelling_at_cut
from hdbscan.hdbscan_ import _tree_to_labels

from .._constants import NOISE

_SHRINK = 0.8  # from one min_cluster_size tried to the next
_TINY = 2  # a first min_cluster_size at which single rows may be clusters


def cluster_sizes_to_try(largest, smallest):
    """Values for min_cluster_size from ``largest`` down to ``smallest``, each about four fifths of the last."""
    sizes = [max(largest, smallest)]
    while sizes[-1] > smallest:
        sizes.append(max(smallest, min(sizes[-1] - 1, int(sizes[-1] * _SHRINK))))
    return sizes


def cut_tree_exactly(tree, n_clusters, sizes):
    """Read exactly ``n_clusters`` clusters off a tree.

    Excess of mass is tried at each min_cluster_size in turn; then, in the same order, the level of the tree at which
    exactly ``n_clusters`` components of that size cover most rows. With hardly more rows than clusters a component
    may be a single row.

    Parameters
    ----------
    tree : ndarray of shape (N - 1, 4)
    n_clusters : int
    sizes : list of int
        Values for min_cluster_size, in the order in which they are tried.

    Returns
    -------
    labels : ndarray of shape (N,) or None
        ``NOISE`` for rows in no cluster. None if the tree has no such cut.
    """
    for size in sizes:
        labels = excess_of_mass(tree, size)
        if labels.max() + 1 == n_clusters:
            return labels
    for size in [*sizes, 1] if sizes[0] <= _TINY else sizes:
        labels = widest_cut(tree, n_clusters, size)
        if labels is not None:
            return labels
    return None


def excess_of_mass(tree, min_cluster_size):
    """Label rows by HDBSCAN's own selection, excess of mass."""
    if min_cluster_size > len(tree) + 1:
        return np.full(len(tree) + 1, NOISE)
    return np.asarray(_tree_to_labels(None, tree, min_cluster_size)[0])


def widest_cut(tree, n_clusters, min_cluster_size):
    """Cut where exactly ``n_clusters`` components of at least ``min_cluster_size`` rows cover most rows.

    Returns
    -------
    labels : ndarray of shape (N,) or None
    """
    n_rows = len(tree) + 1
    below = np.concatenate([np.ones(n_rows), tree[:, 3]])  # rows below each node
    left, right = below[tree[:, 0].astype(int)], below[tree[:, 1].astype(int)]
    parts = np.stack([tree[:, 3], left, right])
    large = parts >= min_cluster_size
    signs = np.array([[1], [-1], [-1]])
    count = np.cumsum((signs * large).sum(axis=0))  # large components after each merge
    covered = np.cumsum((signs * large * parts).sum(axis=0))
    if min_cluster_size <= 1:
        count, covered = count + n_rows, covered + n_rows
    # Merges at one distance belong together: only the last of them is a level of the tree.
    last = np.append(np.diff(tree[:, 2]) > 0, True)
    fits = np.flatnonzero(last & (count == n_clusters))
    if len(fits) == 0:
        return None
    best = fits[np.argmax(covered[fits])]
    distance = tree[best + 1, 2] if best + 1 < len(tree) else np.inf
    return np.asarray(labelling_at_cut(tree, distance, min_cluster_size))
