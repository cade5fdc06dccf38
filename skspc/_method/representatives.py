"""Representatives: the rows of each cluster that are most and least sure."""

from numbers import Integral

import numpy as np
from sklearn.utils import Bunch


def rank_representatives(labels, scores, n):
    """Choose the surest and the most doubtful rows of each cluster.

    Parameters
    ----------
    labels : ndarray of shape (N,), int
        Rows with negative labels are in no cluster.
    scores : sequence of ndarray of shape (N,)
        How sure a row is; each score settles the ties of those before it, and the row's index the last ones.
    n : int
        Rows of each kind at most.

    Returns
    -------
    representatives : Bunch
        ``clusters`` (C,) is the labels that occur, in order. ``sure`` and ``doubtful`` hold an array of row indices for
        each: the surest first, and the most doubtful first. A cluster of fewer than 2 n rows is halved, so that no row
        is both.

    Raises
    ------
    ValueError
        If n is not a whole number of at least 1.
    """
    if not isinstance(n, Integral) or isinstance(n, bool) or n < 1:
        raise ValueError(f"n={n!r} must be a whole number of rows, at least 1.")
    clusters = np.unique(labels[labels >= 0])
    surest_first = np.lexsort([-np.asarray(score) for score in reversed(scores)])
    ranked = [surest_first[labels[surest_first] == cluster] for cluster in clusters]
    return Bunch(
        clusters=clusters,
        sure=[rows[: min(n, (len(rows) + 1) // 2)] for rows in ranked],
        doubtful=[rows[::-1][: min(n, len(rows) // 2)] for rows in ranked],
    )
