"""History rows: the best one, and when labels have settled."""

from itertools import product

import pytest

from skspc._method.history import agree_less, best_round, has_settled, progress_statistic


def make_history(*statistics):
    """Rows of (n_agreed, mean_agreement), or of n_agreed alone."""
    pairs = [pair if isinstance(pair, tuple) else (pair, 0.5) for pair in statistics]
    return [{"n_rows": 10, "n_agreed": agreed, "mean_agreement": mean, "n_labellings": 1} for agreed, mean in pairs]


def test_agreed_rows_count_before_mean_agreement():
    few, many = make_history((5, 0.9), (6, 0.1))
    assert progress_statistic(few) < progress_statistic(many)
    less, more = make_history((5, 0.1), (5, 0.9))
    assert progress_statistic(less) < progress_statistic(more)


@pytest.mark.parametrize(
    "statistics, best",
    [
        ((7,), 0),
        ((1, 2, 3), 2),
        ((3, 2, 1), 0),
        ((1, 3, 3, 2), 1),
        ((0, 0, 0), 0),
        (((3, 0.4), (3, 0.6), (3, 0.6)), 1),
        (((3, 0.9), (4, 0.1)), 1),
    ],
)
def test_best_round_is_the_first_maximum(statistics, best):
    assert best_round(make_history(*statistics)) == best


def test_best_round_is_the_first_maximum_of_every_short_history():
    for statistics in product(range(3), repeat=4):
        assert best_round(make_history(*statistics)) == statistics.index(max(statistics))


def test_a_round_without_a_vote_is_best_only_where_none_has_one():
    few, many = make_history(1, 2)
    assert best_round([few, many | {"n_labellings": 0}]) == 0
    assert best_round([row | {"n_labellings": 0} for row in (few, many)]) == 1
    del few["n_labellings"], many["n_labellings"]  # as in a history that someone else wrote
    assert best_round([few, many]) == 1


@pytest.mark.parametrize("after, expected", [(0.95, False), (0.9, False), (0.885, False), (0.875, True), (0.5, True)])
def test_a_round_agrees_less_where_the_mean_falls_by_more_than_two_hundredths(after, expected):
    first, row, between = agreeing(0.9), agreeing(after), agreeing(1.0)
    assert agree_less([first], row) is expected
    assert agree_less([first, between], row) is expected  # the rounds between do not count
    assert agree_less([], row) is False


@pytest.mark.parametrize("first, row", [((1.0, 0.3), (0.9, 0.9)), ((0.9, 0.9), (1.0, 0.3))])
def test_a_round_with_more_or_fewer_labellings_must_agree_less_by_both_means(first, row):
    """Those kept, and all that were tried: one kept labelling agrees with itself."""
    assert not agree_less([agreeing(*first)], agreeing(*row))
    assert agree_less([agreeing(*first)], agreeing(0.8, 0.2))


def agreeing(of_kept, of_all=None):
    return {"agreement_of_kept": of_kept, "mean_agreement": of_kept if of_all is None else of_all}


def changes(*shares, n_agreed=5):
    """Rows of a history whose rounds changed these shares of the labels; the first clustering changes all."""
    return [
        row | {"label_change": share}
        for row, share in zip(make_history(*[n_agreed] * (len(shares) + 1)), (1.0, *shares), strict=True)
    ]


@pytest.mark.parametrize(
    "shares, patience, settled",
    [
        ((), 1, False),
        ((0.2,), 1, False),
        ((0.0,), 1, True),
        ((0.0,), 2, False),
        ((0.0, 0.0), 2, True),
        ((0.0, 0.2), 1, False),
        ((0.0, 0.2, 0.0), 2, False),  # in a row
        ((0.2, 0.0, 0.0), 2, True),
        ((0.0, 0.0, 0.0), 4, False),  # the first clustering is no round
    ],
)
def test_labels_have_settled_after_so_many_rounds_without_change(shares, patience, settled):
    assert has_settled(changes(*shares), patience, tol=0) is settled


@pytest.mark.parametrize(
    "shares, tol, settled",
    [((0.1, 0.1), 0.1, True), ((0.1, 0.11), 0.1, False), ((0.11, 0.1), 0.1, False), ((0.9, 0.05, 0.1), 0.1, True)],
)
def test_changes_up_to_the_tolerance_are_none(shares, tol, settled):
    assert has_settled(changes(*shares), 2, tol) is settled


@pytest.mark.parametrize(
    "statistics, patience, settled",
    [
        ((1,), 1, False),
        ((1, 2), 1, False),
        ((1, 1), 1, True),
        ((2, 1), 1, True),
        ((2, 1), 2, False),
        ((2, 1, 1), 2, True),
        ((2, 1, 3), 2, False),
        ((2, 1, 2), 2, True),
        ((1, 3, 2, 2), 3, False),
        ((1, 3, 2, 2, 3), 3, True),
    ],
)
def test_a_fit_goes_on_while_agreed_rows_become_more(statistics, patience, settled):
    assert has_settled([row | {"label_change": 0.0} for row in make_history(*statistics)], patience, tol=0) is settled


@pytest.mark.parametrize(
    "statistics, tol, settled",
    [
        ((1, 2, 2), 0.1, True),  # one of ten rows more is no growth
        ((1, 2, 3), 0.1, False),  # but two are, slow as they come
        ((1, 3, 4, 4), 0.1, True),
        ((1, 3, 4, 5), 0.1, False),
        ((5, 3, 6), 0.1, True),  # compared with the last row that had grown, not with the row before
        (((3, 0.5), (3, 0.6), (3, 0.6)), 0.05, False),
        (((3, 0.5), (3, 0.54), (3, 0.54)), 0.05, True),
        (((3, 0.5), (3, 0.54), (3, 0.56)), 0.05, False),
    ],
)
def test_growth_by_no_more_than_the_tolerance_does_not_count(statistics, tol, settled):
    assert has_settled([row | {"label_change": 0.0} for row in make_history(*statistics)], 2, tol) is settled


def test_agreed_rows_of_a_round_without_a_vote_bring_nothing_new():
    history = [row | {"label_change": 0.0} for row in make_history(6, 8, 7)]
    assert not has_settled(history, 2, 0.0)
    history[1]["n_labellings"] = 0
    assert not has_settled(history, 1, 0.0)  # the last has more than any that votes
    assert has_settled(history[:2], 1, 0.0)
