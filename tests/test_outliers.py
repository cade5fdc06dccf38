"""How little a row is like anything in the fit: on arrays with known answers, and on fitted models."""

import pickle

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import NearestNeighbors

from skspc import SPCClustering
from skspc._method.outliers import MAX_KEPT, distances, draw_kept, outlier_scores, tail_shares

SHORT = {"clusterer": "kmeans", "reducer": None, "n_estimators": 2, "pretrain_epochs": 15, "max_iter": 0}
SHORT["random_state"] = 0


@pytest.fixture(scope="module")
def fitted(blobs):
    X, _ = blobs
    return SPCClustering(3, **SHORT).fit(np.vstack([X, X[:5]])), X  # equal rows are one


def share(values, sample, tails=0.5):
    return tail_shares(np.asarray(values, dtype=float), np.asarray(sample, dtype=float), tails).tolist()


def test_a_share_counts_the_sample_below_and_is_linear_in_between():
    assert share([0, 1, 1.5, 2, 3, 4], [4, 1, 3, 2]) == [0, 0, 0.125, 0.25, 0.5, 0.75]
    assert share([1, 2], [1, 1, 1, 2]) == [0, 0.75]


def test_a_share_goes_on_rising_beyond_the_sample():
    assert share([5, 6], [1, 2, 3, 4], tails=np.array([0.8, 0.4])) == [0.8, 0.9]


def test_a_row_that_is_kept_is_no_neighbour_of_itself():
    kept = np.array([[[0.0], [1.0], [3.0], [7.0]]])
    spread = np.sqrt(np.mean([2.75**2, 1.75**2, 0.25**2, 4.25**2]))
    expected = np.array([3.0, 2.0, 3.0, 6.0]) / spread  # the second nearest of the others
    np.testing.assert_allclose(distances(kept, kept, n_neighbors=2), expected)
    np.testing.assert_allclose(distances(np.array([[[2.0]]]), kept, n_neighbors=2), [1.0 / spread])


def test_with_too_few_rows_the_farthest_counts():
    kept = np.array([[[0.0], [2.0]]])
    np.testing.assert_allclose(distances(np.array([[[0.0], [5.0]]]), kept), [2.0, 5.0])
    assert distances(np.array([[[0.0], [9.0]]]), kept[:, :1]).tolist() == [0.0, 9.0]


def test_distances_are_those_of_scikit_learn_in_units_of_each_members_spread():
    random = np.random.RandomState(0)
    kept, latents = random.randn(2, 40, 3), random.randn(2, 7, 3)
    kept[1], latents[1] = 1000 * kept[0], 1000 * latents[0]  # the same member in another unit
    found = NearestNeighbors(n_neighbors=5).fit(kept[0]).kneighbors(latents[0])[0][:, -1]
    np.testing.assert_allclose(distances(latents, kept), found / np.sqrt(kept[0].var(axis=0).sum()))


def test_scores_of_the_sample_are_evenly_spread_and_rise_with_each_figure():
    sample = np.array([[1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 4.0]])
    np.testing.assert_allclose(outlier_scores(sample, sample), [0, 0.5, 0.25, 0.75])  # by the distance
    rising = outlier_scores(np.array([[4.0, 4.1, 9.0, 1e200], [4.0, 4.1, 9.0, 1e200]]), sample)
    assert (np.diff(rising) > 0).all()
    assert rising[-1] <= 1


def test_an_error_counts_only_where_it_is_greater_than_nearly_all():
    sample = np.tile(np.arange(1.0, 1001), (2, 1))
    at_a_distance = [[1, 500, 980, 990, 1000, 5000], np.full(6, 500.0)]
    scores = outlier_scores(np.array(at_a_distance), sample)
    assert scores[0] == scores[1] == scores[2]  # well reconstructed makes no row less odd
    assert (np.diff(scores[2:]) > 0).all()
    assert scores[-1] > 0.98  # whatever its distance


