"""Landmarks: of very many rows a sample is reduced and clustered, and each other row is as the landmarks next to it."""

from math import isqrt

import numpy as np
from joblib import Parallel, delayed

from .._constants import NOISE
from .._runtime.jobs import jobs_at_once
from .._runtime.threads import threads_shared
from .consensus import ranked_counts

N_NEIGHBORS = 5  # landmarks that a row is labelled by
_CELLS = 3  # times the square root of the landmarks
_CELLS_SEEN = 16  # by each row; on latents of MNIST 99 % of the rows get the label that all distances give them
_ROWS_PER_CHUNK, _MAX_DISTANCES = 2**15, 2**21  # at once


def check_landmarks(max_landmarks, n_clusters, n_rows):
    """Refuse as many clusters as landmarks, of more rows."""
    if max_landmarks is not None and max_landmarks <= n_clusters < n_rows:
        raise ValueError(
            f"max_landmarks={max_landmarks} is too few for n_clusters={n_clusters}: of {n_rows} distinct rows only so "
            "many are clustered. Raise it, or pass max_landmarks=None."
        )


def n_labelled(n_rows, max_landmarks):
    """How many of so many rows are clustered."""
    return n_rows if max_landmarks is None else min(n_rows, max_landmarks)


def draw_landmarks(n_rows, max_landmarks, seed):
    """Draw the rows that are clustered, of ``n_rows``: indices in order, or None where all of them are."""
    if max_landmarks is None or n_rows <= max_landmarks:
        return None
    return np.sort(np.random.default_rng(seed).choice(n_rows, max_landmarks, replace=False))


def landmarks_alone(latents, landmarks):
    """Latents (K, n, m) of the landmarks, of those of all rows (K, N, m)."""
    return latents if landmarks is None else latents[:, landmarks]


def spread_labels(spaces, found, landmarks, n_jobs):
    """Labels of all rows (N,) by space, of those of the landmarks (n,) that were ``found``, and spaces (N, d)."""
    with threads_shared(len(found), n_jobs=jobs_at_once(n_jobs)) as n_workers:
        run = Parallel(n_jobs=n_workers, prefer="threads")
        made = run(delayed(label_by_landmarks)((spaces[i], landmarks, labels)) for i, labels in found.items())
    return dict(zip(found, made, strict=True))


def label_by_landmarks(space_landmarks_labels):
    """Label the rows of one space (N, d) by the nearest landmarks; all in a tuple, as in `skspc._method.labelling`.

    These keep their labels (n,). Another row has the label that most of its five nearest landmarks have, noise left
    out, and is ``NOISE`` where most of them are.
    """
    # All distances to 50 000 landmarks would take longer than UMAP of these does. Landmarks are dealt to the nearest of
    # some of them, and a row looks for its neighbours in the cells of those that are nearest to it.
    space, landmarks, labels = space_landmarks_labels
    known = space[landmarks].astype(np.float64)
    centers = known[:: max(1, isqrt(len(known)) // _CELLS)]
    cells = _split_by(_nearest(centers, known, 1), len(centers))
    centers, cells = centers[[len(cell) > 0 for cell in cells]], [cell for cell in cells if len(cell)]
    spread = np.empty(len(space), dtype=np.int64)
    spread[landmarks] = labels
    others = np.delete(np.arange(len(space)), landmarks)
    for start in range(0, len(others), _ROWS_PER_CHUNK):
        rows = others[start : start + _ROWS_PER_CHUNK]
        spread[rows] = label_of_most(labels[_nearest_in_cells(known, centers, cells, space[rows].astype(np.float64))])
    return spread


def _nearest_in_cells(known, centers, cells, rows):
    """Indices (n, k) of the landmarks (m, d) nearest to rows (n, d), of those in cells near to a row, nearest first.

    Where these are fewer than k, the nearest stands for those that lack.
    """
    n_near = min(N_NEIGHBORS, len(known))
    found, distances = np.zeros((len(rows), n_near), dtype=np.int64), np.full((len(rows), n_near), np.inf)
    for cell, which in zip(cells, _split_by(_nearest(centers, rows, _CELLS_SEEN), len(cells)), strict=True):
        for part in np.array_split(which, 1 + len(which) * len(cell) // _MAX_DISTANCES):
            candidates = np.hstack([found[part], np.broadcast_to(cell, (len(part), len(cell)))])
            of_cell = np.hstack([distances[part], _squared_distances(known[cell], rows[part])])
            best = np.argpartition(of_cell, n_near - 1, axis=1)[:, :n_near]
            found[part] = np.take_along_axis(candidates, best, axis=1)
            distances[part] = np.take_along_axis(of_cell, best, axis=1)
    order = distances.argsort(axis=1)
    found = np.take_along_axis(found, order, axis=1)
    return np.where(np.isinf(np.take_along_axis(distances, order, axis=1)), found[:, :1], found)


def _nearest(points, rows, n_neighbors):
    """Indices (n, k) of the points nearest to each row, in no order; fewer where there are fewer."""
    n_neighbors = min(n_neighbors, len(points))
    found = np.empty((len(rows), n_neighbors), dtype=np.int64)
    for which in np.array_split(np.arange(len(rows)), 1 + len(rows) * len(points) // _MAX_DISTANCES):
        distances = _squared_distances(points, rows[which])
        found[which] = np.argpartition(distances, n_neighbors - 1, axis=1)[:, :n_neighbors]
    return found


def _squared_distances(points, rows):
    """Squared distances (n, m) of rows to points, but for the row's own square, which changes no order."""
    return np.square(points).sum(axis=1) - 2 * (rows @ points.T)


def _split_by(cells, n_cells):
    """For each cell the rows that have it among theirs (n, p): a list of index arrays."""
    order = np.argsort(cells, axis=None, kind="stable")
    return np.split(order // cells.shape[1], np.searchsorted(cells.ravel()[order], np.arange(1, n_cells)))


def label_of_most(near):
    """The most common of labels (n, k), the nearest first, without noise; ``NOISE`` where most are noise."""
    counts = ranked_counts(near - NOISE, near.max() - NOISE + 1)
    counts[2 * np.sum(near == NOISE, axis=1) <= near.shape[1], 0] = 0  # of noise, which is the first
    return counts.argmax(axis=1) + NOISE
