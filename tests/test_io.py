"""Models in files: what comes back, what is refused, and what a damaged or forged file can do."""

import copy
import errno
import importlib.util
import json
import os
import pickle
import struct
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
import safetensors.numpy
import skops.io
import torch
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_blobs
from sklearn.exceptions import NotFittedError

import skspc
import skspc._ensemble.ensemble
import skspc._ensemble.packing
from skspc import SPCClustering, augmentations, clusterers, networks
from skspc._ensemble.ensemble import Ensemble
from skspc._input.scaling import Scaling
from skspc._persistence.model_files import PARTS, _digest, decode, encode
from skspc.augmentations import AffineAugmentation
from skspc.clusterers import AgglomerativeClusterer, GaussianMixtureClusterer, HDBSCANCut, UMAPReducer
from skspc.networks import ConvNetwork, MLPNetwork

# Labelling by k-means without a reducer: short fits.
SHORT = {"clusterer": "kmeans", "reducer": None, "n_estimators": 3, "pretrain_epochs": 1, "epochs": 1, "max_iter": 1}
SHORT["random_state"] = 0
IMAGES = load_digits(n_class=3).images[:60]
ROWS = make_blobs(n_samples=60, n_features=4, centers=3, random_state=0)[0]


def import_fuzzer():
    path = Path(__file__).parents[1] / "checks" / "fuzz_model_files.py"
    spec = importlib.util.spec_from_file_location("fuzz_model_files", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def fitted():
    return SPCClustering(3, **SHORT).fit(ROWS)


@pytest.fixture(scope="module")
def fitted_to_images():
    return SPCClustering(3, **SHORT).fit(IMAGES)


@pytest.fixture
def saved(fitted, tmp_path):
    path = tmp_path / "model.skspc"
    fitted.save(path)
    return path


def assert_same(value, expected):
    """Equal, and of the same type, all the way down."""
    assert type(value) is type(expected)
    if isinstance(expected, np.ndarray):
        assert value.dtype == expected.dtype
        assert np.array_equal(value, expected)
        assert value.flags.writeable == expected.flags.writeable
    elif isinstance(expected, dict):
        assert list(value) == list(expected)
        for key in expected:
            assert_same(value[key], expected[key])
    elif isinstance(expected, (list, tuple)):
        assert len(value) == len(expected)
        for item, other in zip(value, expected, strict=True):
            assert_same(item, other)
    elif hasattr(expected, "get_params"):
        assert_same(value.get_params(), expected.get_params())
    elif isinstance(expected, (Scaling, Ensemble)):
        assert_same(state_of(value), state_of(expected))
    else:
        assert value == expected


def state_of(part):
    return part.__getstate__() if isinstance(part, Ensemble) else vars(part)


def assert_same_model(model, expected, X):
    """All attributes, private ones too, and all that a fitted model does."""
    assert_same({name: vars(model)[name] for name in sorted(vars(model))}, dict(sorted(vars(expected).items())))
    for method in ("predict", "predict_proba", "transform"):
        assert_same(np.asarray(getattr(model, method)(X)), np.asarray(getattr(expected, method)(X)))
    assert model.score(X) == expected.score(X)


def save_and_load(model, tmp_path):
    model.save(tmp_path / "model.skspc")
    return SPCClustering.load(tmp_path / "model.skspc")


# What comes back

FRAME = pd.DataFrame(ROWS, columns=["a", "b", "ü", "d"])
CASES = {
    "vectors": (SPCClustering(3, **SHORT), ROWS),
    "vectors as they are": (SPCClustering(3, **SHORT, scaling=None), ROWS),
    "standardised vectors": (SPCClustering(3, **SHORT, scaling="standard"), ROWS),
    "images": (SPCClustering(3, **SHORT), IMAGES),
    "uint8 images with an mlp": (SPCClustering(3, **SHORT, network="mlp"), IMAGES.astype(np.uint8)),
    "colour images": (SPCClustering(2, **SHORT, image_shape=(3, 8, 9)), np.random.RandomState(0).rand(30, 216)),
    "flat images": (SPCClustering(3, **SHORT, image_shape=(8, 8), augmentation="affine"), IMAGES.reshape(-1, 64)),
    "a frame": (SPCClustering(3, **SHORT), FRAME),
    "a frame as output": (SPCClustering(3, **SHORT).set_output(transform="pandas"), FRAME),
    "one cluster": (SPCClustering(1, **SHORT), ROWS),
    "one member": (SPCClustering(3, **{**SHORT, "n_estimators": 1}), ROWS),
    "auto": (SPCClustering("auto", **{**SHORT, "clusterer": "hdbscan"}), ROWS),
    "shallow": (SPCClustering(3, **SHORT, network=MLPNetwork(latent_size=2, hidden=())), ROWS),
    "more stages than fit": (SPCClustering(3, **SHORT, network=ConvNetwork(channels=(2,) * 40)), IMAGES),
    "objects": (
        SPCClustering(
            np.int64(3),
            **{**SHORT, "clusterer": HDBSCANCut(min_samples=np.int64(4)), "reducer": UMAPReducer(n_epochs=10)},
            network=ConvNetwork(latent_size=np.int64(3), channels=(2, 4), noise=0),
            augmentation=AffineAugmentation(rotation=3),
            min_agreement=np.float32(0.5),
            concatenate=np.bool_(False),
            device=torch.device("cpu"),
        ),
        IMAGES,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_all_of_a_model_comes_back(case, tmp_path):
    model, X = CASES[case]
    model.fit(X)
    loaded = save_and_load(model, tmp_path)
    assert_same_model(loaded, model, X)
    assert os.listdir(tmp_path) == ["model.skspc"]


def test_a_loaded_model_can_be_cloned_and_fitted_again(fitted, saved):
    loaded = SPCClustering.load(saved)
    assert_same(clone(loaded).get_params(), fitted.get_params())
    assert np.array_equal(loaded.fit(ROWS).labels_, fitted.labels_)
    other = loaded.fit(IMAGES)
    assert np.array_equal(other.labels_, SPCClustering(3, **SHORT).fit(IMAGES).labels_)


def test_a_fresh_process_gives_the_same_labels(fitted, saved, tmp_path):
    np.save(tmp_path / "rows.npy", ROWS)
    program = (
        "import sys, numpy as np; from skspc import SPCClustering; "
        "model = SPCClustering.load(sys.argv[1]); X = np.load(sys.argv[2]); "
        "print(*model.labels_, *model.predict(X))"
    )
    command = [sys.executable, "-c", program, str(saved), str(tmp_path / "rows.npy")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert [int(word) for word in printed.split()] == [*fitted.labels_, *fitted.predict(ROWS)]


def test_the_same_model_makes_the_same_file(fitted, saved, tmp_path):
    SPCClustering.load(saved).save(tmp_path / "again.skspc")
    fitted.save(str(tmp_path / "third.skspc"))
    assert saved.read_bytes() == (tmp_path / "again.skspc").read_bytes() == (tmp_path / "third.skspc").read_bytes()


def test_a_subclass_loads_as_itself(saved):
    class Mine(SPCClustering):
        pass

    assert type(Mine.load(saved)) is Mine


def test_parameters_changed_after_the_fit_do_not_touch_what_was_fitted(tmp_path):
    network = MLPNetwork(hidden=(6,))
    model = SPCClustering(3, **SHORT, network=network).fit(ROWS)
    before = model.predict_proba(ROWS)
    network.set_params(hidden=(50, 50))
    loaded = save_and_load(model, tmp_path)
    assert np.array_equal(loaded.predict_proba(ROWS), before)
    assert loaded.network.hidden == (50, 50)


def test_a_loaded_model_is_no_view_of_its_file(fitted, saved):
    loaded = SPCClustering.load(saved)
    with saved.open("r+b") as file:
        file.write(bytes(saved.stat().st_size))
    assert np.array_equal(loaded.predict_proba(ROWS), fitted.predict_proba(ROWS))
    assert np.array_equal(loaded.labels_, fitted.labels_)


@pytest.mark.case(
    "plumbing", "a model of a CUDA device where there is none", origin="skorch#70, #93, #1096; BERTopic#384, #876"
)
def test_a_model_of_a_cuda_device_predicts_the_same_without_one(tmp_path, monkeypatch, in_groups_of):
    # On such a device all members are one group; here the machine has none, whatever the parameter says.
    in_groups_of(3)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    model = SPCClustering(3, **SHORT).fit(IMAGES)
    before = model.predict_proba(IMAGES)
    for device in ("cuda", "cuda:1", torch.device("cuda", 3), "mps"):
        loaded = save_and_load(model.set_params(device=device), tmp_path)
        assert_same(loaded.device, device)
        assert [len(group.members) for group in loaded._ensemble.groups] == [2, 1]
        assert {tensor.device.type for tensor in loaded._ensemble.groups[0].autoencoder.parameters()} == {"cpu"}
        assert np.array_equal(loaded.predict_proba(IMAGES), before)


def test_a_registered_name_need_not_be_known_where_the_model_is_loaded(tmp_path):
    model = SPCClustering(3, **SHORT).fit(ROWS).set_params(clusterer="one of ours")
    loaded = save_and_load(model, tmp_path)
    assert np.array_equal(loaded.predict(ROWS), model.predict(ROWS))
    with pytest.raises(ValueError, match="clusterer='one of ours' is not known"):
        loaded.fit(ROWS)


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 3, 0.1, 1e-300, "é", [1, [2.0]], (1, (2, "a")), {"a": {"b": (None,)}}, 10**30, float("inf")),
        *(np.int8(-3), np.uint64(2**64 - 1), np.float32(0.1), np.float16(0.1), np.float64(0.1), np.bool_(True)),
        *(np.str_("kmeans"), torch.device("cuda:1"), {"tuple": 1}, {"part": ["KMeans", {}]}),
        *(AgglomerativeClusterer(linkage="single"), GaussianMixtureClusterer(n_init=2), UMAPReducer(min_dist=0.5)),
        *(MLPNetwork(hidden=(3, np.int64(4))), ConvNetwork(channels=[1]), AffineAugmentation(shear=0.0), HDBSCANCut()),
    ],
    ids=repr,
)
def test_values_come_back_with_their_types(value):
    assert_same(decode(json.loads(json.dumps(encode(value, "name")))), value)


def test_nan_comes_back():
    assert np.isnan(decode(json.loads(json.dumps(encode(float("nan"), "name")))))


def test_every_public_part_can_be_saved():
    public = {
        value
        for module in (augmentations, clusterers, networks)
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__.startswith("skspc.") and hasattr(value, "get_params")
    }
    assert public == set(PARTS.values())


def test_parameters_that_a_file_lacks_have_their_defaults(saved):
    document, arrays = open_up(saved)
    del document["parameters"]["max_samples"]
    seal(saved, document, arrays)
    assert SPCClustering.load(saved).max_samples is None


# What is not saved


class OwnNetwork(MLPNetwork):
    pass


class OwnAutoencoder(networks._mlp.MLPAutoencoder):
    pass


class NetworkOfOnesOwn:
    noise = 0.1

    def build(self, input_shape, generators):
        return OwnAutoencoder(input_shape, (4,), 2, generators)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"clusterer": KMeans()}, r"clusterer=KMeans\(\) cannot be saved: to build a sklearn.cluster._kmeans.KMeans"),
        ({"network": OwnNetwork()}, r"network=OwnNetwork\(\) cannot be saved"),
        ({"augmentation": lambda batch, generator: batch}, r"augmentation=<function .* set_params\(augmentation=...\)"),
        (
            {"random_state": np.random.RandomState(0)},
            r"random_state=RandomState\(MT19937\).*a name, a number or",
        ),
        ({"clusterer": GaussianMixtureClusterer(random_state=np.random.RandomState(0))}, "clusterer__random_state=Ran"),
        ({"network": MLPNetwork(hidden=np.array([3]))}, r"network__hidden=array\(\[3\]\) cannot be saved"),
        ({"min_agreement": np.longdouble(1)}, "min_agreement=.*(longdouble|float128).*use joblib.dump"),
    ],
    ids=lambda value: "" if isinstance(value, str) else "_".join(value),
)
def test_what_only_code_could_build_again_is_refused(fitted, parameters, message, tmp_path):
    model = copy.deepcopy(fitted).set_params(**parameters)
    with pytest.raises(TypeError, match=message):
        model.save(tmp_path / "model.skspc")
    assert os.listdir(tmp_path) == []
    name = next(iter(parameters))
    model.set_params(**{name: getattr(fitted, name)})  # the remedy that the message names
    assert_same_model(save_and_load(model, tmp_path), fitted, ROWS)


