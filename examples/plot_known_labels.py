"""
Ask, answer, fit again
======================

**Twenty answers to what the model asks raise its accuracy from 89.9 to 97.2 %, in a third of the time of the first fit.
Twenty answers about random rows raise it to 96.3 %.**

A fit without labels doubts some rows. ``doubtful_rows`` names those whose right label would settle most; their labels
go into ``known_labels``, and with ``warm_start=True`` the next fit goes on from the weights there are, without
pretraining. Here the classes of the digits play the person who answers.
"""

import copy
import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from skspc import SPCClustering
from skspc.metrics import clustering_accuracy

images, digit = load_digits(return_X_y=True)
images, digit = images[:1000].reshape(-1, 8, 8), digit[:1000]
started = time.perf_counter()
model = SPCClustering(n_clusters=10, n_estimators=3, max_iter=2, random_state=0).fit(images)
print(f"without labels: {100 * clustering_accuracy(digit, model.labels_):.1f} %", end="")
print(f" in {time.perf_counter() - started:.0f} s")

# %%
# Twenty questions
# ----------------
# The digits that the model would like to know, with the number of the cluster it has put them in.

asked = model.doubtful_rows(20)
figure, axes = plt.subplots(2, 10, figsize=(8, 2.2), layout="constrained")
for row, ax in zip(asked, axes.ravel(), strict=True):
    ax.imshow(images[row], cmap="gray_r")
    ax.set(xticks=[], yticks=[])
    ax.set_title(f"cluster {model.labels_[row]}", fontsize=8)

# %%
# The answers
# -----------
# A fit that goes on keeps the names of the clusters, so answers are given in these: a cluster's surest images tell
# which digit it is. To be fair to chance, twenty random rows are answered too.

surest = model.cluster_representatives(5)
names = [np.bincount(digit[rows]).argmax() for rows in surest.sure]
cluster_of = dict(zip(names, surest.clusters.tolist(), strict=True))
print("clusters by digit:", {int(each): cluster_of[each] for each in sorted(cluster_of)})


def fit_again(rows):
    """Go on from the first fit by one round, with the digits of these rows known."""
    known = np.full(len(images), -1)
    known[rows] = [cluster_of.get(each, -1) for each in digit[rows]]
    started = time.perf_counter()
    again = copy.deepcopy(model).set_params(warm_start=True, max_iter=1).fit(images, known_labels=known)
    return again, time.perf_counter() - started


ways = {"doubtful rows": asked, "random rows": np.random.default_rng(0).choice(len(images), 20, replace=False)}
accuracies = {"none": clustering_accuracy(digit, model.labels_)}
for way, rows in ways.items():
    again, seconds = fit_again(rows)
    accuracies[way] = clustering_accuracy(digit, again.labels_)
    print(f"20 {way} answered: {100 * accuracies[way]:.1f} % in {seconds:.0f} s")

figure, ax = plt.subplots(figsize=(5.2, 2.2), layout="constrained")
bars = ax.barh(list(accuracies), [100 * each for each in accuracies.values()], color=["#BFBFBF", "#D55E00", "#0072B2"])
ax.bar_label(bars, fmt="%.1f", padding=3)
ax.set(xlabel="accuracy, %", xlim=(80, 100), ylabel="answers")
ax.invert_yaxis()
ax.spines[["top", "right"]].set_visible(False)
plt.show()
