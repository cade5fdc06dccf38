"""The paper's Algorithm 1: pretrain, then cluster, align, vote and train until the vote of all rounds has settled."""

import warnings
from dataclasses import asdict, replace
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._constants import NOISE
from .._runtime.interrupts import done_though_interrupted
from .._runtime.seeding import LABELLING, LANDMARKS, SAMPLES, derive_seed
from .choice import BY_DENSITY_ALONE, ON_EMBEDDINGS, choose_rule
from .consensus import Consensus, find_consensus, label_change, select_agreed, vote_with
from .history import agree_less, best_round, has_settled
from .known_labels import NOTHING, distinct_labels, follow_known, named_by, with_known
from .labelling import (
    Labellings,
    cluster_spaces,
    exact_labellings,
    fewer_if_none_exact,
    has_exact,
    joined,
    keep_exact,
    latent_spaces,
    leave_out,
    more_neighbors,
    n_spaces,
    settle_n_clusters,
)
from .landmarks import draw_landmarks, landmarks_alone, spread_labels
from .objectives import Heads, PseudoLabels, Reconstruction
from .parts import AUTO, starts_of
from .progress import Progress, RoundSettings, RoundsResult, Stopwatch
from .pseudo_labels import draw_samples, pseudo_labels, reconstructed_rows

# Mean agreement of the first clustering, from which on its neighbours are left as they are: pendigits (.96) lose by
# more of them, and HAR (.66 to .87) gains.
_SURE = 0.9


def run_rounds(X, ensemble, n_clusters, settings, reporter, checkpoints, prior=NOTHING):
    """Run the whole method on distinct rows X (N, *input_shape), scaled, or the bytes of images.

    The ensemble has the encoders of the best round afterwards, and heads trained on the vote of all rounds. The
    reporter is told of each stage and asked after each round whether to stop; checkpoints are written after pretraining
    and each round, and read from at the start. What is known of the rows beforehand, a `Prior`, is kept to. Where
    there is nothing to choose, of one cluster or as many as rows, there are no rounds.
    """
    if n_clusters in (1, len(X)):
        labels = distinct_labels(prior.known, len(X)) % n_clusters
        return label_without_rounds(X, ensemble, labels, settings, reporter)
    ended_by = "itself"
    progress: Progress | None = None
    try:
        progress = checkpoints.read(ensemble)
        if progress is None:
            if not prior.is_trained:
                reporter.stage("pretraining")
            progress = _pretrain(X, ensemble, n_clusters, settings, prior)
            checkpoints.write(progress, ensemble)
        elif progress.history:
            reporter.resumed(progress.history)
        while not _is_over(progress, settings):
            if progress.history:
                reporter.stage(f"training, round {len(progress.history)}")
                progress = _train(X, ensemble, progress, settings, prior)
            reporter.stage("clustering")
            progress = _cluster(X, ensemble, progress, settings, prior)
            checkpoints.write(progress, ensemble)
            if reporter.after_round(progress.history, labels_of(progress.consensus, len(X))):
                ended_by = "monitor"
                break
    except KeyboardInterrupt:
        if progress is None or not progress.history:
            raise
        ended_by = "interrupt"
    except TrainingDiverged as error:
        if progress is None or not progress.history:
            raise
        warnings.warn(f"{error} The result is that of the rounds before.", ConvergenceWarning, stacklevel=5)
    reporter.stage("training classifiers")
    result, interrupted = done_though_interrupted(lambda: _finish(X, ensemble, progress, settings, prior))
    return replace(result, ended_by="interrupt" if interrupted else ended_by)


def labels_of(consensus, n_rows):
    """Labels of a vote (N,); all noise where there was none."""
    return np.full(n_rows, NOISE) if consensus is None else consensus.labels


class TrainingDiverged(FloatingPointError):
    """No member has finite weights left."""


def _pretrain(X, ensemble, n_clusters, settings, prior):
    clock = Stopwatch()
    losses = prior.losses if prior.is_trained else ensemble.train(Reconstruction(X), settings.pretraining)
    clock.lap("train")
    return Progress(n_clusters, losses, clock.seconds)


