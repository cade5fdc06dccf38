"""History of a fit: one plain row (a dict) a clustering, which stopping, printing and plotting all read."""


def progress_statistic(row):
    """What must grow for a round to be better: agreed rows, then mean agreement.

    Labellings left out count as disagreeing in both, since few labellings agree more easily than many.
    """
    return row["n_agreed"], row["mean_agreement"]


def best_round(history):
    """Index of the first row with the highest statistic."""
    return max(range(len(history)), key=lambda i: (progress_statistic(history[i]), -i))


def has_settled(history, n_iter_no_change, tol):
    """Whether none of the last ``n_iter_no_change`` rounds brought anything new, by more than a share ``tol`` of rows.

    New are labels that differ since the round has joined the vote, and more agreed rows than in any row before.
    """
    last_new = 0  # the last row with something new
    last_growth = 0  # the last with more agreed rows
    for i, row in enumerate(history):
        if growth(history[last_growth], row) > tol:
            last_growth = last_new = i
        if row["label_change"] > tol:
            last_new = i
    return len(history) - 1 - last_new >= n_iter_no_change


def growth(before, row):
    """By what share of the rows more agree than ``before``; where as many do, growth of the mean agreement."""
    if row["n_agreed"] == before["n_agreed"]:
        return row["mean_agreement"] - before["mean_agreement"]
    return (row["n_agreed"] - before["n_agreed"]) / row["n_rows"]
