"""Landmarks: of very many rows a sample is reduced and clustered, and each other row is as the landmarks next to it."""

from math import isqrt

import numpy as np
from joblib import Parallel, delayed

from .._constants import NOISE
from .._runtime.jobs import jobs_at_once
from .._runtime.threads import threads_shared
from .known_labels import ranked_counts

N_NEIGHBORS = 5  # landmarks that a row is labelled by
_CELLS = 3  # times the square root of the landmarks: with so many, finding a cell and looking into it take as long
_CELLS_SEEN = 4  # in which the neighbours of a row are looked for
_ROWS_PER_CHUNK = 1024


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
        made = run(delayed(label_by_landmarks)((spaces[i],), landmarks, labels) for i, labels in found.items())
    return dict(zip(found, made, strict=True))


def label_by_landmarks(space_in_tuple, landmarks, labels):
    """Label the rows of one space (N, d), in a tuple as in `skspc._method.labelling`, by the nearest landmarks.

    These keep their labels (n,). Another row has the label that most of its five nearest landmarks have, noise left
    out, and is ``NOISE`` where most of them are.
    """
    # All distances, to 50 000 landmarks, would take longer than UMAP of these does. Rows and landmarks are dealt to the
    # nearest of some landmarks, and neighbours are looked for in the cells next to a row's own.
    (space,) = space_in_tuple
    centers = space[landmarks[:: max(1, isqrt(len(landmarks)) // _CELLS)]]
    cells = _nearest(centers, space, 1)[:, 0]
    beside = _nearest(centers, centers, _CELLS_SEEN)
    spread = np.full(len(space), NOISE)
    spread[landmarks] = labels
    of_landmarks = _by_cell(landmarks, cells, len(centers))
    others = _by_cell(np.delete(np.arange(len(space)), landmarks), cells, len(centers))
    for cell, rows in enumerate(others):
        if len(rows):
            seen = np.concatenate([of_landmarks[each] for each in beside[cell]])
            near = seen[_nearest(space[seen], space[rows], N_NEIGHBORS)]
            spread[rows] = label_of_most(spread[near])
    return spread


def _by_cell(rows, cells, n_cells):
    """Split some rows, in order, by the cells (N,) of all: a list of index arrays."""
    ordered = rows[np.argsort(cells[rows], kind="stable")]
    return np.split(ordered, np.searchsorted(cells[ordered], np.arange(1, n_cells)))


def _nearest(points, rows, n_neighbors):
    """Indices (n, k) of the points nearest to each row, the nearest first; fewer where there are fewer."""
    points, n_neighbors = points.astype(np.float64), min(n_neighbors, len(points))
    squares, found = np.square(points).sum(axis=1), np.empty((len(rows), n_neighbors), dtype=np.int64)
    for start in range(0, len(rows), _ROWS_PER_CHUNK):
        which = slice(start, start + _ROWS_PER_CHUNK)
        distances = squares - 2 * (rows[which].astype(np.float64) @ points.T)  # squared, but for the row's own square
        if n_neighbors == 1:
            found[which, 0] = distances.argmin(axis=1)
            continue
        near = np.argpartition(distances, n_neighbors - 1, axis=1)[:, :n_neighbors]
        order = np.take_along_axis(distances, near, axis=1).argsort(axis=1)
        found[which] = np.take_along_axis(near, order, axis=1)
    return found


def label_of_most(near):
    """The most common of labels (n, k), the nearest first, without noise; ``NOISE`` where most are noise."""
    counts = ranked_counts(near - NOISE, near.max() - NOISE + 1)
    counts[2 * np.sum(near == NOISE, axis=1) <= near.shape[1], 0] = 0  # of noise, which is the first
    return counts.argmax(axis=1) + NOISE
