"""Clusters merged and split: votes with known answers, and fitted models."""

import pickle
from dataclasses import fields

import numpy as np
import pytest
import torch
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError

from skspc import SPCClustering
from skspc._constants import NOISE
from skspc._method.choice import LabellingRule
from skspc._method.editing import merge_clusters, recounted, rule_of, spaces_of, split_cluster
from skspc._method.progress import RoundSettings

SHORT = {"clusterer": "kmeans", "reducer": None, "n_estimators": 2, "pretrain_epochs": 20, "max_iter": 0}
SHORT["random_state"] = 0


@pytest.fixture(scope="module")
def four():
    """Two near blobs, two far ones, and equal rows: X (165, 4) and the blob of each."""
    centers = np.array([[0, 0, 0, 0], [4, 0, 0, 0], [0, 20, 0, 0], [0, 0, 20, 20]])
    X, blob = make_blobs(n_samples=[30, 50, 40, 40], centers=centers, cluster_std=0.4, random_state=0)
    return np.vstack([X, X[:5]]), np.concatenate([blob, blob[:5]])


@pytest.fixture(scope="module")
def fitted(four):
    """Fitted to the four blobs, and to three clusters, of which the two near ones are one."""
    X, _ = four
    return SPCClustering(4, **SHORT).fit(X), SPCClustering(3, **SHORT).fit(X)


def assert_consistent(model, X, least=0.95):
    """All that is told of the rows goes together; predict gives at least such a share of them their label."""
    labels, n_clusters = model.labels_, model.n_clusters_
    assert np.unique(labels).tolist() == list(range(n_clusters))
    assert -1 <= model.member_labels_.min() <= model.member_labels_.max() < n_clusters
    np.testing.assert_array_equal(model.agreement_, (model.member_labels_ == labels).mean(axis=0))
    np.testing.assert_array_equal(model.agreed_, model.agreement_ >= model.min_agreement)
    probabilities = model.predict_proba(X)
    assert probabilities.shape == (len(X), n_clusters)
    np.testing.assert_allclose(model.label_probability_, probabilities[np.arange(len(X)), labels])
    assert model.predict_consistency_ == np.mean(model.predict(X) == labels)
    assert model.predict_consistency_ > least


def assert_same_partition(one, other):
    assert (
        len(set(zip(one.tolist(), other.tolist(), strict=True))) == len(set(one.tolist())) == len(set(other.tolist()))
    )


# Votes


def test_merged_clusters_have_the_smaller_label_and_rows_gain_the_votes_for_either():
    aligned = np.array([[0, 1, 2, 3, 3], [0, 3, 2, 1, 0], [0, 1, NOISE, 3, 2]])
    merged = merge_clusters(recounted(np.array([0, 1, 2, 3, 2]), aligned), 3, 1)
    assert merged.labels.tolist() == [0, 1, 2, 1, 2]
    assert merged.aligned.tolist() == [[0, 1, 2, 1, 1], [0, 1, 2, 1, 0], [0, 1, NOISE, 1, 2]]
    assert merged.votes.tolist() == [3, 3, 2, 3, 1]


def test_votes_are_counted_where_there_is_a_label():
    counted = recounted(np.array([0, NOISE, 1]), np.array([[0, NOISE, 0], [0, 1, 1]]))
    assert counted.votes.tolist() == [2, 0, 1]


class Halves:
    """Parts by the sign of the first latent, noise where it is beyond 9; one part alone if all have one sign."""

    def fit_predict(self, Z):
        return np.where(np.abs(Z[:, 0]) > 9, -1, Z[:, 0] < 0)


def settings_of(clusterer):
    values = {field.name: None for field in fields(RoundSettings)}
    return RoundSettings(**values | {"clusterer": clusterer, "concatenate": True, "device": torch.device("cpu")})


def split_in_two(latents, labels, aligned, a, spaces):
    consensus = recounted(np.array(labels), np.array(aligned))
    latents = np.array(latents, dtype=float)[:, :, None]
    return split_cluster(
        consensus, latents, a, 2, int(consensus.labels.max()) + 1, spaces, settings_of(Halves()), seed=0
    )


