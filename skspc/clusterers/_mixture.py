"""Gaussian mixture, as a clusterer."""

from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.mixture import GaussianMixture

from .._runtime.quiet import dependencies_quiet


class GaussianMixtureClusterer(ClusterMixin, BaseEstimator):
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
        Of the initialisations.

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

    def __init__(self, n_clusters=8, covariance_type="full", n_init=10, random_state=None):
        self.n_clusters = n_clusters
        self.covariance_type = covariance_type
        self.n_init = n_init
        self.random_state = random_state

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
        mixture = GaussianMixture(
            self.n_clusters,
            covariance_type=self.covariance_type,
            n_init=self.n_init,
            random_state=self.random_state,
        )
        with dependencies_quiet():  # one labelling of many: that it stopped early shows in its votes
            self.labels_ = mixture.fit_predict(X)
        return self
