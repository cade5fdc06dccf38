"""Clustering accuracy, and the matching of clusters with classes that it rests on."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest

from skspc.metrics import check_labels, clustering_accuracy, match_clusters, right_rows, score_accuracy

TYPES = "types and layouts of data"


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
        ([0, 0, 1, 1], [7.0, 7.0, 3.0, -1.0], 0.75),  # whole numbers, as floats
        ([0, 0, 1, 1], ["x", "x", "y", "x"], 0.75),
        ([0, 0, 1], [5, 5, -2], 2 / 3),  # every negative cluster is noise
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
    with pytest.raises(ValueError, match="y_true and y_pred are empty; at least one row is needed"):
        clustering_accuracy([], [])


WITHOUT_A_CLASS = {
    "float": np.array([0, 0, 1, 1, np.nan, np.nan]),
    "list": [0, 0, 1, 1, None, float("nan")],
    "strings": ["a", "a", "b", "b", None, None],
    "NaN among strings": ["a", "a", "b", "b", np.nan, np.nan],  # numpy makes a class "nan" of it
    "pandas.NA": np.array([0, 0, 1, 1, pd.NA, pd.NA], dtype=object),
    "Int64": pd.Series([0, 0, 1, 1, None, None], dtype="Int64"),
    "string": pd.Series(["a", "a", "b", "b", None, None], dtype="string"),
    "category": pd.Series(["a", "a", "b", "b", None, None], dtype="category"),
    "dates": np.array(["2020", "2020", "2021", "2021", "NaT", "NaT"], dtype="datetime64[D]"),
}


@pytest.mark.parametrize("y_true", WITHOUT_A_CLASS.values(), ids=WITHOUT_A_CLASS)
@pytest.mark.parametrize(
    "measure",
    [clustering_accuracy, right_rows, match_clusters, lambda y_true, _: score_accuracy(Halves(), range(6), y_true)],
    ids=["accuracy", "right_rows", "match_clusters", "score"],
)
@pytest.mark.case(TYPES, "rows without a class: NaN, NaT, None and pandas.NA in y_true")
def test_rows_without_a_class_are_refused(measure, y_true):
    with pytest.raises(
        ValueError, match="Input y_true contains NaN: 2 of 6 rows have no class. Leave these rows out of"
    ):
        measure(y_true, [0, 0, 1, 1, 2, 2])


@pytest.mark.parametrize("labels", [[0.0, np.nan, np.nan], [0, None, None], pd.array([0, None, None], dtype="Int64")])
@pytest.mark.parametrize("measure, name", [(clustering_accuracy, "y_pred"), (right_rows, "labels")])
@pytest.mark.case(TYPES, "rows without a cluster: NaN, None and pandas.NA in y_pred")
def test_rows_without_a_cluster_are_refused(measure, name, labels):
    message = f"Input {name} contains NaN: 2 of 3 rows have no cluster. Pass -1, noise, for these rows."
    with pytest.raises(ValueError, match=message):
        measure([0, 0, 1], labels)


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "string", "category", "boolean", object])
@pytest.mark.case(TYPES, "classes and clusters as columns of pandas of six types")
def test_columns_of_pandas_without_a_gap_are_counted(dtype):
    values = pd.Series([0, 0, 1, 1]) if dtype != "string" else pd.Series(["a", "a", "b", "b"])
    assert clustering_accuracy(values.astype(dtype), [3, 3, 4, -1]) == 0.75
    assert clustering_accuracy([0, 0, 0, 1], values.astype(dtype)) == 0.75


def test_two_columns_are_refused():
    with pytest.raises(ValueError, match="1d array"):
        clustering_accuracy([[0, 1], [1, 0]], [0, 1])


class Halves:
    def predict(self, X):
        return [0] * (len(X) // 2) + [1] * (len(X) - len(X) // 2)


def test_a_scorer_of_what_is_predicted():
    assert score_accuracy(Halves(), range(4), ["b", "b", "b", "a"]) == 0.75


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


def test_matched_rows_of_another_number_are_refused():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        match_clusters([0, 1], [0])
