"""Reducers and clusterers, by themselves and as the registry hands them out."""

from functools import partial
from itertools import pairwise

import hdbscan
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs, make_circles
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import NearestNeighbors

from skspc._constants import NOISE
from skspc.clusterers import (
    GaussianMixtureClusterer,
    HDBSCANCut,
    UMAPReducer,
    _mixture,
    _umap,
    get_clusterer,
    get_reducer,
)
from skspc.clusterers._cut import cluster_sizes_to_try, components_after, cut_tree_exactly, excess_of_mass, widest_cut
from skspc.clusterers._hdbscan import single_linkage_tree
from skspc.clusterers._registry import label_space
from skspc.clusterers._umap import default_n_neighbors, exact_neighbors
from skspc.metrics import clustering_accuracy

# Six rows: pairs 01, 23, then 0123, then pair 45, then all.
TREE = np.array([[0, 1, 1, 2], [2, 3, 2, 2], [6, 7, 5, 4], [4, 5, 6, 2], [8, 9, 9, 6]], dtype=float)
# The pairs 01, 23, 45 merge at one distance, and these at one other.
TIED_TREE = np.array([[0, 1, 1, 2], [2, 3, 1, 2], [4, 5, 1, 2], [6, 7, 3, 4], [8, 9, 3, 6]], dtype=float)


def groups(labels):
    """Rows of each label, as a set of tuples; noise left out."""
    return {tuple(np.flatnonzero(labels == label).tolist()) for label in set(labels.tolist()) - {NOISE}}


def far_blobs(*sizes, seed=0):
    """Blobs of so many rows each, on a grid ten times as wide as they are."""
    centers = 10.0 * np.array([divmod(i, 5) for i in range(len(sizes))])
    return make_blobs(list(sizes), centers=centers, cluster_std=1.0, random_state=seed)


# Cuts of a tree


def test_sizes_shrink_to_the_smallest_by_hand():
    assert cluster_sizes_to_try(20, 2) == [20, 16, 12, 9, 7, 5, 4, 3, 2]


@pytest.mark.parametrize("smallest", [1, 2, 5])
@pytest.mark.parametrize("largest", [1, 2, 3, 7, 100, 3500])
def test_sizes_are_strictly_decreasing_and_end_at_the_smallest(largest, smallest):
    sizes = cluster_sizes_to_try(largest, smallest)
    assert sizes[0] == max(largest, smallest)
    assert sizes[-1] == smallest
    assert all(later < earlier for earlier, later in pairwise(sizes))
    assert len(sizes) < 40


@pytest.mark.parametrize(
    "n_clusters, min_cluster_size, expected",
    [
        (1, 2, {(0, 1, 2, 3, 4, 5)}),
        (2, 2, {(0, 1, 2, 3), (4, 5)}),  # and not 01 with 23, which cover less
        (3, 2, None),
        (1, 3, {(0, 1, 2, 3, 4, 5)}),
        (2, 3, None),
        (1, 7, None),
        (2, 1, {(0, 1, 2, 3), (4, 5)}),
        (3, 1, {(0, 1, 2, 3), (4,), (5,)}),
        (4, 1, {(0, 1), (2, 3), (4,), (5,)}),
        (5, 1, {(0, 1), (2,), (3,), (4,), (5,)}),
        (7, 1, None),
    ],
)
def test_the_widest_cut_by_hand(n_clusters, min_cluster_size, expected):
    labels = widest_cut(TREE, n_clusters, min_cluster_size)
    assert (None if labels is None else groups(labels)) == expected


def test_rows_outside_large_components_are_noise():
    tree = np.array([[0, 1, 1, 2], [2, 3, 2, 2], [5, 6, 5, 4], [7, 4, 9, 5]], dtype=float)
    labels = widest_cut(tree, 2, 2)
    assert groups(labels) == {(0, 1), (2, 3)}
    assert labels[4] == NOISE


@pytest.mark.parametrize(
    "n_clusters, expected", [(1, {(0, 1, 2, 3, 4, 5)}), (2, None), (3, {(0, 1), (2, 3), (4, 5)}), (4, None)]
)
@pytest.mark.parametrize("min_cluster_size", [1, 2])
def test_merges_at_one_distance_are_one_level(n_clusters, expected, min_cluster_size):
    labels = widest_cut(TIED_TREE, n_clusters, min_cluster_size)
    assert (None if labels is None else groups(labels)) == expected


