"""Where deep clustering gains nothing: small vectors with clear blobs. Prints the table of docs/limits.md.

    python benchmarks/simple_vectors.py

Accuracy in percent and processor seconds of one fit (seed 0), each method after a first fit of its own that is not
counted, so that compilation is left out. Features are standardised for all methods.
"""

import time

import hdbscan
import umap
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, load_wine, make_blobs
from sklearn.preprocessing import scale

from skspc import SPCClustering
from skspc.metrics import clustering_accuracy

SEED = 0


def data_sets():
    """Name, rows and classes."""
    yield "6 blobs, 2000 x 10", *make_blobs(2000, 10, centers=6, random_state=SEED)
    yield "50 blobs, 2000 x 20", *make_blobs(2000, 20, centers=50, random_state=SEED)
    yield "wine, 178 x 13", *load_wine(return_X_y=True)
    yield "iris, 150 x 4", *load_iris(return_X_y=True)


def k_means(X, n_clusters):
    return KMeans(n_clusters, n_init=10, random_state=SEED).fit_predict(X)


def umap_hdbscan(X, n_clusters):
    embedding = umap.UMAP(min_dist=0.0, random_state=SEED, n_jobs=1).fit_transform(X)
    return hdbscan.HDBSCAN(min_samples=10, min_cluster_size=len(X) // (2 * n_clusters)).fit_predict(embedding)


def spc(X, n_clusters):
    return SPCClustering(n_clusters, random_state=SEED).fit_predict(X)


def main():
    methods = {"KMeans": k_means, "UMAP + HDBSCAN": umap_hdbscan, "SPCClustering": spc}
    warm_up, _ = make_blobs(100, 4, centers=3, random_state=SEED)
    for cluster in methods.values():
        cluster(warm_up, 3)
    print("| rows | " + " | ".join(f"{name} | seconds" for name in methods) + " |")
    print("| --- |" + " --- | --- |" * len(methods))
    for name, X, y in data_sets():
        cells = []
        for cluster in methods.values():
            start = time.process_time()
            labels = cluster(scale(X), len(set(y)))
            seconds = time.process_time() - start
            cells += [f"{100 * clustering_accuracy(y, labels):.1f}", f"{seconds:.1f}"]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
