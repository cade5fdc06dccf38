"""One fit, in a process of its own, which is given the rows and the number of clusters, never the classes."""

import json
import time
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import numpy as np

from . import machine
from .methods import OF_CLUSTPY, SPC


def work(folder):
    """Do the task in a folder.

    ``task.json`` names algorithm, parameters, n_clusters and seed, ``rows.npy`` are the rows. What comes out goes
    there too: ``labels.npz`` with ``labels`` (N,) and, of SPCClustering, ``agreed`` (N,) and ``rounds`` (R, N);
    ``figures.json`` with all that is measured without classes.
    """
    folder = Path(folder)
    task = json.loads((folder / "task.json").read_text())
    rows = np.load(folder / "rows.npy", allow_pickle=False)
    fit = fit_clustpy if task["algorithm"] in OF_CLUSTPY else FITS[task["algorithm"]]
    arrays, figures = fit(rows, task)
    figures["peak_memory_mib"] = round(machine.peak_memory(), 1)
    np.savez(folder / "labels.npz", **arrays)
    (folder / "figures.json").write_text(json.dumps(figures))


def fit_spc(rows, task):
    """Labels of SPCClustering, and those of each of its rounds."""
    from skspc import SPCClustering
    from skspc._runtime.devices import resolve_device

    model = SPCClustering(task["n_clusters"], random_state=task["seed"], **task["parameters"])
    with recorded_votes() as votes:
        start = time.perf_counter()
        model.fit(rows)
        seconds = time.perf_counter() - start
    on_gpu = resolve_device(model.device).type == "cuda"
    arrays = {
        "labels": model.labels_,
        "agreed": model.agreed_,
        "rounds": labels_of_rounds(votes, rows, model.labels_, model.best_iter_),
    }
    figures = {
        "seconds": seconds,
        "device": machine.gpu_name() if on_gpu else machine.cpu_name(),
        "peak_gpu_memory_mib": machine.peak_gpu_memory() if on_gpu else None,
        "n_rounds": model.n_iter_,
        "chosen_round": model.best_iter_,
        "agreed_share": float(model.agreed_.mean()),
    }
    return arrays, figures


@contextmanager
def recorded_votes():
    """While the context lasts, the labels that each vote came to are appended to the list it gives.

    `SPCClustering` keeps the labels of its best round alone.
    """
    from skspc import _rounds

    find, votes = _rounds.find_consensus, []

    def find_and_record(*arguments):
        consensus = find(*arguments)
        votes.append(consensus.labels)
        return consensus

    with patch.object(_rounds, "find_consensus", find_and_record):
        yield votes


def labels_of_rounds(votes, rows, labels, chosen):
    """Labels of every round for every row: (R, N).

    A vote is on distinct rows. The chosen round has the labels that the fit came to, where rows without a vote have
    got one from the classifiers; elsewhere they are noise.
    """
    from skspc._input.distinct import distinct_rows

    if not votes:  # nothing to vote on: one cluster, or none found
        return labels[None]
    _, inverse = distinct_rows(rows.reshape(len(rows), -1))
    by_round = np.stack(votes)[:, inverse]
    by_round[chosen] = labels
    return by_round


def on_cpu(labels, start):
    """What is left to tell of a peer that has run on the CPU."""
    return {"labels": labels}, {"seconds": time.perf_counter() - start, "device": machine.cpu_name()}


def fit_kmeans(rows, task):
    from sklearn.cluster import KMeans

    model = KMeans(task["n_clusters"], random_state=task["seed"], **task["parameters"])
    start = time.perf_counter()
    return on_cpu(model.fit_predict(flat(rows)), start)


def fit_umap_gmm(rows, task):
    """UMAP on the rows as they are, then a Gaussian mixture."""
    import umap
    from sklearn.mixture import GaussianMixture

    settings = dict(task["parameters"])
    mixture = GaussianMixture(task["n_clusters"], n_init=settings.pop("n_init"), random_state=task["seed"])
    start = time.perf_counter()
    reducer = umap.UMAP(random_state=task["seed"], n_jobs=1, **settings)
    return on_cpu(mixture.fit_predict(reducer.fit_transform(flat(rows))), start)


def fit_umap_hdbscan(rows, task):
    """UMAP on the rows as they are, then HDBSCAN, which is not told the number of clusters."""
    import hdbscan
    import umap

    settings = dict(task["parameters"])
    del settings["min_cluster_size"]
    clusterer = hdbscan.HDBSCAN(
        min_samples=settings.pop("min_samples"), min_cluster_size=max(2, len(rows) // (2 * task["n_clusters"]))
    )
    start = time.perf_counter()
    reducer = umap.UMAP(random_state=task["seed"], n_jobs=1, **settings)
    return on_cpu(clusterer.fit_predict(reducer.fit_transform(flat(rows))), start)


def fit_clustpy(rows, task):
    """A method of ClustPy with its own defaults; pixels and other counts are brought to [0, 1]."""
    from clustpy import deep

    values = flat(rows).astype(np.float32)
    if values.min() >= 0:
        values /= values.max()
    model = getattr(deep, task["algorithm"])(task["n_clusters"], random_state=task["seed"], **task["parameters"])
    start = time.perf_counter()
    arrays, figures = on_cpu(np.asarray(model.fit_predict(values), dtype=np.int64), start)
    return arrays, figures | {"device": machine.gpu_name() or machine.cpu_name()}


def flat(rows):
    return rows.reshape(len(rows), -1)


FITS = {
    SPC: fit_spc,
    "KMeans": fit_kmeans,
    "UMAP + GMM": fit_umap_gmm,
    "UMAP + HDBSCAN": fit_umap_hdbscan,
}
