"""Agreement and accuracy by round."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._method.history import best_round
from ..metrics import right_rows
from ._common import (
    BLUE,
    DARK,
    GREY,
    ORANGE,
    Fitted,
    fitted_model,
    import_pyplot,
    mean_or_nan,
    new_axes,
    shared_docstring,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self

History = Sequence[Mapping[str, Any]]


class TrainingDynamicsDisplay:
    """Agreement and accuracy by round, as in the paper's Fig. 2.

    Parameters
    ----------
    history : list of dict
        ``history_`` of a fit.
    best_iter : int, default=None
        Index of the round that is marked; None is the first with most agreement, as in a fit,
        of those whose labellings vote.
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

    def __init__(
        self,
        history: History,
        *,
        best_iter: int | None = None,
        accuracies: Sequence[float] | NDArray[np.float64] | None = None,
        agreed_accuracies: Sequence[float] | NDArray[np.float64] | None = None,
    ) -> None:
        self.history = history
        self.best_iter = best_iter
        self.accuracies = accuracies
        self.agreed_accuracies = agreed_accuracies

    @classmethod
    @shared_docstring
    def from_estimator(
        cls, estimator: Fitted, X: object = None, y: ArrayLike | None = None, *, ax: Axes | None = None, **kwargs: Any
    ) -> Self:
        """Draw a fitted model's rounds.

        Parameters
        ----------
        estimator : SPCClustering, or Pipeline that ends in one
        X : ignored
        y : array-like of shape (N,), default=None
            Classes of the rows of the fit. A fit keeps the labels of the vote of all rounds, so that accuracy is drawn
            at the last; `from_predictions` draws the rounds whose labels it is given.
        {of_model}
        ValueError
            If y has another number of rows than the fit, or a class is missing (None, NaN, pandas.NA).
        """
        model = fitted_model(estimator, cls.__name__)
        if y is None:
            return cls(model.history_, best_iter=model.best_iter_).plot(ax=ax, **kwargs)
        accuracies, of_agreed = np.full((2, len(model.history_)), np.nan)
        right = right_rows(y, model.labels_)
        accuracies[-1] = right.mean()
        of_agreed[-1] = mean_or_nan(right[model.agreed_])
        display = cls(model.history_, best_iter=model.best_iter_, accuracies=accuracies, agreed_accuracies=of_agreed)
        return display.plot(ax=ax, **kwargs)

    @classmethod
    @shared_docstring
    def from_predictions(
        cls,
        history: History,
        *,
        y_true: ArrayLike | None = None,
        labels: Sequence[ArrayLike] | None = None,
        agreed: Sequence[ArrayLike] | None = None,
        accuracies: Sequence[float] | NDArray[np.float64] | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
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
        {of_arrays}
        ValueError
            If a sequence is not as long as the history, one of ``y_true`` and ``labels`` is not given, or a class is
            missing (None, NaN, pandas.NA).
        """
        import_pyplot(f"{cls.__name__}.from_predictions")
        if (y_true is None) != (labels is None) or (agreed is not None and labels is None):
            raise ValueError("Accuracy by round needs both y_true and labels, one array a round; pass both or neither.")
        if accuracies is not None and labels is not None:
            raise ValueError("accuracies and labels both give the accuracy by round; pass one of them.")
        of_agreed = None
        if y_true is not None and labels is not None:
            _check_rounds(history, labels=labels, agreed=agreed)
            right = [right_rows(y_true, of_round) for of_round in labels]
            accuracies = [of_round.mean() for of_round in right]
            if agreed is not None:
                masks = [np.asarray(mask, dtype=bool) for mask in agreed]
                of_agreed = [mean_or_nan(rows[mask]) for rows, mask in zip(right, masks, strict=True)]
        return cls(history, accuracies=accuracies, agreed_accuracies=of_agreed).plot(ax=ax, **kwargs)

    @shared_docstring
    def plot(self, ax: Axes | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes a new figure.

        {plotted}
        ValueError
            If a sequence is not as long as the history.
        """
        _check_rounds(self.history, accuracies=self.accuracies, agreed_accuracies=self.agreed_accuracies)
        self.ax_ = new_axes("TrainingDynamicsDisplay.plot", ax, (6.4, 4.8))
        self.figure_ = self.ax_.figure
        best = best_round(self.history) if self.best_iter is None else self.best_iter
        lines = [
            ("agreed rows", [row["agreed_share"] for row in self.history], DARK, ":"),
            ("accuracy of agreed rows", self.agreed_accuracies, BLUE, "--"),
            ("accuracy", self.accuracies, ORANGE, "-"),
        ]
        self.ax_.axvline(best, color=GREY, linewidth=6, alpha=0.6, label=f"most agreed: {best}")
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


def _check_rounds(history: History, **sequences: Sequence[Any] | NDArray[Any] | None) -> None:
    """Refuse an empty history, and sequences that have not one entry a round."""
    if len(history) == 0:
        raise ValueError("history is empty; pass history_ of a fit.")
    for name, sequence in sequences.items():
        if sequence is not None and len(sequence) != len(history):
            raise ValueError(
                f"{name} has {len(sequence)} entries, but history has {len(history)} rounds; pass one a round."
            )


def _round_ticks(n_rounds: int) -> range:
    """At most a dozen whole numbers."""
    return range(0, n_rounds, math.ceil(n_rounds / 12))
