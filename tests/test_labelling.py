"""One labelling of one latent space."""

import numpy as np
import pytest
import torch
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline

from skspc._constants import NOISE
from skspc.clusterers import (
    HDBSCANCut,
    get_clusterer,
    get_reducer,
)
from skspc.clusterers._labelling import check_count, count_parameter, label_embedding, reduce_space
from skspc.metrics import clustering_accuracy


def groups(labels):
    """Rows of each label, as a set of tuples; noise left out."""
    return {tuple(np.flatnonzero(labels == label).tolist()) for label in set(labels.tolist()) - {NOISE}}


def far_blobs(*sizes, seed=0):
    """Blobs of so many rows each, on a grid ten times as wide as they are."""
    centers = 10.0 * np.array([divmod(i, 5) for i in range(len(sizes))])
    return make_blobs(list(sizes), centers=centers, cluster_std=1.0, random_state=seed)


# One labelling


def label_space(space, clusterer, reducer, n_clusters, seed, device="cpu"):
    embedding = reduce_space(space, reducer, seed, torch.device(device))
    return label_embedding(embedding, clusterer, n_clusters, seed)


class Scripted:
    """No scikit-learn estimator: gives the labels that it was made with, and keeps what it saw."""

    def __init__(self, labels):
        self.labels, self.seen = labels, []

    def fit_predict(self, space):
        self.seen.append(space)
        return self.labels


@pytest.mark.parametrize(
    "given, expected",
    [
        ([0, 1, 2], [0, 1, 2]),
        ([5, 2, 5, 9], [1, 0, 1, 2]),
        ([-1, 3, -2, 0], [NOISE, 1, NOISE, 0]),
        ([-1, -1], [NOISE, NOISE]),
        ([7, 7], [0, 0]),
        (np.array([2, 0], dtype=np.int32), [1, 0]),
        (np.array([2.0, -1.0]), [0, NOISE]),
    ],
)
def test_gaps_are_closed_and_negative_labels_are_noise(given, expected):
    labels = label_space(np.zeros((len(given), 2)), Scripted(given), None, 2, 0)
    assert labels.tolist() == expected
    assert labels.dtype == np.int64


def test_an_object_that_is_no_estimator_works_on_a_copy():
    clusterer = Scripted([0, 1])
    label_space(np.zeros((2, 2)), clusterer, None, 2, 0)
    assert clusterer.seen == []


def make_recorder(log, **parameters):
    """An estimator that logs its parameters when it clusters or reduces."""

    class Recorder(ClusterMixin, BaseEstimator):
        def fit_predict(self, X, y=None):
            log.append(self.get_params())
            return np.zeros(len(X), dtype=int)

        def fit(self, X, y=None):
            """Asked for by pipelines."""

        def fit_transform(self, X, y=None):
            log.append(self.get_params())
            return X[:, :1]

    names = ", ".join(f"{name}=None" for name in parameters)
    body = "; ".join(f"self.{name} = {name}" for name in parameters) or "pass"
    namespace = {}
    exec(f"def __init__(self, {names}): {body}" if names else "def __init__(self): pass", namespace)
    Recorder.__init__ = namespace["__init__"]
    return Recorder(**parameters)


@pytest.mark.parametrize(
    "given, expected",
    [
        ({"n_clusters": 9}, {"n_clusters": 4}),
        ({"n_components": 9}, {"n_components": 4}),
        ({"n_clusters": 9, "n_components": 9}, {"n_clusters": 4, "n_components": 9}),
        ({"random_state": None, "n_clusters": 9}, {"random_state": 17, "n_clusters": 4}),
        ({"other": 1}, {"other": 1}),
        ({}, {}),
    ],
)
def test_a_copy_of_the_clusterer_is_told_the_number_and_the_seed(given, expected):
    log = []
    clusterer = make_recorder(log, **given)
    label_space(np.zeros((3, 2)), clusterer, None, 4, 17)
    assert log == [expected]
    assert clusterer.get_params() == given


def test_a_copy_of_the_reducer_is_told_the_seed_alone():
    log = []
    reducer = make_recorder(log, n_components=2, n_clusters=3, random_state=None)
    label_space(np.zeros((3, 2)), Scripted([0, 0, 1]), reducer, 4, 17)
    assert log == [{"n_components": 2, "n_clusters": 3, "random_state": 17}]
    assert reducer.get_params() == {"n_components": 2, "n_clusters": 3, "random_state": None}


