"""The CUDA path on a card that is not there: `tests/emulation` has it, and the checks, which run in a process apart."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FOLDER = HERE / "emulation"
NAMES = re.findall(r"^def check_(\w+)\(\):", (FOLDER / "emulated_checks.py").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """What each check reported: None, or the traceback of its failure."""
    sys.path.insert(0, str(FOLDER))
    import build_card

    sys.path.remove(str(FOLDER))
    if build_card.reason_against() is not None:
        pytest.skip(build_card.reason_against())
    try:
        library = build_card.build(tmp_path_factory.mktemp("card"))
    except RuntimeError as error:
        pytest.skip(str(error))
    paths = os.pathsep.join(map(str, [HERE.parent, HERE, FOLDER, HERE.parent / "benchmarks"]))
    environment = os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    command = [sys.executable, FOLDER / "emulated_checks.py", library]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment)
    lines = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    assert lines, ran.stderr
    return {line["check"]: line["error"] for line in lines}


def test_on_the_emulated_card(reported):
    """All checks in one test: tests of a module may be shared out to processes, each of which would build the card."""
    failed = {name: reported.get(name, "it was not reached") for name in NAMES}
    assert {name: error for name, error in failed.items() if error is not None} == {}
