"""SPCClustering: parameters, validation, and the scikit-learn face of the method."""

import copy
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from numbers import Integral, Real
from os import PathLike
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Bunch, Tags
from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt, StrOptions
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted, validate_data

from ._constants import NOISE
from ._docstrings import filled_in
from ._ensemble.ensemble import Ensemble
from ._ensemble.plan import TrainingPlan, auto_batch_size, plan_training
from ._input.scaling import Scaling, fit_image_scaling, fit_vector_scaling, have_length_one
from ._input.validation import (
    as_numbers,
    check_image_shape,
    check_known_labels,
    check_n_samples,
    check_no_times_beside_numbers,
    choose_network,
    flatten_images,
    is_of_text,
    is_one_image,
    no_number,
)
from ._method.choice import LabellingRule, labelling_rules
from ._method.consensus import Consensus, select_agreed
from ._method.doubt import doubtful_rows
from ._method.editing import (
    check_merge,
    check_split,
    merge_clusters,
    merged_names,
    recounted,
    retrain_heads,
    rule_of,
    spaces_of,
    split_cluster,
)
from ._method.known_labels import NOTHING, Prior, known_of_distinct
from ._method.landmarks import check_landmarks, n_labelled
from ._method.outliers import draw_kept, keep_rows, outlier_scores, strangeness
from ._method.parts import AUTO, check_parts
from ._method.progress import RoundSettings, RoundsResult
from ._method.reporter import Reporter
from ._method.representatives import rank_representatives
from ._method.rounds import run_rounds
from ._persistence.checkpoints import Checkpoints, checkpoint_key
from ._persistence.model_files import load_model, save_model
from ._runtime.arrays import distinct_rows, lies_in_file, rows_at, to_numpy
from ._runtime.devices import inference_device, resolve_device, resolve_precision
from ._runtime.interrupts import done_though_interrupted
from ._runtime.jobs import jobs_at_once, scattered
from ._runtime.memory import release_memory
from ._runtime.modes import ordinary_torch_modes, reproducible
from ._runtime.seeding import SPLITS, derive_seed, draw_seed
from ._version import __version__
from .augmentations import get_augmentation
from .clusterers._registry import Clusterer, Reducer

# Defaults of "auto": epochs, and optimiser steps at least, of each stage.
PRETRAIN_EPOCHS, MIN_PRETRAIN_STEPS = 10, 800
MIN_PRETRAIN_STEPS_OF_FEATURES = 3200  # cheap ones; HAR gains ten points by them, titles lose seven (docs/rounds.md)
ROUND_EPOCHS, MIN_ROUND_STEPS = 5, 300
HEAD_EPOCHS, MIN_HEAD_STEPS = 10, 400
LEARNING_RATE = 1e-3

LOW_AGREEMENT = 0.1  # share of rows agreed on in a round, below which a fit warns

Array: TypeAlias = NDArray[Any]
Shape: TypeAlias = tuple[int, ...] | None  # (C, H, W) of images

ROWS_AT_ONCE = 4096  # in predict
VALUES_AT_ONCE = 2**21  # there, of rows that lie in a file
SAME_PROBABILITY = 1e-3  # of a row on another device
FITTED_PRIVATELY = ("_image_shape", "_scaling", "_ensemble", "_kept")


of_new_rows = filled_in(
    rows="""Parameters
----------
X : array-like of shape (N, n_features), (N, H, W) or (N, C, H, W)""",
    raised="""Raises
------
NotFittedError
    Before `fit`.
ValueError
    If X is not finite, or its features, or the shape of its images, are not those of the fit.
TypeError
    If X is sparse.""",
)

of_training_rows = filled_in(
    how="""It takes seconds: encoders stay as they are, and new classifiers are trained on the new labels. ``labels_``
and all that goes with them, and `predict`, are those of the new clusters; ``history_`` is still that of the fit.""",
    rows="""X : array-like of shape (N, n_features), (N, H, W) or (N, C, H, W)
    The rows of the fit, in their order; a model does not keep them.""",
    model="""model : SPCClustering
    A copy; this one is as it was.""",
    wrong_rows="""X is not the rows of the fit.""",
    raised="""NotFittedError
    Before `fit`.
TypeError
    If X is sparse.""",
)


def min_pretrain_steps(rows: Array, image_shape: tuple[int, ...] | None) -> int:
    """Steps of pretraining at least: many for features, few where a step is long, and for embeddings of length one."""
    return MIN_PRETRAIN_STEPS if image_shape or have_length_one(rows) else MIN_PRETRAIN_STEPS_OF_FEATURES


def is_fitted_name(name: str) -> bool:
    """Whether an attribute is one that `fit` sets."""
    return name in FITTED_PRIVATELY or (name.endswith("_") and not name.startswith("_"))