def test_a_network_of_ones_own_is_refused_and_pickled(tmp_path):
    model = SPCClustering(3, **SHORT, network=NetworkOfOnesOwn()).fit(ROWS)
    with pytest.raises(TypeError, match=r"network=<.*NetworkOfOnesOwn object.* cannot be saved"):
        model.save(tmp_path / "model.skspc")
    with pytest.raises(TypeError, match=r"autoencoder OwnAutoencoder cannot be saved: only the code.* joblib.dump"):
        model.set_params(network="auto").save(tmp_path / "model.skspc")
    assert os.listdir(tmp_path) == []
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(ROWS), model.predict_proba(ROWS))


def test_keys_that_are_no_strings_are_refused():
    with pytest.raises(TypeError, match=r"history_=\{1: 2\} cannot be saved"):
        encode({1: 2}, "history_")


def test_an_unfitted_model_and_a_wrong_parameter_are_refused(fitted, tmp_path):
    with pytest.raises(NotFittedError):
        SPCClustering(3).save(tmp_path / "model.skspc")
    with pytest.raises(ValueError, match="'max_iter' parameter of SPCClustering must be"):
        copy.deepcopy(fitted).set_params(max_iter=-1).save(tmp_path / "model.skspc")
    assert os.listdir(tmp_path) == []


