"""Clusterers of scikit-learn, set up for latents: a mixture that is not left to chance, merging of many rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import AgglomerativeClustering
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import NearestNeighbors

from .._runtime.quiet import dependencies_quiet

if TYPE_CHECKING:
    from typing_extensions import Self

MAX_DENSE_ROWS = 10_000  # all distances of so many rows take 400 MB


class WrappedClusterer(ClusterMixin, BaseEstimator):
    """What the clusterers of this file share: ``labels_`` are those of the one that ``_make`` returns."""

    def _make(self, n_rows: int) -> Any:
        """Return scikit-learn's clusterer."""
        raise NotImplementedError

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Cluster X.

        Parameters
        ----------
        X : array-like of shape (N, d)
        y : ignored

        Returns
        -------
        self
        """
        # One labelling of many: that it stopped early, or joined the parts of a graph, shows in its votes.
        with dependencies_quiet():
            self.labels_ = self._make(np.shape(X)[0]).fit_predict(X)
        return self


class GaussianMixtureClusterer(WrappedClusterer):
    """scikit-learn's GaussianMixture, the best of ten initialisations (one loses up to 16 points).

    Parameters
    ----------
    n_clusters : int, default=8
        Number of components, each of which is a cluster.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        Form of the covariances, as in `sklearn.mixture.GaussianMixture`.
    n_init : int, default=10
        Initialisations, of which the best is kept.
    random_state : None, int or RandomState, default=None
        Seeds the initialisations.

    Attributes
    ----------
    labels_ : ndarray of shape (N,)
        Without noise.

    Examples
    --------
    >>> import numpy as np
    >>> from skspc.clusterers import GaussianMixtureClusterer
    >>> rows = np.concatenate([np.linspace(0, 1, 30), np.linspace(5, 6, 30)])[:, None]
    >>> np.bincount(GaussianMixtureClusterer(n_clusters=2, random_state=0).fit_predict(rows))
    array([30, 30])
    """

    def __init__(
        self,
        n_clusters: int = 8,
        covariance_type: Literal["full", "tied", "diag", "spherical"] = "full",
        n_init: int = 10,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.covariance_type = covariance_type
        self.n_init = n_init
        self.random_state = random_state

    def _make(self, n_rows: int) -> Any:
        settings = {"covariance_type": self.covariance_type, "n_init": self.n_init, "random_state": self.random_state}
        return GaussianMixture(self.n_clusters, **settings)


class AgglomerativeClusterer(WrappedClusterer):
    """scikit-learn's AgglomerativeClustering; above 10 000 rows only neighbours are merged, or memory would not do.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    linkage : {"ward", "complete", "average", "single"}, default="ward"
        How the distance of two clusters is told, as in `sklearn.cluster.AgglomerativeClustering`.
    n_neighbors : int, default=15
        Neighbours of a row that it may be merged with, where rows are more than 10 000.

    Attributes
    ----------
    labels_ : ndarray of shape (N,)
        Without noise.

    Examples
    --------
    >>> from skspc.clusterers import AgglomerativeClusterer
    >>> AgglomerativeClusterer(n_clusters=2).fit_predict([[0.0], [1.0], [9.0], [9.5]])
    array([0, 0, 1, 1])
    """

    def __init__(
        self,
        n_clusters: int = 8,
        linkage: Literal["ward", "complete", "average", "single"] = "ward",
        n_neighbors: int = 15,
    ) -> None:
        self.n_clusters = n_clusters
        self.linkage = linkage
        self.n_neighbors = n_neighbors

    def _make(self, n_rows: int) -> Any:
        connectivity = self._neighbor_graph if n_rows > MAX_DENSE_ROWS else None
        return AgglomerativeClustering(self.n_clusters, linkage=self.linkage, connectivity=connectivity)

    def _neighbor_graph(self, X: ArrayLike) -> Any:
        # By all distances: scikit-learn's trees are asked through joblib, which sets the warnings of the whole process.
        return NearestNeighbors(n_neighbors=self.n_neighbors, algorithm="brute").fit(X).kneighbors_graph()
