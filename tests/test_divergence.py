"""Losses that turn NaN: one member costs one vote and not the fit; all members are an error with the cause."""

from types import MethodType

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from skspc import SPCClustering
from skspc.metrics import clustering_accuracy
from skspc.networks import MLPNetwork
from skspc.networks._mlp import MLPAutoencoder

pytestmark = pytest.mark.usefixtures("in_pairs")

DIVERGENCE = "numerical failure"
SHORT = {"n_estimators": 3, "pretrain_epochs": 10, "epochs": 2, "random_state": 0, "reducer": None}
WIDE, _ = make_blobs(200, 8, centers=3, cluster_std=4.0, random_state=3)  # not all agreed after pretraining


class Spoiled(MLPNetwork):
    """Autoencoders whose reconstruction becomes NaN after some batches, in groups of ``n_members``.

    Of three members in pairs, the third is in a group of its own: ``n_members=1`` spoils it alone.
    """

    def __init__(self, n_members=1, after=0, latent_size="auto", hidden=(256, 256), noise=0.1):
        super().__init__(latent_size, hidden, noise)
        self.n_members = n_members
        self.after = after

    def build(self, input_shape, generators):
        autoencoder = super().build(input_shape, generators)
        batches = []

        def spoiled(module, z):
            batches.append(1)
            decoded = type(module).decode(module, z)
            return decoded * float("nan") if len(batches) > self.after else decoded

        if self.n_members in (len(generators), "all"):
            autoencoder.decode = MethodType(spoiled, autoencoder)  # a copy of the module has it of its own
        return autoencoder


LOST = {"space": 2, "reason": "training diverged"}


@pytest.mark.parametrize("clusterer", ["kmeans", "hdbscan"])
@pytest.mark.case(DIVERGENCE, "one of three members whose loss is NaN from the first batch")
def test_one_lost_member_costs_one_vote(blobs, clusterer):
    X, y = blobs
    model = SPCClustering(3, network=Spoiled(), clusterer=clusterer, **SHORT).fit(X)
    first = model.history_[0]
    assert first["left_out"] == [LOST]
    assert first["n_labellings"] == 3  # two members, and their latents side by side
    assert len(model.member_labels_) == 3 * model.n_iter_
    assert clustering_accuracy(y, model.labels_) == 1.0
    probabilities = model.predict_proba(X)
    assert np.isfinite(probabilities).all()
    assert clustering_accuracy(y, probabilities.argmax(axis=1)) > 0.98


@pytest.mark.case(DIVERGENCE, "one of three members whose loss turns NaN in a round")
def test_a_member_lost_in_a_round_votes_until_then():
    n_batches = 10 * (200 // 32)  # of pretraining
    model = SPCClustering(3, network=Spoiled(after=n_batches + 1), clusterer="kmeans", max_iter=2, **SHORT).fit(WIDE)
    assert [row["left_out"] for row in model.history_] == [[], [LOST], [LOST]]
    assert model.history_[1]["n_labellings"] == 3
    assert np.isfinite(model.predict_proba(WIDE)).all()
    assert np.isfinite(model.transform(WIDE)).all()


@pytest.mark.case(DIVERGENCE, "two of three members lost")
def test_one_member_left_goes_on_alone(blobs):
    model = SPCClustering(3, network=Spoiled(n_members=2), clusterer="kmeans", max_iter=0, **SHORT).fit(blobs[0])
    assert [entry["space"] for entry in model.history_[0]["left_out"]] == [0, 1, 3]
    assert len(model.member_labels_) == 1
    assert np.array_equal(np.unique(model.labels_), [0, 1, 2])


class NoLatents(MLPAutoencoder):
    """Trains as any other, and then encodes to NaN."""

    def encode(self, x):
        latents = super().encode(x)
        return latents if self.training else latents * float("nan")


class EncodesToNaN(MLPNetwork):
    def build(self, input_shape, generators):
        autoencoder = super().build(input_shape, generators)
        if len(generators) == 1:
            autoencoder.__class__ = NoLatents
        return autoencoder


@pytest.mark.case(DIVERGENCE, "one of three members that encodes to NaN with finite weights")
def test_a_member_without_latents_does_not_spoil_predictions(blobs):
    X, y = blobs
    model = SPCClustering(3, network=EncodesToNaN(), clusterer="kmeans", **SHORT).fit(X)
    assert model.history_[0]["left_out"] == [LOST]
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert clustering_accuracy(y, model.predict(X)) > 0.98


@pytest.mark.case(DIVERGENCE, "all members lost before the first clustering")
def test_all_members_lost_is_an_error_with_the_cause(blobs):
    with pytest.raises(FloatingPointError, match=r"every member .* Lower learning_rate, or scale the data"):
        SPCClustering(3, network=Spoiled("all"), clusterer="kmeans", **SHORT).fit(blobs[0])


@pytest.mark.case(DIVERGENCE, "all members lost in a round")
def test_all_members_lost_in_a_round_leave_the_rounds_before():
    network = Spoiled("all", after=10 * (200 // 32) + 1)
    with pytest.warns(ConvergenceWarning, match="Training diverged: .* The result is that of the rounds before"):
        model = SPCClustering(3, network=network, clusterer="kmeans", **SHORT).fit(WIDE)
    assert model.n_iter_ == 1
    assert np.array_equal(np.unique(model.labels_), [0, 1, 2])
    assert np.isfinite(model.predict_proba(WIDE)).all()


@pytest.mark.parametrize("learning_rate", [1e30, 1e38])
@pytest.mark.parametrize("n_estimators", [1, 3])
@pytest.mark.case(DIVERGENCE, "learning rates of 1e30 and 1e38, for one member and for three")
def test_a_learning_rate_far_too_high_is_named(blobs, learning_rate, n_estimators):
    settings = {**SHORT, "n_estimators": n_estimators, "learning_rate": learning_rate}
    with pytest.raises(FloatingPointError, match="Lower learning_rate"):
        SPCClustering(3, clusterer="kmeans", **settings).fit(blobs[0])
