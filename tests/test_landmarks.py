"""Very many rows: a sample of them is labelled, and the others are as their neighbours in it."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import NearestNeighbors

from skspc import SPCClustering
from skspc._constants import NOISE
from skspc._method.landmarks import draw_landmarks, label_by_landmarks, label_of_most, spread_labels
from skspc.model_selection import n_clusters_curve

FAST = {"clusterer": "kmeans", "reducer": None, "n_estimators": 2, "pretrain_epochs": 3, "epochs": 1, "random_state": 0}


def test_landmarks_are_drawn_where_rows_are_more():
    assert draw_landmarks(7, None, 0) is None
    assert draw_landmarks(7, 7, 0) is None
    drawn = [draw_landmarks(100, 30, seed).tolist() for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert drawn[0] == sorted(set(drawn[0]) & set(range(100)))
    assert len(drawn[0]) == 30


@pytest.mark.parametrize(
    "near, label",
    [
        ([2, 2, 0, 0, 0], 0),
        ([2, 0, 2, 0, 1], 2),  # as common as 0, and nearer
        ([0, NOISE, NOISE, 1, 1], 1),
        ([0, NOISE, NOISE, 1, 2], 0),
        ([NOISE, NOISE, 0, 0], 0),  # half is not most
        ([NOISE, 1, 1, NOISE, NOISE], NOISE),
        ([NOISE] * 5, NOISE),
        ([3], 3),
    ],
)
def test_a_row_is_as_most_of_the_landmarks_near_it(near, label):
    assert label_of_most(np.array([near])).tolist() == [label]


@pytest.mark.parametrize("n_features", [2, 12])
def test_neighbours_found_in_cells_are_those_by_all_distances(n_features):
    space, blob = make_blobs(3000, n_features, centers=6, cluster_std=2.0, random_state=0)
    space = (space + 1000).astype(np.float32)  # far from zero, where products lose digits
    landmarks = draw_landmarks(len(space), 900, 0)
    labels = np.where(np.arange(900) % 10 == 0, NOISE, blob[landmarks])
    found = label_by_landmarks((space, landmarks, labels))
    assert (found[landmarks] == labels).all()
    finder = NearestNeighbors(n_neighbors=5, algorithm="brute").fit(space[landmarks])
    others = np.delete(np.arange(len(space)), landmarks)
    expected = label_of_most(labels[finder.kneighbors(space[others], return_distance=False)])
    assert (found[others] == expected).mean() > 0.98


def test_few_landmarks_and_equal_rows_are_no_trouble():
    space = np.zeros((50, 3), dtype=np.float32)
    assert set(label_by_landmarks((space, np.arange(40), np.repeat([0, 1], 20))).tolist()) == {0, 1}
    space[:25] = 1
    assert label_by_landmarks((space, np.array([0, 49]), np.array([1, 0])))[[1, 48]].tolist() == [1, 0]


def test_labels_do_not_depend_on_the_jobs():
    space = np.random.default_rng(0).normal(size=(400, 3))
    landmarks, labels = np.arange(0, 400, 4), np.arange(100) % 5
    at_once = [spread_labels({0: space, 3: -space}, {0: labels, 3: labels}, landmarks, n_jobs) for n_jobs in (1, 2)]
    for i in (0, 3):
        assert np.array_equal(at_once[0][i], at_once[1][i])
    assert np.array_equal(at_once[0][0], at_once[0][3])


def test_a_fit_finds_the_clusters_by_a_part_of_the_rows(blobs):
    X, truth = blobs
    model = SPCClustering(3, **FAST | {"reducer": "umap", "clusterer": "auto"}, max_iter=0, max_landmarks=100)
    assert adjusted_rand_score(truth, model.fit_predict(X)) == 1.0
    assert model.member_labels_.shape[1] == len(X)
    assert model.history_[0]["n_rows"] == len(X)


def test_landmarks_as_many_as_rows_change_nothing(blobs):
    models = [SPCClustering(3, **FAST, max_iter=1, max_landmarks=n).fit(blobs[0]) for n in (150, None)]
    assert np.array_equal(models[0].member_labels_, models[1].member_labels_)
    assert np.array_equal(models[0].predict_proba(blobs[0]), models[1].predict_proba(blobs[0]))


def test_known_rows_keep_their_labels(blobs):
    X, truth = blobs
    known = np.where(np.arange(len(X)) % 15 == 0, 2 - truth, NOISE)
    model = SPCClustering(3, **FAST, max_iter=0, max_landmarks=60).fit(X, known_labels=known)
    assert (model.labels_ == 2 - truth).mean() > 0.99
    assert (model.labels_[known != NOISE] == known[known != NOISE]).all()


def test_a_cluster_is_split_by_a_part_of_its_rows():
    X, blob = make_blobs(300, centers=[[0, 0], [0, 4], [99, 9]], cluster_std=0.3, random_state=0)
    model = SPCClustering(2, **FAST, max_iter=0, max_landmarks=50).fit(X)
    parts = model.split(model.labels_[blob == 0][0], 2, X)
    assert adjusted_rand_score(blob, parts.labels_) == 1.0


def test_a_curve_of_numbers_is_drawn_by_a_part_of_the_rows():
    X, blob = make_blobs(200, centers=[[0, 0], [0, 9], [9, 0]], random_state=0)
    model = SPCClustering(**FAST | {"pretrain_epochs": 20}, max_landmarks=80)
    curve = n_clusters_curve(model, X, n_clusters=[2, 3], n_splits=1)
    assert curve.best_n_clusters == 3
    assert adjusted_rand_score(blob, curve.labels[1]) == 1.0
    assert curve.member_labels[1].shape == (3, 200)
    with pytest.raises(ValueError, match="half of the 80 rows that are clustered .* below 40, or raise max_landmarks"):
        n_clusters_curve(model, X, n_clusters=[2, 40])


@pytest.mark.parametrize("max_landmarks", [0, 1, 2.5, "auto"])
def test_wrong_numbers_of_landmarks_are_refused(max_landmarks, blobs):
    with pytest.raises(ValueError, match="'max_landmarks' parameter of SPCClustering must be"):
        SPCClustering(3, max_landmarks=max_landmarks).fit(blobs[0])


def test_fewer_landmarks_than_clusters_are_refused(blobs):
    with pytest.raises(
        ValueError, match=r"max_landmarks=20 is too few for n_clusters=20: of 150 .* max_landmarks=None"
    ):
        SPCClustering(20, max_landmarks=20).fit(blobs[0])


def test_fewer_landmarks_than_known_clusters_are_refused(blobs, quick):
    """Where the number is not told, too."""
    known = np.full(len(blobs[0]), NOISE)
    known[:25] = np.arange(25)
    with pytest.raises(ValueError, match=r"max_landmarks=20 is too few for n_clusters=25: of 150 "):
        SPCClustering("auto", max_landmarks=20, **quick).fit(blobs[0], known_labels=known)
