"""Choosing the number of clusters: one pretrained ensemble, labelled with many numbers."""

from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import Bunch

from ._ensemble.ensemble import Ensemble
from ._input.validation import choose_network
from ._method.counts import choose_count, embed_spaces, figures_of_count
from ._method.landmarks import draw_landmarks, landmarks_alone, n_labelled
from ._method.objectives import Reconstruction
from ._method.parts import check_parts, count_parameter
from ._method.progress import RoundSettings
from ._method.reporter import Reporter
from ._method.rounds import without_vote
from ._runtime.arrays import distinct_rows, rows_at
from ._runtime.devices import resolve_device
from ._runtime.jobs import scattered
from ._runtime.memory import release_memory
from ._runtime.modes import ordinary_torch_modes, reproducible
from ._runtime.seeding import LANDMARKS, derive_seed, draw_seed
from ._spc import SPCClustering, min_pretrain_steps
from .augmentations import get_augmentation

__all__ = ["n_clusters_curve"]


def n_clusters_curve(
    estimator: SPCClustering | Pipeline,
    X: ArrayLike,
    *,
    n_clusters: Iterable[int] = range(2, 11),
    n_splits: int = 3,
) -> Bunch:
    """Tell for each number of clusters how well it is found again, from one pretrained ensemble.

    The ensemble is pretrained and its latents are reduced once, for all numbers. With each number the latents are then
    labelled and put to the vote, as the first clustering of a fit does it; no rounds are trained. No truth enters.

    The number to choose is the largest whose ``held_out_agreement`` is at least .85: rows are split at random, each
    half is clustered alone, the clusters of one half are carried over to the other by nearest neighbours, and the
    figure is the Jaccard index of the cluster that is found again worst. Rows are split so for the prediction strength
    of [1]_; the Jaccard index of clusters, and .85 for "highly stable", are from [2]_.

    Parameters
    ----------
    estimator : SPCClustering, or Pipeline that ends in one
        It is not changed, nor need it be fitted. Its ``n_clusters``, what it says of rounds, and ``checkpoint`` do not
        count.
    X : array-like of shape (N, n_features), (N, H, W) or (N, C, H, W)
        As `SPCClustering.fit` takes it.
    n_clusters : iterable of int, default=range(2, 11)
        Numbers to try, each at least 2 and less than half of the distinct rows.
    n_splits : int, default=3
        Times that the rows are split in halves. Time grows with it.

    Returns
    -------
    curve : Bunch
        n_clusters : ndarray of shape (T,), int
            The T numbers tried, ascending.
        best_n_clusters : int or None
            The number to choose; None if none is found again well enough.
        held_out_agreement : ndarray of shape (T,), float
            In [0, 1], mean over splits and halves.
        held_out_agreement_std : ndarray of shape (T,), float
            Standard deviation over splits and halves.
        agreement : ndarray of shape (T,), float
            Adjusted Rand index of two members' labellings, mean over all pairs; NaN with one member. Noise counts as a
            cluster.
        agreed_share : ndarray of shape (T,), float
            Share of the rows on which ``min_agreement`` of the labellings agree.
        silhouette : ndarray of shape (T,), float
            Silhouette of the voted labels, mean over the spaces that were clustered, of 2000 rows at most.
        labels : ndarray of shape (T, N), int
            Of the vote; -1 where no labelling gave one.
        member_labels : list of T ndarrays of shape (L, N), int
            The aligned labellings; -1 is noise. L is less than ``n_estimators`` + 1 where some have another number of
            clusters; figures of a number that none has are NaN.

    Raises
    ------
    ValueError
        If ``n_clusters`` holds no number, one below 2, what is no whole number, or more than X has rows for; if
        ``n_splits`` is no whole number of at least 1; if the clusterer cannot be told a number; and for X and
        parameters that `SPCClustering.fit` refuses.
    TypeError
        If the estimator is no SPCClustering; and as `SPCClustering.fit`.
    FloatingPointError
        If the training of all members diverged.

    See Also
    --------
    skspc.plotting.NClustersCurveDisplay : Its picture.

    References
    ----------
    .. [1] Tibshirani & Walther (2005), "Cluster Validation by Prediction Strength".
    .. [2] Hennig (2008), "Dissolution point and isolation robustness: robustness criteria for general cluster analysis
       methods".

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from skspc import SPCClustering
    >>> from skspc.model_selection import n_clusters_curve
    >>> X, _ = make_blobs(n_samples=90, centers=[[0, 0], [0, 9], [9, 0]], random_state=0)
    >>> options = {"clusterer": "kmeans", "reducer": None, "n_estimators": 2, "random_state": 0}
    >>> model = SPCClustering(pretrain_epochs=20, **options)
    >>> curve = n_clusters_curve(model, X, n_clusters=[2, 3, 4])
    >>> curve.best_n_clusters, curve.labels.shape
    (3, (3, 90))
    """
    counts = check_counts(n_clusters)
    if not _is_whole(n_splits) or n_splits < 1:
        raise ValueError(f"n_splits={n_splits!r} must be a whole number of at least 1.")
    model, X = _model_and_rows(estimator, X)
    with ordinary_torch_modes():
        return _curve(model, X, counts, int(n_splits))


