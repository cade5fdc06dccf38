"""How often `predict` takes images for those of another scale, rightly and wrongly.

`SKSPC_DATA=data python paper/image_ranges.py` takes five minutes on one core; nothing is trained. Of each set of
images a random half is what the range is learnt on, in five scales. The other half is handed over in the same scale (as
a whole, in tens, one by one, darker, brighter), then in each other scale. Counts are over all sets and scales.
"""

import warnings
from collections import Counter

import numpy as np
from reproduction import data
from reproduction.report import markdown_table

from skspc._input.scaling import fit_image_scaling

PARTS = ("one image", "ten images", "half")


def make_scales(images):
    """Ways to write images with values from 0 to some largest: name and function."""
    largest = images.max()
    mean, deviation = images.mean(dtype=np.float64) / largest, images.std(dtype=np.float64) / largest
    return {
        "bytes": lambda x: np.rint(x).astype(np.uint8),
        "floats": lambda x: np.float32(x),
        "0..1": lambda x: np.float32(x / largest),
        "-1..1": lambda x: np.float32(x / largest * 2 - 1),
        "standardised": lambda x: np.float32((x / largest - mean) / deviation),
    }


def split_rows(images):
    """The rows of each call, for each of ``PARTS``."""
    tens = images[: len(images) // 10 * 10]
    return dict(zip(PARTS, (np.split(images, len(images)), np.split(tens, len(tens) // 10), [images]), strict=True))


def vary(images):
    """Name and calls of what is in the right scale, brightness changed before it is written."""
    largest, order = images.max(), images.mean(axis=1).argsort()
    percent = max(1, len(images) // 100)
    whole = {
        "x 0.5": images / 2,
        "x 0.25": images / 4,
        "x 2, at most white": np.minimum(images * 2.0, largest),
        "negative": largest - images,
        "x 1.25, beyond white": images * 1.25,
        "x 2, beyond white": images * 2.0,
        "x 0.01": images / 100,
    }
    calls = split_rows(images)
    for name, changed in whole.items():
        calls |= {f"{part}, {name}": rows for part, rows in split_rows(changed).items() if part != "ten images"}
    return calls | {
        "darkest 1 %": [images[order[:percent]]],
        "brightest 1 %": [images[order[-percent:]]],
        "one black image": [np.zeros_like(images[:1])],
        "one white image": [np.full_like(images[:1], largest)],
    }


def count_warnings(scaling, calls):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for rows in calls:
            scaling.checked(rows)
    return len(caught)


def measure(name, warned, called):
    """Add the counts of a set: by (case,) in the right scale, by (scale fitted, scale given, part) in a wrong one."""
    images = data.load(name).rows
    images = images.reshape(len(images), -1)
    order = np.random.default_rng(0).permutation(len(images))
    fitted, others = np.split(images[order], [len(images) // 2])
    scales = make_scales(images)
    for fit, write in scales.items():
        scaling = fit_image_scaling(write(fitted), (fitted.shape[1],))
        for case, calls in vary(others).items():
            if fit == "bytes" and "beyond white" in case:
                continue
            warned[case,] += count_warnings(scaling, [write(rows) for rows in calls])
            called[case,] += len(calls)
        wrong = {given: other(others) for given, other in scales.items() if given not in (fit, "bytes")}
        wrong |= {"a 255th": np.float32(write(others)) / 255, "255 times": np.float32(write(others)) * 255}
        if fit == "bytes":
            del wrong["floats"]
        for given, rows in wrong.items():
            for part, calls in split_rows(rows).items():
                warned[fit, given, part] += count_warnings(scaling, calls)
                called[fit, given, part] += len(calls)


def main():
    warned, called = Counter(), Counter()
    for name in data.IMAGES:
        measure(name, warned, called)
    right = [
        {"right scale, a call": case, "calls": str(called[case,]), "warned": str(warned[case,])}
        for case in (key[0] for key in called if len(key) == 1)
    ]
    print(markdown_table(list(right[0]), right), end="\n\n")
    wrong = [
        {"fitted": fit, "handed over": given}
        | {f"{part}, %": f"{100 * warned[fit, given, part] / called[fit, given, part]:.1f}" for part in PARTS}
        for fit, given in dict.fromkeys(key[:2] for key in called if len(key) == 3)
    ]
    print(markdown_table(list(wrong[0]), wrong))


if __name__ == "__main__":
    main()
