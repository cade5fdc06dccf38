"""Clusters merged and split after a fit: what the vote becomes. The encoders stay as they are."""

from dataclasses import replace
from numbers import Integral

import numpy as np

from .._constants import NOISE
from .._runtime.seeding import LANDMARKS, derive_seed
from .consensus import Consensus, find_consensus
from .labelling import cluster_spaces, keep_exact, latent_spaces
from .landmarks import check_landmarks, draw_landmarks, landmarks_alone, spread_labels
from .objectives import Heads

LONGER_TRAINING = 3  # than in a fit: parts of a cluster lie close, and of 14 rows of digits half were left to the rest


def check_cluster(name, cluster, n_clusters):
    """Refuse what is no label of a cluster."""
    if not isinstance(cluster, Integral) or isinstance(cluster, bool) or cluster not in range(n_clusters):
        raise ValueError(f"{name}={cluster!r} is no cluster of this model; its clusters are 0 to {n_clusters - 1}.")


def check_merge(a, b, n_clusters):
    """Refuse clusters that cannot be merged."""
    check_cluster("a", a, n_clusters)
    check_cluster("b", b, n_clusters)
    if a == b:
        raise ValueError(f"a={a!r} and b={b!r} are one cluster; name two.")


def check_split(a, n, n_clusters, history):
    """Refuse a cluster or a number of parts that there cannot be, and encoders that have not been trained."""
    check_cluster("a", a, n_clusters)
    if not isinstance(n, Integral) or isinstance(n, bool) or n < 2:
        raise ValueError(f"n={n!r} must be a whole number of clusters, at least 2.")
    if not history[0]["losses"]:
        raise ValueError(f"The encoders of a fit to one cluster are untrained; fit with n_clusters={n!r} instead.")


def merge_clusters(consensus, a, b):
    """Make two clusters one: it has the smaller label, and labels above the larger one move down by one."""
    return recounted(merged_names(consensus.labels, a, b), merged_names(consensus.aligned, a, b))


def merged_names(labels, a, b):
    """Labels of any shape after the merge of two of them."""
    low, high = min(a, b), max(a, b)
    merged = np.where(labels == high, low, labels)
    return merged - (merged > high)


def split_cluster(consensus, latents, a, n, n_clusters, spaces, settings, seed):
    """Split cluster a of n_clusters of a vote on N rows, whose latents are (K, N, m), into n.

    Its rows are labelled anew in the space of each labelling, and these are put to the vote. The largest part keeps
    the label a, the others come after the labels there are. A labelling that had a row elsewhere still has; one whose
    space does not fall into n parts has no vote on these rows. Rows without any vote are ``NOISE``.
    """
    rows = np.flatnonzero(consensus.labels == a)
    if len(rows) < n:
        raise ValueError(f"n={n!r} is too many: cluster {a} has {len(rows)} distinct rows.")
    check_landmarks(settings.max_landmarks, n, len(rows))
    parts, kept_spaces = _part_labellings(latents[:, rows], n, spaces, settings, seed)
    if not kept_spaces:
        raise ValueError(
            f"Cluster {a} falls into n={n} parts in no latent space. Choose another n, or "
            "set_params(clusterer='kmeans', reducer=None) before, which splits everything."
        )
    vote = find_consensus(parts, n)
    sizes = np.bincount(vote.labels[vote.labels != NOISE], minlength=n)
    names = np.empty(n, dtype=np.int64)
    names[np.argsort(-sizes, kind="stable")] = [a, *range(n_clusters, n_clusters + n - 1)]
    labels, aligned = consensus.labels.copy(), consensus.aligned.copy()
    labels[rows] = _renamed(vote.labels, names)
    by_space = dict(zip(kept_spaces, vote.aligned, strict=True))
    for labelling, space in zip(aligned, spaces, strict=True):
        found = _renamed(by_space[space], names) if space in by_space else NOISE
        labelling[rows] = np.where(labelling[rows] == a, found, labelling[rows])
    return recounted(labels, aligned)


def _part_labellings(latents, n, spaces, settings, seed):
    """Labellings of latents (K, N, m) into exactly n parts (L, N), and the space of each."""
    n_members, n_rows = latents.shape[:2]
    if n_rows == n:  # as in a fit, there is nothing to choose
        return np.tile(np.arange(n), (len(spaces), 1)), list(spaces)
    without = set(range(n_members)) - set(spaces)
    settings = replace(settings, concatenate=n_members in spaces)
    landmarks = draw_landmarks(n_rows, settings.max_landmarks, derive_seed(seed, LANDMARKS))
    found, _ = cluster_spaces(landmarks_alone(latents, landmarks), n, settings, seed, without)
    if landmarks is not None:
        found = spread_labels(latent_spaces(latents, settings.concatenate, without), found, landmarks, settings.n_jobs)
    found = {space: labels for space, labels in found.items() if space in spaces}
    labellings = keep_exact(found, n, 0)
    return labellings.kept, labellings.spaces


def _renamed(labels, names):
    return np.where(labels == NOISE, NOISE, names[labels])


def retrain_heads(ensemble, latents, before, labels, n_clusters, plan):
    """Train new heads on latents (K, N, m) and labels (N,), which were ``before`` (N,); a cluster may have no rows.

    Rows of a split cluster that are ``NOISE`` get the likeliest of its parts. All labels (N,) are returned.
    """
    ensemble.reset_heads(n_clusters)
    ensemble.train(Heads(latents, labels), replace(plan, n_epochs=LONGER_TRAINING * plan.n_epochs))
    labels, undecided = labels.copy(), labels == NOISE
    if undecided.any():
        parts = np.unique(labels[np.isin(before, before[undecided]) & ~undecided])
        likely = ensemble.classify(latents)[:, undecided].mean(axis=0)[:, parts].argmax(axis=1)
        labels[undecided] = parts[likely]
    return labels


def recounted(labels, aligned):
    """Labels (N,) and labellings (L, N) with the votes that they give."""
    votes = ((aligned == labels) & (labels != NOISE)).sum(axis=0)
    return Consensus(labels, votes, aligned)


def spaces_of(history, n_labellings):
    """Space of each labelling that votes, by round: 0..K-1 of a member, K of all side by side."""
    spaces = [share["space"] for row in history for share in row["consensus_share"]]
    if len(spaces) != n_labellings:
        raise ValueError(
            f"This model has {n_labellings} labellings of the {len(spaces)} of its fit: an earlier version of skspc "
            "made it, which kept those of one round. Fit it again."
        )
    return spaces


def rule_of(rules, history_row):
    """The rule by which a round was labelled, of those a fit chooses between; the first if none has its classes."""
    told = history_row.get("clusterer"), history_row.get("reducer")
    for rule in rules:
        if told == (type(rule.clusterer).__name__, None if rule.reducer is None else type(rule.reducer).__name__):
            return rule
    return rules[0]
