"""UMAP in torch, for CUDA devices; on the CPU it does the same, about as fast as umap-learn.

One seed gives one embedding on one device. Sums of many floats by atomic additions would depend on the order in which a
GPU's threads come; such sums are taken over integers here. Sections and algorithms named below are the paper's:
McInnes, Healy & Melville (2018), "UMAP: Uniform Manifold Approximation and Projection", arXiv:1802.03426v3.
"""

import math
import warnings
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.optimize import curve_fit
from scipy.sparse import coo_array, dia_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackError, eigsh

from .._runtime.arrays import to_numpy
from .._runtime.devices import inference_device
from .._runtime.jobs import map_side_by_side
from .._runtime.memory import alone_on, free_memory, is_out_of_memory, release_memory
from .._runtime.modes import float32_as_it_is
from .._runtime.steps import recorded_on_cuda
from .._runtime.threads import torch_threads_kept
from ._kernels import KERNELS_LOCK

MAX_EXACT_ROWS = 100_000  # above, neighbours are pynndescent's
CHUNK_VALUES = {"cuda": 2**28, "cpu": 2**20}  # distances held at once: 2 GiB, 8 MiB
_BYTES_FOR_VALUE = 48  # of free memory, for a distance: three of them in float64, and as much left for others
_GRAPHS_SHARE = 0.5  # of free memory, for the graphs that are laid out at once
_BYTES_FOR_EDGE = 80  # of these: two ends and a weight, twice, and as much while they are put together
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


class Space(NamedTuple):
    """Rows to embed (N, m), at least 8; from 2 to N - 1 neighbours of each, a row the first of its own; a seed.

    A start (N, n_components) may be given, which is scaled; else it is the graph's `initial_layout`.
    """

    X: Any
    n_neighbors: int
    seed: int
    start: Any = None


class Graph(NamedTuple):
    """A space's graph of neighbours, edges (E,) with their weights, and where its rows start (N, n_components)."""

    start: torch.Tensor
    heads: torch.Tensor
    tails: torch.Tensor
    weights: torch.Tensor


def embed(X, n_neighbors, n_components, min_dist, n_epochs, seed, device, start=None):
    """Embed the rows of one `Space` by UMAP: (N, n_components), float32. See `embed_together`."""
    return embed_together([Space(X, n_neighbors, seed, start)], n_components, min_dist, n_epochs, device)[0]


def embed_together(spaces, n_components, min_dist, n_epochs, device, n_jobs=1):
    """Embed spaces by UMAP, each as it is alone (see `layout`): a list of arrays (N, n_components), float32.

    min_dist is from 0 to 1, the spread. The CPU stands in for a device without float64 (MPS). ``n_jobs`` spaces are
    prepared at once.

    Memory: two or three times the distances held at once (``CHUNK_VALUES``, less where less is free), or, if that is
    more, some 200 bytes for each of 2 N n_neighbors edges: 840 MB for 70 000 rows with 30 neighbours. One thread at a
    time takes it of a card. Beside it are the graphs of the spaces that are laid out at once, as many as half of what
    is free has room for. Where it is lacking all the same, a space is embedded by itself, and then on the CPU, with a
    RuntimeWarning.
    """
    device, settings = inference_device(device), (n_components, min_dist, n_epochs)
    batches = batches_that_fit(spaces, n_components, free_memory(device))
    return [embedding for batch in batches for embedding in _embed_in_memory(device, batch, settings, n_jobs)]


def batches_that_fit(spaces, n_components, free):
    """Split spaces into lists to be laid out at once, in half of the bytes that are free; None has no end."""
    room = math.inf if free is None else _GRAPHS_SHARE * free
    batches: list[list[Space]] = []
    left = 0.0
    for space in spaces:
        n_bytes = _BYTES_FOR_EDGE * 2 * len(space.X) * (space.n_neighbors + n_components)
        if not batches or n_bytes > left:
            batches.append([])
            left = room
        batches[-1].append(space)
        left -= n_bytes
    return batches


def _embed_in_memory(device, spaces, settings, n_jobs):
    """Embed spaces at once; where memory runs out, one by one, and one alone on the CPU."""
    try:
        return _embed_on(device, spaces, n_jobs, *settings)
    except RuntimeError as error:
        if device.type == "cpu" or not is_out_of_memory(error):
            raise
    release_memory(device)
    if len(spaces) > 1:
        return [embedding for space in spaces for embedding in _embed_in_memory(device, [space], settings, 1)]
    warnings.warn(
        f"{device} had too little memory for UMAP of {len(spaces[0].X)} rows; it goes on on the CPU, which "
        "takes longer.",
        RuntimeWarning,
        stacklevel=3,
    )
    return _embed_on(torch.device("cpu"), spaces, 1, *settings)


def _embed_on(device, spaces, n_jobs, n_components, min_dist, n_epochs):
    def prepare(space):
        return make_graph(space, n_components, n_epochs, device)

    graphs = [prepare(spaces[0])] if len(spaces) == 1 else map_side_by_side(prepare, spaces, None, n_jobs)
    generators = [torch.Generator(device).manual_seed(space.seed) for space in spaces]
    a, b = curve(min_dist)
    return [to_numpy(embedding) for embedding in layout(graphs, a, b, n_epochs, generators)]


