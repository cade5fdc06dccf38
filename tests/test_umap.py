"""UMAPReducer, and umap-learn behind it."""

import numpy as np
import pytest
import torch
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors

from skspc._constants import NOISE
from skspc.clusterers import (
    HDBSCANCut,
    UMAPReducer,
    _umap,
    _umap_learn,
)
from skspc.clusterers._umap import default_n_neighbors
from skspc.clusterers._umap_learn import exact_neighbors
from skspc.metrics import clustering_accuracy

LAYOUT = "_nb_optimize_layout_euclidean_single_epoch"  # umap-learn's

# UMAP


@pytest.mark.parametrize(
    "n_rows, n_neighbors",
    [(2, 12), (10, 12), (28_000, 12), (29_166, 12), (29_168, 13), (35_000, 15), (70_000, 30), (10**6, 30)],
)
def test_neighbours_are_in_proportion_to_rows_within_limits(n_rows, n_neighbors):
    assert default_n_neighbors(n_rows) == n_neighbors
    assert type(default_n_neighbors(n_rows)) is int


@pytest.mark.parametrize("rows_per_cluster, n_neighbors", [(2.5, 4), (6, 4), (10, 8), (15.8, 12), (500, 12)])
def test_small_clusters_have_fewer_neighbours(rows_per_cluster, n_neighbors):
    assert default_n_neighbors(400, rows_per_cluster) == n_neighbors


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


@pytest.mark.parametrize("n_epochs", [200, 10])
def test_a_seed_repeats_where_the_graph_is_in_many_parts(n_epochs):
    X, blobs = make_blobs(n_samples=300, n_features=20, centers=5, center_box=(-100, 100), random_state=0)
    reducer = UMAPReducer(n_epochs=n_epochs, random_state=0, device="cpu")
    embeddings = [reducer.fit_transform(X) for _ in range(3)]
    np.testing.assert_array_equal(embeddings[0], embeddings[1])
    np.testing.assert_array_equal(embeddings[0], embeddings[2])
    labels = HDBSCANCut(5).fit_predict(embeddings[0])  # after ten epochs a row or two may still be on its way: noise
    assert set(labels) - {NOISE} == set(range(5))
    assert np.mean(labels == NOISE) < (0.01 if n_epochs == 10 else 1e-9)
    assert clustering_accuracy(blobs[labels != NOISE], labels[labels != NOISE]) == 1.0


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

    monkeypatch.setattr(_umap_learn, "exact_neighbors", spy)
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
    monkeypatch.setattr(_umap_learn, "MAX_EXACT_ROWS", 100)
    monkeypatch.setattr(_umap_learn, "exact_neighbors", None)  # not to be called
    X, y = make_blobs(120, n_features=10, centers=3, random_state=0)
    embedding = UMAPReducer(random_state=0).fit_transform(X)
    assert clustering_accuracy(y, HDBSCANCut(3).fit_predict(embedding)) == 1.0


@pytest.mark.parametrize(
    "engine, device, chosen",
    [
        ("auto", "cpu", "umap-learn"),
        ("auto", "cuda", "torch"),
        ("umap-learn", "cuda", "umap-learn"),
        ("torch", "cpu", "torch"),
    ],
)
def test_the_engine_goes_by_the_device_unless_it_is_named(monkeypatch, engine, device, chosen):
    asked = []
    monkeypatch.setattr(_umap, "resolve_device", torch.device)
    monkeypatch.setattr(_umap._umap_learn, "embed", lambda X, **settings: [asked.append("umap-learn"), X][1])
    monkeypatch.setattr(_umap._umap_torch, "embed", lambda X, device, **settings: [asked.append("torch"), X][1])
    UMAPReducer(engine=engine, device=device).fit(np.eye(9))
    assert asked == [chosen]


@pytest.mark.parametrize(
    "parameter, value", [("n_neighbors", 1), ("n_components", 0), ("min_dist", -1), ("n_epochs", 0), ("engine", "cuml")]
)
def test_parameters_out_of_range_are_named(parameter, value):
    with pytest.raises(ValueError, match=f"The '{parameter}' parameter of UMAPReducer must be .*Got"):
        UMAPReducer(**{parameter: value}).fit(np.zeros((9, 2)))


# Troublesome latents, by either engine


def two_far_blobs():
    X, y = make_blobs(80, n_features=4, centers=2, cluster_std=0.5, random_state=0)
    return X + 1e6 * y[:, None], y


def constant_columns():
    X, y = make_blobs(80, n_features=4, centers=2, cluster_std=0.5, random_state=0)
    return np.hstack([X, np.full((80, 2), 7.0)]), y


def duplicates():
    X, y = make_blobs(40, n_features=4, centers=2, cluster_std=0.5, random_state=0)
    return np.repeat(X, 3, axis=0), np.repeat(y, 3)


def two_grids():
    grid = np.stack(np.meshgrid(np.arange(6), np.arange(6)), axis=-1).reshape(36, 2).astype(float)
    return np.concatenate([grid, grid + 50]), np.repeat([0, 1], 36)


@pytest.mark.parametrize("engine", ["umap-learn", "torch"])
@pytest.mark.parametrize(
    "make", [two_far_blobs, constant_columns, duplicates, two_grids], ids=lambda make: make.__name__
)
def test_troublesome_latents_are_embedded_and_cut_right_without_warning(engine, make):
    X, y = make()
    embedding = UMAPReducer(engine=engine, device="cpu", random_state=0).fit_transform(X)
    assert np.isfinite(embedding).all()
    labels = HDBSCANCut(2).fit_predict(embedding)
    assert clustering_accuracy(y[labels != NOISE], labels[labels != NOISE]) == 1.0
    assert (labels == NOISE).mean() < 0.2


