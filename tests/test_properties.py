"""Properties that hold of any data set and any parameters: data are drawn, and a fit must end well or say why not.

SKSPC_EXAMPLES multiplies the number of examples, and with it the draw is random: for a longer search.
"""

import os
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from skspc import SPCClustering

LONGER = int(os.environ.get("SKSPC_EXAMPLES", "1"))
DTYPES = [np.uint8, np.int64, np.float16, np.float32, np.float64, bool]
SHORT = {"n_estimators": 2, "pretrain_epochs": 2, "epochs": 1, "max_iter": 1}
COMMON = {
    "deadline": None,
    "derandomize": LONGER == 1,
    "database": None,
    "suppress_health_check": list(HealthCheck),
    "phases": [Phase.explicit, Phase.generate],  # to shrink a failure takes minutes of fits
}


def examples(n):
    return settings(max_examples=n * LONGER, **COMMON)


# Data


def gaussian(rng, n_rows, n_features):
    return rng.normal(size=(n_rows, n_features))


def grid(rng, n_rows, n_features):
    return rng.integers(-2, 3, size=(n_rows, n_features)).astype(float)


def groups(rng, n_rows, n_features):
    centers = rng.normal(scale=10, size=(3, n_features))
    return centers[rng.integers(3, size=n_rows)] + rng.normal(size=(n_rows, n_features))


def skewed(rng, n_rows, n_features):
    return np.exp(3 * rng.normal(size=(n_rows, n_features)))


COLUMNS = {
    "constant": lambda rng, n: np.full(n, 7.0),
    "huge": lambda rng, n: 1e20 * rng.normal(size=n),
    "tiny": lambda rng, n: 1e-30 * rng.normal(size=n),
    "nearly constant": lambda rng, n: 1e8 + 1e-8 * rng.normal(size=n),
    "one outlier": lambda rng, n: np.append(np.zeros(n - 1), 1e20),
}


def as_is(X):
    return X


def strided(X):
    return np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2]


def reversed_rows(X):
    return X[::-1].copy()[::-1]


def read_only(X):
    X = X.copy()
    X.setflags(write=False)
    return X


def on_disk(X):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows"
        X.tofile(path)
        return np.memmap(path, dtype=X.dtype, mode="r", shape=X.shape)


def as_polars(X):
    polars = pytest.importorskip("polars")
    return polars.DataFrame(X.astype(np.float32) if X.dtype == np.float16 else X)


FORMS = [as_is, np.asfortranarray, strided, reversed_rows, read_only, on_disk, pd.DataFrame, as_polars, torch.tensor]


@st.composite
def tables(draw, dtypes=DTYPES):
    """Rows (N, n_features) of one dtype, with duplicates and with columns that are hard to scale."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows = draw(st.one_of(st.integers(2, 12), st.integers(2, 60), st.integers(2, 300)))
    n_features = draw(st.one_of(st.integers(1, 4), st.integers(1, 20), st.integers(1, 200)))
    X = draw(st.sampled_from([gaussian, grid, groups, skewed]))(rng, n_rows, n_features)
    for name in draw(st.lists(st.sampled_from(sorted(COLUMNS)), max_size=2)):
        X[:, rng.integers(n_features)] = COLUMNS[name](rng, n_rows)
    if draw(st.booleans()):
        X = X[rng.integers(max(1, n_rows // draw(st.integers(1, 4))), size=n_rows)]
    return as_dtype(X, draw(st.sampled_from(dtypes)))


def as_dtype(X, dtype):
    """Numbers as another dtype, within its range."""
    if dtype is bool:
        return X > 0
    limits = np.iinfo(dtype) if np.issubdtype(dtype, np.integer) else np.finfo(dtype)
    return X.clip(float(limits.min), np.nextafter(float(limits.max), 0)).astype(dtype)


def copy_of(X):
    """The values of data in whatever form, to compare with later."""
    return np.asarray(X).copy()


def random_states():
    return np.random.get_state()[1].tolist(), np.random.get_state()[2], torch.get_rng_state().tolist()


def fit(X, n_clusters, **parameters):
    """Fit, with the warning allowed that tells of fewer clusters than asked for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return SPCClustering(n_clusters, **{"random_state": 0, **SHORT, **parameters}).fit(X)


