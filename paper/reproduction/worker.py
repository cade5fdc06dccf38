"""One fit, in a process of its own, which is given the rows and the number of clusters, never the classes."""

import json
import time
from pathlib import Path

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

    model, rounds = SPCClustering(task["n_clusters"], random_state=task["seed"], **task["parameters"]), []

    def keep_labels(history, labels):
        rounds.append(labels)

    start = time.perf_counter()
    model.fit(rows, monitor=keep_labels)
    seconds = time.perf_counter() - start
    on_gpu = resolve_device(model.device).type == "cuda"
    arrays = {
        "labels": model.labels_,
        "agreed": model.agreed_,
        "rounds": np.stack(rounds),
    }
    figures = {
        "seconds": seconds,
        "device": machine.gpu_name() if on_gpu else machine.cpu_name(),
        "peak_gpu_memory_mib": machine.peak_gpu_memory() if on_gpu else None,
        "n_rounds": model.n_iter_,
        "kept": "the vote of all rounds",
        "agreed_share": float(model.agreed_.mean()),
    }
    return arrays, figures


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
    embedding = reducer.fit_transform(flat(rows)).astype("float64")  # in float32 some covariances have no inverse
    return on_cpu(mixture.fit_predict(embedding), start)


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


def fit_evoc(rows, task):
    """EVoC on the rows as floats, since it takes those of uint8 for bits; by the cosine, so that no scale counts."""
    import evoc

    number = {"C": task["n_clusters"], None: None}[task["parameters"]["approx_n_clusters"]]
    model = evoc.EVoC(approx_n_clusters=number, random_state=task["seed"])
    values = flat(rows).astype(np.float32)
    start = time.perf_counter()
    return on_cpu(model.fit_predict(values), start)


def fit_clustpy(rows, task):
    """A method of ClustPy with its own defaults, on rows that are scaled for it.

    DeepECT, which grows a tree and is told no number, has its tree cut to the number of clusters.
    """
    from clustpy import deep

    name, n_clusters = task["algorithm"], task["n_clusters"]
    values = scale_for_clustpy(flat(rows).astype(np.float32), name)
    number = {} if name == "DeepECT" else {"n_clusters": n_clusters}
    model = getattr(deep, name)(**number, random_state=task["seed"], **task["parameters"])
    start = time.perf_counter()
    labels = model.fit_predict(values)
    if name == "DeepECT":
        leaves, _ = model.tree_.get_leaf_and_split_nodes()
        labels = model.flat_clustering(min(n_clusters, len(leaves)))
    arrays, figures = on_cpu(np.asarray(labels, dtype=np.int64), start)
    return arrays, figures | {"device": machine.gpu_name() or machine.cpu_name()}


def scale_for_clustpy(values, algorithm):
    """Rows as ClustPy's methods get them: it scales nothing itself.

    Pixels and other counts are brought to [0, 1] by one range. Features with negative values stay as they are, but for
    VaDE, whose cross-entropy takes nothing outside [0, 1]: each has its own range brought to that.
    """
    if values.min() >= 0:
        return values / values.max()
    if algorithm != "VaDE":
        return values
    low, high = values.min(axis=0), values.max(axis=0)
    return np.clip((values - low) / np.where(high > low, high - low, 1), 0, 1)


def flat(rows):
    return rows.reshape(len(rows), -1)


FITS = {
    SPC: fit_spc,
    "KMeans": fit_kmeans,
    "UMAP + GMM": fit_umap_gmm,
    "UMAP + HDBSCAN": fit_umap_hdbscan,
    "EVoC": fit_evoc,
}
