"""The rounds, with an ensemble that trains nothing and a clusterer that reads its labels off the latents."""

import threading
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
import torch
from joblib import parallel_config
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline

import skspc._method.labelling
from skspc._constants import NOISE
from skspc._ensemble.plan import TrainingPlan
from skspc._method.consensus import Consensus
from skspc._method.known_labels import Prior
from skspc._method.labelling import cluster_spaces, keep_exact
from skspc._method.objectives import Heads, PseudoLabels, Reconstruction
from skspc._method.parts import starts_of
from skspc._method.progress import RoundSettings
from skspc._method.pseudo_labels import draw_samples, pseudo_labels
from skspc._method.reporter import Reporter
from skspc._method.rounds import label_without_rounds, run_rounds
from skspc._persistence.checkpoints import Checkpoints
from skspc.clusterers import UMAPReducer

ROWS = "the rows"  # nothing but the ensemble looks into them
TRUTH = [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
THREE = [0, 0, 0, 0, 1, 1, 1, 2, 2, 2]
ONE, NONE = [0] * 10, [NOISE] * 10
PRETRAINING, TRAINING, HEADS = (TrainingPlan(n_epochs, 16, 1e-3) for n_epochs in (7, 5, 9))


class ReadLabels:
    """Clusterer: the labels are the last column of the space."""

    def fit_predict(self, space):
        return space[:, -1].astype(int)


class StubEnsemble:
    """Encodes to the labels of a script: after r rounds of training, member k to ``script[r][k]``.

    What it was asked to do is in ``log``; ``predicted`` is what its heads make of the rows.
    """

    seed = 5
    diverged = frozenset()

    def __init__(self, script, predicted=None):
        self.script, self.predicted = script, predicted
        self.n_members, self.stage, self.log = len(script[0]), 0, []

    def train(self, objective, plan):
        return {Reconstruction: self.pretrain, PseudoLabels: self.train_round, Heads: self.train_heads}[
            type(objective)
        ](objective, plan)

    def pretrain(self, objective, plan):
        self.log.append(("pretrain", objective.X, plan))
        return {"reconstruction": 0.5}

    def encode(self, X):
        assert X is ROWS
        labels = self.script[min(self.stage, len(self.script) - 1)]
        return np.array(labels, dtype=np.float32)[:, :, None]  # (K, N, 1)

    def reset_heads(self, n_clusters):
        self.log.append(("reset_heads", n_clusters))

    def train_round(self, objective, plan):
        self.stage += 1
        masks = objective.a.tolist(), objective.r.tolist()
        self.log.append(("train", objective.X, objective.c.tolist(), *masks, plan, objective.stage))
        return {"pseudo_label": 0.1 * objective.stage}

    def state(self):
        return {"autoencoder": {"stage": self.stage}}

    def load_state(self, state):
        self.stage = state["autoencoder"]["stage"]
        self.log.append(("restore", self.stage))

    def train_heads(self, objective, plan):
        self.log.append(("train_heads", objective.X[:, :, 0].tolist(), objective.c.tolist(), plan))
        return {}

    def classify(self, latents):
        n_clusters = max(self.predicted) + 1
        return np.tile(np.eye(n_clusters)[self.predicted], (self.n_members, 1, 1))

    def calls(self, name):
        return [entry[1:] for entry in self.log if entry[0] == name]


def make_settings(**changes):
    settings = {
        "clusterer": ReadLabels(),
        "reducer": None,
        "selection": "agreed",
        "min_agreement": 1.0,
        "reconstruction": "all",
        "concatenate": False,
        "max_iter": 10,
        "n_iter_no_change": 2,
        "tol": 0,
        "max_samples": None,
        "n_jobs": None,
        "device": torch.device("cpu"),
        "pretraining": PRETRAINING,
        "training": TRAINING,
        "heads": HEADS,
    }
    return RoundSettings(**{**settings, **changes})


def run(script, n_clusters=2, predicted=None, **changes):
    """Run the rounds on a script: the result, and the ensemble."""
    ensemble = StubEnsemble(script, predicted)
    return run_stub(ensemble, n_clusters, **changes), ensemble


def run_stub(ensemble, n_clusters=2, monitor=None, **changes):
    return run_rounds(ROWS, ensemble, n_clusters, make_settings(**changes), Reporter(0, 10, monitor), Checkpoints(None))


def watch(reported):
    """A reporter that keeps the last row after each round."""
    return Reporter(0, 10, lambda history: reported.append(history[-1]))


def split_on(n_rows):
    """Two labellings that differ on so many rows (at most four)."""
    return [TRUTH, [1] * n_rows + TRUTH[n_rows:]]


def n_agreed(result):
    return [row["n_agreed"] for row in result.history]


# When it ends, and what the result is of


def shifted(n_rows):
    """Three labellings with so many rows (at most four) in the other cluster; one differs on the last row besides."""
    labels = split_on(n_rows)[1]
    return [labels, labels, [*labels[:-1], 1 - labels[-1]]]


@pytest.mark.parametrize(
    "shifts, changes, expected",
    [
        ([2, 2, 2, 2], {}, [1, 0, 0]),
        ([4, 0, 0, 0, 0], {}, [1, 0.4, 0, 0]),  # as many votes for each: they go to the reference
        ([2, 2, 2, 2], {"n_iter_no_change": 1}, [1, 0]),
        ([4, 0, 0, 0, 0], {"n_iter_no_change": 3}, [1, 0.4, 0, 0, 0]),
        ([4, 0, 0, 0, 0], {"tol": 0.39}, [1, 0.4, 0, 0]),
        ([4, 0, 0, 0, 0], {"tol": 0.4}, [1, 0.4, 0]),
        ([4, 0, 0], {"max_iter": 0}, [1]),
        ([4, 0, 0], {"max_iter": 1}, [1, 0.4]),
    ],
)
def test_rounds_end_once_the_vote_of_all_has_settled(shifts, changes, expected):
    result, ensemble = run([shifted(n_rows) for n_rows in shifts], **changes)
    assert [row["label_change"] for row in result.history] == pytest.approx(expected)
    assert len(ensemble.calls("train")) == len(expected) - 1


@pytest.mark.parametrize("differing, expected", [([0, 0, 0], [10]), ([2, 0, 0], [8, 10])])
def test_rounds_end_where_nothing_is_left_to_agree_on(differing, expected):
    result, _ = run([split_on(n_rows) for n_rows in differing], n_iter_no_change=9)
    assert n_agreed(result) == expected


@pytest.mark.parametrize("differing, best", [([3, 2, 2, 3], 1), ([1, 2, 3, 4], 0), ([2, 2], 0), ([4, 1, 2, 1], 1)])
def test_the_best_round_is_the_first_with_most_agreed_rows(differing, best):
    result, _ = run([split_on(n_rows) for n_rows in differing], n_iter_no_change=9, max_iter=len(differing) - 1)
    assert n_agreed(result) == [10 - n_rows for n_rows in differing]
    assert result.best_iter == best


def test_rounds_are_compared_by_mean_agreement_where_as_many_rows_agree():
    three_of_four = [[TRUTH, TRUTH, split_on(2)[1], split_on(2)[1]], [TRUTH, TRUTH, TRUTH, split_on(2)[1]]]
    result, _ = run([*three_of_four, three_of_four[0]], max_iter=2)
    assert n_agreed(result) == [8, 8, 8]
    assert [row["mean_agreement"] for row in result.history] == pytest.approx([0.9, 0.95, 0.9])
    assert result.best_iter == 1


def test_noise_is_something_left_to_agree_on():
    noisy = [NOISE, *TRUTH[1:]]
    result, _ = run([[noisy, noisy]] * 2, predicted=TRUTH, n_iter_no_change=1)
    assert n_agreed(result) == [9, 9]


def test_the_result_is_the_vote_of_all_rounds():
    rounds = [split_on(4), split_on(1), split_on(2)]
    result, _ = run(rounds, max_iter=2)
    assert result.labels.tolist() == TRUTH
    assert result.member_labels.tolist() == [labels for labellings in rounds for labels in labellings]
    assert result.agreement.tolist() == pytest.approx([3 / 6, 4 / 6, 5 / 6, 5 / 6] + [1.0] * 6)
    assert result.agreed.tolist() == [False] * 4 + [True] * 6
    assert result.n_clusters == 2


def test_a_round_that_goes_wrong_is_outvoted():
    result, ensemble = run([shifted(0), shifted(0), shifted(4)])
    assert result.labels.tolist() == TRUTH
    assert ensemble.calls("train")[-1][1][0] == TRUTH


def test_the_best_encoders_are_restored_before_the_heads_train():
    best, worse = split_on(1), split_on(3)
    _, ensemble = run([worse, best, worse, worse])
    names = [entry[0] for entry in ensemble.log]
    assert names[-3:] == ["restore", "reset_heads", "train_heads"]
    assert ensemble.calls("restore") == [(1,)]
    assert ensemble.calls("train_heads") == [(best, TRUTH, HEADS)]


# What the ensemble is asked to do


def test_the_stages_come_in_order_with_their_plans():
    _, ensemble = run([split_on(2), split_on(1), split_on(0)], reconstruction="unagreed")
    names = [entry[0] for entry in ensemble.log]
    assert names == ["pretrain", "reset_heads", "train", "train", "restore", "reset_heads", "train_heads"]
    assert ensemble.calls("pretrain") == [(ROWS, PRETRAINING)]
    assert [call[0] for call in ensemble.calls("train")] == [ROWS, ROWS]
    assert [call[4:] for call in ensemble.calls("train")] == [(TRAINING, 1), (TRAINING, 2)]
    assert ensemble.calls("reset_heads") == [(2,), (2,)]


def test_names_of_clusters_are_kept_from_round_to_round():
    swapped = [[1 - label for label in labels] for labels in split_on(1)]
    result, ensemble = run([split_on(2), swapped, split_on(1), swapped], n_iter_no_change=3, max_iter=3)
    targets = [call[1][0] for call in ensemble.calls("train")]
    assert targets == [TRUTH] * 3
    assert result.labels.tolist() == TRUTH


def test_agreed_rows_are_selected_by_default():
    _, ensemble = run([split_on(2), split_on(0)])
    ((_, targets, selected, *_),) = ensemble.calls("train")
    assert targets == [TRUTH, TRUTH]
    assert selected == [[False] * 2 + [True] * 8] * 2


def test_each_space_of_each_round_has_a_seed_of_its_own():
    seeds = []

    class KeepSeed(ClusterMixin, BaseEstimator):
        def __init__(self, random_state=None):
            self.random_state = random_state

        def fit_predict(self, space, y=None):
            seeds.append(self.random_state)
            return space[:, -1].astype(int)

    for _ in range(2):
        run([split_on(2), split_on(1), split_on(0)], clusterer=KeepSeed(), concatenate=True)
    assert len(seeds) == 18
    assert seeds[:9] == seeds[9:]
    assert len(set(seeds)) == 9


def test_training_that_diverged_is_an_error():
    with pytest.raises(FloatingPointError, match=r"Training diverged: .* Lower learning_rate, or scale the data"):
        run([[[np.nan] * 10] * 2])


def test_a_member_that_diverges_costs_one_vote():
    other = [0, 0, 0, 0, 1, 1, 1, 1, 1, 1]
    result, _ = run([[TRUTH, [np.nan] * 10, other]], concatenate=True, max_iter=0)
    (row,) = result.history
    assert row["left_out"] == [{"space": 1, "reason": "training diverged"}]
    assert row["n_labellings"] == 3  # two members, and their latents side by side
    assert result.member_labels.tolist() == [TRUTH, other, other]


def test_with_one_member_left_there_is_nothing_side_by_side():
    result, _ = run([[TRUTH, [np.nan] * 10]], concatenate=True, max_iter=0)
    (row,) = result.history
    assert [entry["space"] for entry in row["left_out"]] == [1, 2]
    assert row["mean_agreement"] == pytest.approx(1 / 3)


def test_a_member_that_the_ensemble_calls_lost_has_no_vote():
    ensemble = StubEnsemble([[TRUTH, THREE, TRUTH]])
    ensemble.diverged = {1}
    result = run_stub(ensemble, max_iter=0)
    assert result.history[0]["left_out"] == [{"space": 1, "reason": "training diverged"}]


def test_where_all_members_diverge_in_a_round_the_rounds_before_count():
    with pytest.warns(ConvergenceWarning, match=r"Training diverged: .* The result is that of the rounds before"):
        result, ensemble = run([split_on(2), [[np.nan] * 10] * 2, split_on(1)])
    assert n_agreed(result) == [8]
    assert ensemble.calls("restore") == [(0,)]


# Monitor, interruption


def test_a_monitor_sees_the_history_and_stops_with_the_best_round_so_far():
    seen = []

    def stop_after_three(history):
        seen.append([row["n_agreed"] for row in history])
        return len(history) == 3

    ensemble = StubEnsemble([split_on(n) for n in (3, 1, 2, 0)])
    result = run_stub(ensemble, monitor=stop_after_three)
    assert seen == [[7], [7, 9], [7, 9, 8]]
    assert (result.best_iter, result.ended_by) == (1, "monitor")
    assert ensemble.calls("restore") == [(1,)]


def interrupt_in(method, stage, monkeypatch):
    """Let Ctrl-C come when the ensemble is at a method and a stage."""
    original = getattr(StubEnsemble, method)

    def interrupted(self, *args, **kwargs):
        if self.stage == stage and not self.calls("restore"):
            raise KeyboardInterrupt
        return original(self, *args, **kwargs)

    monkeypatch.setattr(StubEnsemble, method, interrupted)


@pytest.mark.parametrize("method, stage", [("train_round", 1), ("encode", 2)])
def test_an_interruption_leaves_the_best_round_so_far(monkeypatch, method, stage):
    interrupt_in(method, stage, monkeypatch)
    result, ensemble = run([split_on(n) for n in (3, 1, 0)])
    assert n_agreed(result) == [7, 9]
    assert (result.best_iter, result.ended_by) == (1, "interrupt")
    assert ensemble.calls("restore") == [(1,)]
    assert result.labels.tolist() == TRUTH


@pytest.mark.parametrize("method", ["pretrain", "encode"])
def test_an_interruption_before_the_first_clustering_leaves_nothing(monkeypatch, method):
    interrupt_in(method, 0, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        run([split_on(3)])


# History


def test_a_row_of_the_history():
    reported = []
    ensemble = StubEnsemble([split_on(2), split_on(0)])
    result = run_rounds(ROWS, ensemble, 2, make_settings(), watch(reported), Checkpoints(None))
    assert reported == result.history
    for row in result.history:
        assert row["n_rows"] == 10
        assert row["seconds"].keys() == {"train", "encode", "cluster", "vote"}
        assert all(seconds >= 0 for seconds in row["seconds"].values())
    figures = [{name: row[name] for name in row if name not in ("seconds", "n_rows")} for row in result.history]
    assert figures == [
        {
            "round": 0,
            "n_agreed": 8,
            "agreed_share": 0.8,
            "mean_agreement": 0.9,
            "agreement_of_kept": 0.9,
            "label_change": 1.0,
            "n_labellings": 2,
            "left_out": [],
            "clusterer": "ReadLabels",
            "reducer": None,
            "n_neighbors": None,
            "consensus_share": [{"space": 0, "share": 1.0}, {"space": 1, "share": 0.8}],
            "losses": {"reconstruction": 0.5},
            "training": {"n_epochs": 7, "batch_size": 16, "learning_rate": 1e-3},
        },
        {
            "round": 1,
            "n_agreed": 10,
            "agreed_share": 1.0,
            "mean_agreement": 1.0,
            "agreement_of_kept": 1.0,
            "label_change": 0.0,
            "n_labellings": 2,
            "left_out": [],
            "clusterer": "ReadLabels",
            "reducer": None,
            "n_neighbors": None,
            "consensus_share": [{"space": 0, "share": 1.0}, {"space": 1, "share": 1.0}],
            "losses": {"pseudo_label": 0.1},
            "training": {"n_epochs": 5, "batch_size": 16, "learning_rate": 1e-3},
        },
    ]


# Clusterers beside the rule's own


class Shifted(ReadLabels):
    """Clusterer: as it reads them, but for the first row, which is in the other cluster."""

    def fit_predict(self, space):
        labels = super().fit_predict(space)
        return np.where(np.arange(len(labels)) == 0, 1 - labels, labels)


class Constant:
    """Clusterer: these labels, whatever it sees."""

    def __init__(self, labels):
        self.labels = labels

    def fit_predict(self, space):
        return np.array(self.labels)


def test_clusterers_beside_vote_on_the_labels_and_select_no_rows():
    script = [[TRUTH, [*TRUTH[:9], 0]]] * 2  # which differ on the last row
    result, ensemble = run(script, beside=(Shifted(), Shifted()), max_iter=1)
    ((_, targets, selected, *_),) = ensemble.calls("train")
    assert selected == [[True] * 9 + [False]] * 2
    a, b = targets[0][1], targets[0][8]
    assert targets[0][:9] == [a] * 5 + [b] * 4
    assert result.labels.tolist()[:9] == [b] + [a] * 4 + [b] * 4
    assert result.agreement.tolist() == [pytest.approx(2 / 3)] + [1.0] * 8 + [0.5]
    assert result.agreed.tolist() == [False] + [True] * 8 + [False]
    assert result.member_labels[:, 0].tolist() == [a, a, b, b, b, b] * 2
    assert n_agreed(result) == [9, 9]  # by the labellings that train
    assert [row["n_labellings"] for row in result.history] == [6, 6]
    assert [share["space"] for share in result.history[0]["consensus_share"]] == [0, 1] * 3


def test_targets_keep_their_names_where_others_vote_too():
    one = [TRUTH, [*TRUTH[:9], 0]]
    flipped = [[1 - label for label in labels] for labels in one]
    _, ensemble = run([one, flipped, one], beside=(Shifted(),), max_iter=2, n_iter_no_change=3)
    first, second = (np.array(targets)[:, :9] for _, targets, *_ in ensemble.calls("train"))
    assert (first == second).all()


def test_a_labelling_by_a_clusterer_beside_is_left_out_with_the_reason():
    result, _ = run([[TRUTH, TRUTH]], beside=(Constant(THREE),), max_iter=0)
    (row,) = result.history
    assert row["left_out"] == [{"space": i, "reason": "3 clusters instead of 2"} for i in (0, 1)]
    assert (row["n_labellings"], row["mean_agreement"]) == (2, 1.0)
    assert result.member_labels.tolist() == [TRUTH] * 2


def test_a_round_in_which_labellings_agree_less_than_before_any_has_no_vote():
    good, bad = split_on(1), split_on(4)
    result, ensemble = run([good, bad, bad, good], n_iter_no_change=9, max_iter=3)
    reasons = [{entry["reason"] for entry in row["left_out"]} for row in result.history]
    assert reasons == [set(), *[{"labellings agree less than before any round"}] * 2, set()]
    assert [row["n_labellings"] for row in result.history] == [2, 0, 0, 2]
    assert [row["label_change"] for row in result.history] == [1, 0, 0, 0]
    assert [share["space"] for row in result.history for share in row["consensus_share"]] == [0, 1] * 2
    assert result.member_labels.tolist() == [*good, *good] and result.best_iter == 0
    selected = [sum(selected[0]) for _, _, selected, *_ in ensemble.calls("train")]
    assert selected == [9, 6, 6]  # members train on as the last clustering has it all the same


@pytest.mark.parametrize("what", ["known", "earlier"])
def test_a_round_votes_all_the_same_where_something_is_known(what):
    """Labellings may agree less while members learn what they were told, and be more right."""
    known = np.where(np.isin(np.arange(10), [4, 9]), TRUTH, NOISE)
    prior = Prior(known) if what == "known" else Prior(earlier=np.array(TRUTH))
    settings, reporter = make_settings(max_iter=1), Reporter(0, 1, None)
    result = run_rounds(ROWS, StubEnsemble([split_on(1), split_on(4)]), 2, settings, reporter, Checkpoints(None), prior)
    assert [row["n_labellings"] for row in result.history] == [2, 2]


def test_the_noise_of_one_labelling_keeps_no_round_from_the_vote():
    result, _ = run([[[*TRUTH[:-1], NOISE]], [[*TRUTH[:-4], *[NOISE] * 4]]], predicted=TRUTH, max_iter=1)
    assert [row["n_labellings"] for row in result.history] == [1, 1]


def test_a_round_that_lacks_a_labelling_may_vote():
    """Those left out count as disagreeing in what is told of the agreement, not here."""
    result, _ = run([[TRUTH, split_on(1)[1], TRUTH], [TRUTH, split_on(1)[1], THREE]], max_iter=1)
    assert [row["mean_agreement"] for row in result.history] == pytest.approx([29 / 30, 19 / 30])
    assert [row["n_labellings"] for row in result.history] == [3, 2]


def test_a_round_without_a_vote_is_not_the_best():
    """More rows are agreed on by all, but the others by one labelling of three."""

    def noisy(n_rows):
        return [*TRUTH[:-n_rows], *[NOISE] * n_rows]

    result, _ = run([[TRUTH, TRUTH, noisy(4)], [TRUTH, noisy(3), noisy(3)]], max_iter=1)
    assert n_agreed(result) == [6, 7]
    assert [row["n_labellings"] for row in result.history] == [3, 0]
    assert result.best_iter == 0


def test_where_no_labelling_trains_none_votes():
    result, _ = run([[TRUTH, [*TRUTH[:9], 0]], [THREE, THREE]], beside=(Constant(TRUTH),))
    assert [row["n_labellings"] for row in result.history] == [4, 0]
    assert result.member_labels.tolist()[2:] == [TRUTH] * 2
    assert len(result.member_labels) == 4


# Labellings left out


def test_labellings_left_out_are_recorded_with_the_reason():
    result, _ = run([[TRUTH, THREE, ONE, NONE]], max_iter=0)
    (row,) = result.history
    assert row["n_labellings"] == 1
    assert row["left_out"] == [
        {"space": 1, "reason": "3 clusters instead of 2"},
        {"space": 2, "reason": "1 clusters instead of 2"},
        {"space": 3, "reason": "0 clusters instead of 2"},
    ]


def test_labellings_left_out_count_as_disagreeing_in_the_statistic_alone():
    result, _ = run([[TRUTH, TRUTH, THREE]], max_iter=0)
    (row,) = result.history
    assert row["n_agreed"] == 0
    assert row["mean_agreement"] == pytest.approx(2 / 3)
    assert result.agreement.tolist() == [1.0] * 10  # of the labellings kept
    assert result.agreed.all()
    assert result.member_labels.tolist() == [TRUTH, TRUTH]


def test_a_round_with_fewer_labellings_is_not_better_for_it():
    two_of_three = [[*split_on(1), TRUTH], [TRUTH, TRUTH, THREE], [*split_on(1), TRUTH]]
    result, _ = run(two_of_three)
    assert n_agreed(result) == [9, 0, 9]
    assert result.best_iter == 0


def test_labellings_kept_alone_make_the_pseudo_labels():
    _, ensemble = run([[TRUTH, split_on(1)[1], THREE]], max_iter=1)
    ((_, targets, selected, *_),) = ensemble.calls("train")
    assert targets == [TRUTH] * 3
    assert selected == [[False] + [True] * 9] * 3


def test_all_of_other_numbers_the_fit_goes_on_with_the_most_common_and_warns():
    with pytest.warns(ConvergenceWarning, match=r"n_clusters=4; the fit goes on with 3, .* Lower n_clusters, or try"):
        result, ensemble = run([[THREE, TRUTH, THREE]], n_clusters=4, max_iter=1)
    assert result.n_clusters == 3
    assert result.labels.tolist() == THREE
    assert result.history[0]["left_out"] == [{"space": 1, "reason": "2 clusters instead of 3"}]
    assert ensemble.calls("reset_heads") == [(3,), (3,)]


def test_as_many_of_two_numbers_the_larger_is_taken():
    with pytest.warns(ConvergenceWarning, match="the fit goes on with 3"):
        result, _ = run([[TRUTH, THREE]], n_clusters=4, max_iter=0)
    assert result.n_clusters == 3


def test_nothing_but_noise_is_no_number_of_clusters():
    with pytest.warns(ConvergenceWarning, match="the fit goes on with 2"):
        result, _ = run([[NONE, NONE, TRUTH]], n_clusters=4, max_iter=0)
    assert result.n_clusters == 2
    assert result.labels.tolist() == TRUTH


def test_a_labelling_with_the_number_asked_for_is_enough():
    result, _ = run([[TRUTH, THREE, THREE, THREE]], max_iter=0)  # no warning
    assert result.n_clusters == 2


def test_clusterers_are_asked_for_the_settled_number_in_later_rounds():
    asked = []

    class KeepNumber(ClusterMixin, BaseEstimator):
        def __init__(self, n_clusters=8):
            self.n_clusters = n_clusters

        def fit_predict(self, space, y=None):
            asked.append(self.n_clusters)
            return space[:, -1].astype(int)

    with pytest.warns(ConvergenceWarning, match="n_clusters=4"):
        run([split_on(1)], n_clusters=4, max_iter=1, clusterer=KeepNumber())
    assert asked == [4, 4, 2, 2]


def test_nothing_but_noise_at_all_is_one_cluster_without_votes():
    with pytest.warns(ConvergenceWarning, match="n_clusters=2; the fit goes on with 1"):
        result, ensemble = run([[NONE, NONE]])
    assert result.labels.tolist() == [0] * 10
    assert result.agreement.tolist() == [0.0] * 10
    assert not result.agreed.any()
    assert result.n_clusters == 1
    assert result.member_labels.tolist() == [NONE]
    assert n_agreed(result) == [0]
    assert result.history[0]["mean_agreement"] == 0.0
    assert ensemble.calls("train") == []


@pytest.mark.parametrize("failing", [THREE, ONE, NONE])
def test_where_all_fail_in_a_later_round_the_result_is_the_best_before(failing):
    result, ensemble = run([split_on(2), split_on(1), [failing, failing], split_on(0)], n_iter_no_change=5)
    assert n_agreed(result) == [8, 9, 0]
    assert result.best_iter == 1
    assert result.labels.tolist() == TRUTH
    assert result.history[2]["n_labellings"] == 0
    assert len(result.history[2]["left_out"]) == 2
    assert ensemble.calls("restore") == [(1,)]


# Rows without a vote


def test_rows_without_a_vote_get_the_label_of_the_heads():
    labels = [NOISE, *TRUTH[1:9], NOISE]
    result, ensemble = run([[labels, labels]], predicted=[1, *[0] * 8, 0], max_iter=0)
    assert result.labels.tolist() == [1, *TRUTH[1:9], 0]
    assert result.agreement.tolist() == [0.0] + [1.0] * 8 + [0.0]
    assert result.agreed.tolist() == [False] + [True] * 8 + [False]
    assert result.member_labels.tolist() == [labels, labels]
    assert ensemble.calls("train_heads")[0][1] == labels  # not trained on their own guess


def test_heads_are_not_asked_where_every_row_has_a_vote():
    result, _ = run([[TRUTH, [NOISE, *TRUTH[1:]]]], predicted=None, max_iter=0)  # classify would fail
    assert result.labels.tolist() == TRUTH


def test_heads_vote_by_the_mean_of_their_softmax():
    class Divided(StubEnsemble):
        def classify(self, latents):
            return np.array([[[0.6, 0.4]] * 10, [[0.6, 0.4]] * 10, [[0.0, 1.0]] * 10])  # the mean is 0.4, 0.6

    labels = [NOISE, *TRUTH[1:]]
    result = run_stub(Divided([[labels] * 3]), max_iter=0)
    assert result.labels.tolist() == [1, *TRUTH[1:]]


# Pseudo-labels

CONSENSUS = Consensus(
    labels=np.array([0, 1, 1, NOISE]),
    votes=np.array([2, 2, 1, 0]),
    aligned=np.array([[0, 1, 1, NOISE], [0, 1, NOISE, NOISE]]),
)


@pytest.mark.parametrize("min_agreement, agreed", [(1.0, [True, True, False, False]), (0.5, [True, True, True, False])])
def test_agreed_rows_train_on_consensus_labels(min_agreement, agreed):
    settings = make_settings(selection="agreed", min_agreement=min_agreement)
    targets, selected = pseudo_labels(CONSENSUS, [0, 2], 3, settings)
    assert targets.tolist() == [[0, 1, 1, NOISE]] * 3
    assert selected.tolist() == [agreed] * 3


def test_a_cluster_that_few_agree_on_trains_on_its_rows_with_most_votes():
    # Six labellings. The first cluster has half of its rows agreed, the second none, but a majority; the third has one
    # row with a majority, the fourth none. Without a name, no row is taken.
    labels = np.array([0] * 4 + [1] * 5 + [2] * 4 + [3] * 2 + [NOISE])
    votes = np.array([*[6, 6, 5, 5], *[5, 5, 5, 4, 4], *[4, 3, 3, 3], *[3, 2], 0])
    consensus = Consensus(labels, votes, np.tile(labels, (6, 1)))
    _, selected = pseudo_labels(consensus, list(range(6)), 2, make_settings(selection="balanced"))
    assert selected[0].astype(int).tolist() == [*[1, 1, 0, 0], *[1, 1, 1, 0, 0], *[1, 0, 0, 0], *[0, 0], 0]
    assert np.array_equal(*selected)


@pytest.mark.parametrize(("n_rows", "is_balanced"), [(599, False), (600, True)])
def test_clusters_that_few_agree_on_train_where_clusters_are_large(n_rows, is_balanced):
    labels = np.arange(n_rows) % 2
    consensus = Consensus(labels, np.where(labels == 0, 5, 6), np.tile(labels, (6, 1)))
    _, selected = pseudo_labels(consensus, list(range(6)), 1, make_settings(selection="auto"))
    assert selected[0, labels == 0].any() == is_balanced
    assert selected[0, labels == 1].all()


@pytest.mark.parametrize(("n_rows", "n_taken"), [(9, 0), (10, 5), (40, 20), (41, 0)])
def test_a_cluster_of_unusual_size_trains_on_agreed_rows_alone(n_rows, n_taken):
    # Beside two whose mean makes that of the three 20.
    labels = np.repeat([0, 1, 2], [n_rows, *divide_in_two(60 - n_rows)])
    votes = np.where(labels == 0, 5 - np.arange(60) % 2, 6)
    consensus = Consensus(labels, votes, np.tile(labels, (6, 1)))
    _, selected = pseudo_labels(consensus, list(range(6)), 1, make_settings(selection="balanced"))
    assert selected[0, labels == 0].sum() == n_taken
    assert selected[0, labels > 0].all()


def divide_in_two(n):
    return n // 2, n - n // 2


def test_balanced_selection_takes_every_agreed_row():
    labels, votes = np.zeros(6, dtype=int), np.array([6, 6, 6, 5, 4, 3])
    consensus = Consensus(labels, votes, np.tile(labels, (6, 1)))
    settings = make_settings(selection="balanced", min_agreement=0.5)
    assert pseudo_labels(consensus, list(range(6)), 1, settings)[1].all()


def test_two_labellings_have_no_majority_but_all():
    _, selected = pseudo_labels(CONSENSUS, [0, 2], 3, make_settings(selection="balanced"))
    assert selected[0].tolist() == [True, True, False, False]


def test_all_rows_with_a_vote_train_on_consensus_labels():
    targets, selected = pseudo_labels(CONSENSUS, [0, 2], 3, make_settings(selection="consensus"))
    assert targets.tolist() == [[0, 1, 1, NOISE]] * 3
    assert selected.tolist() == [[True, True, True, False]] * 3


def test_each_member_trains_on_its_own_labels():
    # Spaces 0 and 2 were kept: the second of three members has no labels of its own.
    targets, selected = pseudo_labels(CONSENSUS, [0, 2], 3, make_settings(selection="own"))
    assert targets.tolist() == [[0, 1, 1, NOISE], [NOISE] * 4, [0, 1, NOISE, NOISE]]
    assert selected.tolist() == [[True, True, True, False], [False] * 4, [True, True, False, False]]


def test_the_labelling_of_all_latents_is_no_members_own():
    targets, selected = pseudo_labels(CONSENSUS, [0, 2], 2, make_settings(selection="own"))
    assert targets.tolist() == [[0, 1, 1, NOISE], [NOISE] * 4]
    assert not selected[1].any()


@pytest.mark.parametrize(
    "max_samples, n_drawn", [(0.5, [4, 2, 1]), (1.0, [8, 4, 1]), (0.01, [1, 1, 1]), (3, [3, 3, 1])]
)
def test_samples_are_a_share_of_the_selected_rows_of_each_member(max_samples, n_drawn):
    selected = np.zeros((3, 10), dtype=bool)
    selected[0, :8], selected[1, 3:7], selected[2, 9] = True, True, True
    before = selected.copy()
    drawn = draw_samples(selected, max_samples, 0)
    assert drawn.sum(axis=1).tolist() == n_drawn
    assert not (drawn & ~selected).any()
    assert np.array_equal(selected, before)


def test_samples_differ_by_member_and_by_seed_and_repeat():
    selected = np.ones((2, 100), dtype=bool)
    one, same, other = (draw_samples(selected, 0.5, seed) for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    assert not np.array_equal(one[0], one[1])


def test_no_row_to_draw_from_is_none_drawn():
    assert draw_samples(np.zeros((2, 5), dtype=bool), 0.5, 0).sum() == 0


def test_members_train_on_samples_of_their_own():
    _, ensemble = run([split_on(2), split_on(0)], max_samples=0.5)
    ((_, _, selected, *_),) = ensemble.calls("train")
    assert np.sum(selected, axis=1).tolist() == [4, 4]  # of eight agreed rows


def test_making_pseudo_labels_leaves_the_consensus_alone():
    for selection in ("balanced", "agreed", "consensus", "own"):
        targets, _ = pseudo_labels(CONSENSUS, [0, 2], 3, make_settings(selection=selection))
        targets[:] = 99
    assert CONSENSUS.labels.tolist() == [0, 1, 1, NOISE]


# Spaces


def test_all_latents_side_by_side_make_one_more_space():
    latents = np.array([[[0.0], [1.0]], [[0.0], [0.0]], [[5.0], [6.0]]])  # (K, N, 1)
    shapes = []

    class KeepShape(ClusterMixin, BaseEstimator):
        def fit_predict(self, space, y=None):
            shapes.append(space.tolist())
            return np.zeros(len(space), dtype=int)

    settings = make_settings(clusterer=KeepShape(), concatenate=True)
    assert len(cluster_spaces(latents, 2, settings, 0)[0]) == 4
    assert shapes[:3] == latents.tolist()
    assert shapes[3] == [[0.0, 0.0, 5.0], [1.0, 0.0, 6.0]]


def test_each_round_draws_landmarks_anew_and_for_all_its_spaces():
    seen = []

    class Halves(ClusterMixin, BaseEstimator):
        def fit_predict(self, space, y=None):
            rows, member = space[:, 0].astype(int), int(space[0, 0] % 1 > 0)
            seen.append(rows.tolist())
            return (rows >= 5 - (2 if len(seen) <= 2 else 1) * member).astype(int)  # at first they differ on more

    rows = np.arange(10.0)
    result, _ = run([[rows, rows + 0.75]], clusterer=Halves(), max_landmarks=8, max_iter=1, n_jobs=1)
    assert [len(of_space) for of_space in seen] == [8] * 4
    assert seen[0] == seen[1] != seen[2] == seen[3]
    assert result.member_labels.shape == (4, 10)
    assert [row["n_rows"] for row in result.history] == [10, 10]


@pytest.mark.parametrize("n_members, concatenate, n_spaces", [(1, True, 1), (1, False, 1), (2, True, 3), (2, False, 2)])
def test_the_number_of_labellings(n_members, concatenate, n_spaces):
    latents = np.zeros((n_members, 4, 2))
    assert len(cluster_spaces(latents, 1, make_settings(concatenate=concatenate), 0)[0]) == n_spaces
    result, _ = run([[TRUTH] * n_members], concatenate=concatenate)
    assert result.member_labels.tolist() == [TRUTH] * n_spaces


def test_labellings_made_at_once_are_the_same():
    latents = np.random.default_rng(0).normal(size=(3, 30, 2))
    settings = make_settings(clusterer=KMeans(n_init=1), concatenate=True)
    expected, embeddings = cluster_spaces(latents, 4, settings, 7)
    with parallel_config("threading"):
        at_once, _ = cluster_spaces(latents, 4, replace(settings, n_jobs=2), 7)
    assert at_once.keys() == expected.keys() == embeddings.keys()
    assert all(at_once[i].tolist() == expected[i].tolist() for i in expected)


def test_spaces_are_dealt_to_all_cards(monkeypatch):
    used = []
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(
        skspc._method.labelling,
        "reduce_space",
        lambda space, reducer, seed, device, *_: (used.append(str(device)), space)[1],
    )
    settings = make_settings(clusterer=KMeans(n_init=1), concatenate=True, n_jobs=1)
    cluster_spaces(
        np.random.default_rng(0).normal(size=(2, 9, 2)), 3, replace(settings, device=torch.device("cuda")), 0
    )
    assert used == ["cuda:0", "cuda:1", "cuda:0"]


class Starting(BaseEstimator):
    """A reducer that logs where it began, and goes on by one."""

    log: list = []

    def __init__(self, init="auto"):
        self.init = init

    def fit_transform(self, space):
        self.log.append(None if isinstance(self.init, str) else self.init.tolist())
        return np.asarray(space) + (0 if isinstance(self.init, str) else 1)


@pytest.mark.parametrize("diverged", [[], [1]])
def test_spaces_begin_where_they_were_if_all_were_somewhere(diverged, monkeypatch):
    monkeypatch.setattr(Starting, "log", [])
    latents = np.random.default_rng(0).normal(size=(2, 9, 2))
    settings = make_settings(clusterer=KMeans(n_init=1), reducer=Starting(), concatenate=False, n_jobs=1)
    _, before = cluster_spaces(latents, 3, settings, 0, diverged)
    Starting.log.clear()
    cluster_spaces(latents, 3, settings, 1, starts=starts_of(settings.reducer, before))
    assert Starting.log == ([None, None] if diverged else [before[0].tolist(), before[1].tolist()])


@pytest.mark.parametrize(
    "reducer, goes_on",
    [
        (Starting(), True),
        (make_pipeline(PCA(1), Starting()), True),
        (make_pipeline(Starting(), PCA(1)), False),  # the layout is not the one that it made
        (Starting(np.zeros((4, 2))), False),
        (UMAPReducer(n_components=3), False),  # it made two columns of few rows
        (UMAPReducer(), True),
        (None, False),
    ],
)
def test_layouts_go_on_where_the_last_step_can_begin_there(reducer, goes_on):
    layout = np.asfortranarray(np.arange(8, dtype=np.longdouble).reshape(4, 2))
    starts = starts_of(reducer, {3: layout})
    assert starts.keys() == ({3} if goes_on else set())
    for start in starts.values():
        assert start.flags.c_contiguous and start.dtype == np.float32 and np.array_equal(start, layout)


def test_a_round_goes_on_from_the_layouts_of_the_one_before(monkeypatch):
    monkeypatch.setattr(Starting, "log", [])
    other = [0, 0, 0, 0, 1, 1, 1, 1, 1, 1]
    run([[TRUTH, other], [other, TRUTH], [TRUTH, other]], reducer=Starting(), n_jobs=1, max_iter=2)
    first, second = ([[[label + n] for label in labels] for labels in (TRUTH, other)] for n in (0, 1))
    assert Starting.log == [None, None, *first, *second[::-1]]


class Meeting:
    """A clusterer that waits for another copy of itself."""

    barrier = threading.Barrier(2)

    def fit_predict(self, space):
        self.barrier.wait(timeout=30)
        return np.arange(len(space)) % 2

    def __deepcopy__(self, memo):
        return self


@pytest.mark.parametrize("how", ["torch's threads", "n_jobs", "joblib's configuration"])
def test_labellings_are_made_at_once(how):
    settings = make_settings(clusterer=Meeting(), n_jobs=2 if how == "n_jobs" else None)
    torch.set_num_threads(2 if how == "torch's threads" else 1)
    try:
        with parallel_config("threading", n_jobs=2) if how == "joblib's configuration" else nullcontext():
            labellings, _ = cluster_spaces(np.zeros((2, 4, 1)), 2, settings, 0)
        assert torch.get_num_threads() == (2 if how == "torch's threads" else 1)
    finally:
        torch.set_num_threads(1)
    assert [labels.tolist() for labels in labellings.values()] == [[0, 1, 0, 1]] * 2


# An automatic number of clusters


class Counts(ReadLabels):
    """Finds the number of clusters: those in the latents, or, when told a number, that many of them."""

    finds_n_clusters = True

    def __init__(self, n_clusters="auto"):
        self.n_clusters = n_clusters

    def get_params(self, deep=True):
        return {"n_clusters": self.n_clusters}

    def set_params(self, n_clusters):
        self.n_clusters = n_clusters
        return self

    def fit_predict(self, space):
        labels = super().fit_predict(space)
        return labels if self.n_clusters == "auto" else labels % self.n_clusters


def test_an_automatic_number_is_the_one_that_most_members_find_and_all_are_cut_to_it():
    result, ensemble = run([[TRUTH, THREE, TRUTH], [TRUTH, TRUTH, TRUTH]], "auto", clusterer=Counts())
    assert result.n_clusters == 2
    assert [row["n_labellings"] for row in result.history] == [3, 3]
    assert ensemble.calls("reset_heads")[0] == (2,)


def test_an_automatic_number_is_fixed_after_pretraining():
    result, _ = run([[TRUTH, TRUTH], [THREE, THREE], [THREE, THREE]], "auto", clusterer=Counts(), max_iter=1)
    assert result.n_clusters == 2
    assert set(result.labels.tolist()) == {0, 1}


def test_where_most_members_find_no_clusters_there_is_one_with_a_warning():
    with pytest.warns(ConvergenceWarning, match="n_clusters='auto' found no clusters apart; all rows are in one"):
        result, _ = run([[ONE, ONE, TRUTH]], "auto", clusterer=Counts())
    assert result.n_clusters == 1
    assert result.labels.tolist() == [0] * 10


def test_a_clusterer_that_is_told_no_number_finds_an_automatic_one():
    result, _ = run([[TRUTH, THREE, TRUTH]], "auto", clusterer=ReadLabels(), max_iter=0)
    assert result.n_clusters == 2
    assert [entry["space"] for entry in result.history[0]["left_out"]] == [1]


def test_labellings_of_the_right_number_are_kept_in_order():
    kept = keep_exact(dict(enumerate(map(np.array, (THREE, TRUTH, NONE, split_on(1)[1])))), 2, 4)
    assert kept.kept.tolist() == [TRUTH, split_on(1)[1]]
    assert kept.spaces == [1, 3]
    assert [entry["space"] for entry in kept.left_out] == [0, 2]
    assert kept.n_tried == 4


def test_no_labelling_of_the_right_number_is_an_empty_array():
    kept = keep_exact(dict(enumerate([np.array(TRUTH)] * 3)), 4, 3)
    assert kept.kept.shape == (0, 10)
    assert kept.n_tried == 3


# Without rounds


def test_one_cluster_needs_no_training():
    ensemble, reported = StubEnsemble([[ONE, ONE]]), []
    result = label_without_rounds(ROWS, ensemble, np.zeros(10, dtype=int), make_settings(), watch(reported))
    assert ensemble.log == [("reset_heads", 1)]
    assert result.labels.tolist() == [0] * 10
    assert result.agreement.tolist() == [1.0] * 10
    assert result.agreed.tolist() == [True] * 10
    assert result.member_labels.tolist() == [[0] * 10]
    assert (result.best_iter, result.n_clusters) == (0, 1)
    assert reported == result.history
    assert n_agreed(result) == [10]
    assert result.history[0]["losses"] == {}


def test_as_many_clusters_as_rows_need_no_rounds():
    labels = np.arange(10)
    ensemble, reported = StubEnsemble([[TRUTH, TRUTH]]), []
    result = label_without_rounds(ROWS, ensemble, labels, make_settings(), watch(reported))
    assert [entry[0] for entry in ensemble.log] == ["pretrain", "reset_heads", "restore", "reset_heads", "train_heads"]
    assert ensemble.calls("train_heads") == [([TRUTH, TRUTH], labels.tolist(), HEADS)]
    assert result.labels.tolist() == labels.tolist()
    assert result.agreed.all()
    assert (result.best_iter, result.n_clusters, len(reported)) == (0, 10, 1)
    assert result.history[0]["losses"] == {"reconstruction": 0.5}
    assert result.history[0]["seconds"].keys() == {"train", "encode", "cluster", "vote"}


def test_training_that_diverged_without_rounds_is_an_error_too():
    ensemble = StubEnsemble([[[np.nan] * 10]])
    with pytest.raises(FloatingPointError, match="Training diverged"):
        label_without_rounds(ROWS, ensemble, np.arange(10), make_settings(), Reporter(0, 10))
