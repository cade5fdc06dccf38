"""Labels that are known of some rows: clusters take their names, rows among them their labels, and both are kept."""

from dataclasses import dataclass, field

import numpy as np
from sklearn.neighbors import NearestNeighbors

from .._constants import NOISE
from .consensus import Consensus, align_labels, reference_labelling, vote

_NEIGHBORS = 1, 3, 5  # known rows that a row may be labelled by, besides all those of its cluster


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
        """Labels (N,) under the names that clusters are to have, ``NOISE`` where nothing tells them, or None."""
        if self.earlier is None:
            return self.known
        names = np.where(self.earlier < n_clusters, self.earlier, NOISE)
        if self.known is None:
            return names
        return np.where(self.known == NOISE, align_labels(names, self.known, n_clusters), self.known)


NOTHING = Prior()


def known_of_distinct(known, inverse, n_distinct):
    """Known labels of distinct rows (n_distinct,) from those of all (N,): of equal rows, what most are known as."""
    counts = np.zeros((n_distinct, known.max() + 1), dtype=np.int64)
    told = known != NOISE
    np.add.at(counts, (inverse[told], known[told]), 1)
    return np.where(counts.any(axis=1), counts.argmax(axis=1), NOISE)


def follow_known(consensus, spaces, known, n_clusters):
    """A vote of labellings whose clusters were named, and divided, by the rows (N,) with a known label.

    ``spaces`` has, for each labelling, the space (N, d) whose clusters it has. Its names are taken to be those of the
    known labels as far as alignment could tell.
    """
    aligned = np.stack(
        [name_clusters(labels, space, known) for labels, space in zip(consensus.aligned, spaces, strict=True)]
    )
    labels, votes = vote(aligned, reference_labelling(aligned, n_clusters), n_clusters)
    return Consensus(labels, votes, aligned)


def name_clusters(labels, space, known):
    """Name the clusters of a labelling (N,) by their rows with a known label; a cluster of several such is divided.

    Each of its rows takes the label that most of the k nearest known rows of its cluster have, in the ``space`` (N, d).
    k is 1, 3, 5 or all of them: whatever is right most often where each known row is labelled by the others, and of
    equals the largest, which a wrong known label misleads least. Clusters without a known row keep their names, and so
    do those whose name no known row has.
    """
    named, told = labels.copy(), known != NOISE
    for cluster in np.intersect1d(labels[told & (labels != NOISE)], known[told]):
        rows = np.flatnonzero(labels == cluster)
        teachers = rows[told[rows]]
        named[rows] = _taught(space[rows], space[teachers], known[teachers])
    named[told] = known[told]
    return named


def _taught(rows, teachers, lessons):
    """Labels of rows (n, d) by the nearest of the teachers (m, d), whose labels are ``lessons`` (m,)."""
    if (lessons == lessons[0]).all():
        return np.full(len(rows), lessons[0])
    n_others = len(teachers) - 1
    n_near = min(max(_NEIGHBORS), n_others)
    finder = NearestNeighbors(n_neighbors=n_near, algorithm="brute").fit(teachers)
    others = lessons[finder.kneighbors()[1]]  # without the row itself
    totals = np.bincount(lessons)
    without = np.tile(totals, (len(teachers), 1))
    without[np.arange(len(teachers)), lessons] -= 1
    right = {k: np.mean(_majority(others[:, :k], len(totals)) == lessons) for k in _NEIGHBORS if k <= n_near}
    best = max(right, key=lambda k: (right[k], k))
    if np.mean(without.argmax(axis=1) == lessons) >= right[best] and (totals == totals.max()).sum() == 1:
        return np.full(len(rows), totals.argmax())
    return _majority(lessons[finder.kneighbors(rows, n_neighbors=best)[1]], len(totals))


def _majority(near, n_labels):
    """The most common of labels (n, k), the nearest first: of labels as common, the one with the nearest row."""
    counts = np.zeros((len(near), n_labels))
    for rank in range(near.shape[1]):
        counts[np.arange(len(near)), near[:, rank]] += 1 - 1e-3 * rank
    return counts.argmax(axis=1)


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