def make_graph(space, n_components, n_epochs, device):
    """Make the graph of a space's rows, without edges too weak for a turn, and their start, on a device."""
    rows = torch.as_tensor(np.asarray(space.X, dtype=np.float64), device=device)
    with alone_on(device):
        heads, tails, weights = fuzzy_graph(*nearest_neighbors(rows, space.n_neighbors, space.seed))
        kept = weights * max(n_epochs, _MIN_KEPT_EPOCHS) >= 1  # the others would have less than one turn
        heads, tails, weights = heads[kept], tails[kept], weights[kept]
    graph = coo_array((to_numpy(weights), (to_numpy(heads), to_numpy(tails))), shape=(len(rows), len(rows))).tocsr()
    rng = np.random.default_rng(space.seed)
    start = initial_layout(graph, n_components, rng) if space.start is None else scaled(space.start, rng)
    return Graph(torch.as_tensor(start, device=device), heads, tails, weights)


def neighbors_of(space, device):
    """Nearest neighbours of a space's rows as `make_graph` finds them: indices (N, n_neighbors) in numpy.

    Where the device lacks memory, the CPU finds them.
    """
    device = inference_device(device)
    try:
        rows = torch.as_tensor(np.asarray(space.X, dtype=np.float64), device=device)
        with alone_on(device):
            return to_numpy(nearest_neighbors(rows, space.n_neighbors, space.seed)[0])
    except RuntimeError as error:
        if device.type == "cpu" or not is_out_of_memory(error):
            raise
    release_memory(device)
    return neighbors_of(space, torch.device("cpu"))


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
    return scaled(start, rng)


def scaled(start, rng):
    """Scale a start (N, n_components) to be 10 wide along each axis, in float32, and no two rows in one place."""
    start = np.asarray(start, dtype=np.float64)  # whose range holds that of float32
    start = start - start.min(0)
    width = start.max(0)
    start *= _START_WIDTH / np.where(width > 0, width, 1)
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


def layout(graphs, a, b, n_epochs, generators):
    """Move the rows of graphs along sampled edges and off sampled rows (Algorithm 5): a list of (N, n_components).

    An edge of weight w has w turns an epoch. The paper takes turn after turn; here, the turns of a step are taken at
    once, and so that rows with many edges do not overshoot, a step has half as many turns as there are rows. Each graph
    has a generator, all on one device. They lie side by side as one, and a step of all is one of each, with the turns
    and draws that it has alone; those that end before the last one rest at a rate of 0. So a graph is laid out as it is
    alone, but for the CPU's vectors, which round by where a value stands.
    """
    device = graphs[0].start.device
    n_rows, n_edges = [len(graph.start) for graph in graphs], [len(graph.heads) for graph in graphs]
    first_rows = np.cumsum([0, *n_rows[:-1]]).tolist()
    heads, tails = (
        torch.cat([getattr(graph, name) + first for graph, first in zip(graphs, first_rows, strict=True)])
        for name in ("heads", "tails")
    )
    embedding, ends = torch.cat([graph.start for graph in graphs]), fixed_point(torch.cat([g.weights for g in graphs]))
    ends = ends.cumsum(
        0
    )  # (E,): the edges lie end to end, as long as their weights; as integers, which have no rounding
    last_ends: Any = to_numpy(ends[torch.as_tensor(np.cumsum(n_edges) - 1, device=device)])
    first_ends = np.concatenate([[0], last_ends[:-1]])
    plan = [plan_turns(of_one / _FIXED_POINT, n) for of_one, n in zip(last_ends - first_ends, n_rows, strict=True)]
    n_steps, n_turns, spacing = (np.array(values) for values in zip(*plan, strict=True))
    of_turn = torch.as_tensor(np.repeat(np.arange(len(graphs)), n_turns), device=device)
    of_row = torch.as_tensor(np.repeat(np.arange(len(graphs)), n_rows), device=device)
    places = torch.cat([torch.arange(n, dtype=torch.float64, device=device) for n in n_turns])
    spacing_of, begin_of = (torch.as_tensor(values, device=device)[of_turn] for values in (spacing, first_ends))

    def move(when, generators):
        # Turns fall on the edges at even spaces, wider than an edge. Shifted by golden sections, an edge's turns are
        # evenly spaced in time too, with nothing to keep for an edge and, as their number is known, no wait for the
        # device.
        shift, rates = when
        reached = begin_of + ((places + shift) * spacing_of * _FIXED_POINT).floor().to(torch.int64)
        edges = torch.searchsorted(ends, reached, right=True)
        others = torch.cat(
            [
                first + torch.randint(n, (int(n_of_step), NEGATIVES), generator=generator, device=device)
                for first, n, n_of_step, generator in zip(first_rows, n_rows, n_turns, generators, strict=True)
            ]
        )
        embedding.add_(rates[of_row, None] * moves(embedding, heads[edges], tails[edges], others, a, b))

    step = recorded_on_cuda(move, generators)
    for when in zip(*times_of_steps(n_epochs * n_steps, device), strict=True):
        step(*when)
    return embedding.split(n_rows)


def plan_turns(turns, n_rows):
    """Of the turns that all edges have in an epoch: its steps, the turns of a step, and the space between these."""
    n_steps = max(1, round(turns / (_HEADS * n_rows)))
    n_of_step = int(turns / n_steps)
    return n_steps, n_of_step, turns / n_of_step


def times_of_steps(n_steps, device):
    """Shifts, and rates of graphs that have so many steps (S,): tensors, as a recorded step takes no numbers."""
    steps = np.arange(max(n_steps))
    rates = np.clip(1 - steps[:, None] / n_steps, 0, None)  # (steps, S)
    shifts = torch.as_tensor(steps * _GOLDEN_SECTION % 1, dtype=torch.float64, device=device)
    return shifts, torch.as_tensor(rates, dtype=torch.float32, device=device)


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
