"""Alignment and vote: the consensus function of the paper's Eq. (1). Arrays in, arrays out.

A labelling is an integer array of shape (N,) with labels ``0..C-1``, or ``NOISE`` where a row has no
cluster. Noise gives no vote, and so counts against agreement.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from .._constants import NOISE

MAX_COMPARED_ROWS = 10_000  # to choose a reference: pairs are many where the labellings of all rounds vote


@dataclass(frozen=True)
class Consensus:
    """The outcome of one vote.

    Attributes
    ----------
    labels : ndarray of shape (N,)
        Consensus labels; ``NOISE`` where no labelling gave a vote.
    votes : ndarray of shape (N,)
        Number of labellings that gave the row its consensus label.
    aligned : ndarray of shape (L, N)
        The labellings under the names of the consensus.
    """

    labels: np.ndarray
    votes: np.ndarray
    aligned: np.ndarray

    @property
    def agreement(self):
        """Share of the labellings that gave each row its label, shape (N,)."""
        return self.votes / len(self.aligned)


def contingency(labels, reference, n_clusters):
    """Count how often two labellings (N,) give a row the pair (i, j), noise left out: (n_clusters, n_clusters)."""
    both = (labels != NOISE) & (reference != NOISE)
    pairs = labels[both] * n_clusters + reference[both]
    return np.bincount(pairs, minlength=n_clusters**2).reshape(n_clusters, n_clusters)


def match_labels(labels, reference, n_clusters):
    """Find the renaming of ``labels`` that matches ``reference`` on most rows (Hungarian algorithm).

    Returned are a permutation (n_clusters,), by which label i becomes ``mapping[i]``, and the number of rows matched.
    """
    counts = contingency(labels, reference, n_clusters)
    rows, mapping = linear_sum_assignment(counts, maximize=True)
    return mapping, int(counts[rows, mapping].sum())


def align_labels(labels, reference, n_clusters):
    """Rename ``labels`` (N,) to match ``reference`` (N,) on most rows; noise stays noise."""
    mapping, _ = match_labels(labels, reference, n_clusters)
    return np.where(labels == NOISE, NOISE, mapping[labels])


def reference_labelling(labellings, n_clusters):
    """Choose the one of the labellings (L, N) that agrees most with the others, on the mean over them: its index.

    Of very many rows, evenly spaced ones are compared.
    The choice does not depend on the order of the labellings: ties go to the one with less noise, then to the one whose
    labels, renamed by first appearance, come first in lexicographic order.
    """
    n_labellings = len(labellings)
    seen = labellings[:, :: -(-labellings.shape[1] // MAX_COMPARED_ROWS)]
    matched = np.zeros((n_labellings, n_labellings), dtype=np.int64)
    for i in range(n_labellings):
        for j in range(i):
            matched[i, j] = matched[j, i] = match_labels(seen[i], seen[j], n_clusters)[1]
    totals = matched.sum(axis=1)
    tied = np.flatnonzero(totals == totals.max())
    if len(tied) == 1:
        return int(tied[0])
    noise = (labellings == NOISE).sum(axis=1)
    return int(min(tied, key=lambda i: (noise[i], tuple(_by_first_appearance(labellings[i])))))


def _by_first_appearance(labels):
    """Rename labels to 0, 1, ... in the order in which they first appear; noise stays noise."""
    kept = labels != NOISE
    _, first, inverse = np.unique(labels[kept], return_index=True, return_inverse=True)
    renamed = np.full_like(labels, NOISE)
    renamed[kept] = np.argsort(np.argsort(first))[inverse]
    return renamed


def vote(aligned, reference, n_clusters):
    """Give every row its most common label over aligned labellings (L, N): labels (N,), and votes (N,) for them.

    Ties go to the label of the reference, an index, if it is among the tied, else to the smallest. A label that the
    vote leaves without rows takes back its rows of the reference, which has every label. ``NOISE`` is where no
    labelling gave a vote.
    """
    rows = np.arange(aligned.shape[1])
    counts = np.stack([(aligned == label).sum(axis=0) for label in range(n_clusters)], axis=1)  # (N, C)
    most = counts.max(axis=1)
    labels = counts.argmax(axis=1)
    preferred = aligned[reference]
    keeps = (preferred != NOISE) & (counts[rows, preferred] == most)
    labels = np.where(keeps, preferred, labels)
    labels = np.where(most == 0, NOISE, labels)
    labels = _refill_emptied(labels, preferred, n_clusters)
    votes = np.where(labels == NOISE, 0, counts[rows, labels])
    return labels, votes


def _refill_emptied(labels, reference, n_clusters):
    """Give each label without rows its rows of the reference, until none is empty.

    It ends: a refilled label keeps its rows, since another refill takes only rows of its own.
    """
    labels = labels.copy()
    while True:
        sizes = np.bincount(labels[labels != NOISE], minlength=n_clusters)
        in_reference = np.bincount(reference[reference != NOISE], minlength=n_clusters)
        emptied = np.flatnonzero((sizes == 0) & (in_reference > 0))
        if len(emptied) == 0:
            return labels
        labels[reference == emptied[0]] = emptied[0]


def find_consensus(labellings, n_clusters, previous=None):
    """Align labellings (L, N) and put them to the vote: the function Gamma of the paper's Eq. (1).

    Each labelling has exactly ``n_clusters`` labels. Names are kept of ``previous``, labels (N,) of an earlier round,
    as far as the clusters are the same.
    """
    # Names by first appearance, so that no tie is settled by the names that a clusterer happened to give.
    labellings = np.stack([_by_first_appearance(labels) for labels in labellings])
    index = reference_labelling(labellings, n_clusters)
    reference = labellings[index]
    if previous is not None:
        reference = align_labels(reference, previous, n_clusters)
    aligned = np.stack([align_labels(labels, reference, n_clusters) for labels in labellings])
    labels, votes = vote(aligned, index, n_clusters)
    return Consensus(labels=labels, votes=votes, aligned=aligned)


def vote_with(earlier, consensus, n_clusters, known=None):
    """Put the labellings of a round to the vote together with those of all rounds before; either may be None.

    Members come to repeat what they were trained on, wrong rows included, and the number of agreed rows grows with it.
    What one round labels wrong by chance, the next seldom does. Rows with a known label (N,), ``NOISE`` where there is
    none, have it after.
    """
    if earlier is None or consensus is None:
        return consensus if earlier is None else earlier
    together = find_consensus(np.concatenate([earlier.aligned, consensus.aligned]), n_clusters, earlier.labels)
    return together if known is None else pinned(together, known)


def pinned(consensus, known):
    """A vote in which all labellings give the rows with a known label (N,) just this."""
    told = known != NOISE
    return Consensus(
        labels=np.where(told, known, consensus.labels),
        votes=np.where(told, len(consensus.aligned), consensus.votes),
        aligned=np.where(told, known, consensus.aligned),
    )


def label_change(before, after):
    """Share of the rows that have another label after than before; 1.0 where there was no vote before."""
    return 1.0 if before is None or after is None else float(np.mean(before.labels != after.labels))


def select_agreed(votes, n_labellings, min_agreement):
    """Mark the rows (N,) with at least ``min_agreement`` of the votes of ``n_labellings``, never one without votes.

    1.0 asks for a unanimous vote, as the paper does.
    """
    # The small slack keeps 0.9 * 10 votes from asking for 10 in floating point.
    return (votes > 0) & (votes >= min_agreement * n_labellings - 1e-9)


def ranked_counts(near, n_labels):
    """How common each label is among labels (n, k), the nearest first, which count a little more: (n, n_labels)."""
    counts = np.zeros((len(near), n_labels))
    for rank in range(near.shape[1]):
        counts[np.arange(len(near)), near[:, rank]] += 1 - 1e-3 * rank
    return counts
