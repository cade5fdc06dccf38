"""Flat clusterings with exactly C clusters, read off one single-linkage tree.

A tree is an array (N - 1, 4) in scipy's form: the two nodes merged, their distance, the number of rows below.
"""

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.metrics.cluster import contingency_matrix

from .._constants import NOISE
from ._condensed import excess_of_mass, leaf_sizes, leaves

_SHRINK = 0.8  # from one min_cluster_size tried to the next
_MIN_COVERAGE = 0.5  # of the rows, for clusters by HDBSCAN's own selections
_MUCH_ALIKE = 0.9  # of the rows
_WELL_COVERED = 0.95  # of the rows
# A weight of a selection below which it hardly persists: where a cluster is smaller than min_samples, splinters have
# .02 to .11, and with fewer neighbours the right selection .18 to 1.4 (docs/clusterers.md).
_PERSISTS = 0.2
_FEW_ROWS = 20  # a first min_cluster_size below which single rows may be clusters


def cluster_sizes_to_try(largest, smallest):
    """Values for min_cluster_size from ``largest`` down to ``smallest``, each about four fifths of the last."""
    sizes = [max(largest, smallest)]
    while sizes[-1] > smallest:
        sizes.append(max(smallest, min(sizes[-1] - 1, int(sizes[-1] * _SHRINK))))
    return sizes


def cut_tree_exactly(tree_of, n_clusters, sizes, min_samples=1):
    """Read exactly ``n_clusters`` clusters off a tree: labels (N,), or None if it has no such cut.

    ``tree_of(min_samples)`` makes it. HDBSCAN's own selections with ``n_clusters`` clusters count first, if they leave
    no more than half of the rows as noise: those of excess of mass at ``sizes``, which decrease, and the leaves of the
    condensed tree at the largest size at which there are so many. Of these, the one is taken that persists over most
    sizes, by their logarithm and down to ``min_samples``, times the squared share of the rows that it covers: splinters
    of a large cluster, or a few rows beside one that holds all others, come and go from one size to the next. Where it
    hardly persists, clusters of no more than ``min_samples`` rows may be the noise, and trees of fewer neighbours are
    looked at. If there is no selection, it is the level of the tree at which exactly ``n_clusters`` components have one
    of these sizes and cover most rows. If there is no such level, merges at one distance count one by one (mutual
    reachability has many of these) and, with few rows a cluster, a component may be a single row.
    """
    tree = tree_of(min_samples)
    selection = most_persistent(tree, n_clusters, sizes, min_samples)
    if selection is None or selection.weight(min_samples) < _PERSISTS:
        selection = selection_of_small_clusters(tree_of, n_clusters, sizes, min_samples) or selection
    return widest_level(tree, n_clusters, sizes) if selection is None else selection.labels


def most_persistent(tree, n_clusters, sizes, min_samples):
    """The `Selection` that persists over most sizes and covers most rows, as `cut_tree_exactly` takes it, or None."""
    found = persistent_selections(tree, n_clusters, sizes, min_samples)
    return max(found, key=lambda one: (one.weight(min_samples), one.weight(1)), default=None)


