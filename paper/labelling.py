"""Compare ways to label latents on the equal starts that `latents.py` keeps: one labelling, their vote, what is agreed.

    python paper/labelling.py FOLDER [--dataset NAME ...] [--seeds 0 1 2] [--clusterer NAME ...]

Each member's latents, and all side by side, are reduced by UMAP once, and the embeddings are kept in the folder too.
"""

import argparse
from pathlib import Path

import numpy as np
from latents import NAMES, latents_of

from skspc._method.consensus import find_consensus, select_agreed
from skspc._method.labelling import label_embedding
from skspc.clusterers import UMAPReducer, get_clusterer
from skspc.metrics import clustering_accuracy


def embeddings_of(name, seed, folder):
    """Embeddings (K + 1, N, 2) of the latents of a data set, and its classes."""
    path = Path(folder) / f"{name}-{seed}-umap.npz"
    latents, classes = latents_of(name, seed, folder)
    if not path.exists():
        spaces = [*latents, np.concatenate(list(latents), axis=1)]
        reducers = [UMAPReducer(random_state=100 * seed + i, device="cpu") for i in range(len(spaces))]
        embeddings = [reducer.fit_transform(space) for reducer, space in zip(reducers, spaces, strict=True)]
        np.savez(path, E=np.stack(embeddings).astype(np.float32))
    with np.load(path) as kept:
        return kept["E"], classes


def judge(labellings, classes, n_clusters):
    """Mean accuracy of a labelling; accuracy of the vote, mean agreement, share agreed, and the accuracy of these."""
    single = np.mean([clustering_accuracy(classes, labels) for labels in labellings])
    exact = [labels for labels in labellings if labels.max() + 1 == n_clusters]
    if not exact:
        return single, *[np.nan] * 4
    found = find_consensus(np.stack(exact), n_clusters)
    agreed = select_agreed(found.votes, len(labellings), 1.0)
    right = clustering_accuracy(classes[agreed], found.labels[agreed]) if agreed.any() else np.nan
    agreement = found.votes.mean() / len(labellings)
    return single, clustering_accuracy(classes, found.labels), agreement, agreed.mean(), right


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--dataset", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--clusterer", nargs="+", default=["hdbscan", "gmm", "kmeans", "agglomerative"])
    arguments = parser.parse_args()
    print("| data | seed | clusterer | one labelling | vote | agreement | agreed | right of these |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in arguments.dataset:
        for seed in arguments.seeds:
            embeddings, classes = embeddings_of(name, seed, arguments.folder)
            n_clusters = len(np.unique(classes))
            for clusterer in arguments.clusterer:
                part = get_clusterer(clusterer)
                found = [label_embedding(Z, part, n_clusters, i) for i, Z in enumerate(embeddings.astype(np.float64))]
                figures = [f"{100 * figure:.1f}" for figure in judge(found, classes, n_clusters)]
                print(f"| {name} | {seed} | {clusterer} | {' | '.join(figures)} |", flush=True)
