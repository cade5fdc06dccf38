"""Exact cuts of linkage trees, and HDBSCANCut."""

import sys
from itertools import pairwise

import hdbscan
import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs, make_circles
from sklearn.metrics import adjusted_rand_score

from skspc._constants import NOISE
from skspc.clusterers import HDBSCANCut, UMAPReducer, _hdbscan, _umap_learn, _umap_torch
from skspc.clusterers._condensed import condense, excess_of_mass, leaf_sizes, leaves
from skspc.clusterers._cut import (
    Selection,
    cluster_sizes_to_try,
    components_after,
    consistent_n_clusters,
    cut_tree_exactly,
    persistent_n_clusters,
    persistent_selections,
    widest_cut,
)
from skspc.clusterers._hdbscan import single_linkage_tree
from skspc.clusterers._kernels import KERNELS_LOCK
from skspc.metrics import clustering_accuracy

# Six rows: pairs 01, 23, then 0123, then pair 45, then all.
TREE = np.array([[0, 1, 1, 2], [2, 3, 2, 2], [6, 7, 5, 4], [4, 5, 6, 2], [8, 9, 9, 6]], dtype=float)
# The pairs 01, 23, 45 merge at one distance, and these at one other.
TIED_TREE = np.array([[0, 1, 1, 2], [2, 3, 1, 2], [4, 5, 1, 2], [6, 7, 3, 4], [8, 9, 3, 6]], dtype=float)


def always(tree):
    """What makes this tree, however many neighbours it is asked for."""
    return lambda min_samples: tree


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
@pytest.mark.parametrize("step", [None, 0.5], ids=["distinct", "equal rows"])
@pytest.mark.parametrize("seed", range(3))
def test_excess_of_mass_and_leaves_are_hdbscans_own(seed, step, min_cluster_size, min_samples):
    X, _ = make_blobs(150, centers=5, cluster_std=[0.3, 0.6, 1.0, 1.5, 2.0], random_state=seed)
    X = X if step is None else np.round(X / step) * step  # equal rows merge at distance 0
    model = hdbscan.HDBSCAN(min_cluster_size=min_cluster_size, min_samples=min_samples).fit(X)
    tree = single_linkage_tree(X, min_samples)
    assert groups(excess_of_mass(tree, min_cluster_size)) == groups(model.labels_)
    model.set_params(cluster_selection_method="leaf").fit(X)
    assert groups(leaves(tree, min_cluster_size)) == groups(model.labels_)


def test_a_tree_condensed_by_hand():
    condensed = condense(TREE, 2)
    # All rows split at 9 into 0123 and 45, 0123 at 5 into 01 and 23: a cluster comes after the one it is split from.
    assert condensed.parents.tolist() == [-1, 0, 0, 2, 2]
    # Six rows stay from 0 to 1/9; 45 from there to 1/6; 0123 to 1/5; 23 from there to 1/2, and 01 to 1.
    assert condensed.stabilities == pytest.approx([6 / 9, 2 * (1 / 6 - 1 / 9), 4 * (1 / 5 - 1 / 9), 0.6, 1.6])
    assert condensed.last.tolist() == [4, 4, 3, 3, 1, 1]
    assert groups(excess_of_mass(TREE, 2)) == {(0, 1), (2, 3), (4, 5)}


def test_excess_of_mass_takes_a_cluster_whose_parts_are_less_stable():
    tree = TREE.copy()
    tree[2:, 2] = 2.1, 20, 99  # 01 and 23 have parted no sooner than they end
    assert groups(excess_of_mass(tree, 2)) == {(0, 1, 2, 3), (4, 5)}
    assert groups(leaves(tree, 2)) == {(0, 1), (2, 3), (4, 5)}


def test_excess_of_mass_with_clusters_larger_than_the_data_is_noise():
    assert excess_of_mass(TREE, 7).tolist() == [NOISE] * 6


