"""The number of clusters: what a curve tells, what it shares with a fit, and what it refuses."""

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skspc import SPCClustering
from skspc._method.counts import carry_over, choose_count, mean_rand_index, mean_silhouette, worst_overlap
from skspc.model_selection import n_clusters_curve

QUICK = {"n_estimators": 2, "pretrain_epochs": 10, "random_state": 0}


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(n_samples=90, centers=[[0, 0], [0, 9], [9, 0]], random_state=0)


@pytest.fixture(scope="module")
def curve(blobs):
    return n_clusters_curve(SPCClustering(**QUICK), blobs[0], n_clusters=[4, 2, 3, 3])


def test_blobs_are_found_again_by_their_number_alone(curve, blobs):
    assert curve.n_clusters.tolist() == [2, 3, 4]
    assert curve.best_n_clusters == 3
    assert curve.held_out_agreement[1] > 0.95
    assert curve.held_out_agreement[[0, 2]].max() < 0.85
    assert len(set(zip(curve.labels[1].tolist(), blobs[1].tolist(), strict=True))) == 3
    assert curve.silhouette.argmax() == 1


def test_labels_are_those_with_which_a_fit_begins(curve, blobs):
    for index, n_clusters in enumerate([2, 3, 4]):
        model = SPCClustering(n_clusters, max_iter=0, **QUICK).fit(blobs[0])
        np.testing.assert_array_equal(curve.member_labels[index], model.member_labels_)
        assert curve.agreed_share[index] == pytest.approx(model.agreed_.mean())


def test_a_seed_gives_the_same_curve_and_leaves_the_estimator_alone(curve, blobs):
    random_state = np.random.RandomState(3)
    model = SPCClustering(**(QUICK | {"random_state": random_state}))
    before = model.get_params(), random_state.get_state()[1].tolist()
    first, second = (n_clusters_curve(model, blobs[0], n_clusters=[2, 3], n_splits=1) for _ in range(2))
    for name in ("held_out_agreement", "agreement", "silhouette", "labels"):
        np.testing.assert_array_equal(first[name], second[name])
    assert (model.get_params(), random_state.get_state()[1].tolist()) == before
    assert not hasattr(model, "labels_")


def test_equal_rows_share_their_labels(blobs):
    X = np.concatenate([blobs[0], blobs[0][:30]])
    curve = n_clusters_curve(SPCClustering(**QUICK), X, n_clusters=[3], n_splits=1)
    np.testing.assert_array_equal(curve.labels[:, 90:], curve.labels[:, :30])
    assert curve.member_labels[0].shape[1] == 120


def test_images_and_a_single_member(few_steps):
    images = np.random.default_rng(0).normal(size=(40, 8, 8))
    images[:20] += 8
    model = SPCClustering(n_estimators=1, reducer=None, clusterer="kmeans", random_state=0)
    curve = n_clusters_curve(model, images, n_clusters=[2, 3], n_splits=1)
    assert np.isnan(curve.agreement).all()
    assert curve.held_out_agreement[0] == 1.0


def test_a_pipeline_hands_its_rows_on(blobs):
    options = {"reducer": None, "clusterer": "kmeans", **QUICK}
    pipeline = make_pipeline(FunctionTransformer(lambda X: X[:, :1]), SPCClustering(**options))
    of_pipeline = n_clusters_curve(pipeline, blobs[0], n_clusters=[2], n_splits=1)
    alone = n_clusters_curve(SPCClustering(**options), blobs[0][:, :1], n_clusters=[2], n_splits=1)
    np.testing.assert_array_equal(of_pipeline.labels, alone.labels)


class Halves:
    """A clusterer that never finds more than two clusters."""

    def __init__(self, n_clusters=2):
        self.n_clusters = n_clusters

    def get_params(self, deep=True):
        return {"n_clusters": self.n_clusters}

    def set_params(self, n_clusters):
        self.n_clusters = n_clusters
        return self

    def fit_predict(self, X):
        return (X[:, 0] > X[:, 0].mean()).astype(int)