# Files that cannot be written or opened


def test_a_missing_folder_and_a_file_as_a_folder_are_named(fitted, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"The model was not saved: No such file.*missing/model.skspc'"):
        fitted.save(tmp_path / "missing" / "model.skspc")
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match=r"not saved.*file/model.skspc'"):
        fitted.save(tmp_path / "file" / "model.skspc")
    with pytest.raises(IsADirectoryError, match="not saved"):
        fitted.save(tmp_path)
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize(
    ("function", "number", "kind"),
    [("fsync", errno.ENOSPC, OSError), ("replace", errno.EACCES, PermissionError), ("fsync", errno.EROFS, OSError)],
)
def test_the_old_file_stays_whole_when_the_new_one_cannot_be_written(
    saved, fitted_to_images, monkeypatch, function, number, kind
):
    before = saved.read_bytes()

    def fail(*_):
        raise OSError(number, os.strerror(number))

    model = fitted_to_images
    with monkeypatch.context() as patch:
        patch.setattr(os, function, fail)
        with pytest.raises(kind, match=f"The model was not saved: {os.strerror(number)}: '{saved}'") as caught:
            model.save(saved)
    assert caught.value.errno == number
    assert os.listdir(saved.parent) == ["model.skspc"]
    assert saved.read_bytes() == before
    model.save(saved)
    assert SPCClustering.load(saved).n_features_in_ == 64


