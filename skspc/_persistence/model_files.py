"""Models in files: arrays by safetensors, the rest as JSON in its header. Nothing that a file holds is ever run."""

import hashlib
import json
import math
import os
from pathlib import Path, PurePath

import numpy as np
import safetensors.numpy
import torch
from safetensors import SafetensorError, safe_open
from sklearn.utils.validation import check_is_fitted

from .._constants import NOISE
from .._ensemble.ensemble import Ensemble
from .._ensemble.packing import MAX_LENGTH, can_be_packed, describe, pack_ensemble, unpack_groups
from .._input.scaling import Scaling
from .._version import __version__
from ..augmentations import AffineAugmentation
from ..clusterers import AgglomerativeClusterer, GaussianMixtureClusterer, HDBSCANCut, UMAPReducer
from ..networks import ConvNetwork, MLPNetwork
from .files import find_file, os_errors, write_atomically

FORMAT = 3  # a change that this reader would misread makes it 4
OLDER_FORMATS = (1, 2)  # read all the same; they have no rows that are kept
DTYPES = {"F32", "F64", "I64", "BOOL"}
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
SCALARS = ("bool", *INTEGERS, "float16", "float32", "float64", "str")
LABELS = ("labels_", "agreement_", "agreed_", "label_probability_", "member_labels_")
SCALING = ("unit", "offset", "scale", "limit")
KEPT = ("rows", "latents", "figures")
MAX_SEED = 2**63
# What may be built of a file: objects that are no more than their parameters.
PARTS = {
    part.__name__: part
    for part in (
        AffineAugmentation,
        AgglomerativeClusterer,
        ConvNetwork,
        GaussianMixtureClusterer,
        HDBSCANCut,
        MLPNetwork,
        UMAPReducer,
    )
}


def save_model(model, path):
    """Write a fitted model to one file; see `SPCClustering.save`."""
    check_is_fitted(model)
    model._validate_params()
    parameters = {name: encode(value, name) for name, value in model.get_params(deep=False).items()}
    fit, arrays = _describe_fit(model)
    document = {"format": FORMAT, "skspc": __version__, "parameters": parameters, **fit}
    document["sha256"] = _digest(document, arrays)
    write_atomically(path, safetensors.numpy.save(arrays, {"skspc": json.dumps(document)}), "The model")


def load_model(cls, path):
    """Read a model of class ``cls`` back; see `SPCClustering.load`."""
    with os_errors("The model was not read", path):
        place, _ = find_file(path)
        with open(place, "rb"):  # the error of a file that cannot be opened names it; that of safetensors does not
            pass
    try:
        return _rebuild(cls, *_read(place))
    except (ValueError, SafetensorError, RecursionError) as error:
        raise ValueError(f"{os.fspath(path)!r} is no model that can be loaded: {error}") from error


# Values as JSON


def encode(value, name):
    """Turn a value into what JSON holds; every JSON object is one ``{type: content}``.

    A TypeError names the parameter whose object only code named by the file could build again.
    """
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is list:
        return [encode(item, name) for item in value]
    if type(value) is tuple:
        return {"tuple": [encode(item, name) for item in value]}
    if type(value) is dict and all(type(key) is str for key in value):
        return {"dict": {key: encode(item, name) for key, item in value.items()}}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    if isinstance(value, PurePath):
        return {"path": str(value)}
    if isinstance(value, np.generic):
        kind = "str" if isinstance(value, np.str_) else value.dtype.name
        if kind in SCALARS:
            return {"scalar": [kind, value.item()]}
    if PARTS.get(type(value).__name__) is type(value):
        parameters = value.get_params(deep=False).items()
        return {"part": [type(value).__name__, {key: encode(item, f"{name}__{key}") for key, item in parameters}]}
    raise TypeError(
        f"{name}={value!r} cannot be saved: to build a {type(value).__module__}.{type(value).__qualname__} again, "
        f"code that the file names would have to run. Replace it first, by set_params({name}=...), with a name, a "
        "number or an object of skspc's own, which changes nothing of what has been fitted; or use joblib.dump, whose "
        "files must be trusted."
    )


