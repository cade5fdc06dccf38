"""Where the time of a fit goes: by stage, by kind of operation, and beside UMAP + HDBSCAN by hand.

    python benchmarks/stages.py [--data ARCHIVE ...] [--n-rows N] [--turns 1]

Each fit, with the defaults, and each pipeline runs in a new process, imports included, by turns; the ratio is that of
the median seconds. Then a step of pretraining is looked at with torch's profiler: the seconds by kind of operation, and
the arithmetic, as torch counts it, beside what a product of two matrices of 2048 x 2048 reaches in the same minute, all
on one thread. ``--data vectors`` are 20 000 blobs of 100 dimensions.
"""

import argparse
import json
import subprocess
import sys
import tempfile
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
from skspc._ensemble.plan import auto_batch_size, plan_training
from skspc._input.validation import choose_network
from skspc._method.objectives import Reconstruction
from skspc._runtime.threads import thread_limit

# What is timed, each as one would write it: rows, number of clusters and seed are on the command line.
SKSPC = """
import json, sys, time
import numpy as np
from skspc import SPCClustering
start = time.perf_counter()
model = SPCClustering(int(sys.argv[2]), random_state=int(sys.argv[3])).fit(np.load(sys.argv[1]))
print(json.dumps([[row["seconds"] for row in model.history_], time.perf_counter() - start]))
"""
BY_HAND = """
import sys
import hdbscan, numpy as np, umap
rows = np.load(sys.argv[1])
rows = rows.reshape(len(rows), -1)
embedding = umap.UMAP(n_neighbors=30, min_dist=0.0, random_state=int(sys.argv[3]), n_jobs=1).fit_transform(rows)
hdbscan.HDBSCAN(min_samples=10, min_cluster_size=len(rows) // (2 * int(sys.argv[2]))).fit(embedding)
"""
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


def seconds_of(program, path, n_clusters, seed):
    """Seconds of a program in a new process, imports included, and what it prints: a JSON document, or nothing."""
    start = time.perf_counter()
    command = [sys.executable, "-c", program, path, str(n_clusters), str(seed)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return time.perf_counter() - start, json.loads(printed) if printed else None


def stages_of(history, in_fit, whole):
    """Seconds of a fit by stage."""
    seconds = {
        "pretraining": history[0]["train"],
        "first clustering": history[0]["cluster"],
        f"training of {len(history) - 1} rounds": sum(row["train"] for row in history[1:]),
        "their clusterings": sum(row["cluster"] for row in history[1:]),
        "encoding and votes": sum(row["encode"] + row["vote"] for row in history),
    }
    rest = in_fit - sum(seconds.values())
    return seconds | {"classifiers, and the rest of fit": rest, "imports, and what is outside of fit": whole - in_fit}


def print_stages(source, arguments):
    rows, n_clusters = load_rows(source, arguments.n_rows)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/rows.npy"
        np.save(path, rows)
        turns = [
            [seconds_of(program, path, n_clusters, turn) for program in (SKSPC, BY_HAND)]
            for turn in range(arguments.turns)
        ]
    skspc, by_hand = (median(seconds for seconds, _ in way) for way in zip(*turns, strict=True))
    print(f"\n{source}: {skspc:.0f} s, UMAP + HDBSCAN {by_hand:.1f} s, {skspc / by_hand:.1f} times as long")
    whole, printed = turns[0][0]
    print("\n| stage | seconds | share |\n| --- | --- | --- |")
    for stage, seconds in stages_of(*printed, whole).items():
        print(f"| {stage} | {seconds:.1f} | {seconds / whole:.0%} |", flush=True)


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
    """A table of a pretraining's steps, of two members in a group."""
    rows, n_clusters = load_rows(source, arguments.n_rows)
    model, device = SPCClustering(n_clusters, random_state=0), torch.device("cpu")
    X, shape = model._check_fit_data(rows)
    X = model._fit_scaling(X, shape).training_rows(X)
    plan = plan_training(len(X), 1, 0, auto_batch_size(len(X), shape), 1e-3)
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
    n_rows, flop = 2 * len(X), counter.get_total_flops()
    reached = flop / seconds
    print(f"\n{source}: {flop / n_rows / 1e6:.1f} MFLOP a row and member in a step of {plan.batch_size}; ", end="")
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
    arguments = parser.parse_args()
    print(f"{torch.get_num_threads()} threads, torch {torch.__version__}")
    for source in arguments.data:
        if not arguments.operations:
            print_stages(source, arguments)
        with thread_limit(1):
            print_operations(source, arguments)


if __name__ == "__main__":
    main()
