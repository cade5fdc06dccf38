"""Are rows of a class that was held out told from new rows of the others? Prints the table of docs/agreement.md.

    python benchmarks/outliers.py [--dataset digits usps fashion_mnist] [--classes 0 1 3 5 8] [--n-rows 2000]

A class is left out of the fit, which has four fifths of the other rows; the last fifth and the class are scored. AUROC
of `outlier_score`, of its two parts alone, of the doubt between clusters, and of scikit-learn's detectors on the same
rows' pixels. The last columns are the shares of the known and of the held-out rows with a score above .95. The settings
are cheap: three members, one round.
"""

import argparse

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor

from skspc import SPCClustering, datasets

SEED = 0
HEAD = ("data", "held out", "outlier_score", "reconstruction", "distance", "probability", "IsolationForest")
HEAD += ("LocalOutlierFactor", "known > .95", "held out > .95")


def load(name, n_rows):
    """Images and classes of at most so many rows, drawn at random."""
    if name == "digits":
        images, y = load_digits().images, load_digits().target
    else:
        images, y = getattr(datasets, f"fetch_{name}")(return_X_y=True)
    chosen = np.random.default_rng(SEED).permutation(len(y))[:n_rows]
    return images[chosen], y[chosen]


def hold_out(y, held_out):
    """Rows to fit, and rows to score."""
    known = np.random.default_rng(SEED).permutation(np.flatnonzero(y != held_out))
    end = 4 * len(known) // 5
    return known[:end], np.concatenate([known[end:], np.flatnonzero(y == held_out)])


def figures_of(images, y, held_out, max_iter):
    """AUROC of each way, and the two shares."""
    fitted, scored = hold_out(y, held_out)
    is_out = y[scored] == held_out
    n_clusters = len(np.unique(y[fitted]))
    model = SPCClustering(n_clusters, n_estimators=3, max_iter=max_iter, random_state=SEED).fit(images[fitted])
    scores = model.outlier_score(images[scored])
    parts = model._strangeness(model._check_predict_data(images[scored]))
    pixels = images.reshape(len(images), -1)
    detectors = IsolationForest(random_state=SEED), LocalOutlierFactor(novelty=True)
    found = [scores, *parts, -model.predict_proba(images[scored]).max(axis=1)]
    found += [-detector.fit(pixels[fitted]).score_samples(pixels[scored]) for detector in detectors]
    return [roc_auc_score(is_out, each) for each in found] + [np.mean(scores[s] > 0.95) for s in (~is_out, is_out)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", nargs="+", default=["digits"])
    parser.add_argument("--classes", nargs="+", type=int, default=[0, 1, 3, 5, 8])
    parser.add_argument("--n-rows", type=int, default=2000)
    parser.add_argument("--max-iter", type=int, default=1)
    args = parser.parse_args()
    print(f"| {' | '.join(HEAD)} |\n|{' --- |' * len(HEAD)}")
    for name in args.dataset:
        images, y = load(name, args.n_rows)
        rows = []
        for held_out in args.classes:
            rows.append(figures_of(images, y, held_out, args.max_iter))
            print_row(name, held_out, rows[-1])
        print_row(name, "mean", np.mean(rows, axis=0))


def print_row(name, held_out, figures):
    print(f"| {name} | {held_out} | " + " | ".join(f"{figure:.3f}" for figure in figures) + " |", flush=True)


if __name__ == "__main__":
    main()
