"""Check the paper's statements by exact calculation and by simulation: the tables of docs/theory.md.

    python checks/theory.py

Exact figures are sums over finite distributions: Gauss rules, which have the moments of the normal and of the
exponential distribution up to degree 9, and no expectation below is of a higher degree. Simulated figures are means
over random draws, with their standard error. Labellings are simulated, then put to the vote of skspc itself.
"""

import argparse
from functools import partial

import numpy as np

from skspc._constants import NOISE
from skspc._method.consensus import align_labels, find_consensus, select_agreed

N_NODES = 5
SIZES = (1, 2, 3, 5, 10, 15)  # labellings in an ensemble
# Kinds of rows: (share of the rows, probability that a labelling has such a row right, independently of the others).
ENSEMBLES = {
    "independent errors": [(1.0, 0.8)],
    "some rows easy, some hard, some always wrong": [(0.7, 1.0), (0.2, 0.5), (0.1, 0.0)],
    "a tenth always wrong, the others independent": [(0.9, 8 / 9), (0.1, 0.0)],
}
LEMMA_3_CASES = [  # shares of two clusters, their variances, squared distance of their means
    ((0.5, 0.5), (1, 1), 16),
    ((0.5, 0.5), (0.5, 1.5), 16),
    ((0.9, 0.1), (1, 1), 20),
    ((0.9, 0.1), (0.9, 9.1), 12),
]


# Entropy


def entropy(t, n_clusters):
    """Entropy (nats) of a cluster that is c_0 with probability t and any other with equal probability."""
    return -t * np.log(t) - (1 - t) * np.log((1 - t) / (n_clusters - 1))


def entropy_slope(t, n_clusters):
    """Derivative of `entropy` with respect to t."""
    return np.log((1 - t) / (t * (n_clusters - 1)))


def printed_entropy_slope(t, n_clusters):
    """The derivative as the paper prints it."""
    return -2 - np.log(t / (1 - t) * (n_clusters - 1))


# Distributions: tuples of independent points, as arrays (size, P, n), their clusters (size, P) and probabilities (P,)


def gauss_rule(family, centres=(0.0,), scale=1.0):
    """Finite distribution with the moments, up to degree 9, of equal clusters: centre + scale * noise.

    The noise is standard normal, or exponential with mean 1, less 1.

    Returns
    -------
    points : ndarray of shape (P, 1)
    clusters : ndarray of shape (P,)
    probabilities : ndarray of shape (P,)
    """
    if family == "normal":
        nodes, weights = np.polynomial.hermite_e.hermegauss(N_NODES)
    else:
        nodes, weights = np.polynomial.laguerre.laggauss(N_NODES)
        nodes = nodes - 1
    points = np.add.outer(np.asarray(centres), scale * nodes).reshape(-1, 1)
    clusters = np.repeat(np.arange(len(centres)), N_NODES)
    return points, clusters, np.tile(weights / weights.sum(), len(centres)) / len(centres)


def all_tuples(points, clusters, probabilities, size):
    """Every tuple of ``size`` points of a finite distribution, drawn independently."""
    indices = np.indices((len(points),) * size).reshape(size, -1)
    return points[indices], clusters[indices], probabilities[indices].prod(axis=0)


def draw_tuples(family, centres, size, n_draws, random):
    """Random tuples from the distribution that `gauss_rule` stands for."""
    clusters = random.integers(len(centres), size=(size, n_draws))
    drawn = random.standard_normal if family == "normal" else random.standard_exponential
    values = drawn(size=(size, n_draws)) - (family != "normal")
    points = np.asarray(centres)[clusters] + values
    return points[..., None], clusters, np.full(n_draws, 1 / n_draws)


def restrict(tuples, *wanted):
    """The tuples whose first points are of the clusters ``wanted``; their probabilities sum to one."""
    points, clusters, probabilities = tuples
    kept = np.full(len(probabilities), True)
    for i, cluster in enumerate(wanted):
        kept &= clusters[i] == cluster
    return points[:, kept], clusters[:, kept], probabilities[kept] / probabilities[kept].sum()


# One step of gradient descent on a pair of points


def step(w, w_out, eta, points, labels):
    """Weights (P, n) after the paper's update by the first two points: residual +1 for label 0, -1 for label 1."""
    first, second = (1 - 2 * label for label in labels)
    return w - eta * w_out * (first * points[0] + second * points[1])


def squared_distances(weights, x, z):
    """Squared distance of the encodings of x and z, (P,)."""
    return ((weights * (x - z)).sum(axis=1)) ** 2


def distances_after(tuples, w, w_out, eta, labels, between=(0, 1)):
    """Squared distances (P,) between two points of each tuple after a step on its first two."""
    points = tuples[0]
    return squared_distances(step(w, w_out, eta, points, labels), points[between[0]], points[between[1]])


