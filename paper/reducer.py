"""What tells, without classes, whether members are to be labelled by UMAP's embeddings or by their latents.

    python paper/reducer.py FOLDER [--dataset NAME ...] [--seeds 0 1 2]
    python paper/reducer.py --table

Latents are those that `latents.py` keeps, labellings those of `labelling.py`. Of HDBSCAN's cut and k-means on the
embeddings, and of k-means on the latents: accuracy of the vote of all spaces, mean agreement of the members, and how
often a row's neighbours in one member's latents are in its cluster of another member ("together"); of labellings of all
rows, where a fit looks at 5000. The rows are appended to `reducer.jsonl` beside this script. Those there now are of a
draft of it. Of its sets `latents.py` does not know: rows of 0 and 1 made of images ("bin_") or of a table's thirds
("disc_"), or drawn of so many latent classes and features ("lca_"); "emb_", vectors by all-MiniLM-L6-v2; "zoo",
"glass", "pima" and "sonar", other tables of mlbench; "debian", descriptions of the first ten sections, all 5767; and
"letter" with 10 000 rows.
"""

import json
import sys
from pathlib import Path

import numpy as np
from labelling import LATENTS, labellings_of, make_parser
from latents import N_MEMBERS, latents_of

from skspc._method.choice import _MAX_ROWS, agreement_and_neighbors, nearest_rows, reducer_pays
from skspc._method.consensus import find_consensus
from skspc.metrics import clustering_accuracy

RESULTS = Path(__file__).with_suffix(".jsonl")
WAYS = {"hdbscan": "hdbscan", "kmeans": "kmeans", "latents": LATENTS}


def judge(name, seed, folder):
    """A row: the figures of each way, and whether the shipped rule keeps UMAP."""
    found, classes = labellings_of(name, seed, folder)
    latents, _ = latents_of(name, seed, folder)
    n_clusters = len(np.unique(classes))
    chosen = np.random.default_rng(seed).permutation(len(classes))[:_MAX_ROWS]
    of_members = {way: [labels[chosen] for labels in found[kept][:N_MEMBERS]] for way, kept in WAYS.items()}
    neighbors = [nearest_rows(member[chosen]) for member in latents]
    row = {"name": name, "seed": seed, "n": len(classes), "C": n_clusters}
    for way, kept in WAYS.items():
        row[way] = figures_of(found[kept], of_members[way], neighbors, classes, n_clusters)
    by_embeddings = [of_members["kmeans"], of_members["hdbscan"]]
    pays = reducer_pays(list(latents[:, chosen]), of_members["latents"], by_embeddings, n_clusters)
    return row | {"pays": bool(pays)}


def figures_of(labellings, of_members, neighbors, classes, n_clusters):
    """Accuracy of the vote of all spaces, and what members show; None if a labelling has too many clusters."""
    exact = [labels for labels in labellings if labels.max() + 1 == n_clusters]
    if len(exact) < 2 or any(labels.max() >= n_clusters for labels in of_members):
        return None
    vote = find_consensus(np.stack(exact), n_clusters)
    agreement, together = agreement_and_neighbors(of_members, neighbors, n_clusters)
    return {
        "acc": round(100 * clustering_accuracy(classes, vote.labels), 1),
        "agreement": round(float(agreement), 3),
        "together": round(float(together), 3),
    }


def print_table():
    """The rows that are there: of HDBSCAN's cut, k-means on the embeddings, and k-means on the latents."""
    print("| data, seed | agreement | together | accuracy of the vote | UMAP stays |\n| --- | --- | --- | --- | --- |")
    for line in RESULTS.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        cells = [
            ", ".join(f"{row[way][key]}" if row[way] else "-" for way in WAYS)
            for key in ("agreement", "together", "acc")
        ]
        print(f"| {row['name']}, {row['seed']} | {' | '.join(cells)} | {'yes' if row['pays'] else 'no'} |")


def main():
    if sys.argv[1:] == ["--table"]:
        print_table()
        return
    arguments = make_parser(__doc__).parse_args()
    for name in arguments.dataset:
        for seed in arguments.seeds:
            line = json.dumps(judge(name, seed, arguments.folder))
            with RESULTS.open("a", encoding="utf-8") as results:
                results.write(line + "\n")
            print(line, flush=True)


if __name__ == "__main__":
    main()
