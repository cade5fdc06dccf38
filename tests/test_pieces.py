"""Graphs of neighbours in many pieces, and the neighbours that UMAP has more of then."""

import warnings

import numpy as np
import pytest
import torch
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA

from skspc import SPCClustering
from skspc._constants import NOISE
from skspc._method import rounds
from skspc._method.rounds import Labelled, relabel_by_more_neighbors
from skspc.clusterers import HDBSCANCut, UMAPReducer, _pieces, _umap_learn, _umap_torch
from skspc.clusterers._pieces import eigenvalue_after, has_more_pieces
from skspc.metrics import clustering_accuracy

N_ROWS = 300


def neighbors_of(X, n_neighbors=12):
    return _umap_learn.neighbors_of(np.asarray(X, dtype=np.float32), n_neighbors, 0)


def windows(n_series, n_windows, seed=0):
    """Windows of smooth series (n_series * n_windows, 6), each of which lies next to those before and after it.

    Half of the series are of one kind and half of another.
    """
    rng = np.random.default_rng(seed)
    times = np.linspace(0, 2 * np.pi, n_windows, endpoint=False)
    waves = np.stack([np.cos(times), np.sin(times), np.cos(2 * times), np.sin(2 * times)])  # (4, n_windows)
    series = np.einsum("sfw,wt->stf", rng.normal(size=(n_series, 6, 4)), waves)
    kinds = np.arange(n_series) % 2
    return (series + 12 * kinds[:, None, None]).reshape(-1, 6), np.repeat(kinds, n_windows)


@pytest.mark.parametrize("n_rows", [200, 1000])  # by all eigenvalues, and by the largest
def test_blobs_far_apart_are_the_pieces(n_rows):
    found = neighbors_of(make_blobs(n_rows, n_features=5, centers=100 * np.eye(5), random_state=0)[0])
    assert [has_more_pieces(found, n) for n in (3, 4, 5, 6)] == [True, True, False, False]


@pytest.mark.parametrize("n_rows", [40, 100])
def test_parts_that_few_edges_join_are_pieces_too(n_rows):
    """Six cliques, of which an edge joins each to the next."""
    first = np.arange(6 * n_rows) // n_rows * n_rows
    found = first[:, None] + np.argsort(np.random.default_rng(0).random((6 * n_rows, n_rows)), axis=1)
    borders = np.arange(1, 6) * n_rows
    found[borders, 0] = borders - 1
    assert [has_more_pieces(found, n) for n in (1, 5, 6, 7)] == [True, True, False, False]


@pytest.mark.parametrize("n_series, n_pieces", [(30, 6), (12, 6), (40, 9)])
def test_copies_of_an_eigenvalue_are_all_seen(n_series, n_pieces, monkeypatch):
    """A graph in several components has eigenvalue 0 several times, which ARPACK may pass over."""
    found = neighbors_of(windows(n_series, 40)[0])
    by_arpack = eigenvalue_after(found, n_pieces)
    monkeypatch.setattr(_pieces, "_DENSE_ROWS", len(found))
    assert by_arpack == pytest.approx(eigenvalue_after(found, n_pieces), abs=1e-9)


def test_components_of_near_pieces():
    """Twenty components, each of two cliques that an edge joins."""
    size, n_cliques = 15, 40
    first = np.arange(size * n_cliques) // size * size
    found = first[:, None] + np.arange(size)
    found[np.arange(size, len(found), 2 * size), 0] -= 1
    assert [has_more_pieces(found, n) for n in (19, 20, 39, 40)] == [True, True, True, False]


