"""Members spread over a dask cluster, by joblib alone."""

import os
import signal
import threading
import time

import joblib
import numpy as np
import pytest
from sklearn.cluster import KMeans

from skspc import SPCClustering

distributed = pytest.importorskip("distributed", reason="dask is an extra: pip install 'skspc[dask]'")


@pytest.fixture(scope="module")
def client():
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:
        yield client


def make_model(**parameters):
    """Five members, and a clusterer that needs no compilation in each worker."""
    settings = {"n_estimators": 5, "reducer": None, "clusterer": KMeans(n_init=2), "random_state": 0}
    return SPCClustering(3, **(settings | {"pretrain_epochs": 4, "epochs": 2, "max_iter": 2} | parameters))


@pytest.fixture(scope="module")
def X():
    """Rows without clusters, on which members agree slowly."""
    return np.random.default_rng(0).normal(size=(150, 5))


def assert_same_fit(model, expected, X):
    assert np.array_equal(model.member_labels_, expected.member_labels_)
    assert np.array_equal(model.transform(X), expected.transform(X))
    assert [row["losses"] for row in model.history_] == [row["losses"] for row in expected.history_]


def test_a_cluster_gives_the_labels_of_this_process(client, X):
    expected = make_model().fit(X)
    assert expected.n_iter_ == 3
    assert_same_fit(make_model(n_jobs=2).fit(X), expected, X)
    with joblib.parallel_config("dask"):
        assert_same_fit(make_model().fit(X), expected, X)


def test_the_rows_travel_once(client, X, monkeypatch):
    sent = []
    scatter = distributed.Client.scatter

    def counted(self, data, *args, **kwargs):
        sent.extend(data if isinstance(data, list) else [data])
        return scatter(self, data, *args, **kwargs)

    monkeypatch.setattr(distributed.Client, "scatter", counted)
    with joblib.parallel_config("dask"):
        make_model().fit(X)
    assert [array.shape for array in sent] == [X.shape, (5, 150, 5)]  # and at the end the latents, for the heads


def test_a_worker_that_dies_costs_a_retry_and_no_more(client, X):
    settings = {"pretrain_epochs": 100, "max_iter": 1}
    expected = make_model(**settings).fit(X)
    address, victim = next(iter(client.run(os.getpid).items()))

    def kill_at_work():
        while not client.processing([address])[address]:
            time.sleep(0.05)
        time.sleep(0.3)  # what was sent has come; pretraining takes seconds
        os.kill(victim, signal.SIGKILL)

    with joblib.parallel_config("dask"):
        threading.Thread(target=kill_at_work, daemon=True).start()
        model = make_model(**settings).fit(X)
    assert victim not in client.run(os.getpid).values()
    assert_same_fit(model, expected, X)
