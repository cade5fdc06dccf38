"""The methods measured, and the tables they are in."""

import json
from dataclasses import dataclass, field
from functools import cache

SPC = "SPCClustering"
OF_CLUSTPY = ("DEC", "IDEC", "DCN", "VaDE", "DeepECT", "N2D")
# What paper/peers.txt installs, by the algorithms that need it.
MODULE_OF = {**dict.fromkeys(OF_CLUSTPY, "clustpy"), "EVoC": "evoc"}
ENSEMBLE_SIZES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25)  # the paper's
# Of SPCClustering: what the labels do not depend on (a device changes them, but it stands in the row by name), and
# what a run has apart.
NOT_CONFIGURED = ("device", "n_jobs", "verbose", "checkpoint", "n_clusters", "random_state")
# Those of training rounds: without rounds the labels do not depend on them.
OF_ROUNDS = ("n_iter_no_change", "tol", "epochs", "selection", "reconstruction", "max_samples")


@dataclass(frozen=True)
class Method:
    """One row of a table: an algorithm, and the parameters that are not its defaults."""

    title: str
    algorithm: str
    parameters: dict = field(default_factory=dict)
    for_images: bool = False


def _spc(title, for_images=False, **parameters):
    return Method(title, SPC, parameters, for_images)


_REDUCTION = {"n_neighbors": 30, "min_dist": 0.0}  # as UMAP's documentation has it for clustering
_UMAP_HDBSCAN = ("UMAP + HDBSCAN", _REDUCTION | {"min_samples": 10, "min_cluster_size": "N // (2 C)"})

METHODS = {
    "spc": _spc("SPC"),
    "spc-affine": _spc("SPC, affine augmentation", for_images=True, augmentation="affine"),
    "spc-gmm": _spc("SPC-GMM", clusterer="gmm"),
    "spc-k15": _spc("SPC, K = 15", n_estimators=15),
    "kmeans": Method("KMeans", "KMeans", {"n_init": 10}),
    "umap-gmm": Method("UMAP + GMM", "UMAP + GMM", _REDUCTION | {"n_init": 10}),
    "umap-hdbscan": Method("UMAP + HDBSCAN", *_UMAP_HDBSCAN),
    "n2d": _spc("n2d-style: one autoencoder, UMAP, GMM", n_estimators=1, max_iter=0, clusterer="gmm"),
    "dec": Method("DEC (ClustPy)", "DEC"),
    "idec": Method("IDEC (ClustPy)", "IDEC"),
    "dcn": Method("DCN (ClustPy)", "DCN"),
    "vade": Method("VaDE (ClustPy)", "VaDE"),
    "deepect": Method("DeepECT (ClustPy)", "DeepECT"),
    # As many dimensions as clusters are the default, and scikit-learn's t-SNE has three at most.
    "n2d-clustpy": Method("N2D (ClustPy)", "N2D", {"manifold_params": {"n_components": 2}}),
    "evoc": Method("EVoC", "EVoC", {"approx_n_clusters": None}),
    "evoc-told": Method("EVoC, told the number of clusters", "EVoC", {"approx_n_clusters": "C"}),
    "a1": _spc("A1: all rows train, on consensus labels", selection="consensus"),
    "a2": _spc("A2: all rows train, each member on its own labels", selection="own"),
    "a3": _spc("A3: one member", n_estimators=1),
    "a4": _spc(
        "A4: one untrained encoder, pseudo-labels only", n_estimators=1, pretrain_epochs=0, reconstruction="none"
    ),
    "a5-k1": _spc("A5: no rounds, K = 1", n_estimators=1, max_iter=0),
    "a5-k15": _spc("A5: no rounds, K = 15", n_estimators=15, max_iter=0),
    "a6": Method("A6: UMAP + HDBSCAN on the rows as they are", *_UMAP_HDBSCAN),
    **{f"k{size}": _spc(f"K = {size}", n_estimators=size) for size in ENSEMBLE_SIZES},
}
TABLES = {
    "main": (
        *("spc", "spc-affine", "spc-gmm", "spc-k15", "kmeans", "umap-gmm", "umap-hdbscan", "n2d"),
        *("dec", "idec", "dcn", "vade", "deepect", "n2d-clustpy", "evoc", "evoc-told"),
    ),
    "ablations": ("spc", "spc-gmm", "a1", "a2", "a3", "a4", "a5-k1", "a5-k15", "a6"),
    "ensemble-size": tuple(f"k{size}" for size in ENSEMBLE_SIZES),
    "cluster-sizes": ("spc", "spc-gmm"),
}


@cache
def _defaults():
    from skspc import SPCClustering

    parameters = SPCClustering().get_params(deep=False)
    return {name: value for name, value in parameters.items() if name not in NOT_CONFIGURED}


def settable_parameters():
    """Names that ``--set`` takes."""
    return {*_defaults(), *NOT_CONFIGURED} - {"n_clusters", "random_state"}


def configure(algorithm, parameters):
    """All parameters that the labels depend on, as they come back from JSON.

    The defaults are among them: a run that was made before a default changed is a run of another configuration.
    """
    given = {name: value for name, value in parameters.items() if name not in NOT_CONFIGURED}
    whole = {**_defaults(), **given} if algorithm == SPC else given
    if whole.get("max_iter") == 0:
        whole = {name: value for name, value in whole.items() if name not in OF_ROUNDS}
    return json.loads(json.dumps(whole, default=repr))


def settled(parameters, row):
    """A configuration with the selection that "auto" comes to on a row's data: by either name it is the same run."""
    from skspc._method.pseudo_labels import settled_selection

    if "selection" not in parameters:
        return parameters
    selection = settled_selection(parameters["selection"], row["n_rows"], len(row["class_sizes"]))
    return parameters | {"selection": selection}


def is_configured_as(row, algorithm, parameters):
    """Whether a recorded row's configuration is that of an algorithm with these parameters.

    A parameter that the product got after the run was recorded counts as having had its default, unless it is among
    ``parameters``.
    """
    recorded, wanted = settled(row["parameters"], row), settled(configure(algorithm, parameters), row)
    given = parameters.keys() & wanted.keys()
    return given <= recorded.keys() and all(recorded[name] == wanted[name] for name in recorded.keys() & wanted.keys())
