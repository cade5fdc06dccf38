"""Runs: which are wanted, which are there already, and how one is made."""

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

from skspc.metrics import clustering_accuracy

from . import data, machine
from .methods import METHODS, MODULE_OF, SPC, TABLES, configure, is_configured_as
from .results import append_row, read_rows

NOISE = -1
WORKER = "import sys; sys.path.insert(0, sys.argv[1]); from reproduction.worker import work; work(sys.argv[2])"
N_LAST_LINES = 12  # of what a failed run said
FOLDER = Path(__file__).parents[1]


@dataclass(frozen=True)
class Run:
    """One fit of one method.

    Attributes
    ----------
    table, dataset, method : str
    n_rows : int or None
        Size of the part of the data; None is all.
    seed : int
    parameters : dict
        Those given to the algorithm, beside its defaults.
    """

    table: str
    dataset: str
    method: str
    n_rows: int | None
    seed: int
    parameters: dict

    @property
    def algorithm(self):
        return METHODS[self.method].algorithm

    @property
    def size(self):
        """Number of rows of the data."""
        whole = data.N_ROWS[self.dataset]
        return whole if self.n_rows is None else min(self.n_rows, whole)

    def __str__(self):
        rows = "" if self.n_rows is None else f", {self.size} rows"
        return f"{self.table}: {self.dataset}{rows}, {self.method}, seed {self.seed}"

    def is_in(self, row):
        """Whether a result row is of this configuration, data and seed: table, commit and versions do not count."""
        same = {"dataset": self.dataset, "n_rows": self.size, "algorithm": self.algorithm, "seed": self.seed}
        return (
            all(row[name] == value for name, value in same.items())
            and row["data"] == data.load(self.dataset, self.n_rows).digest
            and is_configured_as(row, self.algorithm, self.parameters)
        )


def plan(tables, datasets, seeds, methods=None, n_rows=None, settings=None):
    """The runs of tables, every data set's first seed before any second.

    Parameters
    ----------
    tables, datasets : list of str
    seeds : list of int
    methods : list of str, default=None
        All of a table where None.
    n_rows : int, default=None
    settings : dict, default=None
        Parameters for the methods that are `SPCClustering`; those that make a method what it is stay.

    Returns
    -------
    runs : list of Run
    """
    return [
        Run(table, dataset, name, n_rows, seed, with_settings(METHODS[name], settings or {}))
        for seed in seeds
        for table in tables
        for dataset in datasets
        for name in TABLES[table]
        if (methods is None or name in methods) and (dataset in data.IMAGES or not METHODS[name].for_images)
    ]


def with_settings(method, settings):
    """Parameters of a method, with settings where it is `SPCClustering` and has none of its own."""
    return {**settings, **method.parameters} if method.algorithm == SPC else method.parameters


def make_runs(runs, path, hours=None, fresh=False, say=print):
    """Make the runs that are not in a results file yet, and append a row for each.

    Parameters
    ----------
    runs : list of Run
    path : Path
        The results file.
    hours : float, default=None
        A run that would not be over by then, as far as earlier ones tell, is not started, nor any after it.
    fresh : bool, default=False
        Whether only rows of this commit and of these versions count as there.
    say : callable
        Told what is done.

    Returns
    -------
    n_failed : int
    """
    deadline = time.monotonic() + 3600 * hours if hours is not None else float("inf")
    n_failed = 0
    for run in runs:
        rows = read_rows(path)
        if any(run.is_in(row) and (not fresh or is_current(row)) for row in rows):
            say(f"{run}: there already")
            continue
        module = MODULE_OF.get(run.algorithm)
        if module and not machine.is_installed(module):
            say(f"{run}: left out, {module} is not installed. Install the peers with: pip install -r paper/peers.txt")
            continue
        if time.monotonic() + expected_seconds(run, rows) > deadline:
            say(f"{run}: would not be over within {hours:g} hours; stopped here, the same command goes on from here")
            break
        row = measure(run, say)
        if row is None:
            n_failed += 1
            continue
        append_row(path, row)
        say(f"{run}: {describe(row)}")
    return n_failed


