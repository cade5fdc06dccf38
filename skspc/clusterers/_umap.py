"""UMAP by umap-learn, with settings for clustering."""

import warnings

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors

N_EPOCHS = 200
MIN_NEIGHBORS, MAX_NEIGHBORS = 12, 30
NEIGHBORS_PER_ROW = 30 / 70_000
MAX_EXACT_ROWS = 20_000  # above, pynndescent is faster than all distances
_MIN_ROWS = 8  # below, a neighbour graph of the rows is all but complete
_MIN_SPECTRAL_ROWS = 50


class UMAPReducer(TransformerMixin, BaseEstimator):
    """Reduce latents to a few dimensions in which clusters are dense and apart.

    Parameters
    ----------
    n_neighbors : int or "auto", default="auto"
        "auto" is 30 for 70 000 rows, in proportion elsewhere (the paper's rule), but at least 12: below, clusters
        fall apart. Never more than the rows allow.
    n_components : int, default=2
    min_dist : float, default=0.0
        Least distance of points in the embedding; 0 packs clusters most.
    n_epochs : int, default=200
    random_state : None, int or RandomState, default=None

    Notes
    -----
    Fewer than 8 rows are reduced by PCA.

    References
    ----------
    McInnes, Healy & Melville (2018), "UMAP: Uniform Manifold Approximation and Projection".
    """

    def __init__(self, n_neighbors="auto", n_components=2, min_dist=0.0, n_epochs=N_EPOCHS, random_state=None):
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.min_dist = min_dist
        self.n_epochs = n_epochs
        self.random_state = random_state

    def fit(self, X, y=None):
        """Embed X; the result is ``embedding_``.

        Parameters
        ----------
        X : ndarray of shape (N, m)
        y : ignored

        Returns
        -------
        self
        """
        if len(X) < _MIN_ROWS:
            n_components = min(self.n_components, *X.shape)
            self.embedding_ = PCA(n_components, svd_solver="full").fit_transform(X)
            return self
        if self.n_neighbors != "auto" and self.n_neighbors < 2:
            raise ValueError(f"n_neighbors={self.n_neighbors!r} must be 'auto' or at least 2.")
        import umap  # late: it takes seconds

        X = np.ascontiguousarray(X, dtype=np.float32)
        n_neighbors = default_n_neighbors(len(X)) if self.n_neighbors == "auto" else self.n_neighbors
        n_neighbors = min(n_neighbors, len(X) - 1)
        exact = exact_neighbors(X, n_neighbors) if len(X) <= MAX_EXACT_ROWS else (None, None)
        reducer = umap.UMAP(
            n_neighbors=n_neighbors,
            precomputed_knn=exact,
            n_components=self.n_components,
            min_dist=self.min_dist,
            n_epochs=self.n_epochs,
            init="spectral" if len(X) >= _MIN_SPECTRAL_ROWS else "random",
            random_state=self.random_state,
            n_jobs=1,  # what umap-learn falls back to for a seed, with a warning
        )
        with warnings.catch_warnings():
            # What umap-learn and pynndescent warn of (components apart, few neighbours) is no fault of the user's.
            warnings.simplefilter("ignore")
            self.embedding_ = reducer.fit_transform(X)
        return self

    def fit_transform(self, X, y=None):
        """Embed X.

        Returns
        -------
        embedding : ndarray of shape (N, n_components)
        """
        return self.fit(X).embedding_

    def transform(self, X):
        """Not offered: new rows get their labels from the encoders and heads."""
        raise NotImplementedError("UMAPReducer embeds the rows it was fitted on; use fit_transform.")


def default_n_neighbors(n_rows):
    """30 neighbours for 70 000 rows, in proportion elsewhere, between 12 and 30."""
    return int(np.clip(round(NEIGHBORS_PER_ROW * n_rows), MIN_NEIGHBORS, MAX_NEIGHBORS))


def exact_neighbors(X, n_neighbors):
    """Find nearest neighbours, each row the first of its own.

    umap-learn's own way for small data calls Python once a pair of rows: 2 s for 1 800 rows, against 0.05 s.

    Returns
    -------
    indices, distances : ndarray of shape (N, n_neighbors)
    """
    finder = NearestNeighbors(n_neighbors=n_neighbors - 1, algorithm="brute").fit(X)
    distances, indices = finder.kneighbors()  # of the rows themselves: without the row
    own = np.arange(len(X))[:, None]
    return np.hstack([own, indices]), np.hstack([np.zeros_like(distances[:, :1]), distances])
