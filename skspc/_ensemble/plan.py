"""Figures of a stage of training."""

import math
from dataclasses import dataclass

import numpy as np

SMALL_IMAGE = 256  # pixels


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


def auto_batch_size(n_rows, image_shape) -> int:
    """The power of two next below a sixteenth of the rows, between 32 and 256.

    Of small images it is 64 at most while a hundred and twenty-eighth of the rows is fewer than 128: their steps take
    as much longer as batches are larger, and bring no more. Some larger images lose by it (docs/rounds.md).
    """
    is_small = image_shape is not None and math.prod(image_shape[1:]) <= SMALL_IMAGE
    largest = np.clip(n_rows / 128, 64, 256) if is_small else 256
    return int(2 ** np.floor(np.log2(np.clip(n_rows / 16, 32, largest))))


def plan_training(n_rows, epochs, min_steps, batch_size, learning_rate) -> TrainingPlan:
    """Fix epochs and batch size for ``n_rows`` rows, with ``min_steps`` at least: few rows make an epoch too short."""
    batch_size = min(batch_size, n_rows)
    steps_per_epoch = n_rows // batch_size
    n_epochs = max(epochs, -(-min_steps // steps_per_epoch))
    return TrainingPlan(int(n_epochs), int(batch_size), float(learning_rate))  # plain numbers, for the history