@pytest.mark.parametrize("engine", ["umap-learn", "torch"])
def test_five_rows_are_embedded_and_cut(engine):
    X = np.array([[0.0, 0], [0, 1], [9, 9], [9, 10], [9, 11]])
    embedding = UMAPReducer(engine=engine, device="cpu", random_state=0).fit_transform(X)
    labels = HDBSCANCut(2).fit_predict(embedding)
    assert labels[0] == labels[1] != labels[2] == labels[3] == labels[4]


def test_layouts_release_pythons_lock_and_are_the_same_as_those_that_do_not(monkeypatch):
    import numba
    from umap import layouts

    X, name = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32), LAYOUT
    released = _umap_learn.embed(X, 10, 2, 0.0, 50, 0)
    assert getattr(layouts, name).targetoptions["nogil"]
    monkeypatch.setattr(layouts, name, numba.njit(getattr(layouts, name).py_func, fastmath=True))
    monkeypatch.setattr(_umap_learn, "_let_layouts_run_at_once", lambda: None)
    assert _umap_learn.embed(X, 10, 2, 0.0, 50, 0).tolist() == released.tolist()


def test_a_umap_learn_that_keeps_its_layout_elsewhere_is_left_as_it_is(monkeypatch):
    from umap import layouts

    monkeypatch.delattr(layouts, LAYOUT)
    _umap_learn._let_layouts_run_at_once()
    assert not hasattr(layouts, LAYOUT)


def test_neighbours_that_pynndescent_did_not_find_make_no_edge(monkeypatch):
    from umap import umap_

    found = np.array([[0, 1, -1], [1, 0, 2], [2, 1, -1]])
    distances = np.array([[0, 1, np.inf], [0, 1, 2], [0, 2, np.inf]])
    monkeypatch.setattr(_umap_learn, "MAX_EXACT_ROWS", 2)
    monkeypatch.setattr(umap_, "nearest_neighbors", lambda *args, **settings: (found, distances, None))
    indices, filled = _umap_learn.nearest_neighbors(np.zeros((3, 2)), 3, None)
    assert indices.tolist() == [[0, 1, 0], [1, 0, 2], [2, 1, 2]]
    assert filled.tolist() == [[0, 1, 1], [0, 1, 2], [0, 2, 2]]
    graph = _umap_learn.fuzzy_graph(indices, filled).toarray()
    assert ((graph > 0) == [[False, True, False], [True, False, True], [False, True, False]]).all()


def test_the_graph_is_umap_learns():
    from umap import umap_

    if not hasattr(umap_, "NPY_FLOATMAX"):
        pytest.skip("umap-learn 0.5.8 compiles comparisons with infinity away, and finds infinite bandwidths")
    X = np.random.default_rng(0).normal(size=(80, 4)).astype(np.float32)
    indices, distances = exact_neighbors(X, 10)
    expected = umap_.fuzzy_simplicial_set(X, 10, 0, "euclidean", knn_indices=indices, knn_dists=distances)[0]
    np.testing.assert_allclose(_umap_learn.fuzzy_graph(indices, distances).toarray(), expected.toarray(), atol=1e-3)


def test_umap_does_not_embed_new_rows():
    with pytest.raises(NotImplementedError, match="UMAPReducer embeds the rows it was fitted on; use fit_transform"):
        UMAPReducer().transform(np.zeros((3, 2)))


@pytest.mark.parametrize("engine", ["umap-learn", "torch"])
def test_an_embedding_goes_on_from_init(engine):
    """Equal rows are one, of which the first one's start counts; from an embedding there are 50 epochs."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(100, 3)), 2, axis=0)
    places = rng.uniform(3, 13, size=(100, 2))
    start = np.stack([places, np.full_like(places, 100)], axis=1).reshape(200, 2)
    near = UMAPReducer(init=start, n_epochs=1, engine=engine, device="cpu", random_state=0).fit_transform(X)
    away = UMAPReducer(n_epochs=1, engine=engine, device="cpu", random_state=0).fit_transform(X)
    assert min(np.corrcoef(near[::2, i], places[:, i])[0, 1] for i in (0, 1)) > 0.8
    assert max(abs(np.corrcoef(away[::2, i], places[:, i])[0, 1]) for i in (0, 1)) < 0.5
    auto, told = (
        UMAPReducer(init=start, n_epochs=n, engine=engine, device="cpu", random_state=0).fit_transform(X)
        for n in ("auto", 50)
    )
    assert auto.tolist() == told.tolist()


@pytest.mark.parametrize("engine", ["umap-learn", "torch"])
@pytest.mark.parametrize(
    "init", [np.ones((60, 2)), np.outer(np.arange(60), [1, 0]), np.linspace([-3e38] * 2, [3e38] * 2, 60)]
)
def test_an_embedding_begins_at_any_finite_init(engine, init):
    X = np.random.default_rng(0).normal(size=(60, 3))
    embedding = UMAPReducer(init=init, engine=engine, device="cpu", random_state=0).fit_transform(X)
    assert np.isfinite(embedding).all() and len(np.unique(embedding, axis=0)) == 60


@pytest.mark.parametrize(
    "init",
    [np.zeros((9, 2)), np.zeros((10, 3)), np.full((10, 2), np.nan), np.full((10, 2), 1e39), np.full((10, 2), "a")],
)
def test_an_init_that_does_not_fit_is_refused(init):
    with pytest.raises(ValueError, match=r"init is an array of shape \(.*\), which must be \(10, 2\), .* or 'auto'\."):
        UMAPReducer(init=init, device="cpu").fit(np.random.default_rng(0).normal(size=(10, 3)))
