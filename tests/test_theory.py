"""The paper's statements: what holds, what does not, and that docs/theory.md shows the figures of its script."""

import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import theory
from numpy.testing import assert_allclose

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "theory.md"
SEEDS = range(10)


def random_distribution(seed, n_clusters=1, n_features=3, symmetric=False):
    """A skewed finite distribution with mean zero, in clusters of equal size; or one symmetric about zero."""
    random = np.random.default_rng(seed)
    points = random.exponential(size=(4 * n_clusters, n_features)) * random.uniform(0.5, 2, n_features)
    clusters = np.repeat(np.arange(n_clusters), 4)
    points += random.normal(size=(n_clusters, n_features))[clusters]
    probabilities = random.dirichlet(np.ones(4), size=n_clusters).ravel() / n_clusters
    if symmetric:
        return np.concatenate([points, -points]), np.tile(clusters, 2), np.tile(probabilities, 2) / 2
    return points - probabilities @ points, clusters, probabilities


def random_step(seed, n_features=3):
    """Weights w, w' of either sign, and a step size."""
    random = np.random.default_rng(1000 + seed)
    return random.normal(size=n_features), random.choice([-1, 1]) * random.uniform(0.5, 2), random.uniform(0.001, 0.5)


def covariance(a, b, probabilities):
    return (a * b) @ probabilities - (a @ probabilities) * (b @ probabilities)


def u_same_and_diff(distribution, w, w_out, eta, label=0):
    pairs = theory.all_tuples(*distribution, 2)
    labels = [(label, label), (0, 1)]
    return [theory.distances_after(pairs, w, w_out, eta, each) @ pairs[2] for each in labels]


# Entropy


def test_entropy_by_hand():
    assert theory.entropy(0.5, 2) == pytest.approx(np.log(2))
    assert theory.entropy(0.1, 10) == pytest.approx(np.log(10))
    assert theory.entropy_slope(0.5, 10) == pytest.approx(-np.log(9))


@pytest.mark.parametrize("n_clusters", [2, 3, 10, 100])
def test_entropy_falls_from_chance_to_certainty(n_clusters):
    t = np.linspace(1 / n_clusters, 1, 1000, endpoint=False)
    assert (np.diff(theory.entropy(t, n_clusters)) < 0).all()
    assert theory.entropy_slope(1 / n_clusters, n_clusters) == pytest.approx(0, abs=1e-12)
    assert (theory.entropy_slope(t[1:], n_clusters) < 0).all()
    differences = (theory.entropy(t[1:] + 1e-7, n_clusters) - theory.entropy(t[1:] - 1e-7, n_clusters)) / 2e-7
    assert_allclose(theory.entropy_slope(t[1:], n_clusters), differences, atol=1e-4)


@pytest.mark.parametrize("n_clusters", [2, 10])
@pytest.mark.parametrize("t", [0.5, 0.9])
def test_the_printed_slope_is_too_low_by_two(t, n_clusters):
    first_line = -np.log(t) - 1 - 1 / (1 - t) + np.log(1 / (n_clusters - 1)) + t / (1 - t) + np.log(1 - t)
    assert theory.printed_entropy_slope(t, n_clusters) == pytest.approx(first_line)
    assert theory.entropy_slope(t, n_clusters) - theory.printed_entropy_slope(t, n_clusters) == pytest.approx(2)


# Information and accuracy


def accuracy_after_a_vote(t, if_right, if_wrong):
    """p(X = c_0 | Y) where the next member votes c_0 with these probabilities."""
    return t * if_right / (t * if_right + (1 - t) * if_wrong)


def information(t, if_right, if_wrong):
    """I(X; Y) in nats, for two clusters."""
    yes = t * if_right + (1 - t) * if_wrong
    after = accuracy_after_a_vote(t, if_right, if_wrong), accuracy_after_a_vote(t, 1 - if_right, 1 - if_wrong)
    return theory.entropy(t, 2) - yes * theory.entropy(after[0], 2) - (1 - yes) * theory.entropy(after[1], 2)


