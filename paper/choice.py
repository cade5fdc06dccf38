"""What tells, without classes, whether HDBSCAN's cut or k-means labels the embeddings of an ensemble better.

    python paper/choice.py FOLDER [--dataset NAME ...] [--seeds 0 1 2]
    python paper/choice.py --table

Latents are those that `latents.py` keeps, labellings those of `labelling.py`. Of either clusterer: accuracy of the vote
of all spaces, the share of the rows on which all agree, and how even the sizes of the vote's clusters are (their
entropy, 1 where all are equal). The rows are appended to `choice.jsonl` beside this script; those there now are of a
draft of it, all but one of at most 4000 rows, among them starts of `rounds.py`; "flat" are images as vectors of pixels.
"""

import json
import sys
from pathlib import Path

import numpy as np
from labelling import labellings_of, make_parser

from skspc._method.choice import _MORE_EVEN, _MORE_ROWS, agreed_share, evenness_of_sizes
from skspc._method.consensus import find_consensus
from skspc.metrics import clustering_accuracy

RESULTS = Path(__file__).with_suffix(".jsonl")
CLUSTERERS = ("hdbscan", "kmeans")


def figures_of(labellings, classes, n_clusters):
    """What is known of one clusterer's labellings (L, N); None if fewer than two have all clusters."""
    exact = [labels for labels in labellings if labels.max() + 1 == n_clusters]
    if len(exact) < 2:
        return None
    vote = find_consensus(np.stack(exact), n_clusters)
    return {
        "acc": round(100 * clustering_accuracy(classes, vote.labels), 1),
        "agreed": round(float(agreed_share(vote)), 3),
        "ent": round(float(evenness_of_sizes(vote, n_clusters)), 4),
    }


def print_table():
    """The rows that are there, and what the rule takes."""
    print("| data, seed | agreed by all | evenness of sizes | accuracy of the vote | taken |")
    print("| --- | --- | --- | --- | --- |")
    for line in RESULTS.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        density, k_means = (row[clusterer] for clusterer in CLUSTERERS)
        more = k_means["agreed"] > density["agreed"] + _MORE_ROWS and k_means["ent"] > density["ent"] + _MORE_EVEN
        name, seed = row["name"].rsplit("-", 1)
        shares = f"{100 * density['agreed']:.0f}, {100 * k_means['agreed']:.0f}"
        evenness = f"{density['ent']:.3f}, {k_means['ent']:.3f}"
        taken = "k-means" if more else "HDBSCAN"
        print(f"| {name}, {seed} | {shares} | {evenness} | {density['acc']}, {k_means['acc']} | {taken} |")


def main():
    if sys.argv[1:] == ["--table"]:
        print_table()
        return
    arguments = make_parser(__doc__).parse_args()
    for name in arguments.dataset:
        for seed in arguments.seeds:
            found, classes = labellings_of(name, seed, arguments.folder)
            n_clusters = len(np.unique(classes))
            row = {"name": f"{name}-{seed}", "n": len(classes), "C": n_clusters}
            row |= {clusterer: figures_of(found[clusterer], classes, n_clusters) for clusterer in CLUSTERERS}
            with RESULTS.open("a", encoding="utf-8") as results:
                results.write(json.dumps(row) + "\n")
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
