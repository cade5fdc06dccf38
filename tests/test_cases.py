"""What went wrong for users of neighbouring projects, and the neighbours of each such input.

The mark `case` names the kind, the inputs and the issue that an input is from; cases with a home in another file are
marked there. checks/reliability.py makes the table of docs/reliability.md of them.
"""

import datetime
import os
import re
import subprocess
import sys
import warnings
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
import torch
from sklearn.cluster import DBSCAN
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import skspc.clusterers._hdbscan
from skspc import SPCClustering
from skspc.augmentations import AffineAugmentation
from skspc.metrics import clustering_accuracy
from skspc.networks import MLPNetwork

SMALL = "small and degenerate data"
COUNT = "number of clusters, noise, prediction"
REPEAT = "reproducibility"
PLUMBING = "plumbing"
TYPES = "types and layouts of data"

# The shortest fit there is, by the clusterer that needs no reducer.
SHORT = {
    "n_estimators": 2,
    "pretrain_epochs": 3,
    "epochs": 1,
    "max_iter": 1,
    "clusterer": "kmeans",
    "reducer": None,
    "random_state": 0,
}


@pytest.fixture(scope="module")
def fitted(blobs):
    return SPCClustering(3, **SHORT).fit(blobs[0])


def assert_labelled(model, n_rows, n_clusters):
    assert model.labels_.shape == (n_rows,)
    assert np.array_equal(np.unique(model.labels_), np.arange(n_clusters))
    assert model.n_clusters_ == n_clusters
    assert ((model.agreement_ >= 0) & (model.agreement_ <= 1)).all()


# Small and degenerate data


@pytest.mark.parametrize(
    ("n_rows", "batch_size"), [(3, 2), (2, 2), (9, 8), (8, 8), (7, 8), (17, 16), (33, 32), (2, 256), (300, 299)]
)
@pytest.mark.case(SMALL, "one row more than a batch, as many, and fewer", origin="pytorch#7716; fastai#970")
def test_any_number_of_rows_for_a_batch_trains(n_rows, batch_size):
    X = np.random.RandomState(0).normal(size=(n_rows, 4))
    losses = [
        SPCClustering(2, **{**SHORT, "pretrain_epochs": epochs, "batch_size": batch_size, "max_iter": 0}).fit(X)
        for epochs in (1, 60)
    ]
    first, last = (model.history_[0]["losses"]["reconstruction"] for model in losses)
    assert last < 0.9 * first


