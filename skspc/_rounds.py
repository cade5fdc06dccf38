"""The paper's Algorithm 1: pretrain, then cluster, align, vote and train until agreement stops growing."""

import time
import warnings
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from numbers import Integral

import numpy as np
import torch
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning

from ._consensus import Consensus, find_consensus, select_agreed
from ._constants import NOISE
from ._device import threads_shared
from ._history import best_round, has_stopped_growing
from ._members import TrainingPlan
from ._seeding import LABELLING, SAMPLES, derive_seed
from ._workers import jobs_at_once
from .clusterers._labelling import AUTO, count_parameter, label_embedding, reduce_space
from .clusterers._quiet import dependencies_quiet


@dataclass(frozen=True)
class RoundSettings:
    """How rounds are run: the parameters of `SPCClustering` of the same names, and the plans made of them."""

    clusterer: object
    reducer: object
    selection: str
    min_agreement: float
    reconstruction: str
    concatenate: bool
    max_iter: int
    n_iter_no_change: int
    tol: float
    max_samples: float | int | None
    n_jobs: int | None
    device: torch.device
    pretraining: TrainingPlan
    training: TrainingPlan
    heads: TrainingPlan


@dataclass(frozen=True)
class Labellings:
    """The labellings of one round that have the right number of clusters, and why others were left out.

    Attributes
    ----------
    kept : ndarray of shape (L, N)
    spaces : list of int
        The space of each: 0..K-1 for the members, K for all latents side by side.
    left_out : list of dict
        "space" and "reason" of each other one.
    """

    kept: np.ndarray
    spaces: list
    left_out: list

    @property
    def n_tried(self):
        return len(self.spaces) + len(self.left_out)


@dataclass(frozen=True)
class Progress:
    """How far a fit has come: with the ensemble's weights, all that the rest of it depends on.

    Attributes
    ----------
    n_clusters : int or "auto"
        "auto" until the first clustering has settled it.
    losses, seconds : dict
        Of the training since the last clustering.
    history : list of dict
    consensus : Consensus or None
        Of the last round; None if no labelling had a cluster.
    spaces : list of int
        The space of each labelling of that consensus.
    best : Consensus or None
    best_encoders : dict
        Of the best round: `Ensemble.snapshot`.
    """

    n_clusters: int | str
    losses: dict
    seconds: dict
    history: list = field(default_factory=list)
    consensus: Consensus | None = None
    spaces: list = field(default_factory=list)
    best: Consensus | None = None
    best_encoders: dict = field(default_factory=dict)


@dataclass(frozen=True)
class RoundsResult:
    """Outcome of a fit, for the rows it was given.

    Attributes
    ----------
    labels, agreement, agreed : ndarray of shape (N,)
    member_labels : ndarray of shape (L, N)
    history : list of dict
    best_iter, n_clusters : int
    ended_by : {"itself", "monitor", "interrupt"}
        What ended the rounds: the rule to stop, the monitor, or Ctrl-C.
    """

    labels: np.ndarray
    agreement: np.ndarray
    agreed: np.ndarray
    member_labels: np.ndarray
    history: list
    best_iter: int
    n_clusters: int
    ended_by: str = "itself"


class Stopwatch:
    """Seconds of each stage since the stage before."""

    def __init__(self):
        self.seconds, self._last = {}, time.perf_counter()

    def lap(self, stage):
        now = time.perf_counter()
        self.seconds[stage], self._last = now - self._last, now


