"""What labels a latent space: reducers and clusterers, and the names they go by."""

from ._agglomerative import AgglomerativeClusterer
from ._hdbscan import HDBSCANCut
from ._mixture import GaussianMixtureClusterer
from ._registry import (
    get_clusterer,
    get_reducer,
    list_clusterers,
    list_reducers,
    register_clusterer,
    register_reducer,
)
from ._umap import UMAPReducer

__all__ = [
    "AgglomerativeClusterer",
    "GaussianMixtureClusterer",
    "HDBSCANCut",
    "UMAPReducer",
    "get_clusterer",
    "get_reducer",
    "list_clusterers",
    "list_reducers",
    "register_clusterer",
    "register_reducer",
]
