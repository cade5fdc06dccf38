"""Pictures of a fit: Display objects in scikit-learn's manner.

Each is made by its constructor from computed values, by ``from_estimator`` from a fitted `SPCClustering`, or by
``from_predictions`` from arrays of any origin. ``plot`` draws it, on axes given or new, and sets ``ax_`` and
``figure_``. matplotlib is imported when something is drawn: ``pip install "skspc[plot]"``.
"""

import math
import warnings

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_array, check_consistent_length, check_is_fitted

from ._constants import NOISE
from ._history import best_round
from ._matching import check_labels, match_clusters, right_rows
from ._palette import distinct_colours
from ._placement import HEADING, TILE, GalleryGrid, PlacedLabels
from ._representatives import rank_representatives
from ._spc import SPCClustering
from .clusterers import UMAPReducer

__all__ = [
    "AgreementDisplay",
    "ClusterGalleryDisplay",
    "ConfusionDisplay",
    "EmbeddingDisplay",
    "TrainingDynamicsDisplay",
]

DARK, GREY, ORANGE, BLUE = "#1A1A1A", "#BFBFBF", "#D55E00", "#0072B2"
PICTURE_MIN_DIST = 0.3  # a picture wants looser clusters than a clusterer does
N_CHECKED_ROWS, CHECK_SLACK = 500, 0.1  # enough rows to tell a shuffled X from the rows of the fit
MAX_LEVELS, N_BINS = 17, 10  # of agreement: the paper's 16 labellings are shown vote by vote
LEGEND_ROW_POINTS, MAX_LEGEND_SHARE = 14, 0.5  # of a row in height; of the figure's width
MAX_CELL_INCHES, MIN_MATRIX_INCHES, MAX_MATRIX_INCHES = 0.45, 1.8, 12.0  # of a confusion matrix
VALUE_FONT_SIZES = 6, 10  # points; a matrix whose cells are too small for the least has no figures in it


