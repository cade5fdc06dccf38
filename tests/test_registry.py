"""Clusterers and reducers by name: built in, registered, and offered by packages."""

import shutil
import subprocess
import sys
from functools import partial
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA

from skspc import SPCClustering
from skspc.clusterers import (
    AgglomerativeClusterer,
    GaussianMixtureClusterer,
    HDBSCANCut,
    UMAPReducer,
    _registry,
    get_clusterer,
    get_reducer,
    list_clusterers,
    list_reducers,
    register_clusterer,
    register_reducer,
)
from skspc.metrics import clustering_accuracy


class OneCluster:
    def fit_predict(self, Z):
        return np.zeros(len(Z), dtype=int)


class TwoColumns:
    def fit_transform(self, Z):
        return Z[:, :2]


def test_names_stand_for_the_built_ins():
    assert type(get_clusterer("hdbscan")) is HDBSCANCut
    assert type(get_clusterer("gmm")) is GaussianMixtureClusterer
    assert type(get_clusterer("kmeans")) is KMeans
    assert type(get_clusterer("agglomerative")) is AgglomerativeClusterer
    assert type(get_reducer("umap")) is UMAPReducer
    assert set(list_clusterers()) >= {"agglomerative", "gmm", "hdbscan", "kmeans"}
    assert "umap" in list_reducers()


def test_an_object_is_itself_and_no_reducer_is_none():
    clusterer, reducer = KMeans(3), PCA(2)
    assert get_clusterer(clusterer) is clusterer
    assert get_reducer(reducer) is reducer
    assert get_reducer(None) is None


def test_unknown_names_list_the_known_ones_and_the_remedy():
    message = (
        r"clusterer='dbscan' is not known\. Known names: .*'gmm', 'hdbscan'.*; or .*fit_predict.*register_clusterer"
    )
    with pytest.raises(ValueError, match=message):
        get_clusterer("dbscan")
    with pytest.raises(ValueError, match=r"reducer='pca' is not known\. .*'umap'.*'fit_transform'.*register_reducer"):
        get_reducer("pca")


@pytest.mark.parametrize("clusterer", [PCA(2), None, 3], ids=str)
def test_a_clusterer_without_the_method_is_refused(clusterer):
    with pytest.raises(TypeError, match=r"clusterer=.* has no method 'fit_predict' to call\. .*'gmm', 'hdbscan'"):
        get_clusterer(clusterer)


@pytest.mark.parametrize("reducer", [HDBSCANCut(2), 3], ids=str)
def test_a_reducer_without_the_method_is_refused(reducer):
    with pytest.raises(TypeError, match=r"reducer=.* has no method 'fit_transform' to call\. .*'umap'"):
        get_reducer(reducer)


def test_a_class_is_refused_and_an_instance_asked_for():
    with pytest.raises(TypeError, match=r"clusterer=.* is a class\. Pass an instance, e\.g\. HDBSCANCut\(\)"):
        get_clusterer(HDBSCANCut)
    with pytest.raises(TypeError, match=r"reducer=.* is a class\. Pass an instance, e\.g\. PCA\(\)"):
        get_reducer(PCA)


def test_a_method_that_cannot_be_called_is_none():
    class Odd:
        fit_predict = "text"

    with pytest.raises(TypeError, match=r"clusterer=.* has no method 'fit_predict'"):
        get_clusterer(Odd())


def test_a_registered_name_stands_for_what_its_factory_makes():
    register_clusterer("one", OneCluster)
    register_reducer("two columns", lambda: TwoColumns())
    assert type(get_clusterer("one")) is OneCluster
    assert get_clusterer("one") is not get_clusterer("one")
    assert type(get_reducer("two columns")) is TwoColumns
    assert "one" in list_clusterers() and "two columns" in list_reducers()
    assert "one" not in list_reducers()


def test_a_name_may_be_registered_again():
    register_clusterer("mine", OneCluster)
    register_clusterer("mine", KMeans)
    assert type(get_clusterer("mine")) is KMeans


def test_a_fit_by_registered_names(quick):
    register_clusterer("rows of two", partial(KMeans, n_init=1))
    register_reducer("two columns", TwoColumns)
    X, y = make_blobs(60, n_features=4, centers=2, cluster_std=0.1, random_state=0)
    labels = SPCClustering(2, clusterer="rows of two", reducer="two columns", **quick).fit_predict(X)
    assert clustering_accuracy(y, labels) == 1.0


