"""Compare the torch engine of UMAPReducer with umap-learn on latents: trustworthiness, accuracy, seconds.

    python benchmarks/umap_parity.py --data usps.npz optdigits.npz

An autoencoder is pretrained on each archive's images, for a few epochs. Its latents are embedded by both engines with
five seeds, and cut into exactly as many clusters as there are classes, which score the result and do no more.
"""

import argparse
import time

import numpy as np
from sklearn.manifold import trustworthiness

from skspc import SPCClustering
from skspc.clusterers import HDBSCANCut, UMAPReducer
from skspc.metrics import clustering_accuracy

ENGINES = ("umap-learn", "torch")
N_TRUSTED_ROWS = 3000  # the rank of every neighbour is needed: N x N values


def make_latents(images):
    settings = {"pretrain_epochs": 10, "max_iter": 0, "clusterer": "kmeans", "reducer": None}
    return SPCClustering(2, n_estimators=1, random_state=0, **settings).fit(images).transform(images)


def measure(latents, classes, engine, seed, n_epochs):
    """Trustworthiness on some rows, accuracy in percent, and seconds of one embedding."""
    reducer = UMAPReducer(engine=engine, n_epochs=n_epochs, device="auto", random_state=seed)
    start = time.perf_counter()
    embedding = reducer.fit_transform(latents)
    seconds = time.perf_counter() - start
    labels = HDBSCANCut(len(np.unique(classes))).fit_predict(embedding)
    rows = np.random.default_rng(0).permutation(len(latents))[:N_TRUSTED_ROWS]
    trusted = trustworthiness(latents[rows], embedding[rows], n_neighbors=12)
    return trusted, 100 * clustering_accuracy(classes, labels), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", required=True, help=".npz archives with images and labels")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--n-epochs", type=int, default=200)
    arguments = parser.parse_args()
    print("| data | engine | trustworthiness | accuracy (spread), median: by seed | seconds |")
    print("| --- | --- | --- | --- | --- |", flush=True)
    for name in arguments.data:
        with np.load(name, allow_pickle=False) as archive:
            images, classes = archive["images"].astype(np.float32), archive["labels"]
        latents = make_latents(images)
        measure(latents[:500], classes[:500], "umap-learn", 0, 10)  # compiles
        for engine in ENGINES:
            results = [measure(latents, classes, engine, seed, arguments.n_epochs) for seed in arguments.seeds]
            trusted, accuracy, seconds = np.transpose(results)
            by_seed = ", ".join(f"{value:.2f}" for value in accuracy)
            cells = [
                f"{trusted.mean():.4f}",
                f"{accuracy.mean():.2f} ({accuracy.std():.2f}), {np.median(accuracy):.2f}: {by_seed}",
                f"{seconds.mean():.1f}",
            ]
            print(f"| {name.rsplit('/', 1)[-1]} | {engine} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
