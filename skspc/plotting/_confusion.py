"""Classes against clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._constants import NOISE
from ..metrics import match_clusters
from ._common import DARK, Fitted, fitted_model, import_pyplot, new_axes, shared_docstring

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from typing_extensions import Self

MAX_CELL_INCHES, MIN_MATRIX_INCHES, MAX_MATRIX_INCHES = 0.45, 1.8, 12.0  # of a confusion matrix
VALUE_FONT_SIZES = 6, 10  # points; a matrix whose cells are too small for the least has no figures in it


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

    def __init__(
        self, confusion_matrix: ArrayLike, classes: Sequence[Any] | NDArray[Any], clusters: Sequence[Any] | NDArray[Any]
    ) -> None:
        self.confusion_matrix = confusion_matrix
        self.classes = classes
        self.clusters = clusters

    @classmethod
    @shared_docstring
    def from_estimator(
        cls, estimator: Fitted, X: ArrayLike | None, y: ArrayLike, *, ax: Axes | None = None, **kwargs: Any
    ) -> Self:
        """Draw a fitted model's clusters against classes.

        Parameters
        ----------
        estimator : SPCClustering, or Pipeline that ends in one
        X : array-like or None
            Any rows, labelled by ``predict``. With None, the ``labels_`` of the rows of the fit are taken.
        y : array-like of shape (N,)
            Classes of these rows.
        {of_model}
        ValueError
            If y has another number of rows, or a class is missing (None, NaN, pandas.NA).
        """
        model = fitted_model(estimator, cls.__name__)
        labels = model.labels_ if X is None else estimator.predict(X)
        return cls.from_predictions(y, labels, ax=ax, **kwargs)

    @classmethod
    @shared_docstring
    def from_predictions(cls, y_true: ArrayLike, y_pred: ArrayLike, *, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw any clusters against classes.

        Parameters
        ----------
        y_true : array-like of shape (N,)
            Classes: whole numbers or strings.
        y_pred : array-like of shape (N,), int
            Clusters.
        {of_arrays}
        ValueError
            If the two differ in length or are empty, or a value is missing.
        """
        import_pyplot(f"{cls.__name__}.from_predictions")
        counts, classes, clusters, matched = match_clusters(y_true, y_pred)
        rows, columns = matched
        rows = np.concatenate([rows, np.setdiff1d(np.arange(len(classes)), rows)])
        columns = np.concatenate([columns, np.setdiff1d(np.arange(len(clusters)), columns)])
        columns = columns[np.argsort(clusters[columns] == NOISE, kind="stable")]
        return cls(counts[np.ix_(rows, columns)], classes[rows], clusters[columns]).plot(ax=ax, **kwargs)

    @shared_docstring
    def plot(
        self,
        ax: Axes | None = None,
        *,
        normalize: Literal["true"] | None = None,
        include_values: bool | Literal["auto"] = "auto",
        cmap: str | Colormap = "Blues",
    ) -> Self:
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

        {plotted}
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
        self.ax_ = new_axes("ConfusionDisplay.plot", ax, (width + 2.2, height + 1.2))
        self.figure_ = self.ax_.figure
        self.im_ = self.ax_.imshow(shares, cmap=cmap, vmin=0, vmax=1, interpolation="nearest")
        self.figure_.colorbar(self.im_, ax=self.ax_, label="share of the class", shrink=0.8)
        self.ax_.set_xticks(range(len(self.clusters)), ["noise" if c == NOISE else str(c) for c in self.clusters])
        self.ax_.set_yticks(range(len(self.classes)), [str(name) for name in self.classes])
        self.ax_.set_xlabel("cluster", fontsize=11)
        self.ax_.set_ylabel("class", fontsize=11)
        self.ax_.set_title(f"accuracy {100 * self.accuracy_:.1f} %", fontsize=11)
        if include_values:
            self._write_values(100 * shares if normalize else counts, counts, must_fit=include_values == "auto")
        return self

    def _write_values(self, values: NDArray[Any], counts: NDArray[Any], must_fit: bool) -> None:
        """Write the figures of the cells that hold rows, as large as fits."""
        longest = len(f"{values.max():.0f}")
        self.figure_.canvas.figure.draw_without_rendering()  # settles the size of the axes
        cell = self.ax_.get_window_extent().width / self.figure_.dpi * 72 / counts.shape[1]
        size = cell / (0.72 * (longest + 0.6))
        if must_fit and size < VALUE_FONT_SIZES[0]:
            return
        dark = np.asarray(self.im_.get_array()) > 0.5
        for i, j in zip(*np.nonzero(counts), strict=True):
            self.ax_.text(
                *(j, i, f"{values[i, j]:.0f}"),
                ha="center",
                va="center",
                fontsize=float(np.clip(size, *VALUE_FONT_SIZES)),
                color="white" if dark[i, j] else DARK,
            )
