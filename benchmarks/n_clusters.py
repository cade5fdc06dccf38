"""What would `n_clusters_curve` choose, and what does it cost? Prints the tables of docs/n_clusters.md.

    python benchmarks/n_clusters.py [--dataset digits iris usps stackoverflow_titles] [--seeds 0 1 2] [--counts 2 16]
    python benchmarks/n_clusters.py --cost

Each figure of the curve is given the choice by a rule of its own: the largest number with a held-out agreement of at
least .85, else the number at which the figure is greatest. Classes are read only to tell what they are as many as. With
``--curves`` the figures of each number follow. ``--cost`` times a fit of the digits with default settings and the
curve of eight numbers, in turns, in this process. Sets are taken as `paper/reproduce.py` takes them.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.metrics import adjusted_rand_score

from skspc import SPCClustering
from skspc.model_selection import n_clusters_curve

sys.path.insert(0, str(Path(__file__).parents[1] / "paper"))
FIGURES = ("held_out_agreement", "agreement", "agreed_share", "silhouette")
HEAD = ("data", "rows", "classes", "seed", "tried", "chosen", "most held-out", "most agreement", "most agreed")
HEAD += ("best silhouette", "most like the classes", "seconds")


def load(name, n_rows):
    """Rows and classes, at most so many rows drawn at random."""
    if name in ("iris", "wine"):
        return {"iris": load_iris, "wine": load_wine}[name](return_X_y=True)
    if name == "digits":
        return load_digits().images, load_digits().target
    from reproduction.data import load as load_whole

    data = load_whole(name, n_rows)
    return data.rows, data.classes


def numbers(curve):
    """The number that each figure has its greatest value at."""
    return [int(curve.n_clusters[np.nanargmax(curve[figure])]) for figure in FIGURES]


def print_choices(args):
    curves = []
    counts = range(*args.counts, args.step)
    print(f"| {' | '.join(HEAD)} |\n|{' --- |' * len(HEAD)}")
    for name in args.dataset:
        X, y = load(name, args.n_rows)
        for seed in args.seeds:
            start = time.perf_counter()
            curve = n_clusters_curve(SPCClustering(random_state=seed), X, n_clusters=counts)
            seconds = time.perf_counter() - start
            likeness = [adjusted_rand_score(y, labels) for labels in curve.labels]
            cells = [name, len(X), len(np.unique(y)), seed, f"{counts[0]} to {counts[-1]}", curve.best_n_clusters]
            cells += [*numbers(curve), curve.n_clusters[np.argmax(likeness)], f"{seconds:.0f}"]
            print("| " + " | ".join(map(str, cells)) + " |", flush=True)
            curves.append((name, seed, curve, likeness))
            if args.curves:
                print_curve(*curves[-1])


def print_curve(name, seed, curve, likeness):
    for i, count in enumerate(curve.n_clusters):
        figures = " ".join(f"{figure} {curve[figure][i]:.2f}" for figure in FIGURES)
        print(f"#   {name}, seed {seed}, {count}: {figures} index with the classes {likeness[i]:.2f}", flush=True)


def print_cost(turns=1):
    X = load_digits().images
    print("| turn | fit, s | curve of 8 numbers, s | ratio |\n| --- | --- | --- | --- |")
    for turn in range(turns):
        start = time.perf_counter()
        SPCClustering(n_clusters=10, random_state=turn).fit(X)
        of_fit = time.perf_counter() - start
        start = time.perf_counter()
        n_clusters_curve(SPCClustering(random_state=turn), X, n_clusters=range(5, 13))
        of_curve = time.perf_counter() - start
        print(f"| {turn} | {of_fit:.0f} | {of_curve:.0f} | {of_curve / of_fit:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", nargs="+", default=["digits", "iris"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--counts", nargs=2, type=int, default=[2, 16], help="the first number, and one above the last")
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--n-rows", type=int, default=3000)
    parser.add_argument("--curves", action="store_true")
    parser.add_argument("--cost", action="store_true")
    args = parser.parse_args()
    if args.cost:
        print_cost()
    else:
        print_choices(args)


if __name__ == "__main__":
    main()