@pytest.mark.parametrize(
    "n_clusters, largest, expected",
    [(3, 2, (2, 2)), (3, 5, (2, 2)), (2, 5, None), (4, 5, None), (3, 1, None), (1, 5, None), (9, 5, None)],
)
def test_the_sizes_with_so_many_leaves_by_hand(n_clusters, largest, expected):
    # With size 2 the leaves are the three pairs; with size 3 the tree does not branch.
    assert leaf_sizes(TREE, n_clusters, largest) == expected


def test_the_sizes_with_so_many_leaves_are_those_of_a_search_of_all():
    X, _ = make_blobs(300, centers=8, cluster_std=1.5, random_state=0)
    tree = single_linkage_tree(X, 5)
    counts = {size: leaves(tree, size).max() + 1 for size in range(2, 61)}
    for n_clusters in range(2, 301):
        sizes = [size for size, count in counts.items() if count == n_clusters]
        assert leaf_sizes(tree, n_clusters, 60) == ((min(sizes), max(sizes)) if sizes else None)


def test_a_selection_weighs_its_range_of_sizes_once_and_its_rows():
    labels = np.array([0, 0, 1, NOISE])
    assert Selection(labels, [(5, 9)]).weight(1) == pytest.approx(0.75**2 * np.log(2))
    assert Selection(labels, [(8, 9), (5, 9), (10, 19)]).weight(1) == pytest.approx(0.75**2 * np.log(4))
    assert Selection(labels, [(5, 9), (20, 39)]).weight(10) == pytest.approx(0.75**2 * np.log(2))
    assert Selection(labels, [(5, 9)]).weight(10) == 0.0


def test_selections_are_alike_where_nine_tenths_of_the_rows_are_matched():
    labels = np.repeat([0, 1], [10, 10])
    one = Selection(labels, [])
    for n_moved, alike in ((0, True), (2, True), (3, False)):
        assert one.is_much_like(np.where(np.arange(20) < n_moved, 1, labels)) == alike
        assert one.is_much_like(1 - np.where(np.arange(20) < n_moved, 1, labels)) == alike  # whatever their names
    assert one.is_much_like(np.where(np.arange(20) % 2, labels, NOISE))  # noise does not count


def test_what_persists_comes_before_what_larger_sizes_find():
    # At size 52 three splinters of the large cluster are found and the small ones are noise; from 41 down the clusters.
    X, y = make_blobs([400, 50, 50], n_features=5, cluster_std=0.5, random_state=0)
    Z = UMAPReducer(random_state=0, device="cpu").fit_transform(X)
    tree = single_linkage_tree(Z, 10)
    found = persistent_selections(tree, 3, cluster_sizes_to_try(166, 2), 10)
    assert adjusted_rand_score(y, cut_tree_exactly(always(tree), 3, cluster_sizes_to_try(166, 2), 10)) == 1.0
    assert max(found, key=lambda one: one.weight(10)).ranges[-1][0] <= 10


@pytest.mark.parametrize("seed", range(3))
def test_clusters_that_overlap_are_split_and_no_splinter_is_one(seed):
    # Excess of mass takes the two that overlap for one, at any size that leaves the others whole.
    X, y = make_blobs([200] * 4, centers=[(0, 0), (4.5, 0), (30, 0), (60, 0)], cluster_std=1.0, random_state=seed)
    labels = HDBSCANCut(4).fit_predict(X)
    assert excess_of_mass(single_linkage_tree(X, 10), 100).max() + 1 == 3
    assert np.bincount(labels[labels != NOISE]).min() > 120
    assert np.mean(labels == NOISE) < 0.15
    assert clustering_accuracy(y[labels != NOISE], labels[labels != NOISE]) > 0.98


def test_an_exact_cut_is_excess_of_mass_where_that_fits():
    X, _ = far_blobs(75, 75, 75, 75)
    tree = single_linkage_tree(X, 10)
    labels = cut_tree_exactly(always(tree), 4, [37, 2])
    assert labels.tolist() == excess_of_mass(tree, 37).tolist()
    assert labels.max() == 3


