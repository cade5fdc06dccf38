"""Recorded steps: on the CPU a tape stands for the CUDA graph; the graph itself is tried where there is a device."""

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import skspc._ensemble.group
import skspc._runtime.steps
from skspc._ensemble.ensemble import Ensemble
from skspc._ensemble.group import MemberGroup
from skspc._ensemble.plan import TrainingPlan
from skspc._method.objectives import Heads, PseudoLabels, Reconstruction
from skspc._method.pseudo_labels import reconstructed_rows
from skspc._runtime.memory import release_memory
from skspc._runtime.modes import reproducible
from skspc._runtime.steps import WARM_UP_STEPS, CudaRecorder, RecordedStep, adam_step, make_step
from skspc.augmentations import AffineAugmentation
from skspc.networks import ConvNetwork, MLPNetwork

CPU = torch.device("cpu")
WAITS_OR_COPIES = (  # which no graph can hold; beside these, a mask as an index
    *("_local_scalar_dense", "nonzero", "lift_fresh", "equal", "unique"),
    *("masked_select", "repeat_interleave", "affine_grid_generator"),
)


class Tape(TorchDispatchMode):
    """Records operations with the memory they read and write, and takes their effects back: as a CUDA graph does."""

    def __init__(self, generators):
        super().__init__()
        self.generators, self.operations, self.before = generators, [], {}

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        name = operation._schema.name.removeprefix("aten::")
        masks = name.startswith("index") and any(tensor.dtype == torch.bool for tensor in tensors_of(args[1]))
        if name.startswith(WAITS_OR_COPIES) or masks:
            raise RuntimeError(f"operation not permitted: {name}")
        for tensor in tensors_of((args, kwargs)):  # of all: batch_norm says of none that it changes it
            memory = tensor.untyped_storage()
            if memory.data_ptr() not in self.before:
                self.before[memory.data_ptr()] = memory, memory.clone()
        returned = operation(*args, **(kwargs or {}))
        self.operations.append((operation, args, kwargs or {}, returned))
        return returned

    def __enter__(self):
        self.states = [generator.get_state() for generator in self.generators]
        return super().__enter__()

    def __exit__(self, *error):
        super().__exit__(*error)
        for generator, state in zip(self.generators, self.states, strict=True):
            generator.set_state(state)
        for memory, before in self.before.values():
            memory.copy_(before)

    @torch.no_grad()
    def replay(self):
        for operation, args, kwargs, returned in self.operations:
            read = {tensor.untyped_storage().data_ptr() for tensor in tensors_of((args, kwargs))}
            again = operation(*args, **kwargs)
            for old, new in zip(tensors_of(returned), tensors_of(again), strict=True):
                if old.untyped_storage().data_ptr() not in read:  # neither a view nor changed in place
                    old.detach().copy_(new)


def tensors_of(tree):
    return [leaf for leaf in tree_leaves(tree) if torch.is_tensor(leaf)]


class TapeRecorder:
    """What `CudaRecorder` is, with a tape."""

    def warm_up(self, function):
        return function()

    def record(self, function, generators):
        with Tape(generators) as tape:
            returned = function()
        return tape.replay, returned


@pytest.fixture
def recorded(monkeypatch):
    """Let members on the CPU train by recorded steps: a list of these."""
    steps = []

    def make_recorded(batch_losses, parameters, learning_rate, generators, precision, recorded):
        if not recorded:
            return make_step(batch_losses, parameters, learning_rate, generators, precision)
        step = adam_step(batch_losses, parameters, learning_rate, CPU, precision)
        steps.append(RecordedStep(step, generators, TapeRecorder()))
        return steps[-1]

    def use():
        monkeypatch.setattr(skspc._ensemble.group, "make_step", make_recorded)
        return steps

    return use


def make_rows(shape, n_rows=24):
    return np.random.default_rng(0).uniform(-1, 1, (n_rows, *shape)).astype(np.float32)


def pseudo_labels_of(X, targets, selected, reconstruction, stage=1):
    return PseudoLabels(X, targets, selected, reconstructed_rows(selected, reconstruction), stage)


def train(network, shape, *, reconstruction="all", augmentation=None, precision=torch.float32, rows=None, device=CPU):
    """Every stage of training: the state, and all losses."""
    X = make_rows(shape) if rows is None else rows
    plan = TrainingPlan(2, 6, 1e-2)  # eight steps, the first three of which are not recorded
    ensemble = Ensemble(network, shape, 0, 2, device, augmentation=augmentation, precision=precision)
    losses = [ensemble.train(Reconstruction(X), plan)]
    ensemble.reset_heads(3)
    targets = np.random.default_rng(1).integers(3, size=(2, len(X)))
    selected = np.random.default_rng(2).random((2, len(X))) < 0.7
    losses += [ensemble.train(pseudo_labels_of(X, targets, selected, reconstruction, 1), plan)]
    losses += [ensemble.train(Heads(ensemble.encode(X), targets[0]), plan)]
    return ensemble.state(), losses


