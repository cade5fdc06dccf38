"""Members as one batched torch module: pretrain, train on pseudo-labels, encode, classify."""

import copy
from dataclasses import dataclass

import numpy as np
import torch

from ._constants import NOISE
from ._device import place_rows, take_rows, to_numpy, to_tensor
from ._seeding import BATCHES, HEADS, NOISE_STREAM, WEIGHTS, derive_seed
from ._steps import make_step
from .networks._heads import build_heads
from .networks._losses import pseudo_label_loss, reconstruction_loss

ROWS_PER_CHUNK = 512  # rows encoded at once outside training
PRETRAINING_STAGE = 0  # rounds are stages 1, 2, ...
HEADS_STAGE = 2**31


@dataclass(frozen=True)
class TrainingPlan:
    """Figures of one stage of training.

    Attributes
    ----------
    n_epochs, batch_size : int
    learning_rate : float
        Of Adam, which starts anew each stage.
    """

    n_epochs: int
    batch_size: int
    learning_rate: float


def plan_training(n_rows, epochs, min_steps, batch_size, learning_rate):
    """Fix epochs and batch size for ``n_rows`` rows.

    Parameters
    ----------
    n_rows : int
    epochs : int
    min_steps : int
        Optimiser steps at least: with few rows an epoch is too short to count by.
    batch_size : int or "auto"
        "auto" is the power of two next below a sixteenth of the rows, between 32 and 256.
    learning_rate : float

    Returns
    -------
    plan : TrainingPlan
    """
    if batch_size == "auto":
        batch_size = 2 ** int(np.clip(np.log2(max(n_rows, 1) / 16), 5, 8))
    batch_size = min(batch_size, n_rows)
    steps_per_epoch = n_rows // batch_size
    n_epochs = max(epochs, -(-min_steps // steps_per_epoch))
    return TrainingPlan(int(n_epochs), int(batch_size), float(learning_rate))  # plain numbers, for the history


def some_members(state, which, n_members):
    """Some members' part of a state, whose tensors hold the members one after the other (single numbers are shared)."""
    return {
        name: value.unflatten(0, (n_members, -1))[which].flatten(0, 1) if value.ndim else value
        for name, value in state.items()
    }


def check_members_first(module, n_members):
    """Refuse a module whose tensors cannot hold the members one after the other."""
    for name, value in module.state_dict().items():
        if value.ndim and value.shape[0] % n_members:
            raise ValueError(
                f"network builds {name!r} of shape {tuple(value.shape)} for {n_members} members. Along its first "
                f"dimension it must hold the members one after the other: give it {n_members} equal parts."
            )


def join_members(states):
    """Join states of groups to that of all their members."""
    return {
        name: torch.cat([state[name] for state in states]) if value.ndim else value for name, value in states[0].items()
    }


def is_recordable(part):
    """Whether a module or an augmentation says that it can be part of a CUDA graph: it or its class, no parent."""
    return any(getattr(owner, "__dict__", {}).get("is_recordable", False) for owner in (part, type(part)))


class MemberGroup:
    """Autoencoders with their pseudo-classifiers, trained side by side on batches of their own.

    Each method that trains is a generator, which yields after each step and returns the losses: so groups can take
    turns, or run at once.

    Parameters
    ----------
    network : object with ``build(input_shape, generators)`` and ``noise``
    input_shape : tuple
        Shape of one row as the network takes it.
    seed : int
        Of the whole ensemble.
    members : range
        Which of the ensemble's members these are.
    device : torch.device
    augmentation : callable, optional
        Takes a batch (n, *input_shape) and a generator; returns the batch to encode in training. Decoders have to
        bring back the batch as it was.
    precision : torch.dtype, default=torch.float32
        Of the products in training.
    """

    def __init__(self, network, input_shape, seed, members, device, augmentation=None, precision=torch.float32):
        self.network, self.input_shape, self.seed, self.members = network, input_shape, seed, members
        self.device, self.augmentation, self.precision = device, augmentation, precision
        self.autoencoder = network.build(input_shape, self._generators(WEIGHTS)).to(device)
        check_members_first(self.autoencoder, len(members))
        parts = [self.autoencoder] if augmentation is None else [self.autoencoder, augmentation]
        self.is_recordable = all(map(is_recordable, parts))
        self.n_clusters: int | None = None
        self.lost: frozenset[int] = frozenset()  # members whose last training diverged
        self.heads = torch.nn.Sequential()  # drawn by reset_heads, once the number of clusters is settled

    def _generators(self, *path):
        """One generator a member, each from a seed of its own."""
        seeds = [derive_seed(self.seed, *path, member) for member in self.members]
        return [torch.Generator().manual_seed(seed) for seed in seeds]

    def reset_heads(self, n_clusters):
        """Draw new pseudo-classifiers."""
        self.n_clusters = n_clusters
        heads = build_heads(self.autoencoder.latent_size, n_clusters, self._generators(HEADS))
        self.heads = heads.to(self.device)

    def pretrain(self, X, plan):
        """Train the autoencoders by reconstruction of rows: ndarray (N, *input_shape).

        Returns
        -------
        losses : dict
            "reconstruction": l1 loss, mean over the last epoch: a tensor (K,).
        """
        X = place_rows(X, self.device)

        def take(rows):
            return (take_rows(X, rows, self.device),)

        def batch_losses(x, generator):  # (K, B, *input_shape)
            decoded = self.autoencoder.decode(self._noisy_latents(self._augmented(x, generator), generator))
            return {"reconstruction": reconstruction_loss(decoded, x).mean(dim=1)}

        self.autoencoder.train()
        return self._optimise(take, batch_losses, self.autoencoder.parameters(), len(X), plan, PRETRAINING_STAGE)

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
            "pseudo_label" and "reconstruction", mean over the last epoch: tensors (K,).
        """
        X = place_rows(X, self.device)
        selected = to_tensor(selected, self.device)
        targets = to_tensor(targets, self.device).where(selected, 0)
        members = torch.arange(len(self.members), device=self.device)[:, None]

        def take(rows):
            return take_rows(X, rows, self.device), selected[members, rows], targets[members, rows]

        def batch_losses(x, chosen, labels, generator):
            latents = self._noisy_latents(self._augmented(x, generator), generator)
            cross_entropy = pseudo_label_loss(self.heads(latents), labels)
            losses = {"pseudo_label": (cross_entropy * chosen).mean(dim=1)}
            if reconstruction != "none":
                l1 = reconstruction_loss(self.autoencoder.decode(latents), x)
                losses["reconstruction"] = (l1 if reconstruction == "all" else l1 * ~chosen).mean(dim=1)
            return losses

        self.autoencoder.train()
        parameters = [*self.autoencoder.parameters(), *self.heads.parameters()]
        return self._optimise(take, batch_losses, parameters, len(X), plan, stage)

    def train_heads(self, latents, labels, plan):
        """Train the heads on frozen latents (K, N, m) and labels (N,); noise rows are left out."""
        kept = np.flatnonzero(labels != NOISE)
        latents = torch.as_tensor(latents[:, kept], device=self.device)
        targets = torch.as_tensor(labels[kept], device=self.device)
        members = torch.arange(len(self.members), device=self.device)[:, None]

        def take(rows):
            return latents[members, rows], targets[rows]

        def batch_losses(z, labels, generator):
            return {"pseudo_label": pseudo_label_loss(self.heads(z), labels).mean(dim=1)}

        self.heads.train()
        return self._optimise(take, batch_losses, self.heads.parameters(), len(kept), plan, HEADS_STAGE)

    def _augmented(self, x, generator):
        """Augment a batch (K, B, *input_shape), to be encoded: what is reconstructed are the rows as they were."""
        if self.augmentation is None:
            return x
        batch = x.flatten(0, 1).clone()  # it may be changed in place
        with torch.autocast(self.device.type, enabled=False):  # its products too are of the batch's own dtype
            augmented = self.augmentation(batch, generator)
        if not torch.is_tensor(augmented) or (augmented.shape, augmented.dtype) != (batch.shape, batch.dtype):
            is_tensor = torch.is_tensor(augmented)
            made = f"{tuple(augmented.shape)}, {augmented.dtype}" if is_tensor else f"{augmented!r:.60}"
            raise ValueError(
                f"augmentation={self.augmentation!r} made of a batch of {tuple(batch.shape)}, {batch.dtype}: {made}. "
                "It must return a tensor of the same shape and dtype."
            )
        return augmented.view_as(x)

    def _noisy_latents(self, x, generator):
        """Encode a batch and add noise in proportion to each latent's spread over it: (K, B, m)."""
        latents = self.autoencoder.encode(x)
        if self.network.noise == 0:
            return latents
        spread = latents.detach().std(dim=1, keepdim=True)
        draws = torch.randn(latents.shape, generator=generator, device=self.device, dtype=torch.float32)
        return latents + self.network.noise * spread * draws

    def _optimise(self, take, batch_losses, parameters, n_rows, plan, stage):
        """Run the epochs of one stage: ``batch_losses(*take(rows), generator)`` of shuffled rows (K, B) are lowered."""
        parameters, batch_size = list(parameters), min(plan.batch_size, n_rows)
        shufflers = self._generators(BATCHES, stage)
        noise_seed = derive_seed(self.seed, NOISE_STREAM, stage, self.members[0])
        noise_generator = torch.Generator(self.device).manual_seed(noise_seed)
        # Groups of one device train one after the other but for their heads, and one graph is recorded at a time.
        rate, recorded = plan.learning_rate, self.is_recordable and stage != HEADS_STAGE
        step = make_step(batch_losses, parameters, rate, noise_generator, self.precision, recorded)
        before = copy.deepcopy(self._tensors())
        n_steps = n_rows // batch_size
        sums: dict[str, torch.Tensor] = {}
        try:
            for _ in range(plan.n_epochs):
                sums = {}
                for rows in self._epoch_batches(n_rows, batch_size, shufflers):
                    for name, loss in step(*take(rows)).items():
                        sums[name] = sums[name] + loss if name in sums else loss.clone()
                    yield
        finally:
            for parameter in parameters:
                parameter.grad = None  # it may lie in a recorded step's memory
        self.lost = self._revert_lost(before)
        return {name: total / n_steps for name, total in sums.items()}

    def _tensors(self):
        """Tensors of all weights, each with the members one after the other."""
        states = self.autoencoder.state_dict(prefix="autoencoder."), self.heads.state_dict(prefix="heads.")
        return {name: value for state in states for name, value in state.items() if value.ndim}

    @torch.no_grad()
    def _revert_lost(self, before):
        """Give members whose weights have become infinite or NaN the weights from before: a set of these members."""
        state, shape = self._tensors(), (len(self.members), -1)
        finite = [torch.isfinite(value).unflatten(0, shape).flatten(1).all(dim=1) for value in state.values()]
        lost = ~torch.stack(finite).all(dim=0)
        if not lost.any():
            return frozenset()
        for name, value in state.items():
            value.unflatten(0, shape)[lost] = before[name].unflatten(0, shape)[lost]
        return frozenset(self.members[i] for i in lost.nonzero().flatten().tolist())

    def _epoch_batches(self, n_rows, batch_size, shufflers):
        """Shuffle rows for each member: a tensor (steps, K, batch_size).

        Every batch is full, since batch normalisation needs more than one row; the rows left over differ from
        epoch to epoch.
        """
        orders = torch.stack([torch.randperm(n_rows, generator=shuffler) for shuffler in shufflers])
        n_steps = n_rows // batch_size
        batches = orders[:, : n_steps * batch_size].unflatten(1, (n_steps, batch_size))
        return batches.transpose(0, 1).to(self.device)

    @torch.no_grad()
    def encode(self, X):
        """Encode rows (N, *input_shape) in evaluation mode, without noise: ndarray (K, N, m)."""
        self.autoencoder.eval()
        latents = []
        for start in range(0, len(X), ROWS_PER_CHUNK):
            chunk = take_rows(X, slice(start, start + ROWS_PER_CHUNK), self.device)
            n_rows = len(chunk)
            if n_rows == 1:  # of a batch of one image, convolutions make other last digits
                chunk = chunk.repeat(2, *[1] * (chunk.ndim - 1))
            latents.append(self.autoencoder.encode(chunk.expand(len(self.members), *chunk.shape))[:, :n_rows])
        return to_numpy(torch.cat(latents, dim=1))

    @torch.no_grad()
    def classify(self, latents):
        """Softmax of each head on latents (K, N, m): ndarray (K, N, C); of latents that are not finite, 1 / C."""
        self.heads.eval()
        probabilities = torch.softmax(self.heads(torch.as_tensor(latents, device=self.device)), dim=2)
        return to_numpy(probabilities.nan_to_num(1 / probabilities.shape[2]))

    def state(self):
        """Copy the weights, to the CPU: a dict by module name."""
        modules = {"autoencoder": self.autoencoder, "heads": self.heads}
        return {
            part: {name: value.detach().to("cpu", copy=True) for name, value in module.state_dict().items()}
            for part, module in modules.items()
        }

    def halves(self):
        """Split the group in two, with copies of its members' weights."""
        middle = len(self.members) // 2
        return [self._part(slice(0, middle)), self._part(slice(middle, None))]

    def _part(self, which):
        """A group of some of the members."""
        members = self.members[which]
        part = MemberGroup(
            self.network, self.input_shape, self.seed, members, self.device, self.augmentation, self.precision
        )
        if self.n_clusters is not None:
            part.reset_heads(self.n_clusters)
        part = part.to(self.device, next(self.autoencoder.parameters()).dtype)
        for name, state in self.state().items():
            getattr(part, name).load_state_dict(some_members(state, which, len(self.members)))
        return part

    def to(self, device, dtype=torch.float32):
        """Copy the group to a device and a dtype; None keeps the dtype."""
        moved = copy.copy(self)
        moved.device = device
        moved.autoencoder = copy.deepcopy(self.autoencoder).to(device=device, dtype=dtype)
        moved.heads = copy.deepcopy(self.heads).to(device=device, dtype=dtype)
        return moved

    def for_inference(self, device):
        """Copy the group to a device, in dtypes in which a row's result does not depend on the rows beside it."""
        moved = copy.copy(self)
        moved.device = device
        moved.autoencoder, moved.heads = copy.deepcopy(self.autoencoder), copy.deepcopy(self.heads)
        if hasattr(moved.autoencoder, "for_inference"):
            moved.autoencoder.for_inference(device)
        else:
            moved.autoencoder.to(device, torch.float64)
        moved.heads.to(device, torch.float64)
        return moved
