"""Measures that compare a clustering with known classes, and the matching of clusters to classes behind them."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix
from sklearn.utils.validation import check_consistent_length, column_or_1d

from ._constants import NOISE

__all__ = ["clustering_accuracy", "right_rows", "score_accuracy"]

NO_CLASS = "have no class. Leave these rows out of y_true and of what it is compared with."
NO_CLUSTER = "have no cluster. Pass -1, noise, for these rows."
Matched = tuple[NDArray[np.intp], NDArray[np.intp]]


def clustering_accuracy(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Share of rows that are right under the best one-to-one matching of clusters to classes.

    The matching is found by the Hungarian algorithm. Clusters beyond the number of classes, or classes beyond the
    number of clusters, stay unmatched and their rows count as wrong; so do noise rows.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Classes: any integers or strings.
    y_pred : array-like of shape (n_samples,)
        Clusters: any integers; negative ones are noise and always wrong.

    Returns
    -------
    accuracy : float
        Between 0 and 1.

    Raises
    ------
    ValueError
        If the two differ in length or are empty, or a value is missing (None, NaN, pandas.NA).

    References
    ----------
    Kuhn (1955), "The Hungarian method for the assignment problem".

    Examples
    --------
    >>> from skspc.metrics import clustering_accuracy
    >>> clustering_accuracy([0, 0, 1, 1], [7, 7, 3, -1])
    0.75
    """
    names = _refuse_missing(y_pred, "y_pred", NO_CLUSTER)
    noise = names < 0 if names.dtype.kind in "if" else names.astype(object) == NOISE
    codes = np.unique(names, return_inverse=True)[1]  # names may be whole numbers of any type, as 1.0
    return float(right_rows(y_true, np.where(noise, NOISE, codes)).mean())


def right_rows(y_true: ArrayLike, labels: ArrayLike) -> NDArray[np.bool_]:
    """Mark the rows that are right under the best one-to-one matching of clusters to classes.

    Their share is `clustering_accuracy`.

    Parameters
    ----------
    y_true : array-like of shape (N,)
        Classes: any integers or strings.
    labels : array-like of shape (N,), int
        Clusters; negative ones are noise and always wrong.

    Returns
    -------
    right : ndarray of shape (N,), bool

    Raises
    ------
    ValueError
        If the two differ in length or are empty, a value is missing (None, NaN, pandas.NA), or labels are no whole
        numbers.

    Examples
    --------
    >>> from skspc.metrics import right_rows
    >>> right_rows(["a", "a", "b", "b"], [7, 7, 3, -1]).tolist()
    [True, True, True, False]
    """
    codes = check_labels(labels)
    _, classes, clusters, (rows, columns) = match_clusters(y_true, codes)
    class_of = np.full(len(clusters), NOISE)
    class_of[columns] = rows
    right: NDArray[np.bool_] = class_of[np.searchsorted(clusters, codes)] == np.searchsorted(
        classes, column_or_1d(y_true)
    )
    return right


def score_accuracy(estimator: Any, X: ArrayLike, y: ArrayLike) -> float:
    """Score an estimator by `clustering_accuracy` of what it predicts: a scorer, for where some truth is known.

    Without truth, leave ``scoring=None``: then `SPCClustering.score` counts, the share of the members that agree.

    Parameters
    ----------
    estimator : object with ``predict``
        Fitted; a pipeline too.
    X : array-like of shape (n_samples, ...)
        What it takes.
    y : array-like of shape (n_samples,)
        Classes.

    Returns
    -------
    accuracy : float
        Between 0 and 1.

    Raises
    ------
    ValueError
        If y has not as many values as X has rows, or one is missing (None, NaN, pandas.NA).

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn.model_selection import GridSearchCV
    >>> from skspc import SPCClustering
    >>> from skspc.metrics import score_accuracy
    >>> X, y = make_blobs(n_samples=90, centers=3, cluster_std=0.3, random_state=0)
    >>> model = SPCClustering(n_estimators=1, pretrain_epochs=20, max_iter=0, random_state=0)
    >>> search = GridSearchCV(model, {"n_clusters": [2, 3]}, scoring=score_accuracy, cv=2).fit(X, y)
    >>> search.best_params_
    {'n_clusters': 3}
    """
    return clustering_accuracy(y, estimator.predict(X))


def check_labels(labels: ArrayLike, name: str = "labels") -> NDArray[np.integer[Any]]:
    """Labels as whole numbers (N,), every negative one as noise."""
    codes = _refuse_missing(labels, name, NO_CLUSTER)
    if not np.issubdtype(codes.dtype, np.integer):
        raise ValueError(f"labels have type {codes.dtype}; they must be whole numbers, with -1 for noise.")
    return np.where(codes < 0, NOISE, codes)


def match_clusters(y_true: ArrayLike, y_pred: ArrayLike) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], Matched]:
    """Count classes by clusters, and match them.

    Returned are the counts (n_classes, n_clusters), classes, clusters, and the indices of the matched classes,
    ascending, and of their clusters.
    """
    of_class, of_cluster = _refuse_missing(y_true, "y_true", NO_CLASS), check_labels(y_pred, "y_pred")
    check_consistent_length(of_class, of_cluster)
    if len(of_class) == 0:
        raise ValueError("y_true and y_pred are empty; at least one row is needed.")
    counts = contingency_matrix(of_class, of_cluster)
    classes, clusters = np.unique(of_class), np.unique(of_cluster)
    real = np.flatnonzero(clusters != NOISE)
    rows, columns = linear_sum_assignment(counts[:, real], maximize=True)
    return counts, classes, clusters, (rows, real[columns])


def _refuse_missing(values: ArrayLike, name: str, advice: str) -> NDArray[Any]:
    """Values as an array (N,), none of them missing."""
    known: NDArray[Any] = column_or_1d(values)
    if known.dtype.kind in "OUT":  # among strings of a list, NaN has become the string "nan"
        missing = np.array([_is_missing(value) for value in np.asarray(values, dtype=object).ravel()], dtype=bool)
    else:
        missing = known != known
    if missing.any():
        raise ValueError(f"Input {name} contains NaN: {missing.sum()} of {len(known)} rows {advice}")
    return known


def _is_missing(value: object) -> bool:
    """Whether a value is None, or does not equal itself: NaN, NaT, pandas.NA."""
    return value is None or not isinstance(value == value, (bool, np.bool_)) or bool(value != value)
