"""Which rows each member trains on, by which label: selection by agreement, and the paper's ablations A1 and A2."""

from numbers import Integral

import numpy as np

from .._constants import NOISE
from .._runtime.seeding import derive_seed
from .consensus import select_agreed


def pseudo_labels(consensus, spaces, n_members, settings):
    """Choose what each member trains on.

    Parameters
    ----------
    consensus : Consensus
    spaces : list of int
        The space of each aligned labelling.
    n_members : int
    settings : RoundSettings

    Returns
    -------
    targets : ndarray of shape (K, N), int
    selected : ndarray of shape (K, N), bool
    """
    targets = np.tile(consensus.labels, (n_members, 1))
    if settings.selection == "own":
        targets[:] = NOISE  # a member whose labelling was left out trains by reconstruction alone
        for space, labels in zip(spaces, consensus.aligned, strict=True):
            if space < n_members:
                targets[space] = labels
    selected = targets != NOISE
    if settings.selection == "agreed":
        selected &= select_agreed(consensus.votes, len(spaces), settings.min_agreement)
    return targets, selected


def draw_samples(selected, max_samples, seed):
    """Keep a random share of the rows that each member trains on, drawn for each by itself.

    Members that have not seen a wrong pseudo-label have not memorised it, and can vote against it.

    Parameters
    ----------
    selected : ndarray of shape (K, N), bool
    max_samples : int or float
        Rows, or share of the selected rows; at least one row.
    seed : int

    Returns
    -------
    drawn : ndarray of shape (K, N), bool
    """
    drawn = np.zeros_like(selected)
    for member, rows in enumerate(map(np.flatnonzero, selected)):
        n_drawn = max_samples if isinstance(max_samples, Integral) else max(1, round(max_samples * len(rows)))
        order = np.random.default_rng(derive_seed(seed, member)).permutation(rows)
        drawn[member, order[:n_drawn]] = True
    return drawn


def reconstructed_rows(selected, reconstruction):
    """Rows that each member trains by reconstruction.

    Parameters
    ----------
    selected : ndarray of shape (K, N), bool
        Rows trained on their pseudo-label.
    reconstruction : {"unagreed", "all", "none"}

    Returns
    -------
    reconstructed : ndarray of shape (K, N), bool, or None
        None is no row.
    """
    if reconstruction == "none":
        return None
    return ~selected if reconstruction == "unagreed" else np.ones_like(selected)
