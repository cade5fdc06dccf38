"""Measure SPCClustering on labelled images, beside UMAP + HDBSCAN on the raw pixels.

    python benchmarks/images.py --data usps.npz --seeds 0 1 2

The archive holds ``images`` (N, H, W) or (N, C, H, W) and ``labels`` (N,). Each fit runs in a process of its own, which
is given the images and the number of classes, never the labels: these score what comes back.
"""

import argparse
import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import hdbscan
import numpy as np
import torch
import umap
from sklearn.datasets import load_digits
from sklearn.metrics import normalized_mutual_info_score

from skspc import SPCClustering
from skspc.metrics import clustering_accuracy

COLUMNS = {
    "accuracy": "{:.2f}",
    "NMI": "{:.2f}",
    "seconds": "{:.1f}",
    "K": "{:g}",
    "network": "{}",
    "n_iter_": "{:g}",
    "best_iter_": "{:g}",
    "agreed": "{:.1f}",
    "predict_consistency_": "{:.4f}",
    "peak RSS": "{:.0f}",
}
PARAMETERS = ("n_estimators", "clusterer", "network", "augmentation", "max_samples")
NOTE = """
Accuracy, NMI and the share of agreed rows in percent; peak resident memory in MiB. Seconds are those of the whole fit,
in a new process, imports left out. HDBSCAN's noise counts as wrong in the accuracy, and as one more cluster in the NMI.
"""


def load(name):
    """Images and labels of an archive, or of scikit-learn's digits."""
    if name == "digits":
        digits = load_digits()
        return digits.images, digits.target
    with np.load(name, allow_pickle=False) as archive:
        return archive["images"], archive["labels"]


def fit_spc(images, n_clusters, seed, parameters):
    """Labels by SPCClustering, and the figures of the fit."""
    model = SPCClustering(n_clusters, random_state=seed, **parameters)
    start = time.perf_counter()
    labels = model.fit_predict(images)
    figures = {
        "seconds": time.perf_counter() - start,
        "K": model.n_estimators,
        "network": "conv" if model.network == "auto" else model.network,
        "n_iter_": model.n_iter_,
        "best_iter_": model.best_iter_,
        "agreed": 100 * model.agreed_.mean(),
        "predict_consistency_": model.predict_consistency_,
        "peak RSS": peak_memory(),
    }
    return labels, figures


def fit_umap(images, n_clusters, seed, parameters):
    """Labels by UMAP + HDBSCAN on the raw pixels, as one would write it by hand."""
    pixels = images.reshape(len(images), -1)
    start = time.perf_counter()
    reducer = umap.UMAP(n_neighbors=30, min_dist=0.0, random_state=seed, n_jobs=1)
    clusterer = hdbscan.HDBSCAN(min_samples=10, min_cluster_size=len(pixels) // (2 * n_clusters))
    labels = clusterer.fit_predict(reducer.fit_transform(pixels))
    return labels, {"seconds": time.perf_counter() - start, "peak RSS": peak_memory()}


def peak_memory():
    """Peak resident memory of this process in MiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def in_new_process(function, *arguments):
    """Call a function in a process of its own, whose peak memory is then that of the call."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def measure(fit, images, classes, seed, parameters):
    """One row of the table."""
    labels, figures = in_new_process(fit, images, len(np.unique(classes)), seed, parameters)
    accuracy = clustering_accuracy(classes, labels)
    nmi = normalized_mutual_info_score(classes, labels)
    return {"accuracy": 100 * accuracy, "NMI": 100 * nmi, **figures}


def table_row(method, seed, row):
    """One line of Markdown; what a method does not have is a dash."""
    cells = [text.format(row[name]) if name in row else "-" for name, text in COLUMNS.items()]
    return f"| {' | '.join([method, str(seed), *cells])} |"


def summarise(rows, statistic):
    """A statistic of every column that has numbers."""
    numeric = [name for name in rows[0] if not isinstance(rows[0][name], str)]
    return {name: float(statistic([row[name] for row in rows])) for name in numeric}


def report(method, fit, images, classes, seeds, parameters):
    """Print a row a seed, then mean and median."""
    rows = []
    for seed in seeds:
        rows.append(measure(fit, images, classes, seed, parameters))
        print(table_row(method, seed, rows[-1]), flush=True)
    for name, statistic in (("mean", np.mean), ("median", np.median)):
        print(table_row(method, name, summarise(rows, statistic)), flush=True)


def print_setting(name, images, parameters):
    """Say what is measured, and on what."""
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else f"CPU, {torch.get_num_threads()} threads"
    settings = ", ".join(f"{key}={value!r}" for key, value in parameters.items())
    print(f"{name}: {' x '.join(map(str, images.shape))}; {settings}; torch {torch.__version__}, {device}\n")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="an .npz archive with images and labels, or: digits")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="default: 0 1 2")
    parser.add_argument("--n-estimators", type=int, default=5, help="default: %(default)s")
    parser.add_argument("--clusterer", choices=("hdbscan", "gmm"), default="hdbscan", help="default: %(default)s")
    parser.add_argument("--network", choices=("auto", "conv", "mlp"), default="auto", help="default: %(default)s")
    parser.add_argument("--augmentation", choices=("affine",), help="default: none")
    parser.add_argument("--max-samples", type=float, help="default: all agreed rows")
    parser.add_argument("--skip-umap", action="store_true", help="leave UMAP + HDBSCAN out")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    images, classes = load(arguments.data)
    parameters = {name: getattr(arguments, name) for name in PARAMETERS}
    print_setting(arguments.data, images, parameters)
    print(f"| method | seed | {' | '.join(COLUMNS)} |")
    print("| " + " | ".join(["---"] * (len(COLUMNS) + 2)) + " |", flush=True)
    report("SPCClustering", fit_spc, images, classes, arguments.seeds, parameters)
    if not arguments.skip_umap:
        report("UMAP + HDBSCAN", fit_umap, images, classes, arguments.seeds, parameters)
    print(NOTE)


if __name__ == "__main__":
    main()
