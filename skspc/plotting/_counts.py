"""How many clusters: figures by their number, and the order in which clusters merge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length

from .._constants import NOISE
from .._method.counts import FOUND_AGAIN, merge_tree
from ..metrics import check_labels
from ..model_selection import n_clusters_curve
from ._common import BLUE, DARK, GREY, ORANGE, Fitted, fitted_model, import_pyplot, new_axes, shared_docstring

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self

LINES = {
    "held_out_agreement": ("held-out agreement", ORANGE, "o-"),
    "agreement": ("agreement of the members", BLUE, "s--"),
    "silhouette": ("silhouette", GREY, "^:"),
}


class NClustersCurveDisplay:
    """Held-out agreement, agreement and silhouette by the number of clusters.

    The dotted line is at .85, from where the clusters of a number count as found again; the largest such number is
    marked. See `skspc.model_selection.n_clusters_curve`.

    Parameters
    ----------
    curve : Bunch or mapping
        Of `skspc.model_selection.n_clusters_curve`: ``n_clusters``, ``best_n_clusters``, ``held_out_agreement``,
        ``agreement``, ``silhouette``, and ``held_out_agreement_std`` if there is one.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from skspc.plotting import NClustersCurveDisplay
    >>> curve = {"n_clusters": [2, 3, 4], "best_n_clusters": 3, "held_out_agreement": [0.7, 1.0, 0.6]}
    >>> curve |= {"agreement": [0.5, 1.0, 0.9], "silhouette": [0.5, 0.7, 0.6]}
    >>> NClustersCurveDisplay(curve).plot().ax_.get_title()
    '3 clusters'
    """

    def __init__(self, curve: Mapping[str, Any]) -> None:
        self.curve = curve

    @classmethod
    @shared_docstring
    def from_estimator(
        cls,
        estimator: Fitted,
        X: ArrayLike,
        *,
        n_clusters: Iterable[int] = range(2, 11),
        n_splits: int = 3,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Compute the curve of an estimator, fitted or not, and draw it. It is kept as ``curve``.

        Parameters
        ----------
        estimator : SPCClustering, or Pipeline that ends in one
        X : array-like of shape (N, n_features), (N, H, W) or (N, C, H, W)
        n_clusters : iterable of int, default=range(2, 11)
            Numbers to try.
        n_splits : int, default=3
            Times that the rows are split in halves.
        {of_model}
        ValueError
            As `skspc.model_selection.n_clusters_curve`.
        """
        import_pyplot(f"{cls.__name__}.from_estimator")
        return cls(n_clusters_curve(estimator, X, n_clusters=n_clusters, n_splits=n_splits)).plot(ax=ax, **kwargs)

    @shared_docstring
    def plot(self, ax: Axes | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes a new figure.

        {plotted}
        """
        from matplotlib.ticker import MaxNLocator

        self.ax_ = new_axes("NClustersCurveDisplay.plot", ax, (7, 4.2))
        self.figure_ = self.ax_.figure
        counts, best = np.asarray(self.curve["n_clusters"]), self.curve["best_n_clusters"]
        held_out, spread = np.asarray(self.curve["held_out_agreement"]), self.curve.get("held_out_agreement_std")
        if best is not None:
            self.ax_.axvline(best, color=DARK, linewidth=6, alpha=0.12)
        self.ax_.axhline(FOUND_AGAIN, color=DARK, linestyle=":", linewidth=1)
        if spread is not None:
            self.ax_.fill_between(counts, held_out - spread, held_out + spread, color=ORANGE, alpha=0.15, linewidth=0)
        for name, (label, colour, line) in LINES.items():
            self.ax_.plot(counts, self.curve[name], line, color=colour, label=label, markersize=5)
        self.ax_.set_title("none is found again" if best is None else f"{best} clusters", fontsize=11)
        self.ax_.set_xlabel("number of clusters", fontsize=11)
        self.ax_.set_ylim(top=1.05)
        self.ax_.xaxis.set_major_locator(MaxNLocator(integer=True))
        self.ax_.spines[["top", "right"]].set_visible(False)
        self.ax_.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return self


class ClusterTreeDisplay:
    """Which clusters merge first, by how often labellings put their rows together.

    Clusters are joined at the share of the labellings that put a row of the one and a row of the other together, the
    mean over such pairs of rows; groups of clusters at the mean of their clusters. It is the evidence accumulation of
    [1]_, with average linkage, between clusters.

    Parameters
    ----------
    linkage : ndarray of shape (C - 1, 4)
        As `scipy.cluster.hierarchy.linkage` makes it; the distance is 1 minus that share.
    names : sequence of str, default=None
        Of the clusters; None is 0, 1, ...

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    References
    ----------
    .. [1] Fred & Jain (2005), "Combining Multiple Clusterings Using Evidence Accumulation".

    Examples
    --------
    >>> from skspc.plotting import ClusterTreeDisplay
    >>> display = ClusterTreeDisplay.from_predictions([0, 0, 1, 2], [[0, 0, 1, 2], [0, 0, 1, 1]])
    >>> display.linkage[:, :3].tolist()
    [[1.0, 2.0, 0.5], [0.0, 3.0, 1.0]]
    """

    def __init__(self, linkage: NDArray[np.float64], names: list[str] | None = None) -> None:
        self.linkage = linkage
        self.names = names

    @classmethod
    @shared_docstring
    def from_estimator(cls, estimator: Fitted, X: object = None, *, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the clusters of a fitted model, by its own labellings.

        These have as many clusters as the fit, and where they agree wholly no two clusters are ever together. Those of
        `skspc.model_selection.n_clusters_curve`, with other numbers, tell more: see `from_predictions`.

        Parameters
        ----------
        estimator : SPCClustering, or Pipeline that ends in one
        X : ignored
        {of_model}
        ValueError
            If there are fewer than two clusters.
        """
        model = fitted_model(estimator, cls.__name__)
        return cls.from_predictions(model.labels_, model.member_labels_, ax=ax, **kwargs)

    @classmethod
    @shared_docstring
    def from_predictions(
        cls, labels: ArrayLike, member_labels: ArrayLike, *, ax: Axes | None = None, **kwargs: Any
    ) -> Self:
        """Draw any clusters, by any labellings of the same rows.

        Parameters
        ----------
        labels : array-like of shape (N,), int
            The clusters; -1 is noise.
        member_labels : array-like of shape (L, N), int
            With any numbers of clusters, whatever their names; ``np.concatenate(curve.member_labels)`` are those of a
            curve. -1 is noise, which is together with none.
        {of_arrays}
        ValueError
            If there are fewer than two clusters, no labelling, or the arrays differ in rows.
        """
        import_pyplot(f"{cls.__name__}.from_predictions")
        checked = check_labels(labels)
        labellings = [check_labels(labelling, "member_labels") for labelling in np.asarray(member_labels)]
        if not labellings:
            raise ValueError("member_labels holds no labelling.")
        check_consistent_length(checked, *labellings)
        clusters = np.unique(checked[checked != NOISE])
        if len(clusters) < 2:
            raise ValueError(f"labels has {len(clusters)} clusters; a tree needs two or more.")
        tree = merge_tree(checked, labellings)
        return cls(tree, [str(cluster) for cluster in clusters]).plot(ax=ax, **kwargs)

    @shared_docstring
    def plot(self, ax: Axes | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes a new figure.

        {plotted}
        """
        from scipy.cluster.hierarchy import dendrogram

        n_clusters = len(self.linkage) + 1
        self.ax_ = new_axes("ClusterTreeDisplay.plot", ax, (max(4.5, 1.5 + 0.35 * n_clusters), 3.8))
        self.figure_ = self.ax_.figure
        dendrogram(
            self.linkage,
            labels=self.names,
            ax=self.ax_,
            color_threshold=0,
            above_threshold_color=BLUE,
            leaf_rotation=0,
            leaf_font_size=10,
        )
        lowest = self.linkage[:, 2].min()
        self.ax_.set_ylim(max(0, lowest - 0.1 * (1 - lowest) - 0.01), 1.0 + 0.02 * (1 - lowest))
        self.ax_.yaxis.set_major_formatter(lambda distance, _: f"{100 * (1 - distance):.3g}")
        self.ax_.set_ylabel("labellings that put them together (%)", fontsize=10)
        self.ax_.set_xlabel("cluster", fontsize=11)
        self.ax_.spines[["top", "right", "bottom"]].set_visible(False)
        self.ax_.tick_params(axis="x", length=0)
        return self
