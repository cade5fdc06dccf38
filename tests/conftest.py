"""Fixtures shared by all tests."""

import os
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.datasets import make_blobs
from threadpoolctl import threadpool_limits

# Before numba is imported: its first parallel function sets OpenMP's number of threads, and so torch's.
os.environ.setdefault("NUMBA_NUM_THREADS", "1")

collect_ignore = [] if find_spec("matplotlib") else ["test_plotting.py"]


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """The arrays are small: on a busy machine, threads that wait for each other are many times slower than one."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with threadpool_limits(1):
        yield
    torch.set_num_threads(n_threads)


@pytest.fixture(scope="module", autouse=True)
def short_training_of_classifiers():
    """Every fit ends with it: a quarter of the steps, which of most fits here is a third of the time.

    A quarter of the pretraining on features too, where it is long for what few tests ask.
    """
    import skspc._spc

    with pytest.MonkeyPatch.context() as patch:
        for name in ("MIN_HEAD_STEPS", "MIN_PRETRAIN_STEPS_OF_FEATURES"):
            patch.setattr(skspc._spc, name, getattr(skspc._spc, name) // 4)
        yield


@pytest.fixture(autouse=True)
def built_in_names_alone(monkeypatch):
    """A test knows no name that another, or a doctest, has registered."""
    from skspc.clusterers import _registry

    for registry in (_registry._clusterers, _registry._reducers):
        monkeypatch.setattr(registry, "_registered", {})


def pytest_collection_modifyitems(items):
    """Write what a test marked as a case is about into the report of the run; checks/reliability.py reads it."""
    for item in items:
        for marker in item.iter_markers("case"):
            kind, inputs = marker.args
            item.user_properties += [("kind", kind), ("inputs", inputs), ("origin", marker.kwargs.get("origin", ""))]


@pytest.fixture
def in_groups_of(monkeypatch):
    """Set how many members train in a group on the CPU, whatever the rows: on vectors one thread has them all."""
    from skspc._ensemble import ensemble

    return lambda size: monkeypatch.setattr(ensemble, "members_per_cpu_group", lambda *figures: size)


@pytest.fixture
def in_pairs(in_groups_of):
    """Members train two at a time, and the last of an odd number alone."""
    in_groups_of(2)


@pytest.fixture
def few_steps(monkeypatch):
    """Let "auto" train for a tenth of its steps, where a test asks that code runs and not how right its labels are."""
    import skspc._spc

    for name in ("MIN_PRETRAIN_STEPS", "MIN_PRETRAIN_STEPS_OF_FEATURES", "MIN_ROUND_STEPS", "MIN_HEAD_STEPS"):
        monkeypatch.setattr(skspc._spc, name, getattr(skspc._spc, name) // 10)
    for name in ("PRETRAIN_EPOCHS", "ROUND_EPOCHS", "HEAD_EPOCHS"):
        monkeypatch.setattr(skspc._spc, name, 1)


DATA = Path(os.environ.get("SKSPC_DATA", Path(__file__).parents[2] / "shared" / "data"))

# What makes a fit short. Not for accuracy.
QUICK = {"n_estimators": 2, "pretrain_epochs": 3, "epochs": 2, "max_iter": 1, "random_state": 0}


@pytest.fixture
def quick():
    return dict(QUICK)


@pytest.fixture(scope="session")
def blobs():
    """Three clusters far apart: X (150, 5) and truth (150,)."""
    return make_blobs(n_samples=150, n_features=5, centers=3, cluster_std=0.5, random_state=1)


@pytest.fixture(scope="session")
def usps():
    path = DATA / "usps.npz"
    if not path.exists():
        pytest.skip(f"USPS is not at {path}; set SKSPC_DATA to the folder that holds usps.npz")
    with np.load(path, allow_pickle=False) as archive:
        return archive["images"], archive["labels"]