def run_rounds(X, ensemble, n_clusters, settings, watcher, checkpoints):
    """Run the whole method.

    Parameters
    ----------
    X : ndarray of shape (N, *input_shape)
        Distinct rows, more than clusters: scaled, or the bytes of images.
    ensemble : Ensemble
        New. Afterwards it has the encoders of the best round, and heads trained on its consensus.
    n_clusters : int or "auto"
    settings : RoundSettings
    watcher : Watcher
        Told of each stage; asked after each round whether to stop.
    checkpoints : Checkpoints
        Where progress is written after pretraining and each round, and read from at the start.

    Returns
    -------
    result : RoundsResult
    """
    ended_by = "itself"
    progress: Progress | None = None
    try:
        progress = checkpoints.read(ensemble)
        if progress is None:
            watcher.stage("pretraining")
            progress = _pretrain(X, ensemble, n_clusters, settings)
            checkpoints.write(progress, ensemble)
        elif progress.history:
            watcher.resumed(progress.history)
        while not _is_over(progress, settings):
            if progress.history:
                watcher.stage(f"training, round {len(progress.history)}")
                progress = _train(X, ensemble, progress, settings)
            watcher.stage("clustering")
            progress = _cluster(X, ensemble, progress, settings)
            checkpoints.write(progress, ensemble)
            if watcher.after_round(progress.history):
                ended_by = "monitor"
                break
    except KeyboardInterrupt:
        if progress is None or not progress.history:
            raise
        ended_by = "interrupt"
    except TrainingDiverged as error:
        if progress is None or not progress.history:
            raise
        warnings.warn(f"{error} The result is that of the best round before.", ConvergenceWarning, stacklevel=3)
    watcher.stage("training classifiers")
    try:
        result = _finish(X, ensemble, progress, settings)
    except KeyboardInterrupt:  # once more, so that there is a result; Ctrl-C a second time leaves none
        ended_by, result = "interrupt", _finish(X, ensemble, progress, settings)
    return replace(result, ended_by=ended_by)


class TrainingDiverged(FloatingPointError):
    """No member has finite weights left."""


def _pretrain(X, ensemble, n_clusters, settings):
    clock = Stopwatch()
    losses = ensemble.pretrain(X, settings.pretraining)
    clock.lap("train")
    return Progress(n_clusters, losses, clock.seconds)


def _train(X, ensemble, progress, settings):
    """Train on the last round's pseudo-labels."""
    clock, stage = Stopwatch(), len(progress.history)
    if stage == 1:
        ensemble.reset_heads(progress.n_clusters)
    targets, selected = pseudo_labels(progress.consensus, progress.spaces, ensemble.n_members, settings)
    if settings.max_samples is not None:
        selected = draw_samples(selected, settings.max_samples, derive_seed(ensemble.seed, SAMPLES, stage))
    losses = ensemble.train_on_pseudo_labels(
        X, targets, selected, settings.reconstruction, settings.training, stage=stage
    )
    clock.lap("train")
    return replace(progress, losses=losses, seconds=clock.seconds)


def _cluster(X, ensemble, progress, settings):
    """Cluster, align and vote: one more row of the history, and perhaps a new best round."""
    clock, index = Stopwatch(), len(progress.history)
    latents = ensemble.encode(X)
    lost = lost_members(latents, ensemble.lost)
    clock.lap("encode")
    seed = derive_seed(ensemble.seed, LABELLING, index)
    found = cluster_spaces(latents, progress.n_clusters, settings, seed, lost)
    n_clusters = progress.n_clusters if index else _settle_n_clusters(list(found.values()), progress.n_clusters)
    labellings = keep_exact(found, n_clusters, n_spaces(ensemble.n_members, settings.concatenate))
    clock.lap("cluster")
    names = progress.consensus.labels if index else None
    consensus = find_consensus(labellings.kept, n_clusters, names) if labellings.spaces else None
    clock.lap("vote")
    seconds = progress.seconds | clock.seconds
    row = _history_row(index, consensus, labellings, settings, progress.losses, seconds)
    progress = replace(
        progress,
        n_clusters=n_clusters,
        history=[*progress.history, row],
        consensus=consensus,
        spaces=labellings.spaces,
    )
    if best_round(progress.history) == index:
        progress = replace(progress, best=consensus, best_encoders=ensemble.snapshot())
    return progress


def lost_members(latents, lost):
    """Members without a vote in this round, those whose training diverged: a set of int.

    Raises
    ------
    TrainingDiverged
        If that is all of them.
    """
    lost = {*lost, *np.flatnonzero(~np.isfinite(latents).all(axis=(1, 2))).tolist()}
    if len(lost) == len(latents):
        raise TrainingDiverged(
            "Training diverged: the weights of every member have become infinite or NaN. Lower learning_rate, or scale "
            "the data (extreme values of a feature survive standardisation)."
        )
    return lost


