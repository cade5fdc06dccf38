"""Figures of a stage of training."""

from dataclasses import dataclass

import numpy as np


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


def plan_training(n_rows, epochs, min_steps, batch_size, learning_rate) -> TrainingPlan:
    """Fix epochs and batch size for ``n_rows`` rows, with ``min_steps`` at least: few rows make an epoch too short.

    Batch size "auto" is the power of two next below a sixteenth of the rows, between 32 and 256.
    """
    if batch_size == "auto":
        batch_size = 2 ** int(np.clip(np.log2(max(n_rows, 1) / 16), 5, 8))
    batch_size = min(batch_size, n_rows)
    steps_per_epoch = n_rows // batch_size
    n_epochs = max(epochs, -(-min_steps // steps_per_epoch))
    return TrainingPlan(int(n_epochs), int(batch_size), float(learning_rate))  # plain numbers, for the history