class EmbeddingDisplay:
    """Clusters and doubt in two dimensions.

    Colour is the cluster, whose number stands at its middle; numbers never overlap. Rows without enough agreement are
    hollow. Where the axes are too small for the numbers, a legend beside them tells the colours.

    Parameters
    ----------
    embedding : ndarray of shape (N, 2)
    labels : ndarray of shape (N,), int
        -1 is noise, in grey.
    agreement : ndarray of shape (N,), default=None
        Share of the labellings that gave a row its label; None shows no doubt.
    min_agreement : float, default=1.0
        Rows with less are doubtful.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    label_texts_ : list of matplotlib Annotation
        The numbers; empty where a legend stands for them.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from skspc.plotting import EmbeddingDisplay
    >>> X, labels = make_blobs(n_samples=60, centers=3, random_state=0)
    >>> display = EmbeddingDisplay.from_predictions(X, labels)
    >>> [text.get_text() for text in display.label_texts_]
    ['0', '1', '2']
    """

    def __init__(self, embedding, labels, *, agreement=None, min_agreement=1.0):
        self.embedding = embedding
        self.labels = labels
        self.agreement = agreement
        self.min_agreement = min_agreement

    @classmethod
    def from_estimator(cls, estimator, X, *, embedding=None, random_state=0, ax=None, **kwargs):
        """Draw a fitted model's clusters.

        Parameters
        ----------
        estimator : SPCClustering, or Pipeline that ends in one
        X : array-like
            The rows that it was fitted on, in their order. For others, pass ``transform(X)`` and ``predict(X)`` to
            `from_predictions`.
        embedding : array-like of shape (N, 2), default=None
            None is the latents ``transform(X)`` reduced by `skspc.clusterers.UMAPReducer`.
        random_state : None, int or RandomState, default=0
            Of the reducer.
        ax : matplotlib Axes, default=None
            None makes a new figure.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : EmbeddingDisplay

        Raises
        ------
        ImportError
            Without matplotlib.
        TypeError
            If the estimator is no SPCClustering.
        ValueError
            If X cannot be the rows of the fit, or the embedding is not of shape (N, 2).
        """
        _import_pyplot(f"{cls.__name__}.from_estimator")
        model, X = _model_and_rows(estimator, X, cls.__name__)
        if embedding is None:
            embedding = _reduce(model.transform(X), random_state)
        display = cls(embedding, model.labels_, agreement=model.agreement_, min_agreement=model.min_agreement)
        return display.plot(ax=ax, **kwargs)

    @classmethod
    def from_predictions(cls, X, labels, *, agreement=None, min_agreement=1.0, random_state=0, ax=None, **kwargs):
        """Draw any labels of any rows.

        Parameters
        ----------
        X : array-like of shape (N, m)
            Two columns are drawn as they are; more are reduced by `skspc.clusterers.UMAPReducer`.
        labels : array-like of shape (N,), int
        agreement : array-like of shape (N,), default=None
        min_agreement : float, default=1.0
        random_state : None, int or RandomState, default=0
            Of the reducer.
        ax : matplotlib Axes, default=None
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : EmbeddingDisplay

        Raises
        ------
        ImportError
            Without matplotlib.
        ValueError
            If the arrays differ in length, or labels are no whole numbers.
        """
        _import_pyplot(f"{cls.__name__}.from_predictions")
        X = np.asarray(X)
        check_consistent_length(X, labels, agreement)
        embedding = X if X.ndim == 2 and X.shape[1] == 2 else _reduce(X, random_state)
        return cls(embedding, labels, agreement=agreement, min_agreement=min_agreement).plot(ax=ax, **kwargs)

    def plot(self, ax=None, *, marker_size=None):
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes a new figure.
        marker_size : float, default=None
            Area of a dot in square points. None is smaller the more rows there are.

        Returns
        -------
        self

        Raises
        ------
        ImportError
            Without matplotlib.
        ValueError
            If the embedding has not two columns, or the arrays differ in length.
        """
        embedding, labels = check_array(self.embedding, dtype=float, input_name="embedding"), check_labels(self.labels)
        if embedding.shape[1] != 2:
            raise ValueError(
                f"embedding has shape {embedding.shape}; it must have two columns. Leave it None to have it made."
            )
        check_consistent_length(embedding, labels, self.agreement)
        self.ax_ = _new_axes("EmbeddingDisplay.plot", ax, (7.0, 7.2))
        self.figure_ = self.ax_.figure
        clusters, colours = _cluster_colours(labels)
        doubtful = self._doubtful(len(labels))
        size = marker_size if marker_size is not None else float(np.clip(12_000 / len(labels), 1.2, 24))
        self._scatter(embedding, colours, doubtful, size)
        self._set_limits(embedding)
        self._name_clusters(embedding, labels, clusters)
        return self

    def _doubtful(self, n_rows):
        if self.agreement is None:
            return np.zeros(n_rows, dtype=bool)
        return _is_doubtful(np.asarray(self.agreement), self.min_agreement)

    def _set_limits(self, embedding):
        """Make the axes a square, which keeps distances and leaves most room for labels."""
        low, high = embedding.min(axis=0), embedding.max(axis=0)
        half = 0.53 * float((high - low).max()) or 1.0
        (left, bottom), (right, top) = (low + high) / 2 - half, (low + high) / 2 + half
        self.ax_.set(xlim=(left, right), ylim=(bottom, top), xticks=[], yticks=[], aspect="equal")
        self.ax_.spines[:].set_color(GREY)

    def _scatter(self, embedding, colours, doubtful, size):
        """Draw agreed rows as dots in random order, so that no cluster hides another, and hollow ones over them."""
        agreed = np.random.default_rng(0).permutation(np.flatnonzero(~doubtful))
        style = {"rasterized": True, "marker": "o"}
        self.ax_.scatter(*embedding[agreed].T, c=colours[agreed], s=size, linewidths=0, **style)
        ring = {
            "edgecolors": 0.65 * colours[doubtful],
            "linewidths": 0.9 if size > 4 else 0.45,
            "s": max(1.5 * size, 3),
        }
        self.ax_.scatter(*embedding[doubtful].T, c="white", **ring, **style)
        if self.agreement is not None:
            n_doubtful = int(doubtful.sum())
            self.ax_.set_xlabel(f"{n_doubtful} of {len(doubtful)} rows are doubtful (hollow)", fontsize=11)

    def _name_clusters(self, embedding, labels, clusters):
        """Write the clusters' numbers on the plot, or beside it if they have no room."""
        from matplotlib.patheffects import withStroke

        anchors = [_middle(embedding[labels == cluster]) for cluster in clusters]
        placed = PlacedLabels(
            self.ax_,
            np.reshape(anchors, (-1, 2)),
            [str(cluster) for cluster in clusters],
            fontsize=11,
            fontweight="bold",
            color=DARK,
            path_effects=[withStroke(linewidth=3, foreground="white")],
            zorder=5,
        )
        if not placed.fit():
            placed.remove()
            _cluster_legend(self.ax_, clusters)
        self.label_texts_ = placed.annotations


