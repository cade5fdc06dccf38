"""Rows to ask about: doubted by the vote, with many alike, one of each kind."""

import numpy as np
from scipy.spatial.distance import cdist

from .._constants import NOISE
from .outliers import spread
from .representatives import check_number

WIDTH = 4  # distances of a usual row to its neighbours; with 1, a few kinds fewer of the digits are asked


def doubtful_rows(labels, agreement, member_labels, kept, n):
    """Choose n rows at most without full agreement, of those that are kept: indices, the one that settles most first.

    ``labels``, ``agreement`` (N,) and ``member_labels`` (L, N) are those of the fit, ``kept`` is what
    `skspc._method.outliers.keep_rows` makes. Two rows are alike if the same two clusters contest them, and the more so
    the nearer they are, by members' latents, in units of the distance of a usual row to its neighbours, some of them.
    """
    check_number(n)
    doubted = agreement[kept["rows"]] < 1
    rows = kept["rows"][doubted]
    pairs = contested_pairs(labels[rows], member_labels[:, rows])
    unit = WIDTH * np.median(kept["figures"][1]) or 1.0
    nearness = np.exp(-mutual_distances(kept["latents"], doubted) / unit)
    likeness = nearness * (pairs[:, None] == pairs[None]).all(axis=2)
    return rows[choose_covering(1 - agreement[rows], likeness, n)]


def contested_pairs(labels, member_labels):
    """The two clusters between which each row is contested (N, 2), in order: its label, and the rival with most votes.

    A rival of rows of which the other labellings make noise is ``NOISE``; of two with as many votes it is the smaller.
    """
    n_clusters = max(labels.max(initial=0), member_labels.max(initial=0)) + 1
    votes = np.stack([(member_labels == cluster).sum(axis=0) for cluster in range(n_clusters)], axis=1)  # (N, C)
    votes[np.arange(len(labels)), labels] = 0
    rivals = np.where(votes.max(axis=1) > 0, votes.argmax(axis=1), NOISE)
    return np.sort(np.stack([labels, rivals], axis=1), axis=1)


def mutual_distances(latents, which):
    """Distances (n, n) of some rows, a mask (N,), in latents (K, N, m), each member's by its spread: their mean."""
    found = np.zeros((which.sum(), which.sum()))
    for of_member in latents.astype(np.float64):
        found += cdist(of_member[which], of_member[which]) / spread(of_member) / len(latents)
    return found


def choose_covering(doubt, likeness, n):
    """Choose n rows at most, one after the other, so that what is like them has most doubt (N,): indices.

    ``likeness`` (N, N) is from 0 to 1, and 1 of a row to itself. A row counts by its likeness to the chosen row that is
    most like it, so that the copy of a chosen row brings nothing. It is the greedy way to place facilities.
    """
    chosen = np.empty(0, dtype=np.int64)
    covered = np.zeros(len(doubt))
    for _ in range(min(n, len(doubt))):
        gains = doubt @ np.maximum(likeness - covered[:, None], 0)
        gains[chosen] = -1
        chosen = np.append(chosen, gains.argmax())
        covered = np.maximum(covered, likeness[:, chosen[-1]])
    return chosen
