"""Fits that stop and go on: the labels of a fit that never stopped."""

import os

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

import skspc._persistence.checkpoints
from skspc import SPCClustering
from skspc._ensemble.ensemble import Ensemble
from skspc._method.objectives import Heads, PseudoLabels, Reconstruction
from skspc.clusterers import AgglomerativeClusterer

X = np.random.default_rng(0).normal(size=(120, 4))  # no clusters: agreement grows slowly


def make_model(folder, **parameters):
    settings = {"n_estimators": 3, "reducer": None, "clusterer": KMeans(n_init=1), "random_state": 0}
    settings |= {"pretrain_epochs": 2, "epochs": 1, "max_iter": 4, "n_iter_no_change": 9}
    return SPCClustering(3, checkpoint=folder, **(settings | parameters))


class Noise(KMeans):
    """Finds nothing but noise."""

    def fit_predict(self, X, y=None, sample_weight=None):
        return np.full(len(X), -1)


class Killed(BaseException):
    """Stands for a process that ends: nothing after it runs."""


def kill_after(n_clusterings):
    def monitor(history):
        if len(history) == n_clusterings:
            raise Killed

    return monitor


def kill_in(stage, monkeypatch, after=0):
    """End the process in the ``after``-th call of "encode", or training of an objective."""
    method = "encode" if stage == "encode" else "train"
    original, calls = getattr(Ensemble, method), []

    def killed(self, what, *args):
        calls.append(stage == "encode" or isinstance(what, stage))
        if calls[-1] and sum(calls) > after:
            raise Killed
        return original(self, what, *args)

    monkeypatch.setattr(Ensemble, method, killed)


def assert_same_fit(model, expected):
    assert np.array_equal(model.labels_, expected.labels_)
    assert np.array_equal(model.member_labels_, expected.member_labels_)
    assert np.array_equal(model.transform(X), expected.transform(X))
    assert np.array_equal(model.predict_proba(X), expected.predict_proba(X))
    without_seconds = [{k: v for k, v in row.items() if k != "seconds"} for row in model.history_]
    assert without_seconds == [{k: v for k, v in row.items() if k != "seconds"} for row in expected.history_]


