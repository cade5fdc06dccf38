"""
Training dynamics
=================

**Three rounds bring the agreed rows from 91 % to 96 %. Accuracy goes from 92 to 96 %, but not in step: after the second
round more rows are agreed than after the first, and fewer are right. Of the rows doubted before the first round 35 %
are right, of those doubted at the end 61 %.**

Agreement is what a fit goes by: it stops when agreement stops growing, and keeps the round with most of it. Only a
look at the classes, which a fit never takes, shows whether accuracy grew with it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from skspc import SPCClustering
from skspc.metrics import right_rows
from skspc.plotting import TrainingDynamicsDisplay

digits = load_digits()
images, y = digits.images[:600], digits.target[:600]

# %%
# A fit keeps the labels of its best round only. A monitor is told those of each round, but not which rows are agreed.
# With an int as ``random_state`` a fit with a smaller ``max_iter`` is the beginning of a longer one, so that shorter
# fits give both for the rounds before.

fits = [SPCClustering(10, n_estimators=3, max_iter=n, random_state=0).fit(images) for n in range(4)]
history = fits[-1].history_

print("round  agreed (%)  seconds of training, of labelling")
for row in history:
    seconds = row["seconds"]
    print(f"{row['round']:>5}{100 * row['agreed_share']:>12.1f}{seconds['train']:>9.1f}{seconds['cluster']:>14.1f}")

# %%
# Where agreement did not grow in a round, the fit that ends there keeps an earlier one; its labels are drawn for both.

right = [right_rows(y, model.labels_) for model in fits]
for model, of_round in zip(fits, right, strict=True):
    agreed = model.agreed_
    print(
        f"max_iter={model.max_iter}: round {model.best_iter_} kept, accuracy {100 * of_round.mean():.1f} %, "
        f"of the {agreed.sum()} agreed rows {100 * of_round[agreed].mean():.1f} %, "
        f"of the {(~agreed).sum()} others {100 * of_round[~agreed].mean():.1f} %"
    )
TrainingDynamicsDisplay.from_predictions(
    history, y_true=y, labels=[model.labels_ for model in fits], agreed=[model.agreed_ for model in fits]
)

# %%
# What the members say
# --------------------
# ``member_labels_`` has each labelling of the best round, noise included, which no label of the vote is.

best = fits[-1]
of_members = [100 * right_rows(y, labels).mean() for labels in best.member_labels_]
print("labellings:", np.round(of_members, 1).tolist(), "vote:", round(100 * right[-1].mean(), 1))
plt.show()
