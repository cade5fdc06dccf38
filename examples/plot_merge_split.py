"""
One cluster too few, one too many
=================================

**Ten digits in nine clusters: the one that the members agree on least is ones and threes. Split, the threes have
their own, and accuracy goes from 83.5 to 90.7 % in seconds: nothing is trained but small classifiers.**

``split`` and ``merge`` return a copy of the model with one cluster more or less. Its ``predict`` knows the new
clusters, ``save`` keeps them, and the model from before is as it was.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from skspc import SPCClustering
from skspc.metrics import clustering_accuracy
from skspc.plotting import ClusterGalleryDisplay

images, digit = load_digits(return_X_y=True)
images, digit = images[:600].reshape(-1, 8, 8), digit[:600]
model = SPCClustering(n_clusters=9, n_estimators=3, max_iter=1, random_state=0).fit(images)


def describe(model, name):
    """Print what the classes say, which no model has seen."""
    held = [np.flatnonzero(np.bincount(digit[model.labels_ == c], minlength=10) > 5) for c in range(model.n_clusters_)]
    print(f"{name}: {model.n_clusters_} clusters, accuracy {100 * clustering_accuracy(digit, model.labels_):.1f} %")
    print("  digits of each cluster:", [" and ".join(map(str, digits)) for digits in held])


describe(model, "fitted")

# %%
# Which one to split
# ------------------
# A cluster that is two things is cut by some labellings and not by others: the mean of ``agreement_`` is low. The
# surest and the most doubtful images of each cluster show it too.

agreement = [model.agreement_[model.labels_ == c].mean() for c in range(model.n_clusters_)]
torn = int(np.argmin(agreement))
print(f"agreement by cluster: {np.round(agreement, 2)}, the least in cluster {torn}")
ClusterGalleryDisplay.from_estimator(model, images)

# %%
# Split
# -----
# The cluster's rows are labelled anew in the latents of each member, and these labellings vote. The larger part keeps
# the number, the other one gets the next.

started = time.perf_counter()
parts = model.split(torn, 2, images)
print(f"split in {time.perf_counter() - started:.0f} s")
describe(parts, "split")
ClusterGalleryDisplay.from_estimator(parts, images)

# %%
# Merge
# -----
# To merge the parts again gives the clusters from before. New rows follow each model.

again = parts.merge(torn, model.n_clusters_, images)
print("merged again, the labels are those from before:", np.array_equal(again.labels_, model.labels_))
print("predict knows the clusters:", model.predict(images[:8]), parts.predict(images[:8]))
plt.show()
