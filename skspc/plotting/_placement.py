"""Places of labels on a plot, such that no two overlap, and of images in a gallery."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.backend_bases import RendererBase
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.transforms import Affine2D

Tile = tuple[int, float, float]  # a row, and where its image stands
PADDING = 2.0  # points of free space around a label
LINE = "#777777"
TILE, NAME, GAP, HEADING = 0.91, 1.1, 0.5, 0.55  # of a gallery, in images' widths and heights with their margin
GALLERY_ASPECT, TILE_INCHES, MAX_GALLERY_INCHES = 1.3, 0.5, 13.0


def place_boxes(anchors: NDArray[Any], sizes: NDArray[Any], bounds: Sequence[float]) -> NDArray[np.float64]:
    """Place boxes of sizes (C, 2) near their anchors (C, 2), apart from each other and inside the bounds.

    One after the other takes the place nearest to its anchor that is still free, on a lattice of half a box's height.
    Bounds are left, bottom, right and top. Returns centres (C, 2), NaN for a box for which no room is left.
    """
    low, high = np.array(bounds[:2], dtype=float), np.array(bounds[2:], dtype=float)
    centres = np.full((len(anchors), 2), np.nan)
    for i, (anchor, size) in enumerate(zip(anchors, sizes, strict=True)):
        if (size > high - low).any():
            continue
        # The lattice goes through the place wished for, so that a free one is taken exactly.
        wished = np.clip(anchor, low + size / 2, high - size / 2)
        step = size[1] / 2
        axes = [
            wished[k] + step * np.arange(-((wished[k] - low[k]) // step), (high[k] - wished[k]) // step + 1)
            for k in (0, 1)
        ]
        places = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
        inside = ((places - size / 2 >= low - 1e-9) & (places + size / 2 <= high + 1e-9)).all(axis=1)
        gaps = np.abs(places[:, None] - centres[None, :i]) - (size + sizes[:i]) / 2  # (n_places, i, 2)
        free = inside & ~(gaps < 0).all(axis=2).any(axis=1)
        if free.any():
            distances = np.where(free, ((places - wished) ** 2).sum(axis=1), np.inf)
            centres[i] = places[distances.argmin()]
    return centres


class PlacedLabels:
    """Labels of an axes that keep clear of each other, whatever the size, the limits and the resolution become.

    Their places are found when they are drawn: matplotlib asks each annotation for its coordinates then. A label that
    was moved has a line to its anchor; one for which no room is left is not drawn. Anchors (C, 2) are data coordinates;
    ``style`` is that of each annotation.
    """

    def __init__(self, ax: Axes, anchors: NDArray[Any], texts: Sequence[str], **style: Any) -> None:
        self.ax, self.anchors = ax, anchors
        self._state: tuple[float, ...] = ()  # of the figure, for which the places were found
        self._centres = np.full((len(anchors), 2), np.nan)
        self.annotations = [
            ax.annotate(
                text,
                anchor,
                xytext=(0, 0),
                textcoords=partial(self._transform, i),
                ha="center",
                va="center",
                annotation_clip=False,
                arrowprops={"arrowstyle": "-", "shrinkA": 0, "shrinkB": 0, "linewidth": 0.7, "color": LINE},
                in_layout=False,  # inside the axes as they are; a layout engine would draw the axes in for them
                **style,
            )
            for i, (text, anchor) in enumerate(zip(texts, self.anchors, strict=True))
        ]

    def fit(self) -> bool:
        """Whether all labels have room on the figure as it is now."""
        self.ax.figure.canvas.figure.draw_without_rendering()
        return not np.isnan(self._centres).any()

    def remove(self) -> None:
        """Take the labels off the plot."""
        for annotation in self.annotations:
            annotation.remove()
        self.annotations = []

    def _transform(self, i: int, renderer: RendererBase) -> Affine2D:
        """Move the origin to the centre of label i, in pixels."""
        from matplotlib.transforms import Affine2D

        self._place(renderer)
        return Affine2D().translate(*np.nan_to_num(self._centres[i]))

    def _place(self, renderer: RendererBase) -> None:
        from matplotlib.text import Text

        bounds = self.ax.bbox.extents
        anchors = self.ax.transData.transform(self.anchors)
        state = (*bounds, *anchors.ravel(), renderer.points_to_pixels(1))
        if state == self._state:
            return
        self._state = state
        # Text's own method, since an annotation's asks for the place that is sought here.
        boxes = [Text.get_window_extent(annotation, renderer) for annotation in self.annotations]
        sizes = np.array([(box.width, box.height) for box in boxes]).reshape(-1, 2)
        sizes = sizes + np.multiply(2, renderer.points_to_pixels(PADDING))
        self._centres = place_boxes(anchors, sizes, bounds)
        moved = np.abs(self._centres - anchors).max(axis=1) > sizes.min(axis=1)
        for annotation, centre, has_line in zip(self.annotations, self._centres, moved, strict=True):
            annotation.set_alpha(0.0 if np.isnan(centre).any() else 1.0)
            cast("FancyArrowPatch", annotation.arrow_patch).set_visible(bool(has_line))


class GalleryGrid:
    """Places of a gallery's strips, in tiles: columns of strips, each with its sure and its doubtful side."""

    def __init__(self, n_strips: int, n_sure: int, n_doubtful: int) -> None:
        self.n_strips, self.n_sure, self.n_doubtful = max(n_strips, 1), n_sure, n_doubtful
        self.strip_width = NAME + n_sure + GAP + n_doubtful
        shapes = [(n, math.ceil(self.n_strips / n)) for n in range(1, self.n_strips + 1)]
        # Sideways as much too wide as upright too tall is as bad.
        self.n_columns, self.n_lines = min(
            shapes, key=lambda shape: abs(math.log(shape[0] * self.strip_width / shape[1] / GALLERY_ASPECT))
        )
        self.width = self.n_columns * self.strip_width

    def figure_size(self, image_shape: tuple[int, ...]) -> tuple[float, float]:
        """Inches of a figure for images (H, W)."""
        tile = min(TILE_INCHES, MAX_GALLERY_INCHES / self.width)
        height = tile * (self.n_lines + HEADING) * image_shape[0] / image_shape[1]
        return max(tile * self.width, 3.0), max(height + 0.3, 1.5)

    def strip_origin(self, i: int) -> tuple[float, float]:
        """Left end of the first image of strip i, and its line."""
        return (i // self.n_lines) * self.strip_width + NAME, i % self.n_lines

    def tiles(self, i: int, sure: Sequence[int], doubtful: Sequence[int]) -> list[Tile]:
        """Row, x and y of the images of strip i; the doubtful ones end at its right."""
        x, y = self.strip_origin(i)
        right = x + self.n_sure + GAP + self.n_doubtful - len(doubtful)
        return [(row, x + k, y) for k, row in enumerate(sure)] + [(row, right + k, y) for k, row in enumerate(doubtful)]

    def headings(self) -> list[tuple[float, str, str]]:
        """x, text and alignment of the heads over each column of strips."""
        heads = []
        for column in range(self.n_columns):
            left = column * self.strip_width + NAME
            heads.append((left, "most sure", "left"))
            if self.n_doubtful:
                heads.append((left + self.n_sure + GAP + self.n_doubtful, "least sure", "right"))
        return heads
