"""Clustering accuracy."""

from itertools import permutations

import numpy as np
import pytest

from skspc.metrics import clustering_accuracy, score_accuracy


@pytest.mark.parametrize(
    "y_true, y_pred, accuracy",
    [
        ([0, 0, 1, 1], [0, 0, 1, 1], 1.0),
        ([0, 0, 1, 1], [1, 1, 0, 0], 1.0),
        ([0, 0, 1, 1], [0, 1, 0, 1], 0.5),
        ([0, 0, 0, 1], [0, 0, 1, 1], 0.75),
        ([0, 0, 1, 1], [5, 5, 5, 5], 0.5),  # one cluster, two classes
        ([0, 0, 0, 0], [0, 1, 2, 2], 0.5),  # three clusters, one class
        ([0, 0, 1, 1], [7, 7, 3, -1], 0.75),  # noise is wrong
        ([0, 0, 1, 1], [-1, -1, 3, 3], 0.5),
        ([0, 1], [-1, -1], 0.0),
        ([-1, -1, 2], [0, 0, 1], 1.0),  # among classes -1 is a class
        (["a", "a", "b"], [1, 1, 0], 1.0),
        ([3], [9], 1.0),
    ],
)
def test_accuracy_by_hand(y_true, y_pred, accuracy):
    assert clustering_accuracy(y_true, y_pred) == accuracy


@pytest.mark.parametrize("seed", range(10))
def test_accuracy_is_the_best_of_all_matchings(seed):
    random = np.random.default_rng(seed)
    y_true, y_pred = random.integers(4, size=30), random.integers(-1, 4, size=30)
    # Cluster p is named names[p]; noise, -1, takes the last name, which is no class.
    best = max(np.mean(np.array([*names, 99])[y_pred] == y_true) for names in permutations(range(4)))
    assert clustering_accuracy(y_true, y_pred) == pytest.approx(best)


@pytest.mark.parametrize("seed", range(5))
def test_names_of_clusters_and_order_of_rows_do_not_matter(seed):
    random = np.random.default_rng(seed)
    y_true, y_pred = random.integers(5, size=40), random.integers(6, size=40)
    order, names = random.permutation(40), random.permutation(100)[:6]
    accuracy = clustering_accuracy(y_true, y_pred)
    assert clustering_accuracy(y_true[order], names[y_pred[order]]) == accuracy


def test_accuracy_is_a_plain_float():
    assert type(clustering_accuracy(np.array([0, 1]), np.array([0, 0]))) is float
    assert type(clustering_accuracy([0], [-1])) is float


def test_lengths_that_differ_are_refused():
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[2, 3\]"):
        clustering_accuracy([0, 1], [0, 1, 1])


def test_nothing_is_refused():
    with pytest.raises(ValueError, match="y_true and y_pred are empty; clustering_accuracy needs at least one row"):
        clustering_accuracy([], [])


def test_two_columns_are_refused():
    with pytest.raises(ValueError, match="1d array"):
        clustering_accuracy([[0, 1], [1, 0]], [0, 1])


def test_a_scorer_of_what_is_predicted():
    class Halves:
        def predict(self, X):
            return [0] * (len(X) // 2) + [1] * (len(X) - len(X) // 2)

    assert score_accuracy(Halves(), range(4), ["b", "b", "b", "a"]) == 0.75
