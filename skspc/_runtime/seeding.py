"""Random seeds: one draw from the caller's generator, every other seed derived from it."""

import numpy as np
from sklearn.utils import check_random_state

# The first step of every derivation path, so that no two uses share a stream.
WEIGHTS, BATCHES, NOISE_STREAM, LABELLING, HEADS, SAMPLES = range(6)


def draw_seed(random_state):
    """Draw the seed of one fit, at the cost of exactly one draw of ``random_state``.

    Parameters
    ----------
    random_state : None, int or numpy.random.RandomState
        None stands for numpy's global generator, as everywhere in scikit-learn.

    Returns
    -------
    seed : int
        In ``[0, 2**31 - 1)``.
    """
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def derive_seed(seed, *path):
    """Derive an independent seed for one use of ``seed``.

    Parameters
    ----------
    seed : int
        Seed of the fit.
    *path : int
        What the derived seed is for, e.g. ``(LABELLING, round, space)``.

    Returns
    -------
    derived : int
        In ``[0, 2**31)``: scikit-learn, umap-learn and torch all take it.
    """
    sequence = np.random.SeedSequence(seed, spawn_key=path)
    return int(sequence.generate_state(1)[0] >> 1)