@pytest.mark.parametrize("min_cluster_size, min_samples", [(2, 2), (5, 5), (15, 10), (40, 10)])
@pytest.mark.parametrize("seed", range(3))
def test_excess_of_mass_is_hdbscans_own(seed, min_cluster_size, min_samples):
    X, _ = make_blobs(150, centers=5, cluster_std=[0.3, 0.6, 1.0, 1.5, 2.0], random_state=seed)
    model = hdbscan.HDBSCAN(min_cluster_size=min_cluster_size, min_samples=min_samples).fit(X)
    labels = excess_of_mass(single_linkage_tree(X, min_samples), min_cluster_size)
    assert labels.tolist() == model.labels_.tolist()


def test_excess_of_mass_with_clusters_larger_than_the_data_is_noise():
    assert excess_of_mass(TREE, 7).tolist() == [NOISE] * 6


def test_an_exact_cut_is_excess_of_mass_where_that_fits():
    X, _ = far_blobs(75, 75, 75, 75)
    tree = single_linkage_tree(X, 10)
    labels = cut_tree_exactly(tree, 4, [37, 2])
    assert labels.tolist() == excess_of_mass(tree, 37).tolist()
    assert labels.max() == 3


def test_an_exact_cut_takes_the_first_size_that_fits():
    X, _ = far_blobs(100, 100, 20)
    tree = single_linkage_tree(X, 5)
    assert excess_of_mass(tree, 30).max() == 1
    assert cut_tree_exactly(tree, 3, [30, 15]).tolist() == excess_of_mass(tree, 15).tolist()
    assert cut_tree_exactly(tree, 2, [30, 15]).tolist() == excess_of_mass(tree, 30).tolist()


def test_of_two_sizes_that_fit_the_larger_comes_first():
    # Two loose groups of 40, and 20 rows far away: size 30 sees the two groups, size 15 the far rows and the rest.
    X = np.concatenate([3.0 * np.arange(40), 122 + 3.0 * np.arange(40), 1000 + 3.0 * np.arange(20)])[:, None]
    near, close, far = tuple(range(40)), tuple(range(40, 80)), tuple(range(80, 100))
    tree = single_linkage_tree(X, 1)
    assert groups(cut_tree_exactly(tree, 2, [30, 15])) == {near, close}
    assert groups(cut_tree_exactly(tree, 2, [15])) == {near + close, far}


def test_an_exact_cut_falls_back_on_a_level_of_the_tree():
    # Four equal blobs are four clusters to excess of mass at any size; two pairs of them are a level.
    X = np.concatenate([np.linspace(start, start + 1, 20) for start in (0, 3, 100, 103)])[:, None]
    tree = single_linkage_tree(X, 3)
    assert {excess_of_mass(tree, size).max() + 1 for size in (10, 5)} == {4}
    assert groups(cut_tree_exactly(tree, 2, [10, 5])) == {tuple(range(40)), tuple(range(40, 80))}


def test_single_rows_are_clusters_only_where_clusters_are_small():
    assert groups(cut_tree_exactly(TREE, 5, [9, 2])) == {(0, 1), (2,), (3,), (4,), (5,)}
    assert cut_tree_exactly(TREE, 5, [10, 2]) is None


def test_clusters_of_very_different_sizes_are_not_lost_as_noise():
    # Excess of mass finds three clusters only where it breaks the large one up; the right ones are a level of the tree.
    X, y = far_blobs(300, 30, 12)
    labels = HDBSCANCut(3).fit_predict(X)
    assert np.mean(labels == NOISE) < 0.1
    assert groups(labels[labels != NOISE]) == groups(y[labels != NOISE])


def test_merges_at_one_distance_are_split_where_nothing_else_will_do():
    assert groups(cut_tree_exactly(TIED_TREE, 2, [2])) == {(0, 1, 2, 3), (4, 5)}
    assert groups(cut_tree_exactly(TIED_TREE, 3, [2])) == {(0, 1), (2, 3), (4, 5)}  # a level, not a split


