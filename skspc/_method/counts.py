"""How many clusters: what the labellings of one pretrained ensemble tell of each number. Arrays in, arrays out."""

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial import cKDTree
from scipy.spatial.distance import squareform
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.metrics.cluster import contingency_matrix

from .._constants import NOISE
from .._runtime.seeding import HALVES, LABELLING, derive_seed
from .consensus import find_consensus, select_agreed
from .labelling import cluster_spaces, joined, keep_exact, latent_spaces
from .landmarks import landmarks_alone, spread_labels
from .outliers import draw_kept
from .rounds import label_beside, relabel_by_choice

FOUND_AGAIN = 0.85  # held-out agreement of a number to choose; from there on Hennig (2008) has "highly stable"
_N_NEIGHBORS = 5  # that carry labels over from one half of the rows to the other


@dataclass(frozen=True)
class CountFigures:
    """What is told of one number of clusters; figures are NaN where no labelling has so many.

    Attributes
    ----------
    labels : ndarray of shape (N,)
        Of the vote; ``NOISE`` where no labelling gave one.
    member_labels : ndarray of shape (L, N)
    held_out : ndarray of shape (2 * n_splits,)
    agreement, agreed_share, silhouette : float
    """

    labels: np.ndarray
    member_labels: np.ndarray
    held_out: np.ndarray
    agreement: float = np.nan
    agreed_share: float = np.nan
    silhouette: float = np.nan


def embed_spaces(latents, n_clusters, settings, seed, diverged):
    """Reduce each space of latents (K, N, m) once, as a fit to ``n_clusters`` would: embeddings (N, d) by space."""
    return cluster_spaces(latents, n_clusters, settings, derive_seed(seed, LABELLING, 0), diverged)[1]


def figures_of_count(latents, landmarks, embeddings, n_clusters, settings, seed, diverged, n_splits):
    """Label spaces that are reduced already as the first clustering of a fit does, and tell how it went.

    But for the neighbours: these are the reducer's own, where a fit may take more.

    What is told of the spaces is of the landmarks, where there are such, which alone are reduced.
    """
    labelling_seed, seen = derive_seed(seed, LABELLING, 0), landmarks_alone(latents, landmarks)
    found, _ = cluster_spaces(seen, n_clusters, settings, labelling_seed, diverged, embeddings)
    _, settings, found, spaces = relabel_by_choice(
        seen, embeddings, found, n_clusters, settings, labelling_seed, diverged
    )
    readings = [found, *label_beside(seen, spaces, n_clusters, settings, labelling_seed, diverged)]
    if landmarks is not None:
        of_all = latent_spaces(latents, settings.concatenate, diverged)
        readings = [spread_labels(of_all, found, landmarks, settings.n_jobs) for found in readings]
    labellings, *beside = (keep_exact(found, n_clusters, len(spaces)) for found in readings)
    n_rows = latents.shape[1]
    if not labellings.spaces:
        return CountFigures(np.full(n_rows, NOISE), labellings.kept, np.full(2 * n_splits, np.nan))
    all_labellings = joined([labellings, *beside])
    vote = find_consensus(all_labellings.kept, n_clusters)
    of_members = [readings[0][i] for i in labellings.spaces if i < len(latents)]
    return CountFigures(
        vote.labels,
        vote.aligned,
        held_out_agreement(list(spaces.values()), n_clusters, settings, seed, n_splits),
        mean_rand_index(of_members),
        float(select_agreed(vote.votes, all_labellings.n_tried, settings.min_agreement).mean()),
        mean_silhouette(list(spaces.values()), vote.labels if landmarks is None else vote.labels[landmarks], seed),
    )


def held_out_agreement(spaces, n_clusters, settings, seed, n_splits):
    """How well a half of the rows tells the worst cluster of the other, for several splits: (2 * n_splits,).

    Each half is labelled alone, in the spaces (N, d), and put to the vote, so that it is the outcome of a clustering
    that is to be found again. The spaces are those of all rows. It is 0 where no labelling of a half has so many
    clusters.
    """
    agreements = []
    for split in range(n_splits):
        order = np.random.default_rng(derive_seed(seed, HALVES, split)).permutation(len(spaces[0]))
        halves = np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])
        votes = [_vote_of_half([space[half] for space in spaces], n_clusters, settings, seed) for half in halves]
        for known, unseen in ((0, 1), (1, 0)):
            if votes[known] is None or votes[unseen] is None:
                agreements.append(0.0)
                continue
            pairs = [(space[halves[known]], space[halves[unseen]]) for space in spaces]
            agreements.append(worst_overlap(votes[unseen], carry_over(pairs, votes[known])))
    return np.array(agreements)


