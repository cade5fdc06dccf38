"""Whatever is raised in `fit`, and whenever: a fitted model is as it was, and one that was not fitted is not fitted."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import skspc._spc
from skspc import SPCClustering
from skspc._ensemble.ensemble import Ensemble
from skspc._method.objectives import Heads, PseudoLabels, Reconstruction
from skspc.clusterers import HDBSCANCut

RANDOM = np.random.RandomState(0)
ROWS = np.concatenate([RANDOM.normal(8 * i, 1, size=(20, 4)) for i in range(3)])
FRAME, OTHER = pd.DataFrame(ROWS, columns=list("abcd")), pd.DataFrame(RANDOM.normal(size=(60, 2)), columns=["u", "v"])
SHORT = {"n_estimators": 2, "pretrain_epochs": 1, "epochs": 1, "max_iter": 1, "tol": 0, "clusterer": "kmeans"}


class Stop(Exception):
    """Something that goes wrong."""


def raising(error):
    def fail(*args, **kwargs):
        raise error

    return fail


def raising_in_training_of(objective, error):
    train = Ensemble.train

    def fail(self, what, plan):
        if isinstance(what, objective):
            raise error
        return train(self, what, plan)

    return fail


class FailingClusterer(HDBSCANCut):
    def fit_predict(self, X, y=None):
        raise Stop


# What goes wrong: what is changed of the package, parameters of the refit, arguments of `fit`, and the error.
FAILURES = {
    "rows that are not finite": ({}, {}, {"X": OTHER.replace(OTHER.iloc[0, 0], np.nan)}, ValueError),
    "too few rows": ({}, {}, {"X": OTHER[:1]}, ValueError),
    "a parameter": ({}, {"max_iter": -1}, {}, ValueError),
    "a device": ({}, {"device": "nowhere"}, {}, ValueError),
    "an augmentation": ({}, {"augmentation": "affine"}, {}, ValueError),
    "a folder": ({}, {"checkpoint": "/dev/null/no"}, {}, OSError),
    "the scaling": ({"skspc._spc.fit_vector_scaling": raising(MemoryError)}, {}, {}, MemoryError),
    "the ensemble": ({"skspc._spc.Ensemble": raising(MemoryError)}, {}, {}, MemoryError),
    "pretraining": ({"train": raising_in_training_of(Reconstruction, KeyboardInterrupt)}, {}, {}, KeyboardInterrupt),
    "encoding": ({"encode": raising(Stop)}, {}, {}, Stop),
    "clustering": ({}, {"clusterer": FailingClusterer()}, {}, Stop),
    "the monitor": ({}, {}, {"monitor": raising(ZeroDivisionError)}, ZeroDivisionError),
    "a round": ({"train": raising_in_training_of(PseudoLabels, MemoryError)}, {}, {}, MemoryError),
    "the classifiers": ({"train": raising_in_training_of(Heads, Stop)}, {}, {}, Stop),
    "probabilities": ({"classify": raising(Stop)}, {}, {}, Stop),
    "what is given back": ({"skspc._spc.release_memory": raising(KeyboardInterrupt)}, {}, {}, KeyboardInterrupt),
}


def apply(changes, monkeypatch):
    for name, change in changes.items():
        if "." in name:
            monkeypatch.setattr(name, change)
        else:
            monkeypatch.setattr(Ensemble, name, change)


@pytest.fixture(scope="module")
def fitted():
    return SPCClustering(3, random_state=0, **SHORT).fit(FRAME)


def answers(model, path):
    model.save(path)
    again = SPCClustering.load(path)
    return [
        *(getattr(model, method)(FRAME) for method in ("predict", "predict_proba", "transform", "score")),
        *(again.predict_proba(FRAME), model.labels_, model.n_features_in_, model.feature_names_in_.tolist()),
        *(
            model.get_feature_names_out().tolist(),
            model.history_,
            [list(of) for of in model.cluster_representatives().sure],
        ),
    ]


@pytest.mark.parametrize("changes, parameters, arguments, error", FAILURES.values(), ids=FAILURES)
@pytest.mark.case("plumbing", "a refit that fails, at each stage", origin="scikit-learn#21383")
def test_a_fitted_model_is_as_it_was(changes, parameters, arguments, error, fitted, tmp_path, monkeypatch):
    model = copy.deepcopy(fitted)
    expected, before = answers(model, tmp_path / "a"), sorted(vars(model))
    of_before = model.get_params()
    with monkeypatch.context() as patch, pytest.raises(error):
        apply(changes, patch)
        model.set_params(**parameters).fit(**({"X": OTHER} | arguments))
    assert sorted(vars(model)) == before
    model.set_params(**{name: of_before[name] for name in parameters})
    for value, was in zip(answers(model, tmp_path / "b"), expected, strict=True):
        np.testing.assert_equal(value, was)
    assert pickle.loads(pickle.dumps(model)).score(FRAME) == model.score(FRAME)


@pytest.mark.parametrize("changes, parameters, arguments, error", FAILURES.values(), ids=FAILURES)
def test_a_model_that_was_not_fitted_is_not_fitted(changes, parameters, arguments, error, tmp_path, monkeypatch):
    model = SPCClustering(3, random_state=0, **SHORT).set_params(**parameters)
    before = sorted(vars(model))
    with monkeypatch.context() as patch, pytest.raises(error):
        apply(changes, patch)
        model.fit(**({"X": OTHER} | arguments))
    assert sorted(vars(model)) == before
    for ask in (model.predict, model.transform, model.score, lambda X: model.save(tmp_path / "model")):
        with pytest.raises(NotFittedError):
            ask(FRAME)


def test_an_interruption_after_a_clustering_leaves_the_new_fit(fitted, monkeypatch):
    model = copy.deepcopy(fitted)
    monkeypatch.setattr(Ensemble, "train", raising_in_training_of(PseudoLabels, KeyboardInterrupt))
    with pytest.warns(match="after 1 clusterings. The model is fitted to their vote"), pytest.raises(KeyboardInterrupt):
        model.fit(OTHER)
    assert model.feature_names_in_.tolist() == ["u", "v"] and model.predict(OTHER).shape == (60,)


@pytest.mark.parametrize("method", ["_store_predictions", "_keep_rows"])
def test_an_interruption_after_the_last_round_leaves_the_whole_fit(method, monkeypatch):
    """Of 20 000 images it may come in the 25 seconds after training, in which rows are predicted and kept."""
    expected = SPCClustering(3, random_state=0, **SHORT).fit(FRAME)
    original, told = getattr(SPCClustering, method), []

    def interrupted(self, *args):
        original(self, *args)
        told.append(method)
        if len(told) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(SPCClustering, method, interrupted)
    model = SPCClustering(3, random_state=0, **SHORT)
    with pytest.warns(match="The model is fitted to their vote"), pytest.raises(KeyboardInterrupt):
        model.fit(FRAME)
    assert len(told) == 2 and model.history_[0]["n_agreed"] == expected.history_[0]["n_agreed"]
    np.testing.assert_array_equal(model.predict_proba(FRAME), expected.predict_proba(FRAME))
    np.testing.assert_array_equal(model.labels_, expected.labels_)


def test_a_second_interruption_after_the_last_round_leaves_nothing(monkeypatch):
    monkeypatch.setattr(SPCClustering, "_keep_rows", raising(KeyboardInterrupt))
    model = SPCClustering(3, random_state=0, **SHORT)
    with pytest.raises(KeyboardInterrupt):
        model.fit(FRAME)
    assert not hasattr(model, "labels_")


def test_a_refit_without_names_forgets_names(fitted):
    model = copy.deepcopy(fitted).fit(ROWS)
    assert not hasattr(model, "feature_names_in_") and model.n_features_in_ == 4


def test_what_others_have_set_stays(fitted):
    model = copy.deepcopy(fitted).set_output(transform="pandas")
    model.note = "mine"
    model.fit(FRAME)
    assert model.note == "mine" and isinstance(model.transform(FRAME), pd.DataFrame)


def test_what_a_fit_sets_is_known_by_name(fitted):
    parameters = set(fitted.get_params())
    assert all(skspc._spc.is_fitted_name(name) for name in set(vars(fitted)) - parameters)
    assert not any(map(skspc._spc.is_fitted_name, parameters))