def files_in(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


@pytest.fixture(scope="module")
def expected():
    return make_model(None).fit(X)


@pytest.mark.parametrize("n_clusterings", [1, 2, 4])
def test_a_fit_killed_after_a_round_goes_on_there(tmp_path, expected, n_clusterings):
    assert expected.n_iter_ == 5
    with pytest.raises(Killed):
        make_model(tmp_path).fit(X, monitor=kill_after(n_clusterings))
    seen = []
    model = make_model(tmp_path).fit(X, monitor=lambda history: seen.append(len(history)))
    assert seen == list(range(n_clusterings + 1, 6))
    assert_same_fit(model, expected)
    assert files_in(tmp_path) == []


class GoesOn(BaseEstimator):
    """A reducer whose embedding is the sum of all before, in the other order of memory."""

    def __init__(self, init="auto"):
        self.init = init

    def fit_transform(self, X, y=None):
        return np.asfortranarray(X[:, :2] if isinstance(self.init, str) else X[:, :2] + self.init)


def test_layouts_go_on_after_a_fit_was_killed(tmp_path):
    expected = make_model(None, reducer=GoesOn()).fit(X)
    with pytest.raises(Killed):
        make_model(tmp_path, reducer=GoesOn()).fit(X, monitor=kill_after(2))
    assert_same_fit(make_model(tmp_path, reducer=GoesOn()).fit(X), expected)
    assert not np.array_equal(expected.member_labels_, make_model(None).fit(X).member_labels_)


def test_a_fit_killed_again_and_again(tmp_path, expected):
    for n_clusterings in (1, 2, 3, 4, 5):
        with pytest.raises(Killed):
            make_model(tmp_path).fit(X, monitor=kill_after(n_clusterings))
    assert_same_fit(make_model(tmp_path).fit(X), expected)


@pytest.mark.parametrize("stage, after", [("encode", 0), (PseudoLabels, 0), (PseudoLabels, 2), (Heads, 0)])
def test_a_fit_killed_in_a_stage_goes_on_before_it(tmp_path, expected, stage, after):
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Killed):
        kill_in(stage, patch, after)
        make_model(tmp_path).fit(X)
    assert files_in(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        kill_in(Reconstruction, patch)  # it is not done again
        assert_same_fit(make_model(tmp_path).fit(X), expected)
    assert files_in(tmp_path) == []


def test_the_drawn_seed_is_kept(tmp_path):
    model = make_model(tmp_path, random_state=None)
    np.random.seed(3)
    with pytest.raises(Killed):
        model.fit(X, monitor=kill_after(1))
    np.random.seed(4)
    again = model.fit(X)
    np.random.seed(3)
    assert_same_fit(make_model(None, random_state=None).fit(X), again)


@pytest.mark.parametrize(
    "changes",
    [
        {"random_state": 1},
        {"epochs": 2},
        {"clusterer": KMeans(n_init=2)},
        {"clusterer": AgglomerativeClusterer()},
        {"max_iter": 3},
    ],
)
def test_fits_of_other_parameters_do_not_meet(tmp_path, changes):
    with pytest.raises(Killed):
        make_model(tmp_path).fit(X, monitor=kill_after(1))
    with pytest.raises(Killed):
        make_model(tmp_path, **changes).fit(X, monitor=kill_after(1))
    assert len(list(tmp_path.iterdir())) == 2


def test_fits_of_other_rows_do_not_meet_and_equal_fits_do(tmp_path):
    model = make_model(tmp_path)
    with pytest.raises(Killed):
        model.fit(X, monitor=kill_after(1))
    for rows in (X[:-1], X + 1, X.astype(np.float32)):
        with pytest.raises(Killed):
            clone(model).fit(rows, monitor=kill_after(1))
    assert len(list(tmp_path.iterdir())) == 4
    with pytest.raises(Killed):
        clone(model).set_params(n_jobs=1, verbose=0).fit(X.copy(order="F"), monitor=kill_after(2))
    assert len(list(tmp_path.iterdir())) == 4


@pytest.mark.parametrize("damage", [lambda data: data[: len(data) // 2], lambda data: b"", lambda data: b"\xff" * 99])
def test_the_newest_whole_one_counts(tmp_path, expected, damage):
    with pytest.raises(Killed):
        make_model(tmp_path).fit(X, monitor=kill_after(3))
    _, newest = sorted(tmp_path.rglob("*.safetensors"))
    newest.write_bytes(damage(newest.read_bytes()))
    seen = []
    model = make_model(tmp_path).fit(X, monitor=lambda history: seen.append(len(history)))
    assert seen[0] == 3
    assert_same_fit(model, expected)


def test_images_and_the_same_rows_flattened_do_not_meet(tmp_path):
    images = np.random.default_rng(0).integers(0, 9, (60, 8, 8))
    for rows in (images, images.reshape(60, -1)):
        with pytest.raises(Killed):
            make_model(tmp_path, n_estimators=1).fit(rows, monitor=kill_after(1))
    assert len(list(tmp_path.iterdir())) == 2


def test_parameters_that_are_numbers_of_numpy(tmp_path):
    numbers = {"epochs": np.int64(1), "batch_size": np.int32(7), "learning_rate": np.float32(1e-3)}
    with pytest.raises(Killed):
        make_model(tmp_path, **numbers).fit(X, monitor=kill_after(2))
    seen = []
    make_model(tmp_path, **numbers).fit(X, monitor=lambda history: seen.append(len(history)))
    assert seen[0] == 3


def test_a_function_without_a_name_has_no_checkpoints(tmp_path, monkeypatch):
    kill_in(Reconstruction, monkeypatch)
    with pytest.raises(TypeError, match=r"augmentation=<function .*lambda.* Pass a function defined in a module.*None"):
        make_model(tmp_path, augmentation=lambda batch, generator: batch).fit(X)


def test_a_member_lost_before_the_end_stays_lost_after_it(tmp_path, monkeypatch):
    train = Ensemble.train

    def train_and_lose(self, objective, plan):
        losses = train(self, objective, plan)
        if isinstance(objective, Reconstruction):
            self.diverged = {1}
        return losses

    monkeypatch.setattr(Ensemble, "train", train_and_lose)
    whole = make_model(None).fit(X)
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Killed):
        kill_in("encode", patch)
        make_model(tmp_path).fit(X)
    again = make_model(tmp_path).fit(X)
    assert {"space": 1, "reason": "training diverged"} in again.history_[0]["left_out"]
    assert_same_fit(again, whole)


def test_a_fit_stopped_at_its_classifiers_after_a_round_of_noise(tmp_path):
    settings = {"clusterer": Noise(n_init=1), "n_iter_no_change": 9}
    seen = []
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Killed), pytest.warns(ConvergenceWarning):
        kill_in(Heads, patch)
        make_model(tmp_path, **settings).fit(X, monitor=lambda history: seen.append(len(history)))
    assert seen == [1]  # nothing to train on, so no round follows
    model = make_model(tmp_path, **settings).fit(X)
    assert (model.n_clusters_, model.n_iter_) == (1, 1)


def test_a_folder_in_the_place_of_a_checkpoint(tmp_path, expected):
    with pytest.raises(Killed):
        make_model(tmp_path).fit(X, monitor=kill_after(3))
    (folder,) = tmp_path.iterdir()
    for path in folder.iterdir():
        path.write_bytes(b"")
    seen = []
    model = make_model(tmp_path).fit(X, monitor=lambda history: seen.append(len(history)))
    assert seen[0] == 1
    assert_same_fit(model, expected)


def test_ctrl_c_at_the_classifiers_leaves_the_whole_fit(expected, monkeypatch):
    original, calls = Ensemble.train, []

    def interrupted(self, objective, plan):
        calls.append(isinstance(objective, Heads))
        if calls[-1] and sum(calls) == 1:
            raise KeyboardInterrupt
        return original(self, objective, plan)

    monkeypatch.setattr(Ensemble, "train", interrupted)
    model = make_model(None)
    with pytest.warns(ConvergenceWarning, match="interrupted after 5"), pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert_same_fit(model, expected)


def test_a_monitor_cannot_change_the_history(expected):
    model = make_model(None).fit(X, monitor=lambda history: history.clear())
    assert_same_fit(model, expected)


def test_a_fit_that_goes_on_says_so(tmp_path, capsys):
    with pytest.raises(Killed):
        make_model(tmp_path).fit(X, monitor=kill_after(2))
    make_model(tmp_path, verbose=1).fit(X)
    assert "going on from a checkpoint after 2 clusterings" in capsys.readouterr().out


def test_a_folder_that_cannot_be_made_is_an_error_before_training(tmp_path, monkeypatch):
    kill_in(Reconstruction, monkeypatch)
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / "folder"
    with pytest.raises(OSError, match=r"checkpoint='.*folder' cannot be written to, .*: Not a directory") as caught:
        make_model(folder).fit(X)
    assert str(folder) in str(caught.value)


def test_a_full_disk_is_told_and_the_fit_goes_on(tmp_path, expected, monkeypatch):
    def full(path, data, what):
        raise OSError(28, f"{what} was not saved: No space left on device", str(path))

    monkeypatch.setattr(skspc._persistence.checkpoints, "write_atomically", full)
    with pytest.warns(RuntimeWarning, match="A checkpoint was not saved: No space left .* The fit goes on") as caught:
        model = make_model(tmp_path).fit(X)
    assert len(caught) == 6
    assert str(tmp_path) in str(caught[0].message)
    assert_same_fit(model, expected)


def test_writing_leaves_no_temporary_file(tmp_path, monkeypatch):
    def failing(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", failing)
    with pytest.warns(RuntimeWarning, match="No space left"), pytest.raises(Killed):
        make_model(tmp_path).fit(X, monitor=kill_after(1))
    assert files_in(tmp_path) == []


def test_a_fit_that_its_monitor_stopped_can_go_on(tmp_path, expected):
    stopped = make_model(tmp_path).fit(X, monitor=lambda history: len(history) == 2)
    assert stopped.n_iter_ == 2
    assert_same_fit(make_model(tmp_path).fit(X), expected)
    assert files_in(tmp_path) == []


def test_ctrl_c_fits_the_rounds_so_far_and_is_raised_again(tmp_path, expected):
    def press(history):
        if len(history) == 3:
            raise KeyboardInterrupt

    model = make_model(tmp_path)
    message = "interrupted after 3 clusterings. The model is fitted to their vote"
    with pytest.warns(ConvergenceWarning, match=message), pytest.raises(KeyboardInterrupt):
        model.fit(X, monitor=press)
    assert model.n_iter_ == 3
    assert model.labels_.shape == model.predict(X).shape == (120,)
    assert_same_fit(make_model(tmp_path).fit(X), expected)


def test_a_monitor_that_cannot_be_called(tmp_path):
    with pytest.raises(TypeError, match="monitor=3 must be callable"):
        make_model(None).fit(X, monitor=3)
