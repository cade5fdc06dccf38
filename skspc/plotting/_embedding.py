"""Clusters and doubt in two dimensions."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_array, check_consistent_length

from .._constants import NOISE
from .._input.validation import as_array
from ..clusterers import UMAPReducer
from ..metrics import check_labels
from ._common import DARK, GREY, Fitted, import_pyplot, is_doubtful, model_and_rows, new_axes, shared_docstring
from ._palette import distinct_colours
from ._placement import PlacedLabels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self

RandomState = int | np.random.RandomState | None

PICTURE_MIN_DIST = 0.3  # a picture wants looser clusters than a clusterer does
LEGEND_ROW_POINTS, MAX_LEGEND_SHARE = 14, 0.5  # of a row in height; of the figure's width


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

    def __init__(
        self, embedding: ArrayLike, labels: ArrayLike, *, agreement: ArrayLike | None = None, min_agreement: float = 1.0
    ) -> None:
        self.embedding = embedding
        self.labels = labels
        self.agreement = agreement
        self.min_agreement = min_agreement

    @classmethod
    @shared_docstring
    def from_estimator(
        cls,
        estimator: Fitted,
        X: ArrayLike,
        *,
        embedding: ArrayLike | None = None,
        random_state: RandomState = 0,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
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
            Seeds the reducer.
        {of_model}
        ValueError
            If X cannot be the rows of the fit, or the embedding is not of shape (N, 2).
        """
        model, X = model_and_rows(estimator, X, cls.__name__)
        if embedding is None:
            embedding = _reduce(model.transform(X), random_state)
        display = cls(embedding, model.labels_, agreement=model.agreement_, min_agreement=model.min_agreement)
        return display.plot(ax=ax, **kwargs)

    @classmethod
    @shared_docstring
    def from_predictions(
        cls,
        X: ArrayLike,
        labels: ArrayLike,
        *,
        agreement: ArrayLike | None = None,
        min_agreement: float = 1.0,
        random_state: RandomState = 0,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw any labels of any rows.

        Parameters
        ----------
        X : array-like of shape (N, m)
            Two columns are drawn as they are; more are reduced by `skspc.clusterers.UMAPReducer`.
        labels : array-like of shape (N,), int
        agreement : array-like of shape (N,), default=None
        min_agreement : float, default=1.0
        random_state : None, int or RandomState, default=0
            Seeds the reducer.
        {of_arrays}
        ValueError
            If the arrays differ in length, or labels are no whole numbers.
        """
        import_pyplot(f"{cls.__name__}.from_predictions")
        X = np.asarray(as_array(X))
        check_consistent_length(X, labels, agreement)
        embedding = X if X.ndim == 2 and X.shape[1] == 2 else _reduce(X, random_state)
        return cls(embedding, labels, agreement=agreement, min_agreement=min_agreement).plot(ax=ax, **kwargs)

    @shared_docstring
    def plot(self, ax: Axes | None = None, *, marker_size: float | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes a new figure.
        marker_size : float, default=None
            Area of a dot in square points. None is smaller the more rows there are.

        {plotted}
        ValueError
            If the embedding has not two columns, or the arrays differ in length.
        """
        embedding, labels = check_array(self.embedding, dtype=float, input_name="embedding"), check_labels(self.labels)
        if embedding.shape[1] != 2:
            raise ValueError(
                f"embedding has shape {embedding.shape}; it must have two columns. Leave it None to have it made."
            )
        check_consistent_length(embedding, labels, self.agreement)
        self.ax_ = new_axes("EmbeddingDisplay.plot", ax, (7.0, 7.2))
        self.figure_ = self.ax_.figure
        clusters, colours = _cluster_colours(labels)
        doubtful = self._doubtful(len(labels))
        size = marker_size if marker_size is not None else float(np.clip(12_000 / len(labels), 1.2, 24))
        self._scatter(embedding, colours, doubtful, size)
        self._set_limits(embedding)
        self._name_clusters(embedding, labels, clusters)
        return self

    def _doubtful(self, n_rows: int) -> NDArray[np.bool_]:
        if self.agreement is None:
            return np.zeros(n_rows, dtype=bool)
        return is_doubtful(np.asarray(self.agreement), self.min_agreement)

    def _set_limits(self, embedding: NDArray[Any]) -> None:
        """Make the axes a square, which keeps distances and leaves most room for labels."""
        low, high = embedding.min(axis=0), embedding.max(axis=0)
        half = 0.53 * float((high - low).max()) or 1.0
        (left, bottom), (right, top) = (low + high) / 2 - half, (low + high) / 2 + half
        self.ax_.set(xlim=(left, right), ylim=(bottom, top), xticks=[], yticks=[], aspect="equal")
        self.ax_.spines[:].set_color(GREY)

    def _scatter(
        self, embedding: NDArray[Any], colours: NDArray[Any], doubtful: NDArray[np.bool_], size: float
    ) -> None:
        """Draw agreed rows as dots in random order, so that no cluster hides another, and hollow ones over them."""
        agreed = np.random.default_rng(0).permutation(np.flatnonzero(~doubtful))
        style: dict[str, Any] = {"rasterized": True, "marker": "o"}
        self.ax_.scatter(embedding[agreed, 0], embedding[agreed, 1], c=colours[agreed], s=size, linewidths=0, **style)
        ring: dict[str, Any] = {
            "edgecolors": 0.65 * colours[doubtful],
            "linewidths": 0.9 if size > 4 else 0.45,
            "s": max(1.5 * size, 3),
        }
        self.ax_.scatter(embedding[doubtful, 0], embedding[doubtful, 1], c="white", **ring, **style)
        if self.agreement is not None:
            n_doubtful = int(doubtful.sum())
            self.ax_.set_xlabel(f"{n_doubtful} of {len(doubtful)} rows are doubtful (hollow)", fontsize=11)

    def _name_clusters(self, embedding: NDArray[Any], labels: NDArray[Any], clusters: NDArray[Any]) -> None:
        """Write the clusters' numbers on the plot, or beside it if they have no room."""
        from matplotlib.patheffects import withStroke

        anchors = [_central_point(embedding[labels == cluster]) for cluster in clusters]
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


def _reduce(X: ArrayLike, random_state: RandomState) -> NDArray[Any]:
    """Reduce latents (N, m) to two columns."""
    embedding = UMAPReducer(min_dist=PICTURE_MIN_DIST, random_state=random_state).fit_transform(X)
    return np.pad(embedding, ((0, 0), (0, 2 - embedding.shape[1])))  # a few rows can have one dimension


def _cluster_colours(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Clusters (C,), and the colour (N, 3) of each row; noise is grey."""
    from matplotlib.colors import to_rgb

    clusters = np.unique(labels[labels != NOISE])
    colours = np.vstack([distinct_colours(len(clusters)), to_rgb(GREY)])
    return clusters, colours[np.where(labels == NOISE, len(clusters), np.searchsorted(clusters, labels))]


def _central_point(points: NDArray[Any]) -> NDArray[Any]:
    """The point (2,) nearest to the median of points (n, 2): one in the void would name another cluster."""
    return np.asarray(points[np.linalg.norm(points - np.median(points, axis=0), axis=1).argmin()])


def _cluster_legend(ax: Axes, clusters: NDArray[Any]) -> None:
    """Name the clusters' colours to the right of the axes, unless it would push them off the figure."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=tuple(colour), label=str(name), marker="o", linestyle="", markersize=7)
        for colour, name in zip(distinct_colours(len(clusters)), clusters, strict=True)
    ]
    height = ax.get_window_extent().height / ax.figure.dpi * 72
    n_rows = max(1, int(height // LEGEND_ROW_POINTS) - 1)  # below the title
    style: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "frameon": False, "fontsize": 9}
    style |= {"borderaxespad": 0.2, "handletextpad": 0.1, "columnspacing": 0.8}
    legend = ax.legend(handles=handles, title="cluster", ncols=math.ceil(len(clusters) / n_rows), **style)
    if legend.get_window_extent().width > MAX_LEGEND_SHARE * ax.figure.canvas.figure.bbox.width:
        legend.remove()
        warnings.warn(
            f"The axes are too small to name {len(clusters)} clusters; pass larger ones, or ax=None.", stacklevel=4
        )
