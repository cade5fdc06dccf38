"""Flat clusterings with exactly C clusters, read off one single-linkage tree.

A tree is an array (N - 1, 4) in scipy's form: the two nodes merged, their distance, the number of rows below.
"""

import numpy as np
from hdbscan.hdbscan_ import _tree_to_labels
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from .._constants import NOISE

_SHRINK = 0.8  # from one min_cluster_size tried to the next
_MIN_COVERAGE = 0.5  # of the rows, for clusters by HDBSCAN's own selections
_SMALLEST_LEAF = 2  # rows
_FEW_ROWS = 10  # a first min_cluster_size below which single rows may be clusters


def cluster_sizes_to_try(largest, smallest):
    """Values for min_cluster_size from ``largest`` down to ``smallest``, each about four fifths of the last."""
    sizes = [max(largest, smallest)]
    while sizes[-1] > smallest:
        sizes.append(max(smallest, min(sizes[-1] - 1, int(sizes[-1] * _SHRINK))))
    return sizes


def cut_tree_exactly(tree, n_clusters, sizes):
    """Read exactly ``n_clusters`` clusters off a tree: labels (N,), or None if it has no such cut.

    Excess of mass is tried at each min_cluster_size in turn, and the leaves of the condensed tree at the largest size
    at which there are ``n_clusters`` of them; the larger size counts, and no more than half of the rows may be left as
    noise. Where clusters overlap, excess of mass finds too few until sizes are so small that splinters are clusters;
    leaves split the large ones instead. Then comes, of all levels of the tree at which exactly ``n_clusters``
    components have one of these sizes, the one where they cover most rows. If there is none, merges at one distance
    count one by one (mutual reachability has many of these) and, with few rows a cluster, a component may be a single
    row.
    """
    for labels in selections(tree, n_clusters, sizes):
        if labels.max() + 1 == n_clusters and coverage(labels) >= _MIN_COVERAGE:
            return labels
    cuts = [widest_cut(tree, n_clusters, size) for size in sizes]
    found = [labels for labels in cuts if labels is not None]
    if not found:
        sizes = [*sizes, 1] if sizes[0] < _FEW_ROWS else sizes
        cuts = [widest_cut(tree, n_clusters, size, split_ties=True) for size in sizes]
        found = [labels for labels in cuts if labels is not None]
    return max(found, key=coverage, default=None)


def selections(tree, n_clusters, sizes):
    """Yield HDBSCAN's own selections by decreasing size: excess of mass at each, the leaves at their largest."""
    yield excess_of_mass(tree, sizes[0])
    leaf_size = largest_leaf_size(tree, n_clusters, sizes[0])  # a dozen readings, which mostly nobody asks for
    for size in sizes[1:]:
        if size < leaf_size:
            yield leaves(tree, leaf_size)
            leaf_size = 0
        yield excess_of_mass(tree, size)
    if leaf_size:
        yield leaves(tree, leaf_size)


def largest_leaf_size(tree, n_clusters, largest):
    """Find the largest min_cluster_size at which a condensed tree has exactly ``n_clusters`` leaves.

    It is at most ``largest``, and 0 if there is none. The smaller the size, the more leaves there are.
    """
    low, high = _SMALLEST_LEAF, largest
    while low < high:
        middle = (low + high + 1) // 2
        if leaves(tree, middle).max() + 1 >= n_clusters:
            low = middle
        else:
            high = middle - 1
    return low if low <= largest and leaves(tree, low).max() + 1 == n_clusters else 0


def consistent_n_clusters(tree, min_cluster_size):
    """Find the largest C, two or more, that excess of mass with min_cluster_size N // (2 C) finds.

    It is the number to which the first step of `cut_tree_exactly` gives itself. Larger ones are tried first: the number
    found is the next to try, since where smaller clusters are allowed, no fewer of them are found. 1 where there is
    none with clusters of at least ``min_cluster_size`` rows.
    """
    n_rows = len(tree) + 1
    n_clusters = max(n_rows // (2 * min_cluster_size), 1)
    while n_clusters > 1:
        found = int(excess_of_mass(tree, max(n_rows // (2 * n_clusters), 2)).max()) + 1
        if found >= n_clusters:
            break
        n_clusters = found
    return max(n_clusters, 1)


def coverage(labels):
    """Share of the rows that are in a cluster."""
    return np.mean(labels != NOISE)


def excess_of_mass(tree, min_cluster_size):
    """Label rows by HDBSCAN's first selection, excess of mass."""
    return _select(tree, min_cluster_size, "eom")


def leaves(tree, min_cluster_size):
    """Label rows by HDBSCAN's other selection, the leaves of the condensed tree."""
    return _select(tree, min_cluster_size, "leaf")


def _select(tree, min_cluster_size, method):
    if min_cluster_size > len(tree) + 1:
        return np.full(len(tree) + 1, NOISE)
    return np.asarray(_tree_to_labels(None, tree, min_cluster_size, cluster_selection_method=method)[0])


def widest_cut(tree, n_clusters, min_cluster_size, split_ties=False):
    """Cut where exactly ``n_clusters`` components of at least ``min_cluster_size`` rows cover most rows: (N,), or None.

    Merges at one distance are one level of the tree, unless ``split_ties``: then the tree's order of them counts.
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
    is_level = np.append(np.diff(tree[:, 2]) > 0, True)  # the last of the merges at one distance
    if split_ties:
        is_level |= tree[:, 2] > 0  # equal rows stay together
    fits = np.flatnonzero(is_level & (count == n_clusters))
    if len(fits) == 0:
        return None
    return components_after(tree, fits[np.argmax(covered[fits])] + 1, min_cluster_size)


def components_after(tree, n_merges, min_cluster_size):
    """Label the components that the first merges of a tree make; those that are too small are noise."""
    n_rows = len(tree) + 1
    children = tree[:n_merges, :2].astype(int).ravel()
    parents = np.repeat(n_rows + np.arange(n_merges), 2)
    edges = coo_array((np.ones(2 * n_merges), (parents, children)), shape=(2 * n_rows - 1, 2 * n_rows - 1))
    labels = connected_components(edges, directed=False)[1][:n_rows]
    _, labels, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    large = sizes >= min_cluster_size
    renamed = np.where(large, np.cumsum(large) - 1, NOISE)
    return renamed[labels]
