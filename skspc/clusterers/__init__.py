"""What labels a latent space: reducers and clusterers."""

from ._hdbscan import HDBSCANCut
from ._mixture import GaussianMixtureClusterer
from ._registry import get_clusterer, get_reducer
from ._umap import UMAPReducer

__all__ = ["GaussianMixtureClusterer", "HDBSCANCut", "UMAPReducer", "get_clusterer", "get_reducer"]
