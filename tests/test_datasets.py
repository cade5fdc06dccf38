"""Fetched data sets: from a folder, from original files, and from a forged OpenML."""

import gzip
import re
import struct
from dataclasses import replace

import numpy as np
import pytest
from conftest import DATA
from sklearn.datasets import load_digits
from sklearn.utils import Bunch

from skspc import datasets
from skspc.datasets import MNIST, USPS, fetch_fashion_mnist, fetch_mnist, fetch_optdigits, fetch_pendigits, fetch_usps

FETCHERS = {
    "mnist": (fetch_mnist, (70_000, 28, 28)),
    "fashion_mnist": (fetch_fashion_mnist, (70_000, 28, 28)),
    "usps": (fetch_usps, (9298, 16, 16)),
    "pendigits": (fetch_pendigits, (10_992, 16)),
    "optdigits": (fetch_optdigits, (5620, 8, 8)),
}


@pytest.fixture(autouse=True)
def no_folder_and_no_network(monkeypatch):
    """Nobody named a folder, and whoever asks OpenML has not forged it."""

    def refuse(**settings):
        raise ConnectionError("no network in a test")

    monkeypatch.delenv("SKSPC_DATA", raising=False)
    monkeypatch.setattr(datasets, "fetch_openml", refuse)


@pytest.fixture
def small_mnist(monkeypatch):
    """MNIST, had it two rows of 0, one of 1 and none else."""
    monkeypatch.setattr(datasets, "MNIST", replace(MNIST, shape=(2, 3), class_counts=(2, 1, 0)))


IMAGES = np.arange(18, dtype=np.uint8).reshape(3, 2, 3)
LABELS = np.array([0, 1, 0], dtype=np.uint8)


@pytest.mark.parametrize("name", FETCHERS)
def test_whole_sets_from_a_folder(name):
    if not (DATA / f"{name}.npz").exists():
        pytest.skip(f"{name}.npz is not in {DATA}; set SKSPC_DATA to the folder that holds it")
    fetch, shape = FETCHERS[name]
    data = fetch(data_home=DATA)
    assert data.data.shape == (shape[0], np.prod(shape[1:]))
    assert data.data.dtype == np.uint8
    assert data.target.dtype == np.int64
    assert len(data.target_names) == 10
    assert ("images" in data) == (len(shape) == 3)
    X, y = fetch(data_home=str(DATA), return_X_y=True)
    assert X.shape == shape
    assert np.array_equal(y, data.target)


def test_scikit_learns_digits_are_the_last_of_optdigits():
    if not (DATA / "optdigits.npz").exists():
        pytest.skip(f"optdigits.npz is not in {DATA}; set SKSPC_DATA to the folder that holds it")
    X, y = fetch_optdigits(data_home=DATA, return_X_y=True)
    digits = load_digits()
    assert np.array_equal(X[-1797:], digits.images)
    assert np.array_equal(y[-1797:], digits.target)


@pytest.mark.parametrize("key", ["images", "features"])
def test_an_archive_in_a_folder(small_mnist, tmp_path, monkeypatch, key):
    np.savez(tmp_path / "mnist.npz", **{key: IMAGES}, labels=LABELS)
    data = fetch_mnist(data_home=tmp_path)
    assert np.array_equal(data.images, IMAGES)
    assert data.target.tolist() == [0, 1, 0]
    assert "MNIST: 3 rows" in data.DESCR and "mnist.npz" in data.DESCR
    monkeypatch.setenv("SKSPC_DATA", str(tmp_path))
    assert np.array_equal(fetch_mnist(return_X_y=True)[0], IMAGES)


def write_idx(path, array, opener):
    with opener(path, "wb") as file:
        file.write(struct.pack(">BBBB", 0, 0, 8, array.ndim) + struct.pack(f">{array.ndim}i", *array.shape))
        file.write(array.tobytes())


@pytest.mark.parametrize("name", FETCHERS)
def test_each_function_tells_what_its_set_looks_like(name):
    fetch, shape = FETCHERS[name]
    assert f">>> X, y = fetch_{name}(return_X_y=True)  # doctest: +SKIP" in fetch.__doc__
    assert f"\n{shape}\n" in fetch.__doc__
    assert ("``images``" in fetch.__doc__) == (len(shape) == 3)


@pytest.mark.parametrize("name", FETCHERS)
def test_the_old_names_fetch_too_and_warn_that_they_go(name, monkeypatch):
    small = replace(getattr(datasets, name.upper()), shape=(1, 2), class_counts=(1, 0, 1), low=0.0, high=1.0, largest=1)
    monkeypatch.setattr(datasets, name.upper(), small)
    target = np.array([small.first_label, small.first_label + 2])
    forge(monkeypatch, np.array([[0.0, 1.0], [1.0, 1.0]]), target)
    message = f"load_{name} is now called fetch_{name}; the old name goes in skspc 0.2."
    with pytest.warns(FutureWarning, match=f"^{re.escape(message)}$") as caught:
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    assert caught[0].filename == __file__
    expected = FETCHERS[name][0](return_X_y=True)
    assert np.array_equal(X, expected[0]) and np.array_equal(y, expected[1])


