"""Cluster scikit-learn's handwritten digits three ways, compare them, and draw what SPCClustering found.

    python examples/plot_digits.py [--output digits.png] [--seed 0] [--n-estimators 5]

The digits' labels are read only after a method has finished, to score it.
"""

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import hdbscan
import numpy as np
import umap
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from skspc import SPCClustering
from skspc.clusterers import UMAPReducer
from skspc.metrics import clustering_accuracy

N_CLUSTERS = 10
NOISE = -1
NOTE = """\
Accuracy is under the best one-to-one matching of clusters to digits. HDBSCAN's noise counts as wrong in the
accuracy, and as one more cluster in the NMI. Seconds leave imports out, but include what numba compiles at its
first use in a process: whoever runs first pays for it, here UMAP + HDBSCAN and not SPCClustering."""
DARK, RIGHT, WRONG = "#333333", "#4c72b0", "#dd8452"


@dataclass(frozen=True)
class Outcome:
    """What one method made of the digits."""

    method: str
    labels: np.ndarray
    seconds: float


def cluster_kmeans(pixels, seed):
    return KMeans(N_CLUSTERS, n_init=10, random_state=seed).fit_predict(pixels)


def cluster_umap(pixels, seed):
    """UMAP + HDBSCAN on raw pixels, as one would write it by hand."""
    reducer = umap.UMAP(n_neighbors=30, min_dist=0.0, random_state=seed, n_jobs=1)
    clusterer = hdbscan.HDBSCAN(min_samples=10, min_cluster_size=len(pixels) // 20)
    return clusterer.fit_predict(reducer.fit_transform(pixels))


def timed(method, cluster, *arguments):
    """Run one method, and keep its labels and seconds."""
    start = time.perf_counter()
    labels = cluster(*arguments)
    return Outcome(method, labels, time.perf_counter() - start)


def print_comparison(outcomes, digits):
    """Print one row a method."""
    print(f"\n{'method':<26}{'accuracy':>10}{'NMI':>8}{'clusters':>10}{'noise':>9}{'seconds':>10}")
    for outcome in outcomes:
        accuracy = clustering_accuracy(digits, outcome.labels)
        nmi = normalized_mutual_info_score(digits, outcome.labels)
        noise = np.mean(outcome.labels == NOISE)
        n_clusters = outcome.labels.max() + 1
        print(
            f"{outcome.method:<26}{100 * accuracy:>8.1f} %{100 * nmi:>8.1f}{n_clusters:>10}"
            f"{100 * noise:>7.1f} %{outcome.seconds:>10.1f}"
        )
    print(f"\n{NOTE}\n")


def print_doubt(model, right):
    """Print how often agreed and doubtful rows are right."""
    for name, rows in (("agreed", model.agreed_), ("doubtful", ~model.agreed_)):
        if rows.any():
            print(f"{rows.sum()} rows {name}: {100 * right[rows].mean():.1f} % of them right")


def right_rows(labels, digits):
    """Mark the rows whose cluster, under the best matching, stands for their digit."""
    clusters, codes = np.unique(labels, return_inverse=True)
    counts = contingency_matrix(codes, digits)
    digit_of = np.full(len(clusters), NOISE)
    matched, columns = linear_sum_assignment(counts, maximize=True)
    digit_of[matched] = np.unique(digits)[columns]
    return digit_of[codes] == digits


def import_figure():
    """matplotlib's Figure, or the way to install it."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        sys.exit('The picture needs matplotlib. Install it with: pip install ".[plot]" (or pip install matplotlib)')
    return Figure


def draw(figure_class, model, images, right, seed):
    """Clusters, agreement and growth of agreement, side by side."""
    figure = figure_class(figsize=(15, 5), layout="constrained")
    clusters, agreement, growth = figure.subplots(1, 3, width_ratios=(1.25, 1, 1))
    # A picture wants looser clusters than the clusterer does.
    reducer = UMAPReducer(n_neighbors=30, min_dist=0.5, random_state=seed)
    draw_clusters(clusters, reducer.fit_transform(model.transform(images)), model)
    draw_agreement(agreement, model, right)
    draw_growth(growth, model)
    for axes in (agreement, growth):
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def draw_clusters(axes, embedding, model):
    """The latents in two dimensions: agreed rows as dots, doubtful ones as crosses."""
    colours = np.array([f"C{label % 10}" for label in model.labels_])
    for rows, style in (
        (model.agreed_, {"marker": "o", "s": 9, "linewidths": 0}),
        (~model.agreed_, {"marker": "x", "s": 26, "linewidths": 1.1}),
    ):
        axes.scatter(*embedding[rows].T, c=colours[rows], **style)
    for label in range(model.n_clusters_):
        axes.annotate(
            str(label),
            np.median(embedding[model.labels_ == label], axis=0),
            ha="center",
            va="center",
            fontsize=11,
            fontweight="bold",
            bbox={"boxstyle": "circle,pad=0.25", "facecolor": "white", "edgecolor": f"C{label % 10}", "alpha": 0.9},
        )
    n_doubtful = int((~model.agreed_).sum())
    axes.scatter([], [], marker="o", s=20, c=DARK, label=f"agreed ({len(model.labels_) - n_doubtful} rows)")
    axes.scatter([], [], marker="x", s=30, c=DARK, label=f"doubtful ({n_doubtful} rows)")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.01), ncols=2, frameon=False)
    axes.set(title="Latents of all members, by UMAP; colour and number: cluster", xticks=[], yticks=[])


def draw_agreement(axes, model, right):
    """Rows by the number of labellings that gave them their label, and the share of them that is right."""
    n_labellings = len(model.member_labels_)
    votes = np.rint(model.agreement_ * n_labellings).astype(int)
    values = np.arange(votes.min(), n_labellings + 1)
    n_right = np.array([(right & (votes == value)).sum() for value in values])
    n_rows = np.array([(votes == value).sum() for value in values])
    axes.bar(values, n_right, color=RIGHT, label="right digit")
    axes.bar(values, n_rows - n_right, bottom=n_right, color=WRONG, label="wrong digit")
    for value, count, correct in zip(values, n_rows, n_right, strict=True):
        if count:
            text = f"{count}\n{100 * correct / count:.1f} %"
            axes.annotate(text, (value, count), (0, 4), textcoords="offset points", ha="center", fontsize=9)
    axes.margins(y=0.14)
    axes.set(
        title="Agreement: rows, and share of them right",
        xlabel=f"labellings, of {n_labellings}, that agree on a row",
        ylabel="rows",
    )
    axes.set_xticks(values)
    axes.legend(loc="upper left", frameon=False)


def draw_growth(axes, model):
    """Agreed rows by round."""
    share = [100 * row["agreed_share"] for row in model.history_]
    axes.plot(share, color=DARK, marker="o", markersize=5)
    best = model.best_iter_
    axes.plot(best, share[best], "o", markersize=13, markerfacecolor="none", color=WRONG, markeredgewidth=2)
    axes.annotate(
        f"kept: round {best}", (best, share[best]), (0, 12), textcoords="offset points", ha="center", color=WRONG
    )
    axes.margins(x=0.08, y=0.15)
    axes.set(title="Growth of agreement", xlabel="training rounds", ylabel="agreed rows (%)")
    axes.set_xticks(range(len(share)))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("digits.png"), help="the picture (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of all three methods (default: %(default)s)")
    parser.add_argument("--n-estimators", type=int, default=5, help="members of SPCClustering (default: %(default)s)")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    figure_class = import_figure()
    images, digits = load_digits().images, load_digits().target
    pixels = images.reshape(len(images), -1)
    model = SPCClustering(N_CLUSTERS, n_estimators=arguments.n_estimators, random_state=arguments.seed, verbose=1)
    print(f"Clustering {len(images)} images of {images.shape[1]} x {images.shape[2]} pixels; this takes some minutes.")
    outcomes = [
        timed("KMeans on pixels", cluster_kmeans, pixels, arguments.seed),
        timed("UMAP + HDBSCAN on pixels", cluster_umap, pixels, arguments.seed),
        timed("SPCClustering", model.fit_predict, images),
    ]
    print_comparison(outcomes, digits)
    right = right_rows(model.labels_, digits)
    print_doubt(model, right)
    draw(figure_class, model, images, right, arguments.seed).savefig(arguments.output, dpi=120)
    print(f"\nPicture: {arguments.output.resolve()}")


if __name__ == "__main__":
    main()
