"""Training of K members side by side. Where members are compared, it is in float64 and without noise."""

import copy
from contextlib import nullcontext

import joblib
import numpy as np
import pytest
import torch
import torch.nn.functional as F

import skspc._ensemble.ensemble
import skspc._ensemble.group
import skspc._ensemble.sizing
from skspc._constants import NOISE
from skspc._ensemble.ensemble import Ensemble
from skspc._ensemble.group import ROWS_PER_CHUNK, MemberGroup, Networks
from skspc._ensemble.plan import TrainingPlan, auto_batch_size, plan_training
from skspc._method.objectives import Heads, PseudoLabels, Reconstruction
from skspc._method.pseudo_labels import reconstructed_rows
from skspc._runtime.modes import ordinary_torch_modes
from skspc._runtime.seeding import BATCHES
from skspc.networks import ConvNetwork, MLPNetwork

CPU = torch.device("cpu")
N, N_FEATURES, N_CLUSTERS = 40, 6, 3
PLAN = TrainingPlan(n_epochs=3, batch_size=16, learning_rate=1e-2)
WHOLE = TrainingPlan(n_epochs=1, batch_size=N, learning_rate=1e-2)  # one step, on all rows


def make_rows(n_rows=N, seed=0, dtype=np.float64):
    """Rows on a plane, so that two latents hold them."""
    random = np.random.default_rng(seed)
    return (random.normal(size=(n_rows, 2)) @ random.normal(size=(2, N_FEATURES))).astype(dtype)


def make_ensemble(n_members=2, seed=0, noise=0.0, hidden=(8,), dtype=torch.float64):
    network = MLPNetwork(latent_size=2, hidden=hidden, noise=noise)
    ensemble = Ensemble(network, (N_FEATURES,), seed, n_members, CPU)
    ensemble.reset_heads(N_CLUSTERS)
    return ensemble.to(CPU, dtype)


def make_group(n_members):
    return MemberGroup(MLPNetwork(latent_size=2), (N_FEATURES,), 0, range(n_members), CPU)


def make_targets(n_members=2, seed=0):
    """Pseudo-labels (K, N), and the rows selected: about half."""
    random = np.random.default_rng(seed)
    return random.integers(N_CLUSTERS, size=(n_members, N)), random.random((n_members, N)) < 0.5


def pseudo_labels_of(X, targets, selected, reconstruction, stage=1):
    return PseudoLabels(X, targets, selected, reconstructed_rows(selected, reconstruction), stage)


def encoders(ensemble):
    return ensemble.state()["autoencoder"]


def weights(module):
    return {name: tensor.clone() for name, tensor in module.state_dict().items()}


def are_equal(state, other):
    return state.keys() == other.keys() and all(torch.equal(state[name], other[name]) for name in state)


def parameters_of(module):
    return [parameter.detach().clone() for parameter in module.parameters()]


