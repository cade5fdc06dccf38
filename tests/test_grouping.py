"""Scheduling changes no bit: groups of any size, any number of jobs and any backend make the same members."""

from dataclasses import dataclass

import joblib
import numpy as np
import pytest
import torch

from skspc import SPCClustering
from skspc._ensemble.ensemble import Ensemble
from skspc._ensemble.plan import TrainingPlan
from skspc._method.objectives import Heads, PseudoLabels, Reconstruction
from skspc.augmentations import AffineAugmentation
from skspc.networks import ConvNetwork, MLPNetwork

CPU, N, K, C = torch.device("cpu"), 70, 5, 3


@dataclass
class Case:
    """A network and its input; sizes that fill no vector of a CPU are those that groups could tell apart."""

    network: object
    shape: tuple
    batch_size: int = 32
    augmentation: object = None


CASES = {
    "vectors": Case(MLPNetwork(), (64,)),
    "a few features": Case(MLPNetwork(), (5,)),
    "odd vectors": Case(MLPNetwork(hidden=(33, 7), latent_size=3), (13,), 31),
    "images": Case(ConvNetwork(), (1, 8, 8)),
    "large images": Case(ConvNetwork(channels=(16, 32)), (1, 28, 28)),
    "odd colour images": Case(ConvNetwork(channels=(5, 7)), (3, 9, 13), 33, AffineAugmentation()),
    "augmented images": Case(ConvNetwork(convolutions_per_stage=1), (1, 16, 16), 32, AffineAugmentation()),
}


def train(case, n_jobs=None):
    """Every stage of training, and what is asked afterwards: losses, and arrays by name."""
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, (N, *case.shape)).astype(np.float32)
    labels, agreed = random.integers(C, size=(K, N)), random.random((K, N)) < 0.7
    ensemble = Ensemble(case.network, case.shape, 0, K, CPU, augmentation=case.augmentation, n_jobs=n_jobs)
    ensemble.reset_heads(C)
    plan = TrainingPlan(2, case.batch_size, 1e-2)
    losses = [ensemble.train(Reconstruction(X), plan)]
    losses += [ensemble.train(PseudoLabels(X, labels, agreed, ~agreed, stage=1), plan)]
    losses += [ensemble.train(Heads(ensemble.encode(X), labels[0]), plan)]
    inference = ensemble.for_inference(CPU)
    latents = inference.encode(X.astype(np.float64))
    arrays = {"latents": latents, "probabilities": inference.classify(latents)}
    for part, state in ensemble.state().items():
        arrays |= {f"{part}.{name}": value.numpy() for name, value in state.items()}
    return losses, arrays


def assert_same(one, other):
    for losses, expected in zip(one[0], other[0], strict=True):
        assert losses == pytest.approx(expected, rel=1e-6)  # what is told of the training; nothing goes by it
    assert one[1].keys() == other[1].keys()
    assert [name for name in one[1] if not np.array_equal(one[1][name], other[1][name])] == []


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_members_are_bitwise_the_same_in_groups_of_any_size(case, in_groups_of):
    in_groups_of(1)
    alone = train(case)
    for size in (2, 3, K):
        in_groups_of(size)
        assert_same(train(case), alone)


@pytest.mark.parametrize("case", [CASES["vectors"], CASES["images"]], ids=["vectors", "images"])
def test_jobs_and_backends_change_no_bit(case, in_groups_of):
    torch.set_num_threads(2)
    try:
        expected = train(case)
        assert_same(train(case, n_jobs=1), expected)
        in_groups_of(K)  # one group on two threads: no operation gets both
        assert_same(train(case), expected)
        with joblib.parallel_config("loky", n_jobs=2):
            in_groups_of(3)
            assert_same(train(case), expected)
    finally:
        torch.set_num_threads(1)


@pytest.mark.case("reproducibility", "members trained in groups of another size", origin="umap#1080, #1108")
def test_a_fit_is_the_same_whatever_the_groups(blobs, quick, in_groups_of):
    X, _ = blobs
    fits = []
    for size in (1, 2, 3):
        in_groups_of(size)
        fits.append(SPCClustering(3, **(quick | {"n_estimators": 3})).fit(X))
    for fit in fits[1:]:
        for name in ("labels_", "agreement_", "member_labels_"):
            assert np.array_equal(getattr(fit, name), getattr(fits[0], name))
        assert np.array_equal(fit.predict_proba(X), fits[0].predict_proba(X))


@pytest.mark.parametrize(
    ("case", "batch_size", "n_jobs", "sizes"),
    [
        ("vectors", 32, None, [5]),
        ("vectors", 32, 2, [3, 2]),
        ("vectors", 32, 8, [1] * 5),
        ("vectors", 512, None, [5]),
        ("vectors", 512, 2, [2, 2, 1]),
        ("images", 32, None, [2, 2, 1]),
        ("images", 32, 4, [2, 2, 1]),
        ("images", 32, 5, [1] * 5),
    ],
)
def test_short_steps_on_vectors_have_as_many_groups_as_workers(case, batch_size, n_jobs, sizes):
    case = CASES[case]  # one thread
    ensemble = Ensemble(case.network, case.shape, 0, K, CPU, batch_size=batch_size, n_jobs=n_jobs)
    assert [len(group.members) for group in ensemble.groups] == sizes


def test_more_threads_than_members_are_for_their_operations(monkeypatch):
    seen = []
    forward = torch.nn.LeakyReLU.forward
    monkeypatch.setattr(
        torch.nn.LeakyReLU, "forward", lambda self, x: seen.append(torch.get_num_threads()) or forward(self, x)
    )
    monkeypatch.setattr("skspc._runtime.threads.VALUES_PER_THREAD", 1)
    torch.set_num_threads(4)
    try:
        ensemble = Ensemble(MLPNetwork(), (64,), 0, 2, CPU)
        assert [len(group.members) for group in ensemble.groups] == [1, 1]
        ensemble.train(Reconstruction(np.zeros((40, 64), np.float32)), TrainingPlan(1, 20, 1e-2))
        assert set(seen) == {2}
        seen.clear()
        Ensemble(MLPNetwork(), (64,), 0, 4, CPU).train(
            Reconstruction(np.zeros((40, 64), np.float32)), TrainingPlan(1, 20, 1e-2)
        )
        assert set(seen) == {1}
    finally:
        torch.set_num_threads(1)
