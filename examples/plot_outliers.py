"""
Doubt, and what has never been seen
===================================

**Nearly a third of the fives have a probability of .7 or more for a cluster of other digits. 96 % of them are above
.95 in ``outlier_score``, and so are 18 % of the new images of known digits.**

``agreement_`` and ``predict_proba`` tell between which clusters a row stands. They say nothing about a row that belongs
to none: it gets some cluster, and often a high probability. ``outlier_score`` tells how little a row is like anything
in the fit. Here no five is in the fit; then fives come, among new images of the other digits.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

from skspc import SPCClustering

digits = load_digits()
known = np.flatnonzero(digits.target != 5)
fitted = known[:1000]
new = np.concatenate([known[1000:], np.flatnonzero(digits.target == 5)])
images, is_five = digits.images[new], digits.target[new] == 5
model = SPCClustering(n_clusters=9, n_estimators=3, max_iter=1, random_state=0).fit(digits.images[fitted])

# %%
# Two things
# ----------
# Each new image by both: to the right are those that stand between clusters, at the top those that are like nothing.

doubt = 1 - model.predict_proba(images).max(axis=1)
score = model.outlier_score(images)
print(f"{is_five.sum()} fives among {len(new)} new images")
print(f"above .95 in outlier_score: {100 * (score[is_five] > 0.95).mean():.0f} % of the fives, ", end="")
print(f"{100 * (score[~is_five] > 0.95).mean():.0f} % of the others")
print(f"fives with a probability of at least .7: {100 * (doubt[is_five] <= 0.3).mean():.0f} %")
print(f"AUROC of outlier_score {roc_auc_score(is_five, score):.3f}, of doubt {roc_auc_score(is_five, doubt):.3f}")

figure, ax = plt.subplots(figsize=(6.4, 4.6), layout="constrained")
ax.scatter(doubt[~is_five], score[~is_five], s=14, color="#0072B2", alpha=0.6, label="digits of the fit")
ax.scatter(doubt[is_five], score[is_five], s=14, color="#D55E00", alpha=0.8, label="fives, never seen")
ax.axhline(0.95, color="#1A1A1A", linestyle=":")
ax.set(xlabel="doubt between clusters (1 - highest probability)", ylabel="outlier_score")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="lower right")

# %%
# What they look like
# -------------------
# Above: images like those of the fit, between two clusters. Below: those least like the fit. Orange frames are fives.

between = np.flatnonzero(score <= 0.95)
rows = [between[np.argsort(-doubt[between])][:12], np.argsort(-score)[:12]]
figure, axes = plt.subplots(2, 12, figsize=(9, 2), layout="constrained")
for of_kind, line, name in zip(rows, axes, ["between clusters", "like nothing"], strict=True):
    line[0].set_ylabel(name, rotation=0, ha="right", va="center")
    for row, ax in zip(of_kind, line, strict=True):
        ax.imshow(images[row], cmap="gray_r")
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set(color="#D55E00" if is_five[row] else "#BFBFBF", linewidth=2)

# %%
# Which doubted rows to look at
# -----------------------------
# Of the rows of the fit, ``doubtful_rows`` names those whose answer would settle most, each for many like it. Above
# them stand the clusters that have most votes; one alone where the other labellings make noise of a row.

asked = model.doubtful_rows(12)
figure, axes = plt.subplots(1, 12, figsize=(9, 1.2), layout="constrained")
for row, ax in zip(asked, axes, strict=True):
    votes = np.bincount(model.member_labels_[:, row] + 1, minlength=model.n_clusters_ + 1)[1:]
    ax.imshow(digits.images[fitted[row]], cmap="gray_r")
    ax.set(xticks=[], yticks=[])
    ax.set_title(" or ".join(str(cluster) for cluster in np.argsort(-votes)[:2] if votes[cluster]), fontsize=8)
plt.show()
