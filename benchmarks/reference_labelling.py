"""Compare the two candidates for the reference labelling, to which all others are aligned before the vote.

    python benchmarks/reference_labelling.py --data optdigits.npz pendigits.npz kmnist_test.npz --seeds 0 1 2

"concatenated" is the labelling of all latents side by side; "most agreeing" the one that agrees most with the others
on the mean, which is what skspc takes. The labellings of each round of a fit are put to the vote under both. Printed
are the accuracy of the consensus, the share of agreed rows, their accuracy, and the rows that the two label otherwise.
The classes score what comes back, nothing more.

The labellings are read from the checkpoints of the fit, which hold those of the newest round.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from safetensors import safe_open

from skspc import SPCClustering
from skspc._method.consensus import align_labels, reference_labelling, vote
from skspc.metrics import clustering_accuracy

CANDIDATES = {
    "concatenated": lambda labellings, n_clusters: len(labellings) - 1,
    "most agreeing": reference_labelling,
}


def load(name, n_rows):
    """First rows of the images or vectors of an archive, each once, and their classes."""
    with np.load(name, allow_pickle=False) as archive:
        key = next(key for key in archive if archive[key].ndim > 1)
        X, classes = archive[key][:n_rows].astype(np.float32), archive["labels"][:n_rows]
    _, first = np.unique(X.reshape(len(X), -1), axis=0, return_index=True)
    first.sort()
    return X[first], classes[first]


def labellings_of_rounds(X, n_clusters, seed, max_iter):
    """The labellings (L, N) of each clustering of a fit."""
    rounds = []
    with tempfile.TemporaryDirectory() as folder:

        def keep_labellings(history):
            newest = max(Path(folder).rglob("*.safetensors"))
            with safe_open(newest, framework="np") as file:
                rounds.append(file.get_tensor("consensus.aligned"))

        settings = {"max_iter": max_iter, "random_state": seed, "checkpoint": folder}
        SPCClustering(n_clusters, **settings).fit(X, monitor=keep_labellings)
    return rounds


def compare(labellings, n_clusters, classes):
    """Figures of the vote under each candidate, and on how many rows the two differ."""
    consensus = {}
    for candidate, choose in CANDIDATES.items():
        reference = choose(labellings, n_clusters)
        aligned = np.stack([align_labels(labels, labellings[reference], n_clusters) for labels in labellings])
        consensus[candidate] = vote(aligned, reference, n_clusters)
    (one, _), (other, _) = consensus.values()
    differing = int((align_labels(one, other, n_clusters) != other).sum())
    for candidate, (labels, votes) in consensus.items():
        sure = votes == len(labellings)
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
            for index, labellings in enumerate(labellings_of_rounds(X, n_clusters, seed, arguments.max_iter)):
                for figures in compare(labellings, n_clusters, classes):
                    cells = [name.rsplit("/", 1)[-1], seed, index, len(labellings), *figures]
                    print(f"| {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    main()
