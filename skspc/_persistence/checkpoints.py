"""Checkpoints of a fit: its progress and the ensemble's weights, written after pretraining and each round."""

import json
import shutil
import warnings
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from pickle import PicklingError

import joblib
import numpy as np
import safetensors.numpy
import torch
from safetensors import SafetensorError, safe_open

from .._method.consensus import Consensus
from .._method.progress import Progress
from .._runtime.arrays import to_numpy
from .files import find_place, os_errors, write_atomically

N_KEPT = 2  # the newest, and one more in case the newest is not whole
LIBRARIES = ("torch", "numpy", "scipy", "scikit-learn", "umap-learn", "hdbscan")
FORMAT = 5  # of what a checkpoint holds: others are not found
PLAIN = ("n_clusters", "losses", "seconds", "history", "spaces", "rule", "n_neighbors")  # of Progress: what JSON holds
VOTES = ("consensus", "vote")


def checkpoint_key(X, parameters, circumstances):
    """Name the fits that may go on where another stopped: the same rows, parameters and circumstances.

    Circumstances are what else the labels depend on. A TypeError tells of a parameter that has no hash that is the same
    in another process.
    """
    hashes = {name: _hash_parameter(name, value) for name, value in parameters.items()}
    versions = {library: version(library) for library in LIBRARIES}
    return joblib.hash((np.ascontiguousarray(X), hashes, circumstances, versions, FORMAT))


def _hash_parameter(name, value):
    try:
        return joblib.hash(value)
    except (PicklingError, AttributeError, TypeError) as error:
        raise TypeError(
            f"{name}={value!r} cannot be recognised in another process, so that no checkpoint could be found again. "
            "Pass a function defined in a module or an object of a class defined in one; or checkpoint=None."
        ) from error


class Checkpoints:
    """The checkpoints of one fit, in a folder of its own inside ``folder``, named by the key of `checkpoint_key`.

    There are none at all where ``folder`` is None; ``~`` is expanded. An OSError tells if the folder cannot be made.
    """

    def __init__(self, folder, key=""):
        self.folder = None
        if folder is not None:
            with os_errors(f"checkpoint={str(folder)!r} cannot be written to, pass another folder", folder):
                self.folder = Path(find_place(folder)[0]) / key
                self.folder.mkdir(parents=True, exist_ok=True)

    def stored_seed(self):
        """Seed of the fit that stopped, or None."""
        for document, _ in self._whole_ones():
            return document["seed"]
        return None

    def read(self, ensemble):
        """Return the newest progress that is whole, and bring the ensemble to its weights; None if there is none."""
        for document, arrays in self._whole_ones():
            if len(document["history"]) > 1:  # before the first round there are no heads
                ensemble.reset_heads(document["n_clusters"])
            parts = ("autoencoder", "heads")
            ensemble.load_state({part: _state_at(f"{part}.", arrays) for part in parts})
            ensemble.diverged = document["diverged"]
            return _progress_of(document, arrays)
        return None

    def write(self, progress, ensemble):
        """Write a checkpoint. Where that fails, a warning tells why, and the fit goes on."""
        if self.folder is None:
            return
        document, arrays = _describe(progress, ensemble)
        path = self.folder / f"{len(progress.history):04d}.safetensors"
        try:
            data = safetensors.numpy.save(arrays, {"skspc": json.dumps(document)})
            write_atomically(path, data, "A checkpoint")
            for old in self._paths()[N_KEPT:]:
                old.unlink()
        except OSError as error:
            warnings.warn(f"{error}. The fit goes on without it.", RuntimeWarning, stacklevel=2)

    def remove(self):
        """Remove all of this fit's checkpoints, which is done."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _paths(self):
        """Checkpoints, the newest first."""
        paths = [] if self.folder is None else self.folder.glob("*.safetensors")
        return sorted((path for path in paths if path.is_file()), reverse=True)

    def _whole_ones(self):
        """Yield document and arrays of each file that is whole, the newest first."""
        for path in self._paths():
            try:
                with safe_open(path, framework="np") as file:
                    document = json.loads(file.metadata()["skspc"])
                    arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no mapping)
            except (SafetensorError, ValueError, KeyError, TypeError, OSError):
                path.unlink(missing_ok=True)  # cut short, by a full disk or a machine that went down
                continue
            yield document, arrays


def _describe(progress, ensemble):
    """What JSON holds of a checkpoint, and its arrays."""
    document = {name: getattr(progress, name) for name in PLAIN}
    document |= {"seed": ensemble.seed, "diverged": sorted(ensemble.diverged)}
    states = ensemble.state() | {"best_encoders": progress.best_encoders}
    arrays = {f"{part}.{name}": to_numpy(value) for part, state in states.items() for name, value in state.items()}
    for name in VOTES:
        consensus = getattr(progress, name)
        if consensus is not None:
            arrays |= {f"{name}.{part}": array for part, array in asdict(consensus).items()}
    arrays |= {f"layouts.{space}": layout for space, layout in progress.layouts.items()}
    return document, arrays


def _state_at(prefix, arrays):
    """State of a module from the arrays whose names begin so."""
    return {name.removeprefix(prefix): torch.tensor(a) for name, a in arrays.items() if name.startswith(prefix)}


def _progress_of(document, arrays):
    parts: dict = {name: document[name] for name in PLAIN}
    for name in VOTES:
        if f"{name}.labels" in arrays:
            parts[name] = Consensus(**{part: arrays[f"{name}.{part}"] for part in ("labels", "votes", "aligned")})
    starts = {name: array for name, array in arrays.items() if name.startswith("layouts.")}
    layouts = {int(name.removeprefix("layouts.")): array for name, array in starts.items()}
    return Progress(**parts, layouts=layouts, best_encoders=_state_at("best_encoders.", arrays))