def outputs(ensemble, X, member=0):
    """What one member makes of rows: latents, reconstruction and probabilities."""
    latents = ensemble.encode(X)
    group = ensemble.groups[member // 2]
    with torch.no_grad():
        decoded = group.autoencoder.decode(torch.as_tensor(latents[group.members]))
    return latents[member], decoded[member % 2].numpy(), ensemble.classify(latents)[member]


def assert_same_outputs(one, other):
    for actual, expected in zip(one, other, strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-7)


# Plan


@pytest.mark.parametrize(
    "n_rows, otherwise, of_small_images",
    [
        (1, 32, 32),
        (33, 32, 32),
        (1023, 32, 32),
        (1024, 64, 64),
        (2047, 64, 64),
        (2048, 128, 64),
        (4095, 128, 64),
        (4096, 256, 64),
        (16_383, 256, 64),
        (16_384, 256, 128),
        (32_767, 256, 128),
        (32_768, 256, 256),
        (1_000_000, 256, 256),
    ],
)
def test_automatic_batch_size_is_a_power_of_two_and_smaller_for_small_images(n_rows, otherwise, of_small_images):
    for shape in (None, (1, 16, 17), (1, 28, 28)):
        assert auto_batch_size(n_rows, shape) == otherwise
    for shape in ((1, 8, 8), (1, 16, 16), (3, 16, 16), (1, 8, 32)):
        assert auto_batch_size(n_rows, shape) == of_small_images


def test_a_batch_is_no_larger_than_the_data():
    assert plan_training(20, 3, 0, 64, 1e-3) == TrainingPlan(3, 20, 1e-3)
    assert plan_training(64, 3, 0, 64, 1e-3).batch_size == 64
    assert plan_training(65, 3, 0, 64, 1e-3).batch_size == 64


@pytest.mark.parametrize(
    "n_rows, batch_size, min_steps, n_epochs",
    [
        (64, 64, 400, 400),
        (65, 64, 400, 400),  # one full batch; the row left over makes none
        (127, 64, 400, 400),
        (128, 64, 400, 200),
        (192, 64, 400, 134),  # 3 steps an epoch: 133 epochs make 399
        (20, 64, 7, 10),
        (64_000, 64, 400, 10),
        (64, 64, 0, 10),
    ],
)
def test_epochs_make_the_steps_asked_for_and_no_more(n_rows, batch_size, min_steps, n_epochs):
    assert plan_training(n_rows, 10, min_steps, batch_size, 1e-3).n_epochs == n_epochs


# Batches


@pytest.mark.parametrize("n_rows, batch_size", [(40, 16), (17, 16), (16, 16), (5, 2)])
def test_batches_are_full_and_hold_no_row_twice(n_rows, batch_size):
    group = make_group(3)
    batches = group._epoch_batches(n_rows, batch_size, group._generators(BATCHES, 1))
    assert batches.shape == (n_rows // batch_size, 3, batch_size)
    for member in range(3):
        rows = batches[:, member].flatten().tolist()
        assert len(set(rows)) == len(rows)
        assert set(rows) <= set(range(n_rows))


def test_members_and_epochs_have_orders_of_their_own():
    group = make_group(3)
    shufflers = group._generators(BATCHES, 1)
    orders = [
        order.flatten().tolist() for _ in range(2) for order in group._epoch_batches(40, 20, shufflers).transpose(0, 1)
    ]
    assert len({tuple(order) for order in orders}) == 6


def test_the_row_left_over_differs_from_epoch_to_epoch():
    group = make_group(1)
    shufflers = group._generators(BATCHES, 1)
    seen = {row for _ in range(20) for row in group._epoch_batches(5, 4, shufflers).flatten().tolist()}
    assert seen == set(range(5))


# Pretraining


def test_pretraining_lowers_the_reconstruction_loss():
    X, ensemble = make_rows(), make_ensemble()
    first = ensemble.train(Reconstruction(X), WHOLE)
    later = ensemble.train(Reconstruction(X), TrainingPlan(100, 16, 1e-2))
    assert first.keys() == {"reconstruction"}
    assert later["reconstruction"] < 0.3 * first["reconstruction"]


def test_the_loss_of_pretraining_is_the_mean_absolute_difference():
    X, ensemble = make_rows(), make_ensemble()
    network = copy.deepcopy(ensemble.groups[0].autoencoder).train()
    x = torch.from_numpy(np.stack([X, X]))
    by_hand = (network.decode(network.encode(x)) - x).abs().mean().item()
    assert ensemble.train(Reconstruction(X), WHOLE)["reconstruction"] == pytest.approx(by_hand)


def test_no_epochs_of_pretraining_change_nothing():
    ensemble = make_ensemble()
    before = encoders(ensemble)
    assert ensemble.train(Reconstruction(make_rows()), TrainingPlan(0, 16, 1e-2)) == {}
    assert are_equal(encoders(ensemble), before)


def test_pretraining_leaves_the_heads_alone():
    ensemble = make_ensemble()
    before = weights(ensemble.groups[0].heads)
    ensemble.train(Reconstruction(make_rows()), PLAN)
    assert are_equal(weights(ensemble.groups[0].heads), before)


def test_a_batch_larger_than_the_data_is_all_of_it():
    X, ensemble, other = make_rows(5), make_ensemble(), make_ensemble()
    ensemble.train(Reconstruction(X), TrainingPlan(2, 64, 1e-2))
    other.train(Reconstruction(X), TrainingPlan(2, 5, 1e-2))
    assert are_equal(encoders(ensemble), encoders(other))


def test_images_are_trained_on_too():
    X = np.random.default_rng(0).uniform(-1, 1, (N, 1, 8, 8)).astype(np.float32)
    ensemble = Ensemble(ConvNetwork(latent_size=4, channels=(4, 6)), (1, 8, 8), 0, 2, CPU)
    ensemble.reset_heads(N_CLUSTERS)
    first = ensemble.train(Reconstruction(X), WHOLE)["reconstruction"]
    assert ensemble.train(Reconstruction(X), TrainingPlan(20, 16, 1e-2))["reconstruction"] < first
    targets, selected = make_targets()
    losses = ensemble.train(pseudo_labels_of(X, targets, selected, "all", 1), PLAN)
    assert losses.keys() == {"pseudo_label", "reconstruction"}
    assert ensemble.encode(X).shape == (2, N, 4)


# Members do not depend on each other


def run_all_stages(n_members, X, targets, selected, reconstruction="unagreed"):
    ensemble = make_ensemble(n_members)
    ensemble.train(Reconstruction(X), PLAN)
    ensemble.train(pseudo_labels_of(X, targets, selected, reconstruction, 1), PLAN)
    ensemble.train(Heads(ensemble.encode(X), np.arange(N) % N_CLUSTERS), PLAN)
    return ensemble


def test_a_member_trains_as_if_alone():
    X, (targets, selected) = make_rows(), make_targets(3)
    alone = run_all_stages(1, X, targets[:1], selected[:1])
    beside_others = run_all_stages(3, X, targets, selected)
    assert_same_outputs(outputs(beside_others, X), outputs(alone, X))


def test_a_member_does_not_see_the_pseudo_labels_of_another():
    X, (targets, selected) = make_rows(), make_targets()
    other_targets, other_selected = targets.copy(), selected.copy()
    other_targets[1], other_selected[1] = 0, True
    one = run_all_stages(2, X, targets, selected)
    other = run_all_stages(2, X, other_targets, other_selected)
    assert_same_outputs(outputs(one, X), outputs(other, X))
    assert not np.allclose(outputs(one, X, member=1)[0], outputs(other, X, member=1)[0])


def test_members_begin_and_end_unlike_each_other():
    X, ensemble = make_rows(), make_ensemble()
    assert not np.allclose(outputs(ensemble, X)[0], outputs(ensemble, X, member=1)[0])
    ensemble.train(Reconstruction(X), PLAN)
    assert not np.allclose(outputs(ensemble, X)[0], outputs(ensemble, X, member=1)[0])


# Pseudo-labels


def train(targets, selected, reconstruction="unagreed", plan=PLAN, stage=1):
    ensemble = make_ensemble()
    losses = ensemble.train(pseudo_labels_of(make_rows(), targets, selected, reconstruction, stage), plan)
    return ensemble, losses


def assert_same_training(one, other):
    assert are_equal(encoders(one), encoders(other))
    assert are_equal(weights(one.groups[0].heads), weights(other.groups[0].heads))


@pytest.mark.parametrize("anything", [NOISE, 0, N_CLUSTERS - 1])
@pytest.mark.parametrize("reconstruction", ["unagreed", "all", "none"])
def test_the_pseudo_labels_of_rows_not_selected_are_not_read(anything, reconstruction):
    targets, selected = make_targets()
    one, _ = train(targets, selected, reconstruction)
    other, _ = train(np.where(selected, targets, anything), selected, reconstruction)
    assert_same_training(one, other)


def test_the_pseudo_labels_of_rows_not_selected_may_be_out_of_range():
    targets, selected = make_targets()
    one, _ = train(targets, selected)
    other, _ = train(np.where(selected, targets, N_CLUSTERS), selected)
    assert_same_training(one, other)


def test_the_pseudo_labels_of_selected_rows_are_read():
    targets, selected = make_targets()
    one, _ = train(targets, selected)
    other, _ = train(np.where(selected, (targets + 1) % N_CLUSTERS, targets), selected)
    assert not are_equal(encoders(one), encoders(other))


def test_pseudo_labels_are_learnt():
    X = make_rows()
    targets = np.tile((X[:, 0] > 0).astype(int), (2, 1))
    ensemble, losses = train(targets, np.ones((2, N), dtype=bool), "all", TrainingPlan(100, 16, 1e-2))
    assert losses["pseudo_label"] < 0.2
    assert (ensemble.classify(ensemble.encode(X)).argmax(axis=2) == targets).mean() > 0.95


@pytest.mark.parametrize("reconstruction", ["unagreed", "all", "none"])
def test_the_losses_are_those_of_equation_2(reconstruction):
    X, (targets, selected) = make_rows(), make_targets()
    before = make_ensemble()
    network, x = before.groups[0].autoencoder.train(), torch.from_numpy(np.stack([X, X]))
    latents = network.encode(x)
    l1 = (network.decode(latents) - x).abs().mean(dim=2)  # (K, N)
    logits, chosen = before.groups[0].heads(latents), torch.tensor(selected)
    cross_entropy = -F.log_softmax(logits, dim=2).gather(2, torch.tensor(targets)[:, :, None])[:, :, 0]
    expected = {"pseudo_label": (cross_entropy * chosen).mean().item()}
    if reconstruction != "none":
        expected["reconstruction"] = (l1 if reconstruction == "all" else l1 * ~chosen).mean().item()
    _, losses = train(targets, selected, reconstruction, WHOLE)
    assert losses == pytest.approx(expected)


def decoder_changes(reconstruction, selected):
    before = parameters_of(make_ensemble().groups[0].autoencoder.decoder)
    ensemble, _ = train(make_targets()[0], selected, reconstruction)
    after = parameters_of(ensemble.groups[0].autoencoder.decoder)
    return not all(torch.equal(*pair) for pair in zip(before, after, strict=True))


@pytest.mark.parametrize(
    "reconstruction, all_selected, changes",
    [
        ("none", False, False),
        ("none", True, False),
        ("unagreed", True, False),
        ("unagreed", False, True),
        ("all", True, True),
        ("all", False, True),
    ],
)
def test_the_decoder_trains_on_the_rows_that_the_mode_names(reconstruction, all_selected, changes):
    assert decoder_changes(reconstruction, np.full((2, N), all_selected)) is changes


def test_unagreed_and_all_are_the_same_where_no_row_is_selected():
    targets, nothing = make_targets()[0], np.zeros((2, N), dtype=bool)
    one, losses = train(targets, nothing, "unagreed")
    other, _ = train(targets, nothing, "all")
    assert_same_training(one, other)
    assert losses["pseudo_label"] == 0


def test_nothing_to_learn_changes_no_parameter():
    before = make_ensemble()
    ensemble, losses = train(make_targets()[0], np.zeros((2, N), dtype=bool), "none")
    assert losses == {"pseudo_label": 0.0}
    for part in ("autoencoder", "heads"):
        modules = [getattr(one.groups[0], part) for one in (before, ensemble)]
        pairs = zip(*map(parameters_of, modules), strict=True)
        assert all(torch.equal(*pair) for pair in pairs)


# Randomness


def test_the_same_seed_makes_the_same_ensemble_and_another_does_not():
    X, ensembles = make_rows(), [make_ensemble(seed=seed, noise=0.3) for seed in (1, 1, 2)]
    for ensemble in ensembles:
        ensemble.train(Reconstruction(X), PLAN)
        ensemble.train(pseudo_labels_of(X, *make_targets(), "all"), PLAN)
    assert_same_training(ensembles[0], ensembles[1])
    assert not are_equal(encoders(ensembles[0]), encoders(ensembles[2]))


def test_stages_have_random_streams_of_their_own():
    one, _ = train(*make_targets(), stage=1)
    other, _ = train(*make_targets(), stage=2)
    assert not are_equal(encoders(one), encoders(other))


def test_torchs_global_state_is_left_alone():
    state = torch.get_rng_state()
    X, ensemble = make_rows(), make_ensemble(noise=0.3)
    ensemble.train(Reconstruction(X), PLAN)
    ensemble.train(pseudo_labels_of(X, *make_targets(), "all"), PLAN)
    ensemble.train(Heads(ensemble.encode(X), np.arange(N) % N_CLUSTERS), PLAN)
    assert torch.equal(torch.get_rng_state(), state)


def test_torchs_global_state_does_not_matter():
    X, ensembles = make_rows(), []
    for seed in (0, 1):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            ensembles.append(make_ensemble(noise=0.3))
            ensembles[-1].train(Reconstruction(X), PLAN)
    assert_same_training(*ensembles)


def test_new_heads_are_drawn_from_the_seed():
    ensemble = make_ensemble(dtype=torch.float32)
    first = weights(ensemble.groups[0].heads)
    ensemble.train(Heads(ensemble.encode(make_rows(dtype=np.float32)), np.arange(N) % N_CLUSTERS), PLAN)
    assert not are_equal(weights(ensemble.groups[0].heads), first)
    ensemble.reset_heads(N_CLUSTERS)
    assert are_equal(weights(ensemble.groups[0].heads), first)
    ensemble.reset_heads(7)
    assert ensemble.classify(np.zeros((2, 1, 2), dtype=np.float32)).shape == (2, 1, 7)


def test_noise_is_in_units_of_each_latents_spread():
    X, ensemble = make_rows(4000), make_ensemble(noise=0.25)
    x = torch.from_numpy(np.stack([X, X]))
    with torch.no_grad():
        clean = ensemble.groups[0].autoencoder.train().encode(x)
        noise = Networks(ensemble.groups[0], [torch.Generator().manual_seed(seed) for seed in (0, 1)]).f(x) - clean
    ratio = (noise.std(dim=1) / clean.std(dim=1)).numpy()
    np.testing.assert_allclose(ratio, np.full((2, 2), 0.25), rtol=0.05)
    np.testing.assert_allclose((noise.mean(dim=1) / clean.std(dim=1)).numpy(), np.zeros((2, 2)), atol=0.02)


def test_noise_makes_training_another():
    X, quiet, noisy = make_rows(), make_ensemble(), make_ensemble(noise=0.3)
    quiet.train(Reconstruction(X), PLAN)
    noisy.train(Reconstruction(X), PLAN)
    assert not are_equal(encoders(quiet), encoders(noisy))


# Encoding and classifying


def test_encoding_changes_nothing_and_repeats():
    X, ensemble = make_rows(), make_ensemble(noise=0.3)
    ensemble.train(Reconstruction(X), PLAN)
    before = encoders(ensemble)
    latents = ensemble.encode(X)
    assert latents.tolist() == ensemble.encode(X).tolist()
    assert are_equal(encoders(ensemble), before)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_latents_are_numpy_of_the_dtype_of_the_rows(dtype):
    latents = make_ensemble(dtype=dtype).encode(make_rows(dtype=str(dtype).removeprefix("torch.")))
    assert isinstance(latents, np.ndarray)
    assert latents.shape == (2, N, 2)
    assert latents.dtype == {torch.float32: np.float32, torch.float64: np.float64}[dtype]


def test_all_members_encode_the_same_rows():
    X, ensemble = make_rows(), make_ensemble()
    with torch.no_grad():
        expected = ensemble.groups[0].autoencoder.eval().encode(torch.from_numpy(np.stack([X, X])))
    np.testing.assert_allclose(ensemble.encode(X), expected.numpy(), rtol=1e-12)


@pytest.mark.parametrize("rows_per_chunk", [1, 7, N - 1, N, N + 1])
def test_latents_do_not_depend_on_chunks(monkeypatch, rows_per_chunk):
    X, ensemble = make_rows(), make_ensemble()
    ensemble.train(Reconstruction(X), PLAN)
    expected = ensemble.encode(X)
    monkeypatch.setattr(skspc._ensemble.group, "ROWS_PER_CHUNK", rows_per_chunk)
    np.testing.assert_allclose(ensemble.encode(X), expected, rtol=1e-10, atol=1e-12)


def test_many_rows_are_encoded_in_order():
    X, ensemble = make_rows(1100), make_ensemble()
    latents = ensemble.encode(X)
    np.testing.assert_allclose(latents[:, [0, 511, 512, 1099]], ensemble.encode(X[[0, 511, 512, 1099]]), rtol=1e-10)


def test_training_goes_on_in_training_mode_after_encoding():
    X, ensemble, other = make_rows(), make_ensemble(), make_ensemble()
    ensemble.encode(X)
    ensemble.train(Reconstruction(X), PLAN)
    other.train(Reconstruction(X), PLAN)
    assert are_equal(encoders(ensemble), encoders(other))


def test_probabilities_are_a_softmax_of_the_heads():
    ensemble = make_ensemble()
    latents = np.random.default_rng(0).normal(size=(2, 5, 2))
    logits = ensemble.groups[0].heads(torch.tensor(latents)).detach().numpy()
    expected = np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)
    np.testing.assert_allclose(ensemble.classify(latents), expected, rtol=1e-12)


# Heads


def test_training_heads_leaves_encoders_and_decoders_alone():
    X, ensemble = make_rows(), make_ensemble()
    before = encoders(ensemble)
    losses = ensemble.train(Heads(ensemble.encode(X), np.arange(N) % N_CLUSTERS), PLAN)
    assert are_equal(encoders(ensemble), before)
    assert losses.keys() == {"pseudo_label"}


def test_heads_learn_labels_of_latents():
    labels = np.arange(N) % N_CLUSTERS
    centers = np.array([[0, 3], [3, -3], [-3, -3]])
    latents = centers[labels] + 0.1 * np.random.default_rng(0).normal(size=(2, N, 2))
    ensemble = make_ensemble()
    ensemble.train(Heads(latents, labels), TrainingPlan(60, 16, 1e-2))
    assert (ensemble.classify(latents).argmax(axis=2) == labels).all()


def test_noise_rows_are_left_out_of_the_training_of_heads():
    labels, latents = np.arange(N) % N_CLUSTERS, np.random.default_rng(0).normal(size=(2, N, 2))
    labels[::4] = NOISE
    one, other = make_ensemble(), make_ensemble()
    one.train(Heads(latents, labels), PLAN)
    latents[:, ::4] = np.nan
    other.train(Heads(latents, labels), PLAN)
    assert are_equal(weights(one.groups[0].heads), weights(other.groups[0].heads))


def test_one_row_is_enough_for_heads():
    ensemble = make_ensemble()
    ensemble.train(Heads(np.ones((2, 2, 2)), np.array([1, NOISE])), TrainingPlan(50, 16, 1e-1))
    assert (ensemble.classify(np.ones((2, 1, 2))).argmax(axis=2) == 1).all()


# Copies


def test_a_snapshot_is_brought_back():
    X, ensemble = make_rows(), make_ensemble()
    ensemble.train(Reconstruction(X), PLAN)
    latents, state = ensemble.encode(X), encoders(ensemble)
    ensemble.train(Reconstruction(X), PLAN)
    assert not np.allclose(ensemble.encode(X), latents)
    ensemble.load_state({"autoencoder": state})
    assert ensemble.encode(X).tolist() == latents.tolist()


def test_a_snapshot_does_not_follow_training():
    X, ensemble = make_rows(), make_ensemble()
    state = encoders(ensemble)
    kept = copy.deepcopy(state)
    ensemble.train(Reconstruction(X), PLAN)
    ensemble.load_state({"autoencoder": state})
    ensemble.train(Reconstruction(X), PLAN)
    assert are_equal(state, kept)


def test_a_copy_in_float64_leaves_the_original_alone():
    X, ensemble = make_rows(dtype=np.float32), make_ensemble(dtype=torch.float32)
    before, heads = encoders(ensemble), weights(ensemble.groups[0].heads)
    double = ensemble.to(CPU, torch.float64)
    np.testing.assert_allclose(double.encode(X.astype(float)), ensemble.encode(X), rtol=1e-4, atol=1e-5)
    double.train(Reconstruction(X.astype(float)), PLAN)
    double.train(Heads(double.encode(X.astype(float)), np.arange(N) % N_CLUSTERS), PLAN)
    double.reset_heads(7)
    assert {tensor.dtype for tensor in double.groups[0].autoencoder.parameters()} == {torch.float64}
    assert {tensor.dtype for tensor in ensemble.groups[0].autoencoder.parameters()} == {torch.float32}
    assert are_equal(encoders(ensemble), before)
    assert are_equal(weights(ensemble.groups[0].heads), heads)


# Groups


LONG_STEP = skspc._ensemble.sizing.SHORT_STEP // N_FEATURES + 1  # rows


@pytest.mark.parametrize(
    "device, batch_size, sizes",
    [
        (
            "cpu",
            64,
            {1: [1], 2: [2], 3: [2, 1], 5: [2, 2, 1], 6: [2, 2, 2], 7: [3, 3, 1], 9: [3, 3, 3], 10: [3, 3, 3, 1]},
        ),
        ("cpu", LONG_STEP, {5: [2, 2, 1], 9: [2, 2, 2, 2, 1]}),
        ("meta", 64, {1: [1], 5: [5], 9: [9]}),
    ],
)
def test_members_on_images_are_few_in_a_group_on_the_cpu_and_together_elsewhere(device, batch_size, sizes):
    shape = (1, 1, N_FEATURES)
    for n_members, expected in sizes.items():
        groups = Ensemble(NoWeights(), shape, 0, n_members, torch.device(device), batch_size=batch_size).groups
        assert [len(group.members) for group in groups] == expected
        assert [member for group in groups for member in group.members] == list(range(n_members))


class NoWeights:
    """A network of nothing, for any device."""

    noise = 0.0

    def build(self, input_shape, generators):
        return torch.nn.Identity()


@pytest.mark.parametrize("noise", [0.0, 0.5])
@pytest.mark.case("reproducibility", "training on one thread and on many", origin="umap#1080, #1108")
def test_the_number_of_threads_changes_nothing(noise):
    X, (targets, selected) = make_rows(), make_targets(5)
    states, losses = [], []
    for n_threads in (1, 2):
        torch.set_num_threads(n_threads)
        try:
            ensemble = make_ensemble(5, noise=noise)
            losses.append(ensemble.train(Reconstruction(X), PLAN))
            losses.append(ensemble.train(pseudo_labels_of(X, targets, selected, "all", 1), PLAN))
            states.append(encoders(ensemble))
        finally:
            torch.set_num_threads(1)
    assert are_equal(states[0], states[1])
    assert losses[:2] == losses[2:]


@pytest.mark.usefixtures("in_pairs")
def test_groups_have_noise_of_their_own():
    ensemble = make_ensemble(4, noise=0.5)
    same_weights = ensemble.groups[0].autoencoder.state_dict()
    ensemble.groups[1].autoencoder.load_state_dict(same_weights)
    ensemble.train(Reconstruction(make_rows()), WHOLE)  # all rows in one batch: groups differ by order and noise alone
    first, second = (weights(group.autoencoder) for group in ensemble.groups)
    assert not are_equal(first, second)


@pytest.mark.usefixtures("in_pairs")
def test_results_are_in_the_order_of_members():
    X, ensemble = make_rows(), make_ensemble(5)
    latents = ensemble.encode(X)
    assert latents.shape == (5, N, 2)
    np.testing.assert_array_equal(latents[4], ensemble.groups[2].encode(X)[0])
    np.testing.assert_array_equal(ensemble.classify(latents)[3], ensemble.groups[1].classify(latents[2:4])[1])


def on_meta(n_devices):
    return [torch.device("meta", i) for i in range(n_devices)]


def test_members_are_dealt_to_all_devices(monkeypatch):
    monkeypatch.setattr(
        skspc._ensemble.ensemble, "training_devices", lambda device: [torch.device("meta", i) for i in range(3)]
    )
    monkeypatch.setattr(skspc._ensemble.ensemble, "bytes_of_member", lambda network, shape, batch_size: 1)
    monkeypatch.setattr(skspc._ensemble.ensemble, "memory_beside_rows", lambda device, n_bytes: 2**40)
    groups = Ensemble(NoWeights(), (N_FEATURES,), 0, 8, torch.device("meta")).groups
    assert [(group.device.index, list(group.members)) for group in groups] == [
        (0, [0, 1, 2]),
        (1, [3, 4, 5]),
        (2, [6, 7]),
    ]


@pytest.mark.case(
    "plumbing", "more members than fit into the memory of a GPU", origin="sentence-transformers#1323; deepcluster#38"
)
def test_members_are_split_into_groups_that_fit_into_the_memory(monkeypatch):
    monkeypatch.setattr(
        skspc._ensemble.ensemble, "training_devices", lambda device: [torch.device("meta", i) for i in range(2)]
    )
    monkeypatch.setattr(skspc._ensemble.ensemble, "bytes_of_member", lambda network, shape, batch_size: 10 * batch_size)
    free = [200, 160]  # 80 % of 160: 2 of 60
    monkeypatch.setattr(skspc._ensemble.ensemble, "memory_beside_rows", lambda device, n_bytes: free[device.index])
    groups = Ensemble(NoWeights(), (N_FEATURES,), 0, 5, torch.device("meta"), batch_size=6).groups
    assert [(group.device.index, list(group.members)) for group in groups] == [(0, [0, 1]), (1, [2, 3]), (0, [4])]


def one_group(n_members, noise=0.0):
    """An ensemble of a single group, as on a GPU."""
    ensemble = make_ensemble(n_members, noise=noise)
    whole = MemberGroup(ensemble.groups[0].network, (N_FEATURES,), 0, range(n_members), CPU)
    whole.reset_heads(N_CLUSTERS)
    ensemble.groups = [whole.to(CPU, torch.float64)]
    return ensemble


def test_halves_have_the_members_of_the_whole():
    whole = one_group(5).groups[0]
    halves = whole.halves()
    X, latents = make_rows(), make_ensemble(5).encode(make_rows())
    assert [half.members for half in halves] == [range(0, 2), range(2, 5)]
    encoded = np.concatenate([half.to(CPU, torch.float64).encode(X) for half in halves])
    classified = [half.to(CPU, torch.float64).classify(latents[half.members]) for half in halves]
    np.testing.assert_allclose(encoded, whole.encode(X), rtol=1e-6)
    np.testing.assert_allclose(np.concatenate(classified), whole.classify(latents), rtol=1e-6)


def test_halves_of_convolutional_members():
    X = np.random.default_rng(0).uniform(-1, 1, (20, 1, 8, 8)).astype(np.float32)
    whole = MemberGroup(ConvNetwork(latent_size=4, channels=(4, 6)), (1, 8, 8), 0, range(3), CPU)
    list(
        whole.train(Reconstruction(X), TrainingPlan(1, 10, 1e-2))
    )  # so that the running means are not those of a new network
    encoded = np.concatenate([half.encode(X) for half in whole.halves()])
    np.testing.assert_allclose(encoded, whole.encode(X), rtol=1e-4, atol=1e-6)


def too_large_above(n_members, monkeypatch, error=torch.cuda.OutOfMemoryError):
    """Let training run out of memory, some steps into a stage, with more members at once than this."""
    train = MemberGroup.train

    def limited(group, *arguments):
        run = train(group, *arguments)
        next(run)
        if len(group.members) > n_members:
            raise error
        return (yield from run)

    monkeypatch.setattr(MemberGroup, "train", limited)


@pytest.mark.case(
    "plumbing", "a GPU that runs out of memory in training", origin="sentence-transformers#1323; deepcluster#38"
)
@pytest.mark.parametrize(
    "error",
    [torch.cuda.OutOfMemoryError(), RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate")],
)
@pytest.mark.usefixtures("in_pairs")
def test_a_group_that_runs_out_of_memory_trains_on_in_halves(error, monkeypatch):
    X, (targets, selected) = make_rows(), make_targets(5)
    expected, halved = make_ensemble(5), one_group(5)
    losses = expected.train(Reconstruction(X), PLAN)
    too_large_above(2, monkeypatch, error)
    with pytest.warns(RuntimeWarning, match="members at once; training goes on with half as many") as caught:
        assert halved.train(Reconstruction(X), PLAN) == pytest.approx(losses)
    assert [group.members for group in halved.groups] == [range(0, 2), range(2, 3), range(3, 5)]
    assert [str(warning.message).split()[7] for warning in caught] == ["5", "3"]
    np.testing.assert_allclose(halved.encode(X), expected.encode(X), rtol=1e-6, atol=1e-9)
    before = encoders(halved)
    assert are_equal(before, encoders(make_halved_like(halved)))
    halved.train(pseudo_labels_of(X, targets, selected, "all", 1), PLAN)  # fits now, without a warning
    expected.train(pseudo_labels_of(X, targets, selected, "all", 1), PLAN)
    np.testing.assert_allclose(halved.encode(X), expected.encode(X), rtol=1e-6, atol=1e-9)


def make_halved_like(ensemble):
    """An ensemble of pairs with the weights of another, whose groups are other ones."""
    pairs = make_ensemble(ensemble.n_members)
    pairs.load_state(ensemble.state())
    return pairs


def test_a_snapshot_fits_other_groups_of_the_same_members():
    X, whole, pairs = make_rows(), one_group(5), make_ensemble(5, seed=1)
    whole.train(Reconstruction(X), PLAN)
    pairs.load_state({"autoencoder": encoders(whole)})
    np.testing.assert_allclose(pairs.encode(X), whole.encode(X), rtol=1e-6, atol=1e-9)
    state = pairs.state()
    whole.load_state(state)
    assert are_equal(whole.state()["heads"], state["heads"])


def test_a_single_group_is_all_members():
    ensemble = make_ensemble(2)
    assert are_equal(encoders(ensemble), weights(ensemble.groups[0].autoencoder))


@pytest.mark.case("plumbing", "a GPU with too little memory for one member", origin="kmcuda#21")
def test_one_member_that_runs_out_of_memory_says_what_to_lower(monkeypatch):
    too_large_above(0, monkeypatch)
    with pytest.raises(
        MemoryError, match="too little memory to train one member by itself with batch_size=16. Lower batch_size"
    ):
        make_ensemble(1).train(Reconstruction(make_rows()), PLAN)


# Jobs elsewhere


def test_groups_train_in_other_processes_as_they_do_here():
    X, (targets, selected) = make_rows(), make_targets(5)
    trained = []
    for backend in ("threading", "loky"):
        ensemble = make_ensemble(5, noise=0.3)
        with joblib.parallel_config(backend, n_jobs=2):
            losses = ensemble.train(Reconstruction(X), PLAN)
            more = ensemble.train(pseudo_labels_of(X, targets, selected, "all", 1), PLAN)
        trained.append((encoders(ensemble), losses, more))
    assert are_equal(trained[0][0], trained[1][0])
    assert trained[0][1:] == trained[1][1:]


# Bytes, precision


def test_bytes_of_images_train_as_their_scaled_values_do():
    X = np.random.default_rng(0).integers(0, 256, (N, 1, 8, 8)).astype(np.uint8)
    ensembles = [Ensemble(ConvNetwork(latent_size=4, channels=(4,)), (1, 8, 8), 0, 2, CPU) for _ in range(2)]
    scaled = (X / 127.5 - 1).astype(np.float32)
    latents = ensembles[0].encode(X)
    np.testing.assert_allclose(latents, ensembles[0].encode(scaled), rtol=1e-4, atol=1e-6)
    assert latents.dtype == np.float32
    losses = ensembles[0].train(Reconstruction(X), PLAN)
    assert losses == pytest.approx(ensembles[1].train(Reconstruction(scaled), PLAN), rel=0.01)


@pytest.mark.parametrize("modes", [nullcontext, ordinary_torch_modes])  # a fit trains inside the latter
def test_bfloat16_trains_nearly_as_float32_does(modes):
    X, network = make_rows(dtype=np.float32), MLPNetwork(latent_size=2, hidden=(8,), noise=0.0)
    ensembles = [
        Ensemble(network, (N_FEATURES,), 0, 2, CPU, precision=precision)
        for precision in (torch.float32, torch.bfloat16)
    ]
    with modes():
        losses = [ensemble.train(Reconstruction(X), PLAN)["reconstruction"] for ensemble in ensembles]
    assert losses[0] != losses[1]
    assert losses[0] == pytest.approx(losses[1], rel=0.05)
    assert ensembles[1].encode(X).dtype == np.float32


@pytest.mark.parametrize("n_members", [1, 2, 3])
@pytest.mark.parametrize("shape", [(1, 8, 8), (1, 9, 13), (3, 16, 16)])
def test_at_inference_an_image_does_not_depend_on_the_images_beside_it(n_members, shape):
    X = np.random.default_rng(0).uniform(-1, 1, (ROWS_PER_CHUNK + 1, *shape))
    ensemble = Ensemble(ConvNetwork(latent_size=4), shape, 0, n_members, CPU)
    ensemble.reset_heads(N_CLUSTERS)
    ensemble = ensemble.for_inference(CPU)
    whole = ensemble.encode(X)
    order = np.random.default_rng(1).permutation(len(X))
    np.testing.assert_allclose(ensemble.encode(X[order]), whole[:, order], rtol=0, atol=1e-12)
    for rows in (slice(0, 1), slice(3, 5), slice(7, 107), slice(ROWS_PER_CHUNK, None)):
        np.testing.assert_allclose(ensemble.encode(X[rows]), whole[:, rows], rtol=0, atol=1e-12)
        np.testing.assert_allclose(
            ensemble.classify(whole[:, rows]), ensemble.classify(whole)[:, rows], rtol=0, atol=1e-12
        )


def test_inference_leaves_the_ensemble_as_it_was():
    ensemble = make_ensemble(dtype=torch.float32)
    copy_of_it = ensemble.for_inference(CPU)
    assert {p.dtype for p in copy_of_it.groups[0].autoencoder.parameters()} == {torch.float64}
    assert {p.dtype for p in ensemble.groups[0].autoencoder.parameters()} == {torch.float32}


def test_a_network_that_does_not_hold_its_members_one_after_the_other():
    class Shared(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(5, 2))

    class Network:
        noise = 0.0

        def build(self, input_shape, generators):
            return Shared()

    with pytest.raises(
        ValueError, match=r"network builds 'mean' of shape \(5, 2\) for 2 members.*give it 2 equal parts"
    ):
        Ensemble(Network(), (N_FEATURES,), 0, 2, CPU)
    assert len(Ensemble(Network(), (N_FEATURES,), 0, 1, CPU).groups) == 1


# Members whose training diverges


def spoil(member, monkeypatch):
    """Let the last step of training leave NaN in one member of the first group."""
    losses = Reconstruction.losses

    def spoiled(objective, networks, x):
        found = losses(objective, networks, x)
        if member in networks.group.members:
            found["reconstruction"][member - networks.group.members[0]] *= float("nan")
        return found

    monkeypatch.setattr(Reconstruction, "losses", spoiled)


def test_a_member_whose_loss_is_nan_keeps_its_weights_and_the_others_train(monkeypatch):
    X, expected, ensemble = make_rows(), make_ensemble(4), make_ensemble(4)
    untrained = ensemble.encode(X)
    expected.train(Reconstruction(X), PLAN)
    assert expected.diverged == frozenset()
    spoil(3, monkeypatch)
    ensemble.train(Reconstruction(X), PLAN)
    assert ensemble.diverged == {3}
    latents = ensemble.encode(X)
    np.testing.assert_array_equal(latents[3], untrained[3])
    np.testing.assert_allclose(latents[:3], expected.encode(X)[:3], rtol=1e-6)


def test_a_lost_member_can_come_back(monkeypatch):
    X, (targets, selected) = make_rows(), make_targets(2)
    ensemble = make_ensemble()
    with monkeypatch.context() as patch:
        spoil(0, patch)
        ensemble.train(Reconstruction(X), PLAN)
    assert ensemble.diverged == {0}
    ensemble.train(pseudo_labels_of(X, targets, selected, "all", 1), PLAN)
    assert ensemble.diverged == frozenset()
