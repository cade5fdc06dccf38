"""
A cluster of machines
=====================

**Two worker processes find the labels that this process finds. On 500 digits they take longer for it: starting them and
sending rows costs more than it saves. Clusters of machines are for fits of hours.**

Labellings, and on the CPU groups of members in training, are jobs of joblib. A configuration of joblib sends them
wherever a backend reaches: here to two worker processes of Dask on this machine, which stand for two machines. With a
real cluster only the address in ``Client`` is another.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from joblib import parallel_config
from sklearn.datasets import load_digits

from skspc import SPCClustering


def main():
    from dask.distributed import Client, LocalCluster  # pip install ".[dask]"

    images = load_digits().images[:500]
    model = SPCClustering(10, n_estimators=4, pretrain_epochs=15, epochs=5, max_iter=1, random_state=0)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster):
        start = time.perf_counter()
        with parallel_config("dask", n_jobs=2):
            there = model.fit(images).labels_
        seconds = {"two workers": time.perf_counter() - start}
    start = time.perf_counter()
    here = model.fit(images).labels_
    seconds["this process"] = time.perf_counter() - start
    print({name: round(value, 1) for name, value in seconds.items()})
    print("the same labels:", np.array_equal(here, there))

    _, ax = plt.subplots(figsize=(5, 1.8), layout="constrained")
    ax.bar_label(ax.barh(list(seconds), list(seconds.values()), color="#0072B2"), fmt="%.1f", padding=3)
    ax.set(xlabel="seconds")
    ax.margins(x=0.15)
    ax.spines[["top", "right"]].set_visible(False)
    plt.show()


# %%
# Worker processes import this file, and must not start clusters of their own.

if __name__ == "__main__":
    main()
