"""Clusters and known classes: counted, matched, and what is right under the matching."""

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix
from sklearn.utils.validation import check_consistent_length, column_or_1d

from ._constants import NOISE


def check_labels(labels):
    """Labels as whole numbers (N,), every negative one as noise."""
    labels = column_or_1d(labels)
    if not np.issubdtype(labels.dtype, np.integer):
        raise ValueError(f"labels have type {labels.dtype}; they must be whole numbers, with -1 for noise.")
    return np.where(labels < 0, NOISE, labels)


def match_clusters(y_true, y_pred):
    """Count classes by clusters, and match them.

    Returns
    -------
    counts : ndarray of shape (n_classes, n_clusters)
    classes, clusters : ndarray
    matched : tuple of two ndarrays
        Indices of the matched classes, ascending, and of their clusters.
    """
    y_true, y_pred = column_or_1d(y_true), check_labels(y_pred)
    check_consistent_length(y_true, y_pred)
    if len(y_true) == 0:
        raise ValueError("y_true and y_pred are empty; at least one row is needed.")
    counts = contingency_matrix(y_true, y_pred)
    classes, clusters = np.unique(y_true), np.unique(y_pred)
    real = np.flatnonzero(clusters != NOISE)
    rows, columns = linear_sum_assignment(counts[:, real], maximize=True)
    return counts, classes, clusters, (rows, real[columns])


def right_rows(y_true, labels):
    """Mark the rows that are right under the best one-to-one matching of clusters to classes.

    Their share is `clustering_accuracy`.

    Parameters
    ----------
    y_true : array-like of shape (N,)
        Classes: any integers or strings.
    labels : array-like of shape (N,), int
        Clusters; -1 is noise and always wrong.

    Returns
    -------
    right : ndarray of shape (N,), bool

    Raises
    ------
    ValueError
        If the two differ in length or are empty, or labels are no whole numbers.

    Examples
    --------
    >>> from skspc.metrics import right_rows
    >>> right_rows(["a", "a", "b", "b"], [7, 7, 3, -1]).tolist()
    [True, True, True, False]
    """
    _, classes, clusters, (rows, columns) = match_clusters(y_true, labels)
    class_of = np.full(len(clusters), NOISE)
    class_of[columns] = rows
    return class_of[np.searchsorted(clusters, check_labels(labels))] == np.searchsorted(classes, y_true)