def test_an_exact_cut_takes_the_first_size_that_fits():
    X, _ = far_blobs(100, 100, 20)
    tree = single_linkage_tree(X, 5)
    assert excess_of_mass(tree, 30).max() == 1
    assert cut_tree_exactly(always(tree), 3, [30, 15]).tolist() == excess_of_mass(tree, 15).tolist()
    assert cut_tree_exactly(always(tree), 2, [30, 15]).tolist() == excess_of_mass(tree, 30).tolist()


def test_of_two_sizes_that_fit_the_larger_comes_first():
    # Two loose groups of 40, and 20 rows far away: size 30 sees the two groups, size 15 the far rows and the rest.
    X = np.concatenate([3.0 * np.arange(40), 122 + 3.0 * np.arange(40), 1000 + 3.0 * np.arange(20)])[:, None]
    near, close, far = tuple(range(40)), tuple(range(40, 80)), tuple(range(80, 100))
    tree = single_linkage_tree(X, 1)
    assert groups(cut_tree_exactly(always(tree), 2, [30, 15])) == {near, close}
    assert groups(cut_tree_exactly(always(tree), 2, [15])) == {near + close, far}


def test_an_exact_cut_falls_back_on_a_level_of_the_tree():
    # Four equal blobs are four clusters to excess of mass at any size; two pairs of them are a level.
    X = np.concatenate([np.linspace(start, start + 1, 20) for start in (0, 3, 100, 103)])[:, None]
    tree = single_linkage_tree(X, 3)
    assert {excess_of_mass(tree, size).max() + 1 for size in (10, 5)} == {4}
    assert groups(cut_tree_exactly(always(tree), 2, [10, 5])) == {tuple(range(40)), tuple(range(40, 80))}


def test_single_rows_are_clusters_only_where_clusters_are_small():
    assert groups(cut_tree_exactly(always(TREE), 5, [19, 2])) == {(0, 1), (2,), (3,), (4,), (5,)}
    assert cut_tree_exactly(always(TREE), 5, [20, 2]) is None


def test_clusters_of_very_different_sizes_are_not_lost_as_noise():
    # Excess of mass finds three clusters only where it breaks the large one up; the right ones are a level of the tree.
    X, y = far_blobs(300, 30, 12)
    labels = HDBSCANCut(3).fit_predict(X)
    assert np.mean(labels == NOISE) < 0.1
    assert groups(labels[labels != NOISE]) == groups(y[labels != NOISE])


def test_merges_at_one_distance_are_split_where_nothing_else_will_do():
    assert groups(cut_tree_exactly(always(TIED_TREE), 2, [2])) == {(0, 1, 2, 3), (4, 5)}
    assert groups(cut_tree_exactly(always(TIED_TREE), 3, [2])) == {(0, 1), (2, 3), (4, 5)}  # a level, not a split


def test_equal_rows_have_no_cut():
    equal = TIED_TREE * [1, 1, 0, 1]
    assert cut_tree_exactly(always(equal), 4, [2]) is None


@pytest.mark.parametrize(
    "n_merges, expected", [(0, set()), (1, {(0, 1)}), (3, {(0, 1, 2, 3)}), (5, {(0, 1, 2, 3, 4, 5)})]
)
def test_components_after_so_many_merges(n_merges, expected):
    assert groups(components_after(TREE, n_merges, 2)) == expected


# HDBSCANCut


@pytest.mark.parametrize("n_clusters", range(2, 21))
@pytest.mark.case(
    "number of clusters, noise, prediction", "HDBSCAN cut to n_clusters clusters", origin="hdbscan#561, #490, #682"
)
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


@pytest.mark.parametrize("n_clusters, ratio", [(2, 10), (3, 50), (5, 50), (10, 20), (20, 10)])
@pytest.mark.case("unequal clusters", "blobs whose sizes differ up to fifty times, after UMAP", origin="hdbscan#361")
def test_hdbscan_cut_finds_unequal_blobs_after_umap(n_clusters, ratio):
    shares = np.geomspace(1, ratio, n_clusters)
    sizes = np.maximum(12, 1200 * shares / shares.sum()).astype(int)
    X, y = make_blobs(sizes, n_features=10, center_box=(-5, 5), random_state=0)
    Z = UMAPReducer(random_state=0, device="cpu").fit_transform(X)
    assert adjusted_rand_score(y, HDBSCANCut(n_clusters).fit_predict(Z)) > 0.98


