"""Compare ways to run rounds, and rules for what to keep of them, on equal starts.

    python paper/rounds.py FOLDER [--dataset NAME ...] [--seeds 0] [--way WAY ...] [--rounds 5]

An ensemble is pretrained and labelled once a data set and seed, and kept in the folder; each way goes on from there for
so many rounds, whether agreement grows or not. Ways: the paper's rounds; encoders brought back to the pretrained ones
before each; members that train on half of the agreed rows each, where the votes of the others select ("unseen", with
encoders brought back); rows agreed on in two rounds in a row; and other clusterers in place of HDBSCAN's cut. Of each:
accuracy and share agreed by round, and the accuracy of what each rule keeps: the first round, the one with most agreed
rows, the last, the vote of all labellings. The rows are appended to `rounds.jsonl` beside this script.
"""

import argparse
import json
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from labelling import centroids
from latents import TABLES, name_of_data, rows_and_classes
from reproduction.data import load
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans

from skspc import SPCClustering
from skspc._input.validation import choose_network
from skspc._method.choice import labelling_rules
from skspc._method.consensus import Consensus, find_consensus, select_agreed
from skspc._method.labelling import cluster_spaces, keep_exact, n_spaces
from skspc._method.objectives import PseudoLabels, Reconstruction
from skspc._method.rounds import labels_of
from skspc._runtime.arrays import distinct_rows
from skspc._runtime.seeding import LABELLING, SAMPLES, derive_seed
from skspc._spc import min_pretrain_steps
from skspc.clusterers import HDBSCANCut, get_clusterer
from skspc.metrics import clustering_accuracy

# Data set, and which of its rows in random order.
PARTS = {
    "optdigits, part 1": ("optdigits", 0, 1797),
    "optdigits, part 2": ("optdigits", 1797, 1797),
    "optdigits, all rows": ("optdigits", 0, 5620),
    "USPS, 4000 rows": ("usps", 0, 4000),
    "HAR": ("har_inertial", 0, 4000),
    "HAR, 3000 rows": ("har_inertial", 0, 3000),
    "HAR, all rows": ("har_inertial", 0, 10_299),
    "COIL-20": ("coil20", 0, 1440),
    "titles, 3000 rows": ("stackoverflow_titles", 0, 3000),
    "MNIST": ("mnist", 0, 2500),
    "MNIST, 10 000 rows": ("mnist", 0, 10_000),
    "MNIST, another 5000 rows": ("mnist", 5000, 5000),
    "Fashion-MNIST, 5000 rows": ("fashion_mnist", 0, 5000),
    "Kuzushiji, 5000 rows": ("kmnist_test", 0, 5000),
    "pendigits": ("pendigits", 0, 4000),
    "digits": ("digits", 0, 1797),
}
RESULTS = Path(__file__).with_suffix(".jsonl")


class CentroidsOfTheCut(ClusterMixin, BaseEstimator):
    """k-means from the centroids of HDBSCAN's cut."""

    def __init__(self, n_clusters=8):
        self.n_clusters = n_clusters

    def fit_predict(self, X, y=None):
        cut = HDBSCANCut(self.n_clusters).fit_predict(X)
        exact = cut.max() + 1 == self.n_clusters
        model = KMeans(self.n_clusters, init=centroids(X, cut), n_init=1) if exact else get_clusterer("kmeans")
        return model.set_params(random_state=0).fit_predict(X)


WAYS = {
    "base": {},
    "reset": {"reset": True},
    "unseen": {"reset": True, "halves": True},
    "two rounds": {"window": 2},
    "k-means": {"clusterer": get_clusterer("kmeans")},
    "k-means from the cut": {"clusterer": CentroidsOfTheCut()},
}


class Start:
    """A data set's rows, scaled, and an ensemble pretrained on them."""

    def __init__(self, name, seed, folder, pretrain_steps=None):
        if name not in PARTS:
            rows, classes = rows_and_classes(name, seed)
        else:
            dataset, begin, n_rows = PARTS[name]
            data = load(dataset)
            chosen = np.sort(np.random.default_rng(0).permutation(len(data.rows))[begin : begin + n_rows])
            rows, classes = data.rows[chosen], data.classes[chosen]
        self.n_clusters = len(np.unique(classes))
        model = SPCClustering(self.n_clusters, random_state=seed)
        X, shape = model._check_fit_data(rows)
        self.image_shape = shape
        first, _ = distinct_rows(X)
        self.classes, device = classes[first], torch.device("cpu")
        self.rows = model._fit_scaling(X[first], shape).training_rows(X[first])
        rules = labelling_rules("hdbscan", "umap", 2, len(first))
        self.pretrain_steps = pretrain_steps or min_pretrain_steps(X[first], shape)  # at least
        self.settings = model._round_settings(len(first), rules, device, shape, self.pretrain_steps)
        batch_size = self.settings.pretraining.batch_size
        self.ensemble = model._new_ensemble(choose_network("auto", shape), self.rows, seed, device, batch_size, None)
        self.drawn = self.ensemble.state()["autoencoder"]  # the weights before any training
        path = folder / f"{name}-{seed}.pickle"
        if not path.exists():
            self.ensemble.train(Reconstruction(self.rows), self.settings.pretraining)
            path.write_bytes(pickle.dumps(self.ensemble.state()["autoencoder"]))
        self.pretrained = pickle.loads(path.read_bytes())

    def bring_back(self):
        self.ensemble.load_state({"autoencoder": self.pretrained})
        self.ensemble.reset_heads(self.n_clusters)

    def label(self, settings, index, names):
        """One clustering: its vote, and the space of each labelling."""
        latents, seed = self.ensemble.encode(self.rows), derive_seed(self.ensemble.seed, LABELLING, index)
        found, _ = cluster_spaces(latents, self.n_clusters, settings, seed)
        labellings = keep_exact(found, self.n_clusters, n_spaces(self.ensemble.n_members, True))
        return find_consensus(labellings.kept, self.n_clusters, names), labellings.spaces