@pytest.mark.parametrize("n_clusters", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("copies", [1, 7])
@pytest.mark.case(SMALL, "4 distinct rows for 1 to 5 clusters", origin="scikit-learn#10059, #10099")
def test_about_as_many_distinct_rows_as_clusters(n_clusters, copies):
    X = np.tile([[0.0, 0], [1, 0], [0, 1], [5, 5]], (copies, 1))
    model = SPCClustering(n_clusters, **SHORT)
    if n_clusters <= 4:
        model.fit(X)
    elif copies == 1:
        with pytest.raises(ValueError, match="n_samples=4 is less than n_clusters=5"):
            model.fit(X)
        return
    else:
        with pytest.warns(ConvergenceWarning, match="4 distinct rows, fewer than n_clusters=5"):
            model.fit(X)
    assert_labelled(model, 4 * copies, min(n_clusters, 4))
    assert np.array_equal(model.labels_, np.tile(model.labels_[:4], copies))


@pytest.mark.parametrize("n_clusters", [1, "auto"])
@pytest.mark.case(SMALL, "equal rows for one cluster, and for any number", origin="hdbscan#492, #224, #56, #305")
def test_equal_rows_are_one_cluster_without_a_warning(n_clusters):
    model = SPCClustering(n_clusters, **{**SHORT, "clusterer": "hdbscan"}).fit(np.ones((40, 3)))
    assert_labelled(model, 40, 1)


@pytest.mark.case(SMALL, "equal images, and all but one equal", origin="hdbscan#492, #224, #56, #305")
def test_equal_images():
    X = np.full((40, 8, 8), 7, dtype=np.uint8)
    with pytest.warns(ConvergenceWarning, match="1 distinct rows"):
        assert_labelled(SPCClustering(3, **SHORT).fit(X), 40, 1)
    X[3, 0, 0] = 8
    model = SPCClustering(2, **SHORT).fit(X)
    assert_labelled(model, 40, 2)
    assert (model.labels_ == model.labels_[3]).sum() == 1


@pytest.mark.parametrize("zero", [0.0, -0.0])
@pytest.mark.case(SMALL, "half of the rows equal, as 0.0 and as -0.0", origin="hdbscan#94, #129, #53, #548; cuml#4474")
def test_half_of_the_rows_equal(zero):
    rows = make_blobs(60, 3, centers=2, random_state=0)[0]
    X = np.concatenate([rows, np.zeros((30, 3)), np.full((30, 3), zero)])
    model = SPCClustering(3, **SHORT).fit(X)
    assert len(set(model.labels_[60:])) == 1
    assert len(set(model.predict(X[60:]))) == 1
    assert model.history_[0]["n_rows"] == 61
    assert np.isfinite(model.transform(X)).all()


@pytest.mark.case(SMALL, "60 rows in a distance of 1e-9", origin="hdbscan#492")
def test_rows_that_nearly_coincide():
    X = 1e6 + make_blobs(60, 3, centers=3, cluster_std=0.1, random_state=0)[0] * 1e-9
    model = SPCClustering(3, **{**SHORT, "clusterer": "hdbscan"}).fit(X)
    assert_labelled(model, 60, 3)


def with_one(value, dtype=np.float64):
    X = np.random.RandomState(0).normal(size=(20, 64)).astype(dtype)
    X[3, 2] = value
    return X


@pytest.mark.parametrize(
    "X",
    [
        with_one(np.nan).reshape(20, 8, 8),
        with_one(np.inf, np.float16),
        with_one(np.nan, np.float32),
        with_one(None, object),
        with_one(np.longdouble("1e4000"), np.longdouble),
        with_one(np.nan).tolist(),
        pd.DataFrame({"a": pd.array([None, 1, 2, 3], dtype="Int64"), "b": [1.0, 2.0, 3.0, 4.0]}),
        torch.tensor(with_one(np.nan)),
    ],
    ids=["image", "float16", "float32", "None", "longdouble", "list", "pandas", "tensor"],
)
@pytest.mark.case(
    SMALL, "NaN and infinity in images, half floats, objects, lists, DataFrames, tensors", origin="hdbscan#497, #139"
)
def test_nan_and_inf_in_every_form(X):
    with pytest.raises(ValueError, match="contains (NaN|infinity|None)"):
        SPCClustering(2, **SHORT).fit(X)


@pytest.mark.parametrize(
    ("n_rows", "n_clusters"), [(0, 2), (1, 1), (1, 2), (1, "auto"), (2, 3), (9, 10)], ids=lambda value: str(value)
)
@pytest.mark.parametrize("shape", [(4,), (8, 8)], ids=["vectors", "images"])
@pytest.mark.case(SMALL, "0, 1 and one row too few, vectors and images", origin="hdbscan#235, #263; cuml#7189")
def test_too_few_rows_are_told_with_the_numbers(n_rows, n_clusters, shape):
    message = f"n_samples={n_rows} .*n_clusters='?{n_clusters}|0 sample"
    with pytest.raises(ValueError, match=message):
        SPCClustering(n_clusters, **SHORT).fit(np.ones((n_rows, *shape)))


# Number of clusters, noise, prediction


@pytest.mark.parametrize("n_clusters", [2, 3, 5, 8, 13, 20])
@pytest.mark.case(COUNT, "n_clusters 2 to 20 on blobs, by HDBSCAN", origin="hdbscan#561, #490, #682")
def test_as_many_clusters_as_asked_for(n_clusters):
    X, _y = make_blobs([15] * n_clusters, 4, cluster_std=0.2, center_box=(-30, 30), random_state=0)
    model = SPCClustering(n_clusters, **{**SHORT, "clusterer": "hdbscan"}).fit(X)
    assert_labelled(model, 15 * n_clusters, n_clusters)


@pytest.mark.case(COUNT, "linkage trees of a fit, counted", origin="hdbscan#561, #490, #682")
def test_each_labelling_computes_one_linkage_tree(blobs, monkeypatch):
    make_tree, n_trees = skspc.clusterers._hdbscan.single_linkage_tree, []

    def counted(*args, **options):
        n_trees.append(1)
        return make_tree(*args, **options)

    monkeypatch.setattr("skspc.clusterers._hdbscan.single_linkage_tree", counted)
    model = SPCClustering(3, **{**SHORT, "clusterer": "hdbscan", "max_iter": 0}).fit(blobs[0])
    assert len(n_trees) == model.history_[0]["n_labellings"] == 3


@pytest.mark.case(COUNT, "wide blobs, of which HDBSCAN calls much noise", origin="BERTopic#485, #273; hdbscan#470")
def test_noise_of_the_clusterer_is_labelled_with_little_agreement():
    X, _ = make_blobs(200, 8, centers=3, cluster_std=3.5, random_state=3)
    model = SPCClustering(3, **{**SHORT, "clusterer": "hdbscan", "n_estimators": 3}).fit(X)
    assert_labelled(model, 200, 3)
    noise = (model.member_labels_ == -1).mean(axis=0)
    assert noise.mean() > 0.2
    assert (model.agreement_ <= 1 - noise + 1e-12).all()
    assert not model.agreed_[noise > 0].any()


@pytest.mark.parametrize("method", ["predict_proba", "predict"])
@pytest.mark.case(COUNT, "soft labels where the clusterer found nothing but noise", origin="hdbscan#157, #388, #115")
def test_soft_labels_where_no_cluster_was_found(blobs, method):
    nothing = DBSCAN(eps=1e-12, min_samples=100)
    with pytest.warns(ConvergenceWarning, match="No labelling could be brought to n_clusters=3"):
        model = SPCClustering(3, **{**SHORT, "clusterer": nothing}).fit(blobs[0])
    assert_labelled(model, 150, 1)
    assert (model.agreement_ == 0).all()
    assert not model.agreed_.any()
    expected = np.ones((150, 1)) if method == "predict_proba" else np.zeros(150)
    assert np.array_equal(getattr(model, method)(blobs[0]), expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: np.column_stack([X, X]), "10 features, but .* 5"),
        (lambda X: X[None], "750 features, but .* 5"),
        (lambda X: X[0, 0], "scalar array"),
        (lambda X: X[:, :0], "0 feature"),
        (lambda X: [], "1D array|0 sample"),
        (lambda X: X.astype(str), "strings"),
        (lambda X: None, "type NoneType, which is no array"),
        (lambda X: X.reshape(150, 5, 1, 1, 1), "X has 5 dimensions"),
    ],
    ids=["more", "stacked", "scalar", "no features", "nothing", "text", "None", "five dimensions"],
)
@pytest.mark.case(COUNT, "more features, a stack, a scalar, nothing, text", origin="umap#311, #89; hdbscan#320")
def test_other_shapes_after_fit(fitted, blobs, change, message):
    for method in ("predict", "predict_proba", "transform", "score"):
        with pytest.raises(ValueError, match=message):
            getattr(fitted, method)(change(blobs[0]))


