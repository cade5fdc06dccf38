"""Time and memory of one round's labellings on a CUDA device: neighbours, graph, layout and trees.

    python benchmarks/clusterers_gpu.py

Prints one table: the stages for 70 000 rows of 50 latents; the sixteen labellings of a round (fifteen spaces of 70 000
x 50 and one of 70 000 x 750); one space of 10 000 to 1 000 000 rows. With ``--scale 0.01`` it takes a hundredth of the
rows, for a try on the CPU. The latents are ten blobs. ``--umap-learn`` times umap-learn beside it.
"""

import argparse
import os
import time
from types import SimpleNamespace

import numpy as np
import torch
from sklearn.datasets import make_blobs

from skspc._method.labelling import cluster_spaces
from skspc._runtime.devices import resolve_device
from skspc.clusterers import HDBSCANCut, UMAPReducer, _umap_torch
from skspc.clusterers._umap import N_EPOCHS, default_n_neighbors
from skspc.metrics import clustering_accuracy

N_CLUSTERS, N_LATENTS, N_SPACES, N_ROWS = 10, 50, 15, 70_000
SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
ROW = "| {:<34} | {:>9} x {:<3} | {:>8.2f} | {:>8.2f} | {:>8} |"


def make_rows(n_rows, n_latents=N_LATENTS, seed=0):
    X, y = make_blobs(n_rows, n_latents, centers=N_CLUSTERS, cluster_std=3.0, random_state=seed)
    return X.astype(np.float32), y


def synchronise():
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def peak_memory():
    """GiB on the device since the last call; 0 without one."""
    if not torch.cuda.is_available():
        return 0.0
    peak = torch.cuda.max_memory_allocated() / 2**30
    torch.cuda.reset_peak_memory_stats()
    return peak


def timed(function, *arguments, **settings):
    synchronise()
    start = time.perf_counter()
    result = function(*arguments, **settings)
    synchronise()
    return result, time.perf_counter() - start


def report(name, X, seconds, accuracy=None):
    shown = "-" if accuracy is None else f"{100 * accuracy:.2f}"
    print(ROW.format(name, len(X), X.shape[-1], seconds, peak_memory(), shown), flush=True)


def label(X, device, engine):
    embedding = UMAPReducer(engine=engine, device=device, random_state=0).fit_transform(X)
    return HDBSCANCut(N_CLUSTERS).fit_predict(embedding)


def measure_stages(X, device):
    """The parts of one labelling, one after the other."""
    n_neighbors = default_n_neighbors(len(X))
    rows = torch.as_tensor(X, dtype=torch.float64, device=device)
    neighbors, seconds = timed(_umap_torch.nearest_neighbors, rows, n_neighbors, 0)
    report("neighbours", X, seconds)
    _, seconds = timed(_umap_torch.fuzzy_graph, *neighbors)
    report("graph", X, seconds)
    settings = {"n_neighbors": n_neighbors, "n_components": 2, "min_dist": 0.0, "n_epochs": N_EPOCHS, "seed": 0}
    embedding, seconds = timed(_umap_torch.embed, X, **settings, device=device)
    report("all of UMAP", X, seconds)
    _, seconds = timed(HDBSCANCut(N_CLUSTERS).fit, embedding)
    report("tree and cut", X, seconds)


def measure_round(scale, device):
    """The labellings of a round, at once."""
    X, y = make_rows(int(N_ROWS * scale))
    latents = np.stack([X[:, np.random.default_rng(i).permutation(N_LATENTS)] for i in range(N_SPACES)])
    settings = SimpleNamespace(
        clusterer=HDBSCANCut(), reducer=UMAPReducer(engine="torch"), concatenate=True, n_jobs=None, device=device
    )
    (labellings, _), seconds = timed(cluster_spaces, latents, N_CLUSTERS, settings, 0)
    accuracy = np.mean([clustering_accuracy(y, labels) for labels in labellings.values()])
    report(f"a round: {N_SPACES} spaces, and all as one", X, seconds, accuracy)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows; default: 1")
    parser.add_argument("--umap-learn", action="store_true", help="time umap-learn beside it")
    arguments = parser.parse_args()
    device = resolve_device("auto")
    name = torch.cuda.get_device_name() if device.type == "cuda" else "CPU"
    print(f"{name}, torch {torch.__version__}, {os.cpu_count()} cores, {N_EPOCHS} epochs")
    print("| what | rows x latents | seconds | peak GiB | accuracy |")
    print("| --- | --- | --- | --- | --- |", flush=True)
    X, y = make_rows(int(N_ROWS * arguments.scale))
    label(X[:1000], device, "torch")  # first use: kernels are loaded
    peak_memory()
    measure_stages(X, device)
    measure_round(arguments.scale, device)
    for size in SIZES:
        X, y = make_rows(int(size * arguments.scale))
        labels, seconds = timed(label, X, device, "torch")
        report("one labelling", X, seconds, clustering_accuracy(y, labels))
    if arguments.umap_learn:
        X, y = make_rows(int(N_ROWS * arguments.scale))
        labels, seconds = timed(label, X, device, "umap-learn")
        report("one labelling, umap-learn", X, seconds, clustering_accuracy(y, labels))


if __name__ == "__main__":
    main()
