"""What a fit is told, how far it has come, and what comes out of it."""

import time
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from .._ensemble.plan import TrainingPlan
from .consensus import Consensus
from .parts import with_neighbors


@dataclass(frozen=True)
class RoundSettings:
    """How rounds are run: the parameters of `SPCClustering` of the same names, and the plans made of them."""

    clusterer: object
    reducer: object
    selection: str
    min_agreement: float
    reconstruction: str
    concatenate: bool
    max_iter: int
    n_iter_no_change: int
    tol: float
    max_samples: float | int | None
    n_jobs: int | None
    device: torch.device
    pretraining: TrainingPlan
    training: TrainingPlan
    heads: TrainingPlan
    max_landmarks: int | None = None
    beside: tuple = ()  # clusterers that label the same embeddings, for the vote alone
    other_rules: tuple = ()  # besides this clusterer with this reducer: see `skspc._method.choice`

    def by_rule(self, index):
        """The settings with one of the rules, 0 for the first."""
        rule = (None, *self.other_rules)[index]
        if rule is None:
            return self
        return replace(self, clusterer=rule.clusterer, reducer=rule.reducer, beside=rule.beside)

    def with_neighbors(self, n_neighbors):
        """The settings whose reducers have so many neighbours, or, for None, their own."""
        if n_neighbors is None:
            return self
        rules = tuple(replace(rule, reducer=with_neighbors(rule.reducer, n_neighbors)) for rule in self.other_rules)
        return replace(self, reducer=with_neighbors(self.reducer, n_neighbors), other_rules=rules)


@dataclass(frozen=True)
class Progress:
    """How far a fit has come: with the ensemble's weights, all that the rest of it depends on.

    Attributes
    ----------
    n_clusters : int or "auto"
        "auto" until the first clustering has settled it.
    losses, seconds : dict
        Of the training since the last clustering.
    history : list of dict
    consensus : Consensus or None
        Of the last round; None if no labelling had a cluster.
    spaces : list of int
        The space of each labelling of that consensus.
    vote : Consensus or None
        Of the labellings of all rounds so far but those that harmed.
    best_encoders : dict
        Of the best round: the autoencoders' part of `Ensemble.state`.
    rule : int
        By which rows are labelled, of those in `RoundSettings`.
    n_neighbors : int or None
        Of the reducer, where the first clustering found its own number to be too low.
    layouts : dict of int to ndarray of shape (N, d)
        Embeddings of the last round by space, where its reducer can go on from them.
    """

    n_clusters: int | str
    losses: dict
    seconds: dict
    history: list = field(default_factory=list)
    consensus: Consensus | None = None
    spaces: list = field(default_factory=list)
    vote: Consensus | None = None
    best_encoders: dict = field(default_factory=dict)
    rule: int = 0
    n_neighbors: int | None = None
    layouts: dict = field(default_factory=dict)


@dataclass(frozen=True)
class RoundsResult:
    """Outcome of a fit, for the rows it was given.

    Attributes
    ----------
    labels, agreement, agreed : ndarray of shape (N,)
    member_labels : ndarray of shape (L, N)
        Of all rounds that vote, in their order.
    history : list of dict
    best_iter, n_clusters : int
    ended_by : {"itself", "monitor", "interrupt"}
        What ended the rounds: the rule to stop, the monitor, or Ctrl-C.
    """

    labels: np.ndarray
    agreement: np.ndarray
    agreed: np.ndarray
    member_labels: np.ndarray
    history: list
    best_iter: int
    n_clusters: int
    ended_by: str = "itself"


class Stopwatch:
    """Seconds of each stage since the stage before."""

    def __init__(self):
        self.seconds, self._last = {}, time.perf_counter()

    def lap(self, stage):
        now = time.perf_counter()
        self.seconds[stage], self._last = now - self._last, now
