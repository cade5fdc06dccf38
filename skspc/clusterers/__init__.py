"""What labels a latent space: reducers and clusterers, and the names they go by."""

from ._hdbscan import HDBSCANCut
from ._registry import get_clusterer, get_reducer, list_clusterers, list_reducers, register_clusterer, register_reducer
from ._umap import UMAPReducer
from ._wrapped import AgglomerativeClusterer, GaussianMixtureClusterer

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
