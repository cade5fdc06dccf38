"""
How many clusters
=================

**Six digits, and nobody tells how many.** One ensemble is pretrained; its latents are clustered with each number in
turn, twice: each half of the rows alone. A number is good if all its clusters are found again.

``n_clusters_curve`` costs little more than the pretraining, since all numbers share it. It knows no classes. What it
finds need not be what one has in mind: a digit that is written in two ways is two clusters.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from skspc import SPCClustering
from skspc.plotting import ClusterTreeDisplay, NClustersCurveDisplay

digits = load_digits(n_class=6)
images = digits.images[:600]
model = SPCClustering(n_estimators=3, random_state=0)

# %%
# The curve
# ---------
# The largest number above the dotted line is the one to begin with, not an oracle: look at the others above it too.
# Grey and blue show what the members' agreement and the silhouette alone would say.

display = NClustersCurveDisplay.from_estimator(model, images, n_clusters=range(2, 10))
curve = display.curve
for count, held_out in zip(curve.n_clusters, curve.held_out_agreement, strict=True):
    print(f"{count:2d} clusters: held-out agreement {held_out:.2f}")
print("to begin with:", curve.best_n_clusters)

# %%
# Which clusters merge first
# --------------------------
# All labellings, with fewer clusters and with more, are asked how often they put the rows of two clusters together.
# Clusters that merge low in the tree are the first to be one, and the first candidates for ``merge``. Below are the
# means of their images.

labels = curve.labels[curve.n_clusters == (curve.best_n_clusters or 6)][0]
tree = ClusterTreeDisplay.from_predictions(labels, np.concatenate(curve.member_labels))

names = [int(tick.get_text()) for tick in tree.ax_.get_xticklabels()]
figure, axes = plt.subplots(1, len(names), figsize=(len(names), 1.3), layout="constrained")
for name, ax in zip(names, axes, strict=True):
    ax.imshow(images[labels == name].mean(axis=0), cmap="gray_r")
    ax.set(xticks=[], yticks=[], title=f"cluster {name}")
    ax.title.set_fontsize(8)
plt.show()
