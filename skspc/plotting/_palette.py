"""Colours of clusters: as far apart as can be, for readers with and without a colour vision deficiency."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Linear RGB as seen by all, and without red or green cones: Machado, Oliveira & Fernandes (2009), severity 1.
VISIONS = np.array(
    [
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    ]
)
# Linear RGB to cones, and their cube roots to lightness and two hue axes: Ottosson (2020), Oklab.
TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
# Seven of the colours of Okabe & Ito (2008), all but black.
FIRST = np.array(
    [(0, 114, 178), (230, 159, 0), (0, 158, 115), (213, 94, 0), (86, 180, 233), (204, 121, 167), (240, 228, 66)]
)
TAKEN = ((1.0, 1.0, 1.0), (0.75, 0.75, 0.75), (0.1, 0.1, 0.1))  # background, noise, and text
LIGHTNESS, MIN_CHROMA = (0.4, 0.84), 0.06  # in Oklab, of colours that are seen on white and are not grey
LEVELS = 18  # of each channel, among the candidates
NORMAL_SHARE = 0.5  # a smaller share spends all on blue and yellow, which is dull to most readers


def distinct_colours(n: int) -> NDArray[np.float64]:
    """Choose n colours (n, 3), RGB in [0, 1]: seven well-known ones, then each the farthest from all before it.

    Two colours are as far apart as they look to a reader without red or green cones, or half as far as they look to
    others, whichever is less. The first colours do not depend on n.
    """
    chosen = list(FIRST / 255)
    candidates = np.stack(np.meshgrid(*[np.linspace(0, 1, LEVELS)] * 3), axis=-1).reshape(-1, 3)
    seen = perceived(candidates)
    lightness, chroma = seen[0, :, 0], np.hypot(*seen[0, :, 1:].T)
    kept = (lightness > LIGHTNESS[0]) & (lightness < LIGHTNESS[1]) & (chroma > MIN_CHROMA)
    candidates, seen = candidates[kept], seen[:, kept]
    nearest = np.min([_distances(seen, colour) for colour in (*TAKEN, *chosen)], axis=0)
    while len(chosen) < n:
        chosen.append(candidates[nearest.argmax()])
        nearest = np.minimum(nearest, _distances(seen, chosen[-1]))
    return np.array(chosen[:n]).reshape(n, 3)


def perceived(colours: ArrayLike) -> NDArray[np.float64]:
    """Oklab coordinates of RGB colours (n, 3) in each vision: (3, n, 3)."""
    colours = np.asarray(colours, dtype=float)
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.einsum("vij,nj->vni", VISIONS, linear), 0, 1)
    oklab: NDArray[np.float64] = np.cbrt(seen @ TO_CONES.T) @ TO_LAB.T
    return oklab


def _distances(seen: NDArray[np.float64], colour: ArrayLike) -> NDArray[np.float64]:
    """Distance of each candidate (3, n, 3) from one RGB colour: (n,)."""
    apart = np.linalg.norm(seen - perceived(np.reshape(colour, (1, 3))), axis=2)  # by vision, the normal one first
    nearest: NDArray[np.float64] = np.minimum(NORMAL_SHARE * apart[0], apart[1:].min(axis=0))
    return nearest
