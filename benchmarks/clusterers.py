"""Time the labellings of one round beside umap-learn + hdbscan, called one after the other as one would by hand.

    python benchmarks/clusterers.py --data usps.npz --seeds 0 1 2 3 4

The archive holds ``images`` and ``labels``. Fifteen autoencoders are pretrained on the images, which gives fifteen
latent spaces and the one of all side by side. Then, in processes of their own, with compilation counted:

- by hand, defaults: ``umap.UMAP(random_state=seed)`` and ``hdbscan.HDBSCAN()``, with the packages' other defaults;
- by hand, at skspc's settings: the same with skspc's neighbours, min_dist, epochs and min_cluster_size;
- skspc at the epochs of umap-learn's default, and at its own.

The classes score what comes back; nothing else sees them.
"""

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np

DEFAULT_EPOCHS = 500  # umap-learn's for at most 10 000 rows; 200 for more
PRETRAIN_EPOCHS = 5
ROW = "| {:<28} | {:>6} | {:>8.1f} | {:>7.1f} | {:>16} |"


def make_latents(images, n_members, seed):
    """Latents (K, N, m) of autoencoders pretrained for a few epochs."""
    from skspc import SPCClustering

    settings = {"pretrain_epochs": PRETRAIN_EPOCHS, "max_iter": 0, "clusterer": "kmeans", "reducer": None}
    model = SPCClustering(2, n_estimators=n_members, random_state=seed, **settings).fit(images)
    latents = model.transform(images).astype(np.float32)
    return np.stack(np.split(latents, n_members, axis=1))


def label_by_hand(latents, n_clusters, seed, n_epochs=None, as_skspc=False):
    """umap-learn and hdbscan, space after space."""
    import hdbscan
    import umap

    n_rows = len(latents[0])
    reduction = {"n_epochs": n_epochs}
    clustering = {}
    if as_skspc:
        from skspc.clusterers._umap import default_n_neighbors

        reduction |= {"n_neighbors": default_n_neighbors(n_rows), "min_dist": 0.0}
        clustering = {"min_samples": 10, "min_cluster_size": n_rows // (2 * n_clusters)}
    labellings = []
    for space in [*latents, np.concatenate(list(latents), axis=1)]:
        embedding = umap.UMAP(random_state=seed, n_jobs=1, **reduction).fit_transform(space)
        labellings.append(hdbscan.HDBSCAN(**clustering).fit_predict(embedding))
    return labellings


def label_by_skspc(latents, n_clusters, seed, n_epochs=None, engine="auto"):
    """The labellings of one round."""
    from types import SimpleNamespace

    from skspc._method.labelling import cluster_spaces
    from skspc._runtime.devices import resolve_device
    from skspc.clusterers import HDBSCANCut, UMAPReducer
    from skspc.clusterers._umap import N_EPOCHS

    settings = SimpleNamespace(
        clusterer=HDBSCANCut(),
        reducer=UMAPReducer(n_epochs=n_epochs or N_EPOCHS, engine=engine),
        concatenate=True,
        n_jobs=None,
        device=resolve_device("auto"),
    )
    return list(cluster_spaces(latents, n_clusters, settings, seed)[0].values())


def timed(function, *arguments, **settings):
    start = time.perf_counter()
    labellings = function(*arguments, **settings)
    return labellings, time.perf_counter() - start


def in_new_process(function, *arguments, **settings):
    """Call a function in a process of its own, where nothing is compiled yet: what it returns, and seconds."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(timed, function, *arguments, **settings).result()


def score(labellings, classes):
    """Mean accuracy of labellings in percent, noise wrong."""
    from skspc.metrics import clustering_accuracy

    return 100 * float(np.mean([clustering_accuracy(classes, labels) for labels in labellings]))


def measure(latents, classes, seeds, skip_by_hand):
    """Print a row a way of labelling: mean seconds, how many times faster, and accuracy over the seeds."""
    n_clusters, n_rows = len(np.unique(classes)), len(classes)
    default = DEFAULT_EPOCHS if n_rows <= 10_000 else 200
    ways = [
        ("by hand, defaults", label_by_hand, {"n_epochs": default}),
        ("by hand, skspc's settings", label_by_hand, {"n_epochs": default, "as_skspc": True}),
        ("skspc, equal epochs", label_by_skspc, {"n_epochs": default}),
        ("skspc, as shipped", label_by_skspc, {}),
    ]
    ways = ways[2:] if skip_by_hand else ways
    baseline = None
    for name, function, settings in ways:
        results = [in_new_process(function, latents, n_clusters, seed, **settings) for seed in seeds]
        seconds = float(np.mean([taken for _, taken in results]))
        baseline = baseline or seconds
        scores = [score(labellings, classes) for labellings, _ in results]
        spread = f"{np.mean(scores):.2f} ({np.std(scores):.2f})"
        print(ROW.format(name, settings.get("n_epochs", "200"), seconds, baseline / seconds, spread), flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="an .npz archive with images and labels")
    parser.add_argument("--n-members", type=int, default=15, help="default: %(default)s")
    parser.add_argument("--n-rows", type=int, help="first rows alone; default: all")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="default: 0")
    parser.add_argument("--skip-by-hand", action="store_true", help="time skspc's epochs alone")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    with np.load(arguments.data, allow_pickle=False) as archive:
        images, classes = archive["images"][: arguments.n_rows], archive["labels"][: arguments.n_rows]
    latents, seconds = in_new_process(make_latents, images, arguments.n_members, 0)
    print(f"{arguments.data}: latents {latents.shape}, made in {seconds:.0f} s; seeds {arguments.seeds}")
    print("| labellings | epochs | seconds | times faster | accuracy (spread) |")
    print("| --- | --- | --- | --- | --- |", flush=True)
    measure(latents, classes, arguments.seeds, arguments.skip_by_hand)


if __name__ == "__main__":
    main()