def test_equal_rows_have_no_cut():
    equal = TIED_TREE * [1, 1, 0, 1]
    assert cut_tree_exactly(equal, 4, [2]) is None


@pytest.mark.parametrize(
    "n_merges, expected", [(0, set()), (1, {(0, 1)}), (3, {(0, 1, 2, 3)}), (5, {(0, 1, 2, 3, 4, 5)})]
)
def test_components_after_so_many_merges(n_merges, expected):
    assert groups(components_after(TREE, n_merges, 2)) == expected


# HDBSCANCut


@pytest.mark.parametrize("n_clusters", range(2, 21))
def test_hdbscan_cut_finds_so_many_blobs_and_the_right_ones(n_clusters):
    X, y = far_blobs(*[20] * n_clusters)
    labels = HDBSCANCut(n_clusters).fit_predict(X)
    assert sorted(set(labels) - {NOISE}) == list(range(n_clusters))
    assert clustering_accuracy(y[labels != NOISE], labels[labels != NOISE]) == 1.0
    assert (labels == NOISE).mean() < 0.25


@pytest.mark.parametrize("n_clusters", range(2, 21))
def test_hdbscan_cut_finds_so_many_clusters_where_there_are_others(n_clusters):
    X, _ = far_blobs(*[40] * 10)
    model = HDBSCANCut(n_clusters, min_samples=3).fit(X)
    assert sorted(set(model.labels_) - {NOISE}) == list(range(n_clusters))
    assert model.n_clusters_ == n_clusters


def test_hdbscan_cut_finds_rings():
    inner, y = make_circles(400, factor=0.5, noise=0.01, random_state=0)
    outer, _ = make_circles((200, 0), noise=0.01, random_state=1)
    X, y = np.concatenate([inner, 2 * outer]), np.concatenate([y, np.full(200, 2)])
    assert clustering_accuracy(y, HDBSCANCut(3).fit_predict(X)) > 0.99


@pytest.mark.parametrize("sizes", [[300, 30, 15], [500, 100, 20], [1000, 40, 40, 20], [50, 50, 50, 12]])
def test_hdbscan_cut_finds_clusters_of_unequal_sizes(sizes):
    X, y = far_blobs(*sizes)
    model = HDBSCANCut(len(sizes)).fit(X)
    assert model.n_clusters_ == len(sizes)
    assert clustering_accuracy(y[model.labels_ != NOISE], model.labels_[model.labels_ != NOISE]) == 1.0


def tiny_clusters(n_rows, n_clusters, seed):
    """Rows in so many clusters of equal size (or one more), far apart and at different distances."""
    y = np.sort(np.arange(n_rows) % n_clusters)
    return 100 * (y[:, None] + 1) ** 1.3 + np.random.default_rng(seed).random((n_rows, 1)), y


def missed_tiny_clusters(**settings):
    """(n_rows, n_clusters) for which not exactly the clusters are found, for 3 to 12 rows."""
    missed = []
    for n_rows in range(3, 13):
        for n_clusters in range(2, n_rows):
            X, y = tiny_clusters(n_rows, n_clusters, seed=0)
            if groups(HDBSCANCut(n_clusters, **settings).fit_predict(X)) != groups(y):
                missed.append((n_rows, n_clusters))
    return missed


def test_hdbscan_cut_with_one_neighbour_finds_clusters_of_a_few_rows():
    assert missed_tiny_clusters(min_samples=1) == []


def test_hdbscan_cut_finds_clusters_of_a_few_rows():
    assert missed_tiny_clusters() == []


def test_hdbscan_cut_finds_two_pairs():
    assert groups(HDBSCANCut(2).fit_predict([[0.0], [1.0], [10.0], [11.0]])) == {(0, 1), (2, 3)}


def test_hdbscan_cut_splits_ties_and_keeps_equal_rows_together():
    X = np.repeat(np.arange(4.0), 5)[:, None]  # four values at equal distances: the tree's levels have 4 clusters or 1
    labels = HDBSCANCut(3).fit_predict(X)
    assert len(groups(labels)) == 3
    assert (labels == np.repeat(labels[::5], 5)).all()


