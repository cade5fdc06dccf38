"""UMAP by umap-learn, in threads that run at once."""

import threading
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
from scipy.sparse import coo_matrix, csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.neighbors import NearestNeighbors

from .._runtime.quiet import dependencies_quiet
from . import _umap_torch
from ._kernels import KERNELS_LOCK

MAX_EXACT_ROWS = 20_000  # above, pynndescent is faster than all distances
_LARGE_GRAPHS_LOCK = threading.Lock()
_MIN_SPECTRAL_ROWS = 50


def embed(X, n_neighbors, n_components, min_dist, n_epochs, seed, start=None):
    """Embed rows (N, m) of float32 as `_umap_torch.embed` does, on the CPU: (N, n_components), float32."""
    from umap import umap_  # late: it takes a second

    random_state = np.random.RandomState(seed)
    with dependencies_quiet():
        _let_layouts_run_at_once()
        # pynndescent's kernels take turns anyway, and each large graph takes a GiB (200 000 rows) while it is joined.
        with _LARGE_GRAPHS_LOCK if len(X) > MAX_EXACT_ROWS else nullcontext():
            graph = fuzzy_graph(*nearest_neighbors(X, n_neighbors, random_state))
        a, b = umap_.find_ab_params(1.0, min_dist)
        if start is not None:
            start = _umap_torch.scaled(start, np.random.default_rng(seed))
        elif len(X) < _MIN_SPECTRAL_ROWS:
            start = "random"
        else:
            start = _initial_layout(graph, n_components, n_epochs, seed)
        embedding, _ = umap_.simplicial_set_embedding(
            X,
            graph,
            n_components,
            initial_alpha=1.0,
            a=a,
            b=b,
            gamma=1.0,
            negative_sample_rate=5,
            n_epochs=n_epochs,
            init=start,
            random_state=random_state,
            metric="euclidean",
            metric_kwds={},
            densmap=False,
            densmap_kwds={},
            output_dens=False,
        )
    return embedding


def neighbors_of(X, n_neighbors, seed):
    """Nearest neighbours as `embed` finds them: indices (N, n_neighbors), each row the first of its own."""
    with dependencies_quiet():
        return nearest_neighbors(X, n_neighbors, np.random.RandomState(seed))[0]


def _initial_layout(graph, n_components, n_epochs, seed):
    """What umap-learn starts from: its own spectral layout, or the torch engine's where the graph is in many parts.

    umap-learn places more than two parts a dimension by scikit-learn's SpectralEmbedding of their centres. Where these
    are far apart, its ARPACK draws vectors that no seed governs, and two fits differ.
    """
    kept = csr_array(graph)
    kept.data[kept.data < kept.data.max() / n_epochs] = 0  # as umap-learn does first: edges with less than one turn
    kept.eliminate_zeros()
    if connected_components(kept, directed=False)[0] <= 2 * n_components:
        return "spectral"
    return _umap_torch.initial_layout(kept, n_components, np.random.default_rng(seed))


def fuzzy_graph(indices, distances):
    """Join the rows' fuzzy neighbourhoods (N, n_neighbors): a sparse array (N, N).

    The torch engine's, which is umap-learn's to rounding and need not be compiled first (3 s in each new process).
    """
    indices = torch.from_numpy(np.ascontiguousarray(indices, dtype=np.int64))
    distances = torch.from_numpy(np.ascontiguousarray(distances, dtype=np.float64))
    heads, tails, weights = _umap_torch.fuzzy_graph(indices, distances)
    places = (heads.numpy(), tails.numpy())
    return coo_matrix((weights.numpy().astype(np.float32), places), shape=(len(indices), len(indices)))


def nearest_neighbors(X, n_neighbors, random_state):
    """Find nearest neighbours, each row the first of its own: exactly, or by pynndescent where rows are many.

    Indices and distances are of shape (N, n_neighbors).
    """
    if len(X) <= MAX_EXACT_ROWS:
        return exact_neighbors(X, n_neighbors)
    from umap import umap_

    with KERNELS_LOCK:
        indices, distances, _ = umap_.nearest_neighbors(X, n_neighbors, "euclidean", {}, False, random_state, n_jobs=1)
    lacking = indices < 0  # pynndescent found fewer: the row itself stands for them, which makes no edge
    indices = np.where(lacking, np.arange(len(X))[:, None], indices)
    farthest = np.where(lacking, 0, distances).max(axis=1, keepdims=True)
    return indices, np.where(lacking, farthest, distances)


def exact_neighbors(X, n_neighbors):
    """Find nearest neighbours by all distances, each row the first of its own: indices and distances (N, n_neighbors).

    umap-learn's own way for small data calls Python once a pair of rows: 2 s for 1 800 rows, against 0.05 s.
    """
    finder = NearestNeighbors(n_neighbors=n_neighbors - 1, algorithm="brute").fit(X)
    distances, indices = finder.kneighbors()  # of the rows themselves: without the row
    own = np.arange(len(X))[:, None]
    return np.hstack([own, indices]), np.hstack([np.zeros_like(distances[:, :1]), distances])


def _let_layouts_run_at_once():
    """Have umap-learn's layout, nine tenths of its time, give up Python's lock while it runs.

    umap-learn compiles it without: threads then wait for each other. The code compiled is the same, and so are results.
    A umap-learn that keeps its layout elsewhere is left as it is, and so is what NUMBA_DISABLE_JIT leaves to Python.
    """
    import numba
    from umap import layouts

    name = "_nb_optimize_layout_euclidean_single_epoch"
    compiled: Any = getattr(layouts, name, None)
    if hasattr(compiled, "targetoptions") and not compiled.targetoptions.get("nogil"):
        setattr(layouts, name, numba.njit(compiled.py_func, fastmath=True, nogil=True))
