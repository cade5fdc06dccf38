"""Damage and forge saved models, and see what `SPCClustering.load` makes of them.

    python checks/fuzz_model_files.py [--mutations 1000] [--seed 0]

Damaged files (bits, lengths, splices, header text) must raise ValueError or give the very model that was saved. Forged
files (JSON or arrays changed, checksum made to fit) must raise ValueError or give a model that predicts and is saved
again. Anything else, more than 5 s, or more than 512 MiB of new address space is a fault, and ends the run. Linux only.
"""

import argparse
import json
import resource
import signal
import struct
import sys
import tempfile
import warnings
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import safetensors
import safetensors.numpy
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs

from skspc import SPCClustering
from skspc._persistence.model_files import _digest
from skspc.clusterers import HDBSCANCut
from skspc.networks import ConvNetwork, MLPNetwork

SECONDS, MEMORY = 5, 512 * 2**20
JUNK = [
    *(None, True, -1, 0, 1, 3, 2**31, 10**30, 0.5, -1e308, float("nan"), float("inf"), "", "auto", "\ud800", [], {}),
    *({"tuple": [10**9]}, {"tuple": 5}, {"dict": []}, {"device": "cuda:7"}, {"device": "no"}, {"a": 1, "b": 2}),
    *({"scalar": ["float32", 1e300]}, {"scalar": ["int8", 300]}, {"scalar": ["object", 1]}, {"scalar": [[], {}]}),
    *({"part": ["os.system", {"command": "true"}]}, {"part": ["KMeans", {}]}, {"part": ["ConvNetwork", {"x": 1}]}),
    *({"part": ["MLPNetwork", {"hidden": {"tuple": [2**31] * 4}}]}, {"part": ["HDBSCANCut", {}]}, {"part": [[], {}]}),
    {"part": ["ConvNetwork", {"convolutions_per_stage": 10**9}]},
]


# Damage


def flip_bits(data, random):
    damaged = bytearray(data)
    for _ in range(random.integers(1, 9)):
        damaged[random.integers(len(data))] ^= 1 << random.integers(8)
    return bytes(damaged)


def flip_header_bits(data, random):
    damaged = bytearray(data)
    damaged[random.integers(8 + struct.unpack("<Q", data[:8])[0])] ^= 1 << random.integers(8)
    return bytes(damaged)


def truncate(data, random):
    return data[: random.integers(len(data))]


def insert(data, random):
    at = random.integers(len(data) + 1)
    return data[:at] + random.bytes(random.integers(1, 65)) + data[at:]


def splice(data, random):
    """Put a stretch of the file over another."""
    length = int(random.integers(1, 4097))
    source, target = random.integers(len(data) - length, size=2)
    return data[:target] + data[source : source + length] + data[target + length :]


def claim_header_length(data, random):
    return struct.pack("<Q", int.from_bytes(random.bytes(8), "little") >> int(random.integers(64))) + data[8:]


def edit_header(data, random):
    """Another dtype, shape or place of one array, or another string."""
    header, content = split(data)
    name = random.choice([key for key in header if key != "__metadata__"])
    entry = header[name]
    field = random.choice(["dtype", "shape", "data_offsets", "name", "metadata"])
    if field == "name":
        header[f"{name}x"] = header.pop(name)
    elif field == "metadata":
        header["__metadata__"] = {str(random.choice(["skspc", "other"])): str(random.choice(["", "1", "{}"]))}
    elif field == "dtype":
        entry["dtype"] = str(random.choice(["F16", "BF16", "I32", "U8", "F8_E4M3", "F4", "C64", "X"]))
    else:
        entry[field] = [int(random.choice([0, 1, 2**31, 2**62, *entry[field]])) for _ in range(random.integers(4))]
    return join(header, content)


# Forgery: the checksum fits


def forge_json(data, random):
    """Change one to three places of the model's JSON."""
    document, arrays = unseal(data)
    for _ in range(random.integers(1, 4)):
        holder, key = random_place(document, random)
        deed = random.choice(["replace", "delete", "copy"])
        if deed == "replace":
            holder[key] = JUNK[random.integers(len(JUNK))]
        elif deed == "delete":
            del holder[key]
        else:
            other, other_key = random_place(document, random)
            holder[key] = json.loads(json.dumps(other[other_key]))
    return seal(document, arrays)


def forge_text(data, random):
    """Text that is no JSON of a model, or far too deep."""
    header, content = split(data)
    text = header["__metadata__"]["skspc"]
    at = random.integers(len(text))
    texts = ["[" * 200_000, '{"a":' * 50_000, "9" * 10_000, "null", text[:at], text[:at] + "[" * 30_000 + text[at:]]
    header["__metadata__"]["skspc"] = texts[random.integers(len(texts))]
    return join(header, content)


