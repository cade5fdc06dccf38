"""Selective pseudo-label clustering as a scikit-learn estimator."""

from ._spc import SPCClustering

__all__ = ["SPCClustering", "__version__"]
__version__ = "0.1.0.dev0"
