"""Warnings of dependencies that are no fault of the user's, kept quiet in any number of threads."""

import threading
import warnings
from contextlib import ExitStack, contextmanager

# That rows fall apart into components, or are few, or that one labelling of many stopped early: nothing that a user
# could or should mend.
_MODULES = r"umap\b|pynndescent\b|numba\b|sklearn\.(manifold|cluster|mixture)\b"

_lock = threading.Lock()
_filters = ExitStack()
_entered = 0


@contextmanager
def dependencies_quiet():
    """Ignore what umap-learn, the packages below it, and scikit-learn's clusterers warn of.

    `warnings.catch_warnings` in threads that overlap leaves the filters of one to the others, and to the caller. So the
    first to enter sets the filters, and the last to leave restores them.
    """
    global _entered
    with _lock:
        if _entered == 0:
            _filters.enter_context(warnings.catch_warnings())
            warnings.filterwarnings("ignore", module=_MODULES)
        _entered += 1
    try:
        yield
    finally:
        with _lock:
            _entered -= 1
            if _entered == 0:
                _filters.close()
