"""Seconds and memory of a round's labellings: neighbours, graph, layout and trees. The latents are ten blobs."""

from functools import cache, partial
from types import SimpleNamespace

import numpy as np
import torch
from sklearn.datasets import make_blobs

from skspc._method.labelling import cluster_spaces
from skspc.clusterers import HDBSCANCut, UMAPReducer, _umap_torch
from skspc.clusterers._umap import N_EPOCHS, default_n_neighbors
from skspc.clusterers._umap_torch import Space, embed_together
from skspc.metrics import clustering_accuracy

from .rows import N_CLUSTERS, N_LATENTS, N_ROWS, Found, Row, alike, bar, timed

ROUND_BAR = 8.0  # seconds, fifteen spaces of 70 000 rows and all as one
SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)


def make_rows(n_rows):
    X, y = make_blobs(n_rows, N_LATENTS, centers=N_CLUSTERS, cluster_std=3.0, random_state=0)
    return X.astype(np.float32), y


def make_spaces(X, n_spaces):
    """Spaces (K, N, m) of the same rows, whose features are in other orders."""
    return np.stack([X[:, np.random.default_rng(i).permutation(N_LATENTS)] for i in range(n_spaces)])


def labelling_rows(job):
    """A round, UMAP alone, and the stages of one labelling."""
    n_rows, n_spaces = job.part_of(N_ROWS), job.n_members + 1
    umap, stages = OfSpaces(job), Stages(job)
    return [
        Row("first use: 1000 rows labelled", partial(one_labelling, job, 1000)),
        Row(f"{n_spaces} spaces of {n_rows} labelled", lambda: a_round(job)),
        Row(f"UMAP of {n_spaces} spaces of {n_rows}, all at once", umap.at_once),
        Row(f"UMAP of {n_spaces} spaces of {n_rows}, one by one", umap.one_by_one),
        *[Row(f"one space of {n_rows}: {name}", stage) for name, stage in stages.by_name().items()],
    ]


def a_round(job):
    """The labellings of a round, at once: one space a member, and all side by side."""
    X, y = make_rows(job.part_of(N_ROWS))
    latents = make_spaces(X, job.n_members)
    settings = SimpleNamespace(
        clusterer=HDBSCANCut(), reducer=UMAPReducer(engine="torch"), concatenate=True, n_jobs=None, device=job.device
    )
    (labellings, _), seconds = timed(lambda: cluster_spaces(latents, N_CLUSTERS, settings, 0), job.device)
    accuracy = np.mean([clustering_accuracy(y, labels) for labels in labellings.values()])
    verdicts = bar(seconds, ROUND_BAR, job.is_whole)
    return Found(f"{seconds:.2f} s", verdicts, f"UMAP and HDBSCAN; mean accuracy {100 * accuracy:.2f} %")


class OfSpaces:
    """UMAP of a round's spaces by either way, the embeddings of the first to be compared with."""

    def __init__(self, job):
        self.job, self.found = job, None

    def settings(self):
        X, _ = make_rows(self.job.part_of(N_ROWS))
        spaces = [
            Space(space, default_n_neighbors(len(X)), i)
            for i, space in enumerate(make_spaces(X, self.job.n_members + 1))
        ]
        return spaces, {"n_components": 2, "min_dist": 0.0, "n_epochs": N_EPOCHS, "device": self.job.device}

    def at_once(self):
        spaces, settings = self.settings()
        n_jobs = torch.get_num_threads()
        self.found, seconds = timed(lambda: embed_together(spaces, **settings, n_jobs=n_jobs), self.job.device)
        return Found(f"{seconds:.2f} s")

    def one_by_one(self):
        spaces, settings = self.settings()
        alone, seconds = timed(lambda: [embed_together([space], **settings)[0] for space in spaces], self.job.device)
        if self.found is None:
            return Found(f"{seconds:.2f} s")
        same = all(map(np.array_equal, self.found, alone))
        note = "" if self.job.device.type == "cuda" else "on the CPU vectors round by where a value stands"
        return Found(f"{seconds:.2f} s", alike(same, "the same embeddings", "other embeddings"), note)


class Stages:
    """The parts of one labelling, one after the other."""

    def __init__(self, job):
        self.job, self.n_neighbors = job, default_n_neighbors(job.part_of(N_ROWS))
        self.rows = cache(lambda: make_rows(job.part_of(N_ROWS))[0])
        self.neighbors = cache(self.find_neighbors)
        self.embedding = cache(self.embed)

    def by_name(self):
        return {
            "neighbours": lambda: self.seconds(self.find_neighbors),
            "graph": lambda: self.seconds(_umap_torch.fuzzy_graph, *self.neighbors()),
            "all of UMAP": lambda: self.seconds(self.embed),
            "tree and cut": lambda: self.seconds(HDBSCANCut(N_CLUSTERS).fit, self.embedding()),
        }

    def seconds(self, function, *arguments):
        return Found(f"{timed(lambda: function(*arguments), self.job.device)[1]:.2f} s")

    def find_neighbors(self):
        rows = torch.as_tensor(self.rows(), dtype=torch.float64, device=self.job.device)
        return _umap_torch.nearest_neighbors(rows, self.n_neighbors, 0)

    def embed(self):
        settings = {"n_components": 2, "min_dist": 0.0, "n_epochs": N_EPOCHS, "seed": 0, "device": self.job.device}
        return _umap_torch.embed(self.rows(), self.n_neighbors, **settings)


def size_rows(job):
    """One labelling of few to many rows, and by umap-learn."""
    rows = [Row(f"one space of {size} labelled", partial(one_labelling, job, size)) for size in map(job.part_of, SIZES)]
    n_rows = job.part_of(N_ROWS)
    what = f"one space of {n_rows} labelled, by umap-learn"
    return [*rows, Row(what, partial(one_labelling, job, n_rows, engine="umap-learn"))]


def one_labelling(job, n_rows, engine="torch"):
    X, y = make_rows(n_rows)

    def label():
        embedding = UMAPReducer(engine=engine, device=job.device, random_state=0).fit_transform(X)
        return HDBSCANCut(N_CLUSTERS).fit_predict(embedding)

    labels, seconds = timed(label, job.device)
    return Found(f"{seconds:.2f} s", note=f"accuracy {100 * clustering_accuracy(y, labels):.2f} %")
