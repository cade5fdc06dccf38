"""What more neighbours in UMAP do to a first clustering, and what tells without classes where they are needed.

    python paper/neighbors.py FOLDER [--dataset NAME ...] [--seeds 0 1 2] [--neighbors 12 24 48]

Latents are those that `latents.py` keeps. Of each number of neighbours: the eigenvalue that tells whether the graph of
one member's latents is in more than three pieces a cluster (`skspc.clusterers._pieces`), and, of the labellings of all
spaces by each clusterer, the accuracy of their vote and their mean agreement, and which of them `clusterer="auto"`
takes. The rows are appended to `neighbors.jsonl` beside this script.
"""

import json
from pathlib import Path

import numpy as np
from labelling import CLUSTERERS, RULES, label_all, make_parser, spaces_of
from latents import latents_of

from skspc._method.choice import choose_rule
from skspc._method.consensus import find_consensus
from skspc.clusterers import UMAPReducer, get_clusterer
from skspc.clusterers._pieces import eigenvalue_after
from skspc.clusterers._umap import PIECES_OF_CLUSTER
from skspc.metrics import clustering_accuracy

RESULTS = Path(__file__).with_suffix(".jsonl")


def embeddings_of(spaces, n_neighbors, path):
    """Embeddings (K + 1, N, 2) with so many neighbours: from a file, or made for it."""
    if not path.exists():
        reducers = [UMAPReducer(n_neighbors=n_neighbors, random_state=i, device="cpu") for i in range(len(spaces))]
        embeddings = [reducer.fit_transform(space) for reducer, space in zip(reducers, spaces, strict=True)]
        np.savez(path, E=np.stack(embeddings).astype(np.float32))
    with np.load(path) as kept:
        return kept["E"].astype(np.float64)


def vote_of(labellings, classes):
    """Accuracy of the vote of labels (L, N) with as many clusters as classes, and their mean agreement, in percent."""
    n_clusters = len(np.unique(classes))
    exact = [labels for labels in labellings if labels.max() + 1 == n_clusters]
    if not exact:
        return {"vote": None, "agreement": None}
    vote = find_consensus(np.stack(exact), n_clusters)
    figures = {
        "vote": clustering_accuracy(classes, vote.labels),
        "agreement": vote.votes.mean() / len(labellings),
    }
    return {name: round(100 * float(figure), 1) for name, figure in figures.items()}


def judge(name, seed, n_neighbors, folder):
    """The row of a data set, a seed and a number of neighbours."""
    latents, classes = latents_of(name, seed, folder)
    spaces, n_clusters = spaces_of(latents), len(np.unique(classes))
    reducer = UMAPReducer(n_neighbors=n_neighbors, random_state=0, device="cpu")
    graph = reducer._neighbors_of(reducer._as_space(latents[0], None))
    embeddings = embeddings_of(spaces, n_neighbors, folder / f"{name}-{seed}-umap-{n_neighbors}.npz")
    found = {way: label_all(embeddings, get_clusterer(way), n_clusters) for way in CLUSTERERS}
    by_density = dict(enumerate(found["hdbscan"]))
    rule = choose_rule(latents, dict(enumerate(embeddings)), by_density, len(RULES), n_clusters, seed)
    return {
        "dataset": name,
        "seed": seed,
        "rows": len(classes),
        "neighbors": n_neighbors,
        "eigenvalue": round(eigenvalue_after(graph, PIECES_OF_CLUSTER * n_clusters), 3),
        "auto": RULES[rule],
        **{way: vote_of(labellings, classes) for way, labellings in found.items() if way != "agglomerative"},
    }


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--neighbors", nargs="+", type=int, default=[12, 24, 48])
    arguments = parser.parse_args()
    for name in arguments.dataset:
        for seed in arguments.seeds:
            for n_neighbors in arguments.neighbors:
                line = json.dumps(judge(name, seed, n_neighbors, arguments.folder))
                with RESULTS.open("a", encoding="utf-8") as results:
                    results.write(line + "\n")
                print(line, flush=True)


if __name__ == "__main__":
    main()
