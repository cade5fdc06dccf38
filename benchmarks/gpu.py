"""skspc on a card, one command: `python benchmarks/gpu.py --data FOLDER --out gpu.txt`.

The tables, each of which `--tables` can ask for alone; behind them minutes on an H100, estimated: no card has run them.

    machine       card, driver, versions; it comes first, whatever is asked                             0.2
    works         does it work: short fits of images and vectors, float32 and bfloat16, beside the CPU's;
                  does a seed repeat; does the CPU predict from the model what the card does            1.0
    epochs        seconds of an epoch of 70 000 x 15, by way to convolve and precision                  1.5
    labelling     16 spaces of 70 000 labelled; UMAP of these, at once and one by one; its stages       1.5
    mnist         whole fits, K = 15, and K = 5 twice, beside the CPU's accuracy                        4.5
    convolutions  each convolution, in either way                                                       0.3

On request, in minutes that nobody has estimated:

    modes         epochs by batch size, without recording, with sums in any order; modules of plain torch
    precisions    whole fits in float32 and in bfloat16, each twice
    pipeline      MNIST by plain torch, umap-learn and hdbscan, counted from an epoch and a clustering
    sizes         one labelling of 10 000 to 1 000 000 rows, and by umap-learn

``--data`` names a folder with MNIST, as `skspc.datasets.fetch_mnist` takes it; without it OpenML is asked. A row that
fails says so, and the next one is tried, in a new process if the card has broken off or the process has died; the exit
status is then 1. What still runs after ``--minutes`` is ended. Bars are those of an H100 or H200, and are told where a
run is of full size. `--device cpu --scale 0.001 --random-images` tries the script on a machine without a card.
"""

import argparse
import json
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import nullcontext

TITLES = {
    "machine": "What this is measured on",
    "works": "Does it work, and does a seed repeat?",
    "epochs": "An epoch of pretraining",
    "labelling": "The labellings of a round",
    "mnist": "Whole fits of MNIST",
    "convolutions": "Convolutions, forward and back",
    "modes": "What batch size, recording and sums that repeat cost",
    "precisions": "Whole fits by precision",
    "pipeline": "A plain pipeline",
    "sizes": "One labelling by its size",
}
DEFAULT = ("machine", "works", "epochs", "labelling", "mnist", "convolutions")
HEAD = "| what | figure | peak GiB | verdict | note |\n| --- | --- | --- | --- | --- |"


class Report:
    """What is printed, and written to a file at once; at the end come a summary, and all that was said beside."""

    def __init__(self, file=None):
        self.file, self.short, self.beside = file, [], []
        self.n_failed, self.minutes = 0, Counter()

    def write(self, text):
        for stream in filter(None, (sys.stdout, self.file)):
            print(text, file=stream, flush=True)

    def begin(self, table):
        self.write(f"\n## {table}: {TITLES[table]}\n\n{HEAD}")

    def add(self, what, figure, peak=None, verdicts=(), note=""):
        cells = [what, figure, "-" if peak is None else f"{peak:.2f}", "; ".join(verdicts), note]
        cells = [" ".join(cell.replace("|", "/").split()) for cell in cells]
        if verdicts or figure == "FAILED":
            self.short.append(f"| {cells[0]} | {cells[1]} | {cells[3] or cells[4]} |")
        self.write(f"| {' | '.join(cells)} |")

    def fail(self, what, reason, traceback=None):
        self.n_failed += 1
        self.add(what, "FAILED", note=reason)
        self.beside.extend([traceback] if traceback else [])

    def end(self):
        self.write("\n".join(["\n## In short\n", "| what | figure | verdict |\n| --- | --- | --- |", *self.short]))
        minutes = ", ".join(f"{table} {spent:.1f}" for table, spent in self.minutes.items())
        self.write(f"\nRows that failed: {self.n_failed}. Minutes: {minutes}.")
        if self.beside:
            self.write("\n## Said beside, and tracebacks\n\n" + "\n".join(map(str.rstrip, self.beside)))


