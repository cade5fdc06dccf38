"""What members are trained to lower, the losses of the paper: an object each."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from .._constants import NOISE
from .._runtime.arrays import place_rows, take_rows, to_tensor

PRETRAINING_STAGE = 0  # rounds are stages 1, 2, ...
HEADS_STAGE = 2**31


def l1_distance(decoded, x):
    """l1 distance of each row to its reconstruction, mean over features: (K, B)."""
    return (decoded - x).abs().flatten(2).mean(dim=2)


def cross_entropy(logits, labels):
    """CE of each row's label: logits (K, B, C), labels (K, B) -> (K, B), in float32 at least."""
    # CUDA's autocast, unlike the CPU's, leaves the logarithm of a softmax in the logits' own bfloat16.
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none").view_as(labels)


@dataclass(frozen=True)
class Objective:
    """An objective of all K members, as arrays, or by `of` of some members, as tensors: what a subclass has to tell.

    Attributes
    ----------
    X : ndarray of shape (N, *input_shape)
        Rows; what workers elsewhere are sent once.
    stage : int
        Number of the training, which tells its random streams apart.
    """

    X: Any

    of_heads_alone = False  # no network or augmentation of a user's is asked

    @property
    def n_rows(self):
        return len(self.X)

    @property
    def row_size(self):
        """Values in a member's row."""
        return math.prod(self.X.shape[1:])

    def of(self, members, device):
        """The part of some members, with its arrays on a device or where batches of them are taken from."""
        return replace(self, X=place_rows(self.X, device))

    def parameters(self, group):
        """The tensors to train."""
        raise NotImplementedError

    def take(self, rows, device):
        """Tensors of a batch on a device, for rows (K, B), which lie there too, or on the CPU where X does."""
        raise NotImplementedError

    def losses(self, networks, *batch):
        """Losses by name, each the mean over a batch (K,); ``networks`` has the members' f, g and h."""
        raise NotImplementedError


@dataclass(frozen=True)
class Reconstruction(Objective):
    """Pretraining on X (N, *input_shape): ||g(f(x)) - x||."""

    stage: int = PRETRAINING_STAGE

    def parameters(self, group):
        return group.autoencoder.parameters()

    def take(self, rows, device):
        return (take_rows(self.X, rows, device),)

    def losses(self, networks, x):
        return {"reconstruction": l1_distance(networks.g(networks.f(x)), x).mean(dim=1)}


@dataclass(frozen=True)
class PseudoLabels(Objective):
    """A round, the paper's Eq. (2): CE(h(f(x)), c) where a, and ||g(f(x)) - x|| where r (in the paper, where not a).

    Attributes
    ----------
    X : ndarray of shape (N, *input_shape)
    c : ndarray of shape (K, N), int
        Pseudo-labels; not read where ``a`` is False.
    a : ndarray of shape (K, N), bool
        Rows trained on their pseudo-label.
    r : ndarray of shape (K, N), bool, or None
        Rows trained by reconstruction; None is no row.
    stage : int
        Number of the round, from 1.
    """

    c: Any
    a: Any
    r: Any
    stage: int

    def of(self, members, device):
        a = to_tensor(self.a[members], device)
        c = to_tensor(self.c[members], device).where(a, 0)
        r = None if self.r is None else to_tensor(self.r[members], device)
        return replace(super().of(members, device), c=c, a=a, r=r)

    def parameters(self, group):
        return [*group.autoencoder.parameters(), *group.heads.parameters()]

    def take(self, rows, device):
        masks, places = [self.a] if self.r is None else [self.a, self.r], rows.to(device)
        return take_rows(self.X, rows, device), *(mask.gather(1, places) for mask in (self.c, *masks))

    def losses(self, networks, x, c, a, r=None):
        z = networks.f(x)
        losses = {"pseudo_label": (cross_entropy(networks.h(z), c) * a).mean(dim=1)}
        if r is not None:
            losses["reconstruction"] = (l1_distance(networks.g(z), x) * r).mean(dim=1)
        return losses


@dataclass(frozen=True)
class Heads(Objective):
    """Classifiers on frozen latents X (K, N, m): CE(h(z), c), with labels c (N,); rows that are noise are left out."""

    c: Any
    stage: int = HEADS_STAGE

    of_heads_alone = True

    @property
    def n_rows(self):
        return self.X.shape[1]

    @property
    def row_size(self):
        return self.X.shape[2]

    def of(self, members, device):
        kept = np.flatnonzero(self.c != NOISE)
        latents = torch.as_tensor(self.X[members][:, kept], device=device)
        return replace(self, X=latents, c=torch.as_tensor(self.c[kept], device=device))

    def parameters(self, group):
        return group.heads.parameters()

    def take(self, rows, device):
        members = torch.arange(len(rows), device=device)[:, None]
        return self.X[members, rows], self.c[rows]

    def losses(self, networks, z, c):
        return {"pseudo_label": cross_entropy(networks.h(z), c).mean(dim=1)}
