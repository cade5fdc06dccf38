"""HDBSCAN with an exact number of clusters."""

from __future__ import annotations

from functools import cache, partial
from importlib.util import find_spec
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from .._constants import NOISE
from ._condensed import excess_of_mass
from ._cut import cluster_sizes_to_try, cut_tree_exactly, find_n_clusters
from ._kernels import KERNELS_LOCK

if TYPE_CHECKING:
    from typing_extensions import Self

Engine = Literal["auto", "hdbscan", "fast-hdbscan"]
Tree = NDArray[np.float64]
MIN_FAST_ROWS = 50_000  # below, fast-hdbscan's gain is less than a second
_MIN_CLUSTER_SIZE = 2
_ROWS_PER_SAMPLE = 5  # rows of a cluster for each neighbour that makes a row dense


class HDBSCANCut(ClusterMixin, BaseEstimator):
    """HDBSCAN that returns exactly ``n_clusters`` clusters, and noise.

    One linkage tree is computed and read many times, by excess of mass with min_cluster_size from N // C down, and by
    the leaves of the condensed tree. Of the readings with C clusters that leave at most half of the rows as noise, the
    one is taken that persists over most sizes and covers most rows. Where that hardly persists, clusters may be smaller
    than ``min_samples``, and a reading that does persist with half or a third of it, on 95 % of the rows, is taken.
    Where there is none at all, it is the level of the tree with C clusters that covers most rows.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        "auto" is the largest C that excess of mass with min_cluster_size N // (2 C) finds, where that size is at least
        ``min_samples``; 1 if there is none. Where these clusters cover less than 95 % of the rows, it is the C that
        excess of mass finds, covering as many, over the widest range of sizes, if there is one.
    min_samples : int, default=10
        Neighbours that make a row dense, at most; with fewer than 5 times as many rows a cluster, a fifth of these.
    engine : {"auto", "hdbscan", "fast-hdbscan"}, default="auto"
        What computes the tree. "auto" is fast-hdbscan (multicore, in float32) if that package is installed and rows are
        at least 50 000, else hdbscan.

    Attributes
    ----------
    labels_ : ndarray of shape (N,)
        -1 for noise. If the tree has no cut into ``n_clusters``, the clusters of excess of mass, however many.
    n_clusters_ : int

    References
    ----------
    Campello, Moulavi & Sander (2013), "Density-Based Clustering Based on Hierarchical Density Estimates".

    Examples
    --------
    >>> import numpy as np
    >>> from skspc.clusterers import HDBSCANCut
    >>> rows = np.concatenate([np.linspace(0, 1, 30), np.linspace(5, 6, 30)])[:, None]
    >>> np.bincount(HDBSCANCut(n_clusters=2).fit_predict(rows))
    array([30, 30])
    """

    finds_n_clusters = True  # takes n_clusters="auto"

    _parameter_constraints: dict[str, list[Any]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "min_samples": [Interval(Integral, 1, None, closed="left")],
        "engine": [StrOptions({"auto", "hdbscan", "fast-hdbscan"})],
    }

    def __init__(self, n_clusters: int | Literal["auto"] = 8, min_samples: int = 10, engine: Engine = "auto") -> None:
        self.n_clusters = n_clusters
        self.min_samples = min_samples
        self.engine = engine

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Cluster X.

        Parameters
        ----------
        X : ndarray of shape (N, d)
            At least two rows.
        y : ignored

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter is out of its range.
        ImportError
            If ``engine="fast-hdbscan"`` and that package cannot be imported.
        """
        n_rows, n_clusters = np.shape(X)[0], self.n_clusters
        tree_of = cache(partial(single_linkage_tree, X, engine=self.engine))
        if n_clusters == "auto":
            min_samples = min(self.min_samples, n_rows - 1)
            n_clusters = find_n_clusters(tree_of(min_samples), self.min_samples)
        else:
            min_samples = max(1, min(self.min_samples, n_rows // (_ROWS_PER_SAMPLE * n_clusters)))
        sizes = cluster_sizes_to_try(n_rows // n_clusters, _MIN_CLUSTER_SIZE)
        labels = cut_tree_exactly(tree_of, n_clusters, sizes, min_samples)
        if labels is None:
            labels = excess_of_mass(tree_of(min_samples), max(n_rows // (2 * n_clusters), _MIN_CLUSTER_SIZE))
        self.labels_ = labels.astype(np.int64)
        self.n_clusters_ = int(self.labels_.max()) + 1 if (self.labels_ != NOISE).any() else 0
        return self


def single_linkage_tree(X: ArrayLike, min_samples: int, engine: Engine = "hdbscan") -> Tree:
    """Compute HDBSCAN's single-linkage tree of mutual reachability distances: (N - 1, 4)."""
    X = np.asarray(X, dtype=np.float64)
    if engine == "fast-hdbscan" or (engine == "auto" and len(X) >= MIN_FAST_ROWS and find_spec("fast_hdbscan")):
        return _fast_tree(X, min_samples)
    import hdbscan  # late: it takes a second

    model = hdbscan.HDBSCAN(min_samples=min_samples, min_cluster_size=2, core_dist_n_jobs=1)
    return cast(Tree, model.fit(X).single_linkage_tree_.to_numpy())


def _fast_tree(X: NDArray[np.float64], min_samples: int) -> Tree:
    try:
        from fast_hdbscan.hdbscan import fast_hdbscan
    except ImportError as error:
        raise ImportError(
            "engine='fast-hdbscan' needs the package fast-hdbscan: pip install fast-hdbscan, or engine='hdbscan'."
        ) from error
    with KERNELS_LOCK:
        found = fast_hdbscan(X, min_samples=min_samples, min_cluster_size=2, reproducible=True, return_trees=True)
    return cast(Tree, found[2])