def test_a_number_that_no_labelling_has_has_no_figures(blobs):
    model = SPCClustering(clusterer=Halves(), reducer=None, **QUICK)
    curve = n_clusters_curve(model, blobs[0], n_clusters=[2, 3], n_splits=1)
    assert np.isfinite(curve.held_out_agreement[0])
    assert np.isnan([curve[name][1] for name in ("held_out_agreement", "agreement", "silhouette")]).all()
    assert (curve.labels[1] == -1).all()
    assert curve.member_labels[1].shape == (0, 90)


@pytest.mark.parametrize(
    "n_clusters, message",
    [
        ([], r"n_clusters=\[\] holds no number. Pass several whole numbers from 2 up"),
        (5, "n_clusters=5 is no series of numbers"),
        ([3, 1], "n_clusters holds 1. Pass several whole numbers"),
        ([2.5], "n_clusters holds 2.5"),
        ([True, 2], "n_clusters holds True"),
        ([2, 45], "n_clusters holds 45, and each half of the 90 distinct rows of X needs more rows than clusters"),
        ([2, 91], "n_samples=90 is less than n_clusters=91"),
    ],
)
def test_wrong_numbers_are_refused(n_clusters, message, blobs):
    with pytest.raises(ValueError, match=message):
        n_clusters_curve(SPCClustering(**QUICK), blobs[0], n_clusters=n_clusters)


def test_other_wrong_arguments_are_refused(blobs):
    with pytest.raises(ValueError, match="n_splits=0 must be a whole number of at least 1"):
        n_clusters_curve(SPCClustering(**QUICK), blobs[0], n_splits=0)
    with pytest.raises(ValueError, match="has no n_clusters or n_components to set: it finds a number itself"):
        n_clusters_curve(SPCClustering(clusterer=DBSCAN()), blobs[0])
    with pytest.raises(ValueError, match="'n_estimators' parameter of SPCClustering"):
        n_clusters_curve(SPCClustering(n_estimators=0), blobs[0])
    with pytest.raises(TypeError, match="n_clusters_curve takes an SPCClustering, or a Pipeline .* not KMeans"):
        n_clusters_curve(KMeans(2), blobs[0])


def test_the_overlap_of_the_worst_cluster_counts():
    labels = np.array([0, 0, 0, 0, 1, 1, -1])
    assert worst_overlap(labels, np.array([1, 1, 1, 1, 0, 0, 2])) == 1.0
    assert worst_overlap(labels, np.array([0, 0, 0, 0, 0, 1, -1])) == 0.5
    assert worst_overlap(labels, np.full(7, 0)) == pytest.approx(2 / 7)  # a small cluster that is lost is seen
    assert worst_overlap(labels, np.full(7, -1)) == 0.0


def test_labels_are_carried_over_by_the_nearest_rows():
    known, unseen = np.array([[0.0]] * 5 + [[9.0]] * 5 + [[30.0]] * 5), np.array([[8.0], [1.0], [31.0]])
    labels = np.repeat([0, 1, -1], 5)
    assert carry_over([(known, unseen)], labels).tolist() == [1, 0, -1]
    assert carry_over([(known, unseen), (known, unseen[[0, 0, 0]])], labels)[2] == 1  # noise gives no vote
    assert carry_over([(known[4:6], unseen)], np.array([0, 1])).tolist() == [0, 0, 0]  # a tie


def test_figures_of_known_labellings():
    assert mean_rand_index([np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0])]) == 1.0
    assert np.isnan(mean_rand_index([np.array([0, 1])]))
    space = np.array([[0.0], [0.1], [9.0], [9.1]])
    assert mean_silhouette([space], np.array([0, 0, 1, 1]), 0) > 0.9
    assert np.isnan(mean_silhouette([space], np.array([0, 0, 0, -1]), 0))


def test_the_largest_number_that_is_found_again_is_chosen():
    assert choose_count([2, 3, 4, 5], [1.0, 0.5, 0.85, 0.84]) == 4
    assert choose_count([2, 3], [0.8, np.nan]) is None
