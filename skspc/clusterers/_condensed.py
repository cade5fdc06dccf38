"""HDBSCAN's two selections from a condensed tree (Campello et al. 2013, sections 4 and 5), in array operations.

They are those of the hdbscan package, which condenses row by row: too slow where one tree is read at many sizes.
"""

from dataclasses import dataclass

import numpy as np

from .._constants import NOISE


@dataclass(frozen=True)
class CondensedTree:
    """The M clusters of at least so many rows that a linkage tree splits into; the root, all rows, comes first.

    Attributes
    ----------
    parents : ndarray of shape (M,)
        Cluster that each was split from, which comes before it; -1 of the root.
    stabilities : ndarray of shape (M,)
        Excess of mass: how long each row stays in the cluster, as 1 / distance, summed over the rows.
    last : ndarray of shape (N,)
        Cluster that each row is in last.
    """

    parents: np.ndarray
    stabilities: np.ndarray
    last: np.ndarray


def condense(tree, min_cluster_size):
    """Condense a linkage tree (N - 1, 4): a merge of two nodes that are both large enough is a split of a cluster."""
    n_rows = len(tree) + 1
    children, below = tree[:, :2].astype(np.intp), np.concatenate([np.ones(n_rows), tree[:, 3]])
    large = below[children] >= min_cluster_size
    splits = large.all(axis=1)
    above = np.arange(2 * n_rows - 1)  # of each node, a node above it in its cluster; in the end the highest
    above[children[~splits]] = n_rows + np.flatnonzero(~splits)[:, None]
    while True:
        higher = above[above]
        if (higher == above).all():
            break
        above = higher
    tops = np.concatenate([[2 * n_rows - 2], children[splits].ravel()])
    tops = -np.sort(-tops)  # a node comes after those above it
    cluster_of = np.zeros(2 * n_rows - 1, dtype=np.intp)
    cluster_of[tops] = np.arange(len(tops))
    cluster_of = cluster_of[above]

    of_merge = cluster_of[n_rows:]
    with np.errstate(divide="ignore"):
        level = 1 / tree[:, 2]
    parents, births = np.full(len(tops), -1), np.zeros(len(tops))
    split_off = cluster_of[children[splits]]
    parents[split_off], births[split_off] = of_merge[splits][:, None], level[splits][:, None]
    leaving = tree[:, 3] - np.where(splits, 0, (below[children] * large).sum(axis=1))
    counted = tree[:, 3] >= min_cluster_size
    with np.errstate(invalid="ignore"):  # equal rows leave at infinity
        stays = (level - births[of_merge]) * leaving
    stabilities = np.bincount(of_merge[counted], stays[counted], minlength=len(tops))
    return CondensedTree(parents, stabilities, cluster_of[:n_rows])


def excess_of_mass(tree, min_cluster_size):
    """Label rows by the clusters of which none is in another and that together are most stable; never the root."""
    if min_cluster_size > len(tree) + 1:
        return np.full(len(tree) + 1, NOISE)
    condensed = condense(tree, min_cluster_size)
    parents, best = condensed.parents.tolist(), condensed.stabilities.tolist()
    in_parts = [0.0] * len(parents)
    is_stable = [False] * len(parents)
    for cluster in range(len(parents) - 1, 0, -1):
        is_stable[cluster] = not in_parts[cluster] > best[cluster]
        in_parts[parents[cluster]] += best[cluster] if is_stable[cluster] else in_parts[cluster]
    selected = [-1] * len(parents)  # the stable one of each cluster and those above it that is the highest
    for cluster in range(1, len(parents)):
        inherited = selected[parents[cluster]]
        selected[cluster] = cluster if inherited < 0 and is_stable[cluster] else inherited
    return _numbered(np.array(selected)[condensed.last])


def leaves(tree, min_cluster_size):
    """Label rows by the clusters that are not split any more; never the root."""
    if min_cluster_size > len(tree) + 1:
        return np.full(len(tree) + 1, NOISE)
    condensed = condense(tree, min_cluster_size)
    is_leaf = np.ones(len(condensed.parents), dtype=bool)
    is_leaf[0] = False
    is_leaf[condensed.parents[1:]] = False
    return _numbered(np.where(is_leaf[condensed.last], condensed.last, NOISE))


def leaf_sizes(tree, n_clusters, largest):
    """Find the sizes up to ``largest`` at which there are ``n_clusters`` leaves: the least and the greatest, or None.

    A split makes one leaf more, so that the sizes of the splits tell how many leaves there are at any size.
    """
    below = np.concatenate([np.ones(len(tree) + 1), tree[:, 3]])
    splits = -np.sort(-below[tree[:, :2].astype(np.intp)].min(axis=1))  # the smaller side of each merge
    if not 2 <= n_clusters <= len(tree) + 1:
        return None
    smallest = 2 if n_clusters > len(splits) else max(2, int(splits[n_clusters - 1]) + 1)
    largest = min(largest, int(splits[n_clusters - 2]))
    return (smallest, largest) if smallest <= largest else None


def _numbered(clusters):
    """Number clusters from 0, by their order; NOISE stays."""
    labels = np.full(len(clusters), NOISE)
    kept = clusters != NOISE
    labels[kept] = np.unique(clusters[kept], return_inverse=True)[1]
    return labels