class TrainingDynamicsDisplay:
    """Agreement and accuracy by round, as in the paper's Fig. 2.

    Parameters
    ----------
    history : list of dict
        ``history_`` of a fit.
    best_iter : int, default=None
        Index of the round that is marked; None is the first with most agreement, as in a fit.
    accuracies, agreed_accuracies : sequence of float, default=None
        Accuracy of all rows, and of the agreed ones, by round; NaN where it is not known.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from skspc.plotting import TrainingDynamicsDisplay
    >>> history = [{"agreed_share": 0.5}, {"agreed_share": 0.8}]
    >>> display = TrainingDynamicsDisplay(history, best_iter=1, accuracies=[0.7, 0.9]).plot()
    >>> display.ax_.get_xlabel()
    'training rounds'
    """

    def __init__(self, history, *, best_iter=None, accuracies=None, agreed_accuracies=None):
        self.history = history
        self.best_iter = best_iter
        self.accuracies = accuracies
        self.agreed_accuracies = agreed_accuracies

    @classmethod
    def from_estimator(cls, estimator, X=None, y=None, *, ax=None, **kwargs):
        """Draw a fitted model's rounds.

        Parameters
        ----------
        estimator : SPCClustering, or Pipeline that ends in one
        X : ignored
        y : array-like of shape (N,), default=None
            Classes of the rows of the fit. A fit keeps the labels of its best round only, so that accuracy is drawn
            there; `from_predictions` draws the rounds whose labels it is given.
        ax : matplotlib Axes, default=None
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : TrainingDynamicsDisplay

        Raises
        ------
        ImportError
            Without matplotlib.
        TypeError
            If the estimator is no SPCClustering.
        ValueError
            If y has another number of rows than the fit.
        """
        _import_pyplot(f"{cls.__name__}.from_estimator")
        model = _fitted_model(estimator, cls.__name__)
        if y is None:
            return cls(model.history_, best_iter=model.best_iter_).plot(ax=ax, **kwargs)
        accuracies, of_agreed = np.full((2, len(model.history_)), np.nan)
        right = right_rows(y, model.labels_)
        accuracies[model.best_iter_] = right.mean()
        of_agreed[model.best_iter_] = _mean_or_nan(right[model.agreed_])
        display = cls(model.history_, best_iter=model.best_iter_, accuracies=accuracies, agreed_accuracies=of_agreed)
        return display.plot(ax=ax, **kwargs)

    @classmethod
    def from_predictions(cls, history, *, y_true=None, labels=None, agreed=None, accuracies=None, ax=None, **kwargs):
        """Draw a history, with what is known of its rounds.

        Parameters
        ----------
        history : list of dict
        y_true : array-like of shape (N,), default=None
            Classes.
        labels : sequence of array-like of shape (N,), default=None
            Labels after each round, in which accuracy is computed with ``y_true``.
        agreed : sequence of array-like of shape (N,), default=None
            Mask of the agreed rows after each round.
        accuracies : sequence of float, default=None
            Accuracy by round, in place of ``y_true`` and ``labels``.
        ax : matplotlib Axes, default=None
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : TrainingDynamicsDisplay

        Raises
        ------
        ImportError
            Without matplotlib.
        ValueError
            If a sequence is not as long as the history, or one of ``y_true`` and ``labels`` is missing.
        """
        _import_pyplot(f"{cls.__name__}.from_predictions")
        if (y_true is None) != (labels is None) or (agreed is not None and labels is None):
            raise ValueError("Accuracy by round needs both y_true and labels, one array a round; pass both or neither.")
        if accuracies is not None and labels is not None:
            raise ValueError("accuracies and labels both give the accuracy by round; pass one of them.")
        of_agreed = None
        if labels is not None:
            _check_rounds(history, labels=labels, agreed=agreed)
            right = [right_rows(y_true, of_round) for of_round in labels]
            accuracies = [of_round.mean() for of_round in right]
            if agreed is not None:
                masks = [np.asarray(mask, dtype=bool) for mask in agreed]
                of_agreed = [_mean_or_nan(rows[mask]) for rows, mask in zip(right, masks, strict=True)]
        return cls(history, accuracies=accuracies, agreed_accuracies=of_agreed).plot(ax=ax, **kwargs)

    def plot(self, ax=None):
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes a new figure.

        Returns
        -------
        self

        Raises
        ------
        ImportError
            Without matplotlib.
        ValueError
            If a sequence is not as long as the history.
        """
        _check_rounds(self.history, accuracies=self.accuracies, agreed_accuracies=self.agreed_accuracies)
        self.ax_ = _new_axes("TrainingDynamicsDisplay.plot", ax, (6.4, 4.8))
        self.figure_ = self.ax_.figure
        best = best_round(self.history) if self.best_iter is None else self.best_iter
        lines = [
            ("agreed rows", [row["agreed_share"] for row in self.history], DARK, ":"),
            ("accuracy of agreed rows", self.agreed_accuracies, BLUE, "--"),
            ("accuracy", self.accuracies, ORANGE, "-"),
        ]
        self.ax_.axvline(best, color=GREY, linewidth=6, alpha=0.6, label=f"round kept: {best}")
        for name, values, colour, style in lines:
            if values is not None:
                percent = 100 * np.asarray(values, dtype=float)
                self.ax_.plot(percent, color=colour, linestyle=style, linewidth=2, marker="o", label=name)
        self.ax_.set_xlabel("training rounds", fontsize=11)
        self.ax_.set_ylabel("share of rows (%)", fontsize=11)
        self.ax_.set_xticks(_round_ticks(len(self.history)))
        self.ax_.margins(x=0.06, y=0.12)
        self.ax_.spines[["top", "right"]].set_visible(False)
        self.ax_.legend(frameon=False, fontsize=10, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
        return self


class ClusterGalleryDisplay:
    """Images by cluster: the surest rows on the left, the most doubtful on the right.

    Each cluster has a strip of its own, the strips stand in one or several columns. Images on which the labellings
    disagree are framed.

    Parameters
    ----------
    images : ndarray of shape (N, H, W) or (N, C, H, W)
        With one channel or three. uint8 is 0 to 255; other types are scaled by the range of the images shown.
    sure, doubtful : list of ndarray of int
        Rows of each cluster, as `SPCClustering.cluster_representatives` returns them.
    clusters : sequence, default=None
        Name of each strip; None is 0, 1, ...
    framed : ndarray of shape (N,), bool, default=None
        Rows that get a frame.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skspc.plotting import ClusterGalleryDisplay
    >>> display = ClusterGalleryDisplay(load_digits().images[:6], [[0, 1], [2]], [[3], [5, 4]]).plot()
    >>> display.ax_.axison
    False
    """

    def __init__(self, images, sure, doubtful, *, clusters=None, framed=None):
        self.images = images
        self.sure = sure
        self.doubtful = doubtful
        self.clusters = clusters
        self.framed = framed

    @classmethod
    def from_estimator(cls, estimator, X, *, n=5, ax=None, **kwargs):
        """Draw a fitted model's clusters.

        Parameters
        ----------
        estimator : SPCClustering
        X : array-like of shape (N, H, W), (N, C, H, W), or (N, C*H*W) of a model with an image shape
            The images that it was fitted on, in their order.
        n : int, default=5
            Images of each kind, sure and doubtful.
        ax : matplotlib Axes, default=None
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : ClusterGalleryDisplay

        Raises
        ------
        ImportError
            Without matplotlib.
        TypeError
            If the estimator is no SPCClustering.
        ValueError
            If X cannot be the rows of the fit, or holds no images with one channel or three.
        """
        _import_pyplot(f"{cls.__name__}.from_estimator")
        model, X = _model_and_rows(estimator, X, cls.__name__)
        images = np.asarray(X)
        if images.ndim == 2 and model._image_shape is not None:
            images = images.reshape(len(images), *model._image_shape)
        _check_images(images)
        chosen = model.cluster_representatives(n)
        framed = _is_doubtful(model.agreement_, model.min_agreement)
        display = cls(images, chosen.sure, chosen.doubtful, clusters=chosen.clusters, framed=framed)
        return display.plot(ax=ax, **kwargs)

    @classmethod
    def from_predictions(cls, images, labels, agreement, *, n=5, min_agreement=1.0, ax=None, **kwargs):
        """Draw any labels of any images.

        Parameters
        ----------
        images : array-like of shape (N, H, W) or (N, C, H, W)
        labels : array-like of shape (N,), int
            Rows with -1 are left out.
        agreement : array-like of shape (N,)
            How sure each row is, by which a cluster's rows are ordered.
        n : int, default=5
        min_agreement : float, default=1.0
            Rows with less are framed.
        ax : matplotlib Axes, default=None
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : ClusterGalleryDisplay

        Raises
        ------
        ImportError
            Without matplotlib.
        ValueError
            If the arrays differ in length, or the images have not one channel or three.
        """
        _import_pyplot(f"{cls.__name__}.from_predictions")
        images, agreement = np.asarray(images), np.asarray(agreement, dtype=float)
        _check_images(images)
        labels = check_labels(labels)
        check_consistent_length(images, labels, agreement)
        chosen = rank_representatives(labels, [agreement], n)
        framed = _is_doubtful(agreement, min_agreement)
        display = cls(images, chosen.sure, chosen.doubtful, clusters=chosen.clusters, framed=framed)
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax=None):
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes a new figure.

        Returns
        -------
        self

        Raises
        ------
        ImportError
            Without matplotlib.
        ValueError
            If ``sure`` and ``doubtful`` have not the same number of clusters, or images not one channel or three.
        """
        images = _check_images(np.asarray(self.images))
        if len(self.sure) != len(self.doubtful):
            raise ValueError(
                f"sure has {len(self.sure)} clusters and doubtful {len(self.doubtful)}; pass rows of the same clusters."
            )
        strips = [(list(sure), list(doubtful)[::-1]) for sure, doubtful in zip(self.sure, self.doubtful, strict=True)]
        widths = [max([len(strip[side]) for strip in strips], default=0) for side in (0, 1)]
        grid = GalleryGrid(len(strips), *widths)
        self.ax_ = _new_axes("ClusterGalleryDisplay.plot", ax, grid.figure_size(images.shape[1:3]))
        self.figure_ = self.ax_.figure
        names = range(len(strips)) if self.clusters is None else self.clusters
        tiles = [tile for i, strip in enumerate(strips) for tile in grid.tiles(i, *strip)]
        self._show(images, tiles, grid)
        for i, name in enumerate(names):
            column, line = grid.strip_origin(i)
            self.ax_.text(column - 0.15, line + 0.5, str(name), ha="right", va="center", fontsize=11, fontweight="bold")
        for column, text, align in grid.headings():
            self.ax_.text(column, -0.15, text, ha=align, va="bottom", fontsize=10)
        return self

    def _show(self, images, tiles, grid):
        from matplotlib.patches import Rectangle

        low, high = _value_range(images, [row for row, _, _ in tiles])
        framed = np.zeros(len(images), dtype=bool) if self.framed is None else np.asarray(self.framed)
        for row, x, y in tiles:
            image = np.clip((images[row].astype(float) - low) / (high - low), 0, 1)
            self.ax_.imshow(
                image[..., 0] if image.shape[2] == 1 else image,
                extent=(x, x + TILE, y + TILE, y),
                cmap="gray",
                vmin=0,
                vmax=1,
            )
            if framed[row]:
                self.ax_.add_patch(Rectangle((x, y), TILE, TILE, fill=False, edgecolor=ORANGE, linewidth=1.6))
        self.ax_.set(xlim=(0, grid.width), ylim=(grid.n_lines, -HEADING), aspect=images.shape[1] / images.shape[2])
        self.ax_.axis("off")
        if framed[[row for row, _, _ in tiles]].any():
            note = "framed: the labellings disagree"
            self.ax_.text(grid.width / 2, grid.n_lines + 0.1, note, ha="center", va="top", color=ORANGE, fontsize=10)


