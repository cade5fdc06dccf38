"""What tells, without classes, which clusterer labels the embeddings of an ensemble best.

    python paper/choice.py FOLDER [--dataset NAME ...] [--seeds 0 1 2]
    python paper/choice.py --table
    python paper/choice.py --means

Latents are those that `latents.py` keeps, of data sets and of parts of them with classes of unequal size, labellings
those of `labelling.py`. Of each clusterer: accuracy and adjusted Rand index of the vote of all spaces, the share of the
rows on which all agree, how even the sizes of the vote's clusters are, and how many neighbours it tears apart. The rows
are appended to `choice.jsonl` beside this script. Those there without an @ are of a draft of it: "flat" are images as
vectors of pixels, unequal parts have their "sizes", and "tuned" is what the rule was made on.
"""

import json
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
from labelling import embeddings_of, labellings_of, make_parser
from sklearn.metrics import adjusted_rand_score

from skspc._method.choice import _MORE_EVEN, _MORE_ROWS, fitting_rule, nearest_rows, verdict_of
from skspc._method.consensus import find_consensus
from skspc.metrics import clustering_accuracy

RESULTS = Path(__file__).with_suffix(".jsonl")
CLUSTERERS = ("hdbscan", "kmeans", "gmm")
TAKEN = {0: "hdbscan", 2: "kmeans", 3: "gmm", 4: "hdbscan"}  # by the rules of clusterer="auto"
TITLES = {"hdbscan": "HDBSCAN", "kmeans": "k-means", "gmm": "mixture"}


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
        print(f"| {row['name']}, {row['seed']} | {' | '.join(cells)} | {TITLES[TAKEN[row['rule']]]} |")


SHOWN = (
    lambda figures: f"{figures['acc']:.1f}",
    lambda figures: f"{100 * figures['agreed']:.0f}",
    lambda figures: f"{figures['evenness']:.3f}",
    lambda figures: f"{100 * figures['torn']:.1f}",
)


def taken_before(row):
    """What the rule before this one took: agreement and evenness alone."""
    density, k_means = row["hdbscan"], row["kmeans"]
    if density is None:
        return "kmeans"
    more = k_means["agreed"] > density["agreed"] + _MORE_ROWS and k_means["evenness"] > density["evenness"] + _MORE_EVEN
    return "kmeans" if more else "hdbscan"


def print_means():
    """Mean accuracy of the votes, of ensembles on which the rule was made and on others."""
    rows = [json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines()]
    groups = {
        "classes as they are": [row for row in rows if "@" not in row["name"] and "sizes" not in row],
        "unequal parts, the rule was made on": [row for row in rows if "sizes" in row and row.get("tuned")],
        "unequal parts, others": [
            row for row in rows if "@" in row["name"] or ("sizes" in row and not row.get("tuned"))
        ],
    }
    ways = {clusterer: lambda row, clusterer=clusterer: clusterer for clusterer in CLUSTERERS}
    ways |= {"before": taken_before, "now": lambda row: TAKEN[row["rule"]]}
    ways["best"] = lambda row: max(filter(row.get, CLUSTERERS), key=lambda clusterer: row[clusterer]["acc"])
    print(f"| ensembles | {' | '.join(ways)} |\n| --- |{' --- |' * len(ways)}")
    for title, of_group in groups.items():
        means = [np.mean([row[way(row)]["acc"] for row in of_group if row[way(row)]]) for way in ways.values()]
        print(f"| {len(of_group)}, {title} | {' | '.join(f'{mean:.1f}' for mean in means)} |")


PRINTED = {"--table": print_table, "--means": print_means}


def main():
    if sys.argv[1:] and sys.argv[1] in PRINTED:
        PRINTED[sys.argv[1]]()
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
