"""Outliers: how little a row is like anything in the fit, by reconstruction and by distance in the latents."""

import numpy as np
from scipy.spatial.distance import cdist

from .._runtime.seeding import KEPT_ROWS, derive_seed

MAX_KEPT = 2000  # training rows whose latents are kept: a fit of 70 000 rows is not to be kept whole
N_NEIGHBORS = 5
ERROR_COUNTS_ABOVE = 0.98  # of the training rows: what is simple is well reconstructed, known or not
SAME_ROW = 1e-5  # of a member's spread: what float32 makes of the distance of a row to itself
GREATEST, LEAST = 1e300, 1e-300  # in place of what is infinite or NaN, and of what is zero


def draw_kept(n_rows, seed):
    """Draw the rows that are kept, of ``n_rows`` distinct ones: indices in order, all if there are few."""
    random = np.random.default_rng(derive_seed(seed, KEPT_ROWS))
    return np.sort(random.permutation(n_rows)[:MAX_KEPT])


def keep_rows(ensemble, X, rows):
    """What a model keeps of some training rows X (n, *input_shape), whose indices are ``rows`` (n,): a dict of arrays.

    "rows"; "latents" (K, n, m), float32; and "figures" (2, n), by which others are judged.
    """
    latents = ensemble.encode(X)
    most = np.finfo(np.float32).max
    kept = np.clip(np.nan_to_num(latents), -most, most).astype(np.float32)
    return {"rows": rows, "latents": kept, "figures": strangeness(ensemble, X, latents, kept)}


def strangeness(ensemble, X, latents, kept):
    """Two figures of rows X (N, *input_shape), with latents (K, N, m): reconstruction error, distance to kept latents.

    They are an array (2, N).
    """
    errors = ensemble.reconstruction_errors(X, latents).mean(axis=0)
    figures = np.stack([errors, distances(latents, kept)])
    return np.nan_to_num(figures, nan=GREATEST, posinf=GREATEST)


def distances(latents, kept, n_neighbors=N_NEIGHBORS):
    """Distance of latents (K, N, m) to the n-th nearest of the kept ones (K, n_kept, m), mean over the members: (N,).

    A member's unit is the spread of its kept latents, so that no member counts more than others. A row that is kept
    is no neighbour of itself; with fewer other rows it is the farthest of them.
    """
    ranked = np.stack([_ranked(*pair, n_neighbors) for pair in zip(latents, kept, strict=True)]).mean(axis=0)
    is_kept = ranked[:, 0] == 0
    others = np.where(is_kept, ranked.shape[1] - 1, max(0, min(n_neighbors, kept.shape[1]) - 1))
    return ranked[np.arange(len(ranked)), others]


def _ranked(latents, kept, n_neighbors):
    """Distances (N, n) of one member's latents (N, m) to the nearest kept ones, one more than the neighbours."""
    kept = kept.astype(np.float64)
    n_ranked = min(n_neighbors + 1, len(kept))
    found = np.nan_to_num(cdist(latents, kept) / spread(kept), nan=GREATEST, posinf=GREATEST)
    found[found < SAME_ROW] = 0
    return np.sort(np.partition(found, n_ranked - 1, axis=1)[:, :n_ranked], axis=1)


def spread(latents):
    """Root mean square distance of latents (N, m) from their mean; 1 if there is none."""
    return np.sqrt(np.square(latents - latents.mean(axis=0)).sum(axis=1).mean()) or 1.0


def outlier_scores(figures, of_kept):
    """Combine figures (2, N) to scores (N,) in [0, 1]: the share of the kept rows, with ``of_kept``, that are less odd.

    Each figure becomes the share of the kept rows with a smaller one, and minus the logarithm of the share with a
    larger one is its surprise. Both are summed up (as Fisher combines tests), and the sum becomes a share in its turn.
    Of the error's only what exceeds that of a share of ``ERROR_COUNTS_ABOVE`` counts: a kind of simple rows, such as
    ones among digits, is reconstructed better than the rows of the fit.
    """
    found, of_kept = _surprise(figures, of_kept), _surprise(of_kept, of_kept)
    return tail_shares(found, of_kept, np.exp(np.minimum(of_kept.max() - found, 0)))


def _surprise(figures, of_kept):
    shares = [
        tail_shares(values, sample, sample.max() / np.maximum(values, max(sample.max(), LEAST)))
        for values, sample in zip(figures, of_kept, strict=True)
    ]
    of_error, of_distance = -np.log1p(-np.minimum(shares, 1 - np.finfo(np.float64).eps))
    return np.maximum(of_error + np.log1p(-ERROR_COUNTS_ABOVE), 0) + of_distance


def tail_shares(values, sample, tails):
    """Share of a sample (n,) that is less than each of the values (N,), linear in between.

    Beyond the sample the share goes on rising towards 1, so that what is odder than all has an order too: of what is
    left above the largest, ``tails`` (N,) is the part that is left above a value.
    """
    levels, counts = np.unique(sample, return_counts=True)
    less = (np.cumsum(counts) - counts) / len(sample)
    return np.where(values > levels[-1], 1 - (1 - less[-1]) * tails, np.interp(values, levels, less))