@pytest.mark.case("unequal clusters", "a blob with fifty times the rows of the other, after UMAP", origin="hdbscan#361")
def test_hdbscan_cut_takes_no_parts_of_a_large_blob_for_two():
    X, y = make_blobs([1176, 24], n_features=10, random_state=4)
    Z = UMAPReducer(rows_per_cluster=600, random_state=4, device="cpu").fit_transform(X.astype(np.float32))
    assert adjusted_rand_score(y, HDBSCANCut(2).fit_predict(Z)) == 1.0


@pytest.mark.parametrize("n_clusters, ratio", [(10, 50), (20, 20)])
@pytest.mark.case("unequal clusters", "blobs of fewer rows than min_samples among large ones", origin="hdbscan#361")
def test_hdbscan_cut_finds_blobs_smaller_than_its_neighbourhoods(n_clusters, ratio):
    shares = np.geomspace(1, ratio, n_clusters)
    sizes = np.round(1200 * shares / shares.sum()).astype(int)
    assert sizes.min() < HDBSCANCut().min_samples
    X, y = make_blobs(sizes, n_features=10, random_state=1)
    Z = UMAPReducer(random_state=1, device="cpu").fit_transform(X)
    assert adjusted_rand_score(y, HDBSCANCut(n_clusters).fit_predict(Z)) > 0.98


@pytest.mark.case("unequal clusters", "178, 30 and 30 images of three digits", origin="hdbscan#361")
def test_hdbscan_cut_finds_unequal_digits_after_umap():
    digits = load_digits(n_class=3)
    rows = np.concatenate([np.flatnonzero(digits.target == c)[:n] for c, n in enumerate((178, 30, 30))])
    Z = UMAPReducer(random_state=0, device="cpu").fit_transform(digits.data[rows])
    assert adjusted_rand_score(digits.target[rows], HDBSCANCut(3).fit_predict(Z)) == 1.0


@pytest.mark.parametrize("n_rows", [6, 10, 20])
def test_hdbscan_cut_finds_forty_clusters_of_a_few_rows(n_rows):
    X, y = make_blobs([n_rows] * 40, n_features=10, center_box=(-6, 6), random_state=0)
    Z = UMAPReducer(random_state=0, device="cpu").fit_transform(X)
    assert adjusted_rand_score(y, HDBSCANCut(40).fit_predict(Z)) > 0.9


@pytest.mark.parametrize("seed", range(3))
def test_hdbscan_cut_finds_fifty_clusters_of_thirty_rows(seed):
    X, y = far_blobs(*[30] * 50, seed=seed)
    labels = HDBSCANCut(50).fit_predict(X)
    assert sorted(set(labels) - {NOISE}) == list(range(50))
    assert clustering_accuracy(y[labels != NOISE], labels[labels != NOISE]) == 1.0


@pytest.mark.parametrize("seed", range(3))
def test_hdbscan_cut_finds_clusters_one_to_fifty(seed):
    X, y = far_blobs(1000, 20, seed=seed)
    labels = HDBSCANCut(2).fit_predict(X)
    assert clustering_accuracy(y[labels != NOISE], labels[labels != NOISE]) == 1.0
    assert (labels == NOISE).mean() < 0.1


def test_hdbscan_cut_finds_rings_in_noise():
    X, y = make_circles(800, factor=0.4, noise=0.02, random_state=0)
    noise = np.random.default_rng(0).uniform(-1.5, 1.5, size=(80, 2))
    labels = HDBSCANCut(2).fit_predict(np.concatenate([X, noise]))[: len(X)]
    assert clustering_accuracy(y, labels) > 0.95


# The number of clusters, found


