"""
Training dynamics
=================

**Three rounds bring the agreed rows from 86 % to 94 %. Accuracy goes from 90 to 92 %, but not in step: after the second
round more rows are agreed than after the first, and fewer are right.**

So a fit does not choose a round by its agreement: it keeps the vote of all rounds, here 92 %. Only a look at the
classes, which a fit never takes, shows what each was worth.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import mode
from sklearn.datasets import load_digits

from skspc import SPCClustering
from skspc.metrics import right_rows
from skspc.plotting import TrainingDynamicsDisplay

digits = load_digits()
images, y = digits.images[:600], digits.target[:600]
model = SPCClustering(10, n_estimators=3, max_iter=3, random_state=0).fit(images)

print("round  agreed (%)  labels changed (%)  seconds of training, of labelling")
for row in model.history_:
    agreed, changed, seconds = 100 * row["agreed_share"], 100 * row["label_change"], row["seconds"]
    print(f"{row['round']:>5}{agreed:>12.1f}{changed:>20.1f}{seconds['train']:>9.1f}{seconds['cluster']:>14.1f}")

# %%
# ``member_labels_`` has the labellings of all rounds, one after the other. The first four of a round, of each member
# and of all latents side by side, make the vote that members are trained on next; those of the clusterer beside follow.
# A round that leaves members less alike than they were before any has none.

voting = [row for row in model.history_ if row["n_labellings"]]
ends = np.cumsum([row["n_labellings"] for row in voting])
rounds = [labellings[: model.n_estimators + 1] for labellings in np.split(model.member_labels_, ends[:-1])]
labels = [mode(labellings, axis=0).mode for labellings in rounds]
agreed = [(labellings == labellings[0]).all(axis=0) for labellings in rounds]
for row, of_round, sure in zip(voting, labels, agreed, strict=True):
    right = right_rows(y, of_round)
    print(
        f"round {row['round']}: accuracy {100 * right.mean():.1f} %, of the {sure.sum()} agreed rows "
        f"{100 * right[sure].mean():.1f} %, of the {(~sure).sum()} others {100 * right[~sure].mean():.1f} %"
    )
TrainingDynamicsDisplay.from_predictions(voting, y_true=y, labels=labels, agreed=agreed)

# %%
# The vote of all rounds
# ----------------------
# Where the labellings of all rounds agree, 97 labels of 100 are right; of the other rows four in five.

right, sure = right_rows(y, model.labels_), model.agreement_ == 1
print(
    f"all rounds: accuracy {100 * right.mean():.1f} %, of the {sure.sum()} rows on which all agree "
    f"{100 * right[sure].mean():.1f} %, of the {(~sure).sum()} others {100 * right[~sure].mean():.1f} %"
)
plt.show()