def is_current(row):
    """Whether a row was made at this commit and with these versions."""
    return row["commit"] == machine.commit() and row["versions"] == machine.versions()


def describe(row):
    """The result of a run in a few words."""
    return f"accuracy {100 * row['accuracy']:.2f}, NMI {100 * row['nmi']:.2f}, {row['seconds']:.0f} s"


def expected_seconds(run, rows):
    """How long a run takes at most, as far as runs on this machine tell; 0 where none does.

    That is the longest of the same configuration, else, for SPCClustering, the longest a member on the same data.
    """
    here = {machine.cpu_name(), machine.gpu_name()}
    alike = [
        row
        for row in rows
        if row["device"] in here
        and (row["dataset"], row["n_rows"], row["algorithm"]) == (run.dataset, run.size, run.algorithm)
    ]
    same = [row["seconds"] for row in alike if is_configured_as(row, run.algorithm, run.parameters)]
    if same or run.algorithm != SPC:
        return max(same, default=0.0)
    n_members = configure(SPC, run.parameters)["n_estimators"]
    return n_members * max((row["seconds"] / row["parameters"]["n_estimators"] for row in alike), default=0.0)


def measure(run, say):
    """Make a run in a process of its own, so that its peak memory is its own and a crash costs one row.

    Returns
    -------
    row : dict
        None where the process failed.
    """
    dataset = data.load(run.dataset, run.n_rows)
    made = {"versions": machine.versions(), "commit": machine.commit()}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "rows.npy", dataset.rows)
        (folder / "task.json").write_text(json.dumps(make_task(run, dataset)))
        command = [sys.executable, "-c", WORKER, str(FOLDER), name]
        ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if ran.returncode != 0:
            last = "\n".join(ran.stdout.splitlines()[-N_LAST_LINES:])
            say(f"{run}: failed with exit status {ran.returncode}, no row is written. Its last words:\n{last}")
            return None
        figures = json.loads((folder / "figures.json").read_text())
        with np.load(folder / "labels.npz", allow_pickle=False) as archive:
            arrays = dict(archive)
    return {
        "table": run.table,
        "dataset": run.dataset,
        "data": dataset.digest,
        "n_rows": run.size,
        "method": run.method,
        "algorithm": run.algorithm,
        "parameters": configure(run.algorithm, run.parameters),
        "seed": run.seed,
        **score(arrays, dataset.classes),
        **figures,
        **made,
        "time": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }


def make_task(run, dataset):
    """What the worker is told: nothing of the classes but their number."""
    return {
        "algorithm": run.algorithm,
        "parameters": run.parameters,
        "n_clusters": len(np.unique(dataset.classes)),
        "seed": run.seed,
    }


def score(arrays, classes):
    """What the classes tell of a fit.

    Accuracy and NMI are those of the labels that the fit chose without them. Those of the round that the classes would
    have chosen are under ``oracle_best_round``.
    """
    labels = arrays["labels"]
    figures = accuracy_and_nmi(classes, labels)
    figures["cluster_sizes"] = sizes(labels[labels != NOISE])
    figures["class_sizes"] = sizes(classes)
    figures["n_noise"] = int((labels == NOISE).sum())
    if "agreed" in arrays:
        agreed = arrays["agreed"]
        figures["agreed_accuracy"] = clustering_accuracy(classes[agreed], labels[agreed]) if agreed.any() else None
        rounds = [accuracy_and_nmi(classes, of_round) for of_round in arrays["rounds"]]
        best = max(range(len(rounds)), key=lambda i: rounds[i]["accuracy"])
        by_round = [of_round["accuracy"] for of_round in rounds]
        figures["oracle_best_round"] = {"round": best, **rounds[best], "accuracy_by_round": by_round}
    return figures


def sizes(labels):
    """Sizes of clusters or classes, largest first."""
    return sorted(np.unique(labels, return_counts=True)[1].tolist(), reverse=True)


def accuracy_and_nmi(classes, labels):
    """HDBSCAN's noise is wrong in the accuracy, and one more cluster in the NMI."""
    return {
        "accuracy": round(clustering_accuracy(classes, labels), 6),
        "nmi": round(float(normalized_mutual_info_score(classes, labels)), 6),
    }
