"""clusterer="auto": which rule labels the rows, and that it stays for the whole fit."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from skspc import SPCClustering
from skspc._constants import NOISE
from skspc._method.choice import (
    BY_DENSITY_ALONE,
    Verdict,
    agreement_and_neighbors,
    choose_rule,
    cuts_up,
    fits_better,
    fitting_rule,
    labelling_rules,
    nearest_rows,
    reducer_pays,
    verdict_of,
)
from skspc.clusterers import HDBSCANCut, UMAPReducer, register_clusterer
from skspc.clusterers._wrapped import GaussianMixtureClusterer
from skspc.metrics import clustering_accuracy

N_MEMBERS, N_ROWS = 3, 300


def members():
    """Latents of members that see the same three clusters, turned."""
    X, _ = make_blobs(N_ROWS, n_features=6, centers=3, random_state=0)
    rng = np.random.default_rng(0)
    return [X @ np.linalg.qr(rng.normal(size=(6, 6)))[0] for _ in range(N_MEMBERS)]


def chance(seed):
    """An embedding in which each member has three clusters of its own."""
    return make_blobs(N_ROWS, centers=3, random_state=seed)[0]


def choose(latents, embeddings, n_clusters=3, found=None, n_rules=2, **settled):
    """The rule that is taken; by density rows are labelled as by k-means, if nothing else is said."""
    embeddings = dict(enumerate(embeddings)) if isinstance(embeddings, list) else embeddings
    if found is None:
        clusterer = KMeans(min(n_clusters, N_ROWS), n_init=1, random_state=0)
        found = {i: clusterer.fit_predict(one) for i, one in embeddings.items()}
    return choose_rule(np.stack(latents), embeddings, found, n_rules, n_clusters, 0, **settled)


def test_embeddings_of_chance_do_not_pay():
    assert choose(members(), [chance(i) for i in range(N_MEMBERS)]) == 1


def test_embeddings_of_chance_stay_where_it_is_settled():
    """As with more neighbours than those by which the reducer was judged: HAR's second look took it for short texts."""
    assert choose(members(), [chance(i) for i in range(N_MEMBERS)], reducer_stays=True) == 0


def test_embeddings_pay_that_show_the_same():
    latents = members()
    assert choose(latents, [PCA(2).fit_transform(one) for one in latents]) == 0


def test_embeddings_pay_that_keep_neighbours_together():
    """Two slabs: k-means on the latents cuts both across, all members alike, and tears neighbours apart."""
    rng = np.random.default_rng(0)
    which = np.arange(N_ROWS) % 2
    slabs = rng.normal(size=(N_ROWS, 6)) * [3, 0.3, 1.5, 1.5, 1.5, 1.5] + np.outer(which, [0, 4, 0, 0, 0, 0])
    seen = np.tile(which, (N_MEMBERS, 1))
    seen[0, slabs[:, 0] > 1.5] = 0  # members agree on the slabs but for an end
    seen[1, slabs[:, 0] < -1.5] = 1
    embeddings = [one[:, None] + 0.01 * rng.normal(size=(N_ROWS, 2)) for one in seen]
    assert choose([slabs] * N_MEMBERS, embeddings, 2) == 0
    line = slabs[:, :1]  # without the gap: k-means cuts it once, between neighbours that the embeddings mix
    assert choose([line] * N_MEMBERS, embeddings, 2) == 1


@pytest.mark.parametrize("n_cuts, pays", [(1, False), (5, True)])
def test_embeddings_pay_unless_cuts_of_the_latents_tear_hardly_any_neighbours(n_cuts, pays):
    """Six groups on a line, which members cut alike: .003 of the neighbours a cut. HAR had .020, its half was wrong."""
    group, place = np.divmod(np.arange(1200), 200)
    latents = [(place + 1000.0 * group)[:, None]] * N_MEMBERS
    cut = np.where((place < 100) & (group > 0) & (group <= n_cuts), group - 1, group)
    by_embeddings = [np.where(group == one, one + 1, group) for one in range(N_MEMBERS)]  # each takes two as one
    assert reducer_pays(latents, [cut] * N_MEMBERS, [by_embeddings], 6) == pays


