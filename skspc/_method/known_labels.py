"""Labels that are known of some rows: clusters take their names, rows among them their labels, and both are kept."""

from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.neighbors import NearestNeighbors

from .._constants import NOISE
from .consensus import Consensus, contingency, ranked_counts, reference_labelling, vote

_NEIGHBORS = 1, 3, 5  # known rows that a row may be labelled by, besides all those of its cluster
_REACH = 2  # times its share of the cluster's rows: so many of them a known row can label


@dataclass(frozen=True)
class Prior:
    """What a fit knows of its N distinct rows beforehand.

    Attributes
    ----------
    known : ndarray of shape (N,), int, or None
        Known labels, ``NOISE`` where there is none.
    earlier : ndarray of shape (N,), int, or None
        Labels of a fit that this one goes on from, whose names are kept; its members are trained.
    losses : dict
        Of the training in that fit.
    """

    known: np.ndarray | None = None
    earlier: np.ndarray | None = None
    losses: dict = field(default_factory=dict)

    @property
    def is_trained(self):
        return self.earlier is not None

    @property
    def n_known(self):
        """Clusters that there are at least."""
        return 0 if self.known is None else int(self.known.max()) + 1

    def names(self, n_clusters):
        """Labels (N,) of the fit before, under the names that clusters keep, or None."""
        return None if self.earlier is None else np.where(self.earlier < n_clusters, self.earlier, NOISE)


NOTHING = Prior()


def known_of_distinct(known, inverse, n_distinct):
    """Known labels of distinct rows (n_distinct,) from those of all (N,): of equal rows, what most are known as."""
    counts = np.zeros((n_distinct, known.max() + 1), dtype=np.int64)
    told = known != NOISE
    np.add.at(counts, (inverse[told], known[told]), 1)
    return np.where(counts.any(axis=1), counts.argmax(axis=1), NOISE)


def named_by(consensus, known, n_clusters):
    """A vote whose labels have the names of the known labels (N,) that most labellings give them, one to one."""
    counts = sum(contingency(labels, known, n_clusters) for labels in consensus.aligned)
    _, names = linear_sum_assignment(counts, maximize=True)
    labels, aligned = (np.where(found == NOISE, NOISE, names[found]) for found in (consensus.labels, consensus.aligned))
    return Consensus(labels, consensus.votes, aligned)


def follow_known(consensus, spaces, known, n_clusters):
    """A vote of labellings whose clusters were named, and divided, by the rows (N,) with a known label.

    ``spaces`` has, for each labelling, the space (N, d) whose clusters it has.
    """
    aligned = np.stack(
        [
            name_clusters(labels, space, known, np.mean(consensus.aligned == labels, axis=0))
            for labels, space in zip(consensus.aligned, spaces, strict=True)
        ]
    )
    labels, votes = vote(aligned, reference_labelling(aligned, n_clusters), n_clusters)
    return Consensus(labels, votes, aligned)


def name_clusters(labels, space, known, weights):
    """Name the clusters of a labelling (N,) by their rows with a known label; a cluster of several such is divided.

    Each row of a cluster takes the label that most of the k nearest known rows in it have, in the ``space`` (N, d): of
    1, 3, 5 or all of them, whatever is right about most of the known rows, each labelled by the others; of equals, the
    most. Where the name that the cluster has is right about as many, it stays. Known rows count by their weights (N,),
    e.g. the share of the labellings that have them in this cluster. A known row reaches the rows next to it, twice its
    share of the cluster; what none reaches keeps the name: answers at the edge of a cluster tell little of its midst.
    Clusters without a known row keep their names, and so do those whose name no known row has.
    """
    named, told = labels.copy(), known != NOISE
    for cluster in np.intersect1d(labels[told & (labels != NOISE)], known[told]):
        rows = np.flatnonzero(labels == cluster)
        teachers = rows[told[rows]]
        named[rows] = _taught(space[rows], space[teachers], known[teachers], weights[teachers], cluster)
    named[told] = known[told]
    return named


def _taught(rows, teachers, lessons, weights, name):
    """Labels of rows (n, d) by the nearest of the teachers (m, d), whose labels are ``lessons`` (m,), or the name."""
    totals = np.bincount(lessons, weights)
    others = np.tile(totals, (len(teachers), 1))
    others[np.arange(len(teachers)), lessons] -= weights
    n_near = min(max(_NEIGHBORS), len(teachers) - 1)
    rules = {}
    if n_near:
        finder = NearestNeighbors(n_neighbors=n_near, algorithm="brute").fit(teachers)
        near = lessons[finder.kneighbors()[1]]  # without the row itself
        rules = {k: _majority(near[:, :k], len(totals)) for k in _NEIGHBORS if k <= n_near}
        rules[len(teachers)] = others.argmax(axis=1)
    right = {k: weights[found == lessons].sum() for k, found in rules.items()}
    best = max(right, key=lambda k: (right[k], k), default=None)
    if best is None or right[best] <= weights[lessons == name].sum():
        return np.full(len(rows), name)
    if best == len(teachers):
        return np.full(len(rows), totals.argmax())
    distances, nearest = finder.kneighbors(rows, n_neighbors=best)
    taught = _majority(lessons[nearest], len(totals))
    n_reached = min(len(rows), -(-_REACH * len(rows) // len(teachers)))
    reach = NearestNeighbors(n_neighbors=n_reached, algorithm="brute").fit(rows).kneighbors(teachers)[0][:, -1]
    return np.where(distances[:, 0] <= reach[nearest[:, 0]], taught, name)


def _majority(near, n_labels):
    """The most common of labels (n, k), the nearest first: of labels as common, the one with the nearest row."""
    return ranked_counts(near, n_labels).argmax(axis=1)


def with_known(targets, selected, known):
    """What each member trains on, targets and a mask of rows (K, N), with all rows whose label is known (N,)."""
    told = known != NOISE
    return np.where(told, known, targets), selected | told


def distinct_labels(known, n_rows):
    """A label of its own for each of n_rows rows (n_rows,), and the known one (n_rows,) where there is one."""
    if known is None:
        return np.arange(n_rows)
    labels = known.copy()
    labels[known == NOISE] = np.setdiff1d(np.arange(n_rows), known)[: np.sum(known == NOISE)]
    return labels
