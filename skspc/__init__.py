"""Selective pseudo-label clustering as a scikit-learn estimator."""

from ._spc import SPCClustering
from ._version import __version__

__all__ = ["SPCClustering", "__version__"]
