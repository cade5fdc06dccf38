"""A fitted model for programs without Python or torch."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any

import torch
from sklearn.utils.validation import check_is_fitted
from torch import nn

from ._persistence.files import write_atomically

if TYPE_CHECKING:
    from ._spc import SPCClustering

__all__ = ["to_onnx"]


def to_onnx(model: SPCClustering, path: str | os.PathLike[str]) -> None:
    """Write the predictor of a fitted model as an ONNX file.

    The graph takes ``X`` of shape (N, n_features), float64 and with any N (images flattened), and returns
    ``probabilities`` of shape ``(N, n_clusters_)``, float32: those of `SPCClustering.predict_proba` but for rounding.

    Parameters
    ----------
    model : SPCClustering
    path : str or path-like
        Written whole or not at all.

    Raises
    ------
    ImportError
        If onnx or onnxscript is not installed.
    sklearn.exceptions.NotFittedError
        Before `fit`.
    OSError
        If the file cannot be written; it names ``path``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import make_blobs
    >>> from skspc import SPCClustering
    >>> from skspc.export import to_onnx
    >>> X, _ = make_blobs(n_samples=60, centers=3, cluster_std=0.3, random_state=0)
    >>> model = SPCClustering(n_clusters=3, n_estimators=2, max_iter=0, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     to_onnx(model, Path(folder) / "model.onnx")
    """
    check_is_fitted(model)
    try:
        import onnx  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise ImportError(f"to_onnx needs {error.name}: pip install 'skspc[onnx]'.") from error
    rows = torch.zeros((2, model.n_features_in_), dtype=torch.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # torch's, of its own functions
        program: Any = torch.onnx.export(
            Predictor(model).eval(),
            (rows,),
            dynamo=True,
            verbose=False,
            input_names=["X"],
            output_names=["probabilities"],
            dynamic_shapes={"X": {0: torch.export.Dim("N")}},
        )
    write_atomically(path, program.model_proto.SerializeToString(), "The ONNX file")


class Predictor(nn.Module):
    """Scaling, encoders and heads as one module: rows (N, n_features) to probabilities (N, C)."""

    autoencoders: Any  # with encode, which torch's ModuleList does not tell
    unit: torch.Tensor
    offset: torch.Tensor
    scale: torch.Tensor

    def __init__(self, model: SPCClustering) -> None:
        super().__init__()
        self.scaling = model._scaling
        for name in ("unit", "offset", "scale"):
            self.register_buffer(name, torch.tensor(getattr(model._scaling, name), dtype=torch.float64))
        groups = model._ensemble.to(torch.device("cpu")).groups
        self.sizes = [len(group.members) for group in groups]
        self.autoencoders = nn.ModuleList(group.autoencoder for group in groups)
        self.heads = nn.ModuleList(group.heads for group in groups)

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        scaled = (X / self.unit - self.offset) / self.scale
        x = scaled.clamp(-self.scaling.limit, self.scaling.limit).float().view(-1, *self.scaling.input_shape)
        probabilities = [
            torch.softmax(heads(autoencoder.encode(x.expand(size, *x.shape))), dim=2)
            for autoencoder, heads, size in zip(self.autoencoders, self.heads, self.sizes, strict=True)
        ]
        return torch.cat(probabilities).mean(dim=0)