@pytest.mark.case(COUNT, "rows one by one, as lists and in another memory order", origin="umap#566, tkonopka/umap#9")
def test_a_row_is_labelled_alike_in_every_form(fitted, blobs):
    X = blobs[0]
    expected = fitted.predict(X)
    assert [int(fitted.predict(row.tolist())[0]) for row in X[:20, None]] == expected[:20].tolist()
    for form in (np.asfortranarray(X), X[::-1][::-1], np.repeat(X, 2, axis=1)[:, ::2], pd.DataFrame(X).to_numpy()):
        assert np.array_equal(fitted.predict(form), expected)


GREY = np.random.RandomState(0).randint(256, size=(40, 8, 8)).astype(np.uint8)


@pytest.fixture(scope="module")
def fitted_images():
    return {scale: SPCClustering(2, **SHORT).fit(GREY / scale if scale > 1 else GREY) for scale in (1, 255)}


@pytest.mark.parametrize("method", ["predict", "predict_proba", "transform", "score"])
@pytest.mark.parametrize(("fitted_scale", "given", "advice"), [(1, GREY / 255, "X * 255"), (255, GREY, "X / 255")])
@pytest.mark.case(COUNT, "images of 0..1 after a fit on bytes, and the reverse", origin="issue 17")
def test_images_of_another_scale_warn_once_a_call(fitted_images, method, fitted_scale, given, advice):
    for X in (given, given.reshape(40, 64), torch.tensor(given)):
        with pytest.warns(UserWarning, match="the range learnt in fit is") as caught:
            getattr(fitted_images[fitted_scale], method)(X)
        assert len(caught) == 1
        assert str(caught[0].message).endswith(f"e.g. {advice}.")
        assert method == "transform" or caught[0].filename == __file__  # scikit-learn wraps transform


