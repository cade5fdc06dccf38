"""Places of labels and of images."""

import numpy as np
import pytest

from skspc.plotting._placement import GAP, NAME, GalleryGrid, place_boxes

SIZE = np.array([20.0, 10.0])


def overlaps(centres, sizes):
    """Pairs of boxes that overlap."""
    gaps = np.abs(centres[:, None] - centres[None]) - (sizes[:, None] + sizes[None]) / 2
    return np.argwhere(np.triu((gaps < -1e-9).all(axis=2), k=1)).tolist()


def place(anchors, bounds=(0, 0, 200, 100)):
    return place_boxes(np.array(anchors, dtype=float), np.tile(SIZE, (len(anchors), 1)), bounds)


def test_boxes_with_room_stay_at_their_anchors():
    assert place([(30, 30), (100, 50), (30, 41)]).tolist() == [[30, 30], [100, 50], [30, 41]]


def test_the_second_box_at_one_anchor_moves_by_its_height():
    first, second = place([(100, 50), (100, 50)])
    assert first.tolist() == [100, 50]
    assert abs(second - first).tolist() == [0, 10]


def test_boxes_stay_inside_the_bounds():
    assert place([(0, 0), (205, 99)]).tolist() == [[10, 5], [190, 95]]


def test_a_box_without_room_has_no_place():
    placed = place([(10, 10)] * 3, bounds=(0, 0, 20, 20))
    assert placed[0].tolist() == [10, 10]
    assert np.isnan(placed[1:]).all()
    assert np.isnan(place([(5, 5)], bounds=(0, 0, 19, 50))).all()  # wider than the bounds


@pytest.mark.parametrize("seed", range(10))
def test_boxes_never_overlap(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.uniform(8, 25, size=(40, 2))
    centres = place_boxes(rng.normal((150, 100), 30, size=(40, 2)), sizes, (0, 0, 300, 200))
    placed = ~np.isnan(centres).any(axis=1)
    assert placed.sum() >= 38
    assert overlaps(centres[placed], sizes[placed]) == []
    assert (centres[placed] - sizes[placed] / 2 >= -1e-9).all()
    assert (centres[placed] + sizes[placed] / 2 <= np.array([300, 200]) + 1e-9).all()


def test_no_boxes_need_no_place():
    assert place_boxes(np.empty((0, 2)), np.empty((0, 2)), (0, 0, 1, 1)).shape == (0, 2)


def test_ten_strips_stand_in_one_column_and_forty_in_two():
    assert (GalleryGrid(10, 5, 5).n_columns, GalleryGrid(10, 5, 5).n_lines) == (1, 10)
    assert (GalleryGrid(40, 5, 5).n_columns, GalleryGrid(40, 5, 5).n_lines) == (2, 20)


def test_doubtful_images_end_at_the_right_of_their_strip():
    grid = GalleryGrid(1, 3, 2)
    assert grid.tiles(0, [7, 8], [9]) == [(7, NAME, 0), (8, NAME + 1, 0), (9, NAME + 3 + GAP + 1, 0)]
    assert grid.width == NAME + 3 + GAP + 2


def test_a_gallery_without_doubtful_images_has_one_heading():
    assert [text for _, text, _ in GalleryGrid(1, 2, 0).headings()] == ["most sure"]
    assert [text for _, text, _ in GalleryGrid(1, 2, 1).headings()] == ["most sure", "least sure"]


def test_no_strips_make_an_empty_grid():
    assert GalleryGrid(0, 0, 0).n_lines == 1
