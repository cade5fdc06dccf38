"""A clusterer and a reducer in a few lines."""

import numpy as np


class FirstColumn:
    """Keeps the first latent."""

    def fit_transform(self, Z):
        return Z[:, :1]


class Thirds:
    """Cuts the rows, by rank of their first column, into three parts."""

    def fit_predict(self, Z):
        ranks = np.argsort(np.argsort(Z[:, 0]))
        return 3 * ranks // len(Z)