def _vote_of_half(spaces, n_clusters, settings, seed):
    settings = replace(settings, reducer=None, concatenate=False)
    found, _ = cluster_spaces(spaces, n_clusters, settings, derive_seed(seed, HALVES))
    labellings = keep_exact(found, n_clusters, len(spaces))
    return find_consensus(labellings.kept, n_clusters).labels if labellings.spaces else None


def carry_over(pairs, labels):
    """Label unseen rows as most of their nearest known ones are, whose labels are (n,), in all spaces together.

    ``pairs`` are the known and the unseen rows of each space: (n, d) and (n_unseen, d). Rows are ``NOISE`` where all
    that is near is.
    """
    nearest = np.arange(1, min(_N_NEIGHBORS, len(labels)) + 1)
    near = np.concatenate([labels[cKDTree(known).query(unseen, nearest)[1]] for known, unseen in pairs], axis=1)
    counts = np.stack([(near == label).sum(axis=1) for label in range(labels.max() + 1)], axis=1)
    return np.where(counts.max(axis=1) > 0, counts.argmax(axis=1), NOISE)


def worst_overlap(labels, predicted):
    """Jaccard index of a cluster of ``labels`` (N,) and the one of ``predicted`` (N,) most like it, of the worst one.

    The mean over all clusters, or over pairs of rows, would not see a cluster of a few rows that is never found again.
    """
    counts = contingency_matrix(labels, predicted)
    either = counts.sum(axis=1, keepdims=True) + counts.sum(axis=0) - counts
    overlaps = (counts / either)[np.unique(labels) != NOISE][:, np.unique(predicted) != NOISE]
    return float(overlaps.max(axis=1, initial=0.0).min())


def mean_rand_index(labellings):
    """Adjusted Rand index of two labellings (N,), mean over all pairs; NaN of fewer than two. Noise is a cluster."""
    pairs = list(combinations(labellings, 2))
    return float(np.mean([adjusted_rand_score(*pair) for pair in pairs])) if pairs else np.nan


def mean_silhouette(spaces, labels, seed):
    """Silhouette of labels (N,) without noise, mean over the spaces (N, d); of 2000 rows at most."""
    rows = np.flatnonzero(labels != NOISE)
    rows = rows[draw_kept(len(rows), seed)]
    if not 1 < len(np.unique(labels[rows])) < len(rows):
        return np.nan
    return float(np.mean([silhouette_score(space[rows], labels[rows]) for space in spaces]))


def choose_count(counts, held_out):
    """The largest number, of (T,), with a held-out agreement, of (T,), of at least `FOUND_AGAIN`; None without one."""
    return max((count for count, found in zip(counts, held_out, strict=True) if found >= FOUND_AGAIN), default=None)


def merge_tree(labels, labellings):
    """Average linkage of clusters by how often labellings (L, N) put their rows together: (C - 1, 4), as scipy's.

    The distance of two clusters, of labels (N,), is the share of the labellings, in the mean over the pairs of a row of
    the one and a row of the other, by which the two rows are not together: the evidence accumulation of Fred & Jain
    (2005), cluster by cluster. Noise is together with none.
    """
    clusters = np.unique(labels[labels != NOISE])
    together = np.zeros((len(clusters), len(clusters)))
    for labelling in labellings:
        shares = np.stack(
            [
                np.bincount(labelling[labels == cluster] - NOISE, minlength=labelling.max() + 2)[1:]
                for cluster in clusters
            ]
        ) / np.array([[np.sum(labels == cluster)] for cluster in clusters])  # (C, n_labels)
        together += shares @ shares.T
    distances = 1 - together / len(labellings)
    np.fill_diagonal(distances, 0)
    return linkage(squareform(np.clip(distances, 0, 1), checks=False), "average")
