"""Checks of input and parameters, and the messages a user meets."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch

from skspc import SPCClustering
from skspc._input.validation import (
    as_numbers,
    check_image_shape,
    check_n_samples,
    choose_network,
    flatten_images,
    from_torch,
    full_image_shape,
)
from skspc._runtime.arrays import distinct_rows
from skspc.networks import ConvNetwork, MLPNetwork

# Flattening


@pytest.mark.parametrize(
    "shape, image_shape",
    [((5, 4, 3), (1, 4, 3)), ((5, 2, 4, 3), (2, 4, 3)), ((0, 4, 3), (1, 4, 3)), ((1, 1, 1), (1, 1, 1))],
)
def test_images_are_flattened_row_by_row(shape, image_shape):
    X = np.arange(np.prod(shape)).reshape(shape)
    flat, implied = flatten_images(X)
    assert implied == image_shape
    assert flat.tolist() == [image.ravel().tolist() for image in X]


@pytest.mark.parametrize("make", [np.ndarray.tolist, list, torch.from_numpy], ids=["lists", "arrays", "tensor"])
def test_images_of_other_kinds_are_flattened_too(make):
    X = np.arange(24).reshape(2, 3, 4)
    flat, implied = flatten_images(make(X))
    assert implied == (1, 3, 4)
    assert flat.tolist() == X.reshape(2, 12).tolist()


SPARSE_IN_3D = tuple(map(int, scipy.__version__.split(".")[:2])) >= (1, 13)


@pytest.mark.parametrize(
    "X",
    [
        np.zeros((3, 2)),
        np.zeros(3),
        np.float64(1.0),
        pd.DataFrame({"a": [1, 2]}),
        scipy.sparse.csr_array(np.eye(3)),
        *([scipy.sparse.coo_array(np.zeros((3, 2, 2)))] if SPARSE_IN_3D else []),
    ],
    ids=lambda X: type(X).__name__,
)
def test_what_is_no_array_of_images_is_left_as_it_came(X):
    same, implied = flatten_images(X)
    assert same is X
    assert implied is None


@pytest.mark.parametrize(
    "X", [[[1, 2], [3, 4]], [np.zeros(2), np.ones(2)], [1, 2], [], [[]], range(3), memoryview(b"a")]
)
def test_lists_are_made_arrays(X):
    made, implied = flatten_images(X)
    assert np.array_equal(made, np.asarray(X))
    assert implied is None


def test_a_full_shape_has_channels():
    assert full_image_shape((4, 3)) == (1, 4, 3)
    assert full_image_shape([2, 4, 3]) == (2, 4, 3)


# Image shape


@pytest.mark.parametrize(
    "image_shape, implied, n_features, expected",
    [
        (None, None, 12, None),
        (None, (1, 4, 3), 12, (1, 4, 3)),
        ((4, 3), None, 12, (1, 4, 3)),
        ([4, 3], None, 12, (1, 4, 3)),
        ((2, 3, 2), None, 12, (2, 3, 2)),
        ((4, 3), (1, 4, 3), 12, (1, 4, 3)),
        ((np.int64(4), np.int32(3)), None, 12, (1, 4, 3)),
    ],
)
def test_the_image_shape_is_settled(image_shape, implied, n_features, expected):
    assert check_image_shape(image_shape, implied, n_features) == expected


@pytest.mark.parametrize(
    "image_shape", [(12,), (1, 1, 4, 3), (), (4.0, 3.0), ("4", "3"), (-4, -3), (0, 12), (4, None), ((4, 3), 1)]
)
def test_an_image_shape_that_is_none_is_refused(image_shape):
    with pytest.raises(ValueError, match=r"image_shape=.* must be \(height, width\) or .* positive whole numbers"):
        check_image_shape(image_shape, None, 12)


def test_an_image_shape_of_other_size_is_refused():
    with pytest.raises(ValueError, match=r"image_shape=\(4, 4\) stands for 16 pixels, .* n_features=12\. .* vectors"):
        check_image_shape((4, 4), None, 12)


def test_an_image_shape_that_contradicts_the_images_is_refused():
    with pytest.raises(ValueError, match=r"image_shape=\(3, 4\) differs .* \(1, 4, 3\) .* Leave image_shape=None"):
        check_image_shape((3, 4), (1, 4, 3), 12)


# Network


class OtherNetwork:
    noise = 0.0

    def build(self, input_shape, generators):
        return None


@pytest.mark.parametrize(
    "name, image_shape, kind",
    [
        ("auto", None, MLPNetwork),
        ("auto", (1, 8, 8), ConvNetwork),
        ("mlp", None, MLPNetwork),
        ("mlp", (1, 8, 8), MLPNetwork),
        ("mlp", (1, 2, 2), MLPNetwork),
        ("conv", (3, 8, 31), ConvNetwork),
    ],
)
def test_a_network_by_name(name, image_shape, kind):
    assert type(choose_network(name, image_shape)) is kind


@pytest.mark.parametrize("network", [MLPNetwork(hidden=(3,)), ConvNetwork(latent_size=2), OtherNetwork()])
def test_an_instance_is_itself(network):
    assert choose_network(network, (1, 8, 8)) is network


def test_an_unknown_network_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"network='resnet' is not known\. Known names: 'auto', 'conv', 'mlp'"):
        choose_network("resnet", None)


class WithoutNoise:
    def build(self, input_shape, generators):
        return None


@pytest.mark.parametrize("network", [WithoutNoise(), object(), MLPNetwork, OtherNetwork, None, 3])
def test_what_is_no_network_is_refused_before_training(network):
    with pytest.raises(TypeError, match=r"network=.* must be 'auto', 'conv', 'mlp' or an instance with 'build'"):
        choose_network(network, (1, 8, 8))


@pytest.mark.parametrize("network", ["conv", ConvNetwork()])
def test_convolutions_of_flat_rows_are_refused(network):
    with pytest.raises(ValueError, match=r"network='conv' needs images, .* Pass image_shape=.* or network='mlp'"):
        choose_network(network, None)


@pytest.mark.parametrize("network", ["auto", "conv", ConvNetwork()])
@pytest.mark.parametrize("image_shape", [(1, 7, 28), (1, 28, 7), (28, 28, 3)])
def test_images_too_small_to_convolve_are_refused(network, image_shape):
    with pytest.raises(ValueError, match=r"Images of shape \(.*\) as .* from 8 up.*\.transpose\(0, 3, 1, 2\)"):
        choose_network(network, image_shape)


# Number of rows


@pytest.mark.parametrize("n_samples, n_clusters", [(2, 1), (2, 2), (3, 2)])
def test_enough_rows_pass(n_samples, n_clusters):
    check_n_samples(n_samples, n_clusters)


@pytest.mark.parametrize("n_samples", [0, 1])
@pytest.mark.parametrize("n_clusters", [1, 3])
def test_fewer_than_two_rows_are_refused(n_samples, n_clusters):
    with pytest.raises(ValueError, match=f"n_samples={n_samples} is too few .* n_clusters={n_clusters}: at least 2"):
        check_n_samples(n_samples, n_clusters)


def test_fewer_rows_than_clusters_are_refused():
    with pytest.raises(ValueError, match=r"n_samples=4 is less than n_clusters=5\. Lower n_clusters or pass more rows"):
        check_n_samples(4, 5)


# What is no array of numbers


@pytest.mark.parametrize(
    "tensor",
    [
        torch.tensor([[1.5, 2.0]], requires_grad=True),
        torch.tensor([[1.5, 2.0]], dtype=torch.bfloat16),
        torch.tensor([[1.5, 2.0]], dtype=torch.float16),
        torch.tensor([[[1.5], [2.0]]], requires_grad=True),
    ],
    ids=["gradient", "bfloat16", "float16", "image"],
)
def test_tensors_that_numpy_does_not_take_are_taken(tensor):
    flat, _ = flatten_images(tensor)
    assert type(flat) is np.ndarray
    assert flat.tolist() == [[1.5, 2.0]]


def test_a_negative_bit_is_resolved():
    imaginary = torch.complex(torch.ones(2, 1), torch.tensor([[1.5], [2.0]])).conj().imag
    assert imaginary.is_neg()
    assert from_torch(imaginary).tolist() == [[-1.5], [-2.0]]
    assert from_torch([list(imaginary)]) == [[[-1.5], [-2.0]]]


def test_whole_numbers_of_a_tensor_stay_as_they_are():
    assert from_torch(torch.tensor([[1, 255]], dtype=torch.uint8)).dtype == np.uint8


def test_numbers_are_left_alone():
    X = np.ones((2, 2), dtype=np.float32)
    assert as_numbers(X) is X


def test_numbers_in_objects_become_float64():
    X = as_numbers(np.array([[2**70, True], [0.5, 3]], dtype=object))
    assert X.dtype == np.float64
    assert X.tolist() == [[2.0**70, 1.0], [0.5, 3.0]]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.array([["1970-01-01"]], dtype="datetime64[D]"), r"X has type datetime64\[D\], and times are no features"),
        (np.array([[3]], dtype="timedelta64[s]"), r"timedelta64\[s\].* Pass numbers, e.g. X.astype\('int64'\)"),
        (np.array([["red", 1.0]], dtype=object), "no number .*'red'.* encode it, e.g. by .*OneHotEncoder"),
        (np.array([[{}, 1.0]], dtype=object), "no number .*dict"),
        (np.array([[10**400, 1.0]], dtype=object), "no number .*int too large"),
        (np.array([[None, 1.0]], dtype=object), "Input X contains NaN"),
        (np.array([[np.longdouble("1e4000"), 1.0]]), "Input X contains infinity"),
    ],
    ids=["dates", "durations", "words", "dict", "big", "None", "longdouble"],
)
def test_what_is_no_number_is_told(X, message):
    with pytest.raises(ValueError, match=message):
        as_numbers(X)


# Distinct rows


def test_distinct_rows_by_hand():
    X = np.array([[2, 1], [0, 0], [2, 1], [9, 9], [0, 0]])
    first, inverse = distinct_rows(X)
    assert first.tolist() == [0, 1, 3]
    assert inverse.tolist() == [0, 1, 0, 2, 1]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64, np.uint8, bool, ">f8"])
@pytest.mark.parametrize("n_features", [1, 3])
def test_distinct_rows_are_numpys_unique_rows_in_order_of_appearance(dtype, n_features):
    X = np.random.default_rng(0).integers(3, size=(40, n_features)).astype(dtype)
    first, inverse = distinct_rows(X)
    assert sorted(X[first].tolist()) == np.unique(X.astype(np.float64), axis=0).tolist()
    assert first.tolist() == sorted(first)
    assert all((X[:row] != X[row]).any(axis=1).all() for row in first)
    assert X[first][inverse].tolist() == X.tolist()


def test_long_doubles_are_compared_by_value_not_by_padding():
    X = np.random.default_rng(0).integers(3, size=(40, 2)).astype(np.longdouble)
    assert len(distinct_rows(as_numbers(X))[0]) == len(np.unique(X, axis=0))


def test_negative_zero_is_zero():
    first, inverse = distinct_rows(np.array([[0.0, -0.0], [-0.0, 0.0], [0.0, 1.0]]))
    assert (first.tolist(), inverse.tolist()) == ([0, 2], [0, 0, 1])


def test_rows_that_differ_in_the_last_digit_are_distinct():
    first, _ = distinct_rows(np.array([[1.0], [np.nextafter(1.0, 2.0)]]))
    assert first.tolist() == [0, 1]


@pytest.mark.parametrize("order", ["C", "F"])
def test_distinct_rows_do_not_depend_on_memory_layout(order):
    X = np.asarray([[1, 2, 3], [4, 5, 6], [1, 2, 3]], order=order)[:, ::2]
    first, inverse = distinct_rows(X)
    assert (first.tolist(), inverse.tolist()) == ([0, 1], [0, 1, 0])


@pytest.mark.parametrize("method", ["fit", "predict"])
def test_a_column_of_times_beside_numbers_is_named(method):
    table = pd.DataFrame({"size": np.arange(20.0), "day": pd.date_range("2020-01-01", periods=20)})
    model = SPCClustering(2, n_estimators=1, max_iter=0, pretrain_epochs=1)
    if method == "predict":
        model.fit(table.assign(day=np.arange(20) % 2))
    with pytest.raises(TypeError, match=r"X has times beside numbers, in the columns \['day'\].*days since"):
        getattr(model, method)(table)


def test_an_array_of_nothing_but_text_is_told_what_to_do():
    with pytest.raises(ValueError, match=r"X holds what is no number \(.*bytes/strings.*OneHotEncoder"):
        SPCClustering(2).fit(np.array([["red", "small"], ["blue", "large"]] * 10))


@pytest.mark.parametrize("method", ["fit", "predict"])
def test_a_column_of_text_is_named_as_what_is_no_number(method):
    table = pd.DataFrame({"size": np.arange(20.0), "colour": ["red", "blue"] * 10})
    model = SPCClustering(2, n_estimators=1, max_iter=0, pretrain_epochs=1)
    if method == "predict":
        model.fit(table.assign(colour=np.arange(20) % 2))
    with pytest.raises(ValueError, match=r"X holds what is no number \(could not convert string to float: .*OneHot"):
        getattr(model, method)(table)
