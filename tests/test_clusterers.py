"""Clusterers other than HDBSCANCut."""

from functools import partial

import numpy as np
import pytest
from sklearn.cluster import AgglomerativeClustering
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from skspc._constants import NOISE
from skspc.clusterers import (
    AgglomerativeClusterer,
    GaussianMixtureClusterer,
    _wrapped,
)
from skspc.metrics import clustering_accuracy


def groups(labels):
    """Rows of each label, as a set of tuples; noise left out."""
    return {tuple(np.flatnonzero(labels == label).tolist()) for label in set(labels.tolist()) - {NOISE}}


def far_blobs(*sizes, seed=0):
    """Blobs of so many rows each, on a grid ten times as wide as they are."""
    centers = 10.0 * np.array([divmod(i, 5) for i in range(len(sizes))])
    return make_blobs(list(sizes), centers=centers, cluster_std=1.0, random_state=seed)


# Gaussian mixture


def test_the_mixture_is_scikit_learns():
    X, _ = make_blobs(200, centers=4, cluster_std=2.0, random_state=0)
    expected = GaussianMixture(4, n_init=10, random_state=3).fit_predict(X)
    assert GaussianMixtureClusterer(4, random_state=3).fit_predict(X).tolist() == expected.tolist()


def test_the_mixture_finds_blobs():
    X, y = far_blobs(*[50] * 6)
    assert clustering_accuracy(y, GaussianMixtureClusterer(6, random_state=0).fit_predict(X)) == 1.0


def test_the_mixture_passes_its_settings_on():
    X, _ = make_blobs(100, centers=3, cluster_std=3.0, random_state=0)
    settings = {"covariance_type": "spherical", "n_init": 2, "random_state": 5}
    expected = GaussianMixture(5, **settings).fit_predict(X)
    assert GaussianMixtureClusterer(5, **settings).fit_predict(X).tolist() == expected.tolist()


def test_the_mixture_does_not_warn_that_it_stopped_early(monkeypatch):
    X = np.random.default_rng(0).random((60, 2))
    hasty = partial(GaussianMixture, max_iter=1)
    with pytest.warns(ConvergenceWarning):
        hasty(5).fit(X)
    monkeypatch.setattr(_wrapped, "GaussianMixture", hasty)
    GaussianMixtureClusterer(5).fit(X)


def test_a_mixture_of_more_parts_than_rows_is_refused():
    with pytest.raises(ValueError, match=r"n_components.*n_samples"):
        GaussianMixtureClusterer(5).fit(np.eye(3))


# Agglomerative


def test_agglomerative_finds_blobs_and_passes_its_settings_on():
    X, y = far_blobs(*[30] * 5)
    assert clustering_accuracy(y, AgglomerativeClusterer(5).fit_predict(X)) == 1.0
    X, _ = make_blobs(200, centers=4, cluster_std=3.0, random_state=0)
    expected = AgglomerativeClustering(4, linkage="single").fit_predict(X)
    assert AgglomerativeClusterer(4, linkage="single").fit_predict(X).tolist() == expected.tolist()


def test_many_rows_are_merged_with_neighbours_alone(monkeypatch):
    monkeypatch.setattr(_wrapped, "MAX_DENSE_ROWS", 100)
    X, y = far_blobs(*[30] * 5)  # whose graph is in parts: no warning
    assert clustering_accuracy(y, AgglomerativeClusterer(5, n_neighbors=5).fit_predict(X)) == 1.0
