"""Alignment and vote."""

from itertools import pairwise, permutations

import numpy as np
import pytest

from skspc._constants import NOISE
from skspc._method.consensus import (
    Consensus,
    align_labels,
    contingency,
    find_consensus,
    match_labels,
    reference_labelling,
    select_agreed,
    vote,
)

SEEDS = range(10)


def random_labelling(random, n_rows, n_clusters, noise=0.2):
    """Random labels, each of which occurs, and some noise."""
    labels = random.integers(n_clusters, size=n_rows)
    labels[random.random(n_rows) < noise] = NOISE
    labels[random.permutation(n_rows)[:n_clusters]] = np.arange(n_clusters)
    return labels


def rename(labels, mapping):
    return np.where(labels == NOISE, NOISE, np.asarray(mapping)[labels])


def canonical(labels):
    """Labels renamed by first appearance: equal for two labellings that differ in names only."""
    names = {}
    return [NOISE if label == NOISE else names.setdefault(label, len(names)) for label in labels.tolist()]


# Contingency and matching


def test_contingency_counts_pairs():
    labels, reference = np.array([0, 0, 1, 2, 2, 2]), np.array([1, 1, 0, 2, 2, 0])
    assert contingency(labels, reference, 3).tolist() == [[0, 2, 0], [1, 0, 0], [1, 0, 2]]


def test_contingency_leaves_out_noise_of_either():
    labels, reference = np.array([0, NOISE, 1, NOISE, 1]), np.array([0, 0, NOISE, NOISE, 1])
    assert contingency(labels, reference, 2).tolist() == [[1, 0], [0, 1]]


def test_contingency_of_nothing_but_noise_is_zero():
    noise = np.full(3, NOISE)
    assert contingency(noise, noise, 2).tolist() == [[0, 0], [0, 0]]


def test_matching_by_hand():
    mapping, n_matched = match_labels(np.array([0, 0, 0, 1, 1, 2]), np.array([2, 2, 0, 0, 0, 1]), 3)
    assert mapping.tolist() == [2, 0, 1]
    assert n_matched == 5


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n_clusters", [1, 2, 3, 4])
def test_matching_is_the_best_of_all_permutations(n_clusters, seed):
    random = np.random.default_rng(seed)
    labels, reference = (random_labelling(random, 30, n_clusters) for _ in range(2))
    mapping, n_matched = match_labels(labels, reference, n_clusters)
    both = (labels != NOISE) & (reference != NOISE)

    def rows_alike(candidate):
        return int((np.asarray(candidate)[labels[both]] == reference[both]).sum())

    assert sorted(mapping) == list(range(n_clusters))
    assert n_matched == rows_alike(mapping) == max(map(rows_alike, permutations(range(n_clusters))))


@pytest.mark.parametrize("seed", SEEDS)
def test_aligning_a_relabelled_copy_gives_it_back(seed):
    random = np.random.default_rng(seed)
    labels = random_labelling(random, 40, 7)
    copy = rename(labels, random.permutation(7))
    assert align_labels(copy, labels, 7).tolist() == labels.tolist()


@pytest.mark.parametrize("seed", SEEDS)
def test_aligning_only_renames_and_noise_stays_noise(seed):
    random = np.random.default_rng(seed)
    labels, reference = (random_labelling(random, 40, 5) for _ in range(2))
    aligned = align_labels(labels, reference, 5)
    assert canonical(aligned) == canonical(labels)
    assert (aligned == NOISE).tolist() == (labels == NOISE).tolist()


# Reference labelling


def test_reference_is_the_labelling_that_agrees_most_with_the_others():
    labellings = np.array([[0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 1], [0, 1, 0, 0, 1, 1]])
    # Rows alike once renamed: 5 of labellings 0 and 1, 4 of 0 and 2, 3 of 1 and 2.
    totals = [
        sum(match_labels(a, b, 2)[1] for j, b in enumerate(labellings) if j != i) for i, a in enumerate(labellings)
    ]
    assert totals == [9, 8, 7]
    assert reference_labelling(labellings, 2) == 0


def test_reference_is_the_only_labelling():
    assert reference_labelling(np.array([[1, 0, NOISE]]), 2) == 0


def test_a_tie_for_the_reference_goes_to_less_noise():
    labellings = np.array([[0, 0, 1, NOISE], [0, 0, 1, 1]])
    assert reference_labelling(labellings, 2) == 1
    assert reference_labelling(labellings[::-1], 2) == 0


