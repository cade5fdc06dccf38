"""Many rows: peak memory, seconds of each stage, and how they grow.

`python benchmarks/load.py --kind images --n-rows 200000` fits noise around ten patterns, as 28 x 28 images of bytes or
as vectors of 50 (float32), from a memory-mapped file, and then predicts all rows. Peak memory is that of the process,
with all libraries.

`python benchmarks/load.py --kind vectors --growth 10000 20000 40000` fits each number of rows in a process of its own,
and prints the seconds of each stage and the exponent of their growth (the slope of a line through their logarithms).
Where other work runs on the machine, `--processor-time` with one thread (OMP_NUM_THREADS=1) tells what is skspc's own.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from skspc import SPCClustering

N_PATTERNS, BLOCK = 10, 10_000
SHAPES = {"images": (28, 28), "vectors": (50,)}
STAGES = ("train", "encode", "cluster", "vote")


def write_rows(path, kind, n_rows, seed=0):
    """Write noisy copies of random patterns, a block at a time; return them as a memory map."""
    random = np.random.default_rng(seed)
    dtype, shape = (np.uint8 if kind == "images" else np.float32), SHAPES[kind]
    patterns = random.integers(0, 256, (N_PATTERNS, *shape))
    rows = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=(n_rows, *shape))
    for start in range(0, n_rows, BLOCK):
        block = rows[start : start + BLOCK]
        noise = random.normal(0, 60, block.shape)
        block[:] = np.clip(patterns[random.integers(N_PATTERNS, size=len(block))] + noise, 0, 255)
    rows.flush()
    return np.load(path, mmap_mode="r")


def peak_gib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def measure(arguments):
    """Fit and predict; the figures, with the seconds of each stage summed over all rounds."""
    with tempfile.TemporaryDirectory() as folder:
        X = write_rows(Path(folder) / "rows.npy", arguments.kind, arguments.n_rows)
        figures = {"rows": len(X), "GiB of rows": X.nbytes / 2**30, "peak GiB before fit": peak_gib()}
        start = time.perf_counter()
        model = SPCClustering(
            N_PATTERNS,
            n_estimators=arguments.n_estimators,
            pretrain_epochs=arguments.epochs,
            epochs=arguments.epochs,
            max_iter=arguments.max_iter,
            random_state=0,
            verbose=arguments.verbose,
        ).fit(X)
        figures |= {"fit": time.perf_counter() - start, "peak GiB after fit": peak_gib()}
        figures |= {stage: sum(row["seconds"][stage] for row in model.history_) for stage in STAGES}
        start = time.perf_counter()
        model.predict(X)
        return figures | {"predict": time.perf_counter() - start, "peak GiB": peak_gib()}


def measure_elsewhere(arguments, n_rows):
    """The figures of so many rows, from a process of its own."""
    command = [sys.executable, __file__, "--json", "--n-rows", str(n_rows)]
    command += ["--processor-time"] * arguments.processor_time
    for name in ("kind", "n_estimators", "epochs", "max_iter"):
        command += [f"--{name.replace('_', '-')}", str(getattr(arguments, name))]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def print_growth(arguments):
    runs = [measure_elsewhere(arguments, n_rows) for n_rows in arguments.growth]
    print(f"| {arguments.kind} | " + " | ".join(f"{run['rows']} rows" for run in runs) + " | exponent |")
    print("| --- |" + " --- |" * (len(runs) + 1))
    rows = np.log([run["rows"] for run in runs])
    for stage in (*STAGES, "fit", "predict"):
        seconds = [run[stage] for run in runs]
        exponent = np.polyfit(rows, np.log(seconds), 1)[0]
        print(f"| {stage} | " + " | ".join(f"{value:.1f} s" for value in seconds) + f" | {exponent:.2f} |")
    print("| peak memory | " + " | ".join(f"{run['peak GiB']:.2f} GiB" for run in runs) + " | |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kind", choices=list(SHAPES), default="images")
    parser.add_argument("--n-rows", type=int, default=200_000)
    parser.add_argument("--growth", type=int, nargs="+", help="numbers of rows, instead of --n-rows")
    parser.add_argument("--n-estimators", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--max-iter", type=int, default=0)
    parser.add_argument("--verbose", type=int, default=0)
    parser.add_argument("--processor-time", action="store_true", help="not the clock's: where other work runs beside")
    parser.add_argument("--json", action="store_true", help="figures alone, for another program")
    arguments = parser.parse_args()
    if arguments.processor_time:
        time.perf_counter = time.process_time  # what skspc's history asks too
    if arguments.growth:
        print_growth(arguments)
        return
    figures = measure(arguments)
    if arguments.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name}: {value:.2f}")


if __name__ == "__main__":
    main()
