"""The script for a card: it runs on a machine without one, and neither a failing row nor a dying process ends it."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import gpu
import numpy as np
import pytest
import torch
from gpu_parts import child
from gpu_parts.fits import of_the_cpu
from gpu_parts.rows import Found, Job, Row, bar
from gpu_parts.training import Always, knowing
from reproduction.methods import SPC, configure

from skspc.networks import _choice
from skspc.networks._layers import MemberConv2d

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "benchmarks" / "gpu.py"
TRIAL = "--device cpu --scale 0.001 --n-members 1 --max-iter 0 --epochs 1"
N_ROWS = {"machine": 5, "works": 12, "epochs": 2, "labelling": 8, "mnist": 2, "convolutions": 6}
ON_REQUEST = {"machine": 5, "modes": 6, "precisions": 4, "pipeline": 1, "sizes": 6}

# A process that measures three rows of each table, as the real one says them: one fails, and one ends it.
MORTAL = """
import json, os, sys
words = sys.argv[1:]
tables, skip = words[words.index("--tables") + 1 : words.index("--skip")], int(words[-1])
def say(**what):
    print(json.dumps(what), flush=True)
for table in tables:
    say(table=table)
    if table == "sizes":
        os._exit(7)
    for i in range(skip, 3):
        say(begin=f"{table} {i}")
        if (table, i) == ("epochs", 1):
            print("a last word", flush=True)
            os._exit(9)
        if (table, i) == ("works", 0):
            say(failed=["works 0", "Fault: planted"], traceback="where it was")
        else:
            say(row=[f"{table} {i}", "1 s", 0.5, ["bar 2.0 s: held"] * (i == 2), ""])
        if (table, i) == ("works", 1):
            sys.exit()  # the card is of no more use, after a row
    skip = 0
