"""Compare what rounds cost, and what is saved by fewer steps, fewer epochs of UMAP and layouts that go on.

    python paper/steps.py FOLDER [--dataset NAME ...] [--seeds 0] [--way WAY ...] [--rounds 8] [--pretrain-steps N]
    python paper/steps.py --stop

Starts are those of `rounds.py`; each way goes on from there for so many rounds, whether or not they bring anything new.
Of each: by round, the accuracy of its own vote and of the vote of all rounds so far, the share agreed and the share of
labels that the vote changed; the processor time of all training and of all clusterings after the first; and how many
steps the pretraining took at least. From the shares, ``--stop`` judges rules to stop, on the rows of eight rounds that
are there. Rows are appended to `steps.jsonl` beside this script. Those there now are of a draft of it; "one convolution
a stage" is of another network, which this script does not make.
"""

import json
import sys
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import torch
from rounds import make_parser, record_each

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
    "anew, 100 steps, 100 epochs": {"n_epochs": 100, "n_steps": 100},
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
    settings = model._round_settings(n_rows, rules, torch.device("cpu"), start.image_shape)
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
        "pretrain_steps": start.pretrain_steps,
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
    ends = (i for i in range(max_iter) if has_settled(history[: i + 1], n_iter_no_change, tol))
    return next(ends, max_iter)


def print_stops():
    """What each rule to stop would have kept, of the rows that are there."""
    of_ways = defaultdict(list)
    most_rounds = max(rule[0] for rule in STOPS.values())
    for line in RESULTS.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if len(row["vote"]) > most_rounds:
            of_ways[f"{row['way']}, {row['pretrain_steps']} steps before"].append(row)
    print("| way | fits | rule | accuracy, mean | rounds, mean |\n| --- | --- | --- | --- | --- |")
    for way, rows in of_ways.items():
        for name, rule in STOPS.items():
            ends = [last_round(row, *rule) for row in rows]
            mean = sum(row["vote"][end] for row, end in zip(rows, ends, strict=True)) / len(rows)
            print(f"| {way} | {len(rows)} | {name} | {mean:.2f} | {sum(ends) / len(ends):.1f} |")


def main():
    if sys.argv[1:] == ["--stop"]:
        print_stops()
        return
    arguments = make_parser(__doc__, WAYS, 8).parse_args()
    record_each(arguments, RESULTS, lambda start, seed, way: run(start, seed, WAYS[way], arguments.rounds))


if __name__ == "__main__":
    main()