def test_an_interrupt_leaves_no_temporary_file(saved, fitted, monkeypatch):
    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fitted.save(saved)
    assert os.listdir(saved.parent) == ["model.skspc"]


def test_a_file_that_cannot_be_opened_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.skspc"):
        SPCClustering.load(tmp_path / "none.skspc")
    with pytest.raises(IsADirectoryError, match=str(tmp_path)):
        SPCClustering.load(tmp_path)


# Damaged and forged files


def open_up(path):
    """JSON and arrays of a file, without the checksum."""
    data = path.read_bytes()
    header = json.loads(data[8 : 8 + struct.unpack("<Q", data[:8])[0]])["__metadata__"]
    document = json.loads(header["skspc"])
    del document["sha256"]
    return document, safetensors.numpy.load(data)


def seal(path, document, arrays):
    """Write a file whose checksum fits."""
    document = {**document, "sha256": _digest(document, arrays)}
    path.write_bytes(safetensors.numpy.save(arrays, {"skspc": json.dumps(document)}))


def assert_refused(path, reason):
    with pytest.raises(ValueError, match=f"'{path}' is no model that can be loaded: {reason}"):
        SPCClustering.load(path)


@pytest.mark.parametrize("content", [b"", b"short", b"\xff" * 100, b"PK\x03\x04" * 100, bytes(1000)])
@pytest.mark.case("model files", "files of other kinds")
def test_files_of_another_kind(saved, content):
    saved.write_bytes(content)
    assert_refused(saved, "")


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.9999])
@pytest.mark.case("model files", "files cut short")
def test_a_truncated_file(saved, share):
    data = saved.read_bytes()
    saved.write_bytes(data[: int(share * len(data))])
    assert_refused(saved, "Error while deserializing header")


@pytest.mark.case("model files", "a header that claims a huge length")
def test_a_file_that_claims_a_huge_header(saved):
    saved.write_bytes(struct.pack("<Q", 2**60) + saved.read_bytes()[8:])
    assert_refused(saved, "Error while deserializing header")


