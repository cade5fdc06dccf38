"""Labels known of some rows: how they name and divide clusters, what a fit makes of them, and going on from a fit."""

import numpy as np
import pytest
from hdbscan import HDBSCAN
from sklearn import config_context
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skspc import SPCClustering
from skspc._constants import NOISE
from skspc._method.consensus import find_consensus
from skspc._method.known_labels import (
    Prior,
    distinct_labels,
    follow_known,
    known_of_distinct,
    name_clusters,
    named_by,
    with_known,
)

LINE = np.arange(10.0)[:, None]


ALIKE = np.ones(10)


def known_of(**rows):
    """Known labels of ten rows: r3=1 is label 1 of row 3."""
    known = np.full(10, -1)
    for name, label in rows.items():
        known[int(name[1:])] = label
    return known


def test_a_cluster_takes_the_name_of_its_known_rows():
    labels = np.repeat([0, 1], 5)
    named = name_clusters(labels, LINE, known_of(r0=1, r1=1, r8=0, r9=0), ALIKE)
    assert named.tolist() == [1] * 5 + [0] * 5


def test_two_clusters_can_take_one_name():
    labels = np.repeat([0, 1], 5)
    assert name_clusters(labels, LINE, known_of(r0=1, r9=1, r1=0), ALIKE).tolist()[5:] == [1] * 5


def test_a_cluster_of_two_names_is_divided_by_its_nearest_known_rows():
    labels = np.zeros(10, dtype=int)
    named = name_clusters(labels, LINE, known_of(r0=0, r1=0, r2=0, r7=1, r8=1, r9=1), ALIKE)
    assert named.tolist() == [0] * 5 + [1] * 5


def test_one_wrong_known_row_of_many_keeps_its_label_and_persuades_no_other():
    labels = np.zeros(10, dtype=int)
    named = name_clusters(labels, LINE, known_of(r0=0, r2=0, r3=0, r4=1, r6=0, r8=0, r9=0), ALIKE)
    assert named.tolist() == [0, 0, 0, 0, 1, 0, 0, 0, 0, 0]


def test_a_cluster_without_known_rows_or_of_an_unknown_name_keeps_its_name():
    labels = np.repeat([0, 1, 2, 3], [3, 3, 2, 2])
    named = name_clusters(labels, LINE, known_of(r0=0, r3=0, r4=0, r6=1), ALIKE)
    # 0 and 1 are known names: cluster 1 takes the name 0. Of 2 nothing is known but a row of 1; of 3, nothing.
    assert named.tolist() == [0, 0, 0, 0, 0, 0, 1, 2, 3, 3]


def test_noise_stays_noise_unless_it_is_known():
    labels = np.array([-1, -1, 0, 0, 0, 1, 1, 1, 1, 1])
    assert name_clusters(labels, LINE, known_of(r0=1, r2=0), ALIKE).tolist() == [1, -1, 0, 0, 0, 1, 1, 1, 1, 1]


def test_labels_that_are_given_are_not_changed():
    labels = np.zeros(10, dtype=int)
    name_clusters(labels, LINE, known_of(r0=1, r9=0), ALIKE)
    assert not labels.any()


def test_one_known_row_names_no_cluster_against_its_name():
    labels = np.repeat([0, 1], 5)
    assert name_clusters(labels, LINE, known_of(r0=1, r9=0), ALIKE).tolist() == [1, 0, 0, 0, 0, 1, 1, 1, 1, 0]


def test_known_rows_count_by_their_weights():
    labels, known = np.zeros(10, dtype=int), known_of(r0=1, r1=1, r4=0, r8=0)
    heavy, light = np.where(known == 1, 1.0, 0.4), np.where(known == 1, 0.1, 1.0)
    assert name_clusters(labels, LINE, known, heavy)[3] == 0
    assert name_clusters(labels, LINE, known, heavy)[2] == 1
    assert name_clusters(labels, LINE, known, light).tolist() == [1, 1, 0, 0, 0, 0, 0, 0, 0, 0]


def test_known_rows_at_an_edge_leave_the_midst_alone():
    line = np.concatenate([np.linspace(0, 1, 8), np.linspace(5, 10, 92)])[:, None]
    known = np.full(100, -1)
    known[:4], known[4:8] = 1, 0
    named = name_clusters(np.zeros(100, dtype=int), line, known, np.ones(100))
    assert named[:4].tolist() == [1] * 4 and not named[4:].any()
    known[4:8] = 2  # of the name that the cluster has nothing is known here, and there is one elsewhere
    far = np.concatenate([line, [[99.0]]])
    named = name_clusters(np.zeros(101, dtype=int), far, np.append(known, 0), np.ones(101))
    assert named[4:8].tolist() == [2] * 4 and not named[50:100].any()


