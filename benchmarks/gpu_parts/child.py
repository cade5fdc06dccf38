"""The process that measures: it says each thing as a line of JSON, and ends if the card is of no more use."""

import json
import traceback
from dataclasses import replace

import torch

from skspc._runtime.devices import resolve_device
from skspc._runtime.steps import CudaRecorder

from . import fits, labelling, machine, training, works
from .rows import cards, forget_peak, peak_gib

ROWS_OF = {
    "machine": machine.machine_rows,
    "works": works.works_rows,
    "epochs": training.epoch_rows,
    "labelling": labelling.labelling_rows,
    "mnist": fits.mnist_rows,
    "convolutions": training.convolution_rows,
    "modes": training.mode_rows,
    "precisions": fits.precision_rows,
    "pipeline": fits.pipeline_rows,
    "sizes": labelling.size_rows,
}
OF_MNIST = ("mnist", "precisions", "pipeline")


def say(**what):
    print(json.dumps(what), flush=True)


def measure(tables, job, skip=0):
    """Say the rows of tables, of the first without those that there are already."""
    job = replace(job, device=resolve_device(job.device))
    for table in tables:
        say(table=table)
        for row in ROWS_OF[table](job)[skip:]:
            say(begin=row.what)
            measure_row(row, job.device)
            if is_broken(job.device):
                return
        skip = 0
    say(end=True)


def measure_row(row, device):
    """Say a row, or that it failed, and why."""
    try:
        forget_peak(device)
        found = row.measure()
        verdicts = [*found.verdicts, *["A RECORDING BROKE OFF"] * CudaRecorder.is_broken]
        say(row=[row.what, found.figure, peak_gib(device), verdicts, found.note])
    except Exception as error:
        say(failed=[row.what, reason_of(error)], traceback=traceback.format_exc())


def reason_of(error):
    first_line = (str(error).splitlines() or [""])[0]
    return f"{type(error).__name__}: {first_line}"


def is_broken(device):
    """Whether rows that follow in this process would fail too, or be slower than they are."""
    try:
        return CudaRecorder.is_broken or any(torch.ones(1, device=card).item() != 1 for card in cards(device))
    except RuntimeError:
        return True


def main(tables, job, skip):
    try:
        measure(tables, job, skip)
    except ValueError as error:  # of a device that is not here
        say(failed=["all tables", reason_of(error)], traceback=traceback.format_exc())
        say(end=True)
