"""Which rows each member trains on, by which label: by agreement, alone or balanced, and the paper's A1 and A2."""

import math
from numbers import Integral

import numpy as np

from .._constants import NOISE
from .._runtime.seeding import derive_seed
from .consensus import select_agreed

_SHARE_OF_CLUSTER = 0.5  # that trains on pseudo-labels, if the majority is for it
_LARGER = 2  # times the mean size, or smaller: what is not is no cluster of ordinary size
# A cluster: with 400 and more half of each cluster gained or was level, with 180 and fewer it lost (docs/rounds.md).
_ROWS_OF_BALANCED = 300


def pseudo_labels(consensus, spaces, n_members, settings):
    """Choose what each member trains on: targets (K, N), int, and which rows of them are selected (K, N), bool.

    ``spaces`` are those of the consensus's aligned labellings.
    """
    targets = np.tile(consensus.labels, (n_members, 1))
    if settings.selection == "own":
        targets[:] = NOISE  # a member whose labelling was left out trains by reconstruction alone
        for space, labels in zip(spaces, consensus.aligned, strict=True):
            if space < n_members:
                targets[space] = labels
    selected = targets != NOISE
    selection = settled_selection(settings.selection, len(consensus.labels), consensus.labels.max() + 1)
    if selection in ("agreed", "balanced"):
        selected &= select_agreed(consensus.votes, len(spaces), settings.min_agreement)
    if selection == "balanced":
        selected |= select_of_each_cluster(consensus, len(spaces))
    return targets, selected


def settled_selection(selection, n_rows, n_clusters):
    """What "auto" is for so many distinct rows and clusters: of few rows a cluster, the majority is too often wrong."""
    if selection != "auto":
        return selection
    return "balanced" if n_rows >= _ROWS_OF_BALANCED * n_clusters else "agreed"


def select_of_each_cluster(consensus, n_labellings):
    """Mark the rows (N,) with most votes of each cluster of ordinary size: half of it, if the majority voted for them.

    One labelling that merges two clusters leaves no row of either agreed on by all. They would not be trained then,
    while all others are (class-balanced self-training, Zou et al. 2018, takes a share of each class for this reason).
    What the majority itself has merged or cut up has another size, mostly, and is left to agreement.
    """
    selected, majority = np.zeros(len(consensus.labels), dtype=bool), n_labellings // 2 + 1
    labels, sizes = np.unique(consensus.labels[consensus.labels != NOISE], return_counts=True)
    ordinary = (sizes * _LARGER >= sizes.mean()) & (sizes <= _LARGER * sizes.mean())
    for label, size in zip(labels[ordinary], sizes[ordinary], strict=True):
        rows = np.flatnonzero(consensus.labels == label)
        votes = consensus.votes[rows]
        n_wanted = math.ceil(_SHARE_OF_CLUSTER * size)
        selected[rows] = votes >= max(majority, np.sort(votes)[-n_wanted])
    return selected


def draw_samples(selected, max_samples, seed):
    """Keep a random share, or number, of the rows selected (K, N) that each member trains on, drawn for each by itself.

    Members that have not seen a wrong pseudo-label have not memorised it, and can vote against it. One row at least is
    kept.
    """
    drawn = np.zeros_like(selected)
    for member, rows in enumerate(map(np.flatnonzero, selected)):
        n_drawn = max_samples if isinstance(max_samples, Integral) else max(1, round(max_samples * len(rows)))
        order = np.random.default_rng(derive_seed(seed, member)).permutation(rows)
        drawn[member, order[:n_drawn]] = True
    return drawn


def reconstructed_rows(selected, reconstruction):
    """Rows (K, N) that each member trains by reconstruction, given those with a pseudo-label; None is no row."""
    if reconstruction == "none":
        return None
    return ~selected if reconstruction == "unagreed" else np.ones_like(selected)
