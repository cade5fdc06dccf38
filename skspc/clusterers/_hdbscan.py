"""HDBSCAN with an exact number of clusters."""

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin

from .._constants import NOISE
from ._cut import cluster_sizes_to_try, cut_tree_exactly, excess_of_mass

_MIN_CLUSTER_SIZE = 2


class HDBSCANCut(ClusterMixin, BaseEstimator):
    """HDBSCAN that returns exactly ``n_clusters`` clusters, and noise.

    One linkage tree is computed and read many times: excess of mass with min_cluster_size N // (2 C), then smaller
    ones, as long as at most half of the rows are noise; then the cut of the tree that covers most rows.

    Parameters
    ----------
    n_clusters : int, default=8
    min_samples : int, default=10
        Neighbours that make a row dense; fewer where the first min_cluster_size is less.

    Attributes
    ----------
    labels_ : ndarray of shape (N,)
        -1 for noise. If the tree has no cut into ``n_clusters``, the clusters of excess of mass, however many.

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

    def __init__(self, n_clusters=8, min_samples=10):
        self.n_clusters = n_clusters
        self.min_samples = min_samples

    def fit(self, X, y=None):
        """Cluster X.

        Parameters
        ----------
        X : ndarray of shape (N, d)
            At least two rows.
        y : ignored

        Returns
        -------
        self
        """
        n_rows = len(X)
        balanced = n_rows // (2 * self.n_clusters)
        tree = single_linkage_tree(X, max(1, min(self.min_samples, balanced)))
        sizes = cluster_sizes_to_try(balanced, _MIN_CLUSTER_SIZE)
        labels = cut_tree_exactly(tree, self.n_clusters, sizes)
        if labels is None:
            labels = excess_of_mass(tree, sizes[0])
        self.labels_ = labels.astype(np.int64)
        self.n_clusters_ = int(self.labels_.max()) + 1 if (self.labels_ != NOISE).any() else 0
        return self


def single_linkage_tree(X, min_samples):
    """Compute HDBSCAN's single-linkage tree of mutual reachability distances: (N - 1, 4)."""
    import hdbscan  # late: it takes a second

    model = hdbscan.HDBSCAN(min_samples=min_samples, min_cluster_size=2, core_dist_n_jobs=1)
    return model.fit(np.asarray(X, dtype=np.float64)).single_linkage_tree_.to_numpy()