def test_names_are_those_that_most_labellings_give_the_known_rows():
    labellings = np.stack([np.repeat([0, 1], 5), np.repeat([0, 1], 5), np.repeat([0, 1], [4, 6])])
    consensus = named_by(find_consensus(labellings, 2), known_of(r4=1, r9=0), 2)
    assert consensus.labels.tolist() == [1] * 5 + [0] * 5
    assert consensus.aligned[2].tolist() == [1] * 4 + [0] * 6
    assert consensus.votes.tolist() == find_consensus(labellings, 2).votes.tolist()


def test_a_vote_follows_what_is_known():
    labellings = np.stack([np.repeat([0, 1], [6, 4]), np.repeat([1, 0], [4, 6]), np.repeat([0, 1], 5)])
    known = known_of(r0=1, r5=1, r9=0)
    voted = follow_known(named_by(find_consensus(labellings, 2), known, 2), [LINE] * 3, known, 2)
    assert voted.labels.tolist() == [1] * 6 + [0] * 4
    assert (voted.votes[known >= 0] == 3).all()
    assert (voted.aligned[:, known >= 0] == known[known >= 0]).all()


def test_equal_rows_go_by_what_most_are_known_as():
    known = np.array([2, 0, 0, -1, -1, 1])
    inverse = np.array([0, 0, 0, 1, 2, 2])
    assert known_of_distinct(known, inverse, 4).tolist() == [0, -1, 1, -1]


def test_known_rows_train_always():
    targets, selected = np.zeros((2, 10), dtype=int), np.zeros((2, 10), dtype=bool)
    targets, selected = with_known(targets, selected, known_of(r3=1))
    assert selected.sum(axis=0).tolist() == [0, 0, 0, 2] + [0] * 6
    assert targets.sum(axis=0).tolist() == [0, 0, 0, 2] + [0] * 6


def test_as_many_clusters_as_rows_have_the_known_names():
    assert distinct_labels(None, 3).tolist() == [0, 1, 2]
    assert distinct_labels(np.array([-1, 0, -1]), 3).tolist() == [1, 0, 2]


def test_names_of_a_fit_before():
    earlier = np.repeat([0, 1], 5)
    assert Prior().names(2) is None
    assert Prior(earlier=earlier).names(2).tolist() == earlier.tolist()
    assert Prior(earlier=earlier).names(1).tolist() == [0] * 5 + [-1] * 5  # a cluster that there is no more


X, TRUTH = make_blobs(n_samples=120, centers=[[0, 0], [0, 6], [6, 0], [6, 6]], cluster_std=0.4, random_state=0)
QUICK = {"n_estimators": 2, "pretrain_epochs": 5, "epochs": 2, "max_iter": 1, "random_state": 0, "reducer": None}


def quick(**parameters):
    return SPCClustering(4, **{**QUICK, "clusterer": "kmeans", **parameters})


def known_rows(per_cluster=1, of=(0, 1, 2, 3)):
    known = np.full(len(X), -1)
    for label in of:
        known[np.flatnonzero(label == TRUTH)[:per_cluster]] = label
    return known


def test_one_known_row_a_cluster_names_them_all():
    model = quick().fit(X, known_labels=known_rows())
    assert (model.labels_ == TRUTH).all()
    assert (model.predict(X) == TRUTH).mean() > 0.95


def test_clusters_of_which_nothing_is_known_are_found_all_the_same():
    model = quick().fit(X, known_labels=known_rows(of=(3, 1)))
    assert (model.labels_[TRUTH == 3] == 3).all() and (model.labels_[TRUTH == 1] == 1).all()
    assert len(set(zip(model.labels_.tolist(), TRUTH.tolist(), strict=True))) == 4


@pytest.mark.parametrize("selection", ["balanced", "agreed", "consensus", "own"])
def test_wrong_labels_are_kept_and_agreed_on_and_persuade_no_other(selection):
    known = known_rows(per_cluster=8)
    wrong = [np.flatnonzero(label == TRUTH)[0] for label in range(4)]
    known[wrong] = (known[wrong] + 1) % 4
    model = quick(selection=selection, max_samples=0.5).fit(X, known_labels=known)
    told = known >= 0
    assert (model.labels_[told] == known[told]).all()
    assert (model.agreement_[told] == 1).all() and model.agreed_[told].all()
    assert (model.member_labels_[:, told] == known[told]).all()
    assert (model.labels_[~told] == TRUTH[~told]).all()


