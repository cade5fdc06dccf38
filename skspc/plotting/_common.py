"""What displays share: matplotlib imported late, the model of an estimator, doubt."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_is_fitted

from .._docstrings import filled_in
from .._spc import SPCClustering

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DARK, GREY, ORANGE, BLUE = "#1A1A1A", "#BFBFBF", "#D55E00", "#0072B2"
Fitted: TypeAlias = "SPCClustering | Pipeline"
N_CHECKED_ROWS, CHECK_SLACK = 500, 0.1  # enough rows to tell a shuffled X from the rows of the fit

PLOTTED = """Returns
-------
self

Raises
------
ImportError
    Without matplotlib."""
OF_ARRAYS = """ax : matplotlib Axes, default=None
    None makes a new figure.
**kwargs : dict
    Passed to `plot`.

""" + PLOTTED.replace("self", "display : {owner}")
OF_MODEL = f"""{OF_ARRAYS}
TypeError
    If the estimator is no SPCClustering."""
shared_docstring = filled_in(of_model=OF_MODEL, of_arrays=OF_ARRAYS, plotted=PLOTTED)


def import_pyplot(caller: str) -> ModuleType:
    """Import matplotlib, or tell how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f'{caller} draws with matplotlib, which cannot be imported. Install it with: pip install "skspc[plot]"'
        ) from error
    return plt


def new_axes(caller: str, ax: Axes | None, figsize: tuple[float, float]) -> Axes:
    """Return the axes given, or those of a new figure."""
    plt = import_pyplot(caller)
    return plt.subplots(figsize=figsize, layout="constrained")[1] if ax is None else ax


def fitted_model(estimator: Fitted, display: str) -> SPCClustering:
    """Return the SPCClustering that an estimator is or ends in, once matplotlib is there to draw it."""
    import_pyplot(f"{display}.from_estimator")
    model = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if not isinstance(model, SPCClustering):
        raise TypeError(
            f"{display}.from_estimator draws an SPCClustering, or a Pipeline that ends in one, not "
            f"{type(model).__name__}. Pass a search's best_estimator_; for other clusterers use "
            f"{display}.from_predictions."
        )
    check_is_fitted(model)
    return model


def model_and_rows(estimator: Fitted, X: ArrayLike, display: str) -> tuple[SPCClustering, ArrayLike]:
    """Return the fitted model and X as it takes it, and refuse X if it cannot be the rows of the fit."""
    model = fitted_model(estimator, display)
    if model is not estimator and len(estimator.steps) > 1:
        X = estimator[:-1].transform(X)
    n_rows = _num_samples(X)
    advice = f"Pass the rows of the fit, in their order; for others use {display}.from_predictions."
    if n_rows != len(model.labels_):
        raise ValueError(f"X has {n_rows} rows, but the model was fitted on {len(model.labels_)}. {advice}")
    checked = np.unique(np.linspace(0, n_rows - 1, N_CHECKED_ROWS).astype(int))
    share = np.mean(model.predict(_safe_indexing(X, checked)) == model.labels_[checked])
    if share < model.predict_consistency_ - CHECK_SLACK:
        raise ValueError(
            f"predict gives {share:.0%} of the rows of X their labels_, not {model.predict_consistency_:.0%} as in the "
            f"fit: X holds other rows, or another order. {advice}"
        )
    return model, X


def is_doubtful(agreement: NDArray[Any], min_agreement: float) -> NDArray[np.bool_]:
    """Rows with less agreement than ``min_agreement``."""
    return agreement < min_agreement - 1e-9  # as in the vote, where shares of votes are floats


def mean_or_nan(values: NDArray[Any]) -> float:
    """Mean; of no values NaN."""
    return float(np.mean(values)) if len(values) else np.nan
