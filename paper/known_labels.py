"""What known labels are worth: accuracy of the rows that were not known, by how many were.

    python paper/known_labels.py [--dataset digits har titles] [--seeds 0 1 2] [--per-cluster 10] [--wrong 0]
    python paper/known_labels.py --ask 20 [--dataset digits] [--seeds 0 1 2]

The first draws so many rows a class, a share of them under a wrong label, and compares `SPCClustering` with and without
`known_labels`, scikit-learn's `LabelSpreading` on the neighbours in the data (default settings otherwise), and a
`LogisticRegression` on the known rows alone. The second fits, asks for the labels of rows (those of `doubtful_rows`, or
as many at random), and fits again from the weights there are (`warm_start`, one round); clusters have the names of the
classes that match them best, so that the answers are labels of classes. The rows are appended to `known_labels.jsonl`
beside this script.
"""

import argparse
import copy
import json
import time
import warnings
from pathlib import Path

import numpy as np
from reproduction.data import load
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import LabelSpreading

from skspc import SPCClustering
from skspc._method.consensus import match_labels
from skspc.metrics import clustering_accuracy

SETS = {"digits": ("digits", 1797), "har": ("har_inertial", 3000), "titles": ("stackoverflow_titles", 4000)}
RESULTS = Path(__file__).with_suffix(".jsonl")


def rows_of(name):
    """Rows of a part of a data set, drawn at random, and their classes as 0, 1, ..."""
    data = load(SETS[name][0])
    chosen = np.sort(np.random.default_rng(0).permutation(len(data.rows))[: SETS[name][1]])
    return data.rows[chosen], np.unique(data.classes, return_inverse=True)[1][chosen]


def draw_known(y, per_cluster, wrong, seed):
    """Known labels (N,) of so many rows a class, a share of them wrong."""
    rng, known, n_classes = np.random.default_rng(seed), np.full(len(y), -1), y.max() + 1
    for label in range(n_classes):
        known[rng.choice(np.flatnonzero(y == label), per_cluster, replace=False)] = label
    told = np.flatnonzero(known >= 0)
    mistaken = told[rng.random(len(told)) < wrong]
    known[mistaken] = (known[mistaken] + rng.integers(1, n_classes, len(mistaken))) % n_classes
    return known


def with_known(X, y, seed, per_cluster, wrong):
    """Figures of one draw."""
    known, flat = draw_known(y, per_cluster, wrong, seed), X.reshape(len(X), -1)
    new, model = known < 0, SPCClustering(y.max() + 1, random_state=seed, n_jobs=1)
    started = time.perf_counter()
    semi = clone(model).fit(X, known_labels=known)
    seconds = time.perf_counter() - started
    without = clone(model).fit(X)
    spread = LabelSpreading(kernel="knn", max_iter=200).fit(flat, known).transduction_
    classifier = LogisticRegression(max_iter=2000).fit(flat[~new], known[~new]).predict(flat)
    found = {"known_labels": semi.labels_, "LabelSpreading": spread, "LogisticRegression": classifier}
    figures = {way: float(np.mean(labels[new] == y[new])) for way, labels in found.items()}
    figures["without"] = clustering_accuracy(y, without.labels_)
    agreed = semi.agreed_ & new
    return figures | {
        "agreed": float(agreed.sum() / new.sum()),
        "right where agreed": float(np.mean(semi.labels_[agreed] == y[agreed])),
        "seconds": seconds,
    }


def by_asking(X, y, seed, n_asked):
    """Accuracy before and after the answers to doubtful and to random questions, and what a refit takes."""
    started = time.perf_counter()
    model = SPCClustering(y.max() + 1, random_state=seed, n_jobs=1).fit(X)
    figures = {"before": clustering_accuracy(y, model.labels_), "seconds of the fit": time.perf_counter() - started}
    names, _ = match_labels(y, model.labels_, y.max() + 1)
    answers = names[y]
    random = np.random.default_rng(seed).choice(len(y), n_asked, replace=False)
    for way, asked in {"doubtful": model.doubtful_rows(n_asked), "random": random}.items():
        known = np.full(len(y), -1)
        known[asked] = answers[asked]
        refit = copy.deepcopy(model).set_params(warm_start=True, max_iter=1)
        started = time.perf_counter()
        refit.fit(X, known_labels=known)
        figures |= {way: float(np.mean(refit.labels_ == answers)), f"seconds, {way}": time.perf_counter() - started}
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--per-cluster", type=int, default=10)
    parser.add_argument("--wrong", type=float, default=0)
    parser.add_argument("--ask", type=int)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in args.dataset:
        X, y = rows_of(name)
        for seed in args.seeds:
            row = {"dataset": name, "n_rows": len(y), "seed": seed}
            if args.ask:
                row |= {"asked": args.ask} | by_asking(X, y, seed, args.ask)
            else:
                row |= {"per_cluster": args.per_cluster, "wrong": args.wrong}
                row |= with_known(X, y, seed, args.per_cluster, args.wrong)
            with RESULTS.open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(row, flush=True)


if __name__ == "__main__":
    main()