def mean_and_error(values, probabilities):
    """Mean, and its standard error if the values are draws."""
    mean = values @ probabilities
    return mean, np.sqrt(((values - mean) ** 2 @ probabilities) / len(values))


def distance_moments(points, clusters, probabilities):
    """Mean squared distance s within and r between clusters, and d = Var(E[X|Y]) - E[Var(X|Y)]."""
    pairs, pair_clusters, weights = all_tuples(points, clusters, probabilities, 2)
    squares = ((pairs[0] - pairs[1]) ** 2).sum(axis=1)
    same = pair_clusters[0] == pair_clusters[1]
    within, between = (squares[kept] @ weights[kept] / weights[kept].sum() for kept in (same, ~same))
    return within, between, np.trace(contrast(points, clusters, probabilities))


def contrast(points, clusters, probabilities):
    """Covariance between clusters less covariance within them, (n, n): d of the encoding w is w' M w."""
    centre = probabilities @ points
    total = np.zeros((points.shape[1], points.shape[1]))
    for cluster in np.unique(clusters):
        kept = clusters == cluster
        share = probabilities[kept].sum()
        mean = probabilities[kept] @ points[kept] / share
        spread = (points[kept] - mean).T * probabilities[kept] @ (points[kept] - mean)
        total += share * np.outer(mean - centre, mean - centre) - spread
    return total


def quadratic(matrix, weights):
    """d of each encoding: w' M w for weights (P, n) and the matrix of `contrast`."""
    return np.einsum("pi,ij,pj->p", weights, matrix, weights)


def theorem_gaps(tuples, measure, w, w_out, eta, label):
    """d_T - d_F (P,) of pairs whose first point has pseudo-label ``label``: the other's is right, or wrong.

    Parameters
    ----------
    measure : callable
        Weights (P, n) -> (P,): d, or another measure of an encoding.
    """
    points, clusters, _ = tuples
    one_label = measure(step(w, w_out, eta, points, (label, label)))
    two_labels = measure(step(w, w_out, eta, points, (label, 1 - label)))
    return np.where(clusters[0] == clusters[1], one_label - two_labels, two_labels - one_label)


# Ensembles


def agreed_share_and_accuracy(kinds, n_labellings, noise=0.0):
    """Exact share of rows on which all labellings agree, and accuracy of these rows' label.

    Parameters
    ----------
    kinds : list of (float, float)
        Share of the rows, and probability that a labelling has them right; a wrong vote always goes to the same
        other cluster.
    n_labellings : int
    noise : float
        Probability that a labelling gives a row no vote, whatever the row.
    """
    votes = (1 - noise) ** n_labellings
    right = votes * sum(share * p**n_labellings for share, p in kinds)
    wrong = votes * sum(share * (1 - p) ** n_labellings for share, p in kinds)
    return right + wrong, right / (right + wrong)


def simulate_labellings(kinds, n_labellings, n_rows, n_clusters, random, noise=0.0):
    """Classes (N,) and labellings (L, N), each with names of its own; a wrong vote is for the next cluster."""
    classes = random.integers(n_clusters, size=n_rows)
    shares, rights = np.transpose(kinds)
    ends = np.rint(n_rows * np.cumsum(shares)).astype(int)
    p_right = np.repeat(rights, np.diff(ends, prepend=0))  # shares as given, so that chance is in the votes alone
    wrong = random.random((n_labellings, n_rows)) >= p_right
    labellings = (classes + wrong) % n_clusters
    labellings = np.stack([random.permutation(n_clusters)[labels] for labels in labellings])
    return classes, np.where(random.random(labellings.shape) < noise, NOISE, labellings)


def put_to_the_vote(classes, labellings, n_clusters, min_agreement=1.0):
    """Share of agreed rows, accuracy of their label, and of the vote on all rows, as `SPCClustering` votes."""
    consensus = find_consensus(labellings, n_clusters)
    agreed = select_agreed(consensus.votes, len(labellings), min_agreement)
    labels = align_labels(consensus.labels, classes, n_clusters)
    right = labels == classes
    return agreed.mean(), right[agreed].mean(), right.mean()


# Tables


def table(header, rows):
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def entropy_table(n_clusters=10, half_width=1e-6):
    rows = []
    for t in (0.1, 0.2, 0.5, 0.9):
        numeric = (entropy(t + half_width, n_clusters) - entropy(t - half_width, n_clusters)) / (2 * half_width)
        figures = entropy(t, n_clusters), numeric, entropy_slope(t, n_clusters), printed_entropy_slope(t, n_clusters)
        rows.append([t, *(f"{figure + 0:.3f}" for figure in np.round(figures, 3))])
    return table(["t", "H(t)", "slope, by differences", "H'(t)", "slope, as printed"], rows)