@pytest.mark.parametrize("opener, ending", [(open, "-ubyte"), (gzip.open, "-ubyte.gz")])
@pytest.mark.parametrize("separator", ["-", "."])
def test_original_files_in_a_folder(small_mnist, tmp_path, opener, ending, separator):
    folder = tmp_path / "mnist"
    folder.mkdir()
    for part, rows in (("train", slice(0, 2)), ("t10k", slice(2, 3))):
        write_idx(folder / f"{part}-images{separator}idx3{ending}", IMAGES[rows], opener)
        write_idx(folder / f"{part}-labels{separator}idx1{ending}", LABELS[rows], opener)
    X, y = fetch_mnist(data_home=tmp_path, return_X_y=True)
    assert np.array_equal(X, IMAGES)
    assert y.tolist() == [0, 1, 0]


def forge(monkeypatch, data, target):
    asked = []

    def fetch(**settings):
        asked.append(settings["data_id"])
        return Bunch(data=data, target=target)

    monkeypatch.setattr(datasets, "fetch_openml", fetch)
    return asked


def test_openml_where_no_folder_is_named_or_it_lacks_the_set(small_mnist, monkeypatch, tmp_path):
    pixels = IMAGES.reshape(3, 6) * 15.0
    asked = forge(monkeypatch, pixels, np.array(["0", "1", "0"]))
    for data_home in (None, tmp_path):
        X, y = fetch_mnist(data_home=data_home, return_X_y=True)
        assert np.array_equal(X, IMAGES * 15)
        assert (X.dtype, y.dtype) == (np.uint8, np.int64)
        assert y.tolist() == [0, 1, 0]
    assert asked == [554, 554]


def test_openmls_usps_goes_from_minus_one_to_one_and_from_class_one(monkeypatch):
    monkeypatch.setattr(datasets, "USPS", replace(USPS, shape=(1, 2), class_counts=(1, 0, 1)))
    forge(monkeypatch, np.array([[-1.0, 0.0], [0.5, 1.0]]), np.array(["1", "3"]))
    X, y = fetch_usps(return_X_y=True)
    assert X.tolist() == [[[0, 128]], [[191, 255]]]
    assert y.tolist() == [0, 2]


def test_values_of_openml_in_another_range_are_refused(small_mnist, monkeypatch):
    forge(monkeypatch, IMAGES.reshape(3, 6) / 17.0, np.array(["0", "1", "0"]))
    with pytest.raises(
        ValueError, match=r"OpenML's data set 554 is not MNIST as it was: its values go from 0\.0 to 1\.0"
    ):
        fetch_mnist()


def test_a_part_of_a_set_is_refused(small_mnist, tmp_path):
    np.savez(tmp_path / "mnist.npz", images=IMAGES[:2], labels=LABELS[:2])
    with pytest.raises(
        ValueError, match=r"mnist\.npz is not the whole of MNIST: it has \(1, 1, 0\) rows of each class, not"
    ):
        fetch_mnist(data_home=tmp_path)


def test_rows_and_labels_of_different_number_are_refused(small_mnist, tmp_path):
    np.savez(tmp_path / "mnist.npz", images=IMAGES[:2], labels=LABELS)
    with pytest.raises(ValueError, match=r"is not MNIST: it has 2 rows of shape \(2, 3\) and 3 labels, where rows of"):
        fetch_mnist(data_home=tmp_path)


def test_rows_of_another_shape_are_refused(small_mnist, tmp_path):
    np.savez(tmp_path / "mnist.npz", images=IMAGES[:, :, :2], labels=LABELS)
    with pytest.raises(ValueError, match=r"is not MNIST: it has 3 rows of shape \(2, 2\) and 3 labels"):
        fetch_mnist(data_home=tmp_path)


@pytest.mark.parametrize("images", [IMAGES / 255, IMAGES - 1.0, IMAGES * 100.0])
def test_values_of_another_range_are_refused_and_not_cast(small_mnist, tmp_path, images):
    np.savez(tmp_path / "mnist.npz", images=images, labels=LABELS)
    with pytest.raises(ValueError, match=r"is not MNIST: its values go from .* whole numbers from 0 to 255\. Scale"):
        fetch_mnist(data_home=tmp_path)


@pytest.mark.parametrize("arrays, name", [({"labels": LABELS}, "features"), ({"images": IMAGES}, "labels")])
def test_an_archive_without_an_array_is_refused(small_mnist, tmp_path, arrays, name):
    np.savez(tmp_path / "mnist.npz", **arrays)
    with pytest.raises(ValueError, match=f"mnist.npz has no array '{name}'. It must have 'images' or 'features', and"):
        fetch_mnist(data_home=tmp_path)


def test_without_folder_and_network_the_error_says_how_to_get_the_data():
    with pytest.raises(
        OSError,
        match=r"USPS is in no folder .* OpenML \(data set 41082\) cannot be reached: no network.*"
        r"Pass data_home, or set SKSPC_DATA, to a folder with usps\.npz",
    ):
        fetch_usps()


def test_a_folder_that_is_none_is_named(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"data_home='.*nowhere' is not a folder\. Pass the folder that holds usps"
    ):
        fetch_usps(data_home=tmp_path / "nowhere")
