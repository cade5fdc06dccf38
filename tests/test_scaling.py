"""Scaling, learnt in fit. Warnings are errors, so no test here divides by zero or overflows."""

import re
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from skspc import SPCClustering
from skspc._input.scaling import Scaling, fit_image_scaling, fit_vector_scaling, share_a_unit


def scale_images(X, new=None):
    X = np.asarray(X)
    scaling = fit_image_scaling(X, (1, 1, X.shape[1]))
    return scaling.apply(X if new is None else np.asarray(new), np.float64).reshape(len(X if new is None else new), -1)


def scale_vectors(X, new=None, scaling="standard"):
    X = np.asarray(X)
    scaling = fit_vector_scaling(X, (X.shape[1],), scaling)
    return scaling.apply(X if new is None else np.asarray(new), np.float64)


# Images


def test_uint8_stands_for_0_to_255_whatever_occurs():
    pixels = np.array([[100, 110, 120]], dtype=np.uint8)
    np.testing.assert_allclose(scale_images(pixels), (pixels / 127.5) - 1, rtol=1e-15)
    assert scale_images(pixels, np.array([[0, 255, 51]], dtype=np.uint8)).tolist() == [[-1.0, 1.0, -0.6]]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64, np.uint16, np.int8])
def test_other_images_are_scaled_by_their_range(dtype):
    pixels = np.array([[2, 4, 6], [3, 10, 2]], dtype=dtype)
    assert scale_images(pixels).tolist() == [[-1.0, -0.5, 0.0], [-0.75, 1.0, -1.0]]


def test_a_negative_range_is_a_range():
    assert scale_images([[-3.0, -1.0, -2.0]]).tolist() == [[-1.0, 1.0, 0.0]]


def test_boolean_images_become_minus_one_and_one():
    assert scale_images(np.array([[True, False]])).tolist() == [[1.0, -1.0]]


def test_one_range_serves_all_pixels():
    # Not a feature at a time: the second pixel never reaches the ends.
    assert scale_images([[0.0, 1.0], [4.0, 3.0]]).tolist() == [[-1.0, -0.5], [1.0, 0.5]]


def test_new_images_are_clipped_to_the_range_learnt():
    assert scale_images([[0.0, 1.0]], new=[[-5.0, 7.0], [0.5, 1.0]]).tolist() == [[-1.0, 1.0], [0.0, 1.0]]


@pytest.mark.parametrize("value", [0.0, 0.1, -7.0, 1e20])
def test_constant_images_become_zero(value):
    assert scale_images(np.full((2, 3), value)).tolist() == [[0.0] * 3] * 2


def test_constant_uint8_images_are_not_centred():
    assert scale_images(np.full((2, 2), 255, dtype=np.uint8)).tolist() == [[1.0] * 2] * 2


@pytest.mark.parametrize("size", [1e-200, 1e-30, 1e30, 1e200, 1.7e308])
def test_images_of_any_size_are_scaled_without_overflow(size):
    scaled = scale_images(np.array([[-1.0, 0.0, 0.5, 1.0]]) * size)
    np.testing.assert_allclose(scaled, [[-1.0, 0.0, 0.5, 1.0]], rtol=1e-12)


def test_image_figures_are_plain_floats():
    scaling = fit_image_scaling(np.array([[0.0, 2.0]], dtype=np.float32), [1, 1, 2])
    assert scaling == Scaling(unit=2.0, offset=0.5, scale=0.5, limit=1.0, input_shape=(1, 1, 2))
    assert type(scaling.unit) is type(scaling.offset) is type(scaling.scale) is float


# Images of another scale


BYTES = np.arange(256, dtype=np.uint8).reshape(4, 64)  # each value once
PHOTONS = np.arange(64.0).reshape(4, 16) / 63 * 16  # 0..16
SIGNED = BYTES / 127.5 - 1


def messages(fitted, given):
    """What is said of images handed over to a model of others."""
    scaling = fit_image_scaling(np.asarray(fitted), (1, 1, fitted.shape[1]))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert scaling.checked(given) is given
    return [str(each.message) for each in caught]