@pytest.mark.parametrize(
    "network, shape, changes",
    [
        (MLPNetwork(latent_size=3, hidden=(8,)), (5,), {}),
        (MLPNetwork(latent_size=3, hidden=(8,)), (5,), {"reconstruction": "none"}),
        (MLPNetwork(latent_size=3, hidden=(8,)), (5,), {"reconstruction": "unagreed"}),
        (MLPNetwork(latent_size=3, hidden=(8,)), (5,), {"precision": torch.bfloat16}),
        (ConvNetwork(latent_size=3, channels=(4, 6)), (1, 8, 8), {}),
        (ConvNetwork(latent_size=3, channels=(4,)), (2, 9, 8), {"augmentation": AffineAugmentation()}),
        (ConvNetwork(latent_size=3, channels=(4,)), (1, 8, 8), {"rows": np.arange(24 * 64, dtype=np.uint8)}),
    ],
)
def test_recorded_steps_train_as_steps_do(network, shape, changes, recorded):
    if "rows" in changes:
        changes = {"rows": changes["rows"].reshape(24, *shape)}
    expected_state, expected_losses = train(network, shape, **changes)
    steps = recorded()
    state, losses = train(network, shape, **changes)
    assert len(steps) == 3 and all(step.replay is not None and step.n_calls == 8 for step in steps)
    assert losses == expected_losses
    for part, expected in expected_state.items():
        for name, value in expected.items():
            assert torch.equal(state[part][name], value), (part, name)


def test_no_gradient_is_left_in_the_memory_of_a_recorded_step(recorded):
    recorded()
    group = MemberGroup(MLPNetwork(latent_size=3, hidden=(8,)), (5,), 0, range(2), CPU)
    list(group.train(Reconstruction(make_rows((5,))), TrainingPlan(2, 6, 1e-2)))
    assert all(parameter.grad is None for parameter in group.autoencoder.parameters())


def waits_for_a_value(x, generator):
    draws = torch.rand(len(x), generator=generator, device=x.device).view(-1, *[1] * (x.ndim - 1))
    return x * draws / draws.max().item()


class ClaimsToBeRecordable:
    is_recordable = True
    __call__ = staticmethod(waits_for_a_value)


class SaysNothing(AffineAugmentation):
    """Its parent can be recorded, but it may do anything."""


@pytest.mark.parametrize("augmentation", [waits_for_a_value, SaysNothing()])
def test_an_augmentation_that_does_not_say_so_is_not_recorded(augmentation, recorded):
    steps = recorded()
    train(ConvNetwork(latent_size=3, channels=(4,)), (1, 8, 8), augmentation=augmentation)
    assert len(steps) == 1  # the heads', which train on latents as they are


def test_a_step_that_cannot_be_recorded_trains_all_the_same_with_a_warning(recorded):
    network, shape = MLPNetwork(latent_size=3, hidden=(8,)), (5,)
    expected_state, expected_losses = train(network, shape, augmentation=waits_for_a_value)
    steps = recorded()
    with pytest.warns(RuntimeWarning, match="could not be recorded as a CUDA graph .*_local_scalar_dense"):
        state, losses = train(network, shape, augmentation=ClaimsToBeRecordable())
    assert [step.replay is None for step in steps] == [True, True, False]
    assert losses == expected_losses
    assert all(torch.equal(state[part][name], value) for part in state for name, value in expected_state[part].items())


def test_running_out_of_memory_while_recording_is_left_to_who_halves_groups():
    class Full(TapeRecorder):
        def record(self, function, generators):
            raise torch.cuda.OutOfMemoryError

    step = RecordedStep(lambda batch, generators: {"loss": batch[0]}, [torch.Generator()], Full())
    for _ in range(WARM_UP_STEPS - 1):
        step(torch.ones(1))
    with pytest.raises(torch.cuda.OutOfMemoryError):
        step(torch.ones(1))


def test_a_short_stage_is_not_recorded(recorded):
    steps = recorded()
    group = MemberGroup(MLPNetwork(latent_size=3, hidden=(8,)), (5,), 0, range(2), CPU)
    list(group.train(Reconstruction(make_rows((5,), n_rows=(WARM_UP_STEPS - 1) * 6)), TrainingPlan(1, 6, 1e-2)))
    assert steps[0].n_calls == WARM_UP_STEPS - 1 and steps[0].replay is None


def test_the_cpu_records_nothing():
    weight = torch.ones(1, requires_grad=True)
    step = make_step(lambda x, generators: {"loss": weight * x}, [weight], 0.1, [torch.Generator()])
    assert not isinstance(step, RecordedStep)
    assert step(torch.ones(1)) == {"loss": torch.ones(1)}
    assert weight.item() == pytest.approx(0.9)  # Adam's first step is as long as the learning rate


cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")


@cuda
@pytest.mark.parametrize(
    "changes", [{}, {"augmentation": AffineAugmentation()}, {"precision": torch.bfloat16}, {"reconstruction": "none"}]
)
def test_a_graph_on_the_device_trains_as_steps_do(changes, monkeypatch):
    device = torch.device("cuda", torch.cuda.device_count() - 1)
    network, shape = ConvNetwork(latent_size=3, channels=(4, 6)), (1, 8, 8)
    with reproducible(device):
        state, losses = train(network, shape, device=device, **changes)  # not to be recorded would be a warning
        monkeypatch.setattr(CudaRecorder, "is_broken", True)
        expected_state, expected_losses = train(network, shape, device=device, **changes)
    assert losses == expected_losses
    assert all(torch.equal(state[part][name], value) for part in state for name, value in expected_state[part].items())


@cuda
def test_a_recording_that_breaks_off_on_the_device_leaves_a_fit_that_ends(monkeypatch):
    monkeypatch.setattr(CudaRecorder, "is_broken", False)
    device = torch.device("cuda", 0)
    with pytest.warns(RuntimeWarning, match="could not be recorded"):
        train(ConvNetwork(latent_size=3), (1, 8, 8), device=device, augmentation=ClaimsToBeRecordable())
    assert CudaRecorder.is_broken
    release_memory(device)