class SPCClustering(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Selective pseudo-label clustering.

    An ensemble of autoencoders is pretrained; each latent space is clustered; the labellings are aligned and put to the
    vote. Rows on which all agree become pseudo-labels that train encoder and classifier; all rows, or only the others
    (``reconstruction``), train by reconstruction [1]_. This repeats until it brings nothing new; the labellings of all
    rounds together vote for the result.

    Images are scaled by one range to [-1, 1] (uint8: 0..255) and clipped to it in `predict`; vectors are scaled as
    ``scaling`` says. Equal rows are one row to the whole method, and share their label.

    Parameters stand in groups: what to find (up to ``augmentation``), how sure to be (up to ``max_samples``), how long
    to train (up to ``tol``), the paper's switches (up to ``concatenate``), and the fit before and the machine.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of clusters C to find. With 1 all labels are 0 and nothing is trained. "auto" is the number that most
        labellings find after pretraining, for a clusterer that finds one itself ("auto", "hdbscan", or an object
        without ``n_clusters``); it sees clusters that lie apart in the latents, which need not be the classes one has
        in mind.
    clusterer : {"auto", "hdbscan", "gmm", "kmeans", "agglomerative"}, registered name or object with \
            ``fit_predict``, default="auto"
        What labels the reduced latents; negative labels are noise. A copy is made for each labelling, with
        ``n_clusters`` (or ``n_components``) and ``random_state`` set if it has them. See `skspc.clusterers`.
        "auto" is "hdbscan", or "kmeans" with fewer than 30 rows a cluster. It becomes "kmeans" on the latents
        themselves where the first clustering shows that members agree clearly more on that, and that the reducer's
        embeddings keep no more neighbours together in the eyes of other members, or not many more where members hardly
        agree on them, as with short texts; "kmeans" on the embeddings where members agree by it on more of the rows, by
        a twentieth of all, and its clusters are more even and tear hardly more neighbours apart, or where HDBSCAN finds
        ``n_clusters`` in none; and "gmm" where that tears far fewer apart, as with clusters of unequal size.
        ``history_`` tells which it was. Where that is HDBSCAN or k-means on embeddings, the other one labels each of
        them too, but not k-means where it seems to cut up the largest of unequal clusters, or with one member: for
        ``labels_`` and ``agreement_``, not for what the members train on.
    reducer : "umap", registered name, object with ``fit_transform``, or None, default="umap"
        What reduces the latents for the clusterer; with None it sees the latents themselves. A copy is made for each
        labelling, with ``random_state`` set if it has one, ``device`` if that is "auto", and ``rows_per_cluster`` if
        that is None. UMAP's ``n_neighbors`` is raised, if that is "auto", where the first clustering shows that rows
        are in many pieces; ``history_`` tells to what.
    max_landmarks : int or None, default=50000
        Rows that are reduced and clustered, where there are more: drawn anew for each round, the same for all its
        labellings. Other rows take the label of the nearest of these in the latents, so that time grows in proportion
        to the rows. All rows train and vote. None is all rows.
    network : {"auto", "conv", "mlp"} or instance, default="auto"
        Kind of the autoencoders. "auto" is "conv", convolutional, for images and "mlp", fully connected, for vectors.
        An instance, e.g. `skspc.networks.ConvNetwork`, has settings of its own.
    image_shape : tuple (H, W) or (C, H, W), default=None
        Shape of the images whose pixels the rows of X hold. X of shape (N, H, W) or (N, C, H, W) implies it.
    scaling : {"auto", "standard", "global"} or None, default="auto"
        How vectors are scaled; images have their own rule. "standard" gives each feature mean 0 and variance 1, for
        tables whose features have units of their own; "global" centres each feature and divides all by one scale, for
        embeddings, spectra and pixels; None takes the rows as they are. "auto" is "global" where the rows have length
        one or the ranges of the features differ, in geometric standard deviation, by less than a factor of 3, else
        "standard".
    augmentation : None, "affine" or callable, default=None
        How each batch is changed in training before it is encoded. The autoencoders reconstruct the rows as they were,
        so that latents need not tell how a row was changed. "affine" is `skspc.augmentations.AffineAugmentation`, for
        images: small rotations, shifts, scalings and shears (pass an instance to set their limits). A callable takes a
        tensor (n, C, H, W) or (n, n_features), scaled, a member's batch, and that member's torch.Generator; it returns
        the like. It is called from several threads: it should keep no state, and draw from that generator alone.
    n_estimators : int, default=5
        Number K of autoencoders in the ensemble, which vote (the paper: 15).
    min_agreement : float, default=1.0
        Share of the labellings, in (0, 1], that must agree on a row for it to be agreed.
    max_samples : None, int or float, default=None
        Number or share of the rows with a pseudo-label that each member trains on, drawn at random for each member and
        round. None is all.
    pretrain_epochs, epochs : int or "auto", default="auto"
        Passes over the rows in pretraining, and in each round. "auto" is 10 and 5, and more where N is so small that
        these would make fewer than 800 and 300 optimiser steps. On vectors, unless all rows have a norm of one,
        pretraining has 3200 at least.
    batch_size : int or "auto", default="auto"
        Rows in a member's batch. "auto" is the power of two next below N / 16, between 32 and 256; of images of
        256 pixels at most, it is 64 at most up to 16 383 of them, and 128 up to 32 767.
    learning_rate : float or "auto", default="auto"
        Step size of the optimiser, Adam. "auto" is 0.001.
    max_iter : int, default=5
        Training rounds at most; with 0 the pretrained latents are clustered once.
    n_iter_no_change : int, default=2
        Rounds in a row that bring nothing new, after which training stops.
    tol : float, default=0.005
        Share of the rows above which it is new that more of them are agreed on than in any round before, or that a
        round's labellings, joined to the vote of those before, change their label.
    selection : {"auto", "agreed", "balanced", "consensus", "own"}, default="auto"
        Rows that train on pseudo-labels. "agreed": those on which at least ``min_agreement`` of the labellings agree
        (the paper). "balanced": besides these, in clusters of which that is fewer than half of the rows, those with
        most votes, until half are taken or only those without a majority are left; not in clusters of more than twice,
        or less than half, the mean size. "auto" is "balanced" with at least 300 distinct rows a cluster, else "agreed".
        "consensus": all, with consensus labels; "own": all, each member with its own labels (the paper's ablations A1
        and A2).
    reconstruction : {"unagreed", "all", "none"}, default="all"
        Rows that train by reconstruction during rounds: those without a pseudo-label (the paper), all, or none.
    concatenate : bool, default=True
        Whether all members' latents side by side make one more labelling (not with one member).
    warm_start : bool, default=False
        Whether `fit` goes on from the fit before, if there is one: members keep their weights instead of being
        pretrained, rows are scaled as they were, and clusters keep their names. With ``known_labels`` of rows that were
        asked about, and ``max_iter`` of 1 or 2, that takes a fraction of a fit.
    device : str or torch.device, default="auto"
        Where training computes. "auto" is CUDA where available, else the CPU. "cuda" deals the members to all CUDA
        devices, "cuda:0" names one.
    precision : {"auto", "float32", "bfloat16"}, default="auto"
        Number format of the products in training; weights, sums and what the clusterer sees are float32 with all.
        "auto" is bfloat16 on CUDA devices of compute capability 8 and later, float32 elsewhere. float32 is not rounded
        to TF32 or bfloat16, whatever torch's own settings say.
    n_jobs : None or int, default=None
        Labellings made at once, and on the CPU groups of members trained at once: in threads, unless a
        ``joblib.parallel_config`` names another backend, such as "dask" for a cluster. None is what that configuration
        says, else as many as torch has threads (a configuration of one job counts as none: pass 1). Labels do not
        depend on it.
    random_state : None, int or RandomState, default=None
        Seed of everything that is drawn. An int makes labels the same on every run on one machine, and changes no
        global random state; None and an instance of RandomState are drawn from once.
    verbose : int, default=0
        Whether to show stages, rounds and the time left, from 1 on: by a bar of tqdm on a terminal or in a notebook, by
        lines elsewhere.
    checkpoint : str or path-like, default=None
        Folder for checkpoints, written after pretraining and after each round. A fit that was stopped goes on where it
        was when it is started again with the same rows, parameters and versions of libraries, and ends with the same
        labels. Each such fit has a folder of its own inside, which is removed when it has come to its end by itself;
        two equal fits must not run at once. The monitor is not asked again about rounds before.

    Attributes
    ----------
    labels_ : ndarray of shape (N,), int
        Labels 0..n_clusters_-1, each of which occurs, unless known labels leave a cluster no rows (a warning tells so).
    agreement_ : ndarray of shape (N,), float
        Share of the labellings, of all rounds that vote, that gave a row its label.
    agreed_ : ndarray of shape (N,), bool
        Whether that share is at least ``min_agreement``.
    member_labels_ : ndarray of shape (n_labellings, N), int
        The aligned labellings of all rounds that vote, in their order, ``n_labellings`` of ``history_`` each, those
        that members train on before those of a clusterer beside; -1 is noise. A round does not vote if its labellings
        agree less than those before any round.
    history_ : list of dict
        One row a clustering: round, rows (distinct ones), rows agreed on by the labellings that members train on and
        their share, how much these agree on the mean, over all of them and over those with ``n_clusters_`` clusters,
        the share of the rows whose label changed with it, losses, seconds of each stage, labellings that vote,
        labellings left out and why, classes of the clusterer and reducer, the reducer's neighbours where it was given
        more than its own, the share of the rows on which each kept one is as their vote, and the training figures used.
        Row 0 is before any round.
    n_iter_ : int
        Number of clusterings.
    best_iter_ : int
        Index in ``history_`` of the round with the most agreed rows, of those that vote, whose encoders predict.
    n_clusters_ : int
        Number of clusters found. It differs from a number in ``n_clusters`` only with a ConvergenceWarning, and in what
        `merge` and `split` return.
    predict_consistency_ : float
        Share of the training rows for which `predict` gives ``labels_``.
    label_probability_ : ndarray of shape (N,), float
        The members' mean softmax for the label of each training row, as `predict_proba` has it.
    n_features_in_ : int
        Number of features; for images C*H*W.
    feature_names_in_ : ndarray of shape ``(n_features_in_,)``
        If X was a DataFrame with names.

    References
    ----------
    .. [1] Mahon & Lukasiewicz (2021), "Selective Pseudo-Label Clustering", Algorithm 1.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from skspc import SPCClustering
    >>> X, _ = make_blobs(n_samples=120, centers=3, cluster_std=0.3, random_state=0)
    >>> model = SPCClustering(n_clusters=3, n_estimators=2, random_state=0).fit(X)
    >>> model.n_clusters_, sorted(set(model.labels_.tolist()))
    (3, [0, 1, 2])
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "clusterer": [str, HasMethods("fit_predict")],
        "reducer": [str, HasMethods("fit_transform"), None],
        "max_landmarks": [Interval(Integral, 2, None, closed="left"), None],
        "network": [str, HasMethods("build")],
        "image_shape": [tuple, list, None],
        "scaling": [StrOptions({"auto", "standard", "global"}), None],
        "augmentation": [str, callable, None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "min_agreement": [Interval(Real, 0, 1, closed="right")],
        "max_samples": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
            None,
        ],
        "pretrain_epochs": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "epochs": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "batch_size": [Interval(Integral, 2, None, closed="left"), StrOptions({"auto"})],
        "learning_rate": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "selection": [StrOptions({"auto", "agreed", "balanced", "consensus", "own"})],
        "reconstruction": [StrOptions({"unagreed", "all", "none"})],
        "concatenate": ["boolean"],
        "warm_start": ["boolean"],
        "device": [str, torch.device],
        "precision": [StrOptions({"auto", "float32", "bfloat16"})],
        "n_jobs": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Integral, None, -1, closed="right"),
            None,
        ],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "checkpoint": [str, PathLike, None],
    }

    _kept: dict[str, Array] | None = None  # of what older versions have pickled
    # Splitters have a method of this name, whose arguments scikit-learn would route.
    __metadata_request__split = dict.fromkeys(("a", "n"), UNUSED)

    def __init__(
        self,
        n_clusters: int | Literal["auto"] = 8,
        *,
        clusterer: str | Clusterer = "auto",
        reducer: str | Reducer | None = "umap",
        max_landmarks: int | None = 50_000,
        network: str | object = "auto",
        image_shape: Sequence[int] | None = None,
        scaling: Literal["auto", "standard", "global"] | None = "auto",
        augmentation: str | Callable[..., torch.Tensor] | None = None,
        n_estimators: int = 5,
        min_agreement: float = 1.0,
        max_samples: int | float | None = None,
        pretrain_epochs: int | Literal["auto"] = "auto",
        epochs: int | Literal["auto"] = "auto",
        batch_size: int | Literal["auto"] = "auto",
        learning_rate: float | Literal["auto"] = "auto",
        max_iter: int = 5,
        n_iter_no_change: int = 2,
        tol: float = 0.005,
        selection: Literal["auto", "agreed", "balanced", "consensus", "own"] = "auto",
        reconstruction: Literal["unagreed", "all", "none"] = "all",
        concatenate: bool = True,
        warm_start: bool = False,
        device: str | torch.device = "auto",
        precision: Literal["auto", "float32", "bfloat16"] = "auto",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        checkpoint: str | PathLike[str] | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.clusterer = clusterer
        self.reducer = reducer
        self.max_landmarks = max_landmarks
        self.network = network
        self.image_shape = image_shape
        self.scaling = scaling
        self.augmentation = augmentation
        self.n_estimators = n_estimators
        self.min_agreement = min_agreement
        self.max_samples = max_samples
        self.pretrain_epochs = pretrain_epochs
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.selection = selection
        self.reconstruction = reconstruction
        self.concatenate = concatenate
        self.warm_start = warm_start
        self.device = device
        self.precision = precision
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.checkpoint = checkpoint

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags

    @_fit_context(prefer_skip_nested_validation=False)
    @ordinary_torch_modes()
    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        *,
        known_labels: ArrayLike | None = None,
        monitor: Callable[..., object] | None = None,
    ) -> "SPCClustering":
        """Cluster X.

        Parameters
        ----------
        X : array-like of shape (N, n_features), (N, H, W) or (N, C, H, W)
            Rows of features, or images.
        y : ignored
        known_labels : array-like of shape (N,), int, optional
            Labels 0..n_clusters-1 that are known of some rows, -1 for the others. Known rows are agreed on and keep
            their label; clusters take the names of theirs, and one of several such names is divided by its nearest
            known rows. There may be clusters of which no row is known. Of equal rows that are known as different
            things, each keeps its label, and training goes by what most are known as.
        monitor : callable, optional
            Called after each clustering with ``history_`` so far, or with the history and the labels of that round,
            ndarray (N,), -1 for a row without a vote, if it asks for two arguments or has one named ``labels``. If it
            returns True, the fit stops, and the result is that of the rounds so far.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If X is not finite or holds what is no number, has fewer rows than clusters or fewer than two, or if a
            parameter does not fit X or this machine; if ``known_labels`` are not one for each row, masked, no whole
            numbers, or not below n_clusters (with "auto", the number of distinct rows); if there are more rows than
            ``max_landmarks``, and that is not above n_clusters; before any training.
        TypeError
            If X is sparse, or has times beside numbers; if a clusterer, reducer or network lacks a method, or
            ``monitor`` cannot be called.
        FloatingPointError
            If the training of all members diverged before the first clustering.
        OSError
            If ``checkpoint`` cannot be written to; before any training.
        MemoryError
            If not even one member can be trained in the memory of the device.
        KeyboardInterrupt
            Of Ctrl-C. If there has been a clustering, the model is fitted to the rounds so far, and a warning says so.

        Notes
        -----
        Whatever else is raised, the estimator is as it was before: fitted to what it was fitted to, or not fitted.
        """
        if monitor is not None and not callable(monitor):
            raise TypeError(f"monitor={monitor!r} must be callable: it is called with the history so far.")
        trial = copy.copy(self)  # whatever is raised, this one is as it was
        X, image_shape = trial._check_fit_data(X)
        device = resolve_device(self.device)
        network = choose_network(self.network, image_shape)
        augmentation = get_augmentation(self.augmentation, image_shape)
        first, inverse = distinct_rows(X)
        rules = self._labelling_rules(self.n_clusters, len(first))
        check_parts(rules[0].clusterer, rules[0].reducer, self.n_clusters, device)
        n_clusters = self._attainable_n_clusters(len(first))
        known = check_known_labels(known_labels, len(X), n_clusters, len(first))
        seed = draw_seed(self.random_state)
        checkpoints = self._open_checkpoints(X, image_shape, device, known)
        stored = checkpoints.stored_seed()
        seed = seed if stored is None else stored

        distinct = rows_at(X, first)
        trial._image_shape, trial._scaling = image_shape, self._fit_scaling(distinct, image_shape)
        prior = self._prior(known, distinct, inverse)
        pretrain_steps = min_pretrain_steps(distinct, image_shape)
        settings = self._round_settings(len(first), rules, device, image_shape, pretrain_steps)
        rows = trial._scaling.training_rows(distinct)
        ensemble = self._new_ensemble(network, rows, seed, device, settings.pretraining.batch_size, augmentation)
        reporter = Reporter(self.verbose, self.max_iter, monitor, rows=inverse)
        with reporter:
            with scattered(rows), reproducible(device):
                result = run_rounds(rows, ensemble, n_clusters, settings, reporter, checkpoints, prior)
            trial._ensemble = ensemble.to(torch.device("cpu"))
            del ensemble
            trial._store(result, inverse, known)
            reporter.stage("predicting the rows")
            _, interrupted = done_though_interrupted(lambda: trial._ask_of_rows(distinct, first, inverse))
        release_memory(device)
        trial._warn_of_what_was_found()
        self._become(trial)
        self._conclude("interrupt" if interrupted else result.ended_by, checkpoints)
        return self

    def _goes_on(self) -> bool:
        """Whether a fit starts from the weights of the one before, which were trained."""
        return self.warm_start and hasattr(self, "_ensemble") and bool(self.history_[self.best_iter_]["losses"])

    def _prior(self, known: Array | None, distinct: Array, inverse: Array) -> Prior:
        """What the fit knows of its distinct rows: their known labels, and what the fit before made of them."""
        prior = NOTHING if known is None else Prior(known_of_distinct(known, inverse, len(distinct)))
        check_landmarks(self.max_landmarks, prior.n_known, len(distinct))
        if not self._goes_on():
            return prior
        probabilities = self._probabilities(distinct)
        first = np.unique(inverse, return_index=True)[1]
        are_the_same = self._are_of_the_fit(probabilities[inverse])
        earlier = self.labels_[first] if are_the_same else probabilities.argmax(axis=1)
        return replace(prior, earlier=earlier, losses=self.history_[self.best_iter_]["losses"])

    def _pass_weights(self, ensemble: Ensemble) -> None:
        """Give a new ensemble the encoders and decoders of the one before; ValueError if they are others."""
        old, new = self._ensemble.state()["autoencoder"], ensemble.state()["autoencoder"]
        if {name: value.shape for name, value in old.items()} != {name: value.shape for name, value in new.items()}:
            raise ValueError(
                f"warm_start=True cannot go on with network={self.network!r} and n_estimators={self.n_estimators}: the "
                "fit before had others. Leave them as they were, or set_params(warm_start=False)."
            )
        ensemble.load_state({"autoencoder": old})

    def _fit_scaling(self, rows: Array, image_shape: Shape) -> Scaling:
        """The scaling of these rows, or that of the fit that this one goes on from."""
        if self._goes_on():
            n_features = rows.shape[1]
            if (n_features, image_shape) != (self.n_features_in_, self._image_shape):
                raise ValueError(
                    f"warm_start=True goes on from a fit to {self.n_features_in_} features and images of shape "
                    f"{self._image_shape}, and X has {n_features} and {image_shape}. Pass such rows, or "
                    "set_params(warm_start=False)."
                )
            found: Scaling = self._scaling
        elif image_shape is None:
            found = fit_vector_scaling(rows, (rows.shape[1],), self.scaling)
        else:
            found = fit_image_scaling(rows, image_shape)
        return found

    def _become(self, trial: "SPCClustering") -> None:
        """Take over what was fitted, in one step: no interruption leaves half of it. Nothing else is touched."""
        fitted = {name: value for name, value in vars(trial).items() if is_fitted_name(name)}
        self.__dict__ = {name: value for name, value in vars(self).items() if not is_fitted_name(name)} | fitted

    def _open_checkpoints(self, X: Array, image_shape: Shape, device: torch.device, known: Array | None) -> Checkpoints:
        if self.checkpoint is None:
            return Checkpoints(None)
        changing_nothing = ("checkpoint", "n_jobs", "verbose", "device")
        parameters = {
            name: value for name, value in self.get_params(deep=False).items() if name not in changing_nothing
        }
        circumstances: dict[str, Any] = {
            "skspc": __version__,
            "image_shape": image_shape,
            "device": device.type,
            "precision": str(resolve_precision(self.precision, device)),
        }
        if known is not None:
            circumstances["known_labels"] = known
        if self._goes_on():
            weights = self._ensemble.state()["autoencoder"]
            circumstances["earlier"] = {name: to_numpy(value) for name, value in weights.items()}
            circumstances["earlier_labels"] = self.labels_
        return Checkpoints(self.checkpoint, checkpoint_key(X, parameters, circumstances))

    def _ask_of_rows(self, distinct: Array, first: Array, inverse: Array) -> None:
        """What is kept of the rows, by the trained members; tens of seconds where rows are tens of thousands."""
        self._store_predictions(distinct, inverse)
        self._keep_rows(distinct, first)

    def _store_predictions(self, distinct: Array, inverse: Array) -> None:
        probabilities = self._probabilities(distinct)
        self.predict_consistency_ = float(np.mean(probabilities.argmax(axis=1)[inverse] == self.labels_))
        self.label_probability_ = probabilities[inverse, self.labels_]

    def _keep_rows(self, distinct: Array, first: Array) -> None:
        chosen = draw_kept(len(first), self._ensemble.seed)
        for ensemble, rows in self._scaled_chunks(distinct[chosen]):  # all are one chunk
            with self._inference():
                self._kept = keep_rows(ensemble, rows, first[chosen])

    def _warn_of_what_was_found(self) -> None:
        """Warn of clusters to which known labels leave no rows, and where hardly any row is agreed on."""
        empty = np.setdiff1d(np.arange(self.n_clusters_), self.labels_)
        if len(empty):
            warnings.warn(
                f"Clusters {empty.tolist()} of {self.n_clusters_} have no rows: known_labels leave none to them. Lower "
                "n_clusters, or leave out what is known of some rows.",
                ConvergenceWarning,
                stacklevel=5,
            )
        best = self.history_[self.best_iter_]
        share = best["agreed_share"]
        if share < LOW_AGREEMENT:
            warnings.warn(
                f"Only {share:.1%} of the rows are agreed on in any round: to the members these clusters are hardly "
                f"more than chance. Compare labels_ with those of k-means, and try another n_clusters (now "
                f"{self.n_clusters_}), clusterer={self.clusterer!r} (it was {best['clusterer']}) or "
                f"scaling={self.scaling!r}. agreement_ tells it of each row.",
                UserWarning,
                stacklevel=5,
            )

    def _are_of_the_fit(self, probabilities: Array) -> bool:
        """Whether rows with these probabilities (N, C) are those of the fit in their order, as far as these tell."""
        if len(probabilities) != len(self.labels_):
            return False
        found = probabilities[np.arange(len(probabilities)), self.labels_]
        return bool(np.allclose(found, self.label_probability_, rtol=0, atol=SAME_PROBABILITY))

    def _conclude(self, ended_by: str, checkpoints: Checkpoints) -> None:
        """Remove the checkpoints of a fit that came to its own end; pass Ctrl-C on."""
        if ended_by == "itself":
            checkpoints.remove()
        if ended_by != "interrupt":
            return
        try:
            warnings.warn(
                f"The fit was interrupted after {self.n_iter_} clusterings. The model is fitted to their vote.",
                ConvergenceWarning,
                stacklevel=5,
            )
        finally:
            raise KeyboardInterrupt

    def _check_fit_data(self, X: ArrayLike) -> tuple[Array, Shape]:
        """Validate X as rows of numbers, and settle the image shape."""
        X, implied = flatten_images(X)
        X = self._check_rows(X)
        check_n_samples(len(X), self.n_clusters)
        return X, check_image_shape(self.image_shape, implied, X.shape[1])

    def _check_predict_data(self, X: ArrayLike) -> Array:
        check_is_fitted(self)
        X, implied = flatten_images(X)
        if self._image_shape is not None and is_one_image(X, implied, self._image_shape):
            raise ValueError(f"X is one image of shape {self._image_shape}; X[None] makes it a batch of one.")
        if implied is not None and self._image_shape not in (None, implied):
            raise ValueError(
                f"X has images of shape {implied} as (channels, height, width), but SPCClustering was fitted on "
                f"images of shape {self._image_shape}. Pass such images, or rows flattened from them; if channels come "
                "last, X.transpose(0, 3, 1, 2)."
            )
        rows: Array = self._scaling.checked(self._check_rows(X, reset=False))
        return rows

    def _check_rows(self, X: ArrayLike, reset: bool = True) -> Array:
        check_no_times_beside_numbers(X)
        with np.errstate(over="ignore", invalid="ignore"):  # scikit-learn sums up all of X, to see whether it is finite
            try:
                X = validate_data(self, X, dtype="numeric", reset=reset)
            except ValueError as error:
                if is_of_text(error):
                    raise no_number(error) from error
                raise
        return as_numbers(X)

    def _attainable_n_clusters(self, n_distinct: int) -> int | str:
        """n_clusters, or the number of distinct rows where these are fewer."""
        if self.n_clusters == "auto":
            return 1 if n_distinct == 1 else AUTO
        if n_distinct < self.n_clusters:
            warnings.warn(
                f"X has {n_distinct} distinct rows, fewer than n_clusters={self.n_clusters}; "
                f"{n_distinct} clusters are found, one for each.",
                ConvergenceWarning,
                stacklevel=5,
            )
        n_clusters = int(min(self.n_clusters, n_distinct))
        check_landmarks(self.max_landmarks, n_clusters, n_distinct)
        return n_clusters

    def _labelling_rules(self, n_clusters: int | str, n_rows: int) -> tuple[LabellingRule, ...]:
        """The rules between which a fit to so many rows chooses."""
        n_rows = n_labelled(n_rows, self.max_landmarks)
        rules: tuple[LabellingRule, ...] = labelling_rules(self.clusterer, self.reducer, n_clusters, n_rows)
        return rules

    def _new_ensemble(
        self, network: Any, rows: Array, seed: int, device: torch.device, batch_size: int, augmentation: Any
    ) -> Ensemble:
        ensemble = Ensemble(
            network,
            rows.shape[1:],
            seed,
            self.n_estimators,
            device,
            batch_size=batch_size,
            n_row_bytes=rows.nbytes,
            augmentation=augmentation,
            precision=resolve_precision(self.precision, device),
            n_jobs=jobs_at_once(self.n_jobs),
        )
        if self._goes_on():
            self._pass_weights(ensemble)
        return ensemble

    def _round_settings(
        self,
        n_rows: int,
        rules: tuple[LabellingRule, ...],
        device: torch.device,
        image_shape: Shape,
        pretrain_steps: int = MIN_PRETRAIN_STEPS,
    ) -> RoundSettings:
        """Parameters, with every "auto" made a figure for ``n_rows`` rows; pretraining has so many steps at least."""
        batch_size = self.batch_size
        if batch_size == "auto":
            batch_size = auto_batch_size(n_rows, image_shape)

        def plan(epochs: int | str, auto_epochs: int, auto_min_steps: int) -> TrainingPlan:
            rate = LEARNING_RATE if self.learning_rate == "auto" else self.learning_rate
            min_steps = auto_min_steps if epochs == "auto" else 0
            epochs = auto_epochs if epochs == "auto" else epochs
            return plan_training(n_rows, epochs, min_steps, batch_size, rate)

        return RoundSettings(
            clusterer=rules[0].clusterer,
            reducer=rules[0].reducer,
            beside=rules[0].beside,
            other_rules=rules[1:],
            selection=self.selection,
            min_agreement=self.min_agreement,
            reconstruction=self.reconstruction,
            concatenate=self.concatenate,
            max_iter=self.max_iter,
            n_iter_no_change=self.n_iter_no_change,
            tol=self.tol,
            max_samples=self.max_samples,
            max_landmarks=self.max_landmarks,
            n_jobs=self.n_jobs,
            device=device,
            pretraining=plan(self.pretrain_epochs, PRETRAIN_EPOCHS, pretrain_steps),
            training=plan(self.epochs, ROUND_EPOCHS, MIN_ROUND_STEPS),
            heads=plan("auto", HEAD_EPOCHS, MIN_HEAD_STEPS),
        )

    def _store(self, result: RoundsResult, inverse: Array, known: Array | None = None) -> None:
        """Set fitted attributes, from distinct rows to all rows; of equal rows each keeps its known label."""
        self.labels_ = result.labels[inverse]
        if known is not None:
            self.labels_ = np.where(known == NOISE, self.labels_, known)
        self.agreement_ = result.agreement[inverse]
        self.agreed_ = result.agreed[inverse]
        self.member_labels_ = result.member_labels[:, inverse]
        if known is not None:
            self.member_labels_ = np.where(known == NOISE, self.member_labels_, known)
        self.history_ = result.history
        self.n_iter_ = len(result.history)
        self.best_iter_ = result.best_iter
        self.n_clusters_ = result.n_clusters

    @of_new_rows
    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Label rows by the mean of the members' softmax.

        {rows}

        Returns
        -------
        labels : ndarray of shape (N,), int
            A subset of 0..n_clusters_-1. For training rows they can differ from ``labels_``, which come from the vote;
            see ``predict_consistency_``.

        {raised}
        """
        labels: NDArray[np.int64] = self._probabilities(self._check_predict_data(X)).argmax(axis=1)
        return labels

    @of_new_rows
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Mean of the members' softmax.

        {rows}

        Returns
        -------
        probabilities : ndarray of shape ``(N, n_clusters_)``, float64

        {raised}
        """
        return self._probabilities(self._check_predict_data(X))

    @of_new_rows
    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Encode rows by all members.

        {rows}

        Returns
        -------
        latents : ndarray of shape (N, K*m), float64
            Member after member.

        {raised}
        """
        X = self._check_predict_data(X)
        return np.concatenate([np.concatenate(list(latents), axis=1) for latents, _ in self._infer(X)])

    def cluster_representatives(self, n: int = 5) -> Bunch:
        """Find the training rows of each cluster that are most and least sure.

        Rows are ordered by ``agreement_``, and where it is the same by ``label_probability_``.

        Parameters
        ----------
        n : int, default=5
            Rows of each kind at most.

        Returns
        -------
        representatives : Bunch
            ``sure`` and ``doubtful`` are lists with an array of row indices for each cluster, the surest and the most
            doubtful row first; ``clusters`` has the labels of these clusters: 0..n_clusters_-1, without those that
            have no rows. A cluster of fewer than 2 n rows is halved, so that no row is both. Doubtful rows are the
            least sure ones of their cluster, and can be agreed on all the same.

        Raises
        ------
        ValueError
            If n is not a whole number of at least 1.

        Examples
        --------
        >>> from sklearn.datasets import make_blobs
        >>> from skspc import SPCClustering
        >>> X, _ = make_blobs(n_samples=60, centers=2, random_state=0)
        >>> model = SPCClustering(n_clusters=2, n_estimators=1, max_iter=0, random_state=0).fit(X)
        >>> rows = model.cluster_representatives(n=3)
        >>> [len(of_cluster) for of_cluster in rows.sure], len(rows.doubtful[1])
        ([3, 3], 3)
        """
        check_is_fitted(self)
        return rank_representatives(self.labels_, [self.agreement_, self.label_probability_], n)

    def doubtful_rows(self, n: int = 20) -> NDArray[np.int64]:
        """Find the training rows whose right label would settle most: doubted, with many alike, one of each kind.

        Rows are alike if the same two clusters contest them (the label, and the other one with most votes), and the
        more so the nearer they are in the members' latents. Each row that is chosen is the one that, with those before
        it, has most doubt (1 - ``agreement_``) in rows alike. `cluster_representatives` has the most doubtful rows of
        each cluster instead, whatever else is like them.

        Parameters
        ----------
        n : int, default=20
            Rows at most.

        Returns
        -------
        rows : ndarray of shape (n,), int
            Indices of distinct rows without full agreement, the one that settles most first; fewer where there are
            fewer. Of more than 2000 distinct training rows, 2000 drawn at random are looked at.

        Raises
        ------
        ValueError
            If n is not a whole number of at least 1.
        NotFittedError
            Before `fit`.

        Examples
        --------
        >>> from sklearn.datasets import make_blobs
        >>> from skspc import SPCClustering
        >>> X, _ = make_blobs(n_samples=150, centers=3, cluster_std=3.0, random_state=0)
        >>> model = SPCClustering(n_clusters=3, n_estimators=3, max_iter=0, random_state=0).fit(X)
        >>> rows = model.doubtful_rows(n=5)
        >>> len(rows), bool((model.agreement_[rows] < 1).all())
        (5, True)
        """
        kept = self._known_rows()
        rows: NDArray[np.int64] = doubtful_rows(self.labels_, self.agreement_, self.member_labels_, kept, n)
        return rows

    @of_new_rows
    def outlier_score(self, X: ArrayLike) -> NDArray[np.float64]:
        """Tell how little each row is like anything in the fit.

        Two figures are compared with those of the training rows (of 2000 at most): the distance of a row in the latents
        to the fifth nearest of these rows, and the error with which the autoencoders reconstruct it, each the mean over
        the members. The error counts only above that of 98 in 100 of them: what is simple is reconstructed well, known
        or not. Doubt between clusters is another thing: ``agreement_`` and `predict_proba` have it.

        {rows}

        Returns
        -------
        scores : ndarray of shape (N,), float64
            In [0, 1]: the share of the training rows that are less odd. New rows of a known kind are a little odder
            than those that the autoencoders were trained on: more than a twentieth of them are above .95.

        {raised}

        Examples
        --------
        >>> from sklearn.datasets import make_blobs
        >>> from skspc import SPCClustering
        >>> X, _ = make_blobs(n_samples=120, centers=3, cluster_std=0.3, random_state=0)
        >>> model = SPCClustering(n_clusters=3, n_estimators=2, max_iter=0, random_state=0).fit(X)
        >>> scores = model.outlier_score([X[0], [50.0, -50.0]])
        >>> bool(scores[0] < scores[1]), bool(scores[1] > 0.99)
        (True, True)
        """
        rows = self._check_predict_data(X)
        scores: NDArray[np.float64] = outlier_scores(self._strangeness(rows), self._known_rows()["figures"])
        return scores

    def _strangeness(self, X: Array) -> Array:
        """Reconstruction error of checked rows, and distance to the rows that are kept: (2, N)."""
        figures, kept = [], self._known_rows()["latents"]
        for ensemble, rows in self._scaled_chunks(X):
            with self._inference():
                figures.append(strangeness(ensemble, rows, ensemble.encode(rows), kept))
        return np.concatenate(figures, axis=1)

    @of_training_rows
    def merge(self, a: int, b: int, X: ArrayLike) -> "SPCClustering":
        """Make two clusters one, in a copy of the model.

        {how} The merged cluster has the smaller of the two labels; those above the larger one move down by one. Other
        rows stay where they are.

        Parameters
        ----------
        a, b : int
            Labels of the two.
        {rows}

        Returns
        -------
        {model}

        Raises
        ------
        ValueError
            If a or b is no cluster, both are the same, or {wrong_rows}
        {raised}

        Examples
        --------
        >>> from sklearn.datasets import make_blobs
        >>> from skspc import SPCClustering
        >>> X, _ = make_blobs(n_samples=120, centers=3, cluster_std=0.3, random_state=0)
        >>> model = SPCClustering(n_clusters=3, n_estimators=2, max_iter=0, random_state=0).fit(X)
        >>> merged = model.merge(0, 2, X)
        >>> merged.n_clusters_, model.n_clusters_
        (2, 3)
        >>> bool(((merged.labels_ == 0) == (model.labels_ != 1)).all())
        True
        """
        check_is_fitted(self)
        check_merge(a, b, self.n_clusters_)
        return self._edited(
            X,
            self.n_clusters_ - 1,
            lambda vote, latents, settings: merge_clusters(vote, a, b),
            lambda labels: merged_names(labels, a, b),
        )

    @of_training_rows
    def split(self, a: int, n: int, X: ArrayLike) -> "SPCClustering":
        """Split a cluster into n, in a copy of the model.

        {how} The cluster's rows are labelled anew in the latents of each member, as the fit did it (by ``clusterer``
        and ``reducer``), and put to the vote. The largest part keeps the label a, the others are ``n_clusters_`` and
        so on. A labelling that saw a row in another cluster still does; one that finds no n parts has no vote on this
        cluster's rows.

        Parameters
        ----------
        a : int
            Label of the cluster.
        n : int
            Number of parts.
        {rows}

        Returns
        -------
        {model}

        Raises
        ------
        ValueError
            If a is no cluster, n is no whole number from 2 up, the cluster has fewer distinct rows than n or falls into
            n parts in no latent space, the fit was to one cluster, whose encoders are untrained, or by an earlier
            version, or {wrong_rows}
        {raised}

        Examples
        --------
        >>> from sklearn.datasets import make_blobs
        >>> from skspc import SPCClustering
        >>> X, blob = make_blobs(n_samples=120, centers=[[0, 0], [0, 4], [9, 9]], cluster_std=0.3, random_state=0)
        >>> options = {"clusterer": "kmeans", "reducer": None, "n_estimators": 2, "max_iter": 0, "random_state": 0}
        >>> model = SPCClustering(n_clusters=2, **options).fit(X)
        >>> parts = model.split(model.labels_[blob == 0][0], 2, X)
        >>> parts.n_clusters_, len(set(zip(parts.labels_.tolist(), blob.tolist())))
        (3, 3)
        """
        check_is_fitted(self)
        check_split(a, n, self.n_clusters_, self.history_)
        row, spaces = self.history_[self.best_iter_], spaces_of(self.history_, len(self.member_labels_))
        seed = derive_seed(self._ensemble.seed, SPLITS)
        rule = rule_of(self._labelling_rules(n, int(np.sum(self.labels_ == a))), row)
        return self._edited(
            X,
            self.n_clusters_ + n - 1,
            lambda vote, latents, settings: split_cluster(
                vote, latents, a, n, self.n_clusters_, spaces, settings, seed
            ),
            lambda labels: labels,
            rule,
        )

    def _edited(
        self,
        X: ArrayLike,
        n_clusters: int,
        edit: Callable[..., Consensus],
        rename: Callable[[Array], Array],
        rule: LabellingRule | None = None,
    ) -> "SPCClustering":
        """A copy with n_clusters by the vote that ``edit`` makes of the vote, the latents (K, N, m) and settings.

        Of equal rows those that were known as another thing than the first stay so, under the name that it has then.
        """
        distinct, first, inverse = self._check_training_rows(X)
        device = resolve_device(self.device)
        rules = (rule or LabellingRule(None, None),)
        settings = self._round_settings(len(first), rules, device, self._image_shape)
        vote = recounted(self.labels_[first], self.member_labels_[:, first])
        model = copy.deepcopy(self)
        with ordinary_torch_modes(), reproducible(device):
            ensemble = self._ensemble.to(device)
            latents = ensemble.encode(self._scaling.training_rows(distinct))
            edited = edit(vote, latents, settings)
            labels = retrain_heads(ensemble, latents, vote.labels, edited.labels, n_clusters, settings.heads)
            model._ensemble = ensemble.to(torch.device("cpu"))
        del ensemble
        agreed = select_agreed(edited.votes, len(edited.aligned), self.min_agreement)
        votes = labels, edited.agreement, agreed, edited.aligned
        own = np.where(self.labels_ == self.labels_[first][inverse], NOISE, rename(self.labels_))
        model._store(RoundsResult(*votes, model.history_, self.best_iter_, n_clusters), inverse, own)
        model._store_predictions(distinct, inverse)
        release_memory(device)
        return model

    def _check_training_rows(self, X: ArrayLike) -> tuple[Array, Array, Array]:
        """The distinct rows of X, which must be the training rows in their order, and what `distinct_rows` tells."""
        rows = self._check_predict_data(X)
        if len(rows) == len(self.labels_) and self._are_of_the_fit(self._probabilities(rows)):
            first, inverse = distinct_rows(rows)
            return rows_at(rows, first), first, inverse
        raise ValueError(
            f"X has {len(rows)} rows, which are not the {len(self.labels_)} rows of the fit in their order. Pass what "
            "was passed to fit."
        )

    @of_new_rows
    def score(self, X: ArrayLike, y: object = None) -> float:
        """Mean share of the members' classifiers that agree with `predict`.

        It needs no truth, and tells how sure the ensemble is of these rows. It is not for choosing ``n_clusters``:
        fewer clusters are easier to agree on, and one cluster scores 1.

        {rows}
        y : ignored

        Returns
        -------
        score : float
            Between 0 and 1.

        {raised}
        """
        agreeing, rows = 0, self._check_predict_data(X)
        for _, probabilities in self._infer(rows):
            labels = probabilities.mean(axis=0).argmax(axis=1)
            agreeing += int(np.sum(probabilities.argmax(axis=2) == labels))
        return float(agreeing / (len(rows) * self._ensemble.n_members))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to one file, from which `load` brings it back.

        The file holds numbers and names, and nothing in it is run by `load`. It is written whole or not at all: on an
        error a file that stood there before is as it was.

        Parameters
        ----------
        path : str or path-like

        Raises
        ------
        TypeError
            If a parameter is an object of another library, a function or a RandomState, or the network is of one's own:
            only code could build these again. The message tells what to do.
        sklearn.exceptions.NotFittedError
            Before `fit`.
        OSError
            If the file cannot be written; it names ``path``.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from sklearn.datasets import make_blobs
        >>> from skspc import SPCClustering
        >>> X, _ = make_blobs(n_samples=60, centers=3, cluster_std=0.3, random_state=0)
        >>> model = SPCClustering(n_clusters=3, n_estimators=2, max_iter=0, random_state=0).fit(X)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "model.skspc"
        ...     model.save(path)
        ...     again = SPCClustering.load(path)
        >>> bool((again.predict(X) == model.predict(X)).all())
        True
        """
        save_model(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "SPCClustering":
        """Read a model that `save` wrote. Nothing in the file is run.

        Parameters
        ----------
        path : str or path-like

        Returns
        -------
        model : SPCClustering
            Fitted, on the CPU: it predicts as it did, and can be fitted again.

        Raises
        ------
        ValueError
            If the file is not a whole, unaltered model of a format that this version reads; the message names the file
            and what is wrong, or which version to install.
        OSError
            If the file cannot be opened.
        """
        model: SPCClustering = load_model(cls, path)
        return model

    def _probabilities(self, X: Array) -> NDArray[np.float64]:
        return np.concatenate([probabilities.mean(axis=0) for _, probabilities in self._infer(X)])

    def _infer(self, X: Array) -> Iterator[tuple[Array, Array]]:
        """Yield latents (K, n, m) and each head's softmax (K, n, C) of checked rows, a few thousand at once.

        A row's result does not depend on the rows beside it beyond the last digits of float64.
        """
        for ensemble, rows in self._scaled_chunks(X):
            with self._inference():
                latents = ensemble.encode(rows)
                probabilities = ensemble.classify(latents)
            yield latents, probabilities

    def _scaled_chunks(self, X: Array) -> Iterator[tuple[Ensemble, Array]]:
        """Yield the ensemble as it infers, and a few thousand checked rows as it takes them."""
        with ordinary_torch_modes():
            ensemble = self._ensemble.for_inference(inference_device(self.device))
        n_rows = min(ROWS_AT_ONCE, max(1, VALUES_AT_ONCE // X.shape[1])) if lies_in_file(X) else ROWS_AT_ONCE
        for start in range(0, len(X), n_rows):
            yield ensemble, self._scaling.apply(X[start : start + n_rows], np.float64)

    @contextmanager
    def _inference(self) -> Iterator[None]:
        """What inference runs under: torch's ordinary modes, and sums in one order."""
        with ordinary_torch_modes(), reproducible(inference_device(self.device)):
            yield

    def _known_rows(self) -> dict[str, Array]:
        check_is_fitted(self)
        if self._kept is None:
            raise ValueError(
                "This model was saved by a version of skspc that kept none of the training rows' latents, with which "
                "outlier_score and doubtful_rows compare. Fit it again: an int as random_state gives the same labels."
            )
        return self._kept

    @property
    def _n_features_out(self) -> int:
        return int(self._ensemble.n_members * self._ensemble.latent_size)
