"""Fits beside each other: in threads, in processes of every kind, and inside scikit-learn's own parallel loops."""

import json
import multiprocessing
import os
import subprocess
import sys
import textwrap
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
import torch
from sklearn.datasets import make_blobs
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import parallel

from skspc import SPCClustering
from skspc.clusterers import _wrapped

CONCURRENCY = "concurrency"
X, _ = make_blobs(n_samples=90, n_features=4, centers=3, cluster_std=0.5, random_state=0)


def fit(seed, **parameters):
    settings = {"n_estimators": 2, "pretrain_epochs": 3, "epochs": 2, "max_iter": 1, "random_state": seed}
    return SPCClustering(3, **{**settings, **parameters}).fit(X)


def fitted_values(seed):
    """What a process sends back of a fit: plain arrays."""
    model = fit(seed)
    return model.labels_, model.predict_proba(X)


def assert_same(values, model):
    labels, probabilities = values
    assert np.array_equal(labels, model.labels_)
    np.testing.assert_allclose(probabilities, model.predict_proba(X), rtol=0, atol=1e-6)


@pytest.fixture(scope="module", autouse=True)
def short_training_of_classifiers():
    """Not here: a process that is started anew knows nothing of it."""


@pytest.fixture(scope="module")
def expected():
    """Two fits by themselves, by seed."""
    return {seed: fit(seed) for seed in (0, 1)}


@pytest.mark.case(CONCURRENCY, "two fits in two threads")
def test_fits_in_threads_are_as_by_themselves(expected):
    n_threads, filters = torch.get_num_threads(), list(warnings.filters)
    states = np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    with ThreadPoolExecutor(2) as pool:
        models = list(pool.map(fit, [0, 1, 0, 1]))
    for seed, model in zip([0, 1, 0, 1], models, strict=True):
        assert_same((model.labels_, model.predict_proba(X)), expected[seed])
    assert torch.get_num_threads() == n_threads
    assert warnings.filters == filters
    assert (np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()) == states


@pytest.mark.parametrize("clusterer", ["auto", "hdbscan", "gmm", "kmeans", "agglomerative"])
def test_no_part_of_a_fit_sets_the_warnings_of_the_whole_process(clusterer, monkeypatch):
    """scikit-learn's parallel loops do, in each of their calls: of two threads one leaves its settings to the other."""

    def called(self, *args, **kwargs):
        raise AssertionError(f"{self.function} was called through sklearn.utils.parallel")

    monkeypatch.setattr(parallel._FuncWrapper, "__call__", called)
    monkeypatch.setattr(_wrapped, "MAX_DENSE_ROWS", 50)
    model = fit(0, clusterer=clusterer)
    assert set(model.predict(X)) == {0, 1, 2}


@pytest.mark.case(CONCURRENCY, "one fitted model that predicts in four threads")
def test_one_model_predicts_in_threads(expected):
    model = expected[0]
    probabilities = model.predict_proba(X)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: model.predict_proba(X), range(8)):
            assert np.array_equal(found, probabilities)


@pytest.mark.case(CONCURRENCY, "a fit that fails in a thread beside one that does not")
def test_an_error_in_one_thread_leaves_the_other_alone(expected):
    class Failing:
        def fit_predict(self, Z):
            raise RuntimeError("no clusters today")

    with ThreadPoolExecutor(2) as pool:
        failed, done = pool.submit(fit, 1, clusterer=Failing()), pool.submit(fit, 0)
        with pytest.raises(RuntimeError, match="no clusters today"):
            failed.result()
        assert_same((done.result().labels_, done.result().predict_proba(X)), expected[0])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.case(CONCURRENCY, "a fit in a process forked after a fit")
def test_a_fit_in_a_forked_process(expected):
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
        assert_same(pool.submit(fitted_values, 1).result(timeout=120), expected[1])


@pytest.mark.case(CONCURRENCY, "a fit in a spawned process")
def test_a_fit_in_a_spawned_process(expected):
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert_same(pool.submit(fitted_values, 1).result(timeout=120), expected[1])


@pytest.mark.case(CONCURRENCY, "GridSearchCV(n_jobs=2), nested in a Pipeline", origin="skorch#714; cuml#6046")
def test_a_grid_search_in_two_processes_in_a_pipeline():
    def search(n_jobs):
        model = SPCClustering(3, n_estimators=1, pretrain_epochs=2, epochs=1, max_iter=0, random_state=0, n_jobs=1)
        grid = GridSearchCV(model, {"clusterer": ["kmeans", "gmm"]}, cv=2, n_jobs=n_jobs)
        pipe = make_pipeline(StandardScaler(), grid).fit(X)
        return pipe.predict(X), pipe[-1].cv_results_["mean_test_score"]

    (labels, scores), (expected_labels, expected_scores) = search(2), search(1)
    assert np.array_equal(labels, expected_labels)
    np.testing.assert_allclose(scores, expected_scores)


@pytest.mark.case(CONCURRENCY, "a Pipeline inside GridSearchCV(n_jobs=2)", origin="skorch#714; cuml#6046")
def test_a_pipeline_in_a_grid_search_in_two_processes():
    model = SPCClustering(3, n_estimators=1, pretrain_epochs=2, epochs=1, max_iter=0, reducer=None, random_state=0)
    grid = GridSearchCV(
        make_pipeline(StandardScaler(), model),
        {"spcclustering__n_clusters": [2, 3]},
        cv=2,
        n_jobs=2,
        error_score="raise",
    ).fit(X)
    assert set(grid.predict(X)) <= {0, 1, 2}
    assert (grid.cv_results_["mean_test_score"] > 0).all()


PROGRAM = """
import json
import multiprocessing
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import torch
from sklearn.datasets import make_blobs
from skspc import SPCClustering

X, _ = make_blobs(n_samples=90, n_features=4, centers=3, cluster_std=0.5, random_state=0)

def fit(seed):
    model = SPCClustering(3, n_estimators=2, pretrain_epochs=3, epochs=2, max_iter=1, random_state=seed).fit(X)
    return model.predict(X).tolist()
"""


def run_program(code, **environment):
    """Run a program that prints JSON, in a new process: what a process can choose but once."""
    command = [sys.executable, "-c", PROGRAM + textwrap.dedent(code)]
    run = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=200)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def assert_same_clusters(labels, model):
    assert len(set(zip(labels, model.predict(X).tolist(), strict=True))) == 3  # pairs of names


@pytest.mark.parametrize("layer", ["workqueue", "omp"])
@pytest.mark.case(CONCURRENCY, "two fits in threads on each of numba's threading layers")
def test_fits_in_threads_on_each_of_numbas_layers(layer, expected):
    """The layer workqueue ends a process in which two threads use it at once."""
    code = """
        with ThreadPoolExecutor(2) as pool:
            print(json.dumps(list(pool.map(fit, [0, 1]))))
    """
    found = run_program(code, NUMBA_THREADING_LAYER=layer, NUMBA_NUM_THREADS="2")
    for labels, seed in zip(found, (0, 1), strict=True):
        assert_same_clusters(labels, expected[seed])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.case(CONCURRENCY, "a fit in a process forked where torch had run on two threads")
def test_a_fit_in_a_process_forked_after_threads(expected):
    """Torch by itself waits there forever for threads that were not forked."""
    code = """
        torch.set_num_threads(2)
        torch.ones(3_000_000).exp().sum()
        warnings.simplefilter("ignore", DeprecationWarning)  # Python's own, of forking with threads
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
            print(json.dumps(pool.submit(fit, 0).result(timeout=100)))
    """
    assert_same_clusters(run_program(code, OMP_NUM_THREADS="2"), expected[0])
