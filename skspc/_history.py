"""History of a fit: one plain row (a dict) a clustering, which stopping, printing and plotting all read."""


def progress_statistic(row):
    """What must grow for a round to be better: agreed rows, then mean agreement.

    Labellings left out count as disagreeing in both, since few labellings agree more easily than many.
    """
    return row["n_agreed"], row["mean_agreement"]


def best_round(history):
    """Index of the first row with the highest statistic."""
    return max(range(len(history)), key=lambda i: (progress_statistic(history[i]), -i))


def has_stopped_growing(history, n_iter_no_change):
    """Whether the last ``n_iter_no_change`` rows brought nothing better than a row before them."""
    return len(history) - 1 - best_round(history) >= n_iter_no_change
