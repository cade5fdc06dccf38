"""The clusterer and the reducer of a fit: checked before any training, copied and set up for each labelling."""

import inspect
import warnings

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import validate_parameter_constraints

AUTO = "auto"

_COUNTS = ("n_clusters", "n_components")  # of scikit-learn's clusterers, of its mixtures


def copy_reducer(reducer, seed, device, rows_per_cluster=None, start=None):
    """Copy a reducer: random states are set, devices where they are "auto", rows a cluster where these are None.

    A start (N, d) is given to the last step's ``init``; see `starts_of`.
    """
    copy = clone(reducer, safe=False)
    parameters = _parameters(copy)
    settings = dict.fromkeys(_named(parameters, "random_state"), seed)
    settings |= {name: device for name in _named(parameters, "device") if parameters[name] == AUTO}
    settings |= {name: rows_per_cluster for name in _named(parameters, "rows_per_cluster") if parameters[name] is None}
    if start is not None:
        settings[f"{_last_step(copy)[0]}init"] = start
    return _with_settings(copy, settings)


def starts_of(reducer, embeddings):
    """Where embeddings by space can go on in the next round, as arrays (N, d) of floats: all of them or, as {}, none.

    They can if the ``init`` of the reducer's last step is "auto" and they have its ``n_components``, if it has such:
    UMAP makes fewer of very few rows.
    """
    parameters = _parameters(_last_step(reducer)[1])
    n_columns = parameters.get("n_components")
    if not _is_auto(parameters.get("init")) or any(n_columns not in (None, e.shape[1]) for e in embeddings.values()):
        return {}
    # In one order of memory, and in a type that a checkpoint can hold.
    types = {space: np.float64 if e.dtype == np.float64 else np.float32 for space, e in embeddings.items()}
    return {space: np.ascontiguousarray(e, dtype=types[space]) for space, e in embeddings.items()}


def with_neighbors(reducer, n_neighbors):
    """A copy of a reducer with so many neighbours; None stays None."""
    return None if reducer is None else _with_settings(clone(reducer, safe=False), {"n_neighbors": n_neighbors})


def copy_clusterer(clusterer, n_clusters, seed):
    """Copy a clusterer, with its number of clusters and its random states set."""
    copy = clone(clusterer, safe=False)
    name = count_parameter(copy)
    count = {} if name is None else {name: n_clusters}
    return _with_settings(copy, dict.fromkeys(_named(_parameters(copy), "random_state"), seed) | count)


def count_parameter(clusterer):
    """Name of the parameter that sets the number of clusters, or None; of a pipeline, its last step's.

    A parameter that somebody set to None is left alone: the clusterer is then to find the number itself.
    """
    prefix, last = _last_step(clusterer)
    parameters = _parameters(last)
    name = next((name for name in _COUNTS if name in parameters), None)
    if name is None or (parameters[name] is None and _default(last, name) is not None):
        return None
    return prefix + name


def check_parts(clusterer, reducer, n_clusters, device):
    """Check that clusterer and reducer can serve, before anything is trained.

    A warning tells of a number that the clusterer was given and that will be replaced. A TypeError refuses one that
    cannot be copied or set up; a ValueError, a parameter of its own out of its range, and a clusterer that does not
    find the number itself where ``n_clusters`` is "auto".
    """
    _check_count(clusterer, n_clusters)
    copies = {"clusterer": (clusterer, lambda: copy_clusterer(clusterer, n_clusters, 0))}
    if reducer is not None:
        copies["reducer"] = (reducer, lambda: copy_reducer(reducer, 0, device))
    for kind, (part, make_copy) in copies.items():
        try:
            copy = make_copy()
        except (TypeError, ValueError, AttributeError, RuntimeError) as error:
            raise TypeError(
                f"{kind}={part!r} cannot be copied and set up for a labelling: {error}. What has get_params needs "
                "set_params as well; sklearn.base.BaseEstimator has both."
            ) from error
        _, last = _last_step(copy)
        constraints = getattr(last, "_parameter_constraints", None)
        if constraints is not None:
            validate_parameter_constraints(constraints, last.get_params(deep=False), type(last).__name__)


def _check_count(clusterer, n_clusters):
    name = count_parameter(clusterer)
    if name is None:
        return
    _, last = _last_step(clusterer)
    if n_clusters == AUTO:
        if not getattr(last, "finds_n_clusters", False):
            raise ValueError(
                f"n_clusters='auto' needs a clusterer that finds the number of clusters, and clusterer={clusterer!r} "
                "does not. Pass clusterer='hdbscan', or a number."
            )
        return
    given, default = _parameters(clusterer)[name], _default(last, name.rpartition("__")[2])
    if given not in (n_clusters, AUTO, default):
        warnings.warn(
            f"clusterer={clusterer!r} has {name}={given!r}; it is used with {n_clusters}, the n_clusters of "
            "SPCClustering.",
            UserWarning,
            stacklevel=6,
        )


def _last_step(part):
    """The last step of a pipeline, however nested, with the prefix of its parameters; else the part itself."""
    prefix = ""
    while hasattr(part, "steps"):
        name, part = part.steps[-1]
        prefix += f"{name}__"
    return prefix, part


def _default(part, name):
    """Value of a parameter where nobody set it."""
    parameter = inspect.signature(type(part)).parameters.get(name)
    return None if parameter is None else parameter.default


def _is_auto(value):
    return isinstance(value, str) and value == AUTO


def _named(parameters, name):
    """Parameters of that name, of a part and of the parts in it, as scikit-learn's own ensembles find random states."""
    return [full for full in parameters if full.rpartition("__")[2] == name]


def _parameters(part):
    return part.get_params() if hasattr(part, "get_params") else {}


def _with_settings(part, settings):
    return part.set_params(**settings) if settings else part