def forge_arrays(data, random):
    """Arrays of other shapes, dtypes and values, under other names, one too many or one too few."""
    document, arrays = unseal(data)
    name = str(random.choice(list(arrays)))
    array = arrays[name]
    if random.random() < 0.1:
        return seal(document, {**arrays, "extra": array})
    forged = [
        np.zeros(0, array.dtype),
        np.zeros((0, *array.shape), array.dtype),
        array[None],
        array.ravel(),
        np.zeros(array.shape, np.float16),
        np.concatenate([array.ravel(), array.ravel()]),
        np.full_like(array, 127),
        (array + np.nan).astype(np.float32) if array.dtype.kind == "f" else array - 2 * (array.dtype.kind == "i"),
        None,
    ][random.integers(9)]
    rest = {key: value for key, value in arrays.items() if key != name}
    return seal(document, rest if forged is None else {**rest, name: forged})


def random_place(document, random):
    """A holder (dict or list) within JSON, and a key or index of it."""
    place = document, random.choice(sorted(document))
    while True:
        inner = place[0][place[1]]
        if not isinstance(inner, (dict, list)) or not inner or random.random() < 0.1:
            return place
        keys = sorted(inner) if isinstance(inner, dict) else range(len(inner))
        place = inner, keys[random.integers(len(keys))]


DAMAGES = [flip_bits, flip_header_bits, truncate, insert, splice, claim_header_length, edit_header]
FORGERIES = [forge_json, forge_json, forge_json, forge_text, forge_arrays]


def split(data):
    length = struct.unpack("<Q", data[:8])[0]
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def join(header, content):
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + content


def unseal(data):
    document = json.loads(split(data)[0]["__metadata__"]["skspc"])
    del document["sha256"]
    return document, safetensors.numpy.load(data)


def seal(document, arrays):
    """A file whose checksum fits."""
    arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    document = {**document, "sha256": _digest(document, arrays)}
    return safetensors.numpy.save(arrays, {"skspc": json.dumps(document)})


# Outcomes


def fit_models():
    """Small fitted models with the rows they predict: vectors, and images with objects as parameters."""
    X, _ = make_blobs(n_samples=60, n_features=3, centers=3, random_state=0)
    images = load_digits(n_class=3).images[:60]
    quick = {"n_estimators": 3, "pretrain_epochs": 1, "epochs": 1, "max_iter": 1, "reducer": None, "random_state": 0}
    conv = ConvNetwork(latent_size=3, channels=(2, 4))
    yield SPCClustering(3, network=MLPNetwork(hidden=(6,)), **quick).fit(X), X
    yield SPCClustering(3, network=conv, clusterer=HDBSCANCut(min_samples=np.int64(5)), **quick).fit(images), images


def outcome(mutate, data, model, X, random, folder):
    """One mutation: "refused", "equal" or, of a forgery, "another"; AssertionError or any other error is a fault."""
    path = folder / "mutated.skspc"
    path.write_bytes(mutate(data, random))
    try:
        loaded = SPCClustering.load(path)
    except ValueError as error:
        if str(path) not in str(error):
            raise AssertionError("The message does not name the file.") from error
        return "refused"
    if is_equal(loaded, data, path):
        return "equal"
    if mutate in DAMAGES:
        raise AssertionError("A damaged file gave another model.")
    clone(loaded).get_params()
    if loaded.n_features_in_ == model.n_features_in_ and loaded._image_shape == model._image_shape:
        with warnings.catch_warnings():  # a forged range of pixels is another scale, rightly warned of
            warnings.filterwarnings("ignore", "X has images with values from", UserWarning)
            loaded.set_output(transform="default").predict_proba(np.asarray(X))
    return "another"


def is_equal(loaded, data, path):
    """Whether a model is saved as ``data``."""
    loaded.save(path)
    return path.read_bytes() == data


@contextmanager
def time_limit():
    def too_slow(*_):
        raise TimeoutError(f"More than {SECONDS} s without an outcome.")

    before = signal.signal(signal.SIGALRM, too_slow)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def run(n_mutations, seed):
    """Counts of (mutation, outcome) over the models of `fit_models`."""
    counts: Counter = Counter()
    random = np.random.default_rng(seed)
    models = list(fit_models())
    mutations = DAMAGES + FORGERIES
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "model.skspc"
        for i in range(n_mutations):
            model, X = models[i // len(mutations) % 2]
            model.save(path)
            mutate = mutations[i % len(mutations)]
            with time_limit():
                found = outcome(mutate, path.read_bytes(), model, X, random, Path(name))
            counts[mutate.__name__, found] += 1
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mutations", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    run(len(DAMAGES + FORGERIES), arguments.seed)  # what is loaded and compiled on first use counts as no model's
    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (in_use + MEMORY, in_use + MEMORY))
    counts = run(arguments.mutations, arguments.seed)
    outcomes = ("refused", "equal", "another")
    print(f"| mutation | {' | '.join(outcomes)} |\n| --- | --- | --- | --- |")
    for name in dict.fromkeys(name for name, _ in counts):
        print(f"| {name} | {' | '.join(str(counts[name, found]) for found in outcomes)} |")
    print(f"\n{sum(counts.values())} mutations, python {sys.version.split()[0]}, safetensors {safetensors.__version__}")


if __name__ == "__main__":
    main()
