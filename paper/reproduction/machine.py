"""What a measurement depends on beside the method: machine, versions and commit."""

import os
import resource
import subprocess
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("torch", "scikit-learn", "umap-learn", "hdbscan", "numpy", "fast-hdbscan", "clustpy", "evoc")
MIB = 2**20


def versions():
    """Versions of this package and of those it is measured with; without those that are not installed."""
    import skspc

    found = {"skspc": skspc.__version__}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def commit():
    """The commit checked out, "+" behind it where the measured code has changes of its own.

    Without git it is that of the environment variable ``SKSPC_COMMIT``, else None.
    """
    measured = ("skspc", "paper", ":(exclude)paper/results.jsonl")
    head = _git("rev-parse", "HEAD")
    if head is None:
        return os.environ.get("SKSPC_COMMIT")
    return head + ("+" if _git("status", "--porcelain", "--", *measured) else "")


def _git(*arguments):
    """What git prints about this checkout; None where there is no git, or no checkout."""
    try:
        ran = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return ran.stdout.strip() if ran.returncode == 0 else None


@cache
def cpu_name():
    """Model of the CPU, and the threads that libraries use on it."""
    import joblib

    n_threads = int(os.environ.get("OMP_NUM_THREADS") or joblib.cpu_count())
    return f"{_cpu_model()}, {n_threads} {'thread' if n_threads == 1 else 'threads'}"


def _cpu_model():
    import platform

    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def gpu_name():
    """Name of the CUDA device; None without one."""
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else None


def peak_memory():
    """Peak resident memory of this process in MiB.

    ``ru_maxrss`` outlives the call that starts a new program, and so holds the parent's peak too; Linux also tells that
    of the program alone.
    """
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    peaks = [int(line.split()[1]) for line in lines if line.startswith("VmHWM:")]
    if peaks:
        return peaks[0] * 1024 / MIB
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / MIB if sys.platform == "darwin" else peak * 1024 / MIB


def peak_gpu_memory():
    """Peak memory of torch's tensors on the CUDA device in MiB; None without one."""
    import torch

    return torch.cuda.max_memory_allocated() / MIB if torch.cuda.is_available() else None


def is_installed(module):
    return find_spec(module) is not None