def test_all_of_few_rows_are_kept_and_a_draw_of_many():
    assert draw_kept(5, seed=0).tolist() == [0, 1, 2, 3, 4]
    drawn = draw_kept(3 * MAX_KEPT, seed=0)
    assert len(np.unique(drawn)) == len(drawn) == MAX_KEPT
    assert (np.diff(drawn) > 0).all()
    assert not np.array_equal(drawn, draw_kept(3 * MAX_KEPT, seed=1))


def test_training_rows_are_evenly_spread_and_far_rows_are_odder(fitted):
    model, X = fitted
    scores = model.outlier_score(X)
    assert scores.dtype == np.float64
    np.testing.assert_allclose(np.sort(scores), np.arange(150) / 150, atol=0.02)
    between = (X[:1] + X[np.flatnonzero(model.labels_ != model.labels_[0])[:1]]) / 2
    far = model.outlier_score(np.vstack([X.mean(axis=0) + 50, X.mean(axis=0) - 1e9, between]))
    assert (far[:2] > 0.99).all()
    assert far[2] > 0.9
    assert far.max() <= 1


def test_a_score_does_not_depend_on_the_rows_beside_it(fitted):
    model, X = fitted
    scores = model.outlier_score(X)
    np.testing.assert_allclose(np.concatenate([model.outlier_score(X[i : i + 1]) for i in range(4)]), scores[:4])
    np.testing.assert_allclose(model.outlier_score(X[::-1]), scores[::-1])


def test_what_is_kept_is_float32_of_distinct_rows(fitted):
    kept = fitted[0]._kept
    assert kept["rows"].tolist() == list(range(150))
    assert (kept["latents"].dtype, kept["latents"].shape) == (np.float32, (2, 150, 5))


def test_rows_beyond_the_number_to_keep_are_not_kept(blobs, monkeypatch):
    monkeypatch.setattr("skspc._method.outliers.MAX_KEPT", 40)
    model = SPCClustering(3, **{**SHORT, "pretrain_epochs": 1}).fit(blobs[0])
    assert model._kept["latents"].shape == (2, 40, 5)
    assert 0.3 < model.outlier_score(blobs[0]).mean() < 0.7


def test_images_and_every_way_to_keep_a_model(tmp_path):
    images = load_digits(n_class=3).images[:80]
    model = SPCClustering(3, **{**SHORT, "pretrain_epochs": 20}).fit(images)
    noise = np.random.RandomState(0).uniform(0, 16, (20, 8, 8))
    scores = model.outlier_score(np.vstack([images, noise]))
    assert (scores[80:] > 0.95).mean() > 0.8
    model.save(tmp_path / "model.skspc")
    for again in (SPCClustering.load(tmp_path / "model.skspc"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.outlier_score(np.vstack([images, noise])), scores)


def test_scores_leave_labels_predictions_and_random_states_alone(fitted):
    model, X = fitted
    before = model.predict_proba(X), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    model.outlier_score(X)
    assert np.array_equal(model.predict_proba(X), before[0])
    assert (np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()) == before[1:]


def test_one_cluster_and_equal_rows():
    X = np.random.RandomState(0).randn(30, 4)
    one = SPCClustering(1, n_estimators=2, random_state=0).fit(X)
    assert one.outlier_score([[40.0, 0, 0, 0]]) > 0.95
    equal = SPCClustering(1, n_estimators=1, random_state=0).fit(np.ones((4, 3)))
    assert equal.outlier_score([[1.0, 1, 1]]) == 0
    assert equal.outlier_score([[1.0, 9, 1]]) > 0.99


def test_what_cannot_be_scored_is_told(fitted):
    model, X = fitted
    with pytest.raises(NotFittedError):
        SPCClustering().outlier_score(X)
    with pytest.raises(ValueError, match="X has 2 features"):
        model.outlier_score(X[:, :2])
    with pytest.raises(ValueError, match="NaN"):
        model.outlier_score(np.full((1, 5), np.nan))
    state = pickle.loads(pickle.dumps(model)).__getstate__()
    del state["_kept"]  # as older versions have pickled it
    older = SPCClustering()
    older.__setstate__(state)
    with pytest.raises(ValueError, match=r"kept none of the training rows' latents, .* Fit it again: an int as"):
        older.outlier_score(X)
