"""History of a fit: one plain row (a dict) a clustering, which stopping, printing and plotting all read."""

# Of the mean agreement, that a round may lose by chance: rounds that harmed fits lost .03 and more (docs/rounds.md).
_BY_CHANCE = 0.02


def progress_statistic(row):
    """What must grow for a round to be better: agreed rows, then mean agreement.

    Labellings left out count as disagreeing in both, since few labellings agree more easily than many.
    """
    return row["n_agreed"], row["mean_agreement"]


def agree_less(history, row):
    """Whether the labellings of a round agree less than those before any round did, by more than chance would have it.

    Training makes members alike: where they agree less after it, it has not helped. Both those kept and all that were
    tried must agree less: few agree more easily, and those left out agree with none.
    """
    means = "agreement_of_kept", "mean_agreement"
    return bool(history) and all(row[mean] < history[0][mean] - _BY_CHANCE for mean in means)


def has_vote(row):
    """Whether labellings of a round are in the vote; so they are where a row does not tell."""
    return row.get("n_labellings", 1) > 0


def best_round(history):
    """Index of the first row with the highest statistic, of those whose labellings are in the vote, if any are."""
    return max(range(len(history)), key=lambda i: (has_vote(history[i]), progress_statistic(history[i]), -i))


def has_settled(history, n_iter_no_change, tol):
    """Whether none of the last ``n_iter_no_change`` rounds brought anything new, by more than a share ``tol`` of rows.

    New are labels that differ since the round has joined the vote, and more agreed rows than in any such round before.
    """
    last_new = 0  # the last row with something new
    last_growth = 0  # the last with more agreed rows
    for i, row in enumerate(history):
        if has_vote(row) and growth(history[last_growth], row) > tol:
            last_growth = last_new = i
        if row["label_change"] > tol:
            last_new = i
    return len(history) - 1 - last_new >= n_iter_no_change


def growth(before, row):
    """By what share of the rows more agree than ``before``; where as many do, growth of the mean agreement."""
    if row["n_agreed"] == before["n_agreed"]:
        return row["mean_agreement"] - before["mean_agreement"]
    return (row["n_agreed"] - before["n_agreed"]) / row["n_rows"]
