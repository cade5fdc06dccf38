"""Colours of clusters."""

import numpy as np
import pytest

from skspc.plotting._palette import TAKEN, distinct_colours, perceived


def least_distances(colours):
    """Least distance of two of them in each vision."""
    seen = perceived(colours)
    distances = np.linalg.norm(seen[:, :, None] - seen[:, None], axis=3)
    distances[:, np.arange(len(colours)), np.arange(len(colours))] = np.inf
    return distances.min(axis=(1, 2))


def test_perceived_colours_are_oklab():
    # White and red, as Ottosson's page has them.
    white, red = perceived([(1, 1, 1), (1, 0, 0)])[0]
    np.testing.assert_allclose(white, [1, 0, 0], atol=1e-3)
    np.testing.assert_allclose(red, [0.628, 0.225, 0.126], atol=1e-3)


def test_red_and_green_look_more_alike_without_red_or_green_cones():
    seen = perceived([(0.8, 0.2, 0.1), (0.3, 0.5, 0.1)])
    normal, *deficient = np.linalg.norm(seen[:, 0] - seen[:, 1], axis=1)
    assert max(deficient) < 0.7 * normal


@pytest.mark.parametrize("n", [0, 1, 7, 10, 40])
def test_first_colours_do_not_depend_on_their_number(n):
    colours = distinct_colours(n)
    assert colours.shape == (n, 3)
    assert ((colours >= 0) & (colours <= 1)).all()
    np.testing.assert_array_equal(colours, distinct_colours(60)[:n])


@pytest.mark.parametrize(("n", "normal", "deficient"), [(10, 0.15, 0.07), (20, 0.11, 0.06), (40, 0.08, 0.04)])
def test_colours_are_told_apart_with_and_without_all_cones(n, normal, deficient):
    # matplotlib's ten default colours: 0.11 in normal vision, 0.007 in a deficient one.
    least = least_distances(distinct_colours(n))
    assert least[0] > normal
    assert least[1:].min() > deficient


def test_no_colour_is_near_that_of_the_background_of_noise_or_of_text():
    seen = perceived(distinct_colours(40))
    for colour in TAKEN:
        assert np.linalg.norm(seen - perceived([colour]), axis=2).min() > 0.05
