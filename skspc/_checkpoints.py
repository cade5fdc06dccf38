"""Checkpoints of a fit: its progress and the ensemble's weights, written after pretraining and each round."""

import json
import shutil
import warnings
from dataclasses import asdict
from pathlib import Path

import joblib
import numpy as np
import safetensors.numpy
import torch
from safetensors import SafetensorError, safe_open

from ._consensus import Consensus
from ._device import to_numpy
from ._files import write_atomically
from ._rounds import Progress

N_KEPT = 2  # the newest, and one more in case the newest is not whole
PLAIN = ("n_clusters", "losses", "seconds", "history", "spaces")  # of Progress: what JSON holds
VOTES = ("consensus", "best")


def checkpoint_key(X, parameters, versions):
    """Name the fits that may go on where another stopped: the same rows, parameters and versions.

    Parameters
    ----------
    X : ndarray
    parameters, versions : dict

    Returns
    -------
    key : str
    """
    return joblib.hash((np.ascontiguousarray(X), parameters, versions))


class Checkpoints:
    """The checkpoints of one fit, in a folder of its own; none at all where ``folder`` is None.

    Parameters
    ----------
    folder : path-like or None
    key : str, optional
        Of `checkpoint_key`: the name of the fit's own folder.

    Raises
    ------
    OSError
        If the folder cannot be made.
    """

    def __init__(self, folder, key=""):
        self.folder = None if folder is None else Path(folder) / key
        if self.folder is not None:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                reason = f"checkpoint={str(folder)!r} cannot be written to ({error.strerror}). Pass another folder"
                raise OSError(error.errno, reason, str(self.folder)) from error

    def stored_seed(self):
        """Seed of the fit that stopped, or None."""
        for document, _ in self._whole_ones():
            return document["seed"]
        return None

    def read(self, ensemble):
        """Return the newest progress that is whole, and bring the ensemble to its weights; None if there is none."""
        for document, arrays in self._whole_ones():
            if document["groups"] == _members_of(ensemble):
                _load_weights(ensemble, document, arrays)
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
        return [] if self.folder is None else sorted(self.folder.glob("*.safetensors"), reverse=True)

    def _whole_ones(self):
        """Yield document and arrays of each file that is whole, the newest first."""
        for path in self._paths():
            try:
                with safe_open(path, framework="np") as file:
                    document = json.loads(file.metadata()["skspc"])
                    arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no mapping)
            except (SafetensorError, ValueError, KeyError, TypeError):
                continue  # cut short, by a full disk or a machine that went down
            yield document, arrays


def _describe(progress, ensemble):
    """What JSON holds of a checkpoint, and its arrays."""
    document = {name: getattr(progress, name) for name in PLAIN}
    document |= {"seed": ensemble.seed, "groups": _members_of(ensemble)}
    arrays: dict = {}
    for index, group in enumerate(ensemble.groups):
        arrays |= _to_arrays(f"group.{index}.autoencoder.", group.autoencoder.state_dict())
        arrays |= _to_arrays(f"group.{index}.heads.", group.heads.state_dict())
    for index, state in enumerate(progress.best_encoders):
        arrays |= _to_arrays(f"best_encoders.{index}.", state)
    for name in VOTES:
        consensus = getattr(progress, name)
        if consensus is not None:
            arrays |= {f"{name}.{part}": array for part, array in asdict(consensus).items()}
    return document, arrays


def _to_arrays(prefix, state):
    return {prefix + name: to_numpy(value) for name, value in state.items()}


def _members_of(ensemble):
    return [[group.members[0], len(group.members)] for group in ensemble.groups]


def _state_at(prefix, arrays):
    """State of a module from the arrays whose names begin so."""
    return {name.removeprefix(prefix): torch.tensor(a) for name, a in arrays.items() if name.startswith(prefix)}


def _load_weights(ensemble, document, arrays):
    if len(document["history"]) > 1:  # before the first round there are no heads
        ensemble.reset_heads(document["n_clusters"])
    for index, group in enumerate(ensemble.groups):
        group.autoencoder.load_state_dict(_state_at(f"group.{index}.autoencoder.", arrays))
        group.heads.load_state_dict(_state_at(f"group.{index}.heads.", arrays))


def _progress_of(document, arrays):
    parts: dict = {name: document[name] for name in PLAIN}
    for name in VOTES:
        if f"{name}.labels" in arrays:
            parts[name] = Consensus(**{part: arrays[f"{name}.{part}"] for part in ("labels", "votes", "aligned")})
    n_groups = len(document["groups"]) if document["history"] else 0
    encoders = [_state_at(f"best_encoders.{index}.", arrays) for index in range(n_groups)]
    return Progress(**parts, best_encoders=encoders)
