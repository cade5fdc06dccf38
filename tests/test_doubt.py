"""Rows to ask about: on arrays with known answers, and on a fitted model."""

import itertools

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError

from skspc import SPCClustering
from skspc._constants import NOISE
from skspc._method.doubt import choose_covering, contested_pairs, doubtful_rows, mutual_distances


@pytest.fixture(scope="module")
def fitted():
    X, _ = make_blobs(n_samples=200, centers=4, cluster_std=2.5, n_features=3, random_state=0)
    options = {"clusterer": "kmeans", "reducer": None, "n_estimators": 4, "pretrain_epochs": 3, "max_iter": 0}
    return SPCClustering(4, **options, random_state=0).fit(np.vstack([X, X[:20]])), X


def kept_of(values, rows=None, distance=1.0):
    """What is kept of rows with one latent in one member."""
    n_rows = len(values)
    latents = np.array(values, dtype=np.float32)[None, :, None]
    return {
        "rows": np.arange(n_rows) if rows is None else np.array(rows),
        "latents": latents / np.std(latents),  # so that distances are in these units
        "figures": np.full((2, n_rows), distance),
    }


def test_a_row_is_contested_by_its_label_and_the_other_one_with_most_votes():
    labels = np.array([0, 1, 2, 0, 2])
    members = np.array([[0, 1, 2, 0, 1], [1, 1, 0, 0, 0], [2, 0, 0, NOISE, 2], [2, NOISE, 2, NOISE, 2]])
    assert contested_pairs(labels, members).tolist() == [[0, 2], [0, 1], [0, 2], [NOISE, 0], [0, 2]]


def test_the_row_with_most_doubt_like_it_comes_first_and_its_copies_last():
    likeness = np.eye(5)
    likeness[0, 1] = likeness[1, 0] = 1.0
    likeness[2, 3] = likeness[3, 2] = 0.5
    doubt = np.array([0.2, 0.2, 0.3, 0.1, 0.25])
    # Gains: 0.4 of row 0, 0.35 of row 2, 0.25 of row 4; then half of row 3's doubt is left, and nothing of row 1's.
    assert choose_covering(doubt, likeness, 9).tolist() == [0, 2, 4, 3, 1]
    assert choose_covering(doubt, likeness, 2).tolist() == [0, 2]
    assert choose_covering(doubt[:0], likeness[:0, :0], 2).tolist() == []


@pytest.mark.parametrize("seed", range(5))
def test_greedy_choices_cover_nearly_as_much_as_the_best(seed):
    random = np.random.RandomState(seed)
    doubt, points = random.rand(9), random.rand(9, 2)
    likeness = np.exp(-5 * np.linalg.norm(points[:, None] - points, axis=2))

    def covered(chosen):
        return doubt @ likeness[:, list(chosen)].max(axis=1)

    best = max(covered(chosen) for chosen in itertools.combinations(range(9), 3))
    assert covered(choose_covering(doubt, likeness, 3)) >= (1 - 1 / np.e) * best


def test_each_kind_is_asked_once_before_any_is_asked_twice():
    # Rows 0 to 3 are near each other and contested by 0 and 1, rows 4 and 5 by 0 and 2; row 6 is agreed on.
    members = np.array([[0, 0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 2, 2, 0]])
    labels, agreement = np.zeros(7, dtype=int), np.array([0.5] * 6 + [1.0])
    kept = kept_of([0, 0.1, 0.2, 0.3, 0, 0.1, 0])
    chosen = doubtful_rows(labels, agreement, members, kept, 6)
    assert chosen[0] in (1, 2)  # in the midst of the larger kind
    assert chosen[1] in (4, 5)
    assert sorted(chosen) == [0, 1, 2, 3, 4, 5]


def test_rows_that_are_not_kept_are_not_looked_at_and_indices_are_those_of_all_rows():
    members = np.array([[0, 0, 1, 0], [1, 1, 1, 1]])
    labels, agreement = np.array([0, 0, 1, 0]), np.array([0.5, 0.5, 1.0, 0.5])
    assert doubtful_rows(labels, agreement, members, kept_of([0.0, 1.0], rows=[2, 3]), 5).tolist() == [3]


def test_rows_without_any_distance_between_them():
    members, labels = np.array([[0, 0], [1, 1]]), np.zeros(2, dtype=int)
    kept = {"rows": np.arange(2), "latents": np.zeros((1, 2, 1), np.float32), "figures": np.zeros((2, 2))}
    assert doubtful_rows(labels, np.full(2, 0.5), members, kept, 2).tolist() == [0, 1]


def test_distances_are_the_mean_over_members_each_by_its_spread():
    latents = np.array([[[0.0], [1.0], [5.0]], [[0.0], [30.0], [60.0]]])
    spreads = np.std([0, 1, 5]), np.std([0, 30, 60])
    found = mutual_distances(latents, np.array([True, True, False]))
    np.testing.assert_allclose(found, np.array([[0, 1], [1, 0]]) * (1 / spreads[0] + 30 / spreads[1]) / 2)


def test_a_model_tells_distinct_doubted_rows_of_several_kinds(fitted):
    model, _ = fitted
    doubted = np.flatnonzero(model.agreement_[:200] < 1)
    assert len(doubted) > 12
    rows = model.doubtful_rows(n=12)
    assert len(np.unique(rows)) == 12
    assert np.isin(rows, doubted).all()  # of equal rows the first
    np.testing.assert_array_equal(model.doubtful_rows(n=5), rows[:5])
    kinds = np.unique(contested_pairs(model.labels_, model.member_labels_)[doubted], axis=0)
    asked = np.unique(contested_pairs(model.labels_, model.member_labels_)[rows], axis=0)
    assert len(asked) >= min(len(kinds), 4)
    assert sorted(model.doubtful_rows(n=10_000)) == doubted.tolist()
    assert len(model.doubtful_rows()) == min(20, len(doubted))


def test_where_all_agree_there_is_nothing_to_ask(blobs):
    model = SPCClustering(1, n_estimators=1, random_state=0).fit(blobs[0])
    assert model.doubtful_rows().tolist() == []


@pytest.mark.parametrize("n", [0, -1, 2.0, True, "3", None])
def test_another_n_is_refused(fitted, n):
    with pytest.raises(ValueError, match=f"n={n!r} must be a whole number of rows, at least 1."):
        fitted[0].doubtful_rows(n)


def test_an_unfitted_model_has_none():
    with pytest.raises(NotFittedError):
        SPCClustering().doubtful_rows()