def n_spaces(n_members, concatenate):
    """Spaces of a round: one a member, and for several members all latents side by side."""
    return n_members + (concatenate and n_members > 1)


def cluster_spaces(latents, n_clusters, settings, seed, lost=()):
    """Label every member's latents and, for several members, all latents side by side.

    Parameters
    ----------
    latents : ndarray of shape (K, N, m)
    n_clusters : int or "auto"
        With "auto", each space is labelled with the number of clusters that most of them have.
    settings : RoundSettings
    seed : int
    lost : set of int
        Members left out.

    Returns
    -------
    labellings : dict of ndarray of shape (N,)
        By space: 0..K-1 for the members, K for all latents side by side.
    """
    spaces = {member: latents[member] for member in range(len(latents)) if member not in lost}
    if settings.concatenate and len(spaces) > 1:
        spaces[len(latents)] = np.concatenate(list(spaces.values()), axis=1)
    seeds = {i: derive_seed(seed, i) for i in spaces}
    # The libraries' own threads are shared out like torch's: threads in threads wait for each other.
    with threads_shared(len(spaces), n_jobs=jobs_at_once(settings.n_jobs)) as n_workers, dependencies_quiet():
        run = Parallel(n_jobs=n_workers, prefer="threads")
        found = run(delayed(_reduce_and_label)((spaces[i],), settings, n_clusters, seeds[i]) for i in spaces)
        labellings = [labels for _, labels in found]
        if n_clusters == AUTO and count_parameter(settings.clusterer) is not None:
            n_clusters = _most_common_count(labellings)
            labellings = run(
                delayed(_label)((embedding,), settings.clusterer, n_clusters, seeds[i])
                for i, (embedding, _) in zip(spaces, found, strict=True)
            )
    return dict(zip(spaces, labellings, strict=True))


def _reduce_and_label(boxed_space, settings, n_clusters, seed):
    """Reduce and label one space, which comes in a tuple: see `skspc._workers.run_elsewhere`."""
    (space,) = boxed_space
    embedding = reduce_space(space, settings.reducer, seed, settings.device)
    return embedding, label_embedding(embedding, settings.clusterer, n_clusters, seed)


def _label(boxed_embedding, clusterer, n_clusters, seed):
    (embedding,) = boxed_embedding
    return label_embedding(embedding, clusterer, n_clusters, seed)


def keep_exact(found, n_clusters, n_tried):
    """Keep the labellings with exactly ``n_clusters`` clusters.

    Parameters
    ----------
    found : dict of ndarray of shape (N,)
        By space.
    n_clusters : int
    n_tried : int
        Spaces of the round, found or not.

    Returns
    -------
    labellings : Labellings
    """
    counts = {i: int(labels.max()) + 1 for i, labels in found.items()}
    spaces = [i for i, count in counts.items() if count == n_clusters]
    left_out = []
    for i in range(n_tried):
        if i not in found:
            left_out.append({"space": i, "reason": "training diverged"})
        elif counts[i] != n_clusters:
            left_out.append({"space": i, "reason": f"{counts[i]} clusters instead of {n_clusters}"})
    n_rows = len(next(iter(found.values())))
    kept = np.stack([found[i] for i in spaces]) if spaces else np.empty((0, n_rows), dtype=np.int64)
    return Labellings(kept, spaces, left_out)


def _settle_n_clusters(found, n_clusters):
    """Return ``n_clusters`` if any labelling has it, else, with a warning, the count that most have."""
    if any(labels.max() + 1 == n_clusters for labels in found):
        return n_clusters
    settled = _most_common_count(found)
    if n_clusters != AUTO:
        message = (
            f"No labelling could be brought to n_clusters={n_clusters}; the fit goes on with {settled}, "
            "the number found most often. Lower n_clusters, or try another clusterer, e.g. clusterer='gmm'."
        )
    elif settled == 1:
        message = "n_clusters='auto' found no clusters apart; all rows are in one. Pass n_clusters if you know better."
    else:
        return settled
    warnings.warn(message, ConvergenceWarning, stacklevel=4)
    return settled


