"""Figures of the paper: Mahon & Lukasiewicz (2021), "Selective Pseudo-Label Clustering", in percent.

Accuracy and NMI, for some with the printed spread: "central tendency" of five runs, of three in the ablations.
USPS's spread .94 cannot be a standard deviation of five runs with mean 98.40 and best 98.44 (that is .09 at most).
"""

from typing import NamedTuple


class Figure(NamedTuple):
    """One printed result."""

    accuracy: float
    nmi: float
    accuracy_spread: float | None = None
    nmi_spread: float | None = None


DATA = ("mnist", "usps", "fashion_mnist")
SPC = (Figure(99.03, 97.04, 0.1, 0.25), Figure(98.40, 95.42, 0.94, 0.15), Figure(65.58, 72.09, 2.09, 1.28))
SPC_GMM = (Figure(99.05, 97.10, 0.2, 0.47), Figure(98.18, 94.93, 0.14, 0.32), Figure(65.03, 69.51, 1.54, 1.21))
A3 = (Figure(98.02, 94.45, 0.19, 0.43), Figure(95.85, 89.77, 0.80, 1.65), Figure(59.23, 67.09, 3.58, 3.77))

# Table 1. Its rows of other methods are from their own papers, or (VADE to DCN, in part) from Mrabah et al. (2019).
MAIN = {
    "spc": SPC,
    "spc-k15": SPC,
    "spc-gmm": SPC_GMM,
    "n2d": (Figure(97.9, 94.2), Figure(95.8, 90.0), Figure(67.2, 68.4)),
    "idec": (Figure(88.06, 86.72), Figure(76.05, 78.46), Figure(52.9, 55.7)),
    "dec": (Figure(84.3, 83.4), Figure(76.2, 76.7), Figure(51.8, 54.6)),
    "dcn": (Figure(83.0, 81.0), Figure(68.8, 68.3), Figure(50.1, 55.8)),
}
# Table 2.
ABLATIONS = {
    "spc": SPC,
    "spc-gmm": SPC_GMM,
    "a1": (Figure(98.01, 94.46, 0.04, 0.11), Figure(97.03, 92.43, 0.65, 1.29), Figure(63.12, 70.59, 0.16, 0.01)),
    "a2": (Figure(98.18, 94.86, 0.05, 0.09), Figure(97.31, 92.99, 0.89, 1.84), Figure(60.60, 68.77, 4.45, 0.48)),
    "a3": A3,
    "a4": (Figure(97.88, 94.8, 0.72, 0.85), Figure(87.49, 82.68, 7.93, 2.6), Figure(61.2, 67.28, 4.28, 1.72)),
    "a5-k1": (Figure(96.17, 91.07, 0.26, 0.23), Figure(87.00, 80.79, 8.88, 7.43), Figure(55.29, 66.07, 3.54, 1.04)),
    "a6": (Figure(70.24, 77.42), Figure(70.46, 71.11), Figure(42.08, 49.22)),
}
# Table 3.
ENSEMBLE_SIZE = {
    "k25": (Figure(98.48, 95.60), Figure(97.70, 93.82), Figure(67.67, 73.25)),
    "k20": (Figure(98.49, 95.64), Figure(97.87, 94.21), Figure(67.52, 73.13)),
    "k15": SPC,
    "k12": (Figure(98.82, 96.54), Figure(98.20, 95.02), Figure(67.77, 73.13)),
    "k10": (Figure(98.78, 96.42), Figure(98.39, 95.47), Figure(62.93, 69.89)),
    "k8": (Figure(98.75, 96.32), Figure(98.41, 95.44), Figure(67.45, 71.99)),
    "k6": (Figure(98.61, 95.90), Figure(98.40, 95.39), Figure(63.84, 70.62)),
    "k5": (Figure(98.56, 95.82), Figure(98.30, 95.19), Figure(67.91, 73.46)),
    "k4": (Figure(98.47, 95.60), Figure(98.27, 95.18), Figure(67.90, 73.38)),
    "k3": (Figure(98.44, 95.50), Figure(98.15, 94.84), Figure(63.36, 70.88)),
    "k2": (Figure(98.27, 95.07), Figure(97.98, 94.40), Figure(62.9, 70.41)),
    "k1": A3,
}
TABLES = {"main": MAIN, "ablations": ABLATIONS, "ensemble-size": ENSEMBLE_SIZE}

# Tables 4 to 6 (appendix): one run each, sorted here, since names of clusters mean nothing.
CLUSTER_SIZES = {
    ("mnist", "spc"): (7878, 7384, 7095, 6979, 6962, 6923, 6911, 6802, 6776, 6290),
    ("mnist", "spc-gmm"): (7885, 7350, 7096, 6976, 6958, 6942, 6906, 6802, 6791, 6294),
    ("usps", "spc"): (1565, 1272, 933, 856, 834, 833, 819, 787, 706, 693),
    ("usps", "spc-gmm"): (1559, 1271, 930, 862, 835, 834, 833, 785, 699, 690),
    ("fashion_mnist", "spc"): (21333, 9258, 7411, 6755, 6591, 6046, 5666, 3711, 3173, 56),
    ("fashion_mnist", "spc-gmm"): (16379, 9127, 8814, 7389, 6807, 6753, 6700, 4482, 3111, 438),
}


def printed_figure(table, method, dataset):
    """The paper's `Figure` for a row of a table, or None where it has none."""
    figures = TABLES.get(table, {}).get(method)
    return figures[DATA.index(dataset)] if figures and dataset in DATA else None