def test_the_clusterer_sees_what_the_reducer_made():
    class Width:
        def fit_predict(self, space):
            return np.arange(len(space)) % space.shape[1]

    space = np.random.default_rng(0).normal(size=(6, 5))
    assert label_space(space, Width(), None, 5, 0).max() == 4
    assert label_space(space, Width(), PCA(2), 5, 0).max() == 1


def test_the_user_s_objects_stay_unfitted():
    X, y = far_blobs(100, 100, 100)
    clusterer, reducer = KMeans(8, n_init=3), PCA(2)
    assert clustering_accuracy(y, label_space(X, clusterer, reducer, 3, 0)) == 1.0
    assert not hasattr(clusterer, "labels_")
    assert not hasattr(reducer, "components_")
    assert (clusterer.n_clusters, clusterer.random_state, reducer.random_state) == (8, None, None)


@pytest.mark.parametrize("clusterer", ["hdbscan", "gmm"])
def test_the_built_ins_label_a_space_the_same_with_the_same_seed(clusterer):
    X, y = make_blobs(90, n_features=6, centers=3, random_state=0)
    one, same = (label_space(X, get_clusterer(clusterer), get_reducer("umap"), 3, 5) for _ in range(2))
    assert one.tolist() == same.tolist()
    assert clustering_accuracy(y, one) == 1.0


def test_labels_of_another_shape_are_refused():
    with pytest.raises(ValueError, match=r"clusterer=.* returned labels of shape \(2,\) for 3 rows\. fit_predict must"):
        label_embedding(np.zeros((3, 2)), Scripted([0, 1]), 2, 0)


@pytest.mark.parametrize("given, expected", [("auto", "meta"), ("cpu", "cpu"), (None, None)])
def test_a_reducer_with_an_automatic_device_is_given_one(given, expected):
    log = []
    reduce_space(np.zeros((3, 2)), make_recorder(log, device=given), 0, torch.device("meta"))
    assert log[0]["device"] == (torch.device(expected) if given == "auto" else expected)


def test_the_last_step_of_a_pipeline_is_told_the_number_and_all_steps_the_seed():
    X, y = far_blobs(*[30] * 4)
    pipeline = make_pipeline(PCA(2), KMeans(n_init=3))
    assert count_parameter(pipeline) == "kmeans__n_clusters"
    assert clustering_accuracy(y, label_embedding(X, pipeline, 4, 0)) == 1.0
    log = []
    label_embedding(X, make_pipeline(PCA(2), make_recorder(log, n_components=1, random_state=None)), 4, 17)
    assert log == [{"n_components": 4, "random_state": 17}]
    assert not hasattr(pipeline[-1], "labels_")


@pytest.mark.parametrize(
    "clusterer, name",
    [
        (KMeans(), "n_clusters"),
        (GaussianMixture(), "n_components"),
        (HDBSCANCut(), "n_clusters"),
        (DBSCAN(), None),
        (make_pipeline(PCA(2), DBSCAN()), None),  # the number of PCA's components is no number of clusters
        (Scripted([0]), None),
    ],
    ids=str,
)
def test_the_parameter_that_sets_the_number_of_clusters(clusterer, name):
    assert count_parameter(clusterer) == name


@pytest.mark.parametrize(
    "clusterer",
    [KMeans(), KMeans(8), KMeans(4), GaussianMixture(), GaussianMixture(4), DBSCAN(), HDBSCANCut("auto"), Scripted([])],
    ids=str,
)
def test_a_number_that_nobody_set_or_the_same_is_replaced_without_a_word(clusterer):
    check_count(clusterer, 4)  # warnings are errors


@pytest.mark.parametrize(
    "clusterer, name",
    [(KMeans(5), "n_clusters"), (GaussianMixture(5), "n_components"), (make_pipeline(KMeans(5)), "kmeans__n_clusters")],
    ids=str,
)
def test_another_number_is_replaced_with_a_warning(clusterer, name):
    with pytest.warns(UserWarning, match=rf"clusterer=.* has {name}=5; it is used with 4, the n_clusters of SPC"):
        check_count(clusterer, 4)


def test_an_automatic_number_needs_a_clusterer_that_finds_one():
    check_count(HDBSCANCut(), "auto")
    check_count(DBSCAN(), "auto")
    with pytest.raises(
        ValueError, match=r"n_clusters='auto' needs .* clusterer=KMeans\(\) does not\. Pass clusterer='h"
    ):
        check_count(KMeans(), "auto")
