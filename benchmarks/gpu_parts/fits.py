"""Whole fits of MNIST: seconds, memory, and accuracy beside the CPU's."""

from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
from reproduction.methods import SPC, is_configured_as
from reproduction.results import read_rows

from skspc import SPCClustering
from skspc.metrics import clustering_accuracy

from .plain import plain_pipeline
from .rows import N_CLUSTERS, N_MEMBERS, N_ROWS, Found, Row, alike, bar, timed

RESULTS = Path(__file__).parents[2] / "paper" / "results.jsonl"
FIT_BAR = 120.0  # seconds, 15 members, with the precision that a fit takes by itself
FEW = 5  # members of a fit as it is shipped


def mnist_rows(job):
    """Fits as they are shipped, of many members, and of few twice."""
    few = min(FEW, job.n_members)
    rows = [Row(f"MNIST, K = {size}", partial(a_fit, job, size)) for size in dict.fromkeys((job.n_members, few))]
    return [*rows, Row(f"MNIST, K = {few}, the same seed", partial(again, job, few))]


def precision_rows(job):
    """Fits of either precision, each twice."""
    rows = []
    for n_members in dict.fromkeys((min(FEW, job.n_members), job.n_members)):
        for precision in ("float32", "bfloat16"):
            what = f"MNIST, K = {n_members}, {precision}"
            rows.append(Row(what, partial(a_fit, job, n_members, precision)))
            rows.append(Row(f"{what}, the same seed", partial(again, job, n_members, precision)))
    return rows


def make_model(job, n_members, precision):
    settings = {"n_estimators": n_members, "precision": precision, "device": str(job.device), "random_state": 0}
    return SPCClustering(N_CLUSTERS, **settings | job.changes)


def a_fit(job, n_members, precision="auto"):
    """Seconds of a fit, and its accuracy."""
    images, classes = job.mnist
    model = make_model(job, n_members, precision)
    _, seconds = timed(lambda: model.fit(images), job.device)
    job.models[n_members, precision] = model
    accuracy = f"accuracy {100 * clustering_accuracy(classes, model.labels_):.2f} %"
    verdict = f"{accuracy}; {of_the_cpu(job, n_members)}"
    is_barred = job.is_whole and n_members == N_MEMBERS and precision == "auto"
    return Found(f"{seconds:.1f} s", (*bar(seconds, FIT_BAR, is_barred), verdict), stages(model))


def stages(model):
    """Clusterings of a fit, and seconds of its stages."""
    seconds = sum((Counter(row["seconds"]) for row in model.history_), Counter())
    shown = ", ".join(f"{stage} {of_stage:.1f} s" for stage, of_stage in seconds.items())
    return f"{model.n_iter_} clusterings; {shown}"


def again(job, n_members, precision="auto"):
    """Whether a second fit of the seed has the same labels."""
    images, _ = job.mnist
    model = make_model(job, n_members, precision)
    _, seconds = timed(lambda: model.fit(images), job.device)
    first = job.models.get((n_members, precision))
    if first is None:
        return Found(f"{seconds:.1f} s", note="the first fit failed: there is nothing to compare with")
    n_others = int(np.sum(first.labels_ != model.labels_))
    return Found(
        f"{seconds:.1f} s", alike(n_others == 0, "a seed repeats", "other labels"), f"{n_others} labels differ"
    )


def of_the_cpu(job, n_members, results=RESULTS):
    """Accuracy of the same fits on the CPU, seed by seed, as far as `paper/results.jsonl` has them."""
    if job.has_random_images or job.changes or len(job.mnist[0]) < N_ROWS:
        return "not what the CPU's rows are of"
    found = {}
    for row in read_rows(results):
        if is_fit_of_mnist(row, n_members):
            found[row["seed"]] = f"{100 * row['accuracy']:.2f} % (seed {row['seed']})"  # the newest one of each seed
    return f"the CPU's {', '.join(found.values())}" if found else "no row of the CPU yet"


def is_fit_of_mnist(row, n_members):
    """Whether a row is of all of MNIST, by today's parameters with so many members, on the CPU."""
    of_whole = row["dataset"] == "mnist" and row["n_rows"] == N_ROWS and row["algorithm"] == SPC
    on_cpu = row.get("peak_gpu_memory_mib") is None
    return of_whole and on_cpu and is_configured_as(row, SPC, {"n_estimators": n_members})


def pipeline_rows(job):
    return [Row(f"a plain pipeline of MNIST, K = {job.n_members}, counted", lambda: counted(job))]


def counted(job):
    """Seconds of plain torch, umap-learn and hdbscan, member after member, from one epoch and one clustering.

    They are counted for as many epochs and clusterings as a fit of skspc took.
    """
    n_members = job.n_members
    if (n_members, "auto") not in job.models:
        a_fit(job, n_members)
    model = job.models[n_members, "auto"]
    plans = [row["training"] for row in model.history_]
    an_epoch, a_clustering = plain_pipeline(job.mnist[0][:, None], plans[0]["batch_size"], job.device)
    n_epochs = sum(plan["n_epochs"] for plan in plans)
    total = n_members * n_epochs * an_epoch + len(plans) * (n_members + 1) * a_clustering
    note = f"{n_members} members x {n_epochs} epochs of {an_epoch:.1f} s, {len(plans)} x {n_members + 1} clusterings"
    return Found(f"{total:.0f} s", note=f"{note} of {a_clustering:.1f} s")