def votes_of_rounds(start, n_rounds, reset=False, halves=False, window=1, clusterer=None):
    """The vote of each clustering, the first included, each of L labellings."""
    settings = start.settings if clusterer is None else replace(start.settings, clusterer=clusterer)
    n_members = start.ensemble.n_members
    start.bring_back()
    vote, spaces = start.label(settings, 0, None)
    votes, targets, agreed = [vote], vote.labels, select_agreed(vote.votes, n_members + 1, 1.0)
    for index in range(1, n_rounds + 1):
        if reset:
            start.bring_back()
        selected = np.tile(agreed, (n_members, 1))
        if halves:
            selected &= half_of_the_members(selected.shape, derive_seed(start.ensemble.seed, SAMPLES, index))
        labels = np.tile(targets, (n_members, 1))
        objective = PseudoLabels(start.rows, labels, selected, np.ones_like(selected), index)
        start.ensemble.train(objective, settings.training)
        vote, spaces = start.label(settings, index, targets)
        votes.append(vote)
        recent = find_consensus(np.concatenate([one.aligned for one in votes[-window:]]), start.n_clusters, targets)
        targets = recent.labels
        agreed = unseen_agree(vote, spaces, selected) if halves else recent.agreement == 1
    return votes


def half_of_the_members(shape, seed):
    """A mask (K, N) with half of the members of each row, or one more or less where K is odd."""
    random = np.random.default_rng(seed)
    order = random.random(shape).argsort(axis=0)
    return order < np.where(random.random(shape[1]) < 0.5, shape[0] // 2, shape[0] - shape[0] // 2)


def unseen_agree(vote, spaces, selected):
    """Rows on which all members agree that have not trained on them, at least one."""
    members = [i for i, space in enumerate(spaces) if space < len(selected)]
    unseen = ~selected[[spaces[i] for i in members]]
    return ((vote.aligned[members] == vote.labels) | ~unseen).all(axis=0) & unseen.any(axis=0)


def figures_of(votes: list[Consensus], classes, n_clusters):
    """What the classes tell of the rounds, and of what each rule keeps, in percent."""

    def accuracy(labels):
        return round(100 * clustering_accuracy(classes, labels), 1)

    together = find_consensus(np.concatenate([vote.aligned for vote in votes]), n_clusters)
    agreed = [vote.agreement == 1 for vote in votes]
    best = max(range(len(votes)), key=lambda i: (agreed[i].sum(), votes[i].agreement.mean(), -i))
    by_round = [accuracy(labels_of(vote, len(classes))) for vote in votes]
    all_agree = together.agreement == 1
    return {
        "by_round": by_round,
        "agreed": [round(100 * float(rows.mean()), 1) for rows in agreed],
        "first": by_round[0],
        "most agreed": by_round[best],
        "last": by_round[-1],
        "vote of all": accuracy(together.labels),
        "agreed by all": round(100 * float(all_agree.mean()), 1),
        "right of these": round(100 * clustering_accuracy(classes[all_agree], together.labels[all_agree]), 1)
        if all_agree.any()
        else None,
    }


def name_of_start(text):
    """A name of `PARTS`, or of a data set, with or without sizes of classes, as `latents.py` takes it."""
    return text if text in PARTS else name_of_data(text)


def make_parser(doc, ways, n_rounds):
    """Arguments of this script, and of others that compare ways on equal starts."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--dataset", nargs="+", type=name_of_start, default=[*TABLES, *PARTS])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--way", nargs="+", choices=ways, default=list(ways))
    parser.add_argument("--rounds", type=int, default=n_rounds)
    parser.add_argument("--pretrain-steps", type=int, help="at least; for others, another folder. Default: as shipped")
    return parser


def record_each(arguments, path, figures):
    """Append to a file, and print, what ``figures(start, seed, way)`` are of each data set, seed and way."""
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in arguments.dataset:
        for seed in arguments.seeds:
            start = Start(name, seed, arguments.folder, arguments.pretrain_steps)
            for way in arguments.way:
                row = {"dataset": name, "seed": seed, "way": way} | figures(start, seed, way)
                line = json.dumps(row)
                with path.open("a", encoding="utf-8") as results:
                    results.write(line + "\n")
                print(line, flush=True)


def main():
    arguments = make_parser(__doc__, WAYS, 5).parse_args()

    def figures(start, seed, way):
        return figures_of(votes_of_rounds(start, arguments.rounds, **WAYS[way]), start.classes, start.n_clusters)

    record_each(arguments, RESULTS, figures)


if __name__ == "__main__":
    main()