def decode(value):
    """Undo `encode`; ValueError for what it cannot have made."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    _check(len(value) == 1, "an object in its header has no type")
    ((kind, content),) = value.items()
    if kind == "tuple":
        return tuple(decode(_check_type(content, list)))
    if kind == "dict":
        return {key: decode(item) for key, item in _check_type(content, dict).items()}
    if kind == "device":
        return _decode_device(_check_type(content, str))
    if kind == "path":
        return Path(_check_type(content, str))
    _check(kind in ("scalar", "part"), f"its header has an object of an unknown type {kind!r:.50}")
    _check(len(_check_type(content, list)) == 2, f"its header has an incomplete {kind}")
    return _decode_scalar(*content) if kind == "scalar" else _decode_part(*content)


def _decode_device(name):
    try:
        return torch.device(name)
    except RuntimeError as error:
        raise ValueError(f"device={name!r:.50} is none that torch knows") from error


def _decode_scalar(kind, value):
    _check(kind in SCALARS, f"its header has a number of an unknown type {kind!r:.50}")
    _check_type(value, str if kind == "str" else (bool, int, float))
    dtype = np.dtype(kind)
    if dtype.kind in "iu":  # NumPy 1 wraps around
        _check(np.iinfo(dtype).min <= value <= np.iinfo(dtype).max, f"{value!r:.50} is no {kind}")
    try:
        with np.errstate(over="raise"):
            return dtype.type(value)
    except (OverflowError, FloatingPointError) as error:
        raise ValueError(f"{value!r:.50} is no {kind}") from error


def _decode_part(name, parameters):
    _check(_check_type(name, str) in PARTS, f"it names {name!r:.50}, and only {', '.join(sorted(PARTS))} are built")
    return _build(PARTS[name], _check_type(parameters, dict))


def _build(cls, parameters):
    """An estimator of encoded parameters; those that an older file lacks have their defaults."""
    unknown = sorted(set(parameters) - set(cls._get_param_names()))
    _check(not unknown, f"{cls.__name__} has no parameter {unknown[:1]}; a newer skspc may have")
    return cls(**{key: decode(value) for key, value in parameters.items()})


def _check(holds, fault):
    if not holds:
        raise ValueError(f"{fault}.")


def _check_type(value, types):
    _check(isinstance(value, types), f"its header has {value!r:.50} where it cannot be")
    return value


def _check_count(value, low, high):
    """Refuse what is no int between ``low`` and ``high``."""
    _check(type(value) is int and low <= value <= high, f"its header has {value!r:.50}, not a number up to {high}")
    return value


# What has been fitted


def _describe_fit(model):
    """What JSON holds of a fit, and its arrays."""
    if not can_be_packed(model._ensemble):
        raise TypeError(
            f"A model with the autoencoder {type(model._ensemble.groups[0].autoencoder).__qualname__} cannot be saved: "
            "only the code of its network can build it again. Use joblib.dump, whose files must be trusted."
        )
    names = getattr(model, "feature_names_in_", None)
    ensemble = pack_ensemble(model._ensemble)
    arrays = ensemble.pop("arrays")
    arrays |= {name: getattr(model, name) for name in LABELS}
    arrays |= {f"scaling.{name}": np.float64(getattr(model._scaling, name)) for name in SCALING}
    arrays |= {f"kept.{name}": array for name, array in (model._kept or {}).items()}
    fit = {
        "history": model.history_,
        "best_iter": model.best_iter_,
        "predict_consistency": model.predict_consistency_,
        "feature_names": None if names is None else names.tolist(),
        "output": getattr(model, "_sklearn_output_config", {}).get("transform"),
        "ensemble": ensemble,
    }
    arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    return {name: encode(value, name) for name, value in fit.items()}, arrays


def _digest(document, arrays):
    """SHA-256 of all that a file holds. It tells damage, not forgery."""
    digest = hashlib.sha256(json.dumps(document, sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name}: {describe(array.dtype, array.shape)}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _read(path):
    """What JSON holds of a model, and the arrays of a file that is whole and of a known format."""
    with safe_open(path, framework="np") as file:
        header = file.metadata() or {}
        _check("skspc" in header, "its header is not that of a model of skspc")
        document = _check_type(json.loads(header["skspc"]), dict)
        _check_format(document)
        dtypes = {file.get_slice(name).get_dtype() for name in file.keys()}  # noqa: SIM118 (it is no mapping)
        _check(dtypes <= DTYPES, f"it holds arrays of {', '.join(sorted(dtypes - DTYPES))}")
        # A copy: what safetensors returns may be a view of the file, which others can write to.
        arrays = {name: np.array(file.get_tensor(name)) for name in file.keys()}  # noqa: SIM118
    expected = document.pop("sha256", None)
    _check(_digest(document, arrays) == expected, "it is damaged (its SHA-256 is not the one in its header)")
    return document, arrays


def _check_format(document):
    version, of_file = document.get("skspc"), document.get("format")
    _check(isinstance(version, str) and type(of_file) is int, "its header does not tell its format")
    _check(
        of_file in (FORMAT, *OLDER_FORMATS),
        f"it has format {of_file!r:.20}, and skspc {__version__} reads formats 1 to {FORMAT}. Install skspc "
        f"{version:.20}, which wrote it",
    )


def _rebuild(cls, document, arrays):
    """A fitted model of class ``cls``; ValueError where document and arrays do not make one."""
    fit_parts = {"history", "best_iter", "predict_consistency", "feature_names", "output", "ensemble"}
    _check(set(document) == {"format", "skspc", "parameters", *fit_parts}, "it lacks a part")
    model = _build(cls, _check_type(document["parameters"], dict))
    model._validate_params()
    fit = {name: decode(document[name]) for name in fit_parts}
    if document["format"] == 1:
        arrays = _join_groups(fit["ensemble"], arrays)
    ensemble = _check_ensemble(fit["ensemble"])
    expected = {*LABELS, *(f"scaling.{name}" for name in SCALING)}
    _check(expected <= set(arrays), "it lacks labels or scaling")
    _check(fit["output"] in (None, "default", "pandas", "polars"), "it has a set_output that is not known")
    model.set_output(transform=fit["output"])
    _restore_input(model, fit["feature_names"], ensemble["input_shape"], arrays)
    _restore_labels(model, fit, ensemble["n_clusters"], arrays)
    kept = {name: arrays.pop(f"kept.{name}") for name in KEPT if f"kept.{name}" in arrays}
    ensemble["arrays"] = {name: array for name, array in arrays.items() if name not in expected}
    model._ensemble = Ensemble.of_groups(unpack_groups(ensemble))
    model._kept = _check_kept(kept, model) if kept else None
    return model


def _join_groups(ensemble, arrays):
    """Arrays of a file of format 1, which has them by groups of members, as those of all members together."""
    sizes = _check_type(_check_type(ensemble, dict).pop("sizes", None), list)
    _check(0 < len(sizes) <= len(arrays), "it lacks part of its ensemble")
    ensemble["n_members"] = sum(_check_count(size, 1, MAX_LENGTH) for size in sizes)
    joined = {name: array for name, array in arrays.items() if not name.startswith("groups.")}
    for name, first in arrays.items():
        if name.startswith("groups.0."):
            rest = name.removeprefix("groups.0.")
            of_groups = [arrays.get(f"groups.{i}.{rest}") for i in range(len(sizes))]
            _check(all(array is not None for array in of_groups), f"it lacks {rest!r} of some members")
            joined[rest] = np.concatenate(of_groups) if first.ndim else first
    n_of_each = sum(name.startswith("groups.0.") for name in arrays)
    _check(len(arrays) - len(joined) == (len(sizes) - 1) * n_of_each, "it has arrays of no member")
    return joined


def _check_ensemble(ensemble):
    """Refuse what is not of the types that `pack_ensemble` returns."""
    _check_type(ensemble, dict)
    parts = {"network", "input_shape", "seed", "n_members", "n_clusters"}
    _check(set(ensemble) == parts, "it lacks part of its ensemble")
    input_shape = _check_type(ensemble["input_shape"], tuple)
    _check(len(input_shape) in (1, 3), f"its rows have the shape {input_shape!r:.50}")
    for size in (*input_shape, ensemble["n_members"], ensemble["n_clusters"]):
        _check_count(size, 1, MAX_LENGTH)
    _check_count(ensemble["seed"], 0, MAX_SEED)
    return ensemble


def _restore_input(model, names, input_shape, arrays):
    """Set what `predict` checks and scales rows by: figures of one range for images, of each feature for vectors."""
    model.n_features_in_ = math.prod(input_shape)
    model._image_shape = input_shape if len(input_shape) == 3 else None
    if names is not None:
        _check_type(names, list)
        _check(
            len(names) == model.n_features_in_ and all(isinstance(name, str) for name in names),
            "its feature names are not one string for each feature",
        )
        model.feature_names_in_ = np.array(names, dtype=object)
    values = {}
    for name in SCALING:
        array = arrays[f"scaling.{name}"]
        shape = () if model._image_shape or name == "limit" else (model.n_features_in_,)
        _check_array(array, f"scaling.{name}", np.float64, shape)
        values[name] = array if shape else array.item()
    model._scaling = Scaling(**values, input_shape=input_shape)


def _restore_labels(model, fit, n_clusters, arrays):
    history = _check_type(fit["history"], list)
    _check(len(history) > 0 and all(isinstance(row, dict) for row in history), "its history has no rows")
    model.history_, model.n_iter_ = history, len(history)
    model.best_iter_ = _check_count(fit["best_iter"], 0, len(history) - 1)
    n_rows, n_labellings = arrays["labels_"].size, len(np.atleast_1d(arrays["member_labels_"]))
    shapes = {name: (n_labellings, n_rows) if name == "member_labels_" else (n_rows,) for name in LABELS}
    dtypes = {"agreement_": np.float64, "label_probability_": np.float64, "agreed_": bool}
    for name in LABELS:
        _check_array(arrays[name], name, dtypes.get(name, np.int64), shapes[name])
        setattr(model, name, arrays[name])
    labels, member_labels = model.labels_, model.member_labels_
    model.n_clusters_ = _check_count(n_clusters, 1, n_rows)
    _check(0 <= labels.min() <= labels.max() < n_clusters, "its labels are not those of its clusters")
    _check(
        n_labellings > 0 and NOISE <= member_labels.min() <= member_labels.max() < n_clusters,
        "its members' labels are not those of its clusters",
    )
    model.predict_consistency_ = _check_type(fit["predict_consistency"], float)
    _check(0 <= model.predict_consistency_ <= 1, "its predict_consistency_ is no share")


def _check_kept(kept, model):
    """Refuse what `skspc._method.outliers.keep_rows` cannot have made; a model read of an older file has none."""
    _check(set(kept) == set(KEPT), "it lacks part of the rows that are kept")
    n_rows = kept["rows"].size
    shape = (model._ensemble.n_members, n_rows, model._ensemble.latent_size)
    _check_array(kept["rows"], "kept.rows", np.int64, (n_rows,))
    _check_array(kept["latents"], "kept.latents", np.float32, shape)
    _check_array(kept["figures"], "kept.figures", np.float64, (2, n_rows))
    _check(
        n_rows > 0 and 0 <= kept["rows"].min() <= kept["rows"].max() < len(model.labels_),
        "the rows that are kept are none of the fit",
    )
    _check(bool(np.isfinite(kept["latents"]).all()), "the latents of the rows that are kept are not finite")
    _check(
        bool(np.all((kept["figures"] >= 0) & np.isfinite(kept["figures"]))),
        "the figures of the rows that are kept are no distances",
    )
    return kept


def _check_array(array, name, dtype, shape):
    found, due = describe(array.dtype, array.shape), describe(np.dtype(dtype), shape)
    _check(found == due, f"{name!r} is {found}, not {due}")
