"""Warnings of dependencies are quiet in any number of threads, and those of others are not."""

import threading
import warnings

import pytest

from skspc._runtime.quiet import dependencies_quiet


def warn_as(module):
    warnings.warn_explicit("fell apart", UserWarning, f"{module}.py", 1, module=module)


@pytest.mark.parametrize("module", ["umap.spectral", "umap", "pynndescent.x", "sklearn.mixture._base", "numba.core"])
def test_what_dependencies_warn_of_is_ignored_inside_alone(module):
    with dependencies_quiet():
        warn_as(module)
    with pytest.warns(UserWarning, match="fell apart"):
        warn_as(module)


@pytest.mark.parametrize("module", ["skspc._method.rounds", "their_clusterer", "umapper", "sklearn.utils"])
def test_what_others_warn_of_is_not(module):
    with pytest.warns(UserWarning, match="fell apart"), dependencies_quiet():
        warn_as(module)


def test_the_callers_filters_come_back_when_threads_overlap():
    before, leave_first, first_is_in = list(warnings.filters), threading.Event(), threading.Event()

    def first():
        with dependencies_quiet():
            first_is_in.set()
            leave_first.wait(timeout=30)

    thread = threading.Thread(target=first)
    thread.start()
    first_is_in.wait(timeout=30)
    with dependencies_quiet():
        leave_first.set()  # the first to enter leaves first
        thread.join(timeout=30)
        warn_as("umap")
    assert warnings.filters == before


def test_they_come_back_after_an_error():
    before = list(warnings.filters)
    with pytest.raises(KeyError), dependencies_quiet():
        raise KeyError
    assert warnings.filters == before