def _train(X, ensemble, progress, settings, prior):
    """Train on the last round's pseudo-labels."""
    clock, stage = Stopwatch(), len(progress.history)
    if stage == 1:
        ensemble.reset_heads(progress.n_clusters)
    targets, selected = pseudo_labels(progress.consensus, progress.spaces, ensemble.n_members, settings)
    if settings.max_samples is not None:
        selected = draw_samples(selected, settings.max_samples, derive_seed(ensemble.seed, SAMPLES, stage))
    if prior.known is not None:
        targets, selected = with_known(targets, selected, prior.known)
    reconstructed = reconstructed_rows(selected, settings.reconstruction)
    losses = ensemble.train(PseudoLabels(X, targets, selected, reconstructed, stage), settings.training)
    clock.lap("train")
    return replace(progress, losses=losses, seconds=clock.seconds)


def _cluster(X, ensemble, progress, settings, prior):
    """Cluster, align and vote: one more row of the history, and perhaps a new best round."""
    clock, index = Stopwatch(), len(progress.history)
    latents = ensemble.encode(X)
    diverged = without_vote(latents, ensemble.diverged)
    clock.lap("encode")
    seeds = (derive_seed(ensemble.seed, what, index) for what in (LANDMARKS, LABELLING))
    progress, settings, readings, spaces = _label_rows(latents, progress, settings, seeds, diverged, prior)
    clock.lap("cluster")
    labellings, all_labellings, consensus, together = readings[0], joined(readings), None, None
    if labellings.spaces:
        n_clusters = progress.n_clusters
        names = prior.names(n_clusters) if progress.vote is None else progress.vote.labels
        together = consensus = _vote(all_labellings, spaces, n_clusters, names, prior)
        if len(readings) > 1:
            consensus = _vote(labellings, spaces, n_clusters, together.labels, prior)
    row = _history_row(index, consensus, labellings, settings, progress.losses, progress.n_neighbors)
    if can_be_judged(labellings, prior) and agree_less(progress.history, row):
        together, all_labellings = None, leave_out(all_labellings, "labellings agree less than before any round")
    vote = vote_with(progress.vote, together, progress.n_clusters, prior.known)
    clock.lap("vote")
    shares = _consensus_shares(together, all_labellings)
    row |= {"n_labellings": len(shares), "left_out": all_labellings.left_out, "consensus_share": shares}
    row |= {"label_change": label_change(progress.vote, vote), "seconds": progress.seconds | clock.seconds}
    progress = replace(
        progress, history=[*progress.history, row], consensus=consensus, spaces=labellings.spaces, vote=vote
    )
    if best_round(progress.history) == index:
        progress = replace(progress, best_encoders=ensemble.state()["autoencoder"])
    return progress


def can_be_judged(labellings, prior):
    """Whether it tells of a round, which then has no vote, that its labellings agree less than before any.

    One labelling agrees with itself but for its noise. Where labels are known, members learn these too, which they may
    not know alike at first; and members trained before are not those before any round.
    """
    return len(labellings.spaces) > 1 and prior.known is None and not prior.is_trained


def _label_rows(latents, progress, settings, seeds, diverged, prior):
    """Label the spaces of latents (K, N, m) by the rule's clusterer, and once more by each one beside it.

    Returned are the progress with what the first clustering settles, the settings by the rule, the `Labellings` of each
    clusterer, the rule's own first, and the spaces of which these are.
    """
    of_landmarks, seed = seeds
    # Others in each round: what one draw gets wrong by chance is outvoted. But the same for all members, whose
    # labellings are compared.
    landmarks = draw_landmarks(latents.shape[1], settings.max_landmarks, of_landmarks)
    seen = landmarks_alone(latents, landmarks)
    progress, (_, settings, found, spaces) = _label(seen, progress, settings, seed, diverged, prior)
    readings = [found, *label_beside(seen, spaces, progress.n_clusters, settings, seed, diverged)]
    progress = replace(progress, layouts={} if landmarks is not None else starts_of(settings.reducer, spaces))
    if landmarks is not None:
        spaces = latent_spaces(latents, settings.concatenate, diverged)
        readings = [spread_labels(spaces, found, landmarks, settings.n_jobs) for found in readings]
    n_tried, n_clusters = n_spaces(len(latents), settings.concatenate), progress.n_clusters
    if n_clusters == prior.n_known:
        # Of a clusterer that finds its own number: what is known divides its clusters into as many as there are names.
        n_clusters = fewer_if_none_exact(readings[0].values(), n_clusters)
    return progress, settings, [keep_exact(found, n_clusters, n_tried) for found in readings], spaces


