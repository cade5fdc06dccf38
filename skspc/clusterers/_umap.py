"""UMAP with settings for clustering, by umap-learn or in torch."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, NoReturn, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from sklearn.decomposition import PCA
from sklearn.utils._param_validation import Interval, StrOptions

from .._runtime.arrays import distinct_rows
from .._runtime.devices import resolve_device
from .._runtime.seeding import draw_seed
from . import _umap_learn, _umap_torch
from ._pieces import has_more_pieces

if TYPE_CHECKING:
    import torch
    from typing_extensions import Self

Embedding = NDArray[np.floating[Any]]
Engine = Literal["auto", "umap-learn", "torch"]

N_EPOCHS = 200
N_EPOCHS_ON = 50  # from an embedding: as good in rounds (docs/rounds.md)
MIN_NEIGHBORS, MAX_NEIGHBORS = 12, 30
NEIGHBORS_PER_ROW = 30 / 70_000
_SHARE_OF_CLUSTER, _FEWEST_NEIGHBORS = 0.75, 4
PIECES_OF_CLUSTER = 3  # that a graph of neighbours may be in for each cluster (docs/clusterers.md)
_MOST_NEIGHBORS = 96  # to which they are doubled
_MOST_CLUSTERS = 50  # whose pieces are counted: the time goes by their square
_MIN_ROWS = 8  # below, a neighbour graph of the rows is all but complete


class UMAPReducer(TransformerMixin, BaseEstimator):
    """Reduce latents to a few dimensions in which clusters are dense and apart.

    Parameters
    ----------
    n_neighbors : int or "auto", default="auto"
        "auto" is 30 for 70 000 rows, in proportion elsewhere (the paper's rule), but at least 12: below, clusters
        fall apart. It is at most three quarters of ``rows_per_cluster``, where that is told, and 4 or more: small
        clusters have no more neighbours. Never more than the rows allow. In `SPCClustering`, where the labellings of
        the first clustering disagree, 12 are doubled, up to 96, while the neighbours make a graph of many more pieces
        than there are clusters (50 at most), as those of overlapping windows of a series do.
    n_components : int, default=2
        Dimensions of the embedding.
    min_dist : float, default=0.0
        Least distance of points in the embedding; 0 packs clusters most.
    n_epochs : int or "auto", default="auto"
        Passes over the neighbour graph's edges while rows are laid out. "auto" is 200, and 50 where ``init`` is an
        embedding.
    engine : {"auto", "umap-learn", "torch"}, default="auto"
        "auto" is "torch" on a CUDA device, and umap-learn, which is faster there, on the CPU. Embeddings differ, at
        equal trustworthiness.
    device : str or torch.device, default="auto"
        Where "torch" computes, and what ``engine="auto"`` goes by. "auto" in `SPCClustering` is the estimator's.
    random_state : None, int or RandomState, default=None
        Seeds the layout.
    rows_per_cluster : float or None, default=None
        Rows that a cluster has in the mean. In `SPCClustering` None becomes N / C, where C is a number.
    init : "auto" or ndarray of shape (N, n_components), default="auto"
        Where rows are before they are laid out, up to a scale. "auto" is the graph's spectral layout; in
        `SPCClustering`, after the first clustering, the embedding of the round before, unless landmarks are drawn. An
        array of one's own is for `fit_transform`: `SPCClustering` reduces distinct rows, in their own order.

    Attributes
    ----------
    embedding_ : ndarray of shape (N, n_components)

    Notes
    -----
    Equal rows are embedded as one. Fewer than 8 distinct rows are reduced by PCA.

    References
    ----------
    McInnes, Healy & Melville (2018), "UMAP: Uniform Manifold Approximation and Projection".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skspc.clusterers import UMAPReducer
    >>> UMAPReducer(n_epochs=20, device="cpu", random_state=0).fit_transform(load_iris().data).shape
    (150, 2)
    """

    _parameter_constraints: dict[str, Any] = {
        "n_neighbors": [Interval(Integral, 2, None, closed="left"), StrOptions({"auto"})],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "min_dist": [Interval(Real, 0, 1, closed="both")],
        "n_epochs": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "engine": [StrOptions({"auto", "umap-learn", "torch"})],
        "device": "no_validation",  # resolve_device's
        "random_state": ["random_state"],
        "rows_per_cluster": [Interval(Real, 0, None, closed="neither"), None],
        "init": [StrOptions({"auto"}), np.ndarray],
    }

    def __init__(
        self,
        n_neighbors: int | Literal["auto"] = "auto",
        n_components: int = 2,
        min_dist: float = 0.0,
        n_epochs: int | Literal["auto"] = "auto",
        engine: Engine = "auto",
        device: str | torch.device = "auto",
        random_state: int | np.random.RandomState | None = None,
        rows_per_cluster: float | None = None,
        init: Literal["auto"] | NDArray[Any] = "auto",
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.min_dist = min_dist
        self.n_epochs = n_epochs
        self.engine = engine
        self.device = device
        self.random_state = random_state
        self.rows_per_cluster = rows_per_cluster
        self.init = init

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Embed X; the result is ``embedding_``.

        Parameters
        ----------
        X : ndarray of shape (N, m)
        y : ignored

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter is out of its range or does not fit X, or the device is not on this machine.
        """
        # Each row among copies of itself would have no other neighbours, and clusters would fall apart.
        first, inverse = distinct_rows(np.asarray(X))
        self.embedding_ = self._embed(np.asarray(X)[first], self._start(X, first))[inverse]
        return self

    def _start(self, X: ArrayLike, first: NDArray[np.integer[Any]]) -> Embedding | None:
        """Where the distinct rows of X begin, if that is told."""
        if isinstance(self.init, str):
            return None
        shape = (len(np.asarray(X)), self.n_components)
        is_number = np.issubdtype(self.init.dtype, np.number) and not np.iscomplexobj(self.init)
        with np.errstate(over="ignore"):
            start = self.init.astype(np.float32) if is_number else None
        if start is None or start.shape != shape or not np.isfinite(start).all():
            raise ValueError(
                f"init is an array of shape {self.init.shape}, which must be {shape}, one row for each row of X, and "
                "of finite float32. Pass such an embedding, or 'auto'."
            )
        return cast(Embedding, start[first])

    @property
    def _n_epochs(self) -> int:
        if self.n_epochs != "auto":
            return self.n_epochs
        return N_EPOCHS if isinstance(self.init, str) else N_EPOCHS_ON

    def _embed(self, X: NDArray[Any], start: Embedding | None) -> Embedding:
        """Embed distinct rows."""
        if len(X) == 1:
            return np.zeros((1, 1), dtype=np.float32)
        if len(X) < _MIN_ROWS:
            n_components = min(self.n_components, *X.shape)
            return cast(Embedding, PCA(n_components, svd_solver="full").fit_transform(X))
        device, space = resolve_device(self.device), self._as_space(X, start)
        settings = {
            "n_neighbors": space.n_neighbors,
            "n_components": self.n_components,
            "min_dist": self.min_dist,
            "n_epochs": self._n_epochs,
            "seed": space.seed,
            "start": space.start,
        }
        if self._is_by_torch(device):
            return cast(Embedding, _umap_torch.embed(space.X, **settings, device=device))
        return cast(Embedding, _umap_learn.embed(space.X, **settings))

    def _is_by_torch(self, device: torch.device) -> bool:
        return self.engine == "torch" or (self.engine == "auto" and device.type == "cuda")

    def _as_space(self, X: NDArray[Any], start: Embedding | None) -> _umap_torch.Space:
        """Distinct rows, 8 or more, as the engines take them."""
        n_neighbors = self.n_neighbors
        if n_neighbors == "auto":
            n_neighbors = default_n_neighbors(len(X), self.rows_per_cluster)
        rows = np.ascontiguousarray(X, dtype=np.float32)
        return _umap_torch.Space(rows, min(n_neighbors, len(X) - 1), draw_seed(self.random_state), start)

    def _more_neighbors(self, X: NDArray[Any], n_clusters: int) -> int | None:
        """Neighbours that join the rows of X into few enough pieces, where the 12 of "auto" do not; else None.

        Pieces are few at three times the clusters (`eigenvalue_after`). Where even the most leave more, they are taken.
        More than 12, of many rows, and those of more than 50 clusters are left alone: neither was tried.
        """
        rows = np.asarray(X)[distinct_rows(np.asarray(X))[0]]
        rows_per_cluster = self.rows_per_cluster or len(rows) / n_clusters
        most = min(_MOST_NEIGHBORS, _SHARE_OF_CLUSTER * rows_per_cluster)
        space, limit = self._as_space(rows, None), PIECES_OF_CLUSTER * n_clusters
        n_neighbors = MIN_NEIGHBORS
        if self.n_neighbors != "auto" or space.n_neighbors != n_neighbors or n_clusters > _MOST_CLUSTERS:
            return None
        if 2 * n_neighbors > most or not has_more_pieces(self._neighbors_of(space), limit):
            return None
        nearest = self._neighbors_of(space._replace(n_neighbors=int(min(most, len(rows) - 1))))
        n_neighbors *= 2
        while 2 * n_neighbors <= most and has_more_pieces(nearest[:, :n_neighbors], limit):
            n_neighbors *= 2
        return n_neighbors

    def _neighbors_of(self, space: _umap_torch.Space) -> NDArray[np.integer[Any]]:
        """The nearest neighbours that the engine would find, each row the first of its own: (N, n_neighbors)."""
        device = resolve_device(self.device)
        found = (
            _umap_torch.neighbors_of(space, device)
            if self._is_by_torch(device)
            else _umap_learn.neighbors_of(space.X, space.n_neighbors, space.seed)
        )
        return cast("NDArray[np.integer[Any]]", found)

    @staticmethod
    def _fit_transform_spaces(
        reducers: Sequence[UMAPReducer], spaces: Sequence[NDArray[Any]], n_jobs: int
    ) -> list[Embedding] | None:
        """Embed spaces at once, each by a reducer of its own, which are alike but for their seeds; None but on CUDA."""
        alike = reducers[0]
        device = resolve_device(alike.device)
        if device.type != "cuda" or alike.engine == "umap-learn":
            return None
        distinct = [distinct_rows(np.asarray(X)) for X in spaces]
        rows = [np.asarray(X)[first] for X, (first, _) in zip(spaces, distinct, strict=True)]
        starts = [reducer._start(X, first) for reducer, X, (first, _) in zip(reducers, spaces, distinct, strict=True)]
        many = [i for i, X in enumerate(rows) if len(X) >= _MIN_ROWS]
        found = _umap_torch.embed_together(
            [reducers[i]._as_space(rows[i], starts[i]) for i in many],
            alike.n_components,
            alike.min_dist,
            alike._n_epochs,
            device,
            n_jobs,
        )
        embeddings = dict(zip(many, found, strict=True))
        return [
            (embeddings[i] if i in embeddings else reducers[i]._embed(rows[i], starts[i]))[inverse]
            for i, (_, inverse) in enumerate(distinct)
        ]

    def fit_transform(self, X: ArrayLike, y: object = None) -> Embedding:
        """Embed X.

        Parameters
        ----------
        X : array-like of shape (N, m)
        y : ignored

        Returns
        -------
        embedding : ndarray of shape (N, n_components)

        Raises
        ------
        ValueError
            If a parameter is out of its range or does not fit X, or the device is not on this machine.
        """
        return cast(Embedding, self.fit(X).embedding_)

    def transform(self, X: object) -> NoReturn:
        """Refuse: new rows get their labels from the encoders and classifiers.

        Parameters
        ----------
        X : ignored

        Raises
        ------
        NotImplementedError
            Always.
        """
        raise NotImplementedError("UMAPReducer embeds the rows it was fitted on; use fit_transform.")


def default_n_neighbors(n_rows: int, rows_per_cluster: float | None = None) -> int:
    """30 neighbours for 70 000 rows, in proportion elsewhere, between 12 and 30; fewer for small clusters."""
    n_neighbors = int(np.clip(round(NEIGHBORS_PER_ROW * n_rows), MIN_NEIGHBORS, MAX_NEIGHBORS))
    if rows_per_cluster is None:
        return n_neighbors
    return min(n_neighbors, max(round(_SHARE_OF_CLUSTER * rows_per_cluster), _FEWEST_NEIGHBORS))