@pytest.mark.parametrize("n_clusters", [2, 3, 7, 20, 50])
def test_an_automatic_number_is_that_of_blobs(n_clusters):
    X, y = far_blobs(*[40] * n_clusters)
    model = HDBSCANCut("auto").fit(X)
    assert model.n_clusters_ == n_clusters
    assert clustering_accuracy(y[model.labels_ != NOISE], model.labels_[model.labels_ != NOISE]) == 1.0


def test_one_blob_is_one_cluster_to_an_automatic_number():
    X, _ = make_blobs(300, centers=1, random_state=0)
    assert HDBSCANCut("auto").fit(X).n_clusters_ == 1


@pytest.mark.parametrize("sizes", [[400, 50, 50], [600, 30], [500, 100, 40, 40]])
@pytest.mark.case("unequal clusters", "blobs of unequal sizes, their number not given", origin="hdbscan#361")
def test_an_automatic_number_of_unequal_blobs(sizes):
    X, y = far_blobs(*sizes)
    model = HDBSCANCut("auto").fit(X)
    assert model.n_clusters_ == len(sizes)
    assert adjusted_rand_score(y, model.labels_) > 0.95


def test_no_number_persists_in_one_blob():
    X, _ = make_blobs(300, centers=1, random_state=0)
    assert persistent_n_clusters(single_linkage_tree(X, 10), 10) == 0


@pytest.mark.parametrize("n_rows", [2, 3, 5, 19])
def test_an_automatic_number_of_few_rows_is_one(n_rows):
    X = np.random.default_rng(0).normal(size=(n_rows, 2))
    assert HDBSCANCut("auto").fit_predict(X).tolist() == [0] * n_rows


def test_the_consistent_number_is_the_largest_that_gives_itself():
    X, _ = far_blobs(*[60] * 6)
    tree = single_linkage_tree(X, 10)
    counts = {c: excess_of_mass(tree, 360 // (2 * c)).max() + 1 for c in range(2, 19)}
    assert consistent_n_clusters(tree, 10) == max(c for c in counts if counts[c] >= c) == 6


# Engines


@pytest.mark.parametrize("parameter, value", [("min_samples", 0), ("n_clusters", 0), ("engine", "slow")])
def test_parameters_out_of_range_are_named(parameter, value):
    with pytest.raises(ValueError, match=f"The '{parameter}' parameter of HDBSCANCut must be .*Got"):
        HDBSCANCut(**{parameter: value}).fit(np.zeros((5, 2)))


def test_fast_hdbscan_gives_the_same_clusters():
    pytest.importorskip("fast_hdbscan", reason="the extra 'fast' is not installed")
    X, _ = far_blobs(100, 60, 40, 200)
    expected, labels = (HDBSCANCut(4, engine=engine).fit_predict(X) for engine in ("hdbscan", "fast-hdbscan"))
    assert groups(labels) == groups(expected)


def test_fast_hdbscan_is_for_many_rows(monkeypatch):
    asked = []

    def spy(X, min_samples):
        asked.append(len(X))
        return single_linkage_tree(X, min_samples)

    monkeypatch.setattr(_hdbscan, "_fast_tree", spy)
    monkeypatch.setattr(_hdbscan, "MIN_FAST_ROWS", 50)
    X, _ = far_blobs(30, 30)
    for found in (None, "a spec"):
        monkeypatch.setattr(_hdbscan, "find_spec", lambda name, found=found: found)
        HDBSCANCut(2).fit(X)
        HDBSCANCut(2).fit(X[::2])
        HDBSCANCut(2, engine="hdbscan").fit(X)
    assert asked == [60]


def test_all_of_numbas_parallel_kernels_run_under_one_lock():
    locks = [module.KERNELS_LOCK for module in (_hdbscan, _umap_learn, _umap_torch)]
    assert locks == [KERNELS_LOCK] * 3


def test_fast_hdbscan_missing_is_told_with_the_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "fast_hdbscan.hdbscan", None)
    with pytest.raises(ImportError, match="engine='fast-hdbscan' needs the package fast-hdbscan: pip install fast-hdb"):
        HDBSCANCut(2, engine="fast-hdbscan").fit(np.eye(4))