@pytest.mark.parametrize(
    ("fitted", "given", "said"),
    [
        (BYTES, BYTES / 255, "0 to 1, but the range learnt in fit is 0 to 255: they fill 0.39 % of it.*e.g. X [*] 255"),
        (BYTES / 255, BYTES, "0 to 255, but .* 0 to 1: 99% of them lie far outside and are clipped.*e.g. X / 255"),
        (BYTES[:3] / 255, BYTES, "0 to 255, but .* 0 to 0.74902: .*e.g. X / 255"),
        (BYTES, BYTES > 99, "they fill 0.39 % of it.*e.g. X [*] 255"),
        (BYTES, (BYTES > 99).astype(np.uint8), "they fill 0.39 % of it"),
        (BYTES, SIGNED, "from -1 to 1, but .*: 40% of them lie far outside"),
        (BYTES.astype(np.uint16) * 257, BYTES, "0 to 255, but .* 0 to 65535: they fill 0.39 % of it"),
        (BYTES / 255, BYTES / 255**2, "they fill 0.39 % of it"),
        (BYTES / 255, SIGNED, "-1 to 1, but .* 0 to 1: 40% of them lie far outside"),
        (SIGNED, BYTES, "far outside"),
        (PHOTONS, PHOTONS / 16, "they fill 6.2 % of it"),
        (
            np.repeat(SIGNED, 3, axis=0),
            np.repeat(BYTES / 255, 3, axis=0),
            "0 to 1, but .* -1 to 1: none of them is below 0",
        ),
        (BYTES / 255, BYTES.astype(np.float16), "far outside"),
    ],
)
def test_images_of_another_scale_are_told_with_both_ranges(fitted, given, said):
    (message,) = messages(fitted, given)
    assert re.search(said, message)
    assert "Pass images in the scale of those fitted" in message


HOT_PIXEL = np.eye(1, 128) * 1e9


@pytest.mark.parametrize(
    ("fitted", "given"),
    [
        (BYTES, BYTES[:1]),
        (BYTES, BYTES // 4),
        (BYTES, np.zeros((1, 64))),
        (BYTES, np.zeros((12, 64), dtype=bool)),
        (BYTES, BYTES % 3),  # bytes have their scale, however dark
        (BYTES, np.full((1, 64), 255.0)),
        (BYTES / 255, np.full((1, 64), 1e-9)),  # zero but for rounding
        (BYTES / 255, BYTES / 255 * 1.3 - 0.1),
        (BYTES / 255, BYTES > 99),
        (PHOTONS, np.eye(16)[:1]),  # counts of 0 and 1
        (SIGNED, BYTES[:1] / 255),  # a single image may be bright
        (SIGNED, SIGNED[:1] / 200),  # or without contrast
        (np.full((2, 64), 7.0), np.full((1, 64), 7.0)),
        (np.zeros((2, 64)), np.zeros((12, 64))),
        (np.array([[-1.7e308, 1.7e308]]), np.array([[0.0, 1.0]] * 12)),
        (BYTES / 255, HOT_PIXEL),
    ],
)
def test_dark_bright_and_single_images_are_not_of_another_scale(fitted, given):
    assert messages(fitted, given) == []


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e3])
def test_vectors_may_come_in_any_unit(unit):
    scaling = fit_vector_scaling(SIGNED, (64,))
    assert scaling.checked(BYTES * unit) is not None


def test_bytes_of_0_and_1_are_told():
    with pytest.warns(UserWarning, match=r"uint8 images of 0 and 1.*0.4 % .*X.astype\(bool\) or X \* 255"):
        fit_image_scaling(np.eye(4, dtype=np.uint8), (1, 2, 2))


@pytest.mark.parametrize(
    "X",
    [np.zeros((2, 4), np.uint8), np.eye(4, dtype=np.uint8) * 2, np.eye(4) > 0, np.eye(4), np.eye(4, dtype=np.int64)],
)
def test_other_dark_images_and_masks_are_fitted_in_silence(X):
    fit_image_scaling(X, (1, 2, 2))


# Vectors


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8])
def test_vectors_are_standardised_as_scikit_learn_does(dtype):
    X = np.random.default_rng(0).integers(0, 200, size=(50, 4)).astype(dtype)
    expected = StandardScaler().fit_transform(X.astype(np.float64))
    np.testing.assert_allclose(scale_vectors(X), expected, rtol=1e-10, atol=1e-12)


def test_negative_integers_at_the_end_of_their_range():
    X = np.array([[-128], [127], [-128], [127]], dtype=np.int8)
    np.testing.assert_allclose(scale_vectors(X), [[-1.0], [1.0]] * 2, rtol=1e-12)


def test_boolean_features():
    assert scale_vectors(np.array([[True], [False]])).tolist() == [[1.0], [-1.0]]


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e-30, 1e30, 1e200, 1e300])
def test_features_of_any_size_are_standardised_without_overflow(size):
    column = np.random.default_rng(0).normal(size=(40, 1))
    np.testing.assert_allclose(scale_vectors(column * size), StandardScaler().fit_transform(column), rtol=1e-10)