@pytest.mark.parametrize("t", [0.5, 0.7, 0.99])
@pytest.mark.parametrize("if_right", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("if_wrong", [0.2, 0.6, 0.95])
def test_a_vote_raises_accuracy_just_if_it_is_likelier_when_right(t, if_right, if_wrong):
    assert information(t, if_right, if_wrong) > 0
    assert (accuracy_after_a_vote(t, if_right, if_wrong) > t) == (if_right > if_wrong)


def test_an_informative_vote_may_lower_accuracy():
    """Two clusters, so that every assumption of the paper holds; t stays above 1/2."""
    assert information(0.9, 0.4, 0.6) == pytest.approx(0.0073, abs=1e-4)
    assert accuracy_after_a_vote(0.9, 0.4, 0.6) == pytest.approx(6 / 7)  # .36 / (.36 + .06)


def test_shared_mistakes_are_such_a_case():
    """After three equal votes the fourth is informative, and the accuracy of the agreed falls."""
    kinds = theory.ENSEMBLES["a tenth always wrong, the others independent"]
    share, accuracy = theory.agreed_share_and_accuracy(kinds, 3)
    right_after, accuracy_after = theory.agreed_share_and_accuracy(kinds, 4)
    if_right = right_after * accuracy_after / (share * accuracy)
    if_wrong = right_after * (1 - accuracy_after) / (share * (1 - accuracy))
    assert if_right == pytest.approx(8 / 9)
    assert if_wrong == pytest.approx((0.9 / 9**4 + 0.1) / (0.9 / 9**3 + 0.1))
    assert information(accuracy, if_right, if_wrong) > 0.01
    assert accuracy_after_a_vote(accuracy, if_right, if_wrong) == pytest.approx(accuracy_after)
    assert 0.5 < accuracy_after < accuracy


# Lemma 1


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_lemma_1_in_closed_form(seed, symmetric):
    points, clusters, probabilities = random_distribution(seed, symmetric=symmetric)
    w, w_out, eta = random_step(seed)
    same, different = u_same_and_diff((points, clusters, probabilities), w, w_out, eta)
    skew = covariance(points @ w, (points**2).sum(axis=1), probabilities)
    spread = points.T * probabilities @ points
    second = 4 * (eta * w_out) ** 2 * (np.trace(spread @ spread) + np.trace(spread) ** 2)
    assert same - different == pytest.approx(-4 * eta * w_out * skew - second)
    if symmetric:
        assert skew == pytest.approx(0, abs=1e-12)
        assert same < different


def test_lemma_1_fails_for_an_exponential():
    same, different = u_same_and_diff(theory.gauss_rule("exponential"), 1, -1, 0.01)
    # 2 Var(x + .01 x^2) = 2 (1 + .02 * 2 + .0001 * 8); 2 + .0001 E(x - x')^4 = 2 + .0001 * 24
    assert (same, different) == (pytest.approx(2.0816), pytest.approx(2.0024))


@pytest.mark.parametrize("eta, holds", [(1e-4, False), (0.5, False), (0.99, False), (1.01, True), (3, True)])
def test_lemma_1_fails_for_an_exponential_at_every_step_below_one(eta, holds):
    same, different = u_same_and_diff(theory.gauss_rule("exponential"), 1, -1, eta)
    assert (same < different) == holds


@pytest.mark.parametrize("seed", SEEDS)
def test_lemma_1_holds_on_the_mean_over_the_two_labels(seed):
    distribution, step = random_distribution(seed), random_step(seed)
    (same_0, different), (same_1, _) = (u_same_and_diff(distribution, *step, label) for label in (0, 1))
    assert (same_0 + same_1) / 2 < different


@pytest.mark.parametrize("seed", SEEDS)
def test_where_the_printed_proof_of_lemma_1_errs(seed):
    points, clusters, probabilities = random_distribution(seed)
    w = random_step(seed)[0]
    (x, other), _, weights = theory.all_tuples(points, clusters, probabilities, 2)
    squares = ((x - other) ** 2).sum(axis=1)
    skew = covariance(points @ w, (points**2).sum(axis=1), probabilities)
    assert covariance(x @ w, squares, weights) == pytest.approx(skew)  # the paper's claim, which is right
    assert covariance((x - other) @ w, squares, weights) == pytest.approx(0, abs=1e-9)  # printed as twice that
    norms, products = (x**2).sum(axis=1), (x * other).sum(axis=1)
    twice = 2 * covariance(norms, norms, weights) + 4 * covariance(products, products, weights)  # printed as 2 and 2
    assert covariance(squares, squares, weights) == pytest.approx(twice)


def test_lemma_1_fails_within_a_cluster_of_symmetric_data():
    """All pairs of N(±2, 1) obey it; those of the cluster at +2 do not, since their mean is not zero."""
    pairs = theory.all_tuples(*theory.gauss_rule("normal", (-2.0, 2.0)), 2)
    same, different = (values @ pairs[2] for values in theory.lemma_1_gaps(pairs, (0,)))
    assert same < different
    of_one = theory.restrict(pairs, 1, 1)
    same, different = (values @ of_one[2] for values in theory.lemma_1_gaps(of_one, (0,)))
    # 2 Var(x + .01 x^2) = 2 (1 + .02 * 4 + .0001 * 18); 2 + .0001 * 12
    assert (same, different) == (pytest.approx(2.1636), pytest.approx(2.0012))


@pytest.mark.parametrize("family, exact", [("normal", -0.0008), ("exponential", 0.0792)])
def test_lemma_1_simulated(family, exact):
    pairs = theory.draw_tuples(family, (0.0,), 2, 200_000, np.random.default_rng(0))
    same, different = theory.lemma_1_gaps(pairs, (0,))
    mean, error = theory.mean_and_error(same - different, pairs[2])
    assert abs(mean - exact) < 4 * error < 0.01


# Lemma 2


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_lemma_2_holds_for_independent_points_with_mean_zero(seed, symmetric):
    triples = theory.all_tuples(*random_distribution(seed, symmetric=symmetric), 3)
    step = random_step(seed)
    same, different = (
        theory.distances_after(triples, *step, labels, (0, 2)) @ triples[2] for labels in [(0, 0), (0, 1)]
    )
    assert same == pytest.approx(different, rel=1e-12)


def test_lemma_2_fails_for_a_pair_of_one_cluster():
    triples = theory.all_tuples(*theory.gauss_rule("normal", (-2.0, 2.0)), 3)
    triples = theory.restrict(triples, 1, 1, 0)
    same, different = (
        theory.distances_after(triples, 1, -1, 0.01, labels, (0, 2)) @ triples[2] for labels in [(0, 0), (0, 1)]
    )
    # 4 eta E[x'] E[(x - z)^2 + eta x (x - z)^2] = .04 * 2 * (18 + .01 * 44)
    assert same - different == pytest.approx(1.4752)


# Lemma 3


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n_clusters", [2, 3, 5])
def test_lemma_3_holds_for_clusters_of_equal_size(n_clusters, seed):
    within, between, d = theory.distance_moments(*random_distribution(seed, n_clusters))
    by_lemma = (n_clusters - 1) / (2 * n_clusters) * between - (2 * n_clusters - 1) / (2 * n_clusters) * within
    assert d == pytest.approx(by_lemma)


def test_lemma_3_by_hand():
    within, between, d = theory.distance_moments(*theory.two_clusters((0.5, 0.5), (1, 1), 16))
    assert (within, between, d) == (pytest.approx(2), pytest.approx(18), pytest.approx(3))


def test_lemma_3_for_unequal_sizes_needs_equal_variances():
    """The same s and r, and another d: no constants serve both."""
    shares = (0.9, 0.1)
    moments = [
        theory.distance_moments(*theory.two_clusters(shares, *rest)) for rest in [((1, 1), 20), ((0.9, 9.1), 12)]
    ]
    assert_allclose(moments, [(2, 22, 0.8), (2, 22, -0.64)])
    assert theory.lemma_3_d(2, 22, shares) == pytest.approx(0.8)


# Theorem


def mean_gap(distribution, clusters, step, label):
    """E[d_T - d_F] over pairs of these clusters whose first point has this pseudo-label."""
    pairs = theory.restrict(theory.all_tuples(*distribution, 2), *clusters)
    d = partial(theory.quadratic, theory.contrast(*distribution))
    return theory.theorem_gaps(pairs, d, *step, label) @ pairs[2]


@pytest.mark.parametrize("clusters", [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("seed", SEEDS)
def test_theorem_in_closed_form(seed, clusters):
    """Only means and covariances enter, so skewness does not; and the labels' names do."""
    points, of_cluster, probabilities = distribution = random_distribution(seed, n_clusters=2)
    w, w_out, eta = random_step(seed)
    first = of_cluster == clusters[0]
    mean = probabilities[first] @ points[first] * 2
    matrix = theory.contrast(*distribution)
    gaps = [mean_gap(distribution, clusters, (w, w_out, eta), label) for label in (0, 1)]
    second = 4 * (eta * w_out) ** 2 * mean @ matrix @ mean
    for label, gap in enumerate(gaps):
        sign = 1 if label == 1 else -1
        assert gap == pytest.approx(sign * 4 * eta * w_out * w @ matrix @ mean + second)
    assert np.mean(gaps) == pytest.approx(second)


@pytest.mark.parametrize("family", ["normal", "exponential"])
@pytest.mark.parametrize("clusters", [(1, 1), (1, 0)])
def test_theorem_by_hand(clusters, family):
    apart, close = (theory.gauss_rule(family, (-centre, centre)) for centre in (2.0, 0.5))
    step = (np.ones(1), 1.0, 0.01)
    # M = 4 - 1 and 1/4 - 1: first order .04 M m, second .0004 M m^2
    assert [mean_gap(apart, clusters, step, label) for label in (1, 0)] == pytest.approx([0.2448, -0.2352])
    assert [mean_gap(close, clusters, step, label) for label in (1, 0)] == pytest.approx([-0.015075, 0.014925])


@pytest.mark.parametrize("seed", SEEDS)
def test_the_pairs_own_distance_matters_by_one_part_in_n(seed):
    """Pairs of two different rows of a finite data set: a term tr(M W) / (n - 1) more, for n rows in the cluster."""
    random = np.random.default_rng(seed)
    n_rows = 6
    points = random.exponential(size=(2 * n_rows, 2))
    points -= points.mean(axis=0)
    distribution = points, np.repeat([0, 1], n_rows), np.full(2 * n_rows, 1 / (2 * n_rows))
    w, w_out, eta = random_step(seed, 2)
    pairs = theory.restrict(theory.all_tuples(*distribution, 2), 1, 1)
    distinct = (pairs[0][0] != pairs[0][1]).any(axis=1)
    matrix = theory.contrast(*distribution)
    gaps = theory.theorem_gaps(pairs, partial(theory.quadratic, matrix), w, w_out, eta, 1)[distinct]
    mean, within = points[n_rows:].mean(axis=0), np.cov(points[n_rows:].T, bias=True)
    second = mean @ matrix @ mean - np.trace(matrix @ within) / (n_rows - 1)
    expected = 4 * eta * w_out * w @ matrix @ mean + 4 * (eta * w_out) ** 2 * second
    assert len(gaps) == n_rows * (n_rows - 1)
    assert gaps.mean() == pytest.approx(expected)


def test_d_grows_with_the_scale_of_the_encoding():
    matrix = theory.contrast(*theory.gauss_rule("normal", (-2.0, 2.0)))
    assert theory.quadratic(matrix, np.array([[1.0], [2.0]])) == pytest.approx([3, 12])
    shares = theory.share_of_variance(np.array([2.0]), np.array([[1.0], [2.0]]))
    assert shares == pytest.approx([0.8, 0.8])


@pytest.mark.parametrize("distance", [2.0, 0.5])
def test_right_pairs_raise_the_share_of_variance_when_names_match_the_output(distance):
    random = np.random.default_rng(0)
    points, clusters, weights = theory.draw_tuples("normal", (-distance, distance), 2, 100_000, random)
    other = theory.draw_tuples("normal", (0.0,), 2, 100_000, random)[0]
    drawn = theory.restrict((np.concatenate([points, other], axis=2), clusters, weights), 1)
    measure = partial(theory.share_of_variance, np.array([distance, 0.0]))
    for label, sign in [(1, 1), (0, -1)]:
        gaps = theory.theorem_gaps(drawn, measure, np.ones(2), 1.0, 0.01, label)
        mean, error = theory.mean_and_error(gaps, drawn[2])
        assert sign * mean > 10 * error


def test_a_linear_output_of_centred_data_is_not_within_zero_and_one():
    points, _, probabilities = random_distribution(0)
    assert probabilities @ (points @ random_step(0)[0]) == pytest.approx(0, abs=1e-12)


# Ensembles, put to the vote by skspc itself


@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("name", theory.ENSEMBLES)
def test_agreed_rows_are_as_accurate_as_calculated(name, size, noise):
    kinds, n_rows = theory.ENSEMBLES[name], 20_000
    share, accuracy = theory.agreed_share_and_accuracy(kinds, size, noise)
    simulated = theory.simulate_labellings(kinds, size, n_rows, 10, np.random.default_rng(size), noise)
    voted_share, voted_accuracy, _ = theory.put_to_the_vote(*simulated, 10)
    assert abs(voted_share - share) < 4 * np.sqrt(share * (1 - share) / n_rows) + 1e-12
    assert abs(voted_accuracy - accuracy) < 4 * np.sqrt(accuracy * (1 - accuracy) / (n_rows * share)) + 1e-12


def accuracies(name, noise=0.0):
    return [theory.agreed_share_and_accuracy(theory.ENSEMBLES[name], size, noise)[1] for size in range(1, 21)]


def test_independent_errors_make_accuracy_grow_with_every_labelling():
    grown = accuracies("independent errors")
    assert (np.diff(grown) > 0).all()
    assert grown[:3] == pytest.approx([0.8, 0.64 / 0.68, 0.512 / 0.52])
    assert accuracies("independent errors", noise=0.3) == pytest.approx(grown)


def test_rows_that_all_get_wrong_limit_the_accuracy():
    grown = accuracies("some rows easy, some hard, some always wrong")
    assert (np.diff(grown) > 0).all()
    assert grown[-1] == pytest.approx(0.7 / 0.8, abs=1e-6)


def test_the_accuracy_of_agreed_rows_may_fall_with_more_labellings():
    name = "a tenth always wrong, the others independent"
    found = accuracies(name)
    assert np.argmax(found) == 1
    assert found[14] < 0.61 < 0.8 == pytest.approx(found[0])
    simulated = theory.simulate_labellings(theory.ENSEMBLES[name], 15, 10_000, 10, np.random.default_rng(0))
    _, accuracy, of_all = theory.put_to_the_vote(*simulated, 10)
    assert accuracy < 0.65 < 0.88 < of_all


def test_labellings_at_chance_gain_nothing():
    chance = [(1.0, 0.5)]
    assert [theory.agreed_share_and_accuracy(chance, size)[1] for size in (1, 5, 15)] == [0.5, 0.5, 0.5]


def test_a_lower_threshold_takes_more_rows_and_less_accurate_ones():
    """Three of four votes: .8^4 + 4 .8^3 .2 right, .2^4 + 4 .2^3 .8 wrong."""
    kinds, n_rows = theory.ENSEMBLES["independent errors"], 20_000
    simulated = theory.simulate_labellings(kinds, 4, n_rows, 10, np.random.default_rng(0))
    unanimous, three = (theory.put_to_the_vote(*simulated, 10, min_agreement) for min_agreement in (1.0, 0.75))
    assert unanimous[:2] == (pytest.approx(0.4112, abs=0.015), pytest.approx(0.9961, abs=0.003))
    assert three[:2] == (pytest.approx(0.8464, abs=0.01), pytest.approx(0.9679, abs=0.006))


# The page


def numbers_and_text(table):
    """The numbers of a text as printed, and the text without them."""
    return re.findall(r"-?\d+\.\d+", table), re.sub(r"-?\d+\.\d+", "", table)


def test_the_page_shows_what_the_script_prints():
    page = PAGE.read_text(encoding="utf-8")
    tables = [match.strip() for match in re.findall(r"(?:^\|.*\|\n)+", page, flags=re.MULTILINE)]
    for title, printed in theory.make_tables(n_draws=1_000_000, n_rows=100_000, seed=0).items():
        printed_numbers, printed_text = numbers_and_text(printed)
        shown = [table for table in tables if numbers_and_text(table)[1] == printed_text]
        assert len(shown) == 1, title
        for shown_number, number in zip(numbers_and_text(shown[0])[0], printed_numbers, strict=True):
            last_digit = 10.0 ** -len(number.split(".")[1])
            assert float(shown_number) == pytest.approx(float(number), abs=1.001 * last_digit), title


def test_the_block_of_the_page_makes_the_figure_that_it_names():
    (block,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    namespace: dict = {}
    exec(block, namespace)
    assert namespace["u_same"] == pytest.approx(2.0816)


def test_the_page_names_tests_that_exist():
    tests = set(re.findall(r"^def (test_\w+)", Path(__file__).read_text(encoding="utf-8"), flags=re.MULTILINE))
    named = set(re.findall(r"`(test_\w+)`", PAGE.read_text(encoding="utf-8")))
    assert named
    assert named <= tests