def test_a_tie_with_equal_noise_goes_to_the_first_by_appearance():
    labellings = np.array([[1, 0, 0, 0], [1, 1, 0, 0]])  # by appearance 0111 and 0011
    assert reference_labelling(labellings, 2) == 1
    assert reference_labelling(labellings[::-1], 2) == 0


@pytest.mark.parametrize("seed", range(30))
def test_reference_does_not_depend_on_order(seed):
    random = np.random.default_rng(seed)
    labellings = np.stack([random_labelling(random, 6, 2) for _ in range(4)])  # so few rows that ties abound
    order = random.permutation(4)
    chosen = labellings[reference_labelling(labellings, 2)]
    chosen_in_order = labellings[order][reference_labelling(labellings[order], 2)]
    assert canonical(chosen_in_order) == canonical(chosen)


# Vote


def test_vote_by_hand():
    aligned = np.array([[0, 1, 2, 0], [0, 1, 2, 1], [0, 1, 1, 1]])
    labels, votes = vote(aligned, 0, 3)
    assert labels.tolist() == [0, 1, 2, 1]
    assert votes.tolist() == [3, 3, 2, 2]


def test_noise_gives_no_vote():
    aligned = np.array([[0, 1, NOISE], [0, 1, NOISE], [NOISE, 1, 1]])
    labels, votes = vote(aligned, 0, 2)
    assert labels.tolist() == [0, 1, 1]
    assert votes.tolist() == [2, 3, 1]


@pytest.mark.parametrize("reference, expected", [(0, 0), (1, 2), (2, 1)])
def test_a_tie_goes_to_the_reference(reference, expected):
    aligned = np.array([[0, 0, 1, 2], [2, 0, 1, 2], [1, 0, 1, 2]])
    labels, votes = vote(aligned, reference, 3)
    assert labels.tolist() == [expected, 0, 1, 2]
    assert votes[0] == 1


def test_a_tie_without_the_reference_goes_to_the_smallest_label():
    aligned = np.array([[0, 0, 1, 2], [2, 0, 1, 2], [2, 0, 1, 2], [1, 0, 1, 2], [1, 0, 1, 2]])
    labels, votes = vote(aligned, 0, 3)
    assert (labels[0], votes[0]) == (1, 2)


def test_a_tie_where_the_reference_is_noise_goes_to_the_smallest_label():
    aligned = np.array([[NOISE, 0, 1, 2], [2, 0, 1, 2], [1, 0, 1, 2]])
    labels, votes = vote(aligned, 0, 3)
    assert (labels[0], votes[0]) == (1, 1)


def test_nobody_votes_is_noise_with_no_votes():
    aligned = np.array([[0, NOISE, 1], [0, NOISE, 1]])
    labels, votes = vote(aligned, 1, 2)
    assert labels.tolist() == [0, NOISE, 1]
    assert votes.tolist() == [2, 0, 2]


def test_an_emptied_label_takes_its_rows_of_the_reference():
    # Label 2 is the reference's on row 4, where the two others outvote it.
    aligned = np.array([[0, 0, 1, 1, 2, 0], [0, 0, 1, 1, 1, 2], [0, 0, 1, 1, 1, 0]])
    labels, votes = vote(aligned, 0, 3)
    assert labels.tolist() == [0, 0, 1, 1, 2, 0]
    assert votes.tolist() == [3, 3, 3, 3, 1, 2]


def test_refilling_goes_on_where_it_empties_another_label():
    # The vote gives rows 0, 1 to label 1 and nothing to 0; refilling 0 with rows 0, 1 empties 1, which has row 2.
    aligned = np.array([[0, 0, 1, 2, 2], [1, 1, 2, 2, 2], [1, 1, 2, 2, 2]])
    labels, votes = vote(aligned, 0, 3)
    assert labels.tolist() == [0, 0, 1, 2, 2]
    assert votes.tolist() == [1, 1, 1, 3, 3]


@pytest.mark.parametrize("seed", SEEDS)
def test_every_label_of_the_reference_survives_the_vote(seed):
    random = np.random.default_rng(seed)
    aligned = np.stack([random_labelling(random, 12, 6) for _ in range(5)])
    labels, votes = vote(aligned, 2, 6)
    assert set(range(6)) <= set(labels.tolist())
    assert votes.tolist() == [
        0 if label == NOISE else int((column == label).sum()) for label, column in zip(labels, aligned.T, strict=True)
    ]


# Consensus


