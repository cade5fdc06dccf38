"""A training step on vectors, by how members are grouped and how wide their layers are: `python benchmarks/groups.py`.

Ways take turns, so that a machine that slows down slows all; the ratio is that of the median times a step. Groups
change no bit of a member; widths change results.
"""

import argparse
from functools import partial

import numpy as np
import torch
from training import timed

from skspc._ensemble.ensemble import Ensemble
from skspc._ensemble.group import MemberGroup
from skspc._ensemble.plan import TrainingPlan
from skspc._ensemble.sizing import members_per_cpu_group
from skspc._method.objectives import Reconstruction
from skspc.networks import MLPNetwork

SIZES = {  # rows, features: the batch of a fit of so many
    (150, 4): 32,
    (569, 30): 32,
    (3000, 16): 128,
    (4000, 216): 256,
}
N_MEMBERS = 5
WAYS = {  # width of the layers, members in a group; None is the shipped number
    "256 wide, groups of two": (256, 2),
    "256, as shipped": (256, None),
    "128, as shipped": (128, None),
}


def make_step(X, batch_size, width, n_together):
    """A function that trains an ensemble of this way for so many epochs."""
    network, device = MLPNetwork(hidden=(width, width)), torch.device("cpu")
    n_together = n_together or members_per_cpu_group(N_MEMBERS, X.shape[1:], batch_size, torch.get_num_threads())
    members = [range(first, min(first + n_together, N_MEMBERS)) for first in range(0, N_MEMBERS, n_together)]
    groups = [MemberGroup(network, X.shape[1:], 0, those, device, None, torch.float32) for those in members]
    ensemble = Ensemble.of_groups(groups)
    return lambda n_epochs: ensemble.train(Reconstruction(X), TrainingPlan(n_epochs, batch_size, 1e-3))


def compare(size, n_steps, n_turns):
    """Milliseconds a step of all members: an array (ways, turns)."""
    batch_size = SIZES[size]
    X = np.random.default_rng(0).normal(size=size).astype(np.float32)
    steps_per_epoch = len(X) // batch_size
    n_epochs = max(1, n_steps // steps_per_epoch)
    ways = [make_step(X, batch_size, *way) for way in WAYS.values()]
    turns = []
    for turn in range(n_turns + 1):
        seconds = [timed(partial(step, n_epochs), torch.device("cpu")) for step in ways]
        if turn:  # the first fills caches
            turns.append(seconds)
    return 1000 * np.array(turns).T / (n_epochs * steps_per_epoch)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--turns", type=int, default=5)
    arguments = parser.parse_args()
    first, *others = WAYS
    print(f"{torch.get_num_threads()} threads, {N_MEMBERS} members; of the others the ratio to the first, in brackets")
    print(f"| rows, features, batch | {first}, ms a step | {' | '.join(others)} |")
    print(f"| {' | '.join(['---'] * (len(WAYS) + 1))} |")
    for size, batch_size in SIZES.items():
        base, *rest = np.median(compare(size, arguments.steps, arguments.turns), axis=1)
        cells = [f"{base:.1f}", *(f"{ms:.1f} ({base / ms:.2f})" for ms in rest)]
        print(f"| {size[0]}, {size[1]}, {batch_size} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
