"""UMAP in torch, for CUDA devices; on the CPU it does the same, about as fast as umap-learn.

One seed gives one embedding on one device. Sums of many floats by atomic additions would depend on the order in which a
GPU's threads come; such sums are taken over integers here. Sections and algorithms named below are the paper's:
McInnes, Healy & Melville (2018), "UMAP: Uniform Manifold Approximation and Projection", arXiv:1802.03426v3.
"""

import math
import warnings
from typing import Any

import numpy as np
import torch
from scipy.optimize import curve_fit
from scipy.sparse import coo_array, dia_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackError, eigsh

from .._runtime.arrays import to_numpy
from .._runtime.devices import inference_device
from .._runtime.memory import alone_on, free_memory, is_out_of_memory, release_memory
from .._runtime.modes import float32_as_it_is
from .._runtime.steps import recorded_on_cuda
from .._runtime.threads import torch_threads_kept
from ._kernels import KERNELS_LOCK

MAX_EXACT_ROWS = 100_000  # above, neighbours are pynndescent's
CHUNK_VALUES = {"cuda": 2**28, "cpu": 2**20}  # distances held at once: 2 GiB, 8 MiB
_BYTES_FOR_VALUE = 48  # of free memory, for a distance: three of them in float64, and as much left for others
NEGATIVES = 5  # rows that a sampled edge's head is pushed off
_BISECTIONS = 64
_MIN_KEPT_EPOCHS = 200  # fewer epochs keep no fewer edges
_MIN_SIGMA = 1e-3  # of the mean distance; umap-learn's
_HEADS = 0.5  # of the rows, in a step
_MAX_FORCE = 4.0
_START_WIDTH, _START_NOISE = 10.0, 1e-4
_DENSE_ROWS = 300  # up to here, all eigenvectors cost nothing
_FIXED_POINT = 2.0**32  # integers to one: 2**31 in sum is room enough, and a step is finer than float32
_GOLDEN_SECTION = (math.sqrt(5) - 1) / 2


def embed(X, n_neighbors, n_components, min_dist, n_epochs, seed, device):
    """Embed rows X (N, m), at least 8, by UMAP: (N, n_components), float32.

    A row counts as the first of its own neighbours, which are from 2 to N - 1; min_dist is from 0 to 1, the spread. The
    CPU stands in for a device without float64 (MPS).

    Memory: two or three times the distances held at once (``CHUNK_VALUES``, less where less is free), or, if that is
    more, some 200 bytes for each of 2 N n_neighbors edges: 840 MB for 70 000 rows with 30 neighbours. One thread at a
    time takes it of a card; where it is lacking all the same, the CPU goes on, with a RuntimeWarning.
    """
    device, settings = inference_device(device), (n_neighbors, n_components, min_dist, n_epochs, seed)
    try:
        return _embed_on(device, X, *settings)
    except RuntimeError as error:
        if device.type == "cpu" or not is_out_of_memory(error):
            raise
    release_memory(device)
    warnings.warn(
        f"{device} had too little memory for UMAP of {len(X)} rows; it goes on on the CPU, which takes longer.",
        RuntimeWarning,
        stacklevel=2,
    )
    return _embed_on(torch.device("cpu"), X, *settings)


def _embed_on(device, X, n_neighbors, n_components, min_dist, n_epochs, seed):
    rows = torch.as_tensor(np.asarray(X, dtype=np.float64), device=device)
    with alone_on(device):
        heads, tails, weights = fuzzy_graph(*nearest_neighbors(rows, n_neighbors, seed))
        kept = weights * max(n_epochs, _MIN_KEPT_EPOCHS) >= 1  # the others would have less than one turn
        heads, tails, weights = heads[kept], tails[kept], weights[kept]
    graph = coo_array((to_numpy(weights), (to_numpy(heads), to_numpy(tails))), shape=(len(rows), len(rows))).tocsr()
    start = torch.as_tensor(initial_layout(graph, n_components, np.random.default_rng(seed)), device=device)
    a, b = curve(min_dist)
    generator = torch.Generator(device).manual_seed(seed)
    return to_numpy(layout(start, heads, tails, weights, a, b, n_epochs, generator))