@pytest.mark.parametrize("seed", SEEDS)
def test_equal_labellings_give_that_labelling_agreed_but_at_noise(seed):
    random = np.random.default_rng(seed)
    labels = random_labelling(random, 30, 4)
    consensus = find_consensus(np.stack([rename(labels, random.permutation(4)) for _ in range(6)]), 4)
    assert canonical(consensus.labels) == canonical(labels)
    assert select_agreed(consensus.votes, 6, 1.0).tolist() == (labels != NOISE).tolist()
    assert consensus.agreement.tolist() == (labels != NOISE).astype(float).tolist()
    assert (consensus.aligned == consensus.labels).all()


def assert_same_but_for_names(consensus, other):
    assert canonical(other.labels) == canonical(consensus.labels)
    assert other.votes.tolist() == consensus.votes.tolist()


@pytest.mark.parametrize("seed", range(20))
def test_permuting_members_changes_nothing_but_names(seed):
    random = np.random.default_rng(seed)
    labellings = np.stack([random_labelling(random, 25, 3) for _ in range(5)])
    order = random.permutation(5)
    assert_same_but_for_names(find_consensus(labellings, 3), find_consensus(labellings[order], 3))


def test_permuting_members_changes_nothing_where_renamed_copies_tie_for_the_reference():
    labellings = np.array([[0, 1, NOISE], [1, 0, NOISE], [0, 0, 1], [1, 0, NOISE]])
    assert_same_but_for_names(find_consensus(labellings, 2), find_consensus(labellings[[2, 3, 1, 0]], 2))


@pytest.mark.parametrize("seed", SEEDS)
def test_aligned_labellings_are_the_labellings_renamed(seed):
    random = np.random.default_rng(seed)
    labellings = np.stack([random_labelling(random, 25, 3) for _ in range(4)])
    aligned = find_consensus(labellings, 3).aligned
    assert [canonical(labels) for labels in aligned] == [canonical(labels) for labels in labellings]


@pytest.mark.parametrize("seed", SEEDS)
def test_names_of_an_earlier_round_are_kept(seed):
    random = np.random.default_rng(seed)
    previous = random_labelling(random, 60, 5, noise=0.0)
    labellings = np.stack([rename(previous, random.permutation(5)) for _ in range(3)])
    labellings[0, :4] = NOISE
    consensus = find_consensus(labellings, 5, previous)
    assert consensus.labels.tolist() == previous.tolist()
    assert consensus.votes.tolist() == [2] * 4 + [3] * 56


def test_agreement_is_the_share_of_the_labellings():
    consensus = Consensus(np.array([0, NOISE]), np.array([3, 0]), np.zeros((4, 2), dtype=int))
    assert consensus.agreement.tolist() == [0.75, 0.0]


# Agreed rows


def test_noise_counts_against_agreement():
    labellings = np.array([[0, 0, 1, 1, NOISE], [0, 0, 1, NOISE, NOISE], [0, NOISE, 1, NOISE, NOISE]])
    assert find_consensus(labellings, 2).agreement.tolist() == [1, 2 / 3, 1, 1 / 3, 0]


def test_nine_of_ten_are_nine_tenths():
    assert select_agreed(np.arange(11), 10, 0.9).tolist() == [False] * 9 + [True] * 2


@pytest.mark.parametrize("n_labellings", range(1, 31))
def test_a_share_of_exactly_so_many_votes_asks_for_no_more(n_labellings):
    votes = np.arange(1, n_labellings + 1)
    for needed in votes:
        assert select_agreed(votes, n_labellings, needed / n_labellings).sum() == n_labellings - needed + 1


def test_unanimous_means_all():
    assert select_agreed(np.array([15, 16]), 16, 1.0).tolist() == [False, True]


def test_a_row_without_votes_is_never_agreed():
    assert select_agreed(np.array([0, 1]), 2, 1e-12).tolist() == [False, True]


@pytest.mark.parametrize("seed", SEEDS)
def test_another_labelling_can_only_shrink_the_unanimous_rows(seed):
    random = np.random.default_rng(seed)
    truth = random_labelling(random, 80, 3, noise=0.0)
    labellings = np.stack([np.where(random.random(80) < 0.1, random_labelling(random, 80, 3), truth) for _ in range(5)])
    unanimous = []
    for n_labellings in range(1, 6):
        votes = find_consensus(labellings[:n_labellings], 3).votes
        unanimous.append(select_agreed(votes, n_labellings, 1.0))
    assert 0 < unanimous[4].sum() < unanimous[0].sum()
    assert all((fewer | ~more).all() for fewer, more in pairwise(unanimous))
