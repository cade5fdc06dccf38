"""How many rows reach each level of agreement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length

from .._constants import NOISE
from ..metrics import check_labels
from ._common import Fitted, fitted_model, import_pyplot, new_axes, shared_docstring

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self

MAX_LEVELS, N_BINS = 17, 10  # of agreement: the paper's 16 labellings are shown vote by vote


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

    def __init__(self, agreement: ArrayLike, labels: ArrayLike | None = None) -> None:
        self.agreement = agreement
        self.labels = labels

    @classmethod
    @shared_docstring
    def from_estimator(cls, estimator: Fitted, X: object = None, *, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw a fitted model's agreement.

        Parameters
        ----------
        estimator : SPCClustering, or Pipeline that ends in one
        X : ignored
        {of_model}
        """
        model = fitted_model(estimator, cls.__name__)
        return cls(model.agreement_, model.labels_).plot(ax=ax, **kwargs)

    @classmethod
    @shared_docstring
    def from_predictions(
        cls, agreement: ArrayLike, labels: ArrayLike | None = None, *, ax: Axes | None = None, **kwargs: Any
    ) -> Self:
        """Draw any agreement.

        Parameters
        ----------
        agreement : array-like of shape (N,)
        labels : array-like of shape (N,), int, default=None
        {of_arrays}
        ValueError
            If the arrays differ in length, or agreement is not in [0, 1].
        """
        import_pyplot(f"{cls.__name__}.from_predictions")
        return cls(agreement, labels).plot(ax=ax, **kwargs)

    @shared_docstring
    def plot(self, ax: Axes | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes a new figure.

        {plotted}
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
        self.ax_ = new_axes("AgreementDisplay.plot", ax, (7.5, 1.6 + 0.24 * (len(members) + 1)))
        self.figure_ = self.ax_.figure
        ticks = ["all rows", *(f"cluster {cluster}" for cluster in clusters)]
        self._draw_bars([f"{tick} ({n})" for tick, n in zip(ticks, counts.sum(axis=1), strict=True)], names)
        return self

    def _draw_bars(self, ticks: Sequence[str], names: Sequence[str]) -> None:
        """Draw the highest level first, at the left."""
        from matplotlib import colormaps

        places = np.arange(len(ticks)) + 0.5 * (np.arange(len(ticks)) > 0)
        colours = colormaps["YlGnBu"](np.linspace(1.0, 0.12, len(names)))
        edge: dict[str, Any] = {"edgecolor": "white", "linewidth": 0.4}
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


def _agreement_levels(agreement: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[np.intp], list[str]]:
    """Levels of agreement, its values if they are few, else bins: lower ends, level of each row (N,), and names."""
    values, codes = np.unique(np.round(agreement, 6), return_inverse=True)
    if len(values) <= MAX_LEVELS:
        return values, codes.ravel(), [f"{value:.2f}" for value in values]
    codes = np.minimum((agreement * N_BINS).astype(int), N_BINS - 1)
    levels = np.arange(N_BINS) / N_BINS
    return levels, codes, [f"{level:.1f} to {level + 1 / N_BINS:.1f}" for level in levels]
