"""Pretrain ensembles once and keep their latents, so that ways to label them are compared on equal starts.

    python paper/latents.py FOLDER [--dataset NAME ...] [--seeds 0 1 2]

A name may be followed by the sizes of classes, as ``digits@178,30,30``: as many classes, others by seed, and at most so
many rows of each, by chance. ``pendigits@all`` are all rows.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from reproduction.data import TITLES, load
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from skspc import SPCClustering

N_MEMBERS = 5
MAX_ROWS = 5000
MAX_LARGE_IMAGES = 2000  # of 28 x 28 pixels and more
ALL_ROWS = "all"
LARGE_IMAGES = ("coil20", "mnist", "fashion_mnist", "kmnist_test")
TABLES = {"iris": load_iris, "wine": load_wine, "breast_cancer": load_breast_cancer}
IMAGES = ("digits", "optdigits", "usps", *LARGE_IMAGES)
NAMES = (*TABLES, "pendigits", "stackoverflow_titles", "har_inertial", *IMAGES)


def rows_and_classes(name, seed):
    """Rows of a data set, at most 5000, or 2000 large images, and their classes."""
    name, at, sizes = name.partition("@")
    if sizes == ALL_ROWS:
        data = load(name)
        return data.rows, data.classes
    if at:
        return unequal_part(*rows_and_classes(name, seed), [int(size) for size in sizes.split(",")], seed)
    if name in TABLES:
        return TABLES[name](return_X_y=True)
    data = load(name, MAX_LARGE_IMAGES if name in LARGE_IMAGES else MAX_ROWS)
    return data.rows, data.classes


def unequal_part(rows, classes, sizes, seed):
    """At most so many rows of as many classes, in any order; one further in the list of classes with each seed."""
    random = np.random.default_rng(seed)
    kinds = np.roll(np.unique(classes), -seed)[: len(sizes)]
    chosen = [
        random.permutation(np.flatnonzero(classes == kind))[:size] for kind, size in zip(kinds, sizes, strict=True)
    ]
    chosen = random.permutation(np.concatenate(chosen))
    return rows[chosen], classes[chosen]


def name_of_data(text):
    """The name of a data set, with or without sizes of classes."""
    if text.partition("@")[0] not in TITLES:
        raise argparse.ArgumentTypeError(
            f"{text!r} is none of {', '.join(TITLES)}, nor one of these with @ and sizes or {ALL_ROWS!r}"
        )
    return text


class FirstRows:
    """A clusterer that costs nothing: the latents are what counts here."""

    def fit_predict(self, X):
        """Two clusters, of the first row and the others."""
        return np.minimum(np.arange(len(X)), 1)


def latents_of(name, seed, folder):
    """Latents (K, N, m) in float32 of a pretrained ensemble, and the classes: from the folder, or made for it."""
    path = Path(folder) / f"{name}-{seed}.npz"
    if not path.exists():
        rows, classes = rows_and_classes(name, seed)
        model = SPCClustering(2, clusterer=FirstRows(), reducer=None, n_estimators=N_MEMBERS, max_iter=0)
        latents = model.set_params(random_state=seed).fit(rows).transform(rows)
        latents = latents.reshape(len(rows), N_MEMBERS, -1).swapaxes(0, 1).astype(np.float32)
        np.savez(path, latents=latents, classes=classes)
    with np.load(path) as kept:
        return kept["latents"], np.unique(kept["classes"], return_inverse=True)[1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--dataset", nargs="+", type=name_of_data, metavar="NAME", default=NAMES)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for seed in arguments.seeds:
        for name in arguments.dataset:
            start = time.perf_counter()
            latents, _ = latents_of(name, seed, arguments.folder)
            print(f"{name:20s} seed {seed}: {latents.shape}, {time.perf_counter() - start:.0f} s", flush=True)