def test_features_of_all_sizes_side_by_side():
    column = np.random.default_rng(0).normal(size=40)
    X = np.stack([column * 1e200, column, column * 1e-200, np.full(40, 1e20)], axis=1)
    expected = StandardScaler().fit_transform(column[:, None])[:, 0]
    scaled = scale_vectors(X)
    for feature in range(3):
        np.testing.assert_allclose(scaled[:, feature], expected, rtol=1e-10)
    assert scaled[:, 3].tolist() == [0.0] * 40


@pytest.mark.parametrize("X", [[[1.7e308], [1.7e308], [-1.7e308]], [[0.0], [5e-324]]], ids=["largest", "smallest"])
def test_features_at_the_ends_of_float64_stay_finite(X):
    assert np.isfinite(scale_vectors(X)).all()


@pytest.mark.parametrize("n_rows", [2, 3, 10, 1001])
@pytest.mark.parametrize("value", [0.0, 0.1, -0.3, 1e20, 1e-200, 1e200, 7])
def test_constant_features_become_zero(value, n_rows):
    assert scale_vectors(np.full((n_rows, 2), value)).tolist() == [[0.0] * 2] * n_rows


def test_a_feature_that_is_constant_but_for_rounding_is_constant():
    X = np.array([[0.1 + 0.2], [0.3], [0.3]])
    assert np.abs(scale_vectors(X)).max() < 1e-15


def test_a_feature_with_a_small_spread_is_not_constant():
    X = np.array([[1.0], [1.0 + 1e-9]])
    np.testing.assert_allclose(scale_vectors(X), [[-1.0], [1.0]], rtol=1e-5)


def test_new_vectors_are_scaled_as_learnt_and_clipped_a_million_deviations_away():
    np.testing.assert_allclose(scale_vectors([[1.0], [3.0]], new=[[2.0], [12.0]]), [[0.0], [10.0]], rtol=1e-12)
    assert scale_vectors([[1.0], [3.0]], new=[[1e9], [-1e300]]).tolist() == [[1e6], [-1e6]]
    assert scale_vectors([[1e-200], [3e-200]], new=[[1e200]]).tolist() == [[1e6]]


def test_float32_columns_are_summed_in_float64():
    X = np.full((100_000, 1), 1e4, dtype=np.float32)
    X[::2] += 1
    scaled = scale_vectors(X)
    assert abs(scaled.mean()) < 1e-6
    assert scaled.std() == pytest.approx(1.0)


def test_memory_order_does_not_change_the_last_digit():
    X = np.random.default_rng(0).normal(size=(1000, 7)) * 1e3
    expected = fit_vector_scaling(X, (7,))
    for same in (np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2]):
        found = fit_vector_scaling(same, (7,))
        assert np.array_equal(found.offset, expected.offset)
        assert np.array_equal(found.scale, expected.scale)


def test_one_row_becomes_zero():
    assert scale_vectors([[3.0, -4.0]]).tolist() == [[0.0, 0.0]]


# Vectors by one scale, or as they are


def test_one_scale_centres_features_and_divides_them_all_alike():
    X = np.array([[0.0, 10.0, 7.0], [2.0, 14.0, 7.0]])  # deviations 1, 2 and none: root mean square sqrt(5 / 2)
    expected = np.array([[-1, -2, 0], [1, 2, 0]]) / np.sqrt(2.5)
    np.testing.assert_allclose(scale_vectors(X, scaling="global"), expected, atol=1e-15)


def test_one_scale_keeps_the_shape_of_the_data():
    X = np.random.default_rng(0).normal(size=(50, 4)) * [1, 2, 3, 4] + 5
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    scaled = scale_vectors(X, scaling="global")
    ratios = np.linalg.norm(scaled[:, None] - scaled, axis=2)[distances > 0] / distances[distances > 0]
    np.testing.assert_allclose(ratios, ratios[0], rtol=1e-9)


@pytest.mark.parametrize("size", [1e-200, 1e-30, 1e30, 1e200, 1e307])
def test_one_scale_of_any_size(size):
    X = np.random.default_rng(0).normal(size=(50, 3)) * [1, 2, 3]
    expected = scale_vectors(X, scaling="global")
    np.testing.assert_allclose(scale_vectors(X * size, scaling="global"), expected, rtol=1e-9)


@pytest.mark.parametrize("constant", [0.0, 5.0, 1e20, 1e300])
def test_a_constant_feature_leaves_one_scale_alone(constant):
    column = np.array([[-1.0], [1.0], [3.0]])
    scaled = scale_vectors(np.hstack([column, np.full((3, 1), constant)]), scaling="global")
    np.testing.assert_allclose(scaled[:, :1], scale_vectors(column))
    np.testing.assert_allclose(scaled[:, 1], 0.0, atol=1e-6)


