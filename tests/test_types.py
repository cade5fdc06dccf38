"""The package says that it is typed: every public signature is annotated, in whole."""

import inspect

import pytest
from test_docstrings import public_objects


def signatures():
    """Functions, methods and properties by dotted name; a class is its ``__init__``."""
    found = {}
    for name, thing in public_objects().items():
        found[name] = thing.__init__ if inspect.isclass(thing) else thing
        for member in dir(thing) if inspect.isclass(thing) else ():
            attribute = inspect.getattr_static(thing, member)
            function = getattr(attribute, "fget", getattr(attribute, "__func__", attribute))
            is_own = inspect.isfunction(function) and function.__module__.startswith("skspc")
            if is_own and (not member.startswith("_") or member == "__call__"):
                found[f"{name}.{member}"] = function
    return found


def not_annotated(function):
    """Names of the parameters without an annotation, and "return"."""
    signature = inspect.signature(function)
    names = [
        name
        for name, parameter in signature.parameters.items()
        if name not in ("self", "cls") and parameter.annotation is inspect.Parameter.empty
    ]
    return names + ["return"] * (signature.return_annotation is inspect.Signature.empty)


@pytest.mark.parametrize("name", signatures())
def test_public_signatures_are_annotated(name):
    assert not_annotated(signatures()[name]) == []


def test_the_package_is_looked_at_whole():
    inherited = "skspc.clusterers.AgglomerativeClusterer.fit"
    assert {"skspc.SPCClustering.load", "skspc.datasets.fetch_mnist", inherited} <= set(signatures())


class Halves:
    def __init__(self, x, y: int = 2, *more: int, **settings):
        pass

    def halve(self, x: float) -> float:
        return x / 2


def test_what_is_not_annotated_is_found():
    assert not_annotated(Halves.__init__) == ["x", "settings", "return"]
    assert not_annotated(Halves.halve) == []
