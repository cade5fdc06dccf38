"""Clusters matched with classes."""

import numpy as np
import pytest

from skspc._matching import check_labels, match_clusters, right_rows
from skspc.metrics import clustering_accuracy


def test_clusters_are_matched_one_to_one_for_most_rows():
    counts, classes, clusters, (rows, columns) = match_clusters(["a", "a", "b", "b"], [5, 5, 2, 5])
    assert counts.tolist() == [[0, 2], [1, 1]]
    assert classes.tolist() == ["a", "b"]
    assert clusters.tolist() == [2, 5]
    assert (rows.tolist(), columns.tolist()) == ([0, 1], [1, 0])


def test_noise_is_matched_with_no_class():
    _, _, clusters, (rows, columns) = match_clusters([0, 0, 0, 1], [-1, -1, 3, -2])
    assert clusters.tolist() == [-1, 3]
    assert (rows.tolist(), columns.tolist()) == ([0], [1])
    assert right_rows([0, 0, 0, 1], [-1, -1, 3, -2]).tolist() == [False, False, True, False]


def test_right_rows_are_those_that_accuracy_counts():
    rng = np.random.default_rng(0)
    for n_classes, n_clusters in ((4, 4), (3, 6), (6, 3)):
        y_true, labels = rng.integers(n_classes, size=80), rng.integers(-1, n_clusters, size=80)
        assert right_rows(y_true, labels).mean() == pytest.approx(clustering_accuracy(y_true, labels))


def test_every_negative_label_is_noise():
    assert check_labels([2, -1, -7]).tolist() == [2, -1, -1]


def test_labels_that_are_no_whole_numbers_are_refused():
    with pytest.raises(ValueError, match="labels have type float64; they must be whole numbers, with -1 for noise"):
        check_labels([0.0, 1.0])


def test_no_rows_are_refused():
    with pytest.raises(ValueError, match="y_true and y_pred are empty; at least one row is needed"):
        match_clusters([], np.array([], dtype=int))


def test_rows_of_another_number_are_refused():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        match_clusters([0, 1], [0])