def test_rows_without_scaling_are_as_they_are():
    X = np.array([[3.0, -4.0], [1e8, 0.5]])
    assert scale_vectors(X, scaling=None).tolist() == X.tolist()
    assert scale_vectors(X, new=[[1e20, 0.0]], scaling=None).tolist() == [[1e14, 0.0]]  # clipped, not lost


def unit_rows():
    X = np.random.default_rng(0).normal(size=(60, 8)) * 10.0 ** -np.arange(8)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


TABLES = {
    "iris": (load_iris().data, True),
    "pixels": (load_digits().data, True),
    "principal components": (PCA(20).fit_transform(load_digits().data), True),
    "standardised": (StandardScaler().fit_transform(load_wine().data), True),
    "rows of length one": (unit_rows(), True),
    "rows of length one in float16, one of zeros": (np.vstack([unit_rows(), np.zeros(8)]).astype(np.float16), True),
    "constant": (np.ones((5, 3)), True),
    "the largest floats": (np.array([[1.7e308, 1.0], [-1.7e308, 2.0]]), False),
    "wine": (load_wine().data, False),
    "breast cancer": (load_breast_cancer().data, False),
    "diabetes": (load_diabetes(scaled=False).data, False),
    "years and an income": (np.random.default_rng(0).normal(size=(90, 2)) * [15, 40_000] + [40, 60_000], False),
}


@pytest.mark.parametrize("X, shared", TABLES.values(), ids=TABLES)
def test_auto_goes_by_whether_features_share_a_unit(X, shared):
    assert share_a_unit(X) == shared
    chosen = "global" if shared else "standard"
    assert np.array_equal(scale_vectors(X, scaling="auto"), scale_vectors(X, scaling=chosen))


@pytest.mark.case("scaling", "an embedding's rows of length one", origin="BERTopic#103")
def test_the_estimator_scales_as_it_is_told(quick):
    X = load_wine().data
    ways = ("auto", "standard", "global", None)
    found = {way: SPCClustering(3, scaling=way, **quick).fit(X)._scaling for way in ways}
    assert np.array_equal(found["auto"].scale, found["standard"].scale)
    ranges = np.ptp(found["global"].apply(X), axis=0)
    assert ranges.max() / ranges.min() == pytest.approx(np.ptp(X, axis=0).max() / np.ptp(X, axis=0).min(), rel=1e-5)
    assert np.array_equal(found[None].apply(X), X.astype(np.float32))
    assert SPCClustering(3, **quick).fit(unit_rows())._scaling.scale[0] == pytest.approx(
        fit_vector_scaling(unit_rows(), (8,), "global").scale[0]
    )


def test_another_name_of_a_scaling_is_refused(blobs):
    with pytest.raises(ValueError, match="The 'scaling' parameter of SPCClustering must be .* Got 'minmax' instead"):
        SPCClustering(3, scaling="minmax").fit(blobs[0])


# Applying


@pytest.mark.parametrize("n_rows", [0, 1, 2, 3, 4, 6, 7])
def test_chunks_join_without_seams(n_rows):
    X = np.arange(2.0 * n_rows).reshape(n_rows, 2)
    scaling = Scaling(unit=1.0, offset=np.array([1.0, 2.0]), scale=np.array([2.0, 4.0]), limit=np.inf, input_shape=(2,))
    scaled = scaling.apply(X, np.float64, rows_per_chunk=3)
    assert scaled.shape == (n_rows, 2)
    assert scaled.tolist() == ((X - [1.0, 2.0]) / [2.0, 4.0]).tolist()


def test_rows_take_the_shape_of_the_network():
    X = np.arange(24.0).reshape(2, 12)
    scaled = Scaling(10.0, 0.0, 10.0, 1.0, (3, 2, 2)).apply(X)
    assert scaled.dtype == np.float32
    np.testing.assert_allclose(scaled, (X / 100).reshape(2, 3, 2, 2), rtol=1e-6)


def test_float32_rows_are_the_float64_rows_rounded():
    X = np.random.default_rng(0).normal(size=(20, 3)) * 1e200
    scaling = fit_vector_scaling(X, (3,))
    single, double = scaling.apply(X), scaling.apply(X, np.float64)
    assert np.array_equal(single, double.astype(np.float32))


def test_the_caller_s_rows_are_left_alone():
    X = np.array([[0.0, 4.0], [2.0, 8.0]])
    before = X.copy()
    scale_images(X)
    scale_vectors(X)
    assert X.tolist() == before.tolist()
