"""Representatives of clusters: on arrays with known answers, and on a fitted model."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from skspc import SPCClustering
from skspc._method.representatives import rank_representatives


@pytest.fixture(scope="module")
def fitted(blobs):
    X, _ = blobs
    X = np.vstack([X, X[:5]])  # equal rows
    options = {"n_estimators": 2, "pretrain_epochs": 3, "epochs": 2, "max_iter": 1, "random_state": 0}
    return SPCClustering(3, **options).fit(X), X


def as_lists(arrays):
    return [rows.tolist() for rows in arrays]


def test_rows_are_ranked_by_the_first_score_then_the_next_then_their_index():
    labels = np.array([0, 1, 0, 1, 0, 0, 0])
    agreement = np.array([1.0, 0.5, 0.5, 1.0, 1.0, 1.0, 0.5])
    probability = np.array([0.7, 0.9, 0.9, 0.2, 0.8, 0.8, 0.6])
    found = rank_representatives(labels, [agreement, probability], n=2)
    assert found.clusters.tolist() == [0, 1]
    assert as_lists(found.sure) == [[4, 5], [3]]
    assert as_lists(found.doubtful) == [[6, 2], [1]]


@pytest.mark.parametrize(
    ("n_rows", "n_sure", "n_doubtful"), [(1, 1, 0), (2, 1, 1), (3, 2, 1), (5, 3, 2), (6, 3, 3), (9, 3, 3)]
)
def test_no_row_is_sure_and_doubtful_at_once(n_rows, n_sure, n_doubtful):
    found = rank_representatives(np.zeros(n_rows, dtype=int), [np.ones(n_rows)], n=3)
    assert found.sure[0].tolist() == list(range(n_sure))
    assert found.doubtful[0].tolist() == list(range(n_rows - 1, n_rows - 1 - n_doubtful, -1))


def test_noise_is_in_no_cluster_and_numbers_may_have_gaps():
    found = rank_representatives(np.array([4, -1, 4, 7]), [np.array([0.1, 1.0, 0.2, 0.3])], n=1)
    assert found.clusters.tolist() == [4, 7]
    assert as_lists(found.sure) == [[2], [3]]
    assert as_lists(found.doubtful) == [[0], []]


@pytest.mark.parametrize("n", [0, -1, 2.0, True, "3", None])
def test_another_n_is_refused(n):
    with pytest.raises(ValueError, match=f"n={n!r} must be a whole number of rows, at least 1."):
        rank_representatives(np.array([0, 0]), [np.ones(2)], n)


def test_a_model_ranks_by_agreement_and_then_by_its_probability_of_the_label(fitted):
    model, X = fitted
    assert model.label_probability_.shape == (155,)
    np.testing.assert_allclose(
        model.label_probability_, model.predict_proba(X)[np.arange(155), model.labels_], rtol=0, atol=1e-12
    )
    np.testing.assert_array_equal(model.label_probability_[150:], model.label_probability_[:5])
    found = model.cluster_representatives(n=4)
    assert found.clusters.tolist() == [0, 1, 2]
    for cluster in range(3):
        members = np.flatnonzero(model.labels_ == cluster)
        ranked = sorted(members, key=lambda i: (-model.agreement_[i], -model.label_probability_[i], i))
        assert found.sure[cluster].tolist() == ranked[:4]
        assert found.doubtful[cluster].tolist() == ranked[::-1][:4]


def test_five_rows_of_each_kind_by_default(fitted):
    found = fitted[0].cluster_representatives()
    assert {len(rows) for rows in (*found.sure, *found.doubtful)} == {5}


def test_one_cluster_is_sure_of_every_row(blobs):
    model = SPCClustering(1, n_estimators=1).fit(blobs[0])
    assert (model.label_probability_ == 1.0).all()
    assert model.cluster_representatives(2).sure[0].tolist() == [0, 1]


def test_an_unfitted_model_has_none():
    with pytest.raises(NotFittedError):
        SPCClustering().cluster_representatives()