@pytest.mark.parametrize("method", ["predict", "predict_proba", "transform", "score"])
@pytest.mark.case(COUNT, "ordinary, dark, black, bright images, one and many, after a fit on bytes and on 0..1")
def test_images_of_the_fitted_scale_do_not_warn(fitted_images, method):
    for scale, model in fitted_images.items():
        for X in (GREY, GREY[:1], GREY[:1] // 8, GREY[:1] * 0, np.maximum(GREY, 200), np.roll(GREY, 3) * 1.2):
            getattr(model, method)(X / scale)


@pytest.mark.case(COUNT, "images of another scale for a model that was saved and loaded", origin="issue 17")
def test_a_loaded_model_knows_its_scale(fitted_images, tmp_path):
    fitted_images[1].save(tmp_path / "model.skspc")
    with pytest.warns(UserWarning, match="the range learnt in fit is 0 to 255: they fill 0.39 % of it"):
        SPCClustering.load(tmp_path / "model.skspc").predict(GREY / 255)


# Reproducibility


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.case(REPEAT, "random_state with n_jobs, warnings as errors", origin="umap#1001, #1114, #1117")
def test_a_seed_with_jobs_warns_of_nothing(blobs, quick, n_jobs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SPCClustering(3, n_jobs=n_jobs, **quick).fit(blobs[0])
    assert np.array_equal(model.labels_, SPCClustering(3, **quick).fit(blobs[0]).labels_)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")
@pytest.mark.case(REPEAT, "one random_state, two fits on CUDA", origin="cuml#5099, #5892, #7176; pytorch#2831")
def test_on_cuda_one_seed_gives_one_labelling(blobs, quick):
    first, second = (SPCClustering(3, device="cuda", **quick).fit(blobs[0]) for _ in range(2))
    assert np.array_equal(first.labels_, second.labels_)


@contextmanager
def default_dtype(dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@pytest.mark.parametrize(
    "mode",
    [
        torch.no_grad,
        torch.inference_mode,
        lambda: torch.autocast("cpu", torch.bfloat16),
        lambda: torch.device("meta"),
        lambda: default_dtype(torch.float64),
        lambda: default_dtype(torch.float16),
        lambda: np.errstate(all="raise"),
        lambda: sklearn.config_context(transform_output="pandas"),
        lambda: sklearn.config_context(assume_finite=True),
    ],
    ids=["no_grad", "inference", "autocast", "device", "float64", "float16", "errstate", "pandas", "assume_finite"],
)
@pytest.mark.case(
    REPEAT, "a caller in no_grad, autocast, another default dtype or device, np.errstate", origin="ClustPy#41"
)
def test_modes_of_the_caller_change_nothing(mode, tmp_path):
    rng = np.random.RandomState(0)
    for X in (rng.normal(size=(40, 5)), rng.randint(256, size=(40, 8, 8)).astype(np.uint8)):
        expected = SPCClustering(2, **SHORT).fit(X)
        with mode():
            model = SPCClustering(2, **SHORT).fit(X)
            model.save(tmp_path / "model.skspc")
            probabilities = [m.predict_proba(X) for m in (model, SPCClustering.load(tmp_path / "model.skspc"))]
        assert np.array_equal(model.labels_, expected.labels_)
        for found in probabilities:
            assert np.array_equal(found, expected.predict_proba(X))


@pytest.mark.case(REPEAT, "augmentation and noise under another default dtype", origin="ClustPy#41")
def test_augmentation_does_not_go_by_the_default_dtype():
    X = np.random.RandomState(0).randint(256, size=(30, 8, 8)).astype(np.uint8)
    model = SPCClustering(2, augmentation="affine", **SHORT)
    expected = model.fit(X).transform(X)
    with default_dtype(torch.float64):
        assert np.array_equal(model.fit(X).transform(X), expected)


@pytest.mark.case(REPEAT, "global random states after a fit that failed", origin="ClustPy#41, #78, #79, #88; skll#220")
def test_an_error_leaves_every_global_state(blobs):
    class Failing:
        def fit_predict(self, Z):
            raise RuntimeError("no clusters today")

    numpy_state, torch_state = np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    n_threads, filters = torch.get_num_threads(), list(warnings.filters)
    with pytest.raises(RuntimeError, match="no clusters today"):
        SPCClustering(3, **{**SHORT, "clusterer": Failing()}).fit(blobs[0])
    assert np.random.get_state()[1].tolist() == numpy_state
    assert torch.get_rng_state().tolist() == torch_state
    assert torch.get_num_threads() == n_threads
    assert warnings.filters == filters
    assert torch.is_grad_enabled()


# Plumbing


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame[["a", "b", "c", "d"]], "feature names.*\n.*missing"),
        (lambda frame: frame.assign(f=1.0), "feature names.*\n.*unseen"),
        (lambda frame: frame.rename(columns={"a": "A"}), "feature names.*\n.*unseen"),
    ],
    ids=["a column less", "a column more", "renamed"],
)
@pytest.mark.case(PLUMBING, "a DataFrame with a column less, more, or renamed", origin="umap#1082, #1166")
def test_other_columns_at_predict(blobs, change, message):
    frame = pd.DataFrame(blobs[0], columns=list("abcde"))
    model = SPCClustering(3, **SHORT).fit(frame)
    with pytest.raises(ValueError, match=f"(?s){message}"):
        model.predict(change(frame))


