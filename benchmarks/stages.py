"""Where the time of a fit goes: by stage, by kind of operation, and beside UMAP + HDBSCAN by hand.

    python benchmarks/stages.py [--data ARCHIVE ...] [--n-rows N] [--turns 1]

Each fit, with the defaults, and each pipeline runs in a new process, imports included, by turns; the ratio is that of
the median seconds. Then a step of pretraining is looked at with torch's profiler: the seconds by kind of operation, and
the arithmetic, as torch counts it, beside what a product of two matrices of 2048 x 2048 reaches on as many threads in
the same minute. Without an archive the rows are scikit-learn's digits; with ``--vectors`` blobs of 100 dimensions too.
"""

import argparse
import subprocess
import sys
import time
from collections import defaultdict
from statistics import median

import numpy as np
import torch
from sklearn.datasets import load_digits, make_blobs
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

from skspc import SPCClustering
from skspc._ensemble.ensemble import Ensemble
from skspc._ensemble.plan import plan_training
from skspc._input.validation import choose_network
from skspc._method.objectives import Reconstruction

KINDS = {  # of operations, by the beginnings of their names
    "convolutions, forward": ("aten::_convolution", "aten::mkldnn_convolution", "aten::slow_conv", "aten::convolution"),
    "convolutions, backward": ("aten::convolution_backward",),
    "batch normalisation": ("aten::native_batch_norm", "aten::cudnn_batch_norm"),
    "activations": ("aten::leaky_relu", "aten::tanh", "aten::relu"),
    "matrix products": ("aten::bmm", "aten::baddbmm", "aten::mm", "aten::addmm"),
    "Adam": ("aten::_fused_adam", "Optimizer."),
    "copies": ("aten::copy_", "aten::cat", "aten::clone", "aten::contiguous", "aten::constant_pad"),
}
MATRIX, N_PRODUCTS = 2048, 5


def load_rows(source, n_rows):
    """Rows and the number of clusters of a source: "digits", "vectors", or an archive."""
    if source == "digits":
        digits = load_digits()
        rows, classes = digits.images, digits.target
    elif source == "vectors":
        rows, classes = make_blobs(20_000, 100, centers=10, cluster_std=5, random_state=0)
    else:
        archive = np.load(source)
        rows, classes = archive["images"], archive["labels"]
    chosen = np.random.default_rng(0).permutation(len(rows))[:n_rows]
    return rows[np.sort(chosen)], len(np.unique(classes))


def fit(rows, n_clusters, seed):
    """A default fit: the stages' seconds, and what is in none of them."""
    start = time.perf_counter()
    history = SPCClustering(n_clusters, random_state=seed).fit(rows).history_
    seconds = {"pretraining": history[0]["seconds"]["train"]}
    seconds["first clustering"] = history[0]["seconds"]["cluster"]
    seconds[f"training of {len(history) - 1} rounds"] = sum(row["seconds"]["train"] for row in history[1:])
    seconds["their clusterings"] = sum(row["seconds"]["cluster"] for row in history[1:])
    seconds["encoding and votes"] = sum(row["seconds"]["encode"] + row["seconds"]["vote"] for row in history)
    return seconds | {"classifiers, and the rest of fit": time.perf_counter() - start - sum(seconds.values())}


