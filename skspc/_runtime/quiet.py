"""Warnings of dependencies that are no fault of the user's, kept quiet in any number of threads."""

import warnings
from contextlib import contextmanager

from .shared import shared_by_threads

# That rows fall apart into components, or are few, or that one labelling of many stopped early: nothing that a user
# could or should mend.
_MODULES = r"umap\b|pynndescent\b|numba\b|sklearn\.(base|manifold|cluster|mixture)\b"


@shared_by_threads
@contextmanager
def dependencies_quiet():
    """Ignore what umap-learn, the packages below it, and scikit-learn's clusterers warn of."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=_MODULES)
        yield
