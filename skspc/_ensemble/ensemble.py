"""The ensemble: K members in groups, which train side by side."""

import warnings
from collections import defaultdict
from dataclasses import replace

import numpy as np
import torch

from .._runtime.devices import training_devices
from .._runtime.jobs import is_distributed, map_side_by_side, run_elsewhere, run_side_by_side
from .._runtime.memory import is_out_of_memory, memory_beside_rows, release_memory
from .group import ROWS_PER_CHUNK, MemberGroup
from .packing import can_be_packed, pack_ensemble, unpack_groups
from .sizing import bytes_of_member, members_at_once, members_per_cpu_group
from .states import join_members, some_members


class Ensemble:
    """K autoencoders with K pseudo-classifiers.

    Members are batched into groups: on the CPU as `sizing` tells, where each group trains in a thread of its own, or
    wherever joblib is configured to run jobs; elsewhere as many as fit into the memory, dealt to all devices. Groups of
    one device train one after the other. What a member becomes does not depend on its group.

    Parameters
    ----------
    network : object with ``build(input_shape, generators)`` and ``noise``
    input_shape : tuple
        Shape of one row as the network takes it.
    seed : int
    n_members : int
    device : torch.device
    batch_size : int, default=256
        Rows in a member's batch, to estimate the memory by.
    n_row_bytes : int, default=0
        Bytes of all rows, which are on the device too if they take no more than half of its memory.
    augmentation : callable, optional
        Of each batch in training; see `skspc.augmentations`.
    precision : torch.dtype, default=torch.float32
        Of the products in training.
    n_jobs : int, optional
        Groups trained at once on the CPU.
    """

    def __init__(
        self,
        network,
        input_shape,
        seed,
        n_members,
        device,
        *,
        batch_size=256,
        n_row_bytes=0,
        augmentation=None,
        precision=torch.float32,
        n_jobs=None,
    ):
        self.seed, self.n_members, self.n_jobs = seed, n_members, n_jobs
        devices = training_devices(device)
        size = n_members
        if device.type == "cpu":
            size = members_per_cpu_group(n_members, input_shape, batch_size, n_jobs or torch.get_num_threads())
        free = [memory_beside_rows(each, n_row_bytes) for each in devices]
        if None not in free:
            n_bytes = bytes_of_member(network, input_shape, batch_size)
            size = members_at_once(n_members, len(devices), n_bytes, min(free))
        firsts = range(0, n_members, size)
        self.groups = [
            MemberGroup(
                network,
                input_shape,
                seed,
                range(first, min(first + size, n_members)),
                devices[index % len(devices)],
                augmentation,
                precision,
            )
            for index, first in enumerate(firsts)
        ]

    @classmethod
    def of_groups(cls, groups):
        """Put together groups that were made before."""
        ensemble = cls.__new__(cls)
        ensemble.seed, ensemble.n_members = groups[0].seed, sum(len(group.members) for group in groups)
        ensemble.groups, ensemble.n_jobs = groups, None
        return ensemble

    def __getstate__(self):
        """Plain values and arrays where that is enough: pickle, joblib and skops then need to know nothing of torch."""
        return pack_ensemble(self) if can_be_packed(self) else {"groups": self.groups}

    def __setstate__(self, state):
        groups = state["groups"] if "groups" in state else unpack_groups(state)
        self.__dict__.update(vars(Ensemble.of_groups(groups)))

    @property
    def latent_size(self) -> int:
        """Latents m of one member."""
        return self.groups[0].autoencoder.latent_size

    @property
    def diverged(self):
        """Members whose last training diverged; they have the weights from before it."""
        return frozenset().union(*(group.diverged for group in self.groups))

    @diverged.setter
    def diverged(self, members):
        for group in self.groups:
            group.diverged = frozenset(members) & frozenset(group.members)

    def reset_heads(self, n_clusters):
        """Draw new pseudo-classifiers."""
        for group in self.groups:
            group.reset_heads(n_clusters)

    def train(self, objective, plan):
        """Lower an objective by a plan: a dict of its losses, each the mean over the members and the last epoch."""
        n_values = plan.batch_size * objective.row_size
        if is_distributed():
            jobs = [(group, replace(objective, X=None), plan) for group in self.groups]
            trained = run_elsewhere(_train_group, objective.X, jobs, n_values, self.n_jobs, self.n_members)
        else:
            by_device = defaultdict(list)
            for index, group in enumerate(self.groups):
                by_device[index if group.device.type == "cpu" else group.device].append(group)
            runs = [_train_in_turn(groups, objective, plan) for groups in by_device.values()]
            returned = run_side_by_side(runs, n_values, self.n_jobs, self.n_members)
            trained = sorted((pair for pairs in returned for pair in pairs), key=lambda pair: pair[0].members[0])
        self.groups = [group for group, _ in trained]
        return _mean_losses([losses for _, losses in trained])

    def encode(self, X):
        """Encode rows (N, *input_shape) in evaluation mode, without noise: (K, N, m).

        Their dtype is that of the rows; float32 of bytes.
        """
        n_values = min(len(X), ROWS_PER_CHUNK) * X[0].size // 3  # a third of a step
        return self._ask_each(lambda group: group.encode(X), n_values)

    def classify(self, latents):
        """Softmax of each head on latents (K, N, m): ndarray (K, N, C)."""
        return self._ask_each(lambda group: group.classify(latents[group.members]), latents[0].size // 3)

    def reconstruction_errors(self, X, latents):
        """l1 distance of rows (N, *input_shape) to what members decode of their latents (K, N, m): ndarray (K, N)."""
        n_values = min(len(X), ROWS_PER_CHUNK) * X[0].size // 3
        return self._ask_each(lambda group: group.reconstruction_errors(X, latents[group.members]), n_values)

    def _ask_each(self, function, n_values):
        """Call a function on each group, several at once; what it returns (K, ...) of all members together."""
        return np.concatenate(map_side_by_side(function, self.groups, n_values, self.n_jobs, self.n_members))

    def state(self):
        """Copy all weights: the states of the modules "autoencoder" and "heads", each of all members together."""
        states = [group.state() for group in self.groups]
        return {part: join_members([state[part] for state in states]) for part in ("autoencoder", "heads")}

    def load_state(self, state):
        """Bring back a `state`, or a part of it; heads only where their number of clusters is settled."""
        for part, of_all in state.items():
            for group in self.groups:
                which = slice(group.members[0], group.members[-1] + 1)
                getattr(group, part).load_state_dict(some_members(of_all, which, self.n_members))

    def to(self, device, dtype=torch.float32):
        """Copy the ensemble to a device and a dtype."""
        return self._with_groups([group.to(device, dtype) for group in self.groups])

    def for_inference(self, device):
        """Copy the ensemble to a device, in dtypes in which a row's result does not depend on the rows beside it."""
        return self._with_groups([group.for_inference(device) for group in self.groups])

    def _with_groups(self, groups):
        ensemble = Ensemble.of_groups(groups)
        ensemble.n_jobs = self.n_jobs
        return ensemble


def _train_group(X, group, objective, plan):
    """Train one group to the end: the group and its losses."""
    run = group.train(replace(objective, X=X), plan)
    while True:
        try:
            next(run)
        except StopIteration as end:
            return group, end.value


def _train_in_turn(groups, objective, plan):
    """Train groups one after the other; a generator that returns pairs of group and losses."""
    trained = []
    for group in groups:
        trained += yield from _train_in_memory(group, objective, plan)
    return trained


def _train_in_memory(group, objective, plan):
    """Train one group, or its halves where the memory runs out."""
    start = group.to(group.device, dtype=None)
    try:
        losses = yield from group.train(objective, plan)
        return [(group, losses)]
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        if len(group.members) == 1:
            raise MemoryError(
                f"{group.device} has too little memory to train one member by itself with batch_size="
                f"{plan.batch_size}. Lower batch_size, choose a smaller network, or pass device='cpu'."
            ) from error
    release_memory(group.device)
    warnings.warn(
        f"{group.device} had too little memory to train {len(group.members)} members at once; training goes on with "
        "half as many at a time.",
        RuntimeWarning,
        stacklevel=2,
    )
    return (yield from _train_in_turn(start.halves(), objective, plan))


def _mean_losses(losses):
    """Mean of each loss over the members of all groups, whose tensors (K,) these are."""
    return {name: float(torch.cat([of_group[name].cpu() for of_group in losses]).mean()) for name in losses[0]}