@pytest.mark.parametrize("name", ["hdbscan", "kmeans"])
def test_a_built_in_name_cannot_be_taken(name):
    with pytest.raises(ValueError, match=f"name='{name}' is a built-in clusterer. Register yours by another name"):
        register_clusterer(name, OneCluster)
    with pytest.raises(ValueError, match="name='umap' is a built-in reducer"):
        register_reducer("umap", TwoColumns)


@pytest.mark.parametrize("name", [None, 3, ""])
def test_a_name_must_be_text(name):
    with pytest.raises(TypeError, match=r"name=.* of a clusterer must be a string"):
        register_clusterer(name, OneCluster)


def test_a_factory_must_be_callable():
    with pytest.raises(TypeError, match=r"factory=.* of the clusterer 'mine' cannot be called\. Pass a class, or"):
        register_clusterer("mine", OneCluster())
    assert "mine" not in list_clusterers()


def test_a_factory_that_makes_no_clusterer_is_told_so():
    register_clusterer("mine", PCA)
    with pytest.raises(TypeError, match=r"The clusterer registered as 'mine' is PCA\(\), which has no method 'fit_pre"):
        get_clusterer("mine")


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    """The folder into which pip has installed the package of tests/plugin."""
    source, target = tmp_path_factory.mktemp("source") / "plugin", tmp_path_factory.mktemp("installed")
    shutil.copytree(Path(__file__).parent / "plugin", source)  # building leaves files beside the sources
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*command, "--target", str(target), str(source)], check=True, capture_output=True)
    return target


def test_a_package_offers_its_own_by_entry_points(plugin, monkeypatch, quick):
    monkeypatch.syspath_prepend(plugin)
    assert {"thirds", "broken"} <= set(list_clusterers())
    assert "first-column" in list_reducers()
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = SPCClustering(3, clusterer="thirds", reducer="first-column", **quick).fit(X)
    assert np.bincount(model.member_labels_[0]).tolist() == [20, 20, 20]


def test_a_package_cannot_take_a_built_in_name(plugin, monkeypatch):
    monkeypatch.syspath_prepend(plugin)
    assert type(get_clusterer("hdbscan")) is HDBSCANCut


def test_a_registered_name_comes_before_an_offered_one(plugin, monkeypatch):
    monkeypatch.syspath_prepend(plugin)
    register_clusterer("thirds", OneCluster)
    assert type(get_clusterer("thirds")) is OneCluster


def test_a_package_that_cannot_be_loaded_is_named(plugin, monkeypatch):
    monkeypatch.syspath_prepend(plugin)
    message = r"clusterer='broken' is offered by the entry point 'skspc_test_plugin:nothing_of_that_name', which cannot"
    with pytest.raises(ImportError, match=message):
        get_clusterer("broken")


def forge_entry_points(monkeypatch, **values):
    points = [EntryPoint(name, value, "skspc.clusterers") for name, both in values.items() for value in both]
    monkeypatch.setattr(_registry, "entry_points", lambda group: points if group == "skspc.clusterers" else [])


def test_a_name_that_two_packages_offer_is_refused_until_it_is_registered(monkeypatch):
    forge_entry_points(monkeypatch, mine=["sklearn.cluster:KMeans", "sklearn.cluster:DBSCAN"])
    message = (
        r"clusterer='mine' is offered by the entry points 'sklearn.cluster:KMeans' and 'sklearn.cluster:DBSCAN'\. Uni"
    )
    with pytest.raises(ValueError, match=message):
        get_clusterer("mine")
    register_clusterer("mine", KMeans)
    assert type(get_clusterer("mine")) is KMeans


def test_an_entry_point_that_is_found_twice_is_one(monkeypatch):
    forge_entry_points(monkeypatch, mine=["sklearn.cluster:KMeans", "sklearn.cluster:KMeans"])
    assert type(get_clusterer("mine")) is KMeans


def test_what_cannot_be_called_without_arguments_is_named(monkeypatch):
    forge_entry_points(monkeypatch, environ=["os:environ"])
    register_clusterer("asks", lambda argument: KMeans())
    for name in ("asks", "environ"):
        with pytest.raises(
            TypeError, match=rf"clusterer='{name}' stands for .*, which cannot be called without arguments"
        ):
            get_clusterer(name)
