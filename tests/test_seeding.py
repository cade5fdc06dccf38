"""Seeds: one draw from the caller's generator, and those derived from it."""

import random as python_random

import numpy as np
import pytest
import torch
from scipy import stats

from skspc._runtime.seeding import BATCHES, HEADS, LABELLING, NOISE_STREAM, WEIGHTS, derive_seed, draw_seed


def test_an_int_gives_the_same_seed_each_time():
    assert draw_seed(7) == draw_seed(7) == np.random.RandomState(7).randint(2**31 - 1)
    assert draw_seed(7) != draw_seed(8)


def test_an_int_leaves_every_global_state_as_it_was():
    states = np.random.get_state()[1].tolist(), torch.get_rng_state().tolist(), python_random.getstate()
    derive_seed(draw_seed(0), WEIGHTS, 1)
    after = np.random.get_state()[1].tolist(), torch.get_rng_state().tolist(), python_random.getstate()
    assert after == states


def test_an_instance_is_drawn_from_once():
    given, twin = np.random.RandomState(3), np.random.RandomState(3)
    assert draw_seed(given) == twin.randint(2**31 - 1)
    assert given.randint(1000, size=5).tolist() == twin.randint(1000, size=5).tolist()


def test_none_draws_from_numpys_global_generator_once(monkeypatch):
    monkeypatch.setattr(np.random.mtrand, "_rand", np.random.RandomState(3))
    twin = np.random.RandomState(3)
    assert [draw_seed(None), draw_seed(None)] == twin.randint(2**31 - 1, size=2).tolist()


def test_a_seed_is_a_plain_int():
    assert type(draw_seed(0)) is int
    assert type(derive_seed(0, 1)) is int


def test_what_is_no_random_state_is_refused():
    with pytest.raises(ValueError, match="'seed' cannot be used to seed"):
        draw_seed("seed")


def test_derived_seeds_repeat():
    assert derive_seed(5, LABELLING, 2) == derive_seed(5, LABELLING, 2)


def test_derived_seeds_are_far_apart_and_in_range():
    paths = [(), *((use,) for use in range(5))]
    paths += [(use, stage) for use in range(5) for stage in (0, 1, 2, 2**31)]
    paths += [(use, stage, member) for use in range(5) for stage in (0, 1, 2, 2**31) for member in range(20)]
    derived = [derive_seed(seed, *path) for seed in (0, 1, 2**31 - 2) for path in paths]
    assert len(set(derived)) == len(derived)
    assert min(derived) >= 0
    assert max(derived) < 2**31


def test_uses_have_paths_of_their_own():
    assert len({WEIGHTS, BATCHES, NOISE_STREAM, LABELLING, HEADS}) == 5


def test_derived_seeds_are_spread_evenly():
    derived = np.array([derive_seed(0, BATCHES, i) for i in range(2000)]) / 2**31
    assert stats.kstest(derived, "uniform").pvalue > 0.01


@pytest.mark.parametrize("take", [np.random.RandomState, torch.Generator().manual_seed, np.random.default_rng])
def test_a_derived_seed_is_taken_by_every_generator(take):
    take(derive_seed(2**31 - 2, HEADS, 2**31, 100))
