"""When may k-means vote beside HDBSCAN's cut? First clusterings of parts of data sets, with classes of many sizes.

    python paper/parts.py FOLDER [--dataset NAME ...] [--seeds 0]
    python paper/parts.py --table

Of the latents that `latents.py` keeps, parts of three to six classes are drawn: "equal", at most 200 rows of each,
"mild", where the others have .3 to .9 times the rows of the largest, 400 at most, and "unequal", .05 to .35 times.
Each is clustered as a fit clusters first. Of HDBSCAN's cut, of k-means and of both in one vote: the accuracy; and how
much more even the clusters by k-means are, and how much more members agree on them. Rows are appended to `parts.jsonl`
beside this script. Those there now are of a draft of it; "bin_" are images in black and white, as vectors.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import torch
from latents import NAMES, latents_of, name_of_data

from skspc import SPCClustering
from skspc._method.choice import cuts_up, label_all, labelling_rules, nearest_rows, verdict_of
from skspc._method.consensus import find_consensus
from skspc._method.labelling import cluster_spaces, exact_labellings
from skspc._method.rounds import relabel_by_choice
from skspc.metrics import clustering_accuracy

RESULTS = Path(__file__).with_suffix(".jsonl")
SIZES = {"equal": None, "mild": (0.3, 0.9), "unequal": (0.05, 0.35)}  # of the other classes, by the largest
MAX_EQUAL, MAX_ROWS, MIN_ROWS = 200, 400, 15
N_PARTS = 3
SHOWN = 1.5  # points between the cut and k-means, or the vote of both, from which on the table has a row


def draw_part(classes, shares, random):
    """Indices of rows of three to six classes, by chance, the largest first."""
    counts = np.bincount(classes)
    kinds = random.permutation(len(counts))[: min(random.integers(3, 7), len(counts))]
    kinds = kinds[np.argsort(-counts[kinds])]
    if shares is None:
        sizes = np.full(len(kinds), min(MAX_EQUAL, counts[kinds].min()))
    else:
        others = random.uniform(*shares, len(kinds) - 1)
        sizes = np.maximum(MIN_ROWS, min(MAX_ROWS, counts[kinds].max()) * np.r_[1, others]).astype(int)
    drawn = [
        random.permutation(np.flatnonzero(classes == kind))[:size] for kind, size in zip(kinds, sizes, strict=True)
    ]
    return np.concatenate(drawn)


def judge(latents, classes, seed):
    """The figures of a first clustering of latents (K, N, m); None where HDBSCAN's cut has not so many clusters."""
    n_rows, n_clusters = len(classes), len(np.unique(classes))
    rules = labelling_rules("auto", "umap", n_clusters, n_rows)
    settings = SPCClustering(n_clusters, random_state=seed)._round_settings(n_rows, rules, torch.device("cpu"), None)
    found, embeddings = cluster_spaces(latents, n_clusters, settings, seed)
    by_cut = exact_labellings(found, n_clusters)
    if not by_cut:
        return None
    rule = relabel_by_choice(latents, embeddings, found, n_clusters, settings, seed, ()).rule
    by_k_means = list(label_all(embeddings, "kmeans", n_clusters, seed).values())
    neighbors = [nearest_rows(space) for space in embeddings.values()]
    cut, k_means = (verdict_of(labellings, neighbors, n_clusters) for labellings in (by_cut, by_k_means))
    sets = {"cut": by_cut, "k-means": by_k_means, "both": by_cut + by_k_means}
    votes = {name: find_consensus(np.stack(labellings), n_clusters).labels for name, labellings in sets.items()}
    accuracy = {name: round(100 * clustering_accuracy(classes, labels), 1) for name, labels in votes.items()}
    figures = {
        "more even": round(float(k_means.evenness - cut.evenness), 3),
        "more agreement": round(float(k_means.agreement - cut.agreement), 3),
        "cuts up": bool(cuts_up(k_means, cut)),
    }
    return {"n_clusters": n_clusters, "n_rows": n_rows, "rule": int(rule)} | accuracy | figures


def print_table():
    """The rows that are labelled by HDBSCAN's cut, with k-means beside it or not, and their means."""
    rows = [json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if row["rule"] in (0, 4)]
    print("| part | clusters, rows | cut | k-means | both | more even | more agreement | k-means votes |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for row in sorted(rows, key=lambda row: row["both"] - row["cut"]):
        if max(abs(row["k-means"] - row["cut"]), abs(row["both"] - row["cut"])) >= SHOWN:
            figures = [f"{row[name]:.1f}" for name in ("cut", "k-means", "both")]
            figures += [f"{row[name]:+.2f}" for name in ("more even", "more agreement")]
            cells = [row["name"], f"{row['n_clusters']}, {row['n_rows']}", *figures, "no" if row["cuts up"] else "yes"]
            print(f"| {' | '.join(cells)} |")
    taken = [row["cut" if row["cuts up"] else "both"] for row in rows]
    means = [np.mean([row[name] for row in rows]) for name in ("cut", "k-means", "both")]
    print(f"{len(rows)} parts: " + ", ".join(f"{mean:.1f}" for mean in [*means, np.mean(taken)]))


def main():
    if sys.argv[1:] == ["--table"]:
        print_table()
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--dataset", nargs="+", type=name_of_data, metavar="NAME", default=NAMES)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in arguments.dataset:
        for seed in arguments.seeds:
            latents, classes = latents_of(name, seed, arguments.folder)
            for kind, shares in SIZES.items():
                for part in range(N_PARTS):
                    rows = draw_part(classes, shares, np.random.default_rng([seed, part]))
                    figures = judge(latents[:, rows].astype(np.float32), classes[rows], seed)
                    if figures is not None:
                        row = {"name": f"{name}/{kind}/{part}", "seed": seed} | figures
                        with RESULTS.open("a", encoding="utf-8") as results:
                            results.write(json.dumps(row) + "\n")
                        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