def test_the_parts_of_a_cluster_are_voted_on_and_the_largest_keeps_its_label():
    latents = [[5, -5, -5, -5, -5, 5, 0], [5, -5, -5, -5, 5, 5, 0]]
    labels, aligned = [1, 1, 1, 1, 1, 0, 0], [[1, 1, 1, 1, 0, 1, 0], [1, 1, 1, 1, 1, 0, 0]]
    found = split_in_two(latents, labels, aligned, 1, [0, 1])
    assert found.labels.tolist() == [2, 1, 1, 1, 2, 0, 0]
    # To the first member, row 4 is of another cluster still, and row 5 of what was cluster 1.
    assert found.aligned.tolist() == [[2, 1, 1, 1, 0, 1, 0], [2, 1, 1, 1, 2, 0, 0]]
    assert found.votes.tolist() == [2, 2, 2, 2, 1, 1, 2]


def test_a_space_that_does_not_fall_into_parts_has_no_vote_on_them():
    latents = [[5, -5, -5, 1], [5, 5, 5, 1]]
    found = split_in_two(latents, [0, 0, 0, 1], [[0, 0, 0, 1], [0, 0, 0, 1]], 0, [0, 1])
    assert found.labels.tolist() == [2, 0, 0, 1]
    assert found.aligned.tolist() == [[2, 0, 0, 1], [NOISE, NOISE, NOISE, 1]]
    assert found.votes.tolist() == [1, 1, 1, 2]


def test_noise_of_all_parts_is_left_to_the_classifiers():
    found = split_in_two([[5, -5, 99, 1]], [0, 0, 0, 1], [[0, 0, 0, 1]], 0, [0])
    assert found.labels.tolist() == [0, 2, NOISE, 1]
    assert found.votes.tolist() == [1, 1, 0, 1]


def test_as_many_parts_as_rows_need_no_clusterer():
    found = split_in_two([[5, 5, 1]], [0, 0, 1], [[0, 0, 1]], 0, [0])
    assert found.labels.tolist() == [0, 2, 1]


def test_a_cluster_that_falls_into_no_parts_is_refused():
    message = r"Cluster 0 falls into n=2 parts in no latent space. Choose another n, or set_params\(clusterer='kmeans'"
    with pytest.raises(ValueError, match=message):
        split_in_two([[5, 5, 5, 1]], [0, 0, 0, 1], [[0, 0, 0, 1]], 0, [0])


def test_spaces_are_those_that_the_history_tells():
    rounds = [{"consensus_share": [{"space": 0}, {"space": 2}]}, {"consensus_share": []}]
    assert spaces_of([*rounds, rounds[0]], 4) == [0, 2, 0, 2]
    with pytest.raises(ValueError, match="an earlier version.*Fit it again"):
        spaces_of(rounds, 3)


def test_the_rule_is_that_of_the_fit_if_there_is_one():
    rules = LabellingRule(Halves(), Halves()), LabellingRule(KMeans(), None)
    assert rule_of(rules, {"clusterer": "KMeans", "reducer": None}) is rules[1]
    assert rule_of(rules, {"clusterer": "HDBSCANCut", "reducer": "UMAPReducer"}) is rules[0]
    assert rule_of(rules, {}) is rules[0]


# Models


def test_two_clusters_are_merged_in_a_copy(fitted, four):
    model, (X, blob) = fitted[0], four
    before = pickle.dumps(model)
    a, b = model.labels_[blob == 1][0], model.labels_[blob == 0][0]
    merged = model.merge(a, b, X)
    assert_consistent(merged, X)
    assert merged.n_clusters_ == 3
    assert_same_partition(merged.labels_, np.maximum(blob, 1))
    assert (merged.agreement_ >= model.agreement_).all()
    np.testing.assert_array_equal(merged.transform(X), model.transform(X))
    np.testing.assert_array_equal(merged.outlier_score(X), model.outlier_score(X))
    assert pickle.dumps(model) == before
    assert (merged.n_clusters, merged.history_) == (4, model.history_)


def test_all_can_be_merged_one_after_the_other(fitted, four):
    model, X = fitted[1], four[0]
    one = model.merge(0, 1, X).merge(1, 0, X)
    assert one.n_clusters_ == 1
    assert_consistent(one, X)
    assert one.agreed_.all()


def test_a_cluster_is_split_into_what_it_holds_and_merged_again(fitted, four):
    model, (X, blob) = fitted[1], four
    a = model.labels_[blob == 0][0]
    assert a == model.labels_[blob == 1][0]
    before = pickle.dumps(model)
    parts = model.split(a, 2, X)
    assert_consistent(parts, X)
    assert_same_partition(parts.labels_, blob)
    assert set(parts.labels_[blob == 1]) == {a}  # the larger one
    np.testing.assert_array_equal(parts.labels_[blob > 1], model.labels_[blob > 1])
    assert pickle.dumps(model) == before
    np.testing.assert_array_equal(parts.merge(a, 3, X).labels_, model.labels_)
    np.testing.assert_array_equal(parts.labels_[160:], parts.labels_[:5])  # equal rows


