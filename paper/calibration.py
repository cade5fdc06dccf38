"""How far doubt can be trusted: `python paper/calibration.py --dataset digits usps pendigits` (SKSPC_DATA is set).

Two thirds of the rows are fitted; truth is looked at afterwards alone, to match clusters to classes. Tables: the
accuracy of `labels_` by `agreement_`; and the accuracy of `predict` by the probability that `predict_proba` gives the
label, on the rows fitted and on those held out, with the expected calibration error (Guo et al. 2017: mean distance of
confidence and accuracy over ten bins of equal width, weighted by their rows).
"""

import argparse
from itertools import pairwise

import numpy as np
from reproduction import data
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix

from skspc import SPCClustering

AGREEMENT_EDGES = (0, 0.5, 0.7, 0.9, 1.0)
PROBABILITY_EDGES = (0, 0.5, 0.7, 0.9, 0.99, 0.999, 1.0)


def match_classes(classes, labels):
    """Class of each cluster, by the Hungarian algorithm on rows fitted."""
    counts = contingency_matrix(classes, labels)
    rows, columns = linear_sum_assignment(counts, maximize=True)
    matched = np.full(counts.shape[1], -1)
    matched[columns] = np.unique(classes)[rows]
    return matched


def bin_rows(values, right, edges):
    """Yield for each bin its edges, share of the rows, mean value and share of right rows; 1 is in the last."""
    which = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
    for i, (low, high) in enumerate(pairwise(edges)):
        inside = which == i
        if inside.any():
            yield low, high, inside.mean(), values[inside].mean(), right[inside].mean()


def calibration_error(values, right, n_bins=10):
    bins = bin_rows(values, right, np.linspace(0, 1, n_bins + 1))
    return sum(share * abs(value - accuracy) for _, _, share, value, accuracy in bins)


def print_table(title, values, right, edges):
    print(f"\n{title}: {100 * right.mean():.1f} % right\n")
    print("| from | below | rows | mean | right |\n| --- | --- | --- | --- | --- |")
    for low, high, share, value, accuracy in bin_rows(values, right, edges):
        print(f"| {low} | {high} | {100 * share:.1f} % | {value:.3f} | {100 * accuracy:.1f} % |")


def measure(name, n_rows, seed):
    stored = data.load(name, n_rows)
    held_out = np.random.default_rng(0).permutation(len(stored.rows)) % 3 == 0
    rows, classes = stored.rows[~held_out], stored.classes[~held_out]
    model = SPCClustering(len(np.unique(classes)), random_state=seed).fit(rows)
    matched = match_classes(classes, model.labels_)
    print(f"\n## {data.TITLES[name]}, {len(rows)} rows fitted, {held_out.sum()} held out, seed {seed}")
    right = matched[model.labels_] == classes
    print_table("labels_, by agreement_", model.agreement_, right, (*AGREEMENT_EDGES[:-1], 0.999999, 1.1))
    for what, part in (("rows fitted", ~held_out), ("rows held out", held_out)):
        probabilities = model.predict_proba(stored.rows[part])
        right = matched[probabilities.argmax(axis=1)] == stored.classes[part]
        values = probabilities.max(axis=1)
        print_table(f"predict on {what}, by predict_proba", values, right, PROBABILITY_EDGES)
        print(f"\nExpected calibration error: {calibration_error(values, right):.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", nargs="+", choices=list(data.TITLES), default=["digits"])
    parser.add_argument("--n-rows", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    for name in arguments.dataset:
        measure(name, arguments.n_rows, arguments.seed)


if __name__ == "__main__":
    main()