def assert_valid(model, X):
    """What holds of every fitted model."""
    n_rows, n_clusters = len(X), model.n_clusters_
    assert model.labels_.shape == (n_rows,)
    assert np.array_equal(np.unique(model.labels_), np.arange(n_clusters))
    assert ((model.agreement_ >= 0) & (model.agreement_ <= 1)).all()
    assert set(np.unique(model.member_labels_)) <= set(range(-1, n_clusters))
    probabilities = model.predict_proba(X)
    assert probabilities.shape == (n_rows, n_clusters)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-9)
    assert np.array_equal(probabilities.argmax(axis=1), model.predict(X))
    assert np.isfinite(model.transform(X)).all()
    assert 0 <= model.score(X) <= 1
    _, inverse = np.unique(np.asarray(X, dtype=float), axis=0, return_inverse=True)
    n_labels = np.zeros((inverse.max() + 1, n_clusters), dtype=bool)
    n_labels[inverse.ravel(), model.labels_] = True
    assert (n_labels.sum(axis=1) == 1).all()  # equal rows, equal labels


def distinct(X):
    return len(np.unique(np.asarray(X, dtype=float), axis=0))


# Properties

TYPES = "types and layouts of data"


@pytest.mark.case(TYPES, "2 to 300 rows, 1 to 200 features, 6 dtypes, 9 forms, duplicates, hard columns: drawn")
@examples(60)
@given(tables(), st.sampled_from(FORMS), st.integers(1, 6))
def test_any_table_is_clustered_and_left_alone(capfd, X, form, n_clusters):
    data = form(X)
    values, states = copy_of(data), random_states()
    if len(X) < n_clusters:
        with pytest.raises(ValueError, match=f"n_samples={len(X)} is less than n_clusters={n_clusters}"):
            fit(data, n_clusters)
        return
    model = fit(data, n_clusters, reducer=None, clusterer=KMeans(n_init=1))
    assert_valid(model, data)
    assert model.n_clusters_ == min(n_clusters, distinct(X))
    assert np.array_equal(copy_of(data), values)
    assert random_states() == states
    assert capfd.readouterr() == ("", "")


@pytest.mark.case(TYPES, "the defaults, UMAP and HDBSCAN, on such tables")
@examples(12)
@given(tables(), st.integers(2, 5), st.sampled_from(["hdbscan", "gmm", "agglomerative"]))
def test_the_defaults_cluster_any_table(capfd, X, n_clusters, clusterer):
    if len(X) < n_clusters:
        return
    model = fit(X, n_clusters, clusterer=clusterer)
    assert_valid(model, X)
    assert model.n_clusters_ <= min(n_clusters, distinct(X))
    assert capfd.readouterr() == ("", "")


@pytest.mark.case(TYPES, "HDBSCAN on the latents of such tables")
@examples(25)
@given(tables(), st.one_of(st.integers(2, 6), st.just("auto")))
def test_hdbscan_clusters_any_latents(X, n_clusters):
    if n_clusters != "auto" and len(X) < n_clusters:
        return
    assert_valid(fit(X, n_clusters, reducer=None), X)


@pytest.mark.case("reproducibility", "two fits of such tables in any form")
@examples(15)
@given(tables(), st.sampled_from(FORMS))
def test_the_same_numbers_give_the_same_model(X, form):
    first, second = (fit(data, 2, reducer=None, clusterer="kmeans") for data in (X, form(X)))
    assert np.array_equal(first.labels_, second.labels_)
    assert np.array_equal(first.predict_proba(X), second.predict_proba(form(X)))


