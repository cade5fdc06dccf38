"""Does it work: short fits on the device and on the CPU, side by side; and does a seed repeat."""

from functools import cached_property, partial

import numpy as np
from sklearn.datasets import load_digits, load_wine

from skspc import SPCClustering
from skspc.metrics import clustering_accuracy

from .rows import Found, Row, alike

SHORT = {  # epochs of fits that end in seconds and are not much worse than whole ones
    "digits, images": {"pretrain_epochs": 8, "epochs": 2},
    "wine, vectors": {"pretrain_epochs": 60, "epochs": 10},
}
LOSSES_APART = 0.05  # share of the loss, above which something is wrong


class Pair:
    """A fit on the device, and the same on the CPU."""

    def __init__(self, name, precision, job):
        self.name, self.precision, self.job = name, precision, job

    @cached_property
    def data(self):
        digits = load_digits()
        X, y = load_wine(return_X_y=True) if "vectors" in self.name else (digits.images, digits.target)
        n_rows = self.job.part_of(len(X))
        chosen = np.sort(np.random.default_rng(0).permutation(len(X))[:n_rows])
        return X[chosen], y[chosen]

    def fit(self, device):
        X, y = self.data
        settings = {"n_estimators": min(3, self.job.n_members), "max_iter": 1, "random_state": 0}
        settings |= SHORT[self.name] | self.job.changes | {"device": str(device), "precision": self.precision}
        return SPCClustering(len(np.unique(y)), **settings).fit(X)

    @cached_property
    def on_device(self):
        return self.fit(self.job.device)

    @cached_property
    def on_cpu(self):
        return self.fit("cpu")


def works_rows(job):
    rows = []
    for name in SHORT:
        for precision in ("float32", "bfloat16"):
            pair = Pair(name, precision, job)
            for asked, measure in (("fit", fits), ("the same seed", repeats), ("predict", predicts)):
                rows.append(Row(f"{name}, {precision}: {asked}", partial(measure, pair)))
    return rows


def fits(pair):
    """Accuracy and loss of pretraining, beside those of the CPU."""
    models = pair.on_device, pair.on_cpu
    accuracies = [100 * clustering_accuracy(pair.data[1], model.labels_) for model in models]
    losses = [model.history_[0]["losses"]["reconstruction"] for model in models]
    apart = abs(losses[0] - losses[1]) / losses[1]
    return Found(
        "accuracy {:.1f} %, the CPU's {:.1f} %".format(*accuracies),
        alike(apart <= LOSSES_APART, "losses alike", "losses differ"),
        "loss of pretraining {:.5f}, the CPU's {:.5f}".format(*losses),
    )


def repeats(pair):
    """Whether a second fit of the same seed has the same labels."""
    first, second = pair.on_device, pair.fit(pair.job.device)
    n_others = int(np.sum(first.labels_ != second.labels_))
    same = [row["losses"] for row in first.history_] == [row["losses"] for row in second.history_]
    note = f"losses are {'the same' if same else 'others'} to the last digit"
    return Found(f"{n_others} labels differ", alike(n_others == 0, "a seed repeats", "other labels"), note)


def predicts(pair):
    """Whether the model that was fitted on the device predicts on the CPU what it does on the device."""
    X, found = pair.data[0], []
    for device in (str(pair.job.device), "cpu"):
        model = pair.on_device.set_params(device=device)
        found.append((model.predict(X), model.predict_proba(X)))
    pair.on_device.set_params(device=str(pair.job.device))
    (labels, probabilities), (of_cpu, probabilities_of_cpu) = found
    n_others = int(np.sum(labels != of_cpu))
    as_fitted = [100 * np.mean(each == pair.on_device.labels_) for each in (labels, of_cpu)]
    apart = np.abs(probabilities - probabilities_of_cpu).max()
    return Found(
        f"{n_others} labels differ from the CPU's",
        alike(n_others == 0, "predicts alike", "predicts otherwise"),
        f"probabilities differ by {apart:.1g} at most; as fitted {as_fitted[0]:.1f} %, on the CPU {as_fitted[1]:.1f} %",
    )