@pytest.mark.case(PLUMBING, "columns without names, and an array after a DataFrame", origin="umap#1082, #1166")
def test_frames_without_names_and_arrays_after_frames(blobs):
    unnamed = SPCClustering(3, **SHORT).fit(pd.DataFrame(blobs[0]))
    assert not hasattr(unnamed, "feature_names_in_")
    named = SPCClustering(3, **SHORT).fit(pd.DataFrame(blobs[0], columns=list("abcde")))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert np.array_equal(named.predict(blobs[0]), unnamed.predict(blobs[0]))


@pytest.mark.case(PLUMBING, "a polars DataFrame, and its columns in another order", origin="umap#1082, #1166")
def test_polars(blobs, fitted):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(blobs[0], schema=list("abcde"))
    model = SPCClustering(3, **SHORT).fit(frame)
    assert list(model.feature_names_in_) == list("abcde")
    assert np.array_equal(model.labels_, fitted.labels_)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.select(list("edcba")))


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.case(PLUMBING, "sparse arrays of every format", origin="hdbscan#27, #345, #498; umap#426")
def test_sparse_arrays_of_every_format(kind):
    with pytest.raises(TypeError, match="[Ss]parse"):
        SPCClustering(2, **SHORT).fit(getattr(sp, f"{kind}_array")(np.eye(6)))


@pytest.mark.case(PLUMBING, "a sparse tensor", origin="hdbscan#27, #345, #498; umap#426")
def test_sparse_tensors():
    with pytest.raises(TypeError, match=r"Sparse.*to_dense"):
        SPCClustering(2, **SHORT).fit(torch.eye(6).to_sparse())


@pytest.mark.case(PLUMBING, "clone and set_params of pipelines in it", origin="umap#681, scikit-lego#660")
def test_nested_pipelines_are_set_and_cloned(blobs):
    model = SPCClustering(
        3, **{**SHORT, "clusterer": make_pipeline(PCA(2), GaussianMixture()), "reducer": make_pipeline(PCA(3))}
    )
    model.set_params(clusterer__gaussianmixture__n_init=2, reducer__pca__n_components=4)
    copied = sklearn.base.clone(model)
    assert copied.clusterer.steps[-1][1].n_init == 2
    assert copied.reducer.steps[0][1].n_components == 4
    assert np.array_equal(copied.fit(blobs[0]).labels_, model.fit(blobs[0]).labels_)
    assert not hasattr(model.clusterer.steps[-1][1], "means_")


@pytest.mark.case(
    PLUMBING, "cross-validation without y; a grid over nested parts", origin="scikit-learn#5600, #6154, #20773"
)
def test_cross_validation_and_nested_grids(blobs):
    X = blobs[0]
    scores = cross_val_score(SPCClustering(3, **SHORT), X, cv=3)
    assert scores.shape == (3,)
    assert ((scores > 1 / 3) & (scores <= 1)).all()
    pipe = Pipeline([("scale", StandardScaler()), ("spc", SPCClustering(3, network=MLPNetwork(), **SHORT))])
    grid = GridSearchCV(pipe, {"spc__network__latent_size": [2, 4], "spc__n_clusters": [2, 3]}, cv=2).fit(X)
    assert set(grid.best_params_) == {"spc__network__latent_size", "spc__n_clusters"}
    assert set(grid.predict(X)) <= {0, 1, 2}


