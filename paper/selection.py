"""Compare ways to select the rows that train on pseudo-labels, on equal starts, and see of which classes they are.

    python paper/selection.py FOLDER [--dataset NAME ...] [--seeds 0] [--way balanced agreed] [--rounds 5]
    python paper/selection.py --picture

Starts are those of `rounds.py`, and rounds are run as shipped but for the selection, whether or not they bring anything
new. Of each: by round, the accuracy of each labelling, of their vote and of the vote of all rounds so far, the share
agreed, how many of these are right, and what share of each class trains on a pseudo-label. Rows are appended to
`selection.jsonl` beside this script; the picture of MNIST's is docs/_static/selection.png.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from rounds import make_parser, record_each
from steps import accuracy, settings_of

from skspc._method.known_labels import NOTHING
from skspc._method.progress import Progress
from skspc._method.pseudo_labels import pseudo_labels
from skspc._method.rounds import _cluster, _train
from skspc.metrics import clustering_accuracy

RESULTS = Path(__file__).with_suffix(".jsonl")
PICTURE = Path(__file__).parents[1] / "docs/_static/selection.png"
WAYS = ("agreed", "balanced")
SHOWN = ("MNIST, 10 000 rows", 0)


def run(start, seed, way, n_rounds):
    """Go on from a pretrained ensemble for so many rounds: the figures."""
    settings = replace(settings_of(start, seed, {}, n_rounds), selection=way)
    start.bring_back()
    progress, rounds = Progress(start.n_clusters, {}, {"train": 0.0}), []
    for index in range(n_rounds + 1):
        if index:
            progress = _train(start.rows, start.ensemble, progress, settings, NOTHING)
        progress = _cluster(start.rows, start.ensemble, progress, settings, NOTHING)
        _, selected = pseudo_labels(progress.consensus, progress.spaces, start.ensemble.n_members, settings)
        rounds.append(figures_of(progress.consensus, selected[0], start.classes))
        rounds[-1]["vote"] = accuracy(start, progress.vote)
    return {"rule": progress.rule} | {key: [row[key] for row in rounds] for key in rounds[0]}


def figures_of(consensus, selected, classes):
    """What the classes tell of one round's vote, and of the rows that were selected by it, in percent."""

    def percent(value):
        return round(100 * float(value), 2)

    agreed = (consensus.agreement == 1) & (consensus.labels >= 0)
    return {
        "one": percent(clustering_accuracy(classes, consensus.labels)),
        "labellings": [percent(clustering_accuracy(classes, labels)) for labels in consensus.aligned],
        "agreed": percent(agreed.mean()),
        "right": percent(clustering_accuracy(classes[agreed], consensus.labels[agreed])) if agreed.any() else None,
        "selected": [percent(selected[classes == one].mean()) for one in np.unique(classes)],
        "selected right": percent(clustering_accuracy(classes[selected], consensus.labels[selected])),
    }


def draw():
    """The rounds of the data set shown, by either way: which classes train, and the labellings' accuracy."""
    import matplotlib.pyplot as plt

    rows = [json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines()]
    by_way = {row["way"]: row for row in rows if (row["dataset"], row["seed"]) == SHOWN}
    figure, axes = plt.subplots(2, len(WAYS), figsize=(9, 6), sharex="col", layout="constrained")
    for (above, below), way in zip(axes.T, WAYS, strict=True):
        row = by_way[way]
        rounds = range(len(row["one"]))
        for labels in zip(*row["labellings"], strict=True):
            above.plot(rounds, labels, "o-", color="0.7", linewidth=1, markersize=3)
        above.plot(rounds, row["one"], "o-", color="C0", label="vote of the round")
        above.plot(rounds, row["vote"], "s--", color="C1", label="vote of all rounds")
        above.set(title=f'selection="{way}"', ylim=(70, 100), ylabel="accuracy, %")
        image = below.imshow(np.array(row["selected"]).T, vmin=0, vmax=100, aspect="auto", cmap="viridis")
        below.set(xlabel="round", ylabel="class", yticks=range(len(row["selected"][0])))
    axes[0, 0].legend(loc="lower right", title="grey: each labelling")
    figure.colorbar(image, ax=axes[1], label="rows of the class that are selected, %")
    figure.savefig(PICTURE, dpi=100)


def main():
    if sys.argv[1:] == ["--picture"]:
        draw()
        return
    arguments = make_parser(__doc__, WAYS, 5).parse_args()
    record_each(arguments, RESULTS, lambda start, seed, way: run(start, seed, way, arguments.rounds))


if __name__ == "__main__":
    main()
