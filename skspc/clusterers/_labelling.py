"""One labelling of one latent space, by copies of a reducer and a clusterer."""

import inspect
import warnings

import numpy as np
from sklearn.base import clone

from .._constants import NOISE

AUTO = "auto"
_COUNTS = ("n_clusters", "n_components")  # of scikit-learn's clusterers, of its mixtures


def reduce_space(space, reducer, seed, device):
    """Reduce one latent space by a copy of the reducer.

    Parameters
    ----------
    space : ndarray of shape (N, m)
    reducer : object with ``fit_transform``, or None
    seed : int
        For a reducer with the parameter ``random_state``.
    device : torch.device
        For a reducer with the parameter ``device``, if that is "auto".

    Returns
    -------
    embedding : ndarray of shape (N, d)
    """
    if reducer is None:
        return space
    copy = clone(reducer, safe=False)
    settings = _seed_settings(copy, seed)
    if _parameters(copy).get("device") == AUTO:
        settings["device"] = device
    return np.asarray(_with_settings(copy, settings).fit_transform(space))


def label_embedding(embedding, clusterer, n_clusters, seed):
    """Cluster one reduced space by a copy of the clusterer.

    Parameters
    ----------
    embedding : ndarray of shape (N, d)
    clusterer : object with ``fit_predict``
        Negative labels are noise.
    n_clusters : int or "auto"
        For a clusterer with such a parameter.
    seed : int
        For a clusterer with the parameter ``random_state``.

    Returns
    -------
    labels : ndarray of shape (N,), int
        0, 1, ... without gaps; ``NOISE`` for noise.
    """
    copy = clone(clusterer, safe=False)
    name = count_parameter(copy)
    settings = _seed_settings(copy, seed) | ({} if name is None else {name: n_clusters})
    labels = np.asarray(_with_settings(copy, settings).fit_predict(embedding))
    if labels.shape != (len(embedding),):
        raise ValueError(
            f"clusterer={clusterer!r} returned labels of shape {labels.shape} for {len(embedding)} rows. "
            "fit_predict must return one label for each row."
        )
    kept = labels >= 0
    compact = np.full(len(labels), NOISE, dtype=np.int64)
    compact[kept] = np.unique(labels[kept], return_inverse=True)[1]
    return compact


def count_parameter(clusterer):
    """Name of the parameter that sets the number of clusters, or None; of a pipeline, its last step's."""
    prefix = f"{clusterer.steps[-1][0]}__" if hasattr(clusterer, "steps") else ""
    parameters = _parameters(clusterer)
    return next((prefix + name for name in _COUNTS if prefix + name in parameters), None)


def check_count(clusterer, n_clusters):
    """Check that a clusterer can serve ``n_clusters``, before anything is trained.

    Warns
    -----
    UserWarning
        If the clusterer was given another number, which will be replaced.

    Raises
    ------
    ValueError
        If ``n_clusters`` is "auto" and the clusterer does not find the number itself.
    """
    name = count_parameter(clusterer)
    if name is None:
        return
    if n_clusters == AUTO:
        if not getattr(clusterer, "finds_n_clusters", False):
            raise ValueError(
                f"n_clusters='auto' needs a clusterer that finds the number of clusters, and clusterer={clusterer!r} "
                "does not. Pass clusterer='hdbscan', or a number."
            )
        return
    given = _parameters(clusterer)[name]
    if given not in (n_clusters, AUTO, _default(clusterer, name)):
        warnings.warn(
            f"clusterer={clusterer!r} has {name}={given!r}; it is used with {n_clusters}, the n_clusters of "
            "SPCClustering.",
            UserWarning,
            stacklevel=4,
        )


def _default(clusterer, name):
    """Value of a parameter where nobody set it."""
    *steps, name = name.split("__")
    owner = clusterer.steps[-1][1] if steps else clusterer
    parameter = inspect.signature(type(owner)).parameters.get(name)
    return None if parameter is None else parameter.default


def _seed_settings(part, seed):
    """The random states of a part and of the parts in it, as scikit-learn's own ensembles set them."""
    names = [name for name in _parameters(part) if name == "random_state" or name.endswith("__random_state")]
    return dict.fromkeys(names, seed)


def _parameters(part):
    return part.get_params(deep=True) if hasattr(part, "get_params") else {}


def _with_settings(part, settings):
    return part.set_params(**settings) if settings else part