@st.composite
def images(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = (*[draw(st.integers(1, 3))] * draw(st.booleans()), draw(st.integers(8, 17)), draw(st.integers(8, 17)))
    X = rng.normal(size=(draw(st.integers(2, 40)), *shape)) * 10.0 ** draw(st.integers(-30, 20))
    if draw(st.booleans()):
        X[rng.integers(len(X), size=len(X) // 2)] = X[0]
    return as_dtype(X, draw(st.sampled_from(DTYPES)))


@pytest.mark.case(TYPES, "images of 8 x 8 to 17 x 17 pixels, 1 to 3 channels, 6 dtypes: drawn")
@examples(15)
@given(images(), st.sampled_from([None, "affine"]))
def test_any_images_are_clustered(X, augmentation):
    model = fit(X, 2, reducer=None, clusterer="kmeans", augmentation=augmentation)
    flat = X.reshape(len(X), -1)
    assert_valid(model, flat)
    assert np.array_equal(model.predict(X), model.predict(flat))


PARAMETERS = {
    "n_estimators": st.sampled_from([1, 2, 3]),
    "min_agreement": st.sampled_from([1e-9, 0.5, 1.0, 1]),
    "selection": st.sampled_from(["balanced", "agreed", "consensus", "own"]),
    "reconstruction": st.sampled_from(["unagreed", "all", "none"]),
    "max_samples": st.sampled_from([None, 1, 10**6, 1e-9, 1.0]),
    "concatenate": st.booleans(),
    "pretrain_epochs": st.sampled_from([0, 1, 3]),
    "epochs": st.sampled_from([1, 2]),
    "batch_size": st.sampled_from([2, 3, 10**6, "auto"]),
    "learning_rate": st.sampled_from([1e-300, 1e-30, 1e-3, 1.0, "auto"]),
    "max_iter": st.sampled_from([0, 1, 3]),
    "n_iter_no_change": st.sampled_from([1, 10**6]),
    "tol": st.sampled_from([0, 0.01, 1e300]),
    "precision": st.sampled_from(["float32", "bfloat16"]),
    "n_jobs": st.sampled_from([None, 1, 2, -1]),
    "random_state": st.sampled_from([0, 2**32 - 1]),
    "clusterer": st.sampled_from(["kmeans", "hdbscan"]),
}


@pytest.mark.case("parameters", "every parameter of a fit at its limits, on tables as above")
@examples(30)
@given(tables(dtypes=[np.float32, np.float64]), st.integers(1, 5), st.fixed_dictionaries({}, optional=PARAMETERS))
def test_parameters_at_their_limits(X, n_clusters, parameters):
    if len(X) < n_clusters:
        return
    assert_valid(fit(X, n_clusters, reducer=None, **{"clusterer": "kmeans", **parameters}), X)


@pytest.mark.case("parameters", "learning rates from 1 to 1e38 that make training diverge")
@examples(8)
@example(1e38, 0)
@given(st.floats(1.0, 1e38), st.integers(0, 10))
def test_any_learning_rate_gives_labels_or_the_error_of_divergence(learning_rate, seed):
    X = np.random.default_rng(seed).normal(size=(40, 3))
    try:
        model = fit(X, 2, reducer=None, clusterer="kmeans", learning_rate=learning_rate, pretrain_epochs=10)
    except FloatingPointError as error:
        assert "Lower learning_rate, or scale the data" in str(error)
    else:
        assert_valid(model, X)


@pytest.mark.case("reproducibility", "rows of blobs in another order")
@examples(5)
@given(st.integers(0, 2**32 - 1))
def test_the_order_of_rows_costs_no_quality(seed):
    """On blobs far apart: at least 0.95 of the adjusted Rand index, however the rows are ordered."""
    X, y = make_blobs(120, 5, centers=3, cluster_std=0.5, center_box=(-20, 20), random_state=1)
    order = np.random.default_rng(seed).permutation(len(X))
    model = fit(X[order], 3, clusterer="gmm", pretrain_epochs=10)
    assert adjusted_rand_score(y[order], model.labels_) > 0.95