say(end=True)
"""


def run_script(*words):
    environment = os.environ | {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    command = [sys.executable, SCRIPT, *words]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT)


def tables_of(text):
    """Cells of the rows of each table, by its name."""
    tables = {}
    for part in text.split("\n## ")[1:]:
        lines = [line for line in part.splitlines() if line.startswith("|")]
        assert all(line.count("|") == lines[0].count("|") for line in lines)
        tables[part.split(":")[0].splitlines()[0]] = [line.strip("|").split(" | ") for line in lines[2:]]
    return tables


@pytest.mark.parametrize("n_rows", [N_ROWS, ON_REQUEST], ids=["default", "on request"])
def test_it_runs_on_little_data_and_writes_what_it_prints(n_rows, tmp_path):
    out = tmp_path / "gpu.txt"
    asked = [] if n_rows is N_ROWS else ["--tables", *n_rows]
    ran = run_script(*TRIAL.split(), "--random-images", "--out", out, *asked)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    tables = tables_of(out.read_text(encoding="utf-8"))
    summary = tables.pop("In short")
    assert {name: len(rows) for name, rows in tables.items() if name in n_rows} == n_rows
    assert not any("FAILED" in cell or "DIFFER" in cell for row in summary for cell in row)
    assert out.read_text(encoding="utf-8") in ran.stdout


def test_rows_that_fail_are_told_and_the_others_made():
    ran = run_script(*TRIAL.split(), "--data", "/no/such/folder", "--tables", "mnist", "convolutions")
    tables = tables_of(ran.stdout)
    assert ran.returncode == 1
    assert [row[1] for row in tables["mnist"]] == ["FAILED"] * 2
    assert "FileNotFoundError: data_home='/no/such/folder' is not a folder" in tables["mnist"][0][4]
    assert len(tables["convolutions"]) == 6 and not any("FAILED" in row for row in tables["convolutions"])
    assert [row[1] for row in tables["In short"]] == ["FAILED"] * 2
    assert "Rows that failed: 2." in ran.stdout and "Traceback" in ran.stdout


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a card")
def test_a_machine_without_a_card_is_told_so():
    ran = run_script("--tables", "epochs")
    assert ran.returncode == 1 and "| all tables | FAILED |" in ran.stdout
    assert "device='cuda:0' cannot be used on this machine" in ran.stdout


def test_a_process_that_dies_is_followed_by_another(tmp_path, capsys):
    mortal, report = tmp_path / "mortal.py", gpu.Report()
    mortal.write_text(MORTAL)
    tables = ["epochs", "works", "sizes", "mnist"]
    gpu.Run(tables, [sys.executable, str(mortal)], report, time.monotonic() + 60).all()
    report.end()
    shown = tables_of(printed := capsys.readouterr().out)
    figures = {table: [row[1] for row in rows] for table, rows in shown.items() if table in tables}
    assert figures == {
        "epochs": ["1 s", "FAILED", "1 s"],
        "works": ["FAILED", "1 s", "1 s"],
        "sizes": ["FAILED"],
        "mnist": ["1 s"] * 3,
    }
    assert "the process ended with 9" in shown["epochs"][1][4] and shown["epochs"][1][0].strip() == "epochs 1"
    assert "the process ended with 7" in shown["sizes"][0][4]
    assert report.n_failed == 3 and [row[1] for row in shown["In short"]].count("FAILED") == 3
    assert "a last word" in printed and "where it was" in printed


def test_what_still_runs_when_time_is_up_is_ended(tmp_path, capsys):
    slow, report = tmp_path / "slow.py", gpu.Report()
    slow.write_text(
        "import json, time\nprint(json.dumps({'table': 'works'}))\n"
        "print(json.dumps({'begin': 'a long row'}), flush=True)\ntime.sleep(60)\n"
    )
    begin = time.monotonic()
    gpu.Run(["works", "mnist"], [sys.executable, str(slow)], report, begin + 1).all()
    assert time.monotonic() - begin < 30 and report.n_failed == 1
    (row,) = tables_of(capsys.readouterr().out)["works"]
    assert row[0].strip() == "a long row" and "time was up" in row[4] and "not begun: mnist" in row[4]


def test_a_process_that_cannot_begin_is_not_tried_again(tmp_path, capsys):
    broken, report = tmp_path / "broken.py", gpu.Report()
    broken.write_text("import no_such_package\n")
    gpu.Run(["works"], [sys.executable, str(broken)], report, time.monotonic() + 60).all()
    report.end()
    assert "before it measured anything" in (printed := capsys.readouterr().out)
    assert report.n_failed == 1 and "No module named 'no_such_package'" in printed


def said(capsys):
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_row_is_said_or_why_it_failed(monkeypatch, capsys):
    def fault():
        raise OSError("a planted fault\nand more of it")

    rows = [Row("first", fault), Row("second", lambda: Found("1 s", ("held",), "a note"))]
    monkeypatch.setitem(child.ROWS_OF, "works", lambda job: rows)
    child.main(["works", "works"], Job("cpu"), skip=1)
    told = said(capsys)
    assert "and more of it" in told[5].pop("traceback")
    table, first, second = {"table": "works"}, {"begin": "first"}, {"begin": "second"}
    failed, row = ["first", "OSError: a planted fault"], {"row": ["second", "1 s", None, ["held"], "a note"]}
    assert told == [table, second, row, table, first, {"failed": failed}, second, row, {"end": True}]


def test_a_broken_card_ends_the_process_after_its_row(monkeypatch, capsys):
    monkeypatch.setitem(child.ROWS_OF, "works", lambda job: [Row(name, lambda: Found("1 s")) for name in "ab"])
    monkeypatch.setattr(child.CudaRecorder, "is_broken", True)
    child.main(["works"], Job("cpu"), skip=0)
    told = said(capsys)
    assert [row["row"][0] for row in told if "row" in row] == ["a"] and told[-1] != {"end": True}
    assert told[-1]["row"][3] == ["A RECORDING BROKE OFF"]


def test_tables_are_all_described_and_made():
    described = re.findall(r"^    (\w+)  ", gpu.__doc__, re.MULTILINE)
    assert described == list(gpu.TITLES) == list(child.ROWS_OF)
    assert tuple(described[: len(gpu.DEFAULT)]) == gpu.DEFAULT


def test_bars_are_told_where_the_run_is_whole():
    card = torch.device("cuda", 0)
    assert Job(card).is_whole
    others = [Job(torch.device("cpu")), Job(card, scale=0.5), Job(card, n_members=5), Job(card, has_random_images=True)]
    assert not any(job.is_whole for job in [*others, Job(card, changes={"max_iter": 1})])
    assert bar(0.9, 1.0, True) == ("bar 1.0 s: held",) and bar(120.1, 120.0, True) == ("bar 120.0 s: MISSED",)
    assert bar(0.9, 1.0, False) == ()


def test_a_way_to_convolve_is_forced_and_forgotten():
    layer = MemberConv2d(1, 2, 2, [torch.Generator() for _ in range(2)])
    before = _choice._by_windows
    for by_windows in (True, False):
        with knowing(Always(by_windows)):
            assert _choice.goes_by_windows(layer, torch.zeros(3, 2, 4, 4)) is by_windows
    assert _choice._by_windows is before


def test_accuracy_of_the_cpu_is_of_equal_fits_alone(tmp_path):
    job, results = Job(torch.device("cuda", 0)), tmp_path / "results.jsonl"
    job.__dict__["mnist"] = np.empty((70_000, 0)), None
    row = {"dataset": "mnist", "n_rows": 70_000, "algorithm": SPC, "peak_gpu_memory_mib": None, "seed": 0}
    row |= {"parameters": configure(SPC, {"n_estimators": 15}), "class_sizes": [7000] * 10, "accuracy": 0.5}
    others = [{"n_rows": 10_000}, {"dataset": "usps"}, {"peak_gpu_memory_mib": 1.0}, {"algorithm": "KMeans"}]
    others.append({"parameters": row["parameters"] | {"max_iter": 8}})
    results.write_text("".join(json.dumps(row | other) + "\n" for other in others))
    assert of_the_cpu(job, 15, results) == "no row of the CPU yet"
    with results.open("a") as file:
        for more in ({}, {"seed": 1, "accuracy": 0.975}, {"accuracy": 0.9712}):
            file.write(json.dumps(row | more) + "\n")
    assert of_the_cpu(job, 15, results) == "the CPU's 97.12 % (seed 0), 97.50 % (seed 1)"
    assert of_the_cpu(job, 5, results) == "no row of the CPU yet"