def test_a_class_divided_by_what_is_known():
    """Two blobs known as one thing, one blob known as two: no clusterer could tell."""
    halves = np.where(TRUTH == 0, (X[:, 0] > X[TRUTH == 0, 0].mean()).astype(int), np.where(TRUTH == 1, 2, 3))
    known = np.full(len(X), -1)
    for label in range(4):
        known[np.flatnonzero(halves == label)[:10]] = label
    model = quick().fit(X, known_labels=known)
    assert (model.labels_[halves >= 2] == halves[halves >= 2]).all()
    assert (model.labels_[halves < 2] == halves[halves < 2]).mean() > 0.8


def test_nothing_known_is_as_no_known_labels():
    model, without = quick().fit(X, known_labels=np.full(len(X), -1)), quick().fit(X)
    assert np.array_equal(model.labels_, without.labels_)
    assert np.array_equal(model.predict_proba(X), without.predict_proba(X))


def test_equal_rows_keep_what_each_is_known_as():
    twice = np.concatenate([X, X[:2]])
    known = np.concatenate([known_rows(3), [-1, (TRUTH[1] + 1) % 4]])
    known[1] = TRUTH[1]
    model = quick().fit(twice, known_labels=known)
    assert (model.labels_[known >= 0] == known[known >= 0]).all()


def test_at_least_as_many_clusters_are_found_as_are_known():
    known = known_rows(2)
    known[np.flatnonzero(TRUTH == 0)[:10]] = 4
    options = {**QUICK, "n_clusters": "auto", "clusterer": "hdbscan"}
    assert SPCClustering(**options).fit(X).n_clusters_ == 4
    assert SPCClustering(**options).fit(X, known_labels=known).n_clusters_ == 5


def test_one_cluster_and_a_cluster_for_each_row():
    assert not SPCClustering(1).fit(X, known_labels=np.where(TRUTH == 0, 0, -1)).labels_.any()
    few = np.array([[0.0, 0], [5, 0], [0, 5]])
    labels = SPCClustering(3, **QUICK).fit(few, known_labels=[-1, 0, 2]).labels_
    assert labels.tolist() == [1, 0, 2]


def test_images_take_known_labels():
    rng = np.random.default_rng(0)
    bright = np.repeat([0, 1], 20)
    images = (rng.random((40, 8, 8)) * 50 + 150 * bright[:, None, None]).astype(np.uint8)
    known = np.full(40, -1)
    known[[0, 39]] = 1, 0
    model = SPCClustering(2, **QUICK, clusterer="kmeans").fit(images, known_labels=known)
    assert model.labels_[0] == 1 and model.labels_[39] == 0


def test_known_labels_come_through_a_pipeline_named_and_routed():
    known = known_rows()
    pipe = make_pipeline(StandardScaler(), quick()).fit(X, spcclustering__known_labels=known)
    assert (pipe[-1].labels_ == TRUTH).all()
    with config_context(enable_metadata_routing=True):
        routed = make_pipeline(StandardScaler(), quick().set_fit_request(known_labels=True))
        assert (routed.fit_predict(X, known_labels=known) == TRUTH).all()


def test_a_checkpoint_is_of_the_labels_that_were_known(tmp_path):
    known = known_rows(2)

    def stop(history):
        return True

    quick(checkpoint=tmp_path, max_iter=2).fit(X, known_labels=known, monitor=stop)
    assert len(list(tmp_path.iterdir())) == 1
    quick(checkpoint=tmp_path, max_iter=2).fit(X, monitor=stop)
    assert len(list(tmp_path.iterdir())) == 2
    resumed = quick(checkpoint=tmp_path, max_iter=2).fit(X, known_labels=known)
    assert np.array_equal(resumed.labels_, quick(max_iter=2).fit(X, known_labels=known).labels_)


def test_what_was_known_is_kept_by_a_file(tmp_path):
    known = known_rows(4)
    known[0] = (known[0] + 1) % 4
    model = quick().fit(X, known_labels=known)
    model.save(tmp_path / "model.skspc")
    loaded = SPCClustering.load(tmp_path / "model.skspc")
    assert np.array_equal(loaded.labels_, model.labels_)
    assert np.array_equal(loaded.predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("known", "message"),
    [
        (np.full(7, -1), r"known_labels has the shape \(7,\), but X has 120 rows"),
        (np.full((120, 1), -1), r"known_labels has the shape \(120, 1\)"),
        (np.full(120, 0.5), "known_labels has type float64 and holds what is no whole number"),
        (np.full(120, np.nan), "known_labels has type float64"),
        (np.full(120, "a"), "known_labels has type <U1"),
        (np.full(120, True), "known_labels has type bool"),
        (np.full(120, None), "known_labels has type object"),
        (np.full(120, 4), "known_labels holds 4, and labels must be from -1 to 3, of 4 clusters at most"),
        (np.full(120, -2), "known_labels holds -2"),
        (np.ma.masked_equal(np.arange(120) % 2, 1), r"masked values. Pass known_labels.filled\(-1\)"),
    ],
)
def test_what_cannot_be_a_label_is_refused_before_any_training(known, message):
    model = quick()
    with pytest.raises(ValueError, match=message):
        model.fit(X, known_labels=known)
    assert not hasattr(model, "labels_")