def label_beside(latents, embeddings, n_clusters, settings, seed, diverged):
    """Labels by space, as of `cluster_spaces`, by each clusterer beside the rule's own, of the embeddings by space."""
    by_others = [replace(settings, clusterer=clusterer) for clusterer in settings.beside]
    return [cluster_spaces(latents, n_clusters, each, seed, diverged, embeddings)[0] for each in by_others]


def _vote(labellings, spaces, n_clusters, names, prior):
    """The vote of `Labellings` of these spaces (N, d), which keeps ``names`` (N,), and follows what is known."""
    consensus = find_consensus(labellings.kept, n_clusters, names)
    if prior.known is None:
        return consensus
    if names is None:
        consensus = named_by(consensus, prior.known, n_clusters)
    return follow_known(consensus, [spaces[i] for i in labellings.spaces], prior.known, n_clusters)


class Labelled(NamedTuple):
    """One clustering: the rule's index, the settings with it, labels (N,) by space, and what of each was labelled."""

    rule: int
    settings: RoundSettings
    found: dict
    spaces: dict


def _label(latents, progress, settings, seed, diverged, prior):
    """Label the spaces of latents (K, N, m); at the first clustering, settle what all of them will have in common.

    Returned are the progress with the number of clusters, the rule and the neighbours, and what was `Labelled`.
    """
    settings, starts = settings.with_neighbors(progress.n_neighbors).by_rule(progress.rule), progress.layouts
    found, embeddings = cluster_spaces(latents, progress.n_clusters, settings, seed, diverged, starts=starts)
    if progress.history:
        return progress, Labelled(progress.rule, settings, found, embeddings)
    n_clusters, labelled = progress.n_clusters, None
    if n_clusters != AUTO and not has_exact(found.values(), n_clusters):
        labelled = label_by_k_means(latents, embeddings, n_clusters, settings, seed, diverged)
    if labelled is None:
        n_clusters = settle_n_clusters(list(found.values()), n_clusters, prior.n_known)
        if n_clusters == prior.n_known and not has_exact(found.values(), n_clusters):
            found, _ = cluster_spaces(latents, n_clusters, settings, seed, diverged, embeddings)
        labelled = relabel_by_choice(latents, embeddings, found, n_clusters, settings, seed, diverged)
    n_neighbors, labelled = relabel_by_more_neighbors(labelled, latents, n_clusters, settings, seed, diverged)
    return replace(progress, n_clusters=n_clusters, rule=labelled.rule, n_neighbors=n_neighbors), labelled


def label_by_k_means(latents, embeddings, n_clusters, settings, seed, diverged):
    """Label anew by k-means, which takes any number, if that is among the rules; None if not, or to no avail."""
    if len(settings.other_rules) < ON_EMBEDDINGS:
        return None
    labelled = label_by(ON_EMBEDDINGS, latents, embeddings, n_clusters, settings, seed, diverged)
    return labelled if has_exact(labelled.found.values(), n_clusters) else None


def relabel_by_choice(latents, embeddings, found, n_clusters, settings, seed, diverged, reducer_stays=False):
    """Choose among the rules, and label anew unless it is by the first one's clusterer, whose labels were ``found``."""
    if not settings.other_rules:
        return Labelled(0, settings, found, embeddings)
    rule = choose_rule(latents, embeddings, found, 1 + len(settings.other_rules), n_clusters, seed, reducer_stays)
    if rule in (0, BY_DENSITY_ALONE):
        return Labelled(rule, settings.by_rule(rule), found, embeddings)
    return label_by(rule, latents, embeddings, n_clusters, settings, seed, diverged)


def label_by(rule, latents, embeddings, n_clusters, settings, seed, diverged):
    """Label by one of the rules, with the embeddings that there are."""
    settings = settings.by_rule(rule)
    reduced = None if settings.reducer is None else embeddings
    return Labelled(rule, settings, *cluster_spaces(latents, n_clusters, settings, seed, diverged, reduced))


