"""Are clusters of unequal sizes found? Prints the table of docs/clusterers.md.

    python benchmarks/unequal_blobs.py [--clusters 2 3 5 10 20 30] [--ratios 2 5 10 20 50] [--n-seeds 10]

1200 rows of 10 features in blobs whose largest has 2 to 50 times the rows of the smallest, the sizes in geometric steps
or one large and the others small, are laid out by UMAP and labelled with the true number of clusters. Of each way:
the share of the cases with an adjusted Rand index above .9; and how often `n_clusters="auto"`'s number is the true one.
"""

import argparse
import warnings

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from skspc.clusterers import HDBSCANCut, UMAPReducer, get_clusterer

N_ROWS, N_FEATURES = 1200, 10
SHAPES = ("steps", "one large")
FOUND = 0.9  # adjusted Rand index
HEAD = ("C", "cases", "HDBSCANCut", "mixture", "k-means", "n_clusters='auto'")


def sizes_of(n_clusters, ratio, shape):
    """Rows of each blob, the largest ``ratio`` times as many as the smallest."""
    weights = np.geomspace(1, 1 / ratio, n_clusters) if shape == "steps" else np.full(n_clusters, 1 / ratio)
    weights[0] = 1
    return np.maximum(2, np.round(N_ROWS * weights / weights.sum())).astype(int)


def case(n_clusters, ratio, shape, seed):
    """Blobs, laid out by UMAP as a fit does it, and the classes."""
    sizes = sizes_of(n_clusters, ratio, shape)
    X, y = make_blobs(list(sizes), n_features=N_FEATURES, random_state=seed)
    reducer = UMAPReducer(rows_per_cluster=len(X) / n_clusters, random_state=seed)
    return reducer.fit_transform(X.astype(np.float32)), y


def figures_of(embedding, y, n_clusters, seed):
    """Whether each way finds the blobs, and whether "auto" finds their number."""
    ways = [HDBSCANCut(n_clusters)]
    ways += [get_clusterer(name).set_params(n_clusters=n_clusters, random_state=seed) for name in ("gmm", "kmeans")]
    found = [adjusted_rand_score(y, way.fit_predict(embedding)) > FOUND for way in ways]
    return [*found, HDBSCANCut("auto").fit_predict(embedding).max() + 1 == n_clusters]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clusters", nargs="+", type=int, default=[2, 3, 5, 10, 20, 30])
    parser.add_argument("--ratios", nargs="+", type=int, default=[2, 5, 10, 20, 50])
    parser.add_argument("--n-seeds", type=int, default=10)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print("|", " | ".join(HEAD), "|")
    print("|", " | ".join(["---"] * len(HEAD)), "|", flush=True)
    for n_clusters in arguments.clusters:
        found = [
            figures_of(*case(n_clusters, ratio, shape, seed), n_clusters, seed)
            for ratio in arguments.ratios
            for shape in SHAPES
            for seed in range(arguments.n_seeds)
        ]
        shares = [f"{share:.2f}" for share in np.mean(found, axis=0)]
        print("|", " | ".join([str(n_clusters), str(len(found)), *shares]), "|", flush=True)


if __name__ == "__main__":
    main()
