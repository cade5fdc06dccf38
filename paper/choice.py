"""What tells, without classes, which clusterer labels the embeddings of an ensemble best.

    python paper/choice.py FOLDER [--dataset NAME ...] [--seeds 0 1 2]
    python paper/choice.py --table

Latents are those that `latents.py` keeps, of data sets and of parts of them with classes of unequal size, labellings
those of `labelling.py`. Of each clusterer: accuracy and adjusted Rand index of the vote of all spaces, the share of the
rows on which all agree, how even the sizes of the vote's clusters are, and how many neighbours it tears apart. The rows
are appended to `choice.jsonl` beside this script. Those marked "tuned" there are what the rule was made on; they are of
a draft of this script, "flat" are images as vectors of pixels.
"""

import json
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
from labelling import embeddings_of, labellings_of, make_parser
from sklearn.metrics import adjusted_rand_score

from skspc._method.choice import fitting_rule, nearest_rows, verdict_of
from skspc._method.consensus import find_consensus
from skspc.metrics import clustering_accuracy

RESULTS = Path(__file__).with_suffix(".jsonl")
CLUSTERERS = ("hdbscan", "kmeans", "gmm")
TITLES = {0: "HDBSCAN", 2: "k-means", 3: "mixture"}  # of the rules of clusterer="auto"


def figures_of(labellings, neighbors, classes, n_clusters):
    """What is known of one clusterer's labellings (L, N); None if fewer than two have all clusters."""
    exact = [labels for labels in labellings if labels.max() + 1 == n_clusters]
    verdict = verdict_of(labellings, neighbors, n_clusters)
    if len(exact) < 2 or verdict is None:
        return None
    vote = find_consensus(np.stack(exact), n_clusters)
    return {
        "acc": round(100 * clustering_accuracy(classes, vote.labels), 1),
        "ari": round(adjusted_rand_score(classes, vote.labels), 2),
        **{name: round(float(figure), 4) for name, figure in asdict(verdict).items()},
    }


def judge(name, seed, folder):
    """A row: the figures of each clusterer on an ensemble, and which rule is taken."""
    found, classes = labellings_of(name, seed, folder)
    embeddings, _ = embeddings_of(name, seed, folder)
    n_clusters, neighbors = len(np.unique(classes)), [nearest_rows(space) for space in embeddings]
    row = {"name": name, "seed": seed, "n": len(classes), "C": n_clusters}
    row |= {clusterer: figures_of(found[clusterer], neighbors, classes, n_clusters) for clusterer in CLUSTERERS}
    return row | {"rule": fitting_rule(embeddings, [found[clusterer] for clusterer in CLUSTERERS], n_clusters)}


def print_table():
    """The rows that are there."""
    print("| data, seed | accuracy of the vote | agreed by all | evenness of sizes | torn apart | taken |")
    print("| --- | --- | --- | --- | --- | --- |")
    for line in RESULTS.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        cells = [", ".join("-" if row[way] is None else show(row[way]) for way in CLUSTERERS) for show in SHOWN]
        print(f"| {row['name']}, {row['seed']} | {' | '.join(cells)} | {TITLES[row['rule']]} |")


SHOWN = (
    lambda figures: f"{figures['acc']:.1f}",
    lambda figures: f"{100 * figures['agreed']:.0f}",
    lambda figures: f"{figures['evenness']:.3f}",
    lambda figures: f"{100 * figures['torn']:.1f}",
)


def main():
    if sys.argv[1:] == ["--table"]:
        print_table()
        return
    arguments = make_parser(__doc__).parse_args()
    for name in arguments.dataset:
        for seed in arguments.seeds:
            row = judge(name, seed, arguments.folder)
            with RESULTS.open("a", encoding="utf-8") as results:
                results.write(json.dumps(row) + "\n")
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