def test_embeddings_pay_where_either_way_to_label_them_does():
    """As the genes of yeast: k-means is no more sure of the embeddings than of the latents, but HDBSCAN's cut is."""
    latents = [ON_A_LINE] * N_MEMBERS
    right, shifted = labels_with(EVEN), [np.roll(labels_with(EVEN), 20 * i) for i in range(N_MEMBERS)]
    assert not reducer_pays(latents, [right] * N_MEMBERS, [shifted, shifted], 3)
    assert reducer_pays(latents, [right] * N_MEMBERS, [shifted, [right] * N_MEMBERS], 3)
    too_many = [np.arange(N_ROWS) // 50] * N_MEMBERS  # could not be brought to three clusters, and says nothing
    assert not reducer_pays(latents, [right] * N_MEMBERS, [shifted, too_many], 3)


@pytest.mark.parametrize("n_strays, shift, pays", [(3, 20, True), (3, 33, False), (20, 33, True)])
def test_neighbours_that_embeddings_keep_together_count_little_where_members_do_not_agree(n_strays, shift, pays):
    """As short texts: each member's embeddings have three whole clusters, and another member's are others.

    The latents' clusters are alike for all, but a few rows stray, and tear .013 of all pairs, or .12.
    """
    labels = labels_with(EVEN)
    strays = np.isin(np.arange(N_ROWS), np.linspace(20, N_ROWS - 20, n_strays).astype(int))
    by_latents = np.where(strays, (labels + 1) % 3, labels)
    shifted = [np.roll(labels, shift * i) for i in range(N_MEMBERS)]
    neighbors = [nearest_rows(ON_A_LINE)] * N_MEMBERS
    agreement, together = agreement_and_neighbors(shifted, neighbors, 3)
    assert agreement == pytest.approx(1 - 2 * shift / N_ROWS)  # two thirds for as many rows at each of three borders
    torn = together - agreement_and_neighbors([by_latents] * N_MEMBERS, neighbors, 3)[1]
    assert torn == pytest.approx(0.0133 if n_strays == 3 else 0.121, abs=1e-3)
    assert reducer_pays([ON_A_LINE] * N_MEMBERS, [by_latents] * N_MEMBERS, [shifted, shifted], 3) == pays


def test_noise_keeps_no_neighbours_together():
    neighbors = [nearest_rows(ON_A_LINE)] * N_MEMBERS
    labels = labels_with(EVEN)
    agreement, together = agreement_and_neighbors([labels] * N_MEMBERS, neighbors, 3)
    assert agreement == 1 and together == pytest.approx(1 - 2 * 2 * 15 / (10 * N_ROWS))
    noisy = np.where(np.arange(N_ROWS) % 2, labels, NOISE)  # four neighbours in ten are left to half of the rows
    agreement, together = agreement_and_neighbors([noisy] * N_MEMBERS, neighbors, 3)
    assert agreement == 0.5 and together == pytest.approx(0.2, abs=0.01)
    assert agreement_and_neighbors([np.full(N_ROWS, NOISE)] * N_MEMBERS, neighbors, 3) == (0, 0)


@pytest.mark.parametrize("n_rules, expected", [(2, 0), (5, BY_DENSITY_ALONE)])
def test_with_one_member_density_has_none_beside_it(n_rules, expected):
    assert choose(members()[:1], [chance(0)], n_rules=n_rules) == expected


@pytest.mark.parametrize("n_members, n_clusters", [(1, 3), (3, N_ROWS + 1)])
def test_the_reducer_stays_where_nothing_can_be_compared(n_members, n_clusters):
    assert choose(members()[:n_members], [chance(i) for i in range(n_members)], n_clusters) == 0


def test_the_reducer_stays_where_rows_are_too_few_for_the_clusters():
    latents = [np.repeat([[0.0], [1.0]], 10, axis=0)] * N_MEMBERS
    assert choose(latents, latents, found=dict.fromkeys(range(N_MEMBERS), np.arange(20) % 3)) == 0


def test_members_that_diverged_are_left_out_of_the_choice():
    latents = members()
    latents[1] = np.full_like(latents[1], np.nan)
    embeddings = {i: chance(i) for i in (0, 2, 3)}  # 3: all side by side
    assert choose(latents, embeddings) == 1


@pytest.mark.parametrize("n_noise, expected", [(0, 0), (14, 0), (16, 2)])
def test_k_means_is_taken_where_members_agree_on_a_twentieth_of_the_rows_more(n_noise, expected):
    latents = members()
    embeddings = [PCA(2).fit_transform(one) for one in latents]
    labels = KMeans(3, random_state=0).fit_predict(embeddings[0])
    labels[np.flatnonzero(labels == 0)[:n_noise]] = NOISE  # of one cluster: the sizes are less even
    found = dict.fromkeys(range(N_MEMBERS), labels)
    assert choose(latents, embeddings, found=found, n_rules=3) == expected
    assert choose(latents, embeddings, found=found, n_rules=2) == 0


def test_rules_by_the_two_parameters():
    auto = labelling_rules("auto", "umap", 10, 300)
    by = [HDBSCANCut, KMeans, KMeans, GaussianMixtureClusterer, HDBSCANCut]
    assert [type(rule.clusterer) for rule in auto] == by
    assert [rule.reducer is None for rule in auto] == [False, True, False, False, False]
    beside = [[type(clusterer) for clusterer in rule.beside] for rule in auto]
    assert beside == [[KMeans], [], [HDBSCANCut], [], []]
    assert len(labelling_rules("auto", "umap", 10, 299)) == 2  # the first is k-means already
    assert [type(rule.clusterer) for rule in labelling_rules("auto", None, 10, 300)] == [HDBSCANCut]
    [given] = labelling_rules("hdbscan", "umap", 10, 20)
    assert isinstance(given.clusterer, HDBSCANCut) and isinstance(given.reducer, UMAPReducer)


@pytest.mark.parametrize("n_clusters, expected", [(10, HDBSCANCut), (11, KMeans), ("auto", HDBSCANCut)])
def test_few_rows_a_cluster_are_left_to_k_means(n_clusters, expected):
    rule = labelling_rules("auto", "umap", n_clusters, 300)[0]
    assert isinstance(rule.clusterer, expected) and isinstance(rule.reducer, UMAPReducer)


def test_small_clusters_are_found():
    """Forty clusters of ten rows."""
    X, classes = make_blobs([10] * 40, n_features=10, center_box=(-6, 6), random_state=0)
    model = SPCClustering(40, n_estimators=2, pretrain_epochs=20, max_iter=0, random_state=0).fit(X)
    assert clustering_accuracy(classes, model.labels_) > 0.95


def test_auto_cannot_be_registered():
    with pytest.raises(ValueError, match="'auto' is a built-in"):
        register_clusterer("auto", HDBSCANCut)


class Scatter(PCA):
    """A reducer that tells nothing: three clusters by chance, others each time."""

    def fit_transform(self, X, y=None):
        return make_blobs(len(X), centers=3, random_state=self.random_state)[0]


def fit(X, **parameters):
    settings = {"n_clusters": 3, "n_estimators": 3, "max_iter": 1, "pretrain_epochs": 20, "epochs": 2}
    return SPCClustering(**{**settings, "random_state": 0, **parameters}).fit(X)


def rules_of(model):
    return [(row["clusterer"], row["reducer"]) for row in model.history_]


@pytest.fixture(scope="module")
def blobs():
    X, classes = make_blobs(N_ROWS, n_features=6, centers=3, random_state=0)
    return StandardScaler().fit_transform(X), classes


def test_a_fit_leaves_a_reducer_that_does_not_pay(blobs):
    X, classes = blobs
    model = fit(X, reducer=Scatter())
    assert rules_of(model) == [("KMeans", None)] * len(model.history_)
    assert clustering_accuracy(classes, model.labels_) == 1.0


def test_a_fit_keeps_a_reducer_that_pays(blobs):
    X, _ = blobs
    model = fit(X, reducer=PCA(2))
    assert rules_of(model) == [("HDBSCANCut", "PCA")] * len(model.history_)
    same = fit(X, reducer=PCA(2), clusterer="hdbscan")
    np.testing.assert_array_equal(model.labels_, same.labels_)


def test_a_fit_labels_by_k_means_where_members_agree_on_that():
    """Rows that lie evenly have no dense parts: where HDBSCAN parts them is chance."""
    X = np.random.default_rng(2).uniform(size=(N_ROWS, 2))
    model = fit(X, reducer=PCA(2), n_clusters=6)
    assert rules_of(model) == [("KMeans", "PCA")] * len(model.history_)
    assert np.bincount(model.labels_).min() > N_ROWS / 12


def test_of_one_member_k_means_has_not_the_last_word():
    """It has no noise, so that its labelling would be the reference of the two, and win every tie."""
    X, _ = make_blobs([240, 30, 30], centers=[[0, 0], [0, 9], [2, 9]], cluster_std=[2, 0.1, 0.1], random_state=0)
    model = fit(StandardScaler().fit_transform(X), reducer=PCA(2), n_estimators=1)
    assert {row["n_labellings"] for row in model.history_} == {1}
    alone = fit(StandardScaler().fit_transform(X), reducer=PCA(2), n_estimators=1, clusterer="hdbscan")
    np.testing.assert_array_equal(model.labels_, alone.labels_)


@pytest.mark.parametrize("n_estimators", [1, 3])
def test_a_fit_labels_by_k_means_where_density_finds_no_such_number(monkeypatch, n_estimators):
    """Of rows that lie evenly HDBSCAN may find nothing but noise: n_clusters is found all the same, without a word."""
    monkeypatch.setattr(HDBSCANCut, "fit_predict", lambda self, X, y=None: np.full(len(X), NOISE))
    X = np.random.default_rng(1).uniform(size=(N_ROWS, 2))
    model = fit(X, reducer=PCA(2), n_clusters=6, n_estimators=n_estimators)
    assert rules_of(model) == [("KMeans", "PCA")] * len(model.history_)
    assert np.bincount(model.labels_).min() > N_ROWS / 24


def test_a_number_that_no_clusterer_finds_is_settled_with_a_warning(monkeypatch):
    for clusterer in (HDBSCANCut, KMeans):
        monkeypatch.setattr(clusterer, "fit_predict", lambda self, X, y=None: np.full(len(X), NOISE))
    X = np.random.default_rng(1).uniform(size=(N_ROWS, 2))
    with pytest.warns(ConvergenceWarning, match=r"No labelling could be brought to n_clusters=6") as caught:
        model = fit(X, reducer=PCA(2), n_clusters=6)
    assert set(model.labels_) == {0}
    assert not [one for one in caught if one.category is RuntimeWarning]


def labels_with(sizes, *moved):
    """Labels of a member's clusters of these sizes, one after the other, with some rows moved to the next cluster."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    labels[list(moved)] = (labels[list(moved)] + 1) % len(sizes)
    return labels


EVEN, UNEVEN = (100, 100, 100), (180, 90, 30)
ON_A_LINE = np.arange(N_ROWS)[:, None]  # rows of one cluster are next to each other


def verdict(labellings, n_clusters=3):
    return verdict_of(labellings, [nearest_rows(ON_A_LINE)], n_clusters)


def test_what_is_seen_of_a_vote():
    """Of ten neighbours on a line, the five rows before and after a cut have 5, 4, ... 1 in the other cluster."""
    labels = labels_with(UNEVEN)
    seen = verdict([labels, labels, labels_with(UNEVEN, *range(60))])
    shares = np.array(UNEVEN) / N_ROWS
    assert seen.agreed == pytest.approx(0.8)
    assert seen.evenness == pytest.approx(-np.sum(shares * np.log(shares)) / np.log(3))
    assert seen.torn == pytest.approx(2 * 2 * (5 + 4 + 3 + 2 + 1) / (10 * N_ROWS))


def test_torn_is_the_mean_over_spaces():
    seen = [verdict_of([labels_with(EVEN)], [nearest_rows(space)], 3) for space in (ON_A_LINE, ON_A_LINE % 100)]
    neighbors = [nearest_rows(ON_A_LINE), nearest_rows(ON_A_LINE % 100)]
    assert seen[0].torn < seen[1].torn
    assert verdict_of([labels_with(EVEN)], neighbors, 3).torn == pytest.approx((seen[0].torn + seen[1].torn) / 2)


@pytest.mark.parametrize(
    ("by_k_means", "n_disagreed", "by_density", "expected"),
    [
        (EVEN, 20, UNEVEN, True),
        (EVEN, 15, UNEVEN, False),  # agrees on no more than a twentieth of the rows more
        (UNEVEN, 100, EVEN, False),  # a stable merge
        (EVEN, 100, EVEN, False),  # no more even
    ],
)
def test_k_means_takes_more_agreement_on_more_even_sizes(by_k_means, n_disagreed, by_density, expected):
    k_means = [labels_with(by_k_means)] * N_MEMBERS
    # Of three members one disagrees, so that the vote, and its sizes, are what the others say.
    density = [labels_with(by_density, *range(n_disagreed)), *[labels_with(by_density)] * (N_MEMBERS - 1)]
    assert fits_better(verdict(k_means), verdict(density)) == expected


@pytest.mark.parametrize("torn, before, expected", [(0.03, 0.02, True), (0.0301, 0.02, False), (0.001, 0, True)])
def test_k_means_may_tear_half_as_many_neighbours_more(torn, before, expected):
    assert fits_better(Verdict(0.9, 0.9, 1.0, torn), Verdict(0.5, 0.5, 0.9, before)) == expected


@pytest.mark.parametrize(
    ("agreement", "evenness", "expected"),
    [
        (0.8, 0.86, True),
        (0.91, 0.86, True),
        (0.93, 0.86, False),  # members agree clearly more
        (0.5, 0.84, False),  # hardly more even
    ],
)
def test_k_means_votes_beside_density_unless_it_makes_sizes_even_without_more_agreement(agreement, evenness, expected):
    density = Verdict(0.8, 0.5, 0.7, 0.01)
    assert cuts_up(Verdict(agreement, 0.5, evenness, 0.02), density) is expected


def blobs_of(sizes, centers, std):
    """Embeddings of three members, which see the same blobs stretched."""
    blobs, _ = make_blobs(sizes, centers=centers, cluster_std=std, random_state=0)
    rng = np.random.default_rng(1)
    return [blobs * rng.uniform(0.8, 1.25, size=2) for _ in range(N_MEMBERS)]


def by_all(embeddings, n_clusters):
    """Labels of all members by density, by k-means and by a mixture."""
    clusterers = (
        HDBSCANCut(n_clusters),
        KMeans(n_clusters, n_init=10, random_state=0),
        GaussianMixtureClusterer(n_clusters, random_state=0),
    )
    return tuple([clusterer.fit_predict(one) for one in embeddings] for clusterer in clusterers)


def test_unequal_clusters_are_left_to_density():
    """k-means halves the large blob, each member elsewhere."""
    embeddings = blobs_of((240, 30, 30), [[0, 0], [0, 9], [1, 9]], [2, 0.1, 0.1])
    labellings = by_all(embeddings, 3)
    largest = [np.bincount(labels[labels != NOISE]).max() for labels in (labellings[1][0], labellings[0][0])]
    assert largest[0] < 180 < largest[1]
    assert fitting_rule(embeddings, labellings, 3) == BY_DENSITY_ALONE


def test_k_means_votes_beside_density_that_merges_clusters():
    """Two clusters of three are no unequal ones: nothing is seen of sizes there."""
    embeddings = [np.c_[ON_A_LINE, ON_A_LINE] * 1.0] * N_MEMBERS
    right, merged = labels_with(EVEN), np.minimum(labels_with(EVEN), 1)
    k_means = [right] * N_MEMBERS
    assert fitting_rule(embeddings, ([merged] * N_MEMBERS, k_means, k_means), 3) != BY_DENSITY_ALONE


def test_unequal_clusters_that_k_means_cuts_alike_are_left_to_density():
    """It halves the large one in all members: they agree on that, and on sizes that are more even."""
    embeddings = [blobs_of((260, 20, 20), [[0, 0], [9, 3], [9, 5]], [2, 0.1, 0.1])[0]] * N_MEMBERS
    density, k_means, mixture = by_all(embeddings, 3)
    density = [np.where(np.arange(N_ROWS) % 4 == i, NOISE, labels) for i, labels in enumerate(density)]
    neighbors = [nearest_rows(space) for space in embeddings]
    seen = [verdict_of(those, neighbors, 3) for those in (density, k_means)]
    assert seen[1].agreed > seen[0].agreed + 0.1 and seen[1].evenness > seen[0].evenness + 0.1
    assert fitting_rule(embeddings, (density, k_means, mixture), 3) == 0


def test_unequal_clusters_that_only_a_mixture_finds_are_left_to_it():
    embeddings = blobs_of((240, 30, 30), [[0, 0], [9, 0], [9, 6]], [2, 0.8, 0.8])
    _, k_means, mixture = by_all(embeddings, 3)
    assert np.bincount(k_means[0]).max() < 200 < np.bincount(mixture[0]).max()
    assert fitting_rule(embeddings, (k_means, k_means, mixture), 3) == 3
    merged = [np.minimum(labels, 1) for labels in mixture]  # two clusters of three tear less, and do not count
    assert fitting_rule(embeddings, (k_means, k_means, merged), 3) == 0


@pytest.mark.parametrize("by_density", [(150, 150), (300,), ()])
def test_a_cluster_that_density_lacks_makes_its_sizes_less_even(by_density):
    found = labels_with(by_density) if by_density else np.full(N_ROWS, NOISE)
    density = [found, *[np.full(N_ROWS, NOISE)] * (N_MEMBERS - 1)]  # nothing is agreed on but noise
    assert verdict(density).evenness < 1
    disagreed = [np.roll(labels_with(EVEN), 30 * i) for i in range(N_MEMBERS)]
    assert verdict(disagreed).evenness == pytest.approx(1)


def test_noise_counts_in_no_size():
    k_means = [labels_with(EVEN)] * N_MEMBERS
    noisy = np.where(np.arange(N_ROWS) % 2, labels_with(EVEN), NOISE)
    assert not fits_better(verdict(k_means), verdict([noisy] * N_MEMBERS))


def test_a_labelling_with_too_many_clusters_agrees_on_nothing():
    latents = members()
    embeddings = [PCA(2).fit_transform(one) for one in latents]
    found = dict.fromkeys(range(N_MEMBERS), np.arange(N_ROWS) % 4)
    assert choose(latents, embeddings, found=found, n_rules=3) == 2


def test_the_number_found_stays_where_the_reducer_goes(blobs):
    X, _ = blobs
    model = fit(X, reducer=Scatter(), n_clusters="auto")
    assert rules_of(model)[0] == ("KMeans", None)
    assert len(np.unique(model.labels_)) == model.n_clusters_ == 3


def test_the_rule_is_kept_in_a_checkpoint(tmp_path):
    def stop(history):
        return True

    X, _ = make_blobs(N_ROWS, n_features=6, centers=3, cluster_std=2.0, random_state=0)  # not all agreed at once
    settings = {"reducer": Scatter(), "max_iter": 2, "checkpoint": tmp_path}
    model = SPCClustering(3, n_estimators=3, pretrain_epochs=20, epochs=2, random_state=0, **settings)
    assert len(model.fit(X, monitor=stop).history_) == 1
    resumed = model.fit(X)
    assert rules_of(resumed) == [("KMeans", None)] * len(resumed.history_)
    assert len(resumed.history_) > 1


class Chance(ClusterMixin, BaseEstimator):
    """Labels by chance, others for each member."""

    def __init__(self, n_clusters=2, random_state=None):
        self.n_clusters, self.random_state = n_clusters, random_state

    def fit_predict(self, X, y=None):
        return np.random.default_rng(self.random_state).permutation(np.arange(len(X)) % self.n_clusters)


class Whole:
    """One cluster."""

    def fit_predict(self, X):
        return np.zeros(len(X), dtype=int)


def test_a_fit_tells_that_hardly_a_row_is_agreed_on(blobs):
    X, _ = blobs
    model = SPCClustering(6, clusterer=Chance(), reducer=None, n_estimators=4, max_iter=0, pretrain_epochs=1)
    with pytest.warns(UserWarning, match=r"Only \d\.\d% of the rows are agreed on in any round.*\(it was Chance\)"):
        model.fit(X)
    assert model.agreed_.mean() < 0.1


def test_warnings_of_a_fit_are_of_the_line_that_called_it(blobs):
    X, _ = blobs
    rows = {"reducer": None, "n_estimators": 2, "max_iter": 0, "pretrain_epochs": 1}
    seen = {
        "agreed on": (SPCClustering(6, clusterer=Chance(), **(rows | {"n_estimators": 4})), X),
        "distinct rows": (SPCClustering(4, clusterer="kmeans", **rows), np.repeat(np.eye(3), 10, axis=0)),
        "is used with 3": (SPCClustering(3, clusterer=KMeans(7, n_init=1), **rows), X),
        "all rows are in one": (SPCClustering("auto", clusterer=Whole(), **rows), X),
    }
    for message, (model, given) in seen.items():
        with pytest.warns(UserWarning, match=message) as caught:
            model.fit(given)
        assert {warning.filename for warning in caught} == {__file__}, message


@pytest.mark.filterwarnings("error")
def test_a_fit_that_is_not_to_warn_leaves_the_model_as_it_was(blobs):
    X, _ = blobs
    model = SPCClustering(6, clusterer=Chance(), reducer=None, n_estimators=4, max_iter=0, pretrain_epochs=1)
    with pytest.raises(UserWarning, match="Only"):
        model.fit(X)
    assert not hasattr(model, "labels_")
