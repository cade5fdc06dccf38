"""Progress of a fit, one line a stage."""

import sys


def make_reporter(verbose, sink=None):
    """Return a function that prints history rows, or does nothing at ``verbose=0``.

    Parameters
    ----------
    verbose : int
    sink : writable text stream, default=sys.stdout
    """
    if not verbose:
        return lambda row: None

    def report(row):
        stream = sys.stdout if sink is None else sink
        stream.write(f"[SPCClustering] {format_row(row)}\n")
        stream.flush()

    return report


def format_row(row):
    """One line for one history row."""
    seconds = row["seconds"]
    return (
        f"round {row['round']}: agreed {row['n_agreed']} of {row['n_rows']} "
        f"({100 * row['agreed_share']:.1f} %), {row['n_labellings']} labellings kept, "
        f"{len(row['left_out'])} left out; train {seconds['train']:.1f} s, "
        f"cluster {seconds['cluster']:.1f} s"
    )