def check_counts(n_clusters: Iterable[int]) -> list[int]:
    """Numbers of clusters, ascending, each once."""
    advice = "Pass several whole numbers from 2 up, e.g. n_clusters=range(2, 11)."
    try:
        counts = list(n_clusters)
    except TypeError as error:
        raise ValueError(f"n_clusters={n_clusters!r} is no series of numbers. {advice}") from error
    if not counts:
        raise ValueError(f"n_clusters={n_clusters!r} holds no number. {advice}")
    wrong = [count for count in counts if not _is_whole(count) or count < 2]
    if wrong:
        raise ValueError(f"n_clusters holds {wrong[0]!r}. {advice}")
    return sorted({int(count) for count in counts})


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _model_and_rows(estimator: object, X: ArrayLike) -> tuple[SPCClustering, ArrayLike]:
    """A copy of the model, and X as it takes it."""
    model = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if not isinstance(model, SPCClustering):
        raise TypeError(
            "n_clusters_curve takes an SPCClustering, or a Pipeline that ends in one, not "
            f"{type(model).__name__}. Pass a search's best_estimator_."
        )
    if isinstance(estimator, Pipeline) and len(estimator.steps) > 1:
        X = clone(estimator[:-1]).fit_transform(X)
    return clone(model), X


def _curve(model: SPCClustering, X: ArrayLike, counts: list[int], n_splits: int) -> Bunch:
    model.set_params(n_clusters=counts[-1])
    model._validate_params()
    rows, image_shape = model._check_fit_data(X)
    device = resolve_device(model.device)
    network = choose_network(model.network, image_shape)
    augmentation = get_augmentation(model.augmentation, image_shape)
    first, inverse = distinct_rows(rows)
    n_rows = n_labelled(len(first), model.max_landmarks)
    if counts[-1] >= n_rows // 2:
        which, remedy = "distinct rows of X", "pass more rows"
        if n_rows < len(first):
            which, remedy = "rows that are clustered", "raise max_landmarks"
        raise ValueError(
            f"n_clusters holds {counts[-1]}, and each half of the {n_rows} {which} needs more rows than clusters. Try "
            f"numbers below {n_rows // 2}, or {remedy}."
        )
    distinct = rows_at(rows, first)
    pretrain_steps = min_pretrain_steps(distinct, image_shape)
    settings = {count: _settings(model, count, len(first), device, image_shape, pretrain_steps) for count in counts}
    seed = draw_seed(model.random_state)
    scaled = model._fit_scaling(distinct, image_shape).training_rows(distinct)
    batch_size = settings[counts[-1]].pretraining.batch_size
    ensemble = model._new_ensemble(network, scaled, seed, device, batch_size, augmentation)
    reporter = Reporter(model.verbose, 0)
    with scattered(scaled), reproducible(device), reporter:
        figures = _figures(scaled, ensemble, settings, n_splits, reporter)
    release_memory(device)
    means = np.array([of_count.held_out.mean() for of_count in figures])
    return Bunch(
        n_clusters=np.array(counts),
        best_n_clusters=choose_count(counts, means),
        held_out_agreement=means,
        held_out_agreement_std=np.array([of_count.held_out.std() for of_count in figures]),
        agreement=np.array([of_count.agreement for of_count in figures]),
        agreed_share=np.array([of_count.agreed_share for of_count in figures]),
        silhouette=np.array([of_count.silhouette for of_count in figures]),
        labels=np.stack([of_count.labels[inverse] for of_count in figures]),
        member_labels=[of_count.member_labels[:, inverse] for of_count in figures],
    )


def _settings(
    model: SPCClustering,
    count: int,
    n_rows: int,
    device: torch.device,
    image_shape: tuple[int, ...] | None,
    pretrain_steps: int,
) -> RoundSettings:
    rules = model._labelling_rules(count, n_rows)
    if count_parameter(rules[0].clusterer) is None:
        raise ValueError(
            f"clusterer={model.clusterer!r} has no n_clusters or n_components to set: it finds a number itself. Pass "
            "one that can be told, e.g. clusterer='hdbscan'."
        )
    if count == model.n_clusters:  # the other numbers differ in nothing that is checked
        check_parts(rules[0].clusterer, rules[0].reducer, count, device)
    return model._round_settings(n_rows, rules, device, image_shape, pretrain_steps)


def _figures(
    rows: NDArray[Any], ensemble: Ensemble, settings: dict[int, RoundSettings], n_splits: int, reporter: Reporter
) -> list[Any]:
    """Pretrain, reduce, and label with each number."""
    largest = settings[max(settings)]
    reporter.stage("pretraining")
    ensemble.train(Reconstruction(rows), largest.pretraining)
    latents = ensemble.encode(rows)
    diverged = without_vote(latents, ensemble.diverged)
    reporter.stage("reducing")
    # Small clusters need few neighbours, and large ones bear them: hence the largest number, the smallest clusters.
    landmarks = draw_landmarks(len(rows), largest.max_landmarks, derive_seed(ensemble.seed, LANDMARKS, 0))
    seen = landmarks_alone(latents, landmarks)
    embeddings = embed_spaces(seen, max(settings), largest, ensemble.seed, diverged)
    figures = []
    for count, of_count in settings.items():
        reporter.stage(f"{count} clusters")
        figures.append(
            figures_of_count(latents, landmarks, embeddings, count, of_count, ensemble.seed, diverged, n_splits)
        )
    return figures
