"""Data sets by name, as the methods are given them, and their classes."""

import gzip
import hashlib
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from . import debian, packaged

N_FREQUENCIES = 32  # of 64: body movements are slower than 12.5 Hz
N_COMPONENTS = 100
TITLES = {
    "digits": "digits",
    "optdigits": "optdigits",
    "pendigits": "pendigits",
    "usps": "USPS",
    "mnist": "MNIST",
    "fashion_mnist": "Fashion-MNIST",
    "kmnist_test": "Kuzushiji-MNIST, test part",
    "coil20": "COIL-20",
    "har_inertial": "HAR",
    "stackoverflow_titles": "Stack Overflow titles",
    "iris": "iris",
    "wine": "wine",
    "breast_cancer": "breast cancer",
    "penguins": "penguins",
    "segment": "segments of photographs",
    "phishing": "phishing",
    "ionosphere": "ionosphere",
    "wisconsin": "Wisconsin breast cancer",
    "brown": "genes of yeast",
    "japanese_vowels": "Japanese vowels",
    "italy_power": "Italian power demand",
    "gunpoint": "gun or point",
    "osuleaf": "outlines of leaves",
    "descriptions": "descriptions of packages",
    "descriptions_2": "descriptions of packages, other sections",
    "descriptions_3": "descriptions of packages, a third eight",
    "dna": "DNA",
    "soybean": "diseases of soybeans",
    "votes": "votes of congress",
    "letter": "letters by their moments",
    "satellite": "pixels of a satellite",
    "vehicle": "outlines of vehicles",
    "vowel": "spoken vowels",
}
N_ROWS = {
    "digits": 1797,
    "optdigits": 5620,
    "pendigits": 10_992,
    "usps": 9298,
    "mnist": 70_000,
    "fashion_mnist": 70_000,
    "kmnist_test": 10_000,
    "coil20": 1440,
    "har_inertial": 10_299,
    "stackoverflow_titles": 20_000,
    **packaged.N_ROWS,
    **debian.N_ROWS,
}
IMAGES = ("digits", "optdigits", "usps", "mnist", "fashion_mnist", "kmnist_test", "coil20")
BY_LOADER = ("optdigits", "pendigits", "usps", "mnist", "fashion_mnist")  # of skspc.datasets


@dataclass(frozen=True)
class DataSet:
    """Rows, their classes, and what tells this copy of the data from another.

    Attributes
    ----------
    rows : ndarray of shape (N, H, W) or (N, n_features)
    classes : ndarray of shape (N,)
    digest : str
        Of the whole set as it is stored, before features are made of it.
    """

    rows: np.ndarray
    classes: np.ndarray
    digest: str


@cache
def load(name, n_rows=None):
    """A data set, or a random part of it that is the same in every run.

    Parameters
    ----------
    name : str
        A key of ``TITLES``.
    n_rows : int, default=None
        All rows where None, or more than there are.

    Returns
    -------
    data : DataSet
    """
    stored, classes = _stored(name)
    digest = hashlib.sha256(stored.tobytes() + classes.tobytes()).hexdigest()[:12]
    if n_rows is not None:
        chosen = np.sort(np.random.default_rng(0).permutation(len(stored))[:n_rows])
        stored, classes = stored[chosen], classes[chosen]
    return DataSet(make_rows(name, stored), classes, digest)


def _stored(name):
    """Rows as they are stored, and classes as int64."""
    if name == "digits":
        from sklearn.datasets import load_digits

        digits = load_digits()
        return digits.images, digits.target.astype(np.int64)
    if name in packaged.N_ROWS:
        return packaged.stored(name)
    if name in debian.N_ROWS:
        return debian.stored(name)
    if name in BY_LOADER:
        from skspc import datasets

        return getattr(datasets, f"fetch_{name}")(return_X_y=True)
    return _from_folder(name)


def _from_folder(name):
    """A set that only the folder ``SKSPC_DATA`` has."""
    file = f"{name}.tsv.gz" if name == "stackoverflow_titles" else f"{name}.npz"
    folder = os.environ.get("SKSPC_DATA")
    if not folder or not (Path(folder) / file).exists():
        raise FileNotFoundError(f"{TITLES[name]} is read from {file}: set SKSPC_DATA to a folder that has it.")
    path = Path(folder) / file
    if path.suffix == ".gz":
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            labels, texts = zip(*(line.rstrip("\n").split("\t", 1) for line in lines), strict=True)
        return np.array(texts), np.array(labels, dtype=np.int64)
    with np.load(path, allow_pickle=False) as archive:
        kind = next(key for key in ("images", "features", "signals") if key in archive)
        return archive[kind], archive["labels"].astype(np.int64)


def make_rows(name, stored):
    """What the methods are given: images and features as they are stored, or features made of what is stored.

    All methods get the same. optdigits is made float, so that its own range, 0 to 16, is its scale and not that of
    uint8.
    """
    if name == "har_inertial":
        return signal_features(stored)
    if name == "stackoverflow_titles" or name in debian.SECTIONS:
        return text_features(stored)
    return stored.astype(np.float64) if name == "optdigits" else stored


def signal_features(signals):
    """Standardised features of windows of sensor channels.

    Of each channel: mean, standard deviation, minimum, maximum, and log(1 + |FFT|) of the first 32 frequencies. They
    have units of their own, so each is brought to mean 0 and variance 1.

    Parameters
    ----------
    signals : ndarray of shape (N, n_channels, n_steps)

    Returns
    -------
    features : ndarray of shape (N, n_channels * 36)
    """
    from sklearn.preprocessing import StandardScaler

    signals = signals.astype(np.float64)
    spectrum = np.log1p(np.abs(np.fft.rfft(signals)[..., :N_FREQUENCIES]))
    moments = [statistic(signals, axis=2) for statistic in (np.mean, np.std, np.min, np.max)]
    features = np.concatenate([np.stack(moments, axis=2), spectrum], axis=2)
    return StandardScaler().fit_transform(features.reshape(len(signals), -1))


def text_features(texts):
    """TF-IDF of the words, in 100 dimensions (latent semantic analysis), each row of length 1.

    Parameters
    ----------
    texts : ndarray of shape (N,), str

    Returns
    -------
    features : ndarray of shape (N, 100)
        Fewer where there are fewer words.
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import normalize

    counts = TfidfVectorizer(sublinear_tf=True, stop_words="english").fit_transform(texts)
    n_components = min(N_COMPONENTS, counts.shape[1])
    return normalize(TruncatedSVD(n_components, random_state=0).fit_transform(counts))
