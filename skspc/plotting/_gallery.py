"""Images of each cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length

from .._input.validation import as_array
from .._method.representatives import rank_representatives
from ..augmentations import channels_first
from ..metrics import check_labels
from ._common import ORANGE, Fitted, import_pyplot, is_doubtful, model_and_rows, new_axes, shared_docstring
from ._placement import HEADING, TILE, GalleryGrid, Tile

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self


class ClusterGalleryDisplay:
    """Images by cluster: the surest rows on the left, the most doubtful on the right.

    Each cluster has a strip of its own, the strips stand in one or several columns. Images on which the labellings
    disagree are framed.

    Parameters
    ----------
    images : ndarray of shape (N, H, W) or (N, C, H, W)
        With one channel or three. uint8 is 0 to 255; other types are scaled by the range of the images shown.
    sure, doubtful : list of ndarray of int
        Rows of each cluster, as `SPCClustering.cluster_representatives` returns them.
    clusters : sequence, default=None
        Name of each strip; None is 0, 1, ...
    framed : ndarray of shape (N,), bool, default=None
        Rows that get a frame.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skspc.plotting import ClusterGalleryDisplay
    >>> display = ClusterGalleryDisplay(load_digits().images[:6], [[0, 1], [2]], [[3], [5, 4]]).plot()
    >>> display.ax_.axison
    False
    """

    def __init__(
        self,
        images: ArrayLike,
        sure: Sequence[Sequence[int] | NDArray[np.integer[Any]]],
        doubtful: Sequence[Sequence[int] | NDArray[np.integer[Any]]],
        *,
        clusters: Sequence[object] | None = None,
        framed: ArrayLike | None = None,
    ) -> None:
        self.images = images
        self.sure = sure
        self.doubtful = doubtful
        self.clusters = clusters
        self.framed = framed

    @classmethod
    @shared_docstring
    def from_estimator(
        cls, estimator: Fitted, X: ArrayLike, *, n: int = 5, ax: Axes | None = None, **kwargs: Any
    ) -> Self:
        """Draw a fitted model's clusters.

        Parameters
        ----------
        estimator : SPCClustering
        X : array-like of shape (N, H, W), (N, C, H, W), or (N, C*H*W) of a model with an image shape
            The images that it was fitted on, in their order.
        n : int, default=5
            Images of each kind, sure and doubtful.
        {of_model}
        ValueError
            If X cannot be the rows of the fit, or holds no images with one channel or three.
        """
        model, X = model_and_rows(estimator, X, cls.__name__)
        images = np.asarray(as_array(X))
        if images.ndim == 2 and model._image_shape is not None:
            images = images.reshape(len(images), *model._image_shape)
        _check_images(images)
        chosen = model.cluster_representatives(n)
        framed = is_doubtful(model.agreement_, model.min_agreement)
        display = cls(images, chosen.sure, chosen.doubtful, clusters=chosen.clusters, framed=framed)
        return display.plot(ax=ax, **kwargs)

    @classmethod
    @shared_docstring
    def from_predictions(
        cls,
        images: ArrayLike,
        labels: ArrayLike,
        agreement: ArrayLike,
        *,
        n: int = 5,
        min_agreement: float = 1.0,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw any labels of any images.

        Parameters
        ----------
        images : array-like of shape (N, H, W) or (N, C, H, W)
        labels : array-like of shape (N,), int
            Rows with -1 are left out.
        agreement : array-like of shape (N,)
            How sure each row is, by which a cluster's rows are ordered.
        n : int, default=5
            Images of each kind, sure and doubtful.
        min_agreement : float, default=1.0
            Rows with less are framed.
        {of_arrays}
        ValueError
            If the arrays differ in length, or the images have not one channel or three.
        """
        import_pyplot(f"{cls.__name__}.from_predictions")
        images, agreement = np.asarray(as_array(images)), np.asarray(agreement, dtype=float)
        _check_images(images)
        labels = check_labels(labels)
        check_consistent_length(images, labels, agreement)
        chosen = rank_representatives(labels, [agreement], n)
        framed = is_doubtful(agreement, min_agreement)
        display = cls(images, chosen.sure, chosen.doubtful, clusters=chosen.clusters, framed=framed)
        return display.plot(ax=ax, **kwargs)

    @shared_docstring
    def plot(self, ax: Axes | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes a new figure.

        {plotted}
        ValueError
            If ``sure`` and ``doubtful`` have not the same number of clusters, or images not one channel or three.
        """
        images = _check_images(np.asarray(self.images))
        if len(self.sure) != len(self.doubtful):
            raise ValueError(
                f"sure has {len(self.sure)} clusters and doubtful {len(self.doubtful)}; pass rows of the same clusters."
            )
        strips = [(list(sure), list(doubtful)[::-1]) for sure, doubtful in zip(self.sure, self.doubtful, strict=True)]
        widths = [max([len(strip[side]) for strip in strips], default=0) for side in (0, 1)]
        grid = GalleryGrid(len(strips), *widths)
        self.ax_ = new_axes("ClusterGalleryDisplay.plot", ax, grid.figure_size(images.shape[1:3]))
        self.figure_ = self.ax_.figure
        names = range(len(strips)) if self.clusters is None else self.clusters
        tiles = [tile for i, strip in enumerate(strips) for tile in grid.tiles(i, *strip)]
        self._draw_tiles(images, tiles, grid)
        for i, name in enumerate(names):
            column, line = grid.strip_origin(i)
            self.ax_.text(column - 0.15, line + 0.5, str(name), ha="right", va="center", fontsize=11, fontweight="bold")
        for column, text, align in grid.headings():
            self.ax_.text(column, -0.15, text, ha=align, va="bottom", fontsize=10)
        return self

    def _draw_tiles(self, images: NDArray[Any], tiles: list[Tile], grid: GalleryGrid) -> None:
        from matplotlib.patches import Rectangle

        low, high = _value_range(images, [row for row, _, _ in tiles])
        framed = np.zeros(len(images), dtype=bool) if self.framed is None else np.asarray(self.framed)
        for row, x, y in tiles:
            image = np.clip((images[row].astype(float) - low) / (high - low), 0, 1)
            self.ax_.imshow(
                image[..., 0] if image.shape[2] == 1 else image,
                extent=(x, x + TILE, y + TILE, y),
                cmap="gray",
                vmin=0,
                vmax=1,
            )
            if framed[row]:
                self.ax_.add_patch(Rectangle((x, y), TILE, TILE, fill=False, edgecolor=ORANGE, linewidth=1.6))
        self.ax_.set(xlim=(0, grid.width), ylim=(grid.n_lines, -HEADING), aspect=images.shape[1] / images.shape[2])
        self.ax_.axis("off")
        if framed[[row for row, _, _ in tiles]].any():
            note = "framed: the labellings disagree"
            self.ax_.text(grid.width / 2, grid.n_lines + 0.1, note, ha="center", va="top", color=ORANGE, fontsize=10)


def _check_images(images: NDArray[Any]) -> NDArray[Any]:
    """Images as (N, H, W, channels)."""
    if images.ndim not in (3, 4):
        raise ValueError(
            f"X has shape {images.shape}, which are no images: a gallery needs (N, height, width) or "
            "(N, channels, height, width). Reshape flattened images; for vectors draw an EmbeddingDisplay."
        )
    images = images[:, None] if images.ndim == 3 else images
    if images.shape[1] not in (1, 3):
        raise ValueError(
            f"Images of shape {images.shape[1:]} as (channels, height, width) have {images.shape[1]} channels; a "
            f"gallery shows one or three. If channels come last, pass {channels_first(images.shape[1:])}."
        )
    return images.transpose(0, 2, 3, 1)


def _value_range(images: NDArray[Any], rows: list[int]) -> tuple[float, float]:
    """Values that are drawn black and white."""
    if images.dtype == np.uint8:
        return 0, 255
    shown = images[rows].astype(float)
    low, high = (shown.min(), shown.max()) if len(rows) else (0.0, 1.0)
    return low, high if high > low else low + 1.0
