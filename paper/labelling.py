"""Compare ways to label latents on the equal starts that `latents.py` keeps, and what could tell them apart unseen.

    python paper/labelling.py FOLDER [--dataset NAME ...] [--seeds 0 1 2]

Each member's latents, and all side by side, are reduced by UMAP once; embeddings and labellings are kept in the folder
too, so that another way to vote costs seconds. Ways: each clusterer on the embeddings; k-means from the centroids of
HDBSCAN's cut; k-means on the latents; votes of several together. Of each: mean accuracy of one labelling, accuracy of
the vote, mean agreement, share agreed and how many of these are right; and, without classes, how often a row's
neighbours in one member's latents are in its cluster of another member ("together"). The rows are appended to
`labelling.jsonl` beside this script.
"""

import argparse
import json
from itertools import permutations
from pathlib import Path

import numpy as np
from latents import NAMES, latents_of, name_of_data
from sklearn.cluster import KMeans
from sklearn.neighbors import NearestNeighbors

from skspc._constants import NOISE
from skspc._method.choice import choose_rule
from skspc._method.consensus import find_consensus, select_agreed
from skspc._method.labelling import label_embedding
from skspc.clusterers import UMAPReducer, get_clusterer
from skspc.metrics import clustering_accuracy

CLUSTERERS = ("hdbscan", "kmeans", "gmm", "agglomerative")
CENTROIDS, LATENTS = "kmeans from the cut", "kmeans on latents"
VOTES = {
    "hdbscan + kmeans": ("hdbscan", "kmeans"),
    "hdbscan + kmeans + gmm": ("hdbscan", "kmeans", "gmm"),
    f"hdbscan + {CENTROIDS}": ("hdbscan", CENTROIDS),
}
RULES = ("hdbscan", LATENTS, "kmeans", "gmm", "hdbscan")  # of clusterer="auto"
RESULTS = Path(__file__).with_suffix(".jsonl")
COLUMNS = ("one", "vote", "agreement", "agreed", "right", "together")


def embeddings_of(name, seed, folder):
    """Embeddings (K + 1, N, 2) of the latents of a data set, and its classes."""
    path = Path(folder) / f"{name}-{seed}-umap.npz"
    latents, classes = latents_of(name, seed, folder)
    if not path.exists():
        spaces = spaces_of(latents)
        reducers = [UMAPReducer(random_state=100 * seed + i, device="cpu") for i in range(len(spaces))]
        embeddings = [reducer.fit_transform(space) for reducer, space in zip(reducers, spaces, strict=True)]
        np.savez(path, E=np.stack(embeddings).astype(np.float32))
    with np.load(path) as kept:
        return kept["E"], classes


def spaces_of(latents):
    return [*latents, np.concatenate(list(latents), axis=1)]


def labellings_of(name, seed, folder):
    """Labellings (K + 1, N) of a data set by way, and its classes."""
    path = Path(folder) / f"{name}-{seed}-labels.npz"
    embeddings, classes = embeddings_of(name, seed, folder)
    if not path.exists():
        n_clusters = len(np.unique(classes))
        embeddings = embeddings.astype(np.float64)
        found = {way: label_all(embeddings, get_clusterer(way), n_clusters) for way in CLUSTERERS}
        found[CENTROIDS] = [
            label_embedding(space, KMeans(init=centroids(space, cut), n_init=1), n_clusters, 0)
            if cut.max() + 1 == n_clusters
            else other
            for space, cut, other in zip(embeddings, found["hdbscan"], found["kmeans"], strict=True)
        ]
        latents, _ = latents_of(name, seed, folder)
        found[LATENTS] = label_all(spaces_of(latents.astype(np.float64)), get_clusterer("kmeans"), n_clusters)
        np.savez(path, **{way: np.stack(labellings) for way, labellings in found.items()})
    with np.load(path) as kept:
        return dict(kept), classes


def label_all(spaces, clusterer, n_clusters):
    return [label_embedding(space, clusterer, n_clusters, i) for i, space in enumerate(spaces)]


def centroids(space, labels):
    return np.stack([space[labels == label].mean(axis=0) for label in range(labels.max() + 1)])


def judge(labellings, latents, classes):
    """The figures of `COLUMNS` of one way to label, in percent."""
    n_clusters = len(np.unique(classes))
    one = np.mean([clustering_accuracy(classes, labels) for labels in labellings])
    exact = [labels for labels in labellings if labels.max() + 1 == n_clusters]
    if not exact:
        return dict.fromkeys(COLUMNS) | {"one": round(100 * one, 1)}
    found = find_consensus(np.stack(exact), n_clusters)
    agreed = select_agreed(found.votes, len(labellings), 1.0)
    figures = {
        "one": one,
        "vote": clustering_accuracy(classes, found.labels),
        "agreement": found.votes.mean() / len(labellings),
        "agreed": agreed.mean(),
        "right": clustering_accuracy(classes[agreed], found.labels[agreed]) if agreed.any() else None,
        "together": neighbors_together(labellings, latents),
    }
    return {name: None if figure is None else round(100 * float(figure), 1) for name, figure in figures.items()}


def neighbors_together(labellings, latents):
    """Share of the ten neighbours of a row in one member's latents that are in its cluster of another member."""
    shares, of_members = [], labellings[: len(latents)]
    neighbors = [NearestNeighbors(n_neighbors=10).fit(member).kneighbors()[1] for member in latents]
    for i, j in permutations(range(len(latents)), 2):
        labels = of_members[i]
        shares.append(np.mean(labels[neighbors[j]] == labels[:, None], where=(labels != NOISE)[:, None]))
    return np.mean(shares)


def make_parser(doc):
    """Arguments of this script, and of others that look at kept latents."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--dataset", nargs="+", type=name_of_data, metavar="NAME", default=NAMES)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    return parser


def main():
    arguments = make_parser(__doc__).parse_args()
    print("| data | seed | way | one labelling | vote | agreement | agreed | right of these | together |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    with RESULTS.open("a", encoding="utf-8") as results:
        for name in arguments.dataset:
            for seed in arguments.seeds:
                found, classes = labellings_of(name, seed, arguments.folder)
                embeddings, _ = embeddings_of(name, seed, arguments.folder)
                latents, _ = latents_of(name, seed, arguments.folder)
                spaces, n_clusters = dict(enumerate(embeddings)), len(np.unique(classes))
                rule = choose_rule(latents, spaces, found["hdbscan"], len(RULES), n_clusters, seed)
                ways = found | {vote: np.concatenate([found[way] for way in of]) for vote, of in VOTES.items()}
                ways["auto"] = found[RULES[rule]]
                for way, labellings in ways.items():
                    row = {"dataset": name, "seed": seed, "way": way, **judge(labellings, latents, classes)}
                    results.write(json.dumps(row) + "\n")
                    print(f"| {' | '.join(str(cell) for cell in row.values())} |", flush=True)


if __name__ == "__main__":
    main()