def relabel_by_more_neighbors(labelled, latents, n_clusters, settings, seed, diverged):
    """Reduce and label anew where labellings disagree and the reducer, if it was not left out, needs more neighbours.

    The rule is chosen anew, by the settings of the first one. What was `Labelled` is kept where fewer spaces would have
    so many clusters. Returned are the neighbours, None where they are the reducer's own, and what is labelled then.
    """
    exact = exact_labellings(labelled.found, n_clusters)
    if not exact or find_consensus(np.stack(exact), n_clusters).votes.mean() >= _SURE * len(labelled.found):
        return None, labelled
    n_neighbors = more_neighbors(latents, n_clusters, labelled.settings, seed, diverged)
    if n_neighbors is None:
        return None, labelled
    settings = settings.with_neighbors(n_neighbors)
    found, embeddings = cluster_spaces(latents, n_clusters, settings, seed, diverged)
    again = relabel_by_choice(latents, embeddings, found, n_clusters, settings, seed, diverged, reducer_stays=True)
    if len(exact_labellings(again.found, n_clusters)) < len(exact):
        return None, labelled
    return n_neighbors, again


def without_vote(latents, diverged):
    """Members without a vote in this round, those whose training diverged; TrainingDiverged if that is all of them."""
    diverged = {*diverged, *np.flatnonzero(~np.isfinite(latents).all(axis=(1, 2))).tolist()}
    if len(diverged) == len(latents):
        raise TrainingDiverged(
            "Training diverged: the weights of every member have become infinite or NaN. Lower learning_rate, or scale "
            "the data (extreme values of a feature survive standardisation)."
        )
    return diverged


def label_without_rounds(X, ensemble, labels, settings, reporter):
    """Make a result of known labels: the heads are trained on them unless there is only one.

    Serves one cluster, and as many clusters as rows, where there is nothing to choose.
    """
    n_clusters, clock = int(labels.max()) + 1, Stopwatch()
    losses = {}
    if n_clusters > 1:
        reporter.stage("pretraining")
        losses = ensemble.train(Reconstruction(X), settings.pretraining)
        without_vote(ensemble.encode(X), ensemble.diverged)
    for stage in ("train", "encode", "cluster", "vote"):
        clock.lap(stage)
    consensus = Consensus(labels, np.ones(len(labels), dtype=np.int64), labels[None])
    ensemble.reset_heads(n_clusters)
    row = _history_row(0, consensus, Labellings(labels[None], [0], []), settings, losses)
    row |= {"label_change": 1.0, "seconds": clock.seconds}
    reporter.after_round([row], labels)
    if n_clusters > 1:
        progress = Progress(
            n_clusters, losses, clock.seconds, [row], consensus, [0], consensus, ensemble.state()["autoencoder"]
        )
        return _finish(X, ensemble, progress, settings, NOTHING)
    everywhere = np.ones(len(labels))
    return RoundsResult(labels, everywhere, everywhere.astype(bool), labels[None], [row], 0, 1)


def _is_over(progress, settings):
    """Whether training ends: enough rounds, no growth, nothing left to agree on, or nothing to train on."""
    history = progress.history
    return len(history) > 0 and (
        len(history) > settings.max_iter
        or progress.consensus is None
        or has_settled(history, settings.n_iter_no_change, settings.tol)
        or history[-1]["mean_agreement"] == 1.0
    )


def _finish(X, ensemble, progress, settings, prior):
    """Restore the best round's encoders, train heads on the vote of all rounds, and label what had none."""
    ensemble.load_state({"autoencoder": progress.best_encoders})
    ensemble.reset_heads(progress.n_clusters)
    latents = ensemble.encode(X)
    consensus = progress.vote
    if consensus is None:  # not one labelling had a cluster
        labels = np.zeros(latents.shape[1], dtype=np.int64) if prior.known is None else prior.known
        consensus = Consensus(labels, np.zeros_like(labels), np.full((1, len(labels)), NOISE))
    ensemble.train(Heads(latents, consensus.labels), settings.heads)
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


def _history_row(index, consensus, labellings, settings, losses, n_neighbors=None):
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
        "agreement_of_kept": float(votes.mean() / max(1, len(labellings.spaces))),
        "n_labellings": len(labellings.spaces),
        "left_out": labellings.left_out,
        "clusterer": type(settings.clusterer).__name__,
        "reducer": None if settings.reducer is None else type(settings.reducer).__name__,
        "n_neighbors": n_neighbors,
        "consensus_share": _consensus_shares(consensus, labellings),
        "losses": losses,
        "training": asdict(settings.training if index else settings.pretraining),
    }


def _consensus_shares(consensus, labellings):
    """Share of the rows to which each kept labelling gives their consensus label."""
    if consensus is None:
        return []
    shares = (consensus.aligned == consensus.labels).mean(axis=1, where=consensus.labels != NOISE)
    return [{"space": i, "share": float(share)} for i, share in zip(labellings.spaces, shares, strict=True)]
