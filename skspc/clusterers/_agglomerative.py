"""Agglomerative clustering that many rows do not overwhelm."""

from functools import partial

from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import AgglomerativeClustering
from sklearn.neighbors import kneighbors_graph

from .._runtime.quiet import dependencies_quiet

MAX_DENSE_ROWS = 10_000  # all distances of so many rows take 400 MB


class AgglomerativeClusterer(ClusterMixin, BaseEstimator):
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

    def __init__(self, n_clusters=8, linkage="ward", n_neighbors=15):
        self.n_clusters = n_clusters
        self.linkage = linkage
        self.n_neighbors = n_neighbors

    def fit(self, X, y=None):
        """Cluster X.

        Parameters
        ----------
        X : array-like of shape (N, d)
        y : ignored

        Returns
        -------
        self
        """
        neighbors = partial(kneighbors_graph, n_neighbors=self.n_neighbors, include_self=False)
        model = AgglomerativeClustering(
            self.n_clusters,
            linkage=self.linkage,
            connectivity=neighbors if len(X) > MAX_DENSE_ROWS else None,
        )
        with dependencies_quiet():  # of a graph in parts, which are joined
            self.labels_ = model.fit_predict(X)
        return self