def test_a_split_is_the_same_each_time_and_leaves_random_states_alone(fitted, four):
    before = np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    one, other = (fitted[1].split(0, 3, four[0]) for _ in range(2))
    assert pickle.dumps(one) == pickle.dumps(other)
    assert_consistent(one, four[0], least=0.85)  # the parts of a blob touch
    assert (np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()) == before


def test_what_is_merged_and_split_is_saved(fitted, four, tmp_path):
    X = four[0]
    for model in (fitted[0].merge(0, 3, X), fitted[1].split(0, 2, X)):
        model.save(tmp_path / "model.skspc")
        again = SPCClustering.load(tmp_path / "model.skspc")
        assert_consistent(again, X)
        np.testing.assert_array_equal(again.labels_, model.labels_)
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.split(1, 2, X).n_clusters_ == 5


def test_a_row_that_all_parts_leave_as_noise_gets_the_likelier_part(fitted, four):
    class Edges:
        """Noise in the midst of two parts."""

        def fit_predict(self, Z):
            parts = KMeans(2, n_init=3, random_state=0).fit(Z)
            return np.where(np.arange(len(Z)) % 10 == 0, -1, parts.labels_)

    model, (X, blob) = pickle.loads(pickle.dumps(fitted[1])), four
    a = model.labels_[blob == 0][0]
    parts = model.set_params(clusterer=Edges()).split(a, 2, X)
    undecided = parts.agreement_ == 0
    assert 8 <= undecided.sum() <= 13  # a tenth of 80 distinct rows, some of which are there twice
    assert_same_partition(parts.labels_[~undecided], blob[~undecided])
    likelier = np.array([a, 3])[parts.predict_proba(X)[:, [a, 3]].argmax(axis=1)]
    np.testing.assert_array_equal(parts.labels_[undecided], likelier[undecided])
    assert_consistent(parts, X, least=0.9)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda model, X: model.merge(0, 4, X), "b=4 is no cluster of this model; its clusters are 0 to 3."),
        (lambda model, X: model.merge(-1, 1, X), "a=-1 is no cluster of this model"),
        (lambda model, X: model.merge(True, 2, X), "a=True is no cluster"),
        (lambda model, X: model.merge(1.0, 2, X), "a=1.0 is no cluster"),
        (lambda model, X: model.merge(2, 2, X), "a=2 and b=2 are one cluster; name two."),
        (lambda model, X: model.split("1", 2, X), "a='1' is no cluster of this model"),
        (lambda model, X: model.split(1, 1, X), "n=1 must be a whole number of clusters, at least 2."),
        (lambda model, X: model.split(1, 2.0, X), "n=2.0 must be a whole number of clusters, at least 2."),
        (lambda model, X: model.split(1, 60, X), "n=60 is too many: cluster 1 has .* distinct rows."),
        (lambda model, X: model.merge(0, 1, X[:50]), "X has 50 rows, which are not the 165 rows of the fit in their"),
        (lambda model, X: model.split(0, 2, X[::-1]), "X has 165 rows, which are not the 165 rows of the fit in thei"),
        (lambda model, X: model.split(0, 2, X[:, :3]), "X has 3 features"),
    ],
)
def test_what_cannot_be_done_is_told(fitted, four, edit, message):
    with pytest.raises(ValueError, match=message):
        edit(fitted[0], four[0])


def test_untrained_and_unfitted_models_are_refused(four):
    one = SPCClustering(1, **SHORT).fit(four[0])
    with pytest.raises(ValueError, match="The encoders of a fit to one cluster are untrained; fit with n_clusters=2"):
        one.split(0, 2, four[0])
    for edit in (lambda model: model.merge(0, 1, four[0]), lambda model: model.split(0, 2, four[0])):
        with pytest.raises(NotFittedError):
            edit(SPCClustering())


def test_splitting_is_nothing_that_scikit_learn_routes():
    assert not hasattr(SPCClustering(), "set_split_request")
    assert hasattr(SPCClustering(), "set_fit_request")  # of the monitor