def test_hdbscan_cut_of_equal_rows_is_noise():
    model = HDBSCANCut(2).fit(np.zeros((20, 2)))
    assert (model.labels_.tolist(), model.n_clusters_) == ([NOISE] * 20, 0)


def test_hdbscan_cut_into_one_cluster_holds_all_rows():
    X, _ = far_blobs(100, 100, 100)
    assert HDBSCANCut(1).fit_predict(X).tolist() == [0] * len(X)


def test_hdbscan_cut_repeats_and_leaves_its_input_alone():
    X, _ = far_blobs(100, 100, 100)
    before = X.copy()
    assert HDBSCANCut(3).fit_predict(X).tolist() == HDBSCANCut(3).fit_predict(X).tolist()
    assert X.tolist() == before.tolist()
    assert HDBSCANCut(3).fit(X).labels_.dtype == np.int64


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
    monkeypatch.setattr(_mixture, "GaussianMixture", hasty)
    GaussianMixtureClusterer(5).fit(X)


def test_a_mixture_of_more_parts_than_rows_is_refused():
    with pytest.raises(ValueError, match=r"n_components.*n_samples"):
        GaussianMixtureClusterer(5).fit(np.eye(3))


# UMAP


@pytest.mark.parametrize(
    "n_rows, n_neighbors",
    [(2, 12), (10, 12), (28_000, 12), (29_166, 12), (29_168, 13), (35_000, 15), (70_000, 30), (10**6, 30)],
)
def test_neighbours_are_in_proportion_to_rows_within_limits(n_rows, n_neighbors):
    assert default_n_neighbors(n_rows) == n_neighbors
    assert type(default_n_neighbors(n_rows)) is int


@pytest.mark.parametrize("n_neighbors", [2, 5, 30])
def test_exact_neighbours_are_scikit_learns(n_neighbors):
    X = np.random.default_rng(0).normal(size=(30, 4))
    expected_distances, expected = NearestNeighbors(n_neighbors=n_neighbors).fit(X).kneighbors(X)
    indices, distances = exact_neighbors(X, n_neighbors)
    assert indices.tolist() == expected.tolist()
    np.testing.assert_allclose(distances, expected_distances, atol=1e-6)


def test_each_row_is_its_own_first_neighbour_among_duplicates():
    indices, distances = exact_neighbors(np.repeat(np.eye(3), 4, axis=0), 4)
    assert indices[:, 0].tolist() == list(range(12))
    assert all(len(set(row)) == 4 for row in indices.tolist())
    assert distances.tolist() == np.zeros((12, 4)).tolist()


@pytest.mark.parametrize("n_rows", [2, 3, 5, 7, 8, 9, 10, 13, 49, 50])
def test_umap_embeds_few_rows_without_warning(n_rows):
    X = np.random.default_rng(0).normal(size=(n_rows, 5))
    before = X.copy()
    embedding = UMAPReducer(random_state=0, n_epochs=20).fit_transform(X)
    assert embedding.shape == (n_rows, 2)
    assert np.isfinite(embedding).all()
    assert len(np.unique(embedding, axis=0)) == n_rows
    assert X.tolist() == before.tolist()


def test_fewer_than_eight_rows_are_reduced_by_pca():
    X = np.random.default_rng(0).normal(size=(7, 5))
    np.testing.assert_allclose(UMAPReducer(random_state=0).fit_transform(X), PCA(2, svd_solver="full").fit_transform(X))


def test_pca_gives_no_more_components_than_there_are():
    assert UMAPReducer(n_components=3).fit_transform(np.arange(6.0).reshape(6, 1)).shape == (6, 1)


@pytest.mark.parametrize("n_rows", [10, 60])
def test_umap_with_a_seed_repeats_and_leaves_the_global_state_alone(n_rows):
    X = np.random.default_rng(0).normal(size=(n_rows, 5))
    state = np.random.get_state()[1].tolist()
    one, same, other = (UMAPReducer(random_state=seed, n_epochs=20).fit_transform(X) for seed in (1, 1, 2))
    assert one.tolist() == same.tolist()
    assert one.tolist() != other.tolist()
    assert np.random.get_state()[1].tolist() == state


