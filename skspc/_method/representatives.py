"""Representatives: the rows of each cluster that are most and least sure."""

from numbers import Integral

import numpy as np
from sklearn.utils import Bunch


def check_number(n):
    """Refuse what is no number of rows."""
    if not isinstance(n, Integral) or isinstance(n, bool) or n < 1:
        raise ValueError(f"n={n!r} must be a whole number of rows, at least 1.")


def rank_representatives(labels, scores, n):
    """Choose n rows at most of each kind, the surest and the most doubtful of each cluster of labels (N,) but noise.

    Each of the scores, sequences (N,) of how sure a row is, settles the ties of those before it, and the row's index
    the last ones. ``clusters`` (C,) is the labels that occur, in order; ``sure`` and ``doubtful`` hold an array of row
    indices for each: the surest first, and the most doubtful first. A cluster of fewer than 2 n rows is halved, so that
    no row is both. A ValueError refuses n if it is not a whole number of at least 1.
    """
    check_number(n)
    clusters = np.unique(labels[labels >= 0])
    surest_first = np.lexsort([-np.asarray(score) for score in reversed(scores)])
    ranked = [surest_first[labels[surest_first] == cluster] for cluster in clusters]
    return Bunch(
        clusters=clusters,
        sure=[rows[: min(n, (len(rows) + 1) // 2)] for rows in ranked],
        doubtful=[rows[::-1][: min(n, len(rows) // 2)] for rows in ranked],
    )
