"""Scripts that need hours run on tiny data, so that they still run when someone has them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    "command, rows",
    [
        ("training.py --scale 0.05 --turns 1 --epochs 1", 4),
        ("groups.py --turns 1 --steps 1", 4),
        ("stages.py --operations --n-rows 80 --steps 1", 8),
        ("unequal_blobs.py --clusters 2 --ratios 2 --n-seeds 1", 1),
    ],
)
def test_a_script_runs_and_prints_its_table(command, rows):
    script, *arguments = command.split()
    environment = os.environ | {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    finished = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / script, *arguments],
        capture_output=True,
        text=True,
        env=environment,
        cwd=ROOT,
    )
    assert finished.returncode == 0, finished.stderr
    assert "FAILED" not in finished.stdout
    table = [line for line in finished.stdout.splitlines() if line.startswith("|")]
    assert len(table) == rows + 2  # the head and the line under it
    assert all(line.count("|") == table[0].count("|") for line in table)