def test_umap_takes_at_most_the_other_rows_for_neighbours():
    X = np.random.default_rng(0).normal(size=(20, 5))
    clamped, all_others = (
        UMAPReducer(n_neighbors=n_neighbors, random_state=0, n_epochs=20).fit_transform(X) for n_neighbors in (1000, 19)
    )
    assert clamped.tolist() == all_others.tolist()


def test_umap_asks_for_the_default_number_of_neighbours(monkeypatch):
    asked = []

    def spy(X, n_neighbors):
        asked.append(n_neighbors)
        return exact_neighbors(X, n_neighbors)

    monkeypatch.setattr(_umap, "exact_neighbors", spy)
    for n_rows in (10, 40):
        UMAPReducer(random_state=0, n_epochs=5).fit(np.random.default_rng(0).normal(size=(n_rows, 3)))
    UMAPReducer(n_neighbors=5, random_state=0, n_epochs=5).fit(np.random.default_rng(0).normal(size=(40, 3)))
    assert asked == [9, 12, 5]


def test_umap_packs_blobs_apart():
    X, y = make_blobs(150, n_features=10, centers=3, random_state=0)
    embedding = UMAPReducer(random_state=0).fit_transform(X)
    assert clustering_accuracy(y, HDBSCANCut(3).fit_predict(embedding)) == 1.0


def test_umap_of_equal_rows_is_finite():
    assert np.isfinite(UMAPReducer(random_state=0, n_epochs=20).fit_transform(np.ones((20, 3)))).all()


def test_umap_of_many_rows_does_without_exact_neighbours(monkeypatch):
    monkeypatch.setattr(_umap, "MAX_EXACT_ROWS", 100)
    monkeypatch.setattr(_umap, "exact_neighbors", None)  # not to be called
    X, y = make_blobs(120, n_features=10, centers=3, random_state=0)
    embedding = UMAPReducer(random_state=0).fit_transform(X)
    assert clustering_accuracy(y, HDBSCANCut(3).fit_predict(embedding)) == 1.0


def test_umap_does_not_embed_new_rows():
    with pytest.raises(NotImplementedError, match="UMAPReducer embeds the rows it was fitted on; use fit_transform"):
        UMAPReducer().transform(np.zeros((3, 2)))


# Registry


def test_names_stand_for_the_built_ins():
    assert type(get_clusterer("hdbscan")) is HDBSCANCut
    assert type(get_clusterer("gmm")) is GaussianMixtureClusterer
    assert type(get_reducer("umap")) is UMAPReducer


def test_an_object_is_itself_and_no_reducer_is_none():
    clusterer, reducer = KMeans(3), PCA(2)
    assert get_clusterer(clusterer) is clusterer
    assert get_reducer(reducer) is reducer
    assert get_reducer(None) is None


def test_unknown_names_list_the_known_ones():
    with pytest.raises(ValueError, match=r"clusterer='dbscan' is not known\. Known names: 'gmm', 'hdbscan'; .*fit_pre"):
        get_clusterer("dbscan")
    with pytest.raises(ValueError, match=r"reducer='pca' is not known\. Known names: 'umap'; .*'fit_transform'"):
        get_reducer("pca")


@pytest.mark.parametrize("clusterer", [PCA(2), None, 3, KMeans, HDBSCANCut], ids=str)
def test_a_clusterer_without_the_method_or_a_class_is_refused(clusterer):
    with pytest.raises(TypeError, match=r"clusterer=.* has no method 'fit_predict' to call\. .*'gmm', 'hdbscan'"):
        get_clusterer(clusterer)


@pytest.mark.parametrize("reducer", [HDBSCANCut(2), 3, PCA, UMAPReducer], ids=str)
def test_a_reducer_without_the_method_or_a_class_is_refused(reducer):
    with pytest.raises(TypeError, match=r"reducer=.* has no method 'fit_transform' to call\. .*'umap'"):
        get_reducer(reducer)


def test_a_method_that_cannot_be_called_is_none():
    class Odd:
        fit_predict = "text"

    with pytest.raises(TypeError, match=r"clusterer=.* has no method 'fit_predict'"):
        get_clusterer(Odd())


# One labelling


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