def _most_common_count(labellings):
    """Return the number of clusters that most labellings have, the larger of two as common; 1 if all is noise."""
    counts = Counter(int(labels.max()) + 1 for labels in labellings)
    del counts[0]  # nothing but noise is no clustering
    return max(counts, key=lambda count: (counts[count], count)) if counts else 1


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


def label_without_rounds(X, ensemble, labels, settings, watcher):
    """Make a result of known labels: the heads are trained on them unless there is only one.

    Serves one cluster, and as many clusters as distinct rows, where there is nothing to choose.
    """
    n_clusters, clock = int(labels.max()) + 1, Stopwatch()
    losses = {}
    if n_clusters > 1:
        watcher.stage("pretraining")
        losses = ensemble.pretrain(X, settings.pretraining)
        lost_members(ensemble.encode(X), ensemble.lost)
    for stage in ("train", "encode", "cluster", "vote"):
        clock.lap(stage)
    consensus = Consensus(labels, np.ones(len(labels), dtype=np.int64), labels[None])
    ensemble.reset_heads(n_clusters)
    row = _history_row(0, consensus, Labellings(labels[None], [0], []), settings, losses, clock.seconds)
    watcher.after_round([row])
    if n_clusters > 1:
        progress = Progress(n_clusters, losses, clock.seconds, [row], consensus, [0], consensus, ensemble.snapshot())
        return _finish(X, ensemble, progress, settings)
    everywhere = np.ones(len(labels))
    return RoundsResult(labels, everywhere, everywhere.astype(bool), labels[None], [row], 0, 1)


def _is_over(progress, settings):
    """Whether training ends: enough rounds, no growth, nothing left to agree on, or nothing to train on."""
    history = progress.history
    return len(history) > 0 and (
        len(history) > settings.max_iter
        or progress.consensus is None
        or has_stopped_growing(history, settings.n_iter_no_change, settings.tol)
        or history[-1]["mean_agreement"] == 1.0
    )


def _finish(X, ensemble, progress, settings):
    """Restore the best round's encoders, train heads on its consensus, and label what had no vote."""
    ensemble.restore(progress.best_encoders)
    ensemble.reset_heads(progress.n_clusters)
    latents = ensemble.encode(X)
    consensus = progress.best
    if consensus is None:  # not one labelling had a cluster
        labels = np.zeros(latents.shape[1], dtype=np.int64)
        consensus = Consensus(labels, np.zeros_like(labels), np.full((1, len(labels)), NOISE))
    ensemble.train_heads(latents, consensus.labels, settings.heads)
    labels = consensus.labels.copy()
    undecided = labels == NOISE
    if undecided.any():
        predicted = ensemble.classify(latents).mean(axis=0).argmax(axis=1)
        labels[undecided] = predicted[undecided]
    return RoundsResult(
        labels=labels,
        agreement=consensus.agreement,
        agreed=select_agreed(consensus.votes, len(consensus.aligned), settings.min_agreement),
        member_labels=consensus.aligned,
        history=progress.history,
        best_iter=best_round(progress.history),
        n_clusters=progress.n_clusters,
    )


def _history_row(index, consensus, labellings, settings, losses, seconds):
    """One row of the history; labellings left out count as disagreeing in its statistic."""
    n_rows = labellings.kept.shape[1]
    votes = np.zeros(n_rows, dtype=np.int64) if consensus is None else consensus.votes
    n_agreed = int(select_agreed(votes, labellings.n_tried, settings.min_agreement).sum())
    return {
        "round": index,
        "n_rows": n_rows,
        "n_agreed": n_agreed,
        "agreed_share": n_agreed / n_rows,
        "mean_agreement": float(votes.mean() / labellings.n_tried),
        "n_labellings": len(labellings.spaces),
        "left_out": labellings.left_out,
        "consensus_share": _consensus_shares(consensus, labellings),
        "losses": losses,
        "seconds": seconds,
        "training": asdict(settings.training if index else settings.pretraining),
    }


def _consensus_shares(consensus, labellings):
    """Share of the rows to which each kept labelling gives their consensus label."""
    if consensus is None:
        return []
    shares = (consensus.aligned == consensus.labels).mean(axis=1, where=consensus.labels != NOISE)
    return [{"space": i, "share": float(share)} for i, share in zip(labellings.spaces, shares, strict=True)]