class Run:
    """Processes that measure tables, one after the other where one dies, until all are through or time is up."""

    def __init__(self, tables, command, report, deadline):
        self.left, self.command, self.report, self.deadline = list(tables), command, report, deadline
        self.table, self.n_done, self.running = None, 0, None

    def all(self):
        try:
            while self.left and self.one_process():
                pass
        except KeyboardInterrupt:
            self.report.fail(self.running or "what was left", "ended by hand")

    def one_process(self):
        """Run a process to its end: whether another is to go on from there."""
        words = [*self.command, "--tables", *self.left, "--skip", str(self.n_done)]
        before, self.running, has_ended = (self.table, self.n_done), None, False
        piped = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "encoding": "utf-8", "errors": "replace"}
        with subprocess.Popen(words, **piped) as process:
            clock = threading.Timer(max(0, self.deadline - time.monotonic()), process.kill)
            clock.start()
            try:
                for line in process.stdout:
                    has_ended |= self.hear(line)
                process.wait()
            finally:
                clock.cancel()
                process.kill()
        if has_ended:
            return False
        if time.monotonic() >= self.deadline:
            left = f"; not begun: {', '.join(self.left[1:])}" if self.left[1:] else ""
            self.report.fail(self.running or "what was left", f"time was up (--minutes gives more){left}")
            return False
        return self.go_on(process.returncode, before)

    def hear(self, line):
        """Take in a line of the process: whether it is its last word."""
        try:
            said = json.loads(line) if line.startswith("{") else {"beside": line}
        except json.JSONDecodeError:
            said = {"beside": line}
        if "table" in said:
            self.enter(said["table"])
        elif "begin" in said:
            self.running, self.since = said["begin"], time.monotonic()
        elif "row" in said or "failed" in said:
            self.finish(said)
        elif "beside" in said:
            self.report.beside.append(said["beside"])
        return "end" in said

    def enter(self, table):
        if table != self.table:
            self.table, self.n_done = table, 0
            self.left = self.left[self.left.index(table) :]
            self.report.begin(table)

    def finish(self, said):
        if "row" in said:
            self.report.add(*said["row"])
        else:
            self.report.fail(*said["failed"], said["traceback"])
        if self.running is not None:
            self.report.minutes[self.table] += (time.monotonic() - self.since) / 60
        self.running, self.n_done = None, self.n_done + 1

    def go_on(self, status, before):
        """After a process that has not come to its end: pass over the row, or the table, that it died of."""
        if self.table is None:
            self.report.fail("all tables", f"the process ended with {status} before it measured anything")
            return False
        if self.running is not None:
            self.report.fail(self.running, f"the process ended with {status}")
            self.n_done += 1
        elif (self.table, self.n_done) == before or self.n_done == 0:
            self.report.fail(f"the table {self.table}", f"the process ended with {status}")
            self.left, self.n_done = self.left[1:], 0
        return True


def parse_arguments(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", nargs="+", choices=TITLES, default=DEFAULT, help=f"default: {' '.join(DEFAULT)}")
    parser.add_argument("--data", metavar="FOLDER", help="folder with MNIST; default: SKSPC_DATA, else OpenML")
    parser.add_argument("--out", metavar="FILE", help="write all that is printed there too")
    parser.add_argument("--minutes", type=float, default=10, help="end what still runs then; default: %(default)s")
    parser.add_argument("--device", default="cuda:0", help="default: %(default)s; cuda is all cards together")
    parser.add_argument("--n-members", type=int, default=15, help="default: %(default)s")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows, to try the script")
    parser.add_argument("--random-images", action="store_true", help="in place of MNIST, to try the script")
    parser.add_argument("--max-iter", type=int, help="rounds of fits, to try the script")
    parser.add_argument("--epochs", type=int, help="epochs of each stage of fits, to try the script")
    parser.add_argument("--skip", type=int, help=argparse.SUPPRESS)  # rows of the first table; in the process apart
    return parser.parse_args(words)


def measure_here(arguments):
    """Be the process that measures."""
    from gpu_parts import child
    from gpu_parts.rows import Job

    epochs = {} if arguments.epochs is None else dict.fromkeys(("pretrain_epochs", "epochs"), arguments.epochs)
    changes = epochs | ({} if arguments.max_iter is None else {"max_iter": arguments.max_iter})
    folder, is_random = arguments.data, arguments.random_images
    job = Job(arguments.device, arguments.scale, arguments.n_members, folder, is_random, changes)
    child.main(arguments.tables, job, arguments.skip)


def words_of(arguments):
    """The command line again, without what is the parent's."""
    words = []
    for name, value in vars(arguments).items():
        if name not in ("tables", "out", "minutes", "skip") and value not in (None, False):
            words += [f"--{name.replace('_', '-')}"] + ([] if value is True else [str(value)])
    return words


def main():
    arguments = parse_arguments()
    if arguments.skip is not None:
        return measure_here(arguments)
    tables = list(dict.fromkeys(["machine", *arguments.tables]))
    with open(arguments.out, "w", encoding="utf-8") if arguments.out else nullcontext() as file:
        report = Report(file)
        report.write(f"# benchmarks/gpu.py {' '.join(sys.argv[1:])}")
        deadline = time.monotonic() + 60 * arguments.minutes
        Run(tables, [sys.executable, __file__, *words_of(arguments)], report, deadline).all()
        report.end()
    if arguments.out:
        print(f"\nPlease send back {arguments.out} (docs/gpu.md says what it has in it).")
    return 1 if report.n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
