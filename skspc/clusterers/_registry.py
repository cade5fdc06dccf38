"""Clusterers and reducers by name or as objects: look-up, contract, and one labelling."""

import numpy as np
from sklearn.base import clone

from .._constants import NOISE
from ._hdbscan import HDBSCANCut
from ._mixture import GaussianMixtureClusterer
from ._umap import UMAPReducer

CLUSTERERS = {"hdbscan": HDBSCANCut, "gmm": GaussianMixtureClusterer}
REDUCERS = {"umap": UMAPReducer}


def get_clusterer(clusterer):
    """Return the clusterer that a name stands for, or the object itself.

    Raises
    ------
    ValueError
        For an unknown name.
    TypeError
        For an object without ``fit_predict``.
    """
    return _look_up("clusterer", clusterer, CLUSTERERS, "fit_predict")


def get_reducer(reducer):
    """Return the reducer that a name stands for, the object itself, or None.

    Raises
    ------
    ValueError
        For an unknown name.
    TypeError
        For an object without ``fit_transform``.
    """
    return None if reducer is None else _look_up("reducer", reducer, REDUCERS, "fit_transform")


def _look_up(parameter, value, table, method):
    if isinstance(value, str):
        if value not in table:
            raise ValueError(
                f"{parameter}={value!r} is not known. Known names: {', '.join(map(repr, sorted(table)))}; "
                f"or pass an object with a method {method!r}."
            )
        return table[value]()
    if isinstance(value, type) or not callable(getattr(value, method, None)):
        raise TypeError(
            f"{parameter}={value!r} has no method {method!r} to call. Pass a name "
            f"({', '.join(map(repr, sorted(table)))}) or an instance that has one."
        )
    return value


def label_space(space, clusterer, reducer, n_clusters, seed):
    """Reduce and cluster one latent space, with copies of the clusterer and the reducer.

    Parameters
    ----------
    space : ndarray of shape (N, m)
    clusterer : object with ``fit_predict``
        Its ``n_clusters`` or ``n_components`` is set on the copy, as is ``random_state`` on both copies.
    reducer : object with ``fit_transform``, or None
    n_clusters : int
    seed : int

    Returns
    -------
    labels : ndarray of shape (N,), int
        0, 1, ... without gaps; ``NOISE`` for noise (any negative label).
    """
    if reducer is not None:
        space = _prepared_copy(reducer, seed).fit_transform(space)
    labels = _prepared_copy(clusterer, seed, n_clusters).fit_predict(space)
    labels = np.asarray(labels)
    kept = labels >= 0
    compact = np.full(len(labels), NOISE, dtype=np.int64)
    compact[kept] = np.unique(labels[kept], return_inverse=True)[1]
    return compact


def _prepared_copy(part, seed, n_clusters=None):
    """Clone a part and set its seed and, for a clusterer, its number of clusters."""
    copy = clone(part, safe=False)
    names = copy.get_params(deep=False) if hasattr(copy, "get_params") else {}
    settings = {"random_state": seed} if "random_state" in names else {}
    for name in ("n_clusters", "n_components"):
        if n_clusters is not None and name in names:
            settings[name] = n_clusters
            break
    return copy.set_params(**settings) if settings else copy