def test_whole_floats_and_lists_are_labels():
    known = known_rows()
    for given in (known.astype(float), known.tolist(), known.astype(object)):
        assert (quick().fit(X, known_labels=given).labels_ == TRUTH).all()


def test_more_labels_than_distinct_rows_are_refused():
    two = np.tile([[0.0, 0], [5, 5]], (5, 1))
    with (
        pytest.warns(UserWarning),
        pytest.raises(ValueError, match="known_labels holds 2, and labels must be from -1 to 1"),
    ):
        SPCClustering(3, **QUICK).fit(two, known_labels=[2, *[-1] * 9])


def test_with_n_clusters_auto_there_are_no_more_labels_than_distinct_rows():
    known = known_rows()
    known[0] = 1001  # a number that somebody's folders have, say
    with pytest.raises(ValueError, match="known_labels holds 1001, and labels must be from -1 to 119"):
        SPCClustering("auto", **QUICK | {"clusterer": "hdbscan"}).fit(X, known_labels=known)


@pytest.mark.parametrize("n_clusters", [5, "auto", 6])
@pytest.mark.filterwarnings("ignore:No labelling could be brought to n_clusters=6.*which known_labels name")
def test_clusters_of_a_clusterer_that_finds_its_own_number_are_divided_by_what_is_known(n_clusters):
    """It finds four, of which known labels make five; the labellings were all left out, and nothing was agreed on."""
    X, y = make_blobs(n_samples=160, centers=4, n_features=6, cluster_std=0.5, random_state=0)
    known = np.full(160, NOISE)
    for blob in range(4):
        known[np.flatnonzero(y == blob)[:3]] = blob
    known[np.flatnonzero(y == 0)[10]] = 4
    clusterer = HDBSCAN(min_cluster_size=20)
    model = SPCClustering(n_clusters, clusterer=clusterer, **QUICK)
    model.fit(X, known_labels=known)
    told, others = known != NOISE, (known == NOISE) & (y > 0)
    assert (model.n_clusters_, model.predict_proba(X).shape) == (5, (160, 5))
    assert model.labels_[told].tolist() == known[told].tolist() and (model.agreement_[told] == 1).all()
    assert model.labels_[others].tolist() == y[others].tolist()
    assert set(model.labels_[y == 0]) == {0, 4} and not any(row["left_out"] for row in model.history_)


def test_clusters_to_which_known_labels_leave_no_rows_are_told():
    with pytest.warns(ConvergenceWarning, match=r"Clusters \[2, 3\] of 4 have no rows"):
        model = quick().fit(X, known_labels=TRUTH % 2)
    assert np.array_equal(model.labels_, TRUTH % 2)


def test_equal_rows_keep_their_own_labels_whatever_is_merged_or_split():
    twice, known = np.vstack([X, X[:3]]), np.full(123, -1)
    model = quick().fit(twice)
    known[:] = model.labels_
    known[120:] = (model.labels_[:3] + 1) % 4
    model = quick().fit(twice, known_labels=known)
    assert (model.member_labels_[:, 120:] == known[120:]).all()
    merged = model.merge(1, 3, twice)
    assert np.array_equal(merged.labels_, np.array([0, 1, 2, 1])[known])
    parts = model.split(0, 2, twice).labels_
    assert np.array_equal(parts[120:], known[120:])


def test_what_known_labels_leave_without_rows_counts_when_clusters_are_merged_or_split():
    """The number of clusters came from the labels that there were: a merge of two of four left one, a split three."""
    with pytest.warns(ConvergenceWarning, match=r"Clusters \[2, 3\] of 4 have no rows"):
        model = quick().fit(X, known_labels=TRUTH % 2)
    merged, split = model.merge(0, 1, X), model.split(0, 2, X)
    assert (merged.n_clusters_, merged.predict_proba(X).shape, set(merged.labels_)) == (3, (120, 3), {0})
    assert (split.n_clusters_, split.predict_proba(X).shape, set(split.labels_)) == (5, (120, 5), {0, 1, 4})


