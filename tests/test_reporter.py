"""What a fit tells while it runs."""

import builtins
import io
import sys
from functools import partial

import numpy as np
import pytest
import tqdm.auto

from skspc._method.reporter import Bar, Lines, Reporter, format_row, format_time_left, takes_labels

LABELS = np.zeros(3, dtype=int)
ROW = {
    "round": 3,
    "n_rows": 200,
    "n_agreed": 25,
    "agreed_share": 0.125,
    "mean_agreement": 0.5,
    "n_labellings": 4,
    "left_out": [{"space": 1, "reason": "2 clusters instead of 3"}, {"space": 2, "reason": "5 clusters instead of 3"}],
    "seconds": {"train": 1.25, "cluster": 10.04},
}
LINE = "round 3: agreed 25 of 200 (12.5 %), 4 labellings kept, 2 left out; train 1.2 s, cluster 10.0 s"


def rows_of(*seconds):
    return [{"seconds": {"train": value, "cluster": 1.0}} for value in seconds]


def test_a_row_is_one_line():
    assert format_row(ROW) == LINE


@pytest.mark.parametrize(
    "history, max_iter, text",
    [
        (rows_of(100), 8, ""),  # pretraining tells nothing of the rounds
        (rows_of(100, 4), 8, "; at most 7 more, 35 s"),
        (rows_of(100, 4, 24), 8, "; at most 6 more, 1 min 30 s"),
        (rows_of(100, 3599), 3, "; at most 2 more, 2 h 0 min"),
        (rows_of(100, 4, 4), 2, ""),
    ],
)
def test_time_left_is_the_mean_of_the_rounds_times_those_left(history, max_iter, text):
    assert format_time_left(history, max_iter) == text


def test_lines_go_to_their_sink_alone(capsys):
    sink = io.StringIO()
    with Reporter(1, 8, sink=sink) as reporter:
        reporter.stage("pretraining")
        assert reporter.after_round([ROW], LABELS) is False
    assert sink.getvalue() == f"[SPCClustering] pretraining ...\n[SPCClustering] {LINE}\n"
    assert capsys.readouterr() == ("", "")


def test_without_a_terminal_lines_go_to_the_standard_output_of_the_moment(capsys):
    reporter = Reporter(2, 8)
    reporter.after_round([ROW], LABELS)
    assert capsys.readouterr() == (f"[SPCClustering] {LINE}\n", "")


@pytest.mark.parametrize("verbose", [0, False])
def test_silence_is_the_default_of_verbose_0(verbose, capsys):
    sink = io.StringIO()
    with Reporter(verbose, 8, sink=sink) as reporter:
        reporter.stage("clustering")
        reporter.after_round([ROW], LABELS)
    assert sink.getvalue() == ""
    assert capsys.readouterr() == ("", "")


def pretend_terminal(monkeypatch):
    stream = io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


def test_on_a_terminal_there_is_a_bar(monkeypatch, capsys):
    terminal = pretend_terminal(monkeypatch)
    with Reporter(1, 8) as reporter:
        assert isinstance(reporter.display, Bar)
        reporter.stage("pretraining")
        reporter.after_round([ROW], LABELS)
    shown = terminal.getvalue().split("\r")
    assert any("SPCClustering: pretraining:   0%" in line and "0/9" in line for line in shown)
    assert "1/9" in shown[-1]
    assert "12.5 % agreed" in shown[-1]
    assert capsys.readouterr().out == ""


