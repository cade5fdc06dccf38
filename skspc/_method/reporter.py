"""What a fit tells while it runs: stages and rounds, with the time left."""

import copy
import inspect
import sys
from functools import partial


class Reporter:
    """Shows a fit's stages and rounds, and asks the caller's monitor whether it shall go on.

    Parameters
    ----------
    verbose : int
        0 shows nothing. Else a bar of tqdm, if installed, on a terminal or in a notebook, and lines elsewhere; nothing
        where there is no stream to write to.
    max_iter : int
        Training rounds at most.
    monitor : callable, optional
        Called with the history after each round, and with its labels if it takes them; the fit stops if it returns
        True.
    rows : ndarray of shape (N,), optional
        Which of the rows that rounds are of each of the caller's is; None if they are the same.
    sink : writable text stream, default=sys.stdout
        For lines.
    """

    def __init__(self, verbose, max_iter, monitor=None, sink=None, rows=None):
        self.monitor, self.rows = monitor, rows
        self.display = None
        if verbose:
            bar_class = _find_bar() if sink is None else None
            self.display = Lines(max_iter, sink) if bar_class is None else Bar(bar_class, max_iter)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.display is not None:
            self.display.close()

    def stage(self, name):
        """Tell that a stage begins."""
        if self.display is not None:
            self.display.stage(name)

    def after_round(self, history, labels):
        """Tell of the last round, and the labels it came to: whether the monitor wants to stop."""
        if self.display is not None:
            self.display.after_round(history)
        if self.monitor is None:
            return False
        history = copy.deepcopy(history)
        if not takes_labels(self.monitor):
            return bool(self.monitor(history))
        labels = labels.copy() if self.rows is None else labels[self.rows]
        if takes_labels_by_name(self.monitor):
            return bool(self.monitor(history, labels=labels))
        return bool(self.monitor(history, labels))

    def resumed(self, history):
        """Tell that the fit goes on from a checkpoint."""
        if self.display is not None:
            self.display.resumed(history)


def takes_labels(monitor):
    """Whether a monitor takes the labels too: another argument is called ``labels``, or its second must be given."""
    positional = [each for each in _parameters(monitor) if each.kind <= each.POSITIONAL_OR_KEYWORD]
    return takes_labels_by_name(monitor) or (
        len(positional) > 1 and (positional[1].name == "labels" or positional[1].default is positional[1].empty)
    )


def takes_labels_by_name(monitor):
    """Whether an argument of a monitor's, and not the first, which is the history, is called ``labels``."""
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    if isinstance(monitor, partial) and "labels" in monitor.keywords:  # it has some of its own
        return False
    return any(
        each.name == "labels" and each.kind in by_name and (index or each.kind == each.KEYWORD_ONLY)
        for index, each in enumerate(_parameters(monitor))
    )


def _parameters(monitor):
    """The arguments of a function; none of some functions in C, which do not tell."""
    try:
        return list(inspect.signature(monitor).parameters.values())
    except (TypeError, ValueError):
        return []


class Lines:
    """A line for each stage and round."""

    def __init__(self, max_iter, sink):
        self.max_iter, self.sink = max_iter, sink

    def stage(self, name):
        self._write(f"{name} ...")

    def after_round(self, history):
        self._write(format_row(history[-1]) + format_time_left(history, self.max_iter))

    def resumed(self, history):
        self._write(f"going on from a checkpoint after {len(history)} clusterings")

    def close(self):
        """There is nothing to close."""

    def _write(self, text):
        stream = sys.stdout if self.sink is None else self.sink
        if not _is_closed(stream):
            stream.write(f"[SPCClustering] {text}\n")
            stream.flush()


class Bar:
    """A bar of tqdm that counts rounds, of which there may be fewer than it shows."""

    def __init__(self, bar_class, max_iter):
        self.bar = bar_class(total=max_iter + 1, desc="SPCClustering", unit="round")

    def stage(self, name):
        self.bar.set_description(f"SPCClustering: {name}")

    def after_round(self, history):
        self.bar.set_postfix_str(f"{100 * history[-1]['agreed_share']:.1f} % agreed", refresh=False)
        self.bar.update()

    def resumed(self, history):
        self.bar.update(len(history))

    def close(self):
        self.bar.set_description("SPCClustering")
        self.bar.close()


def _is_closed(stream):
    """Whether nothing can be written: programs without a console, as pythonw runs them, have None for a stream."""
    return getattr(stream, "closed", stream is None)


def _find_bar():
    """tqdm's bar for where this runs; None without tqdm, or where output is neither a terminal nor a notebook."""
    if _is_closed(sys.stderr) or not (sys.stderr.isatty() or "ipykernel" in sys.modules):
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm


def format_row(row):
    """One line for one history row."""
    seconds = row["seconds"]
    return (
        f"round {row['round']}: agreed {row['n_agreed']} of {row['n_rows']} "
        f"({100 * row['agreed_share']:.1f} %), {row['n_labellings']} labellings kept, "
        f"{len(row['left_out'])} left out; train {seconds['train']:.1f} s, "
        f"cluster {seconds['cluster']:.1f} s"
    )


def format_time_left(history, max_iter):
    """How long training rounds may go on, by the mean of those before; nothing before the first."""
    rounds = history[1:]
    n_left = max_iter - len(rounds)
    if not rounds or n_left == 0:
        return ""
    seconds = n_left * sum(sum(row["seconds"].values()) for row in rounds) / len(rounds)
    return f"; at most {n_left} more, {_format_duration(seconds)}"


def _format_duration(seconds):
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
