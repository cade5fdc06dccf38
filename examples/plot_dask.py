"""
A cluster of machines
=====================

**ROUNDED FINDING**

Labellings, and on the CPU pairs of members in training, are jobs of joblib. A configuration of joblib sends them
wherever a backend reaches: here to two worker processes of Dask on this machine, which stand for two machines. With a
real cluster only the address in ``Client`` is another.
"""

import time

import numpy as np
from joblib import parallel_config
from sklearn.datasets import load_digits

from skspc import SPCClustering


def main():
    from dask.distributed import Client, LocalCluster  # pip install "skspc[dask]"

    images = load_digits().images[:500]
    model = SPCClustering(10, n_estimators=4, pretrain_epochs=15, epochs=5, max_iter=1, random_state=0)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster):
        start = time.perf_counter()
        with parallel_config("dask", n_jobs=2):
            there = model.fit(images).labels_
        print(f"two workers:  {time.perf_counter() - start:.1f} s")
    start = time.perf_counter()
    here = model.fit(images).labels_
    print(f"this process: {time.perf_counter() - start:.1f} s")
    print("the same labels:", np.array_equal(here, there))


# %%
# Worker processes import this file, and must not start clusters of their own.

if __name__ == "__main__":
    main()
