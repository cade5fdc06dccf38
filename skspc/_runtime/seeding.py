"""Random seeds: one draw from the caller's generator, every other seed derived from it."""

import numpy as np
from sklearn.utils import check_random_state

# The first step of every derivation path, so that no two uses share a stream.
WEIGHTS, BATCHES, NOISE_STREAM, LABELLING, HEADS, SAMPLES, KEPT_ROWS, SPLITS, HALVES, LANDMARKS = range(10)


def draw_seed(random_state):
    """Draw the seed of one fit, in [0, 2**31 - 1), at the cost of exactly one draw of ``random_state``.

    None stands for numpy's global generator, as everywhere in scikit-learn.
    """
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def derive_seed(seed, *path):
    """Derive an independent seed for one use of ``seed``, told by a path of ints such as (LABELLING, round, space).

    It is in [0, 2**31): scikit-learn, umap-learn and torch all take it.
    """
    sequence = np.random.SeedSequence(seed, spawn_key=path)
    return int(sequence.generate_state(1)[0] >> 1)