# Types and layouts of data


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.array([["1", "2"], ["3", "4"]] * 5), "strings"),
        (np.array([["red", 1.0], ["blue", 2.0]] * 5, dtype=object), "'red'"),
        (np.ones((10, 2)) + 1j, "Complex"),
        (np.arange(20).reshape(10, 2).astype("datetime64[D]"), "times are no features"),
        (np.arange(20).reshape(10, 2).astype("timedelta64[s]"), "times are no features"),
        (pd.DataFrame({"a": pd.Categorical(["u", "v"] * 5), "b": np.arange(10.0)}), "no number .*'u'.*OneHotEncoder"),
        (
            pd.DataFrame({"a": [datetime.datetime(2020, 1, 1)] * 10, "b": np.arange(10.0)}),
            "times beside numbers, in the columns \\['a'\\]",
        ),
        ([[1, 2], [3]], "inhomogeneous"),
        ({"a": [1, 2]}, "type dict, which is no array"),
        ("text", "type str, which is no array"),
        (np.zeros((10, 0, 8)), "0 feature"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
@pytest.mark.case(TYPES, "text, times, categories, complex numbers, ragged lists")
def test_what_is_no_table_of_numbers_is_told(X, message):
    with pytest.raises((ValueError, TypeError), match=message):
        SPCClustering(2, **SHORT).fit(X)


@pytest.mark.parametrize(
    "make",
    [
        lambda X: X.astype(object),
        lambda X: torch.tensor(X),
        lambda X: torch.tensor(X, requires_grad=True),
        lambda X: X.astype(">f8"),
        lambda X: X.astype(np.longdouble),
        lambda X: np.asfortranarray(X),
        lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
        lambda X: X[::-1].copy()[::-1],
        lambda X: pd.DataFrame(X).astype("Float64"),
        lambda X: X.tolist(),
        lambda X: X.view(np.memmap),
    ],
    ids=[
        "object",
        "tensor",
        "gradient",
        "big-endian",
        "longdouble",
        "fortran",
        "strided",
        "reversed",
        "nullable",
        "list",
        "memmap",
    ],
)
@pytest.mark.case(TYPES, "the same numbers as objects, tensors, lists, frames, in other memory layouts")
def test_the_same_numbers_in_every_form_give_the_same_labels(blobs, fitted, make):
    model = SPCClustering(3, **SHORT).fit(make(blobs[0]))
    assert np.array_equal(model.labels_, fitted.labels_)
    assert np.array_equal(model.predict_proba(make(blobs[0])), fitted.predict_proba(blobs[0]))


class Rows(torch.utils.data.Dataset):
    """Rows without labels."""

    def __init__(self, X):
        self.X = X

    def __len__(self):
        return len(self.X)

    def __getitem__(self, index):
        return self.X[index]


class AnnotatedData:
    """Has what an AnnData has."""

    def __init__(self, X):
        self.X, self.obs, self.var, self.shape = X, pd.DataFrame(index=range(len(X))), pd.DataFrame(), X.shape


def in_cells(X):
    cells = np.empty(len(X), dtype=object)
    cells[:] = list(X)
    return cells


def with_missing(X, value):
    frame = pd.DataFrame(X).astype(object)
    frame.iloc[3, 2] = value
    return frame


TAKEN = r"shape \(N, n_features\), \(N, H, W\) or \(N, C, H, W\)"
STACK = r"np\.stack\(X\)"
FILL = "SimpleImputer or DataFrame.fillna, or drop their rows"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda X: X.reshape(150, 5, 1, 1, 1), rf"5 dimensions, and its shape is \(150, 5, 1, 1, 1\)\. .*{TAKEN}"),
        (lambda X: X.reshape(150, 5, 1, 1, 1).tolist(), f"5 dimensions.*{TAKEN}"),
        (Rows, f"type Rows, which is no array.*{TAKEN}.*np.stack"),
        (lambda X: torch.utils.data.TensorDataset(torch.tensor(X)), f"type TensorDataset.*{TAKEN}"),
        (lambda X: torch.utils.data.DataLoader(torch.tensor(X)), f"type DataLoader.*{TAKEN}.*np.concatenate"),
        (iter, "iterator, which is no array"),
        (lambda X: dict(enumerate(X)), "type dict, which is no array"),
        (lambda X: "rows.csv", "type str, which is no array"),
        (AnnotatedData, r"type AnnotatedData.*Pass its matrix, \.X .*\.obsm"),
        (in_cells, f"values of type ndarray.*{STACK}"),
        (lambda X: pd.Series(X.tolist()), f"values of type list.*{STACK}"),
        (lambda X: pd.DataFrame({"pixels": list(X)}), r"values of type ndarray.*np.stack\(X\['name'\]\)"),
        (lambda X: in_cells(torch.tensor(X)), f"values of type Tensor.*{STACK}"),
        (lambda X: with_missing(X, pd.NA), f"X contains pandas.NA, a missing value.*{FILL}"),
        (lambda X: with_missing(X, None), f"X contains None.*{FILL}"),
        (lambda X: with_missing(X, pd.NaT), f"X contains pandas.NaT.*{FILL}"),
        (lambda X: with_missing(X, pd.NA).to_numpy().tolist(), f"X contains pandas.NA.*{FILL}"),
        (lambda X: with_missing(X, np.nan), "Input X contains NaN"),
    ],
)
@pytest.mark.case(
    TYPES,
    "five dimensions, data sets, loaders, AnnData, columns of arrays, frames with pandas.NA or None",
    origin="skorch#768, #775; DCEC#4; scanpy#734; anndata#1394; scikit-learn#25078",
)
def test_what_to_pass_instead_is_told_by_fit_and_after_it(blobs, fitted, make, message):
    X = make(blobs[0])
    for use in (SPCClustering(3, **SHORT).fit, fitted.predict, fitted.transform):
        with pytest.raises(ValueError, match=message):
            use(X)


