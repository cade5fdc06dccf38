"""Products of float32 are of float32, whatever the caller has set, and what was set is the caller's again."""

import threading
from contextlib import suppress

import numpy as np
import pytest
import torch

from skspc import SPCClustering
from skspc._runtime.modes import float32_as_it_is

FLAGS = [
    (torch.backends.cuda.matmul, "fp32_precision"),
    *((getattr(torch.backends.cudnn, "conv", None), name) for name in ["fp32_precision"]),
    *((getattr(torch.backends.mkldnn, part, None), "fp32_precision") for part in ("matmul", "conv")),
]
FLAGS = [(flags, name) for flags, name in FLAGS if hasattr(flags, name)]


def settings():
    found = [getattr(flags, name) for flags, name in FLAGS]
    for read in (torch.get_float32_matmul_precision, lambda: torch.backends.cudnn.allow_tf32):
        with suppress(RuntimeError):  # settings of two kinds that are at odds cannot be read
            found.append(read())
    return found


def products_are_exact():
    return all(getattr(flags, name) in ("none", "ieee") for flags, name in FLAGS) and (
        bool(FLAGS) or torch.get_float32_matmul_precision() == "highest"
    )


@pytest.fixture(autouse=True)
def as_they_were():
    before = settings()
    yield
    torch.set_float32_matmul_precision(before[-2])
    torch.backends.cudnn.allow_tf32 = before[-1]
    for (flags, name), value in zip(FLAGS, before, strict=False):
        if getattr(flags, name) != value:
            setattr(flags, name, value)


def set_by_function():
    torch.set_float32_matmul_precision("medium")


def set_by_flags():
    for flags, name in FLAGS:
        setattr(flags, name, "tf32")


def set_by_older_flags():
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True


@pytest.mark.parametrize("change", [set_by_function, set_by_flags, set_by_older_flags])
@pytest.mark.case(
    "reproducibility", 'torch.set_float32_matmul_precision("medium") and the like', origin="RoMaV2#35; ACE-Step-1.5#480"
)
def test_what_the_caller_set_changes_no_fit_and_is_the_callers_again(change, blobs, quick):
    X, _ = blobs
    expected = SPCClustering(3, **quick).fit(X)
    change()
    before, seen = settings(), []
    model = SPCClustering(3, **quick).fit(X, monitor=lambda history: seen.append(products_are_exact()))
    assert len(seen) >= 1 and all(seen)
    assert settings() == before
    assert np.array_equal(model.labels_, expected.labels_)
    assert np.array_equal(model.predict_proba(X), expected.predict_proba(X))
    assert settings() == before


def test_they_are_the_callers_again_after_an_error():
    set_by_function()
    before = settings()
    with pytest.raises(KeyError), float32_as_it_is():
        assert products_are_exact()
        raise KeyError
    assert settings() == before


def test_threads_that_overlap_share_them():
    set_by_function()
    before, entered, leave = settings(), threading.Event(), threading.Event()

    def stay():
        with float32_as_it_is():
            entered.set()
            leave.wait()

    thread = threading.Thread(target=stay)
    thread.start()
    entered.wait()
    with float32_as_it_is():
        assert products_are_exact()
    assert products_are_exact()  # the other is still inside
    leave.set()
    thread.join()
    assert settings() == before