def test_in_a_notebook_there_is_a_bar(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipykernel", tqdm)
    with Reporter(1, 8) as reporter:
        assert isinstance(reporter.display.bar, tqdm.auto.tqdm)


def test_without_tqdm_a_terminal_has_lines(monkeypatch):
    pretend_terminal(monkeypatch)
    importing = builtins.__import__

    def without_tqdm(name, *args, **kwargs):
        if name.startswith("tqdm"):
            raise ImportError(name)
        return importing(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_tqdm)
    assert isinstance(Reporter(1, 8).display, Lines)


@pytest.mark.parametrize("name", ["stdout", "stderr"])
@pytest.mark.parametrize("is_notebook", [False, True])
@pytest.mark.parametrize("is_closed", [False, True])
@pytest.mark.case(
    "plumbing", "verbose=1 without a console, or with one closed", origin="tqdm#1523, #1593; pyinstaller#7782"
)
def test_without_a_stream_there_is_silence(name, is_notebook, is_closed, monkeypatch, capsys):
    stream = io.StringIO() if is_closed else None
    if is_closed:
        stream.close()
    if is_notebook:
        monkeypatch.setitem(sys.modules, "ipykernel", tqdm)
    monkeypatch.setattr(sys, name, stream)
    with Reporter(1, 8) as reporter:
        reporter.stage("pretraining")
        reporter.after_round([ROW], LABELS)
        reporter.resumed([ROW])
    if name == "stdout" and not is_notebook:
        assert capsys.readouterr().err == ""
    if name == "stderr":  # lines need no stderr
        assert LINE in capsys.readouterr().out


def test_a_stream_that_closes_in_between_ends_no_fit():
    sink = io.StringIO()
    reporter = Reporter(1, 8, sink=sink)
    reporter.stage("pretraining")
    sink.close()
    reporter.after_round([ROW], LABELS)


def test_the_bar_is_closed_after_an_error(monkeypatch):
    pretend_terminal(monkeypatch)
    with pytest.raises(KeyError), Reporter(1, 8) as reporter:
        raise KeyError
    assert reporter.display.bar.disable


@pytest.mark.parametrize("answer, stops", [(True, True), (1, True), (None, False), (False, False)])
def test_the_monitor_decides(answer, stops):
    histories = []

    def monitor(history):
        histories.append(history)
        return answer

    assert Reporter(0, 8, monitor).after_round([ROW], LABELS) is stops
    assert histories == [[ROW]]


@pytest.mark.parametrize(
    "monitor, takes",
    [
        (lambda history: None, False),
        (lambda history, seen=(): None, False),
        (lambda *told: None, False),
        (lambda *history, labels: None, True),
        (lambda history, *, labels: None, True),
        (lambda history, log=False, labels=None: None, True),
        (lambda history, /, labels=None: None, True),
        (lambda history, found, /: None, True),
        (lambda history, labels, /: None, True),
        (lambda labels: None, False),
        (partial(lambda history, labels: None, labels="its own"), False),
        (partial(lambda file, history, labels: None, "a file"), True),
        (lambda history, **labels: None, False),
        (lambda history, labels: None, True),
        (lambda history, found: None, True),
        (lambda history, labels=None: None, True),
        (lambda history, labels, **more: None, True),
        (print, False),
    ],
)
def test_labels_are_for_monitors_that_take_them(monitor, takes):
    assert takes_labels(monitor) is takes


@pytest.mark.parametrize(
    "monitor",
    [
        lambda history, labels: labels,
        lambda history, labels, /: labels,
        lambda history, found: found,
        lambda history, *, labels: labels,
        lambda history, log=False, labels=None: labels,
        lambda *history, labels: labels,
    ],
)
def test_a_monitor_is_told_the_labels_by_whatever_argument_takes_them(monitor):
    assert Reporter(0, 8, monitor).after_round([ROW], np.ones(1, dtype=int)) is True  # what it was told


def test_labels_are_those_of_all_rows_and_the_monitors_own():
    seen = []
    reporter = Reporter(0, 8, lambda history, labels: seen.append(labels), rows=np.array([2, 0, 0, 1]))
    labels = np.array([4, 5, -1])
    reporter.after_round([ROW], labels)
    assert seen[0].tolist() == [-1, 4, 4, 5]
    whole = Reporter(0, 8, lambda history, labels: labels.fill(7))
    whole.after_round([ROW], labels)
    assert labels.tolist() == [4, 5, -1]
