"""Docstrings that share parts: numpydoc wants each complete, and copies drift apart."""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def filled_in(**parts: object) -> Callable[[F], F]:
    """Fill in a docstring's ``{part}``, ``{name}``, which is the function's own, and ``{owner}``, a method's class."""

    def fill(function: F) -> F:
        names = {"name": function.__name__, "owner": function.__qualname__.partition(".")[0]}
        docstring = inspect.cleandoc(function.__doc__ or "")  # None where Python runs with -OO
        for name, part in (parts | names).items():
            docstring = docstring.replace(f"{{{name}}}", str(part))
        function.__doc__ = docstring
        return function

    return fill