def selection_of_small_clusters(tree_of, n_clusters, sizes, min_samples):
    """A `Selection` of a tree of half as many neighbours, or a third, or None.

    It persists, covers nearly all rows, and has a cluster of no more than ``min_samples`` rows, which may be noise to
    more neighbours.
    """
    for fewer in sorted({max(1, min_samples // 2), max(1, min_samples // 3)} - {min_samples}, reverse=True):
        found = most_persistent(tree_of(fewer), n_clusters, sizes, fewer)
        if found is None or found.weight(fewer) < _PERSISTS or coverage(found.labels) < _WELL_COVERED:
            continue
        if np.bincount(found.labels[found.labels != NOISE]).min() <= min_samples:
            return found
    return None


def widest_level(tree, n_clusters, sizes):
    """The level of a tree with exactly ``n_clusters`` components of one of the sizes that covers most rows, or None."""
    cuts = [widest_cut(tree, n_clusters, size) for size in sizes]
    found = [labels for labels in cuts if labels is not None]
    if not found:
        sizes = [*sizes, 1] if sizes[0] < _FEW_ROWS else sizes
        cuts = [widest_cut(tree, n_clusters, size, split_ties=True) for size in sizes]
        found = [labels for labels in cuts if labels is not None]
    return max(found, key=coverage, default=None)


@dataclass
class Selection:
    """Clusters that one or several sizes select, much the same.

    Attributes
    ----------
    labels : ndarray of shape (N,)
        At the size at which they cover most rows.
    ranges : list of (low, high)
        Values of min_cluster_size.
    """

    labels: np.ndarray
    ranges: list

    def weight(self, smallest):
        """Logarithm of the range of sizes from ``smallest`` on, times the square of the coverage.

        The square, since halves of a large cluster persist long where the only other one has a fiftieth of its rows.
        """
        length, end = 0.0, smallest - 1
        for low, high in sorted(self.ranges):
            if high > end:
                length += np.log((high + 1) / max(low, end + 1))
                end = high
        return length * coverage(self.labels) ** 2

    def is_much_like(self, labels):
        """Whether nine tenths of the rows that have a cluster both times, or once if these are fewer, are matched."""
        counts = contingency_matrix(self.labels, labels)[-self.labels.max() - 1 :, -labels.max() - 1 :]  # without noise
        matched = counts[linear_sum_assignment(counts, maximize=True)].sum()
        return matched >= _MUCH_ALIKE * min(np.sum(self.labels != NOISE), np.sum(labels != NOISE))


def persistent_selections(tree, n_clusters, sizes, min_samples):
    """HDBSCAN's selections with exactly ``n_clusters`` clusters on half of the rows or more, like ones put together.

    Sizes are not gone through to the end once one selection cannot be overtaken.
    """
    found: list[Selection] = []

    def add(labels, low, high):
        """Whether they are a selection as wanted."""
        if labels.max() + 1 != n_clusters or coverage(labels) < _MIN_COVERAGE:
            return False
        alike = next((one for one in found if one.is_much_like(labels)), None)
        if alike is None:
            found.append(Selection(labels, [(low, high)]))
        else:
            alike.ranges.append((low, high))
            alike.labels = max(alike.labels, labels, key=coverage)
        return True

    def remains(size):
        return max(np.log(size / min_samples), 0.0)

    passed = 0.0  # sizes at which excess of mass finds other numbers, where leaves may have it
    for size, smaller in pairwise([*sizes, sizes[-1] - 1]):
        if not add(excess_of_mass(tree, size), smaller + 1, size):
            passed += remains(size) - remains(smaller)
        *others, best = sorted([0.0, *(one.weight(min_samples) for one in found)])
        if best > max([passed, *others]) + remains(smaller):
            return found
    of_leaves = leaf_sizes(tree, n_clusters, sizes[0])
    if of_leaves is not None:
        add(leaves(tree, of_leaves[1]), *of_leaves)
    return found


def find_n_clusters(tree, min_cluster_size):
    """Find the number of clusters, 1 or more, each of ``min_cluster_size`` rows at least.

    It is the consistent number where its clusters cover nearly all rows. Where clusters are of very unequal sizes they
    do not: the small ones are noise to it. Then it is the number that persists, if its clusters cover nearly all rows.
    """
    consistent = consistent_n_clusters(tree, min_cluster_size)
    labels = excess_of_mass(tree, max((len(tree) + 1) // (2 * consistent), 2))
    if consistent > 1 and coverage(labels) >= _WELL_COVERED:
        return consistent
    return persistent_n_clusters(tree, min_cluster_size) or consistent


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


def persistent_n_clusters(tree, min_cluster_size):
    """Find the number that excess of mass finds at most sizes, by their logarithm, on nearly all rows.

    It is two or more, or 0 where there is none with clusters of at least ``min_cluster_size`` rows.
    """
    weights: defaultdict[int, float] = defaultdict(float)
    sizes = cluster_sizes_to_try((len(tree) + 1) // 2, min_cluster_size)
    for size, smaller in pairwise([*sizes, sizes[-1] - 1]):
        labels = excess_of_mass(tree, size)
        if labels.max() > 0 and coverage(labels) >= _WELL_COVERED:
            weights[int(labels.max()) + 1] += np.log(size / max(smaller, 1))
    return max(weights, key=lambda n_clusters: weights[n_clusters], default=0)


def coverage(labels):
    """Share of the rows that are in a cluster."""
    return np.mean(labels != NOISE)


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