def lemma_1_cases():
    """Name, family, centres, clusters of the pair, labels that both points have, in turn."""
    return [
        ("N(0, 1)", "normal", (0.0,), (), (0,)),
        ("Exp(1) - 1", "exponential", (0.0,), (), (0,)),
        ("Exp(1) - 1", "exponential", (0.0,), (), (1,)),
        ("Exp(1) - 1", "exponential", (0.0,), (), (0, 1)),
        ("N(±2, 1)", "normal", (-2.0, 2.0), (), (0,)),
        ("N(±2, 1), both from +2", "normal", (-2.0, 2.0), (1, 1), (0,)),
    ]


def lemma_1_gaps(tuples, labels, w=1.0, w_out=-1.0, eta=0.01):
    """u_same and u_diff of each pair, (P,); the mean over the labels that the pair may share."""
    same = np.mean([distances_after(tuples, w, w_out, eta, (label, label)) for label in labels], axis=0)
    return same, distances_after(tuples, w, w_out, eta, (0, 1))


def lemma_1_table(n_draws, random):
    rows = []
    for name, family, centres, clusters, labels in lemma_1_cases():
        exact = restrict(all_tuples(*gauss_rule(family, centres), 2), *clusters)
        same, different = (values @ exact[2] for values in lemma_1_gaps(exact, labels))
        drawn = restrict(draw_tuples(family, centres, 2, n_draws, random), *clusters)
        same_drawn, different_drawn = lemma_1_gaps(drawn, labels)
        mean, error = mean_and_error(same_drawn - different_drawn, drawn[2])
        figures = [f"{same:.4f}", f"{different:.4f}", f"{same - different:.4f}", f"{mean:.4f} ± {error:.4f}"]
        rows.append([name, " or ".join(map(str, labels)), *figures, "yes" if same < different else "no"])
    header = ["x", "label of both", "u_same", "u_diff", "u_same - u_diff", "simulated", "u_same < u_diff"]
    return table(header, rows)


def lemma_2_table(n_draws, random, w=1.0, w_out=-1.0, eta=0.01):
    cases = [
        ("N(0, 1)", "normal", (0.0,), ()),
        ("Exp(1) - 1", "exponential", (0.0,), ()),
        ("N(±2, 1)", "normal", (-2.0, 2.0), ()),
        ("N(±2, 1), x and x' from +2, z from -2", "normal", (-2.0, 2.0), (1, 1, 0)),
    ]
    rows = []
    for name, family, centres, clusters in cases:
        exact = restrict(all_tuples(*gauss_rule(family, centres), 3), *clusters)
        drawn = restrict(draw_tuples(family, centres, 3, n_draws, random), *clusters)
        settings = [(w, w_out, eta, labels, (0, 2)) for labels in ((0, 0), (0, 1))]
        same, different = (distances_after(exact, *each) @ exact[2] for each in settings)
        same_drawn, different_drawn = (distances_after(drawn, *each) for each in settings)
        mean, error = mean_and_error(same_drawn - different_drawn, drawn[2])
        equal = "yes" if np.isclose(same, different) else "no"
        rows.append([name, f"{same:.4f}", f"{different:.4f}", f"{mean:.4f} ± {error:.4f}", equal])
    return table(["x, x', z", "v_same", "v_diff", "simulated v_same - v_diff", "equal"], rows)


def two_clusters(shares, variances, squared_distance):
    """Finite distribution of two normal clusters on a line."""
    parts = [gauss_rule("normal", (i * squared_distance**0.5,), variances[i] ** 0.5) for i in range(2)]
    points = np.concatenate([part[0] for part in parts])
    return points, np.repeat([0, 1], N_NODES), np.concatenate([part[2] * shares[i] for i, part in enumerate(parts)])


def lemma_3_d(within, between, shares):
    """lambda_1 r - lambda_2 s, with the paper's constants where sizes are equal."""
    q = np.square(shares).sum()
    return (1 - q) / 2 * between - (1 - q / 2) * within


def lemma_3_table():
    rows = []
    for case in LEMMA_3_CASES:
        within, between, d = distance_moments(*two_clusters(*case))
        by_lemma = lemma_3_d(within, between, case[0])
        cells = [" : ".join(map(str, case[0])), ", ".join(map(str, case[1])), case[2]]
        figures = [f"{figure:.2f}" for figure in (within, between, d, by_lemma)]
        rows.append([*cells, *figures, "yes" if np.isclose(d, by_lemma) else "no"])
    header = ["sizes", "variances", "squared distance of means", "s", "r", "d", "λ₁ r - λ₂ s", "equal"]
    return table(header, rows)


