"""Compare the two candidates for the reference labelling, to which all others are aligned before the vote.

    python benchmarks/reference_labelling.py --data optdigits.npz pendigits.npz kmnist_test.npz --seeds 0 1 2

"concatenated" is the labelling of all latents side by side; "most agreeing" the one that agrees most with the others
on the mean, which is what skspc takes. The labellings of each round of a fit are put to the vote under both. Printed
are the accuracy of the consensus, the share of agreed rows, their accuracy, and the rows that the two label otherwise.
The classes score what comes back, nothing more.
"""

import argparse
from unittest import mock

import numpy as np

from skspc import SPCClustering, _consensus, _rounds
from skspc.metrics import clustering_accuracy

CANDIDATES = {
    "concatenated": lambda labellings, n_clusters: len(labellings) - 1,
    "most agreeing": _consensus.reference_labelling,
}


def load(name, n_rows):
    """First rows of the images or vectors of an archive, and their classes."""
    with np.load(name, allow_pickle=False) as archive:
        key = next(key for key in archive if archive[key].ndim > 1)
        return archive[key][:n_rows].astype(np.float32), archive["labels"][:n_rows]


def labellings_of_rounds(X, n_clusters, seed, max_iter):
    """The labellings of each clustering of a fit, and its row of the history."""
    rounds = []

    def spy(labellings, n_clusters, previous):
        rounds.append(labellings)
        return _consensus.find_consensus(labellings, n_clusters, previous)

    with mock.patch.object(_rounds, "find_consensus", spy):
        model = SPCClustering(n_clusters, max_iter=max_iter, random_state=seed).fit(X)
    return zip(rounds, model.history_, strict=True)


def compare(labellings, n_clusters, classes):
    """Figures of the vote under each candidate, and on how many rows the two differ."""
    rows, votes = [], []
    for candidate, function in CANDIDATES.items():
        with mock.patch.object(_consensus, "reference_labelling", function):
            consensus = _consensus.find_consensus(labellings, n_clusters)
        sure = consensus.agreement == 1
        rows.append((candidate, consensus.labels, sure))
        votes.append(consensus.labels)
    renamed = _consensus.align_labels(votes[0], votes[1], n_clusters)
    differing = int((renamed != votes[1]).sum())
    for candidate, labels, sure in rows:
        accuracy, of_sure = clustering_accuracy(classes, labels), clustering_accuracy(classes[sure], labels[sure])
        yield candidate, f"{100 * accuracy:.2f}", f"{100 * sure.mean():.2f}", f"{100 * of_sure:.2f}", differing


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", required=True, help=".npz archives with images or vectors, and labels")
    parser.add_argument("--n-rows", type=int, default=2000, help="first rows alone; default: %(default)s")
    parser.add_argument("--max-iter", type=int, default=1, help="default: %(default)s")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    arguments = parser.parse_args()
    print(
        "| data | seed | round | labellings | reference | accuracy | agreed | accuracy of agreed | rows that differ |"
    )
    print("| --- " * 9 + "|", flush=True)
    for name in arguments.data:
        X, classes = load(name, arguments.n_rows)
        n_clusters = len(np.unique(classes))
        for seed in arguments.seeds:
            for labellings, row in labellings_of_rounds(X, n_clusters, seed, arguments.max_iter):
                for figures in compare(labellings, n_clusters, classes):
                    cells = [name.rsplit("/", 1)[-1], seed, row["round"], len(labellings), *figures]
                    print(f"| {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    main()