def by_hand(rows, n_clusters, seed):
    """UMAP + HDBSCAN on the rows."""
    import hdbscan
    import umap

    start = time.perf_counter()
    flat = np.asarray(rows, dtype=np.float32).reshape(len(rows), -1)
    embedding = umap.UMAP(n_neighbors=30, min_dist=0.0, random_state=seed).fit_transform(flat)
    hdbscan.HDBSCAN(min_samples=10, min_cluster_size=max(2, len(flat) // (2 * n_clusters))).fit(embedding)
    return {"fit": time.perf_counter() - start}


WAYS = {"skspc": fit, "UMAP + HDBSCAN": by_hand}


def in_new_process(way, arguments, source, seed):
    """Seconds of a fit or a pipeline by stage, "all" among them: imports and the start of the process."""
    start = time.perf_counter()
    own = [sys.executable, __file__, "--way", way, "--seed", str(seed), "--data", source]
    if arguments.n_rows:
        own += ["--n-rows", str(arguments.n_rows)]
    lines = subprocess.run(own, check=True, capture_output=True, text=True).stdout.splitlines()
    seconds = {name: float(value) for name, _, value in (line.rpartition("\t") for line in lines)}
    return seconds | {"all": time.perf_counter() - start}


def print_stages(source, arguments):
    turns = [{way: in_new_process(way, arguments, source, turn) for way in WAYS} for turn in range(arguments.turns)]
    whole = {way: median(turn[way]["all"] for turn in turns) for way in WAYS}
    print(f"\n{source}: {whole['skspc']:.0f} s, UMAP + HDBSCAN {whole['UMAP + HDBSCAN']:.1f} s, ", end="")
    print(f"{whole['skspc'] / whole['UMAP + HDBSCAN']:.1f} times as long")
    print("\n| stage | seconds | share |\n| --- | --- | --- |")
    seconds = turns[0]["skspc"]
    for stage, value in seconds.items():
        if stage != "all":
            print(f"| {stage} | {value:.1f} | {value / seconds['all']:.0%} |")
    rest = 2 * seconds["all"] - sum(seconds.values())
    print(f"| imports, and what is outside of fit | {rest:.1f} | {rest / seconds['all']:.0%} |", flush=True)


def peak_of_products():
    """Floating-point operations a second of a product of two large matrices, the best of some."""
    a, b = torch.randn(2, MATRIX, MATRIX)
    seconds = []
    for _ in range(N_PRODUCTS):
        start = time.perf_counter()
        a @ b
        seconds.append(time.perf_counter() - start)
    return 2 * MATRIX**3 / min(seconds)


def print_operations(source, arguments):
    """A table of a pretraining's steps, of all members in one group on one thread."""
    rows, n_clusters = load_rows(source, arguments.n_rows)
    model, device = SPCClustering(n_clusters, random_state=0), torch.device("cpu")
    X, shape = model._check_fit_data(rows)
    X = model._fit_scaling(X, shape).training_rows(X)
    plan = plan_training(len(X), 1, 0, "auto", 1e-3)
    X = X[: plan.batch_size * arguments.steps]
    ensemble = Ensemble(choose_network("auto", shape), X.shape[1:], 0, 2, device, batch_size=plan.batch_size)
    objective = Reconstruction(X)
    ensemble.train(objective, plan)  # fills caches
    with FlopCounterMode(display=False) as counter:
        ensemble.train(objective, plan)
    peak = peak_of_products()
    start = time.perf_counter()
    ensemble.train(objective, plan)
    seconds = time.perf_counter() - start
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        ensemble.train(objective, plan)
    n_images = 2 * len(X)  # of two members
    flop = counter.get_total_flops()
    reached = flop / seconds
    print(f"\n{source}: {flop / n_images / 1e6:.1f} MFLOP an image and member in a step of {plan.batch_size}; ", end="")
    print(f"{reached / 1e9:.0f} GFLOP a second, {reached / peak:.0%} of a matrix product's {peak / 1e9:.0f}")
    print_kinds(profiler.key_averages())


def print_kinds(operations):
    seconds = defaultdict(float)
    for operation in operations:
        names = [kind for kind, starts in KINDS.items() if operation.key.startswith(starts)]
        seconds[names[-1] if names else "others"] += operation.self_cpu_time_total / 1e6
    total = sum(seconds.values())
    print("\n| operations of a step | share of its time |\n| --- | --- |")
    for kind, value in sorted(seconds.items(), key=lambda pair: -pair[1]):
        print(f"| {kind} | {value / total:.0%} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=["digits"], help="archives, digits or vectors; default: digits")
    parser.add_argument("--n-rows", type=int, help="default: all")
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--steps", type=int, default=10, help="of training that the profiler looks at")
    parser.add_argument("--operations", action="store_true", help="the steps alone, no fits")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)  # of a process that this one starts
    parser.add_argument("--seed", type=int, default=0, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.way:
        seconds = WAYS[arguments.way](*load_rows(arguments.data[0], arguments.n_rows), arguments.seed)
        print("\n".join(f"{name}\t{value}" for name, value in seconds.items()))
        return
    print(f"{torch.get_num_threads()} threads, torch {torch.__version__}")
    for source in arguments.data:
        if not arguments.operations:
            print_stages(source, arguments)
        if source != "vectors" or arguments.operations:
            torch.set_num_threads(1)
            print_operations(source, arguments)


if __name__ == "__main__":
    main()