def test_rows_without_neighbours_are_pieces():
    found = np.vstack([np.tile(np.arange(20), (20, 1)), np.tile(np.arange(20, 24)[:, None], 20)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [has_more_pieces(found, n) for n in (4, 5)] == [True, False]


def test_what_is_not_found_is_no_piece(monkeypatch):
    found = neighbors_of(windows(30, 40)[0])
    monkeypatch.setattr(_pieces, "_MOST_ITERATIONS", 1)
    assert eigenvalue_after(found, 60) == np.inf


def test_one_cloud_is_one_piece():
    assert not has_more_pieces(neighbors_of(np.random.default_rng(0).normal(size=(500, 8))), 1)


def test_the_order_of_rows_and_the_row_itself_change_nothing():
    X, _ = windows(20, 40)
    order = np.random.default_rng(0).permutation(len(X))
    for n in (6, 12, 18, 24, 48):
        found = neighbors_of(X)
        assert (
            has_more_pieces(found, n) == has_more_pieces(neighbors_of(X[order]), n) == has_more_pieces(found[:, 1:], n)
        )


@pytest.mark.parametrize("n_pieces", [9, 10, 11, 300])
def test_no_more_pieces_than_rows(n_pieces):
    everyone = np.tile(np.arange(10), (10, 1))
    assert not has_more_pieces(everyone, n_pieces)


@pytest.mark.parametrize("engine", ["umap-learn", "torch"])
def test_windows_of_series_need_more_neighbors(engine):
    X, _ = windows(20, 60)
    reducer = UMAPReducer(engine=engine, rows_per_cluster=600, device="cpu", random_state=0)
    found = reducer._more_neighbors(X, 2)
    assert found in (24, 48, 96)
    assert not has_more_pieces(neighbors_of(X, found), 6) and has_more_pieces(neighbors_of(X, found // 2), 6)
    assert reducer._more_neighbors(np.repeat(X, 2, axis=0), 2) == found  # equal rows are one


def test_engines_find_the_same_neighbors():
    X = windows(4, 30)[0].astype(np.float32)
    of_torch = _umap_torch.neighbors_of(_umap_torch.Space(X, 12, 0), torch.device("cpu"))
    np.testing.assert_array_equal(np.sort(of_torch), np.sort(neighbors_of(X)))


@pytest.mark.parametrize("rows_per_cluster, most", [(8, None), (31, None), (32, 24), (64, 48)])
def test_rows_per_cluster_of_ones_own_are_kept_to(rows_per_cluster, most):
    X, _ = make_blobs([60] * 8, n_features=8, centers=1000 * np.eye(8), random_state=0)
    assert UMAPReducer(rows_per_cluster=rows_per_cluster)._more_neighbors(X, 2) == most


def test_more_clusters_than_were_tried_are_left_alone():
    X, _ = make_blobs([60] * 160, n_features=8, center_box=(-1000, 1000), random_state=0)
    few, many = (UMAPReducer(rows_per_cluster=len(X) / n)._more_neighbors(X, n) for n in (50, 51))
    assert few == 96 and many is None


def test_blobs_need_no_more_neighbors():
    X, _ = make_blobs(600, n_features=6, centers=6, random_state=0)
    assert UMAPReducer(rows_per_cluster=100)._more_neighbors(X, 6) is None


def test_a_number_of_ones_own_is_kept():
    X, _ = windows(20, 60)
    assert UMAPReducer(n_neighbors=12, rows_per_cluster=600)._more_neighbors(X, 2) is None


@pytest.mark.parametrize("n_rows, most", [(60, 96), (30, 48), (12, 24), (4, None)])
def test_neighbors_end_at_96_and_at_three_quarters_of_a_cluster(n_rows, most):
    """Eight parts too far apart to be joined, of two clusters."""
    X, _ = make_blobs([n_rows] * 8, n_features=8, centers=1000 * np.eye(8), random_state=0)
    assert UMAPReducer(rows_per_cluster=len(X) / 2)._more_neighbors(X, 2) == most


class ByNeighbors(PCA):
    """A reducer that tells nothing, other blobs in each space, unless it has 40 neighbours."""

    asked = 0  # of all such classes

    def __init__(self, n_neighbors="auto", n_components=2, random_state=None):
        self.n_neighbors = n_neighbors
        super().__init__(n_components, random_state=random_state)

    def fit_transform(self, X, y=None):
        if self.n_neighbors == 40:
            return super().fit_transform(X)
        return make_blobs(len(X), centers=3, random_state=self.random_state)[0]

    def _more_neighbors(self, X, n_clusters):
        ByNeighbors.asked += 1
        assert X.shape[0] == N_ROWS and n_clusters == 3
        return 40


class AllAgree(ByNeighbors):
    def fit_transform(self, X, y=None):
        return PCA(2).fit_transform(X)

    _more_neighbors = ByNeighbors._more_neighbors


class NoneToBeFound(ByNeighbors):
    def fit_transform(self, X, y=None):
        return np.zeros((len(X), 2)) if self.n_neighbors == 40 else super().fit_transform(X)

    _more_neighbors = ByNeighbors._more_neighbors


class Child(ByNeighbors):
    """What it changes, its parent's method would pass over."""


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(N_ROWS, n_features=6, centers=3, cluster_std=1.5, random_state=0)


SHORT = {
    "clusterer": "hdbscan",
    "n_estimators": 3,
    "max_iter": 2,
    "pretrain_epochs": 20,
    "epochs": 2,
    "random_state": 0,
}


def fit(X, reducer, **parameters):
    return SPCClustering(3, reducer=reducer, **SHORT | parameters).fit(X)


def numbers(model):
    return {row["n_neighbors"] for row in model.history_}


@pytest.mark.parametrize("clusterer", ["hdbscan", "kmeans", "gmm"])
def test_a_fit_takes_more_neighbors_where_labellings_disagree(blobs, clusterer):
    X, classes = blobs
    model = fit(X, ByNeighbors(), clusterer=clusterer)
    assert numbers(model) == {40}
    assert clustering_accuracy(classes, model.labels_) > 0.99
    assert model.reducer.n_neighbors == "auto"  # the parameter is left as it was


def test_latents_that_umap_hides_are_not_looked_at_again(blobs, monkeypatch):
    monkeypatch.setattr(ByNeighbors, "asked", 0)
    model = fit(blobs[0], ByNeighbors(), clusterer="auto")
    assert model.history_[0]["reducer"] is None and numbers(model) == {None}
    assert ByNeighbors.asked == 0


def test_whether_a_reducer_pays_is_settled_by_its_own_neighbors(blobs, monkeypatch):
    """The rule was not made on embeddings with more of them."""
    settled = []

    def choose_the_first(*arguments):
        settled.append(arguments[-1])
        return 0

    monkeypatch.setattr(rounds, "choose_rule", choose_the_first)
    assert numbers(fit(blobs[0], ByNeighbors(), clusterer="auto")) == {40}
    assert settled == [False, True]


def test_a_fit_that_agrees_is_left_alone(blobs, monkeypatch):
    monkeypatch.setattr(ByNeighbors, "asked", 0)
    assert numbers(fit(blobs[0], AllAgree())) == {None}
    assert ByNeighbors.asked == 0


def test_neighbors_that_lose_the_number_of_clusters_are_not_taken(blobs, monkeypatch):
    monkeypatch.setattr(ByNeighbors, "asked", 0)
    model = fit(blobs[0], NoneToBeFound())
    assert numbers(model) == {None} and model.n_clusters_ == 3
    assert ByNeighbors.asked == 1


def test_a_class_that_changes_a_reducer_is_asked_by_its_own_method_alone(blobs, monkeypatch):
    monkeypatch.setattr(ByNeighbors, "asked", 0)
    assert numbers(fit(blobs[0], Child())) == {None}
    assert ByNeighbors.asked == 0


def test_the_neighbors_are_kept_in_a_checkpoint(tmp_path, monkeypatch):
    def stop(history):
        return True

    X, _ = make_blobs(N_ROWS, n_features=6, centers=3, cluster_std=2.5, random_state=0)  # not all agreed at once
    settings = {"tol": 0, "checkpoint": tmp_path}
    stopped = SPCClustering(3, reducer=ByNeighbors(), **SHORT, **settings).fit(X, monitor=stop)
    assert len(stopped.history_) == 1 and numbers(stopped) == {40}
    monkeypatch.setattr(ByNeighbors, "asked", 0)
    resumed = SPCClustering(3, reducer=ByNeighbors(), **SHORT, **settings).fit(X)
    assert numbers(resumed) == {40} and len(resumed.history_) > 1
    assert ByNeighbors.asked == 0


def test_a_member_that_diverged_is_no_disagreement():
    """Five spaces, all alike, of which one is not there: nothing is asked."""
    labels = np.arange(30) % 3
    labelled = Labelled(0, None, {space: labels for space in (0, 1, 3, 4)}, {})
    assert relabel_by_more_neighbors(labelled, None, 3, None, 0, {2}) == (None, labelled)


def test_a_fit_that_lost_its_number_asks_too(blobs, monkeypatch):
    """Where HDBSCAN finds no such number k-means stands in, with more neighbours too."""
    monkeypatch.setattr(HDBSCANCut, "fit_predict", lambda self, X, y=None: np.full(len(X), NOISE))
    monkeypatch.setattr(ByNeighbors, "asked", 0)
    model = fit(blobs[0], ByNeighbors(), clusterer="auto")
    assert {row["clusterer"] for row in model.history_} == {"KMeans"}
    assert numbers(model) == {40} and ByNeighbors.asked == 1
    assert clustering_accuracy(blobs[1], model.labels_) > 0.99


class Chance(ClusterMixin, BaseEstimator):
    """Labels by chance, others for each member."""

    def __init__(self, n_clusters=2, random_state=None):
        self.n_clusters, self.random_state = n_clusters, random_state

    def fit_predict(self, X, y=None):
        return np.random.default_rng(self.random_state).permutation(np.arange(len(X)) % self.n_clusters)


@pytest.mark.filterwarnings("ignore:Only .* of the rows are agreed on")
@pytest.mark.parametrize("X, expected", [(windows(24, 50)[0], {24, 48, 96}), (np.eye(640)[:, :8], {None})])
def test_a_fit_asks_umap(X, expected):
    X = X + 0.01 * np.random.default_rng(0).normal(size=X.shape)
    parameters = {"clusterer": Chance(), "pretrain_epochs": 15, "max_iter": 0, "n_estimators": 2}
    assert numbers(fit(X, UMAPReducer(n_epochs=5), **parameters)) <= expected
