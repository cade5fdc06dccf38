"""The ensemble: K members in groups, which train side by side."""

import numpy as np
import torch

from ._members import ROWS_PER_CHUNK, MemberGroup
from ._packing import can_be_packed, pack_groups, unpack_groups
from ._workers import map_side_by_side, run_side_by_side

MEMBERS_PER_CPU_GROUP = 2  # at most as slow a member as other sizes, on images of 8 x 8 and of 16 x 16, and vectors


class Ensemble:
    """K autoencoders with K pseudo-classifiers.

    Members are batched into groups, by their number and the device alone: pairs on the CPU, where each group trains in
    a thread of its own, all of them elsewhere.

    Parameters
    ----------
    network : object with ``build(input_shape, generators)`` and ``noise``
    input_shape : tuple
        Shape of one row as the network takes it.
    seed : int
    n_members : int
    device : torch.device
    augmentation : callable, optional
        Of each batch in training; see `skspc.augmentations`.
    """

    def __init__(self, network, input_shape, seed, n_members, device, augmentation=None):
        self.seed, self.n_members = seed, n_members
        size = MEMBERS_PER_CPU_GROUP if device.type == "cpu" else n_members
        self.groups = [
            MemberGroup(network, input_shape, seed, range(first, min(first + size, n_members)), device, augmentation)
            for first in range(0, n_members, size)
        ]

    @classmethod
    def of_groups(cls, groups):
        """Put together groups that were made before."""
        ensemble = cls.__new__(cls)
        ensemble.seed, ensemble.n_members = groups[0].seed, sum(len(group.members) for group in groups)
        ensemble.groups = groups
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

    def reset_heads(self, n_clusters):
        """Draw new pseudo-classifiers."""
        for group in self.groups:
            group.reset_heads(n_clusters)

    def pretrain(self, X, plan):
        """Train the autoencoders by reconstruction.

        Parameters
        ----------
        X : tensor of shape (N, *input_shape)
            On the ensemble's device.
        plan : TrainingPlan

        Returns
        -------
        losses : dict
            "reconstruction": l1 loss, mean over the members and the last epoch.
        """
        return self._train([group.pretrain(X, plan) for group in self.groups], plan.batch_size * X[0].numel())

    def train_on_pseudo_labels(self, X, targets, selected, reconstruction, plan, stage):
        """Train encoders, decoders and heads on the paper's Eq. (2).

        Parameters
        ----------
        X : tensor of shape (N, *input_shape)
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
        runs = [
            group.train_on_pseudo_labels(
                X, targets[group.members], selected[group.members], reconstruction, plan, stage
            )
            for group in self.groups
        ]
        return self._train(runs, plan.batch_size * X[0].numel())

    def train_heads(self, latents, labels, plan):
        """Train the heads on frozen latents (K, N, m) and labels (N,); noise rows are left out."""
        runs = [group.train_heads(latents[group.members], labels, plan) for group in self.groups]
        return self._train(runs, plan.batch_size * latents.shape[2])

    def _train(self, runs, n_values):
        """Run the groups' training to its end: the mean of each loss over all members."""
        losses = run_side_by_side(runs, n_values * len(self.groups[0].members))
        return {name: float(torch.cat([of_group[name] for of_group in losses]).mean()) for name in losses[0]}

    def encode(self, X):
        """Encode rows in evaluation mode, without noise.

        Parameters
        ----------
        X : tensor of shape (N, *input_shape)

        Returns
        -------
        latents : ndarray of shape (K, N, m), of X's dtype
        """
        n_values = min(len(X), ROWS_PER_CHUNK) * X[0].numel() * len(self.groups[0].members)
        latents = map_side_by_side(lambda group: group.encode(X), self.groups, n_values // 3)  # a third of a step
        return np.concatenate(latents)

    def classify(self, latents):
        """Softmax of each head on latents (K, N, m): ndarray (K, N, C)."""
        n_values = latents[0].size * len(self.groups[0].members)
        probabilities = map_side_by_side(
            lambda group: group.classify(latents[group.members]), self.groups, n_values // 3
        )
        return np.concatenate(probabilities)

    def snapshot(self):
        """Copy the autoencoders' state."""
        return [group.snapshot() for group in self.groups]

    def restore(self, states):
        """Bring back a state of `snapshot`."""
        for group, state in zip(self.groups, states, strict=True):
            group.restore(state)

    def to(self, device, dtype=torch.float32):
        """Copy the ensemble to a device and a dtype."""
        return Ensemble.of_groups([group.to(device, dtype) for group in self.groups])
