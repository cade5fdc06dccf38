"""Compare ways to wipe between rounds what members have memorised, and to ask those that have not, on equal starts.

    python paper/memory.py FOLDER [--dataset NAME ...] [--seeds 0] [--way WAY ...] [--rounds 5]
    python paper/memory.py --table

From each start of `rounds.py` a fit goes on as shipped but for its training. "Back" moves all weights, and the averages
of batch normalisation, a share of the way to the pretrained ones before each round; "anew", to weights drawn anew (Ash
and Adams 2020 shrink and perturb); both with new heads. "Unseen": each member trains on half of the rows selected, and
in later rounds those are selected on which all members agree that have not trained on them. It is told by which rule
the members were trained, how right the first clustering and each round are, what the fit keeps, the share of rows on
which all labellings of the fit agree and how many of these are right; and by round the mean agreement, and that of the
members that a row was unseen by. Rows are appended to `memory.jsonl` beside this script.
"""

import json
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
from beside import run, vote_of
from rounds import half_of_the_members, make_parser, record_each, unseen_agree
from scipy.stats import spearmanr
from steps import accuracy

from skspc._method.objectives import PseudoLabels
from skspc._method.pseudo_labels import pseudo_labels, reconstructed_rows
from skspc._method.rounds import _train
from skspc._runtime.seeding import SAMPLES, derive_seed

RESULTS = Path(__file__).with_suffix(".jsonl")
WAYS = {  # how far back, or to weights drawn anew; whether members that have not seen a row select it
    "as shipped": {},
    "back .2": {"back": 0.2},
    "back .5": {"back": 0.5},
    "back .8": {"back": 0.8},
    "back": {"back": 1.0},
    "anew .2": {"anew": 0.2},
    "anew .5": {"anew": 0.5},
    "unseen": {"unseen": True},
    "unseen, back .5": {"unseen": True, "back": 0.5},
    "unseen, back": {"unseen": True, "back": 1.0},
}


class Training:
    """Trains the rounds of one fit by a way, and keeps what each round has seen and how right it was."""

    def __init__(self, start, back=0.0, anew=0.0, unseen=False):
        self.start, self.unseen = start, unseen
        self.share, self.target = (back, start.pretrained) if back else (anew, start.drawn if anew else None)
        self.selected, self.agreement_of_unseen, self.one = None, [], []

    def __call__(self, rows, ensemble, progress, settings, prior):
        self.look_at(progress)
        if self.share:
            weights = mixed(ensemble.state()["autoencoder"], self.target, self.share)
            ensemble.load_state({"autoencoder": weights})
            ensemble.reset_heads(progress.n_clusters)
        if not self.unseen:
            return _train(rows, ensemble, progress, settings, prior)
        stage, n_members = len(progress.history), ensemble.n_members
        if stage == 1:
            ensemble.reset_heads(progress.n_clusters)
        targets, selected = pseudo_labels(progress.consensus, progress.spaces, n_members, settings)
        if self.selected is not None:
            selected = np.tile(unseen_agree(progress.consensus, progress.spaces, self.selected), (n_members, 1))
        selected &= half_of_the_members(selected.shape, derive_seed(ensemble.seed, SAMPLES, stage))
        self.selected = selected
        reconstructed = reconstructed_rows(selected, settings.reconstruction)
        losses = ensemble.train(PseudoLabels(rows, targets, selected, reconstructed, stage), settings.training)
        return replace(progress, losses=losses, seconds={"train": 0.0})

    def look_at(self, progress):
        """What the classes, and the members that had not seen a row, say of the round that has ended."""
        self.one.append(accuracy(self.start, progress.consensus))
        if self.selected is not None:
            members = [i for i, space in enumerate(progress.spaces) if space < len(self.selected)]
            unseen = ~self.selected[[progress.spaces[i] for i in members]]
            votes = (progress.consensus.aligned[members] == progress.consensus.labels)[unseen]
            self.agreement_of_unseen.append(round(float(votes.mean()), 3))


def mixed(weights, target, share):
    """Weights by name, a share of the way to those of a target; whole numbers as they are."""
    return {
        name: value if not value.is_floating_point() else value.lerp(target[name], share)
        for name, value in weights.items()
    }


def figures_of(start, seed, way, n_rounds):
    training = Training(start, **WAYS[way])
    progress, first, _ = run(start, seed, n_rounds, training)
    training.look_at(progress)
    told = vote_of(list(progress.vote.aligned), start.classes, start.n_clusters)
    return {
        "rule": progress.rule,
        "first": first,
        "one": training.one,
        "kept": told["accuracy"],
        "agreed": told["agreed"],
        "right of these": told["right of these"],
        "n_labellings": [row["n_labellings"] for row in progress.history],
        "agreement": [round(row["agreement_of_kept"], 3) for row in progress.history],
        "agreement of unseen": training.agreement_of_unseen,
    }


def print_table():
    """Each way beside the shipped one on the starts that have both, and what the agreement of the unseen tells."""
    of_ways = defaultdict(dict)
    for line in RESULTS.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        of_ways[row["way"]][row["dataset"], row["seed"]] = row
    print("| way | fits | kept, as shipped | worst beside it | below first | a round, mean | agreed, right of these |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for way, rows in of_ways.items():
        shipped = of_ways["as shipped"]
        pairs = [(row, shipped[start]) for start, row in rows.items() if start in shipped]
        kept, theirs = np.array([(row["kept"], other["kept"]) for row, other in pairs]).T
        below = sum(row["kept"] < row["first"] for row, _ in pairs)
        rounds = np.mean([np.mean(row["one"][1:]) for row, _ in pairs])
        told = [np.mean([row[key] for row, _ in pairs if row[key] is not None]) for key in ("agreed", "right of these")]
        print(
            f"| {way} | {len(pairs)} | {kept.mean():.1f}, {theirs.mean():.1f} | {(kept - theirs).min():.1f} | {below} "
            f"| {rounds:.1f} | {told[0]:.0f}, {told[1]:.1f} |"
        )
    for key in ("agreement", "agreement of unseen"):
        series = [(row[key], row["one"][-len(row[key]) :]) for row in of_ways["unseen"].values() if len(row[key]) > 2]
        found = [spearmanr(*pair).statistic for pair in series]
        print(f"Rank correlation of {key} with accuracy by round: {np.nanmean(found):.2f}, mean of {len(found)} fits")


def main():
    if sys.argv[1:] == ["--table"]:
        print_table()
        return
    arguments = make_parser(__doc__, WAYS, 5).parse_args()
    record_each(arguments, RESULTS, lambda start, seed, way: figures_of(start, seed, way, arguments.rounds))


if __name__ == "__main__":
    main()