def test_a_frame_whose_columns_have_the_names_of_an_anndata(blobs, fitted):
    frame = pd.DataFrame(blobs[0], columns=["X", "obs", "var", "uns", "shape"])
    assert np.array_equal(SPCClustering(3, **SHORT).fit(frame).labels_, fitted.labels_)


def negative(X):
    tensor = torch.complex(X, -X).conj().imag
    assert tensor.is_neg()
    return tensor


@pytest.mark.parametrize("make", [lambda X: X.requires_grad_(), torch.Tensor.bfloat16, torch.Tensor.half, negative])
@pytest.mark.case(
    TYPES,
    "lists of tensors: with gradients, in bfloat16, with a negative bit",
    origin="Qwen3-VL-Embedding#53; pytorch#110285",
)
def test_a_list_of_tensors_is_one_tensor(blobs, make):
    tensor = make(torch.tensor(blobs[0], dtype=torch.float32))
    model = SPCClustering(3, **SHORT).fit(tensor)
    assert np.array_equal(SPCClustering(3, **SHORT).fit(list(tensor)).labels_, model.labels_)
    for rows in (list(tensor), tuple(tensor), [list(row) for row in tensor]):
        assert np.array_equal(model.predict_proba(rows), model.predict_proba(tensor))


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "int4"])
@pytest.mark.case(TYPES, "NumPy arrays of types that ml_dtypes adds")
def test_types_that_another_package_adds(name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    X = make_blobs(60, 3, centers=[[-6] * 3, [0] * 3, [6] * 3], cluster_std=0.4, random_state=0)[0]
    X = np.round(X).astype(getattr(ml_dtypes, name))
    model, expected = SPCClustering(3, **SHORT).fit(X), SPCClustering(3, **SHORT).fit(X.astype(np.float32))
    assert np.array_equal(model.labels_, expected.labels_)
    assert np.array_equal(model.predict_proba(list(X)), expected.predict_proba(X.astype(np.float32)))
    images = np.tile(X[:, :, None], (1, 3, 8)).repeat(3, axis=2)  # (60, 9, 24)
    assert SPCClustering(3, network="mlp", **SHORT).fit(images).n_features_in_ == 216


# Channels that come last


def pictures(*shape):
    return np.random.RandomState(0).randint(256, size=(20, *shape)).astype(np.uint8)


@pytest.mark.parametrize("n_channels", [1, 3, 4])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"network": "conv"},
        {"augmentation": "affine"},
        {"network": "mlp", "augmentation": "affine"},
        {"network": "mlp", "augmentation": AffineAugmentation(shift=0.1)},
    ],
)
@pytest.mark.parametrize("is_flat", [False, True])
@pytest.mark.case(
    TYPES,
    "images (N, H, W, channels), flat ones too, with each network and augmentation",
    origin="keras#3097, #4036; Traffic-Sign-Classification.keras#4",
)
def test_channels_that_come_last_are_told_with_a_remedy(n_channels, parameters, is_flat):
    X = pictures(8, 12, n_channels)
    image_shape = X.shape[1:] if is_flat else None
    model = SPCClustering(2, **{**SHORT, "max_iter": 0}, **parameters, image_shape=image_shape)
    with pytest.raises(ValueError, match=r"channels (come )?last.*, pass |Pass np\.asarray") as caught:
        model.fit(X.reshape(20, -1) if is_flat else X)
    remedy = re.search(r"(?i)pass (np\.asarray\(X\)\S* .*?\)) and image_shape=None", str(caught.value))[1]
    turned = eval(remedy, {"np": np, "X": X.reshape(20, -1) if is_flat else X})
    assert np.array_equal(turned, np.moveaxis(X, 3, 1))
    model.set_params(image_shape=None).fit(turned)


