"""Compare whose labellings of the rounds' embeddings are to vote on a fit's labels, on equal starts.

    python paper/beside.py FOLDER [--dataset NAME ...] [--seeds 0] [--rounds 5]

From each start of `rounds.py` a fit goes on as shipped. Afterwards HDBSCAN's cut, k-means and a mixture of one start
label the embedding of each space in each round, and each set of them is put to the vote. It is told by which rule the
members were trained, how right the first clustering is and what the fit keeps, how much the labellings that train agree
in each round and how many labellings the round has in the vote; and of each vote: accuracy, share of the rows on which
all agree, how many of these are right, and the adjusted Rand index. Rows are appended to `beside.jsonl` beside this
script; those there without "agreement" are of versions before, and without "kept" of a draft of it. A fit that labels
latents without UMAP has no embeddings, and a row without votes.
"""

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
from rounds import make_parser, record_each
from sklearn.metrics import adjusted_rand_score
from steps import accuracy, settings_of

from skspc._method.consensus import find_consensus
from skspc._method.known_labels import NOTHING
from skspc._method.labelling import label_embedding
from skspc._method.progress import Progress
from skspc._method.rounds import _cluster, _is_over, _train
from skspc.clusterers import GaussianMixtureClusterer, HDBSCANCut, get_clusterer
from skspc.metrics import clustering_accuracy

RESULTS = Path(__file__).with_suffix(".jsonl")
READERS = {"cut": HDBSCANCut(), "k-means": get_clusterer("kmeans"), "mixture": GaussianMixtureClusterer(n_init=1)}
SETS = [names for length in (1, 2, 3) for names in combinations(READERS, length)]
TOL, N_ITER_NO_CHANGE = 0.005, 2  # the defaults


def run(start, seed, n_rounds, train=_train):
    """The last progress of a fit from a start, how right its first vote is, and the embeddings of all rounds."""
    settings = replace(settings_of(start, seed, {}, n_rounds), tol=TOL, n_iter_no_change=N_ITER_NO_CHANGE)
    start.bring_back()
    progress, first, embeddings = Progress(start.n_clusters, {}, {"train": 0.0}), None, []
    while not _is_over(progress, settings):
        if progress.history:
            progress = train(start.rows, start.ensemble, progress, settings, NOTHING)
        progress = _cluster(start.rows, start.ensemble, progress, settings, NOTHING)
        first = accuracy(start, progress.consensus) if first is None else first
        embeddings += progress.layouts.values()
    return progress, first, embeddings


def vote_of(labellings, classes, n_clusters):
    """What the classes tell of the vote of labels L x (N,), in percent but for the index."""
    vote = find_consensus(np.stack(labellings), n_clusters)
    agreed = vote.agreement == 1
    right = clustering_accuracy(classes[agreed], vote.labels[agreed]) if agreed.any() else None
    return {
        "accuracy": round(100 * clustering_accuracy(classes, vote.labels), 1),
        "agreed": round(100 * float(agreed.mean()), 1),
        "right of these": None if right is None else round(100 * right, 1),
        "index": round(adjusted_rand_score(classes, vote.labels), 3),
    }


def figures_of(start, seed, n_rounds):
    progress, first, embeddings = run(start, seed, n_rounds)
    n_clusters, found = progress.n_clusters, {}
    for name, clusterer in READERS.items():
        labellings = [label_embedding(embedding, clusterer, n_clusters, seed) for embedding in embeddings]
        found[name] = [labels for labels in labellings if labels.max() + 1 == n_clusters]
    votes = {names: [labels for name in names for labels in found[name]] for names in SETS}
    told = {" + ".join(names): vote_of(those, start.classes, n_clusters) for names, those in votes.items() if those}
    kept = round(100 * clustering_accuracy(start.classes, progress.vote.labels), 1)
    by_round = {
        "agreement": [round(row["agreement_of_kept"], 3) for row in progress.history],
        "n_labellings": [row["n_labellings"] for row in progress.history],
    }
    return {"rule": progress.rule, "first": first, "kept": kept} | by_round | {"votes": told}


def main():
    arguments = make_parser(__doc__, ("as shipped",), 5).parse_args()
    record_each(arguments, RESULTS, lambda start, seed, way: figures_of(start, seed, arguments.rounds))


if __name__ == "__main__":
    main()
