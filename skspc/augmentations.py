"""Augmentation of images in training: each batch sees its images a little turned, moved, stretched and slanted."""

import math
from collections.abc import Callable
from numbers import Real
from typing import Any

import torch
import torch.nn.functional as F
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, validate_parameter_constraints
from torch import Tensor

__all__ = ["AffineAugmentation", "get_augmentation"]

Augmentation = Callable[[Tensor, torch.Generator], Tensor]


class AffineAugmentation(BaseEstimator):
    """Random rotation, shift, scaling and shear of images; no flips.

    Each image of each batch gets a map of its own, drawn evenly between the limits. What comes into view from outside
    has the colour of the edges: the median of the batch's border pixels, by channel.

    Parameters
    ----------
    rotation : float, default=10.0
        Degrees, at most, to either side.
    shift : float, default=0.06
        Share of height and of width, at most, to each side.
    scale : float, default=0.1
        Height and width change by at most this share, each by its own.
    shear : float, default=0.1
        Columns slide along each other by at most this share of their distance.

    Examples
    --------
    >>> import torch
    >>> from skspc.augmentations import AffineAugmentation
    >>> images = torch.zeros(2, 1, 8, 8)
    >>> AffineAugmentation(rotation=5)(images, torch.Generator().manual_seed(0)).shape
    torch.Size([2, 1, 8, 8])
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "rotation": [Interval(Real, 0, 180, closed="both")],
        "shift": [Interval(Real, 0, 1, closed="left")],
        "scale": [Interval(Real, 0, 1, closed="left")],
        "shear": [Interval(Real, 0, 1, closed="left")],
    }

    is_recordable = True  # as a CUDA graph: nothing in it waits for a value, or copies between devices

    def __init__(self, rotation: float = 10.0, shift: float = 0.06, scale: float = 0.1, shear: float = 0.1) -> None:
        self.rotation = rotation
        self.shift = shift
        self.scale = scale
        self.shear = shear

    def validate(self) -> None:
        """Refuse parameters out of their ranges.

        Raises
        ------
        ValueError
            If one is.
        """
        validate_parameter_constraints(self._parameter_constraints, self.get_params(), type(self).__name__)

    def __call__(self, images: Tensor, generator: torch.Generator) -> Tensor:
        """Augment images.

        Parameters
        ----------
        images : tensor of shape (n, C, H, W)
        generator : torch.Generator
            On the images' device.

        Returns
        -------
        augmented : tensor of shape (n, C, H, W)
        """
        maps = self.draw_maps(images.shape, generator, images.device).to(images.dtype)
        grid = sampled_places(maps, images.shape)
        background = border_median(images)
        # Zeros come into view; relative to the background they are the background.
        return F.grid_sample(images - background, grid, align_corners=False) + background

    def draw_maps(self, shape: tuple[int, ...], generator: torch.Generator, device: torch.device) -> Tensor:
        """Draw affine maps, from places in the augmented image to places in the image: (n, 2, 3).

        Places go from -1 to 1 along either side, as torch has it: where H and W differ, so do a step down and a step to
        the right. The maps are drawn for pixels.

        Parameters
        ----------
        shape : tuple (n, C, H, W)
        generator : torch.Generator
        device : torch.device

        Returns
        -------
        maps : tensor of shape (n, 2, 3)
        """
        n, _, height, width = shape
        limits = [math.radians(self.rotation), self.scale, self.scale, self.shear, 2 * self.shift, 2 * self.shift]
        drawn = 2 * torch.rand((len(limits), n), generator=generator, device=device, dtype=torch.float32) - 1
        angle, wide, high, shear, right, down = (limit * of_all for limit, of_all in zip(limits, drawn, strict=True))
        cosine, sine = angle.cos(), angle.sin()
        return torch.stack(
            [
                torch.stack([cosine * (1 + wide), (shear - sine) * (1 + high) * (height / width), right], dim=1),
                torch.stack([sine * (1 + wide) * (width / height), cosine * (1 + high), down], dim=1),
            ],
            dim=1,
        )


def sampled_places(maps: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Place in the image that each pixel of the augmented one is taken from: (n, H, W, 2).

    It is what `torch.nn.functional.affine_grid` gives, pixel by pixel: no matrix product, which autocast would round.
    """
    down, right = (
        (2 * torch.arange(length, device=maps.device, dtype=maps.dtype) + 1) / length - 1 for length in shape[2:]
    )
    by_x, by_y, shift = (column[:, None, None] for column in maps.unbind(2))  # (n, 1, 1, 2)
    return by_x * right[None, None, :, None] + by_y * down[None, :, None, None] + shift