class AgreementDisplay:
    """Distribution of the agreement: of all rows, and of each cluster's.

    One bar a cluster, the least agreed on at the top, below that of all rows. Its parts are the shares of the rows on
    which so many labellings agree.

    Parameters
    ----------
    agreement : ndarray of shape (N,)
        In [0, 1].
    labels : ndarray of shape (N,), int, default=None
        None shows the bar of all rows alone. Rows with -1 count in that one only.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    levels_ : ndarray
        Lower ends of the shares shown; each is one value of the agreement if these are few.
    shares_ : ndarray of shape (1 + C, n_levels)
        Share of the rows at each level: all rows first, then the clusters as drawn.

    Examples
    --------
    >>> from skspc.plotting import AgreementDisplay
    >>> display = AgreementDisplay.from_predictions([1.0, 1.0, 0.5, 0.5], [0, 0, 0, 1])
    >>> display.shares_[0].tolist()
    [0.5, 0.5]
    """

    def __init__(self, agreement, labels=None):
        self.agreement = agreement
        self.labels = labels

    @classmethod
    def from_estimator(cls, estimator, X=None, *, ax=None, **kwargs):
        """Draw a fitted model's agreement.

        Parameters
        ----------
        estimator : SPCClustering, or Pipeline that ends in one
        X : ignored
        ax : matplotlib Axes, default=None
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : AgreementDisplay

        Raises
        ------
        ImportError
            Without matplotlib.
        TypeError
            If the estimator is no SPCClustering.
        """
        _import_pyplot(f"{cls.__name__}.from_estimator")
        model = _fitted_model(estimator, cls.__name__)
        return cls(model.agreement_, model.labels_).plot(ax=ax, **kwargs)

    @classmethod
    def from_predictions(cls, agreement, labels=None, *, ax=None, **kwargs):
        """Draw any agreement.

        Parameters
        ----------
        agreement : array-like of shape (N,)
        labels : array-like of shape (N,), int, default=None
        ax : matplotlib Axes, default=None
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : AgreementDisplay

        Raises
        ------
        ImportError
            Without matplotlib.
        ValueError
            If the arrays differ in length, or agreement is not in [0, 1].
        """
        _import_pyplot(f"{cls.__name__}.from_predictions")
        return cls(agreement, labels).plot(ax=ax, **kwargs)

    def plot(self, ax=None):
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes a new figure.

        Returns
        -------
        self

        Raises
        ------
        ImportError
            Without matplotlib.
        ValueError
            If the arrays differ in length, or agreement is not in [0, 1].
        """
        agreement = np.asarray(self.agreement, dtype=float)
        labels = np.full(len(agreement), NOISE) if self.labels is None else check_labels(self.labels)
        check_consistent_length(agreement, labels)
        if len(agreement) == 0 or not ((agreement >= 0) & (agreement <= 1)).all():
            raise ValueError("agreement must hold shares between 0 and 1, at least one.")
        self.levels_, codes, names = _agreement_levels(agreement)
        clusters = np.unique(labels[labels != NOISE])
        means = [agreement[labels == cluster].mean() for cluster in clusters]
        clusters = clusters[np.argsort(means, kind="stable")]
        members = [np.ones(len(labels), dtype=bool)] + [labels == cluster for cluster in clusters]
        counts = np.array([np.bincount(codes[rows], minlength=len(self.levels_)) for rows in members])
        self.shares_ = counts / counts.sum(axis=1, keepdims=True)
        self.ax_ = _new_axes("AgreementDisplay.plot", ax, (7.5, 1.6 + 0.24 * (len(members) + 1)))
        self.figure_ = self.ax_.figure
        ticks = ["all rows", *(f"cluster {cluster}" for cluster in clusters)]
        self._draw_bars([f"{tick} ({n})" for tick, n in zip(ticks, counts.sum(axis=1), strict=True)], names)
        return self

    def _draw_bars(self, ticks, names):
        """Draw the highest level first, at the left."""
        from matplotlib import colormaps

        places = np.arange(len(ticks)) + 0.5 * (np.arange(len(ticks)) > 0)
        colours = colormaps["YlGnBu"](np.linspace(1.0, 0.12, len(names)))
        edge = {"edgecolor": "white", "linewidth": 0.4}
        left = np.zeros(len(ticks))
        for level in reversed(range(len(names))):
            share = 100 * self.shares_[:, level]
            self.ax_.barh(places, share, left=left, height=0.8, color=colours[level], label=names[level], **edge)
            left += share
        self.ax_.set_yticks(places, ticks)
        self.ax_.set(xlim=(0, 100), ylim=(places[-1] + 0.6, -0.6))
        self.ax_.set_xlabel("share of rows (%)", fontsize=11)
        self.ax_.spines[["top", "right", "left"]].set_visible(False)
        self.ax_.tick_params(axis="y", length=0)
        self.ax_.legend(title="agreement", loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=9)


class ConfusionDisplay:
    """Confusion matrix of classes and clusters, clusters in the order of the classes that they are matched with.

    The Hungarian algorithm matches clusters to classes, one to one, such that most rows are right; these stand on the
    diagonal. With other numbers of clusters than classes some have no match: they come last. A cluster -1, noise, is
    never matched. Colour is the share of a class.

    Parameters
    ----------
    confusion_matrix : ndarray of shape (n_classes, n_clusters), int
        Counts, in the order drawn.
    classes : ndarray of shape (n_classes,)
    clusters : ndarray of shape (n_clusters,)

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    accuracy_ : float
        Share of the rows on the diagonal, as `skspc.metrics.clustering_accuracy` has it.

    Examples
    --------
    >>> from skspc.plotting import ConfusionDisplay
    >>> display = ConfusionDisplay.from_predictions(["a", "a", "b", "b"], [1, 1, 0, 1])
    >>> display.clusters.tolist(), display.confusion_matrix.tolist(), display.accuracy_
    ([1, 0], [[2, 0], [1, 1]], 0.75)
    """

    def __init__(self, confusion_matrix, classes, clusters):
        self.confusion_matrix = confusion_matrix
        self.classes = classes
        self.clusters = clusters

    @classmethod
    def from_estimator(cls, estimator, X, y, *, ax=None, **kwargs):
        """Draw a fitted model's clusters against classes.

        Parameters
        ----------
        estimator : SPCClustering, or Pipeline that ends in one
        X : array-like or None
            Any rows, labelled by ``predict``. With None, the ``labels_`` of the rows of the fit are taken.
        y : array-like of shape (N,)
            Classes of these rows.
        ax : matplotlib Axes, default=None
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : ConfusionDisplay

        Raises
        ------
        ImportError
            Without matplotlib.
        TypeError
            If the estimator is no SPCClustering.
        ValueError
            If y has another number of rows.
        """
        _import_pyplot(f"{cls.__name__}.from_estimator")
        model = _fitted_model(estimator, cls.__name__)
        labels = model.labels_ if X is None else estimator.predict(X)
        return cls.from_predictions(y, labels, ax=ax, **kwargs)

    @classmethod
    def from_predictions(cls, y_true, y_pred, *, ax=None, **kwargs):
        """Draw any clusters against classes.

        Parameters
        ----------
        y_true : array-like of shape (N,)
            Classes: whole numbers or strings.
        y_pred : array-like of shape (N,), int
            Clusters.
        ax : matplotlib Axes, default=None
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : ConfusionDisplay

        Raises
        ------
        ImportError
            Without matplotlib.
        ValueError
            If the two differ in length or are empty.
        """
        _import_pyplot(f"{cls.__name__}.from_predictions")
        counts, classes, clusters, matched = match_clusters(y_true, y_pred)
        rows, columns = matched
        rows = np.concatenate([rows, np.setdiff1d(np.arange(len(classes)), rows)])
        columns = np.concatenate([columns, np.setdiff1d(np.arange(len(clusters)), columns)])
        columns = columns[np.argsort(clusters[columns] == NOISE, kind="stable")]
        return cls(counts[np.ix_(rows, columns)], classes[rows], clusters[columns]).plot(ax=ax, **kwargs)

    def plot(self, ax=None, *, normalize=None, include_values="auto", cmap="Blues"):
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes a new figure.
        normalize : {None, "true"}, default=None
            "true" writes percents of a class instead of counts.
        include_values : bool or "auto", default="auto"
            Whether figures are written; zeros never are. "auto" leaves them out where they would not be legible.
        cmap : str or Colormap, default="Blues"

        Returns
        -------
        self

        Raises
        ------
        ImportError
            Without matplotlib.
        ValueError
            If ``normalize`` is not known, or the matrix does not fit its classes and clusters.
        """
        if normalize not in (None, "true"):
            raise ValueError(f"normalize={normalize!r} is not known; pass None for counts or 'true' for percents.")
        counts = np.asarray(self.confusion_matrix)
        if counts.shape != (len(self.classes), len(self.clusters)):
            raise ValueError(
                f"confusion_matrix has shape {counts.shape}, but there are {len(self.classes)} classes and "
                f"{len(self.clusters)} clusters; pass one row a class and one column a cluster."
            )
        n_matched = min(len(self.classes), int(np.sum(np.asarray(self.clusters) != NOISE)))
        self.accuracy_ = float(np.trace(counts[:n_matched, :n_matched]) / counts.sum())
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        cell = min(MAX_CELL_INCHES, MAX_MATRIX_INCHES / max(counts.shape))
        height, width = np.maximum(cell * np.array(counts.shape), MIN_MATRIX_INCHES)
        self.ax_ = _new_axes("ConfusionDisplay.plot", ax, (width + 2.2, height + 1.2))
        self.figure_ = self.ax_.figure
        self.im_ = self.ax_.imshow(shares, cmap=cmap, vmin=0, vmax=1, interpolation="nearest")
        self.figure_.colorbar(self.im_, ax=self.ax_, label="share of the class", shrink=0.8)
        self.ax_.set_xticks(range(len(self.clusters)), ["noise" if c == NOISE else str(c) for c in self.clusters])
        self.ax_.set_yticks(range(len(self.classes)), [str(name) for name in self.classes])
        self.ax_.set_xlabel("cluster", fontsize=11)
        self.ax_.set_ylabel("class", fontsize=11)
        self.ax_.set_title(f"accuracy {100 * self.accuracy_:.1f} %", fontsize=11)
        if include_values:
            self._write(100 * shares if normalize else counts, counts, must_fit=include_values == "auto")
        return self

    def _write(self, values, counts, must_fit):
        """Write the figures of the cells that hold rows, as large as fits."""
        longest = len(f"{values.max():.0f}")
        self.figure_.canvas.figure.draw_without_rendering()  # settles the size of the axes
        cell = self.ax_.get_window_extent().width / self.figure_.dpi * 72 / counts.shape[1]
        size = cell / (0.72 * (longest + 0.6))
        if must_fit and size < VALUE_FONT_SIZES[0]:
            return
        dark = self.im_.get_array() > 0.5
        for i, j in zip(*np.nonzero(counts), strict=True):
            self.ax_.text(
                *(j, i, f"{values[i, j]:.0f}"),
                ha="center",
                va="center",
                fontsize=float(np.clip(size, *VALUE_FONT_SIZES)),
                color="white" if dark[i, j] else DARK,
            )


