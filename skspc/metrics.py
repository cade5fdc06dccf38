"""Measures that compare a clustering with known classes."""

from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix
from sklearn.utils.validation import check_consistent_length, column_or_1d

from ._constants import NOISE
from ._matching import right_rows

__all__ = ["clustering_accuracy", "right_rows", "score_accuracy"]


def clustering_accuracy(y_true, y_pred):
    """Share of rows that are right under the best one-to-one matching of clusters to classes.

    The matching is found by the Hungarian algorithm. Clusters beyond the number of classes, or classes
    beyond the number of clusters, stay unmatched and their rows count as wrong; so do noise rows.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Classes: any integers or strings.
    y_pred : array-like of shape (n_samples,)
        Clusters: any integers; -1 is noise and always wrong.

    Returns
    -------
    accuracy : float
        Between 0 and 1.

    Raises
    ------
    ValueError
        If the two differ in length or are empty.

    References
    ----------
    Kuhn (1955), "The Hungarian method for the assignment problem".

    Examples
    --------
    >>> from skspc.metrics import clustering_accuracy
    >>> clustering_accuracy([0, 0, 1, 1], [7, 7, 3, -1])
    0.75
    """
    y_true, y_pred = column_or_1d(y_true), column_or_1d(y_pred)
    check_consistent_length(y_true, y_pred)
    if len(y_true) == 0:
        raise ValueError("y_true and y_pred are empty; clustering_accuracy needs at least one row.")
    kept = y_pred != NOISE
    if not kept.any():
        return 0.0
    counts = contingency_matrix(y_true[kept], y_pred[kept])
    return float(counts[linear_sum_assignment(counts, maximize=True)].sum() / len(y_true))


def score_accuracy(estimator, X, y):
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
        If y has not as many values as X has rows.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn.model_selection import GridSearchCV
    >>> from skspc import SPCClustering
    >>> from skspc.metrics import score_accuracy
    >>> X, y = make_blobs(n_samples=90, centers=3, cluster_std=0.3, random_state=0)
    >>> model = SPCClustering(n_estimators=1, max_iter=0, random_state=0)
    >>> search = GridSearchCV(model, {"n_clusters": [2, 3]}, scoring=score_accuracy, cv=2).fit(X, y)
    >>> search.best_params_
    {'n_clusters': 3}
    """
    return clustering_accuracy(y, estimator.predict(X))