def nearest_neighbors(X, n_neighbors, seed):
    """Find each row's nearest neighbours, the row itself the first: exactly, up to ``MAX_EXACT_ROWS`` rows.

    Of X (N, m), float64, indices and ascending distances (N, n_neighbors). The seed is pynndescent's.
    """
    X = X - X.mean(0)
    exact = len(X) <= MAX_EXACT_ROWS
    found = None if exact else approximate_neighbors(X, n_neighbors, seed)  # (N, k)
    on_cuda = X.device.type == "cuda"
    find, n_candidates = (screened_neighbors, 2 * n_neighbors) if on_cuda else (exact_neighbors, n_neighbors)
    chunk = max(1, values_at_once(X.device) // max(len(X), n_candidates * X.shape[1]))
    # Filled, and not joined from parts: parts that outlive their chunk leave holes in memory, of 3 GB for 70 000 rows.
    indices = torch.empty((len(X), n_neighbors), dtype=torch.int64, device=X.device)
    distances = torch.empty((len(X), n_neighbors), dtype=torch.float64, device=X.device)
    for rows in torch.arange(len(X), device=X.device).split(chunk):
        others = find(X, rows, n_neighbors - 1) if found is None else found[rows]
        indices[rows], distances[rows] = own_first(X, rows, others, n_neighbors)
    return indices, distances


def values_at_once(device):
    """Distances to hold at once: as many as pay, or as the free memory of a card has room for."""
    free, most = free_memory(device), CHUNK_VALUES[device.type]
    return most if free is None else min(most, free // _BYTES_FOR_VALUE)


def screened_neighbors(X, rows, n_others):
    """Find what `exact_neighbors` finds, mostly in float32: many cards compute float64 at a 64th of the speed.

    Of X (N, m), float64. Twice as many candidates are ranked by their distances in float64; rows for which rounding may
    have hidden a nearer one are searched in float64 again.
    """
    n_candidates = 2 * n_others
    if n_candidates >= len(X):
        return exact_neighbors(X, rows, n_others)
    norms, single = X.square().sum(1), X.float()
    with float32_as_it_is():
        distances = torch.addmm(norms.float(), single[rows], single.T, alpha=-2)  # (n, N), but for a row's own norm
    distances[torch.arange(len(rows), device=X.device), rows] = torch.inf
    screened = distances.topk(n_candidates, largest=False, sorted=False)
    candidates, passed = screened.indices, screened.values.amax(1).double() + norms[rows]
    ranked = (X[candidates] - X[rows][:, None]).square().sum(2).topk(n_others, largest=False, sorted=False)
    others = candidates.gather(1, ranked.indices)
    # What was passed over is at least so far, but for the rounding of values, products and sums, by the longest row.
    error = (2 * X.shape[1] + 16) * torch.finfo(torch.float32).eps / 2 * norms.max()
    (doubtful,) = torch.where(~(ranked.values.amax(1) <= passed - error))  # where they overflow, too
    others[doubtful] = exact_neighbors(X, rows[doubtful], n_others)
    return others


def exact_neighbors(X, rows, n_others):
    """Find the nearest others of some rows (n,), unsorted: indices (n, n_others)."""
    # Squared distances but for a row's own norm. In float64: float32 would lose what lies within two blobs far apart.
    distances = torch.addmm(X.square().sum(1), X[rows], X.T, alpha=-2)  # (n, N)
    distances[torch.arange(len(rows), device=X.device), rows] = torch.inf
    return distances.topk(n_others, largest=False, sorted=False).indices


def approximate_neighbors(X, n_neighbors, seed):
    """Find neighbours by pynndescent: indices (N, n_neighbors), maybe with the row itself, and -1 for none."""
    from pynndescent import NNDescent  # late: it takes seconds

    with KERNELS_LOCK, torch_threads_kept():
        finder = NNDescent(to_numpy(X).astype(np.float32), n_neighbors=n_neighbors, random_state=seed, n_jobs=-1)
        indices, _ = finder.neighbor_graph
    return torch.as_tensor(indices, dtype=torch.int64, device=X.device)


def own_first(X, rows, others, n_neighbors):
    """Sort neighbours by their distance, taken from differences (exact, 0 for duplicates), after the row itself.

    Of X (N, m), float64, rows (n,) and distinct others (n, at least n_neighbors - 1), of which the row itself and -1 do
    not count: indices and distances (n, n_neighbors). Where neighbours are lacking, the row stands again, with the
    distance of its farthest neighbour.
    """
    own = rows[:, None]
    lacking = (others == own) | (others < 0)
    others = torch.where(lacking, own, others)
    distances = (X[others] - X[own]).square().sum(2).sqrt()
    distances, order = torch.where(lacking, torch.inf, distances).sort(dim=1, stable=True)
    distances = torch.where(distances.isinf(), 0, distances).cummax(1).values
    indices = torch.hstack([own, others.gather(1, order)])
    return indices[:, :n_neighbors], torch.hstack([torch.zeros_like(distances[:, :1]), distances])[:, :n_neighbors]


def smooth_knn(distances):
    """Find each row's distance scale (Algorithm 3) by distances (N, k), float64, of its k nearest, itself the first.

    rho (N,) is the distance of the nearest neighbour that is no duplicate; 0 if all are. sigma (N,) makes exp(-max(0,
    distance - rho) / sigma), summed over the other k - 1, log2(k), but is at least a thousandth of the mean distance.
    """
    rho = torch.where(distances > 0, distances, torch.inf).amin(1)
    rho = torch.where(rho.isinf(), 0, rho)
    excess = (distances[:, 1:] - rho[:, None]).clamp(min=0)  # (N, k - 1)
    low, high, sigma = torch.zeros_like(rho), torch.full_like(rho, torch.inf), torch.ones_like(rho)
    for _ in range(_BISECTIONS):
        too_wide = torch.exp(-excess / sigma[:, None]).sum(1) > math.log2(distances.shape[1])
        low, high = torch.where(too_wide, low, sigma), torch.where(too_wide, sigma, high)
        sigma = torch.where(high.isinf(), 2 * sigma, (low + high) / 2)
    floor = _MIN_SIGMA * torch.where(rho > 0, distances.mean(1), distances.mean())
    tiny = torch.finfo(sigma.dtype).tiny  # where all rows are equal
    return rho, torch.maximum(sigma, floor).clamp(min=tiny)


def fuzzy_graph(indices, distances):
    """Join the rows' fuzzy neighbourhoods: a + b - a b, of the weights a and b two rows give each other (section 3.1).

    Of indices and distances (N, k), heads and tails (E,), sorted, every edge in both directions, and weights (E,),
    float64.
    """
    n_rows, k = indices.shape
    rho, sigma = smooth_knn(distances)
    weights = torch.exp(-(distances - rho[:, None]).clamp(min=0) / sigma[:, None])[:, 1:].flatten()
    heads, tails = indices[:, :1].expand(-1, k - 1).flatten(), indices[:, 1:].flatten()
    weights = torch.where(heads == tails, 0, weights)
    zeros = torch.zeros_like(weights)
    # Two values an entry, a and b. Of either, one at most is added to zeros: the sum knows no order.
    pairs = torch.hstack([torch.stack([heads, tails]), torch.stack([tails, heads])])
    values = torch.vstack([torch.stack([weights, zeros], 1), torch.stack([zeros, weights], 1)])
    joined = torch.sparse_coo_tensor(pairs, values, (n_rows, n_rows, 2), check_invariants=False).coalesce()
    a, b = joined.values().unbind(1)
    return *joined.indices().unbind(0), a + b - a * b


def curve(min_dist, spread=1.0):
    """Fit a and b of 1 / (1 + a d^(2b)), the membership at distance d of the embedding, which falls beyond min_dist."""
    d = np.linspace(0, 3 * spread, 300)
    wanted = np.where(d < min_dist, 1.0, np.exp(-(d - min_dist) / spread))
    (a, b), _ = curve_fit(lambda d, a, b: 1 / (1 + a * d ** (2 * b)), d, wanted)
    return float(a), float(b)


def initial_layout(graph, n_components, rng):
    """Lay out a graph (N, N) by its Laplacian (Algorithm 4), each connected component in a cell of its own.

    On the CPU: ARPACK needs half a second for 70 000 rows, and is repeatable, as cuSPARSE is not. The start (N,
    n_components), float32, is 10 wide along each axis.
    """
    n_parts, part_of = connected_components(graph, directed=False)
    parts = np.split(np.argsort(part_of, kind="stable"), np.cumsum(np.bincount(part_of))[:-1])
    side = math.ceil(n_parts ** (1 / n_components))  # of a cube of cells
    cells = np.arange(n_parts)[:, None] // float(side) ** np.arange(n_components) % side
    start = 3 * cells[part_of]  # a cell is 2 wide, 1 apart
    for rows in parts:
        start[rows] += spectral_layout(graph[rows][:, rows], n_components, rng)
    start -= start.min(0)
    start *= _START_WIDTH / np.maximum(start.max(0), np.finfo(float).tiny)
    return (start + rng.normal(scale=_START_NOISE, size=start.shape)).astype(np.float32)


def spectral_layout(graph, n_components, rng):
    """Take the leading eigenvectors of a connected graph's normalised adjacency, but the first: (N, n_components).

    Their largest value is 1. Graphs that have too few rows, or no convergence, get random values in [-1, 1].
    """
    n_rows = graph.shape[0]
    at_random = rng.uniform(-1, 1, size=(n_rows, n_components))
    if n_rows <= n_components + 1:
        return at_random
    scale = dia_array(((graph.sum(1) ** -0.5)[None], [0]), shape=graph.shape)
    adjacency = scale @ graph @ scale
    if n_rows <= _DENSE_ROWS:
        vectors = np.linalg.eigh(adjacency.toarray())[1]
    else:
        try:
            v0 = rng.uniform(size=n_rows)
            vectors = eigsh(adjacency, n_components + 1, which="LA", v0=v0, tol=1e-4, maxiter=300)[1]
        except ArpackError:
            return at_random
    vectors = vectors[:, -2 : -n_components - 2 : -1]
    return vectors / np.abs(vectors).max()


def layout(embedding, heads, tails, weights, a, b, n_epochs, generator):
    """Move rows (N, n_components), float32, along sampled edges and off sampled rows (Algorithm 5).

    An edge of weight w has w turns an epoch. The paper takes turn after turn; here, the turns of a step are taken at
    once, and so that rows with many edges do not overshoot, a step has half as many turns as there are rows. Edges are
    heads, tails and weights (E,); all tensors and the generator are on one device.
    """
    n_rows = len(embedding)
    ends = floating_point(fixed_point(weights).cumsum(0))  # (E,)
    turns = float(ends[-1])  # in an epoch
    steps_per_epoch = max(1, round(turns / (_HEADS * n_rows)))
    n_steps = n_epochs * steps_per_epoch
    n_turns = int(turns / steps_per_epoch)  # in a step
    embedding, places = embedding.clone(), torch.arange(n_turns, dtype=torch.float64, device=embedding.device)

    def move(when, generators):
        # The edges lie end to end, as long as their weights, and turns fall on them at even spaces, wider than an edge.
        # Shifted by golden sections, an edge's turns are evenly spaced in time too, with nothing to keep for an edge
        # and, as their number is known, no wait for the device.
        shift, rate = when
        edges = torch.searchsorted(ends, (places + shift) * (turns / n_turns), right=True)
        others = torch.randint(n_rows, (n_turns, NEGATIVES), generator=generators[0], device=embedding.device)
        embedding.add_(rate * moves(embedding, heads[edges], tails[edges], others, a, b))

    times: Any = [(step * _GOLDEN_SECTION % 1, 1 - step / n_steps) for step in range(n_steps)]
    if embedding.device.type == "cuda":  # a recorded step takes no numbers
        times = torch.as_tensor(np.array(times), device=embedding.device)
    step = recorded_on_cuda(move, [generator])
    for when in times:
        step(*when)
    return embedding


def moves(embedding, heads, tails, others, a, b):
    """Sum the forces of one step's turns (M,) on each row: (N, n_components), float32."""
    here = embedding[heads]  # (M, n_components)
    pulls = fixed_point(attraction(here - embedding[tails], a, b))
    pushes = fixed_point(repulsion(here[:, None] - embedding[others], a, b).sum(1))
    total = torch.zeros(embedding.shape, dtype=torch.int64, device=embedding.device)
    total.index_add_(0, heads, pulls + pushes)
    total.index_add_(0, tails, -pulls)
    return floating_point(total).to(embedding.dtype)


def fixed_point(values):
    """Turn floats into integers, whose sum is the same in whatever order a GPU's threads add them."""
    return (values * _FIXED_POINT).round().to(torch.int64)


def floating_point(integers):
    """Turn such integers back, into float64."""
    return integers.to(torch.float64) / _FIXED_POINT


def attraction(difference, a, b):
    """Force on the head of an edge, from the difference head - tail (..., n_components); section 3.2."""
    squared = difference.square().sum(-1, keepdim=True).clamp(min=1e-12)  # 0 has no negative power
    factor = -2 * a * b * squared ** (b - 1) / (1 + a * squared**b)
    return (factor * difference).clamp(-_MAX_FORCE, _MAX_FORCE)


def repulsion(difference, a, b):
    """Force on a row off another, from the difference row - other (..., n_components); 0 where it is."""
    squared = difference.square().sum(-1, keepdim=True)
    factor = 2 * b / ((1e-3 + squared) * (1 + a * squared**b))
    return (factor * difference).clamp(-_MAX_FORCE, _MAX_FORCE)
