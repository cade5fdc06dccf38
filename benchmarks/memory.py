"""Peak memory and seconds of one fit on many images of bytes: `python benchmarks/memory.py --n-rows 200000`.

The rows are a memory-mapped file of 28 x 28 noise around ten patterns. The fit is one epoch of pretraining and one
clustering, then `predict` on all rows. Peak memory is that of the process, with all libraries.
"""

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from skspc import SPCClustering

N_PATTERNS, SIDE = 10, 28


def write_images(path, n_rows, seed=0):
    """Write noisy copies of random patterns, a block at a time; return them as a memory map."""
    random = np.random.default_rng(seed)
    patterns = random.integers(0, 256, (N_PATTERNS, SIDE, SIDE))
    images = np.lib.format.open_memmap(path, mode="w+", dtype=np.uint8, shape=(n_rows, SIDE, SIDE))
    for start in range(0, n_rows, 10_000):
        block = images[start : start + 10_000]
        noise = random.normal(0, 60, block.shape)
        block[:] = np.clip(patterns[random.integers(N_PATTERNS, size=len(block))] + noise, 0, 255)
    images.flush()
    return np.load(path, mmap_mode="r")


def peak_gib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n-rows", type=int, default=200_000)
    parser.add_argument("--n-estimators", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        X = write_images(Path(folder) / "images.npy", arguments.n_rows)
        print(f"{len(X)} images of {SIDE} x {SIDE} bytes ({X.nbytes / 2**30:.2f} GiB); before fit {peak_gib():.2f} GiB")
        start = time.perf_counter()
        model = SPCClustering(
            N_PATTERNS, n_estimators=arguments.n_estimators, pretrain_epochs=1, max_iter=0, random_state=0
        ).fit(X)
        print(f"fit: {time.perf_counter() - start:.0f} s, peak {peak_gib():.2f} GiB")
        print("of these:", {stage: round(seconds, 1) for stage, seconds in model.history_[0]["seconds"].items()})
        start = time.perf_counter()
        model.predict(X)
        print(f"predict: {time.perf_counter() - start:.0f} s, peak {peak_gib():.2f} GiB")


if __name__ == "__main__":
    main()
