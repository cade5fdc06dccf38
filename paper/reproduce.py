"""Measure SPCClustering beside the paper's figures and its peers, one command a table.

    python paper/reproduce.py --table main --dataset usps digits --seeds 0 1 2
    python paper/reproduce.py --table ablations --dataset mnist --n-rows 10000 --hours 8
    python paper/reproduce.py --report

Each run is a process of its own and leaves one row in `paper/results.jsonl`. Rows that are there already are not
made again: a command that was stopped goes on where it was, and rows of different days and machines add up. A row
counts as there if data, method, all its parameters and the seed are the same; with ``--fresh``, if commit and versions
are too. ``--report`` writes the tables of `docs/results.md` and of the README from these rows alone.

Data sets that scikit-learn has not are looked for in the folder that the environment variable SKSPC_DATA names, or
inside the packages of `paper/packaged.txt`.
"""

import argparse
import json
import sys
from functools import partial
from pathlib import Path

from reproduction import report
from reproduction.data import TITLES
from reproduction.methods import METHODS, TABLES, settable_parameters
from reproduction.results import read_rows
from reproduction.runs import make_runs, plan

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "paper" / "results.jsonl"
README, PAGE = ROOT / "README.md", ROOT / "docs" / "results.md"


def parse_setting(text):
    """A pair from ``name=value``; the value is JSON, or else a string."""
    name, separator, value = text.partition("=")
    if not separator or name not in settable_parameters():
        raise argparse.ArgumentTypeError(
            f"{text!r} is not NAME=VALUE with a parameter of SPCClustering: {', '.join(sorted(settable_parameters()))}"
        )
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def make_parser():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", nargs="+", choices=TABLES, default=["main"], help="default: main")
    parser.add_argument("--dataset", nargs="+", choices=[*TITLES, "all"], default=[], help="data sets, or all")
    parser.add_argument("--method", nargs="+", choices=METHODS, metavar="METHOD", help="default: all of the table")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="default: 0 1 2")
    parser.add_argument("--n-rows", type=int, help="a random part of the rows, the same in every run; default: all")
    parser.add_argument("--hours", type=float, help="start no run that would end later; default: no limit")
    parser.add_argument(
        "--set",
        type=parse_setting,
        nargs="+",
        default=[],
        metavar="NAME=VALUE",
        dest="settings",
        help="parameters of SPCClustering, where a method does not fix them, e.g. n_estimators=15",
    )
    parser.add_argument("--fresh", action="store_true", help="make rows of other commits and versions again")
    parser.add_argument("--results", type=Path, default=RESULTS, help="default: paper/results.jsonl")
    parser.add_argument("--report", action="store_true", help="write the tables of README.md and docs/results.md")
    parser.add_argument("--print", action="store_true", dest="show", help="print the main table")
    return parser


def main(words=None):
    parser = make_parser()
    arguments = parser.parse_args(words)
    if not (arguments.dataset or arguments.report or arguments.show):
        parser.error("name a --dataset to measure, or --report or --print to see what is measured")
    datasets = list(TITLES) if "all" in arguments.dataset else arguments.dataset
    settings = dict(arguments.settings)
    runs = plan(arguments.table, datasets, arguments.seeds, arguments.method, arguments.n_rows, settings)
    if datasets and not runs:
        parser.error("no such run: no table named has such a method for such data")
    n_failed = make_runs(runs, arguments.results, arguments.hours, arguments.fresh, partial(print, flush=True))
    rows = read_rows(arguments.results)
    if arguments.report:
        report.replace_between_markers(README, report.render_readme(rows))
        report.replace_between_markers(PAGE, report.render_page(rows))
    if arguments.show:
        print(report.result_table(report.group_rows(rows, "main")), report.NOTES["main"], sep="\n\n")
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