def border_median(images: Tensor) -> Tensor:
    """Median of the border pixels of a batch, by channel: (C, 1, 1)."""
    sides = images[:, :, :1], images[:, :, -1:], images[:, :, 1:-1, :1], images[:, :, 1:-1, -1:]
    border = torch.cat([side.flatten(2) for side in sides], dim=2)  # (n, C, pixels)
    of_channels = border.transpose(0, 1).flatten(1)  # (C, n * pixels)
    return lower_median(of_channels)[:, None, None]


def lower_median(values: Tensor) -> Tensor:
    """Median of each row (n, m), the lower of two: (n,)."""
    if values.is_cuda:  # torch's own has one block a row there, and is refused where algorithms must be deterministic
        return values.sort(dim=1).values[:, (values.shape[1] - 1) // 2]
    return values.median(dim=1).values


AUGMENTATIONS = {"affine": AffineAugmentation}
USUAL_CHANNELS = (1, 3, 4)


def channels_first(image_shape: tuple[int, ...]) -> str:
    """What turns X if its images, of this shape as (C, H, W), are (H, W, C); of flat rows too."""
    return f"np.asarray(X).reshape(-1, {', '.join(map(str, image_shape))}).transpose(0, 3, 1, 2)"


def seems_channels_last(image_shape: tuple[int, ...]) -> bool:
    """Whether (C, H, W) must be (H, W, C): a width of 1, 3 or 4 beside more than 4 channels and a height above 4.

    So images of 1 to 4 channels are never suspected, however narrow.
    """
    *lengths, last = image_shape
    return last in USUAL_CHANNELS and min(lengths) > max(USUAL_CHANNELS)


def get_augmentation(
    augmentation: str | Augmentation | None, image_shape: tuple[int, ...] | None
) -> Augmentation | None:
    """Return what augments a batch: a callable, or None.

    Parameters
    ----------
    augmentation : None, "affine" or callable
    image_shape : tuple (C, H, W) or None
        None if rows are no images.

    Returns
    -------
    augmentation : callable or None
        Takes a batch and a torch.Generator.

    Raises
    ------
    ValueError
        For an unknown name, an affine augmentation where rows are no images or channels seem to come last, or an
        instance whose parameters are out of range.
    TypeError
        For what is neither a name nor callable.

    Examples
    --------
    >>> from skspc.augmentations import get_augmentation
    >>> get_augmentation("affine", image_shape=(1, 8, 8))
    AffineAugmentation()
    """
    if augmentation is None:
        return None
    if isinstance(augmentation, str):
        if augmentation not in AUGMENTATIONS:
            raise ValueError(
                f"augmentation={augmentation!r} is not known. Pass {', '.join(map(repr, sorted(AUGMENTATIONS)))}, "
                "None, or a callable that takes a batch and a torch.Generator."
            )
        augmentation = AUGMENTATIONS[augmentation]()
    if isinstance(augmentation, type) or not callable(augmentation):
        raise TypeError(
            f"augmentation={augmentation!r} cannot be called. Pass 'affine', None, or a callable (an instance, not a "
            "class) that takes a batch and a torch.Generator."
        )
    if isinstance(augmentation, AffineAugmentation):
        if image_shape is None:
            raise ValueError(
                f"augmentation={augmentation!r} is for images, and X has rows of features. Pass image_shape=(H, W), "
                "X of shape (N, H, W), or augmentation=None."
            )
        if seems_channels_last(image_shape):
            raise ValueError(
                f"Images of shape {image_shape} as (channels, height, width) seem to have their channels last, and "
                f"augmentation={augmentation!r} would turn columns and channels. Pass {channels_first(image_shape)} "
                "and image_shape=None; or augmentation=None."
            )
        augmentation.validate()
    return augmentation