@pytest.mark.parametrize(
    "shape", [(3, 9, 3), (1, 28, 3), (4, 9, 4), (3, 32, 4), (1, 4, 4), (2, 9, 1), (5, 3, 3), (9, 9, 2)]
)
@pytest.mark.case(TYPES, "narrow and tiny images whose channels do come first")
def test_narrow_images_are_not_suspected(shape):
    model = SPCClustering(2, **{**SHORT, "max_iter": 0}, network="mlp", augmentation="affine")
    assert model.fit(pictures(*shape))._image_shape == shape


def test_an_mlp_without_augmentation_takes_channels_in_any_order():
    model = SPCClustering(2, **SHORT, network="mlp").fit(pictures(9, 9, 3))
    assert model.predict(pictures(9, 9, 3)).shape == (20,)


def test_channels_that_come_last_after_the_fit_are_told():
    model = SPCClustering(2, **{**SHORT, "max_iter": 0}).fit(pictures(3, 9, 9))
    for method in (model.predict, model.transform):
        with pytest.raises(
            ValueError, match=r"fitted on images of shape \(3, 9, 9\).*come last, X\.transpose\(0, 3, 1, 2\)"
        ):
            method(pictures(9, 9, 3))


# numba


@pytest.mark.case(PLUMBING, "NUMBA_DISABLE_JIT=1", origin="pyrff#22")
def test_a_fit_without_compiled_kernels():
    program = (
        "from sklearn.datasets import make_blobs; from skspc import SPCClustering; "
        "X = make_blobs(40, 4, centers=3, cluster_std=0.1, random_state=0)[0]; "
        "model = SPCClustering(3, n_estimators=1, pretrain_epochs=1, max_iter=0, random_state=0).fit(X); "
        "print(model.n_clusters_, len(model.predict(X)))"
    )
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.stdout.split() == ["3", "40"], done.stderr


@pytest.mark.parametrize(
    "values",
    [
        np.array([2**63 - 1, -(2**63), 0], dtype=np.int64),
        np.array([0, 2**64 - 1, 2**63], dtype=np.uint64),
        np.array([65504, -65504, 0], dtype=np.float16),
        np.array([1e308, -1e308, 1.0]),
        np.array([5e-324, 0.0, 1e-310]),
    ],
    ids=["int64", "uint64", "float16", "largest", "smallest"],
)
@pytest.mark.parametrize("shape", [(3,), (8, 8)], ids=["vectors", "images"])
@pytest.mark.case(TYPES, "the largest and smallest numbers of each type, as vectors and images")
def test_the_ends_of_every_type(values, shape):
    X = np.random.RandomState(0).choice(values, (40, *shape))
    model = SPCClustering(2, **SHORT).fit(X)
    assert_labelled(model, 40, 2)
    assert np.isfinite(model.transform(X)).all()
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.case(TYPES, "blobs in units from 1e-30 to 1e20")
def test_units_change_no_cluster(blobs):
    X, y = blobs
    units = np.array([1e-30, 1e-3, 1.0, 1e3, 1e20])
    assert clustering_accuracy(y, SPCClustering(3, **SHORT).fit(X * units).labels_) == 1.0


@pytest.mark.case(TYPES, "masks as bytes of 0 and 1, and as booleans, 0 and 255, floats", origin="issue 17")
def test_masks_of_bytes_are_told_and_other_masks_are_alike():
    mask = GREY > 127
    with pytest.warns(UserWarning, match=r"uint8 images of 0 and 1.*X.astype\(bool\) or X \* 255") as caught:
        SPCClustering(2, **SHORT).fit(mask.astype(np.uint8))
    assert [each.filename for each in caught] == [__file__]
    whole = [SPCClustering(2, **SHORT).fit_predict(X) for X in (mask, mask * np.uint8(255), mask.astype(np.float32))]
    assert np.array_equal(whole[0], whole[1])
    assert np.array_equal(whole[0], whole[2])


@pytest.mark.case(TYPES, "all-zero bytes")
def test_black_bytes_are_no_masks():
    with pytest.warns(ConvergenceWarning, match="1 distinct rows"):
        SPCClustering(2, **SHORT).fit(np.zeros((9, 8, 8), dtype=np.uint8)).predict(np.zeros((1, 8, 8), dtype=np.uint8))