def _import_pyplot(caller):
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f'{caller} draws with matplotlib, which cannot be imported. Install it with: pip install "skspc[plot]"'
        ) from error
    return plt


def _new_axes(caller, ax, figsize):
    """Return the axes given, or those of a new figure."""
    plt = _import_pyplot(caller)
    return plt.subplots(figsize=figsize, layout="constrained")[1] if ax is None else ax


def _fitted_model(estimator, display):
    """Return the SPCClustering that an estimator is or ends in."""
    model = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if not isinstance(model, SPCClustering):
        raise TypeError(
            f"{display}.from_estimator draws an SPCClustering, or a Pipeline that ends in one, not "
            f"{type(model).__name__}. Pass a search's best_estimator_; for other clusterers use "
            f"{display}.from_predictions."
        )
    check_is_fitted(model)
    return model


def _model_and_rows(estimator, X, display):
    """Return the fitted model and X as it takes it, and refuse X if it cannot be the rows of the fit."""
    model = _fitted_model(estimator, display)
    if model is not estimator and len(estimator.steps) > 1:
        X = estimator[:-1].transform(X)
    n_rows = _num_samples(X)
    advice = f"Pass the rows of the fit, in their order; for others use {display}.from_predictions."
    if n_rows != len(model.labels_):
        raise ValueError(f"X has {n_rows} rows, but the model was fitted on {len(model.labels_)}. {advice}")
    checked = np.unique(np.linspace(0, n_rows - 1, N_CHECKED_ROWS).astype(int))
    share = np.mean(model.predict(_safe_indexing(X, checked)) == model.labels_[checked])
    if share < model.predict_consistency_ - CHECK_SLACK:
        raise ValueError(
            f"predict gives {share:.0%} of the rows of X their labels_, not {model.predict_consistency_:.0%} as in the "
            f"fit: X holds other rows, or another order. {advice}"
        )
    return model, X