def test_safetensors_of_another_program(saved):
    saved.write_bytes(safetensors.numpy.save({"a": np.zeros(3)}, {"format": "pt"}))
    assert_refused(saved, "its header is not that of a model of skspc")
    saved.write_bytes(safetensors.numpy.save({"a": np.zeros(3)}))
    assert_refused(saved, "its header is not that of a model of skspc")


@pytest.mark.parametrize("place", [-1, -5000, 200])
@pytest.mark.case("model files", "files with one changed bit")
def test_one_changed_bit(saved, place):
    data = bytearray(saved.read_bytes())
    data[place] ^= 1
    saved.write_bytes(data)
    assert_refused(saved, r"it is damaged \(its SHA-256 is not the one in its header\)" if place < 0 else "")


def test_a_format_to_come(saved):
    document, arrays = open_up(saved)
    seal(saved, {**document, "format": 4, "skspc": "3.1.4", "more": 1}, arrays)
    reason = f"it has format 4, and skspc {skspc.__version__} reads formats 1 to 3. Install skspc 3.1.4, which wrote it"
    assert_refused(saved, reason)


FILES = Path(__file__).parent / "files"  # written by skspc 0.1.0.dev0 before format 2, with what the model answered


@pytest.mark.parametrize("name", ["vectors", "images"])
@pytest.mark.case("model files", "files of an older format")
def test_a_file_of_format_1_answers_as_it_did(name, tmp_path):
    model = SPCClustering.load(FILES / f"{name}_format_1.skspc")
    told = json.loads((FILES / f"{name}_format_1.json").read_text())
    X = np.array(told["X"], dtype=float if name == "vectors" else np.uint8)
    assert (model._ensemble.n_members, model.n_estimators) == (3, 3)
    assert model.labels_.tolist() == told["labels"]
    np.testing.assert_allclose(model.predict_proba(X), told["probabilities"], rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(model.transform(X[:3]), told["latents"], rtol=1e-5, atol=1e-6)
    again = save_and_load(model, tmp_path)
    assert json.loads(safe_header(tmp_path / "model.skspc"))["format"] == 3
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    with pytest.raises(ValueError, match="kept none of the training rows' latents, .* Fit it again"):
        again.outlier_score(X)


def test_a_file_of_format_2_lacks_the_rows_that_are_kept_and_no_more(fitted, saved):
    document, arrays = open_up(saved)
    seal(saved, {**document, "format": 2}, {name: arrays[name] for name in arrays if not name.startswith("kept.")})
    older = SPCClustering.load(saved)
    assert np.array_equal(older.predict_proba(ROWS), fitted.predict_proba(ROWS))
    with pytest.raises(ValueError, match="kept none of the training rows' latents, .* Fit it again"):
        older.outlier_score(ROWS)


def safe_header(path):
    with safetensors.safe_open(path, framework="np") as file:
        return file.metadata()["skspc"]


OLDER_FORGERIES = [
    (["sizes"], [10**9, 1], "its weights are not as many as its network has"),
    (["sizes"], [], "it lacks part of its ensemble"),
    (["sizes"], 3, "its header has 3 where it cannot be"),
    (["sizes"], [3], "it has arrays of no member"),
    (["sizes"], [1, 1, 1], "it lacks '.*' of some members"),
    (["sizes"], [0, 3], "its header has 0, not a number up to"),
    (["n_members"], 3, "its header has None where it cannot be"),
]


@pytest.mark.parametrize("keys, value, reason", OLDER_FORGERIES)
def test_a_forged_file_of_format_1_is_refused(keys, value, reason, tmp_path):
    document, arrays = open_up(FILES / "vectors_format_1.skspc")
    forge(value, *ENSEMBLE, *keys)(document, arrays)
    if keys == ["n_members"]:
        del document["ensemble"]["dict"]["sizes"]
    path = tmp_path / "model.skspc"
    seal(path, document, arrays)
    assert_refused(path, reason)


def forge(value, *keys):
    """What puts ``value`` into the JSON at a path of keys."""

    def change(document, arrays):
        for key in keys[:-1]:
            document = document[key]
        document[keys[-1]] = value

    return change


def put(name, array):
    def change(document, arrays):
        arrays[name] = array

    return change


ENSEMBLE = ("ensemble", "dict")
MLP = (*ENSEMBLE, "network", "part", 1)
FORGERIES = [
    (forge("1", "format"), "its header does not tell its format"),
    (forge(1, "more"), "it lacks a part"),
    (forge([], "parameters"), r"its header has \[\] where it cannot be"),
    (forge(1, "parameters", "shape"), r"SPCClustering has no parameter \['shape'\]; a newer skspc may have"),
    (forge(-1, "parameters", "max_iter"), "The 'max_iter' parameter of SPCClustering must be"),
    (
        forge({"part": ["os.system", {}]}, "parameters", "clusterer"),
        "it names 'os.system', and only AffineAugmentation",
    ),
    (forge({"part": ["KMeans", {}]}, "parameters", "clusterer"), "it names 'KMeans', and only"),
    (forge({"part": [["KMeans"], {}]}, "parameters", "clusterer"), r"its header has \['KMeans'\] where it cannot be"),
    (forge({"part": ["HDBSCANCut"]}, "parameters", "clusterer"), "its header has an incomplete part"),
    (forge({"part": ["HDBSCANCut", {"x": 1}]}, "parameters", "clusterer"), r"HDBSCANCut has no parameter \['x'\]"),
    (forge({"code": "1"}, "parameters", "clusterer"), "its header has an object of an unknown type 'code'"),
    (forge({}, "parameters", "clusterer"), "an object in its header has no type"),
    (forge({"device": "gpu"}, "parameters", "device"), "device='gpu' is none that torch knows"),
    (forge({"scalar": ["object", 1]}, "parameters", "n_jobs"), "its header has a number of an unknown type 'object'"),
    (forge({"scalar": ["int8", 300]}, "parameters", "n_jobs"), "300 is no int8"),
    (forge({"scalar": ["float32", 1e300]}, "parameters", "n_jobs"), r"1e\+300 is no float32"),
    (forge([], "history"), "its history has no rows"),
    (forge([1], "history"), "its history has no rows"),
    (forge(99, "best_iter"), "its header has 99, not a number up to"),
    (forge(1.5, "predict_consistency"), "its predict_consistency_ is no share"),
    (forge(["a"], "feature_names"), "its feature names are not one string for each feature"),
    (forge("html", "output"), "it has a set_output that is not known"),
    (forge({"dict": {}}, "ensemble"), "it lacks part of its ensemble"),
    (forge({"tuple": [2, 2]}, *ENSEMBLE, "input_shape"), r"its rows have the shape \(2, 2\)"),
    (forge({"tuple": [5]}, *ENSEMBLE, "input_shape"), r"'scaling.unit' is float64 of shape \(4,\), not .* \(5,\)"),
    (forge(61, *ENSEMBLE, "n_clusters"), "its header has 61, not a number up to 60"),
    (forge(2, *ENSEMBLE, "n_clusters"), "its labels are not those of its clusters"),
    (forge(60, *ENSEMBLE, "n_clusters"), "its weights are not as many as its network has"),
    (forge(-1, *ENSEMBLE, "seed"), "its header has -1, not a number up to"),
    (forge(10**9, *ENSEMBLE, "n_members"), "its weights are not as many as its network has"),
    (forge(0, *ENSEMBLE, "n_members"), "its header has 0, not a number up to"),
    (forge([3], *ENSEMBLE, "n_members"), r"its header has \[3\], not a number up to"),
    (forge({"part": ["HDBSCANCut", {}]}, *ENSEMBLE, "network"), "its network is HDBSCANCut"),
    (forge({"tuple": [2**31] * 3}, *MLP, "hidden"), "its network cannot be built: "),
    (forge({"tuple": [2**30] * 2}, *MLP, "hidden"), "its weights are not as many as its network has"),
    (forge({"tuple": [2**32]}, *MLP, "hidden"), r"its network has hidden=\(4294967296,\)"),
    (forge({"tuple": [1] * 10_000}, *MLP, "hidden"), r"its network has hidden=\(1, 1"),
    (forge("auto", *MLP, "latent_size"), "its network has latent_size='auto'"),
    (forge("x", *MLP, "noise"), "its network has noise='x'"),
    (put("extra", np.zeros(1)), "its weights are not as many as its network has"),
    (put("extra", np.zeros(1, np.int64)), "it lacks, or has beside what its network needs, 'extra'"),
    (put("labels_", np.zeros(60, np.int32)), "it holds arrays of I32"),
    (put("labels_", np.zeros(59, np.int64)), r"'agreement_' is float64 of shape \(60,\), not float64 of shape \(59,\)"),
    (put("labels_", np.full(60, 3)), "its labels are not those of its clusters"),
    (put("member_labels_", np.zeros((0, 60), np.int64)), "its members' labels are not those of its clusters"),
    (put("member_labels_", np.full((1, 60), -2)), "its members' labels are not those of its clusters"),
    (put("agreed_", np.zeros(60)), "'agreed_' is float64 of shape"),
    (lambda document, arrays: arrays.pop("labels_"), "it lacks labels or scaling"),
    (lambda document, arrays: arrays.pop("kept.rows"), "it lacks part of the rows that are kept"),
    (put("kept.rows", np.full(60, 60)), "the rows that are kept are none of the fit"),
    (put("kept.rows", np.zeros(59, np.int64)), r"'kept.latents' is float32 of shape \(3, 60, 4\), not .* \(3, 59, 4\)"),
    (put("kept.latents", np.full((3, 60, 4), np.nan, np.float32)), "the latents of the rows that are kept are not"),
    (put("kept.figures", np.full((2, 60), -1.0)), "the figures of the rows that are kept are no distances"),
]


@pytest.mark.parametrize(("change", "reason"), FORGERIES, ids=[reason[:40] for _, reason in FORGERIES])
@pytest.mark.case("model files", "forged files with a right checksum")
def test_a_forged_file_is_refused_for_what_is_wrong_with_it(saved, change, reason):
    document, arrays = open_up(saved)
    change(document, arrays)
    seal(saved, document, arrays)
    assert_refused(saved, reason)


def test_convolutions_beyond_number_are_refused(fitted_to_images, tmp_path):
    path = tmp_path / "model.skspc"
    fitted_to_images.save(path)
    document, arrays = open_up(path)
    forge(10**9, *MLP, "convolutions_per_stage")(document, arrays)
    seal(path, document, arrays)
    assert_refused(path, "its network has convolutions_per_stage=1000000000")


@pytest.mark.parametrize("text", ["[" * 100_000, "null", "{", "9" * 5000])
def test_json_that_is_none_of_ours(saved, text):
    saved.write_bytes(safetensors.numpy.save({}, {"skspc": text}))
    assert_refused(saved, "")


@pytest.mark.case("model files", "files mutated at random")
def test_mutated_files_are_refused_or_give_a_model():
    fuzzer = import_fuzzer()
    counts = fuzzer.run(156, seed=1)  # a fault raises
    assert sum(counts.values()) == 156
    refused = sum(number for (_, outcome), number in counts.items() if outcome == "refused")
    assert 120 <= refused < 156


# Other ways to keep a model


@pytest.mark.parametrize(
    "copier",
    [
        lambda model, path: pickle.loads(pickle.dumps(model)),
        lambda model, path: joblib.dump(model, path) and joblib.load(path),
        lambda model, path: joblib.dump(model, path) and joblib.load(path, mmap_mode="r"),
        lambda model, path: copy.copy(model),
        lambda model, path: copy.deepcopy(model),
    ],
    ids=["pickle", "joblib", "joblib mapped", "copy", "deepcopy"],
)
def test_copies(fitted, fitted_to_images, copier, tmp_path):
    for model, X in ((fitted, ROWS), (fitted_to_images, IMAGES)):
        again = copier(model, tmp_path / "model.joblib")
        assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
        assert_same(again.history_, model.history_)
        assert_same_model(save_and_load(again, tmp_path), save_and_load(model, tmp_path), X)
    labels = fitted.labels_.copy()
    assert np.array_equal(again.fit(ROWS).labels_, labels)


def test_a_deep_copy_shares_no_weights(fitted):
    again = copy.deepcopy(fitted)
    before = fitted.predict_proba(ROWS)
    with torch.no_grad():
        for tensor in again._ensemble.groups[0].heads.parameters():
            tensor.zero_()
    assert np.array_equal(fitted.predict_proba(ROWS), before)


def test_skops_with_the_stated_trust_list(fitted, fitted_to_images):
    for model, X, network in ((fitted, ROWS, "_mlp.MLPNetwork"), (fitted_to_images, IMAGES, "_conv.ConvNetwork")):
        data = skops.io.dumps(model)
        untrusted = skops.io.get_untrusted_types(data=data)
        assert untrusted == [
            "skspc._ensemble.ensemble.Ensemble",
            "skspc._input.scaling.Scaling",
            "skspc._spc.SPCClustering",
            f"skspc.networks.{network}",
        ]
        assert_same_model(skops.io.loads(data, trusted=untrusted), model, X)
