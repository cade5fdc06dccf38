"""Compare what rounds cost, and what is saved by fewer steps, fewer epochs of UMAP and layouts that go on.

    python paper/steps.py FOLDER [--dataset NAME ...] [--seeds 0] [--way WAY ...] [--rounds 8] [--pretrain-steps N]

An ensemble is pretrained once a data set and seed, and kept in the folder (for other numbers of steps, another one);
each way goes on from there for so many rounds, whether or not they bring anything new. Of each: by round, the accuracy
of its own vote and of the vote of all rounds so far, the share agreed and the share of labels that the vote changed;
and the processor time of all training and of all clusterings after the first. From the shares any rule to stop can be
judged (`--stop`, from the rows that are there). Rows are appended to `steps.jsonl` beside this script.
"""

import argparse
import json
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import torch
from rounds import PARTS, TABLES, Start

import skspc._spc
from skspc import SPCClustering
from skspc._method.choice import labelling_rules
from skspc._method.history import has_settled
from skspc._method.known_labels import NOTHING
from skspc._method.progress import Progress
from skspc._method.rounds import _cluster, _train
from skspc.clusterers import UMAPReducer
from skspc.metrics import clustering_accuracy

RESULTS = Path(__file__).with_suffix(".jsonl")
WAYS = {  # steps a round; whether layouts begin anew, with how many epochs
    "as shipped": {},
    "anew": {"n_epochs": 200},
    "anew, 100 epochs": {"n_epochs": 100},
    "anew, 100 steps": {"n_epochs": 200, "n_steps": 100},
    "100 steps": {"n_steps": 100},
}
STOPS = {  # most rounds, n_iter_no_change, tol, whether agreed rows that grow in number keep a fit going
    "as shipped": (5, 2, 0.005, True),
    "eight rounds at most": (8, 2, 0.005, True),
    "three rounds at most": (3, 2, 0.005, True),
    "eight, labels alone": (8, 2, 0.005, False),
    "eight, labels alone, tol .003": (8, 2, 0.003, False),
    "eight, labels alone, one round": (8, 1, 0.005, False),
}


def settings_of(start, seed, way, n_rounds):
    """The shipped settings for a start's rows, changed by a way."""
    n_rows = len(start.rows)
    rules = labelling_rules("auto", UMAPReducer(n_epochs=way.get("n_epochs", "auto")), start.n_clusters, n_rows)
    model = SPCClustering(start.n_clusters, random_state=seed, max_iter=n_rounds, tol=0, n_iter_no_change=n_rounds + 1)
    settings = model._round_settings(n_rows, rules, torch.device("cpu"))
    steps_per_epoch = n_rows // settings.training.batch_size
    if "n_steps" in way:
        n_epochs = max(1, round(way["n_steps"] / steps_per_epoch))
        settings = replace(settings, training=replace(settings.training, n_epochs=n_epochs))
    return settings


def run(start, seed, way, n_rounds):
    """Go on from a pretrained ensemble for so many rounds: the figures."""
    settings, seconds = settings_of(start, seed, way, n_rounds), {"train": 0.0, "cluster": 0.0}
    start.bring_back()
    progress, one, vote = Progress(start.n_clusters, {}, {"train": 0.0}), [], []
    for index in range(n_rounds + 1):
        before = time.process_time()
        if index:
            progress = _train(start.rows, start.ensemble, progress, settings, NOTHING)
        seconds["train"] += time.process_time() - before
        before = time.process_time()
        if "n_epochs" in way:
            progress = replace(progress, layouts={})
        progress = _cluster(start.rows, start.ensemble, progress, settings, NOTHING)
        seconds["cluster"] += time.process_time() - before if index else 0.0
        one.append(accuracy(start, progress.consensus))
        vote.append(accuracy(start, progress.vote))
    return {
        "rule": progress.rule,
        "one": one,
        "vote": vote,
        "agreed": [round(row["agreed_share"], 3) for row in progress.history],
        "change": [round(row["label_change"], 4) for row in progress.history],
        "cpu": {stage: round(value, 1) for stage, value in seconds.items()},
    }


def accuracy(start, consensus):
    return round(100 * clustering_accuracy(start.classes, consensus.labels), 2)


def last_round(row, max_iter, n_iter_no_change, tol, counts_agreed):
    """The round after which a fit would have ended."""
    history = [
        {"n_agreed": agreed if counts_agreed else 0, "n_rows": 1, "mean_agreement": 0, "label_change": change}
        for agreed, change in zip(row["agreed"], row["change"], strict=True)
    ]
    ends = (i for i in range(min(max_iter, len(history))) if has_settled(history[: i + 1], n_iter_no_change, tol))
    return next(ends, min(max_iter, len(history) - 1))


def print_stops():
    """What each rule to stop would have kept, of the rows that are there."""
    of_ways = defaultdict(list)
    for line in RESULTS.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["pretrain_steps"] is None:
            of_ways[row["way"]].append(row)
    print("| layouts and steps | fits | rule | accuracy, mean | rounds, mean |\n| --- | --- | --- | --- | --- |")
    for way, rows in of_ways.items():
        for name, rule in STOPS.items():
            ends = [last_round(row, *rule) for row in rows]
            mean = sum(row["vote"][end] for row, end in zip(rows, ends, strict=True)) / len(rows)
            print(f"| {way} | {len(rows)} | {name} | {mean:.2f} | {sum(ends) / len(ends):.1f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--dataset", nargs="+", choices=[*TABLES, *PARTS], default=[*TABLES, *PARTS])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--way", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--pretrain-steps", type=int, help="at least; default: as shipped")
    parser.add_argument("--stop", action="store_true", help="judge rules to stop, and run nothing")
    arguments = parser.parse_args()
    if arguments.stop:
        print_stops()
        return
    if arguments.folder is None:
        parser.error("name the folder that keeps pretrained ensembles, or --stop")
    if arguments.pretrain_steps:
        skspc._spc.MIN_PRETRAIN_STEPS = skspc._spc.MIN_PRETRAIN_STEPS_OF_FEATURES = arguments.pretrain_steps
    arguments.folder.mkdir(parents=True, exist_ok=True)
    with RESULTS.open("a", encoding="utf-8") as results:
        for name in arguments.dataset:
            for seed in arguments.seeds:
                start = Start(name, seed, arguments.folder)
                for way in arguments.way:
                    row = {"dataset": name, "seed": seed, "way": way, "pretrain_steps": arguments.pretrain_steps}
                    row |= run(start, seed, WAYS[way], arguments.rounds)
                    results.write(json.dumps(row) + "\n")
                    results.flush()
                    print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