def test_a_label_that_one_of_equal_rows_has_alone_counts_when_clusters_are_merged():
    """A cluster that no distinct row is in, and then one label more than classifiers had."""
    rows, known = np.vstack([X[TRUTH < 2], X[[0, 0]]]), np.r_[TRUTH[TRUTH < 2], 2, TRUTH[0]]
    rows[-2:] = rows[0]
    known[-1] = known[0]
    model = quick().set_params(n_clusters=3).fit(rows, known_labels=known)
    merged = model.merge(0, 1, rows)
    assert merged.n_clusters_ == 2 and set(merged.labels_[:-2]) == {0} and merged.labels_[-2:].tolist() == [1, 0]


def test_a_warm_fit_keeps_names_where_predict_would_not():
    model = quick(max_iter=0).fit(X)
    names = model.labels_
    model._ensemble.reset_heads(4)  # classifiers that say something else
    model.label_probability_ = model.predict_proba(X)[np.arange(len(X)), names]
    assert not np.array_equal(model.predict(X), names)
    assert np.array_equal(model.set_params(warm_start=True).fit(X).labels_, names)


def test_a_checkpoint_is_of_the_names_that_there_were(tmp_path):
    model = quick(max_iter=0).fit(X)
    other = model.merge(0, 1, X).split(0, 2, X)  # the same encoders, other names
    assert not np.array_equal(other.labels_, model.labels_)
    stop = {"warm_start": True, "checkpoint": tmp_path, "max_iter": 1}
    other.set_params(**stop).fit(X, monitor=lambda history: True)  # leaves its checkpoint
    assert np.array_equal(model.set_params(**stop).fit(X).labels_, quick(max_iter=0).fit(X).labels_)


def test_a_warm_fit_goes_on_from_a_model_that_was_merged_down_to_one_cluster():
    model = quick(max_iter=0).fit(X)
    one = model.merge(0, 1, X).merge(0, 1, X).merge(0, 1, X).set_params(warm_start=True, random_state=7)
    weights = one.transform(X)
    assert np.array_equal(one.fit(X).transform(X), weights)


def test_a_warm_fit_goes_on_from_the_one_before():
    model = quick(max_iter=0).fit(X)
    before, names = model.transform(X), model.labels_
    model.set_params(warm_start=True)
    model.fit(X)
    assert np.array_equal(model.transform(X), before)  # no training: max_iter is 0
    assert np.array_equal(model.labels_, names)
    assert model.history_[0]["losses"] and "train" in model.history_[0]["seconds"]
    asked = np.full(len(X), -1)
    asked[np.flatnonzero(names == 0)[:3]] = 1
    asked[np.flatnonzero(names == 1)[:3]] = 0
    model.fit(X, known_labels=asked)
    assert np.array_equal(model.labels_, np.array([1, 0, 2, 3])[names])


def test_a_warm_fit_trains_rounds_without_pretraining():
    near, _ = make_blobs(n_samples=120, centers=4, cluster_std=3.0, random_state=0)  # so that there is doubt
    stages = {"warm_start": True, "pretrain_epochs": 50, "max_iter": 1, "n_estimators": 3}
    model, again = quick(**stages).fit(near), quick(**stages).fit(near)
    for fitted in (model, again):
        fitted.fit(near)
        assert len(fitted.history_) == 2
        assert fitted.history_[0]["seconds"]["train"] < 0.1 * fitted.history_[1]["seconds"]["train"]
        assert "pseudo_label" in fitted.history_[1]["losses"]
    assert np.array_equal(again.transform(near), model.transform(near))


def test_a_warm_fit_without_a_fit_before_is_a_fit():
    assert np.array_equal(quick(warm_start=True).fit(X).predict_proba(X), quick().fit(X).predict_proba(X))


@pytest.mark.parametrize(
    ("parameters", "rows", "message"),
    [
        ({"n_estimators": 3}, X, "warm_start=True cannot go on with network='auto' and n_estimators=3"),
        ({}, X[:, :1], "warm_start=True goes on from a fit to 2 features and images of shape None, and X has 1"),
    ],
)
def test_a_warm_fit_refuses_what_the_weights_do_not_fit(parameters, rows, message):
    model = quick(warm_start=True, max_iter=0).fit(X)
    labels = model.labels_
    with pytest.raises(ValueError, match=message):
        model.set_params(**parameters).fit(rows)
    assert model.labels_ is labels
