"""The ensemble: K members in groups, which train side by side."""

import math
import warnings
from collections import defaultdict

import numpy as np
import torch

from ._device import memory_beside_rows, release_memory, training_devices
from ._members import ROWS_PER_CHUNK, MemberGroup, join_members, some_members
from ._memory import bytes_of_member, members_at_once
from ._packing import can_be_packed, pack_groups, unpack_groups
from ._workers import map_side_by_side, run_elsewhere, run_side_by_side, works_elsewhere

MEMBERS_PER_CPU_GROUP = 2
# Where a step is short, three: with 15 members a fifth faster, on 64 features and on images of 8 x 8, on batches of 64.
# On batches of 256 images of 16 x 16 it is a tenth slower.
MEMBERS_OF_SHORT_STEPS = 3
SHORT_STEP = 16_384  # values in one member's batch


class Ensemble:
    """K autoencoders with K pseudo-classifiers.

    Members are batched into groups, by their number, the size of a batch and the devices alone: two or three on the
    CPU, where each group trains in a thread of its own, or wherever joblib is configured to run jobs; elsewhere as many
    as fit into the memory, dealt to all devices. Groups of one device train one after the other.

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
            size = members_per_cpu_group(n_members, batch_size * math.prod(input_shape))
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
        return pack_groups(self.groups) if can_be_packed(self.groups) else {"groups": self.groups}

    def __setstate__(self, state):
        groups = state["groups"] if "groups" in state else unpack_groups(state)
        self.__dict__.update(vars(Ensemble.of_groups(groups)))

    @property
    def latent_size(self):
        """Latents m of one member."""
        return self.groups[0].autoencoder.latent_size

    @property
    def lost(self):
        """Members whose last training diverged; they have the weights from before it."""
        return frozenset().union(*(group.lost for group in self.groups))

    @lost.setter
    def lost(self, members):
        for group in self.groups:
            group.lost = frozenset(members) & frozenset(group.members)

    def reset_heads(self, n_clusters):
        """Draw new pseudo-classifiers."""
        for group in self.groups:
            group.reset_heads(n_clusters)

    def pretrain(self, X, plan):
        """Train the autoencoders by reconstruction.

        Parameters
        ----------
        X : ndarray of shape (N, *input_shape)
        plan : TrainingPlan

        Returns
        -------
        losses : dict
            "reconstruction": l1 loss, mean over the members and the last epoch.
        """
        return self._train("pretrain", X, lambda group: (plan,), plan)

    def train_on_pseudo_labels(self, X, targets, selected, reconstruction, plan, stage):
        """Train encoders, decoders and heads on the paper's Eq. (2).

        Parameters
        ----------
        X : ndarray of shape (N, *input_shape)
        targets : ndarray of shape (K, N), int
            Pseudo-labels; not read where ``selected`` is False.
        selected : ndarray of shape (K, N), bool
            Rows trained on their pseudo-label.
        reconstruction : {"unagreed", "all", "none"}
            Rows trained by reconstruction: those not selected (the paper), all, or none.
        plan : TrainingPlan
        stage : int
            Number of the round, from 1; it tells the random streams apart.

        Returns
        -------
        losses : dict
            "pseudo_label" and "reconstruction", mean over the members and the last epoch.
        """

        def arguments(group):
            return targets[group.members], selected[group.members], reconstruction, plan, stage

        return self._train("train_on_pseudo_labels", X, arguments, plan)

    def train_heads(self, latents, labels, plan):
        """Train the heads on frozen latents (K, N, m) and labels (N,); noise rows are left out."""
        n_values = plan.batch_size * latents.shape[2] * len(self.groups[0].members)
        runs = [group.train_heads(latents[group.members], labels, plan) for group in self.groups]
        return _mean_losses(run_side_by_side(runs, n_values, self.n_jobs))

    def _train(self, method, X, arguments, plan):
        """Train each group by one of its methods on X and ``arguments(group)``: mean of each loss over all members."""
        n_values = plan.batch_size * X[0].size * len(self.groups[0].members)
        if works_elsewhere():
            jobs = [(group, method, *arguments(group)) for group in self.groups]
            trained = run_elsewhere(_train_group, X, jobs, n_values, self.n_jobs)
        else:
            by_device = defaultdict(list)
            for index, group in enumerate(self.groups):
                by_device[index if group.device.type == "cpu" else group.device].append(group)
            runs = [_train_in_turn(groups, method, X, arguments, plan) for groups in by_device.values()]
            trained = [pair for pairs in run_side_by_side(runs, n_values, self.n_jobs) for pair in pairs]
            trained.sort(key=lambda pair: pair[0].members[0])
        self.groups = [group for group, _ in trained]
        return _mean_losses([losses for _, losses in trained])

    def encode(self, X):
        """Encode rows in evaluation mode, without noise.

        Parameters
        ----------
        X : ndarray of shape (N, *input_shape)

        Returns
        -------
        latents : ndarray of shape (K, N, m), of X's dtype; float32 of bytes
        """
        n_values = min(len(X), ROWS_PER_CHUNK) * X[0].size * len(self.groups[0].members) // 3  # a third of a step
        latents = map_side_by_side(lambda group: group.encode(X), self.groups, n_values, self.n_jobs)
        return np.concatenate(latents)

    def classify(self, latents):
        """Softmax of each head on latents (K, N, m): ndarray (K, N, C)."""
        n_values = latents[0].size * len(self.groups[0].members)
        probabilities = map_side_by_side(
            lambda group: group.classify(latents[group.members]), self.groups, n_values // 3, self.n_jobs
        )
        return np.concatenate(probabilities)

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

    def snapshot(self):
        """Copy the autoencoders' state."""
        return self.state()["autoencoder"]

    def restore(self, state):
        """Bring back a state of `snapshot`."""
        self.load_state({"autoencoder": state})

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


def members_per_cpu_group(n_members, n_batch_values):
    """Members in a group on the CPU: few, so that several cores have groups to share.

    Parameters
    ----------
    n_members : int
    n_batch_values : int
        Input values in one member's batch.

    Returns
    -------
    size : int
    """
    if n_batch_values <= SHORT_STEP and n_members > 2 * MEMBERS_OF_SHORT_STEPS:
        return MEMBERS_OF_SHORT_STEPS
    return MEMBERS_PER_CPU_GROUP


def _train_group(X, group, method, *arguments):
    """Train one group to the end of its stage: the group and its losses."""
    run = getattr(group, method)(X, *arguments)
    while True:
        try:
            next(run)
        except StopIteration as end:
            return group, end.value


def _train_in_turn(groups, method, X, arguments, plan):
    """Train groups one after the other; a generator that returns pairs of group and losses."""
    trained = []
    for group in groups:
        trained += yield from _train_in_memory(group, method, X, arguments, plan)
    return trained


def _train_in_memory(group, method, X, arguments, plan):
    """Train one group, or its halves where the memory runs out."""
    start = group.to(group.device, dtype=None)
    try:
        losses = yield from getattr(group, method)(X, *arguments(group))
        return [(group, losses)]
    except torch.cuda.OutOfMemoryError as error:
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
    return (yield from _train_in_turn(start.halves(), method, X, arguments, plan))


def _mean_losses(losses):
    """Mean of each loss over the members of all groups, whose tensors (K,) these are."""
    return {name: float(torch.cat([of_group[name].cpu() for of_group in losses]).mean()) for name in losses[0]}
