"""UMAP in torch, against umap-learn and scikit-learn."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.manifold import trustworthiness
from sklearn.neighbors import NearestNeighbors

from skspc.clusterers import _umap_torch
from skspc.clusterers._umap_torch import (
    Graph,
    Space,
    attraction,
    batches_that_fit,
    curve,
    embed,
    embed_together,
    exact_neighbors,
    fixed_point,
    floating_point,
    fuzzy_graph,
    initial_layout,
    layout,
    make_graph,
    moves,
    nearest_neighbors,
    own_first,
    repulsion,
    screened_neighbors,
    smooth_knn,
    spectral_layout,
)

N_NEIGHBORS = 12


def gaussian(n_rows, n_columns=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, n_columns))


def far_blobs():
    return gaussian(120, 3) + 1e6 * (np.arange(120) % 2)[:, None]


def duplicates():
    return np.repeat(gaussian(10, 3), 20, axis=0)


def integer_grid():
    return np.stack(np.meshgrid(np.arange(15), np.arange(15)), -1).reshape(-1, 2)


def constant_columns():
    X = gaussian(100)
    X[:, 1:3] = 7
    return X


def flat_line():
    return np.outer(np.arange(400), [1.0, 0.0])


def hub():
    """Rows on a sphere in 50 dimensions, and its centre, which is the nearest neighbour of all."""
    X = gaussian(300, 50)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    X[0] = 0
    return X


DATA = {
    "gaussian": lambda: gaussian(150),
    "far blobs": far_blobs,
    "duplicates": duplicates,
    "all equal": lambda: np.ones((40, 3)),
    "integer grid": integer_grid,
    "constant columns": constant_columns,
    "line": flat_line,
    "hub": hub,
    "8 rows": lambda: gaussian(8),
    "float32": lambda: gaussian(100).astype(np.float32),
    "wide": lambda: gaussian(30, 500),
}


def quick_embed(X, seed=0, *, device="cpu", n_epochs=30, n_components=2, min_dist=0.0):
    return embed(X, min(N_NEIGHBORS, len(X) - 1), n_components, min_dist, n_epochs, seed, device)


@pytest.fixture(params=DATA)
def data(request):
    return DATA[request.param]()


@pytest.fixture
def graph():
    """Heads, tails and weights of 150 rows in one component."""
    return fuzzy_graph(*nearest_neighbors(torch.as_tensor(gaussian(150)), N_NEIGHBORS, 0))


@pytest.fixture(scope="module")
def digits():
    return load_digits().data[:600]


# Neighbours


@pytest.fixture(params=["exact", "pynndescent"])
def neighbors(request, monkeypatch):
    if request.param == "pynndescent":
        monkeypatch.setattr(_umap_torch, "MAX_EXACT_ROWS", 0)
    return nearest_neighbors


@pytest.mark.filterwarnings("ignore:Tensorflow not installed:ImportWarning")
def test_each_row_is_the_first_of_distinct_neighbours(data, neighbors):
    k = min(N_NEIGHBORS, len(data) - 1)
    indices, distances = neighbors(torch.as_tensor(data, dtype=torch.float64), k, 0)
    assert indices.shape == distances.shape == (len(data), k)
    assert indices[:, 0].tolist() == list(range(len(data)))
    assert all(len(set(row)) == k for row in indices.tolist())
    assert (distances[:, 0] == 0).all()
    assert (distances.diff(dim=1) >= 0).all()


def test_neighbours_are_brute_force(data):
    k = min(N_NEIGHBORS, len(data) - 1)
    X = data.astype(np.float64)
    indices, distances = nearest_neighbors(torch.as_tensor(X), k, 0)
    # Near ones by differences, as scikit-learn's brute force loses them within far blobs.
    expected = NearestNeighbors(n_neighbors=k, algorithm="kd_tree").fit(X).kneighbors(X)[0]
    np.testing.assert_allclose(distances, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(X[indices] - X[:, None], axis=2), distances, rtol=1e-9, atol=1e-9)


def distances_to(X, rows, others):
    return (X[others] - X[rows][:, None]).square().sum(2).sort(dim=1).values


def test_neighbours_screened_in_float32_are_the_exact_ones(data):
    X = torch.as_tensor(data, dtype=torch.float64)
    X, rows, k = X - X.mean(0), torch.arange(len(X)), min(N_NEIGHBORS, len(X) - 1) - 1
    others = screened_neighbors(X, rows, k)
    assert (others != rows[:, None]).all() and all(len(set(row)) == k for row in others.tolist())
    expected = distances_to(X, rows, exact_neighbors(X, rows, k))
    torch.testing.assert_close(distances_to(X, rows, others), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name, all_again", [("gaussian", False), ("far blobs", True)])
def test_rows_are_searched_in_float64_where_float32_may_hide_a_neighbour(name, all_again, monkeypatch):
    X, searched = torch.as_tensor(DATA[name]()), []
    search = _umap_torch.exact_neighbors
    monkeypatch.setattr(
        _umap_torch, "exact_neighbors", lambda X, rows, k: (searched.extend(rows.tolist()), search(X, rows, k))[1]
    )
    screened_neighbors(X - X.mean(0), torch.arange(len(X)), 5)
    assert len(searched) == (len(X) if all_again else 0)


@pytest.mark.parametrize("free, n_values", [(None, 2**28), (2**40, 2**28), (48 * 1000, 1000)])
def test_no_more_distances_at_once_than_a_card_has_room_for(free, n_values, monkeypatch):
    monkeypatch.setattr(_umap_torch, "free_memory", lambda device: free)
    assert _umap_torch.values_at_once(torch.device("cuda")) == n_values


def test_neighbours_do_not_depend_on_the_chunk(monkeypatch):
    X = torch.as_tensor(gaussian(100))
    whole = nearest_neighbors(X, 5, 0)
    monkeypatch.setitem(_umap_torch.CHUNK_VALUES, "cpu", 700)
    for part, expected in zip(nearest_neighbors(X, 5, 0), whole, strict=True):
        torch.testing.assert_close(part, expected)


def test_no_more_distances_at_once_than_stated(monkeypatch):
    sizes = []
    monkeypatch.setitem(_umap_torch.CHUNK_VALUES, "cpu", 2000)
    monkeypatch.setattr(
        _umap_torch,
        "own_first",
        lambda X, rows, *args: (
            sizes.append(len(rows) * max(len(X), args[-1] * X.shape[1])),
            own_first(X, rows, *args),
        )[1],
    )
    for X in (gaussian(200, 2), gaussian(50, 100)):
        nearest_neighbors(torch.as_tensor(X), 10, 0)
    assert max(sizes) <= 2000


def test_pynndescent_finds_nearly_all(monkeypatch):
    X = torch.as_tensor(gaussian(500))
    _, expected = nearest_neighbors(X, 10, 0)
    monkeypatch.setattr(_umap_torch, "MAX_EXACT_ROWS", 499)
    indices, distances = nearest_neighbors(X, 10, 0)
    again, _ = nearest_neighbors(X, 10, 0)
    assert (distances <= expected[:, -1:]).double().mean() > 0.95
    assert torch.equal(indices, again)


def test_lacking_neighbours_are_the_row_itself_by_hand():
    X = torch.tensor([[0.0], [1.0], [3.0], [7.0]], dtype=torch.float64)
    others = torch.tensor([[2, 0, 1], [-1, 3, -1], [-1, -1, -1]])
    indices, distances = own_first(X, torch.arange(3), others, 3)
    assert indices.tolist() == [[0, 1, 2], [1, 3, 1], [2, 2, 2]]
    assert distances.tolist() == [[0, 1, 3], [0, 6, 6], [0, 0, 0]]
    heads, tails, weights = fuzzy_graph(indices, distances)
    assert weights[heads == tails].tolist() == [0, 0]


# The graph


def test_memberships_sum_to_log2_k():
    _, distances = nearest_neighbors(torch.as_tensor(gaussian(200)), N_NEIGHBORS, 0)
    rho, sigma = smooth_knn(distances)
    sums = torch.exp(-(distances - rho[:, None]).clamp(min=0) / sigma[:, None])[:, 1:].sum(1)
    np.testing.assert_allclose(sums, np.log2(N_NEIGHBORS), atol=1e-9)
    assert torch.equal(rho, distances[:, 1])


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_scales_scale(scale):
    _, distances = nearest_neighbors(torch.as_tensor(gaussian(50)), N_NEIGHBORS, 0)
    for scaled, values in zip(smooth_knn(scale * distances), smooth_knn(distances), strict=True):
        torch.testing.assert_close(scaled, scale * values, rtol=1e-6, atol=0)


def test_scales_of_rows_with_duplicates_by_hand():
    distances = torch.tensor([[0, 0, 0, 0, 4], [0, 0, 0, 0, 0], [0, 1, 1, 1, 1]], dtype=torch.float64)
    rho, sigma = smooth_knn(distances)
    assert rho.tolist() == [4, 0, 1]
    np.testing.assert_allclose(sigma, [1e-3 * 4 / 5, 1e-3 * 8 / 15, 1e-3 * 4 / 5])


@pytest.mark.filterwarnings("ignore:Tensorflow not installed:ImportWarning")
@pytest.mark.parametrize("name", ["gaussian", "duplicates", "integer grid", "hub", "constant columns"])
def test_the_graph_is_umap_learns(name):
    from umap.umap_ import fuzzy_simplicial_set

    X = DATA[name]()
    indices, distances = nearest_neighbors(torch.as_tensor(X, dtype=torch.float64), N_NEIGHBORS, 0)
    expected, sigmas, rhos = fuzzy_simplicial_set(
        X, N_NEIGHBORS, 0, "euclidean", knn_indices=indices.numpy(), knn_dists=distances.numpy().astype(np.float32)
    )
    rho, sigma = smooth_knn(distances)
    np.testing.assert_allclose(rho, rhos, rtol=1e-5)
    np.testing.assert_allclose(sigma, sigmas, rtol=1e-3)
    heads, tails, weights = (values.numpy() for values in fuzzy_graph(indices, distances))
    graph = np.zeros((len(X), len(X)))
    graph[heads, tails] = weights
    np.testing.assert_allclose(graph, expected.toarray(), atol=1e-3)


def test_the_graph_is_symmetric_sorted_and_the_nearest_have_weight_one(graph):
    heads, tails, weights = graph
    dense = torch.zeros(150, 150, dtype=torch.float64)
    dense[heads, tails] = weights
    assert torch.equal(dense, dense.T)
    torch.testing.assert_close(dense.amax(1), torch.ones(150, dtype=torch.float64))
    assert (heads != tails).all()
    assert ((150 * heads + tails).diff() > 0).all()


@pytest.mark.filterwarnings("ignore:Tensorflow not installed:ImportWarning")
@pytest.mark.parametrize("min_dist", [0.0, 0.1, 0.5, 1.0])
def test_the_curve_is_umap_learns(min_dist):
    from umap.umap_ import find_ab_params

    np.testing.assert_allclose(curve(min_dist), find_ab_params(1.0, min_dist), rtol=1e-4)


# The start


def adjacency(heads, tails, weights):
    dense = torch.zeros(int(heads.max()) + 1, int(heads.max()) + 1, dtype=torch.float64)
    dense[heads, tails] = weights
    return _umap_torch.coo_array(dense.numpy()).tocsr()


def test_the_start_is_the_laplacians_eigenvectors(graph, monkeypatch):
    matrix = adjacency(*graph)
    scale = matrix.sum(1) ** -0.5
    laplacian = np.eye(150) - scale[:, None] * matrix.toarray() * scale
    _, vectors = np.linalg.eigh(laplacian)
    dense = spectral_layout(matrix, 2, np.random.default_rng(0))
    monkeypatch.setattr(_umap_torch, "_DENSE_ROWS", 0)
    sparse = spectral_layout(matrix, 2, np.random.default_rng(0))
    for found in (dense, sparse):
        overlap = np.abs(found.T @ vectors[:, 1:3]) / np.linalg.norm(found, axis=0)[:, None]
        np.testing.assert_allclose(overlap, np.eye(2), atol=0.02)


def test_without_convergence_the_start_is_random(graph, monkeypatch):
    def fail(*args, **kwargs):
        raise _umap_torch.ArpackError(-9)

    monkeypatch.setattr(_umap_torch, "_DENSE_ROWS", 0)
    monkeypatch.setattr(_umap_torch, "eigsh", fail)
    start = spectral_layout(adjacency(*graph), 2, np.random.default_rng(0))
    assert start.shape == (150, 2)
    assert np.abs(start).max() <= 1
    assert np.ptp(start, axis=0).min() > 1


@pytest.mark.parametrize("n_components", [1, 2, 3])
@pytest.mark.parametrize("n_parts", [1, 2, 5, 9])
def test_components_start_in_cells_of_their_own(n_parts, n_components):
    part = np.arange(20 * n_parts) % n_parts
    matrix = _umap_torch.coo_array((part[:, None] == part).astype(float)).tocsr()
    start = initial_layout(matrix, n_components, np.random.default_rng(0))
    assert start.dtype == np.float32
    np.testing.assert_allclose(start.max(0) - start.min(0), 10, atol=0.01)
    for one in range(n_parts):
        for other in range(one):
            a, b = start[part == one], start[part == other]
            assert ((a.min(0) > b.max(0) + 0.01) | (b.min(0) > a.max(0) + 0.01)).any()


# The layout


@pytest.mark.parametrize("min_dist", [0.0, 0.5])
def test_forces_are_gradients_of_the_cross_entropy(min_dist):
    a, b = curve(min_dist)
    difference = torch.tensor([[0.6, -0.9], [2.0, 1.0]], dtype=torch.float64, requires_grad=True)
    membership = 1 / (1 + a * difference.square().sum(1) ** b)
    (pull,) = torch.autograd.grad(membership.log().sum(), difference, retain_graph=True)
    (push,) = torch.autograd.grad((1 - membership).log().sum(), difference)
    torch.testing.assert_close(attraction(difference.detach(), a, b), pull)
    torch.testing.assert_close(repulsion(difference.detach(), a, b), push, rtol=2e-3, atol=0)


def test_forces_are_bounded_and_none_where_rows_coincide():
    difference = torch.tensor([[0.0, 0.0], [1e-3, 0.0], [1e6, 1e6], [1e-20, 0.0]])
    for force in (attraction(difference, 1.9, 0.8), repulsion(difference, 1.9, 0.8)):
        assert force.isfinite().all()
        assert force.abs().max() <= 4
        assert force[0].tolist() == [0, 0]


def test_moves_are_the_sums_of_forces():
    generator = torch.Generator().manual_seed(0)
    embedding = torch.randn(6, 2, generator=generator, dtype=torch.float32)
    heads, tails = torch.tensor([0, 0, 3]), torch.tensor([1, 2, 0])
    others = torch.tensor([[4, 5], [5, 5], [3, 1]])
    expected = torch.zeros(6, 2)
    for head, tail, pushed_off in zip(heads, tails, others, strict=True):
        pull = attraction(embedding[head] - embedding[tail], 1.9, 0.8)
        expected[head] += pull + sum(repulsion(embedding[head] - embedding[other], 1.9, 0.8) for other in pushed_off)
        expected[tail] -= pull
    torch.testing.assert_close(moves(embedding, heads, tails, others, 1.9, 0.8), expected)


def test_sums_in_fixed_point_know_no_order_where_those_of_floats_do():
    generator = torch.Generator().manual_seed(0)
    forces, order = 4 * torch.randn(1000, generator=generator), torch.randperm(1000, generator=generator)
    first, second = (
        [torch.zeros(1, dtype=values.dtype).index_add_(0, torch.zeros(1000, dtype=int), values) for values in both]
        for both in ((forces, fixed_point(forces)), (forces[order], fixed_point(forces)[order]))
    )
    assert not torch.equal(first[0], second[0])
    assert torch.equal(first[1], second[1])


def test_fixed_point_is_finer_than_float32():
    values = torch.randn(1000, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    torch.testing.assert_close(floating_point(fixed_point(values)), values, rtol=0, atol=2.0**-32)


def test_edges_have_as_many_turns_as_their_weights_say(graph, monkeypatch):
    heads, tails, weights = graph
    turns = torch.zeros(150, 150, dtype=torch.float64)
    embedding = torch.zeros(150, 2, dtype=torch.float32)

    def count(embedding, heads, tails, *args):
        assert len(set((150 * heads + tails).tolist())) == len(heads)  # no edge twice in a step
        turns.index_put_((heads, tails), torch.ones(len(heads), dtype=torch.float64), accumulate=True)
        return torch.zeros_like(embedding)

    monkeypatch.setattr(_umap_torch, "moves", count)
    layout([Graph(embedding, heads, tails, weights)], 1.9, 0.8, 100, [torch.Generator().manual_seed(0)])
    np.testing.assert_allclose(turns[heads, tails], 100 * weights, atol=3)
    assert turns.sum() == pytest.approx(100 * float(weights.sum()), rel=0.01)


def three_spaces():
    """Spaces of other sizes, neighbours, and so steps and turns."""
    sizes = [(150, 12), (40, 5), (220, 20)]
    return [Space(gaussian(n, 4, seed), k, seed) for seed, (n, k) in enumerate(sizes)]


def lay_out(spaces, n_epochs):
    """Lay out spaces at once, in float64, by which other roundings do not add up to anything."""
    graphs = [make_graph(space, 2, n_epochs, torch.device("cpu")) for space in spaces]
    graphs = [graph._replace(start=graph.start.double()) for graph in graphs]
    return layout(graphs, 1.9, 0.8, n_epochs, [torch.Generator().manual_seed(space.seed) for space in spaces])


@pytest.mark.parametrize("n_epochs", [1, 8])
def test_spaces_laid_out_at_once_are_what_they_are_alone(n_epochs):
    spaces = three_spaces()
    for space, embedding in zip(spaces, lay_out(spaces, n_epochs), strict=True):
        (alone,) = lay_out([space], n_epochs)
        assert embedding.shape == (len(space.X), 2)
        torch.testing.assert_close(embedding, alone, rtol=0, atol=1e-6)
        (other,) = lay_out([space._replace(seed=9)], n_epochs)
        assert (embedding - other).abs().max() > 1e-3


def test_turns_and_draws_stay_within_a_space(monkeypatch):
    spaces, seen = three_spaces(), []
    of_row = torch.tensor(np.repeat(range(3), [len(space.X) for space in spaces]))

    def keep(embedding, heads, tails, others, a, b):
        seen.append((of_row[heads], of_row[tails], of_row[others]))
        return torch.zeros_like(embedding)

    monkeypatch.setattr(_umap_torch, "moves", keep)
    lay_out(spaces, 2)
    for of_heads, of_tails, of_others in seen:
        assert torch.equal(of_heads, of_tails) and torch.equal(of_others, of_heads[:, None].expand(-1, 5))
        assert set(of_heads.tolist()) == {0, 1, 2}


def test_embeddings_made_at_once_are_as_good_and_in_order():
    spaces = three_spaces()
    for embedding, space in zip(embed_together(spaces, 2, 0.0, 100, "cpu", 2), spaces, strict=True):
        alone = embed(space.X, space.n_neighbors, 2, 0.0, 100, space.seed, "cpu")
        assert embedding.shape == alone.shape and embedding.dtype == alone.dtype == np.float32
        found, expected = (trustworthiness(space.X, each, n_neighbors=5) for each in (embedding, alone))
        assert found == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize(
    "room, sizes", [(None, [4]), (1e9, [4]), (4.0, [4]), (3.9, [3, 1]), (2.0, [2, 2]), (1.0, [1] * 4), (0.0, [1] * 4)]
)
def test_as_many_spaces_at_once_as_half_of_the_memory_has_room_for(room, sizes):
    spaces = [Space(np.zeros((100, 3)), 8, seed) for seed in range(4)]
    of_one = _umap_torch._BYTES_FOR_EDGE * 2 * 100 * (8 + 2)
    batches = batches_that_fit(spaces, 2, None if room is None else 2 * room * of_one)
    assert [len(batch) for batch in batches] == sizes
    assert [space.seed for batch in batches for space in batch] == [0, 1, 2, 3]


def test_spaces_without_memory_to_lie_side_by_side_are_embedded_one_by_one(monkeypatch):
    tried, place = [], _umap_torch._embed_on

    def with_room_for_one(device, spaces, *settings):
        tried.append((device.type, len(spaces)))
        if len(spaces) > 1:
            raise torch.cuda.OutOfMemoryError
        return place(torch.device("cpu"), spaces, *settings)

    monkeypatch.setattr(_umap_torch, "_embed_on", with_room_for_one)
    monkeypatch.setattr(_umap_torch, "inference_device", torch.device)
    monkeypatch.setattr(_umap_torch, "free_memory", lambda device: 2**40)
    monkeypatch.setattr(_umap_torch, "release_memory", lambda device: None)
    spaces = three_spaces()
    embeddings = embed_together(spaces, 2, 0.0, 5, "cuda")
    assert tried == [("cuda", 3), ("cuda", 1), ("cuda", 1), ("cuda", 1)]
    for embedding, space in zip(embeddings, spaces, strict=True):
        assert np.array_equal(embedding, embed(space.X, space.n_neighbors, 2, 0.0, 5, space.seed, "cpu"))


# The embedding


def test_embeddings_are_finite(data):
    embedding = quick_embed(data)
    assert embedding.shape == (len(data), 2)
    assert embedding.dtype == np.float32
    assert np.isfinite(embedding).all()
    assert np.ptp(embedding, axis=0).max() < 100


@pytest.mark.parametrize("kwargs", [{"n_components": 1}, {"n_components": 10}, {"min_dist": 1.0}, {"n_epochs": 0}])
def test_settings_at_their_limits(kwargs):
    embedding = quick_embed(gaussian(8), **kwargs)
    assert embedding.shape == (8, kwargs.get("n_components", 2))
    assert np.isfinite(embedding).all()


@pytest.mark.parametrize("n_neighbors", [2, 7])
def test_few_rows_with_fewest_and_most_neighbours(n_neighbors):
    assert np.isfinite(embed(gaussian(8), n_neighbors, 2, 0.0, 30, 0, "cpu")).all()


def test_far_blobs_stay_apart():
    embedding = quick_embed(far_blobs(), n_epochs=200)
    a, b = embedding[::2], embedding[1::2]
    spread = max(np.linalg.norm(part - part.mean(0), axis=1).max() for part in (a, b))
    assert np.linalg.norm(a.mean(0) - b.mean(0)) > 2 * spread


def test_a_seed_gives_one_embedding_and_another_another():
    X = gaussian(400)  # more rows than are laid out by all eigenvectors
    first = quick_embed(X)
    assert np.array_equal(first, quick_embed(X))
    assert not np.allclose(first, quick_embed(X, seed=1))


def test_global_random_states_are_left_alone():
    X = gaussian(400)
    numpy_before, torch_before = np.random.get_state()[1].copy(), torch.get_rng_state()
    first = quick_embed(X)
    assert np.array_equal(np.random.get_state()[1], numpy_before)
    assert torch.equal(torch.get_rng_state(), torch_before)
    np.random.seed(1)
    torch.manual_seed(1)
    assert np.array_equal(first, quick_embed(X))


def test_the_data_are_left_alone():
    X = gaussian(50)
    before = X.copy()
    quick_embed(X)
    assert np.array_equal(X, before)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_the_default_dtype_does_not_matter(dtype):
    X = gaussian(100)
    expected = quick_embed(X)
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        embedding = quick_embed(X)
    finally:
        torch.set_default_dtype(before)
    assert np.array_equal(embedding, expected)


@pytest.mark.filterwarnings("ignore:Tensorflow not installed:ImportWarning")
def test_neighbourhoods_are_kept_as_by_umap_learn(digits):
    from skspc.clusterers import UMAPReducer

    reducer = UMAPReducer(n_neighbors=N_NEIGHBORS, random_state=0)
    expected = trustworthiness(digits, reducer.fit_transform(digits), n_neighbors=N_NEIGHBORS)
    found = trustworthiness(digits, quick_embed(digits, n_epochs=200), n_neighbors=N_NEIGHBORS)
    assert found > expected - 0.01


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")
@pytest.mark.case("reproducibility", "one seed, two embeddings on CUDA", origin="cuml#5099, #5892, #7176; pytorch#2831")
def test_on_cuda_a_seed_gives_one_embedding_as_good_as_the_cpus(digits):
    first = quick_embed(digits, device="cuda", n_epochs=200)
    assert np.array_equal(first, quick_embed(digits, device="cuda", n_epochs=200))
    on_cpu = trustworthiness(digits, quick_embed(digits, n_epochs=200), n_neighbors=N_NEIGHBORS)
    assert trustworthiness(digits, first, n_neighbors=N_NEIGHBORS) > on_cpu - 0.01


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")
def test_on_cuda_no_step_waits_for_the_device(graph):
    heads, tails, weights = (values.cuda() for values in graph)
    start = torch.zeros(150, 2, dtype=torch.float32, device="cuda")
    (ends_once,) = layout([Graph(start, heads, tails, weights)], 1.9, 0.8, 1, [torch.Generator("cuda")])
    before = torch.cuda.get_sync_debug_mode()
    torch.cuda.set_sync_debug_mode("error")
    try:
        moves(ends_once, heads, tails, tails[:, None].expand(-1, 5), 1.9, 0.8)
    finally:
        torch.cuda.set_sync_debug_mode(before)