def _reduce(X, random_state):
    """Reduce latents (N, m) to two columns."""
    embedding = UMAPReducer(min_dist=PICTURE_MIN_DIST, random_state=random_state).fit_transform(X)
    return np.pad(embedding, ((0, 0), (0, 2 - embedding.shape[1])))  # a few rows can have one dimension


def _is_doubtful(agreement, min_agreement):
    return agreement < min_agreement - 1e-9  # as in the vote, where shares of votes are floats


def _cluster_colours(labels):
    """Clusters (C,), and the colour (N, 3) of each row; noise is grey."""
    from matplotlib.colors import to_rgb

    clusters = np.unique(labels[labels != NOISE])
    colours = np.vstack([distinct_colours(len(clusters)), to_rgb(GREY)])
    return clusters, colours[np.where(labels == NOISE, len(clusters), np.searchsorted(clusters, labels))]


def _middle(points):
    """The point (2,) nearest to the median of points (n, 2): one in the void would name another cluster."""
    return points[np.linalg.norm(points - np.median(points, axis=0), axis=1).argmin()]


def _cluster_legend(ax, clusters):
    """Name the clusters' colours to the right of the axes, unless it would push them off the figure."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=tuple(colour), label=str(name), marker="o", linestyle="", markersize=7)
        for colour, name in zip(distinct_colours(len(clusters)), clusters, strict=True)
    ]
    height = ax.get_window_extent().height / ax.figure.dpi * 72
    n_rows = max(1, int(height // LEGEND_ROW_POINTS) - 1)  # below the title
    legend = ax.legend(
        handles=handles,
        title="cluster",
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        ncols=math.ceil(len(clusters) / n_rows),
        frameon=False,
        fontsize=9,
        borderaxespad=0.2,
        handletextpad=0.1,
        columnspacing=0.8,
    )
    if legend.get_window_extent().width > MAX_LEGEND_SHARE * ax.figure.canvas.figure.bbox.width:
        legend.remove()
        warnings.warn(
            f"The axes are too small to name {len(clusters)} clusters; pass larger ones, or ax=None.", stacklevel=4
        )


def _mean_or_nan(values):
    return float(np.mean(values)) if len(values) else np.nan


def _check_rounds(history, **sequences):
    """Refuse an empty history, and sequences that have not one entry a round."""
    if len(history) == 0:
        raise ValueError("history is empty; pass history_ of a fit.")
    for name, sequence in sequences.items():
        if sequence is not None and len(sequence) != len(history):
            raise ValueError(
                f"{name} has {len(sequence)} entries, but history has {len(history)} rounds; pass one a round."
            )


def _round_ticks(n_rounds):
    """At most a dozen whole numbers."""
    return range(0, n_rounds, math.ceil(n_rounds / 12))


def _check_images(images):
    """Images as (N, H, W, channels)."""
    if images.ndim not in (3, 4):
        raise ValueError(
            f"X has shape {images.shape}, which are no images: a gallery needs (N, height, width) or "
            "(N, channels, height, width). Reshape flattened images; for vectors draw an EmbeddingDisplay."
        )
    images = images[:, None] if images.ndim == 3 else images
    if images.shape[1] not in (1, 3):
        raise ValueError(
            f"Images of shape {images.shape[1:]} as (channels, height, width) have {images.shape[1]} channels; a "
            "gallery shows one or three. If channels come last, pass X.transpose(0, 3, 1, 2)."
        )
    return images.transpose(0, 2, 3, 1)


def _value_range(images, rows):
    """Values that are drawn black and white."""
    if images.dtype == np.uint8:
        return 0, 255
    shown = images[rows].astype(float)
    low, high = (shown.min(), shown.max()) if len(rows) else (0.0, 1.0)
    return low, high if high > low else low + 1.0


def _agreement_levels(agreement):
    """Levels of agreement: its values if they are few, else bins.

    Returns
    -------
    levels : ndarray of shape (n_levels,)
        Lower ends.
    codes : ndarray of shape (N,)
        Level of each row.
    names : list of str
    """
    values, codes = np.unique(np.round(agreement, 6), return_inverse=True)
    if len(values) <= MAX_LEVELS:
        return values, codes.ravel(), [f"{value:.2f}" for value in values]
    codes = np.minimum((agreement * N_BINS).astype(int), N_BINS - 1)
    levels = np.arange(N_BINS) / N_BINS
    return levels, codes, [f"{level:.1f} to {level + 1 / N_BINS:.1f}" for level in levels]