def theorem_table(n_draws, random, w=1.0, w_out=1.0, eta=0.01):
    """Pairs whose first point is of the cluster that the output puts on the side of 1, since w and w_out are."""
    rows = []
    for name, family, centre in [
        ("N(±2, 1)", "normal", 2.0),
        ("±2 + Exp(1) - 1", "exponential", 2.0),
        ("N(±0.5, 1)", "normal", 0.5),
    ]:
        rule = gauss_rule(family, (-centre, centre))
        d = partial(quadratic, contrast(*rule))
        draws = draw_tuples(family, (-centre, centre), 2, n_draws, random)
        for clusters, pair in [((1, 1), "one cluster"), ((1, 0), "two clusters")]:
            exact, drawn = restrict(all_tuples(*rule, 2), *clusters), restrict(draws, *clusters)
            gaps = [theorem_gaps(exact, d, w, w_out, eta, label) @ exact[2] for label in (1, 0)]
            mean, error = mean_and_error(theorem_gaps(drawn, d, w, w_out, eta, 1), drawn[2])
            figures = [f"{gap:.6f}" for gap in (*gaps, np.mean(gaps))]
            rows.append([name, pair, figures[0], f"{mean:.5f} ± {error:.5f}", *figures[1:]])
    return table(["x", "pair from", "label 1", "label 1, simulated", "label 0", "mean of both"], rows)


def share_of_variance(centre, weights):
    """Share of the encoding's variance that is between clusters of covariance I at centre and -centre, (P,)."""
    between = (weights @ centre) ** 2
    return between / (between + (weights**2).sum(axis=1))


def share_table(n_draws, random, w_out=1.0, eta=0.01):
    """The theorem for the share of the variance, on round clusters in two dimensions."""
    rows = []
    w = np.ones(2)
    for distance in (2.0, 0.5):
        points, clusters, weights = draw_tuples("normal", (-distance, distance), 2, n_draws, random)
        other = draw_tuples("normal", (0.0,), 2, n_draws, random)[0]
        drawn = restrict((np.concatenate([points, other], axis=2), clusters, weights), 1)
        measure = partial(share_of_variance, np.array([distance, 0.0]))
        cells = []
        for label in (1, 0):
            mean, error = mean_and_error(theorem_gaps(drawn, measure, w, w_out, eta, label), drawn[2])
            cells.append(f"{mean:.5f} ± {error:.5f}")
        rows.append([f"±({distance:g}, 0) + N(0, I)", f"{measure(w[None])[0]:.4f}", *cells])
    return table(["x", "share before", "label 1, simulated", "label 0, simulated"], rows)


def agreement_table(n_rows, random, n_clusters=10):
    rows = []
    settings = [(name, kinds, 0.0) for name, kinds in ENSEMBLES.items()]
    settings.append(("independent errors, a tenth of the votes noise", ENSEMBLES["independent errors"], 0.1))
    for name, kinds, noise in settings:
        exact = {size: agreed_share_and_accuracy(kinds, size, noise) for size in SIZES}
        voted = {
            size: put_to_the_vote(*simulate_labellings(kinds, size, n_rows, n_clusters, random, noise), n_clusters)
            for size in SIZES
        }
        shares, accuracies = (
            [f"{100 * exact[size][i]:.1f} / {100 * voted[size][i]:.1f}" for size in SIZES] for i in (0, 1)
        )
        rows.append([name, "agreed", *shares])
        rows.append([name, "accuracy of the agreed", *accuracies])
        rows.append([name, "accuracy of the vote on all rows", *(f"{100 * voted[size][2]:.1f}" for size in SIZES)])
    return table(["ensemble", "percent (exact / simulated)", *map(str, SIZES)], rows)


def make_tables(n_draws, n_rows, seed):
    """Title and table of each section of the page."""
    random = np.random.default_rng(seed)
    return {
        "Entropy": entropy_table(),
        "Lemma 1": lemma_1_table(n_draws, random),
        "Lemma 2": lemma_2_table(n_draws, random),
        "Lemma 3": lemma_3_table(),
        "Theorem": theorem_table(n_draws, random),
        "Share of the variance": share_table(n_draws, random),
        "Agreement": agreement_table(n_rows, random),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=1_000_000, help="of pairs and triples; default: %(default)s")
    parser.add_argument("--rows", type=int, default=100_000, help="of a labelling; default: %(default)s")
    parser.add_argument("--seed", type=int, default=0, help="default: %(default)s")
    arguments = parser.parse_args()
    for title, text in make_tables(arguments.draws, arguments.rows, arguments.seed).items():
        print(f"## {title}\n\n{text}\n", flush=True)


if __name__ == "__main__":
    main()
