"""Every public name has a numpydoc docstring that tells all of its parameters, results and errors."""

import ast
import importlib
import inspect
import re
import textwrap

import pytest

MODULES = (
    "",
    ".clusterers",
    ".networks",
    ".augmentations",
    ".datasets",
    ".metrics",
    ".model_selection",
    ".plotting",
    ".export",
)


def public_objects():
    """Public classes and functions by dotted name."""
    found = {}
    for name in MODULES:
        module = importlib.import_module(f"skspc{name}")
        for public in module.__all__:
            thing = getattr(module, public)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                found[f"skspc{name}.{public}"] = thing
    return found


def public_methods():
    """Methods of public classes that the package itself defines, by dotted name."""
    return {
        f"{owner}.{name}": method
        for owner, thing in public_objects().items()
        if inspect.isclass(thing)
        for name in vars(thing)
        if (not name.startswith("_") or name == "__call__")
        and inspect.isroutine(method := getattr(thing, name))
        and method.__module__.startswith("skspc")
    }


def sections(docstring):
    """Text of each numpydoc section by its heading; the text before them under ""."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", inspect.cleandoc(docstring or ""), flags=re.MULTILINE)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def entries(section):
    """Names that a section tells: "epochs, batch_size : int" has two."""
    headings = re.findall(r"^(\S[^:\n]*?)(?: : .*)?$", section, flags=re.MULTILINE)
    return [name.strip().lstrip("*") for heading in headings for name in heading.split(",")]


def parameter_names(thing):
    parameters = inspect.signature(thing).parameters
    return [name for name in parameters if name not in ("self", "cls")]


def body_of(function):
    """Nodes of a function without those of functions in it."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function)))).body[0]
    pending, found = list(tree.body), []
    while pending:
        node = pending.pop()
        found.append(node)
        if not isinstance(node, (ast.FunctionDef, ast.Lambda)):
            pending.extend(ast.iter_child_nodes(node))
    return found


def errors_raised(function):
    """Names of the errors that a function raises itself."""
    raised = [node.exc for node in body_of(function) if isinstance(node, ast.Raise) and node.exc is not None]
    return {error.func.id for error in raised if isinstance(error, ast.Call) and isinstance(error.func, ast.Name)}


def faults_of_function(function, name, with_examples):
    """Sentences on what the docstring of a function or method lacks."""
    told, faults = sections(function.__doc__), []
    if not told[""].strip():
        return [f"{name} has no docstring."]
    if entries(told.get("Parameters", "")) != parameter_names(function):
        faults.append(f"{name}: Parameters are not {parameter_names(function)}, in this order.")
    returns = any(isinstance(node, ast.Return) and node.value is not None for node in body_of(function))
    if returns and "Returns" not in told:
        faults.append(f"{name} has no Returns.")
    untold = errors_raised(function) - set(entries(told.get("Raises", "")))
    faults += [f"{name}: Raises does not tell {error}." for error in sorted(untold)]
    if with_examples and ">>>" not in told.get("Examples", ""):
        faults.append(f"{name} has no Examples.")
    return faults


def faults_of_class(thing, name):
    """Sentences on what the docstring of a class lacks."""
    told = sections(thing.__doc__)
    faults = []
    if entries(told.get("Parameters", "")) != parameter_names(thing):
        faults.append(f"{name}: Parameters are not {parameter_names(thing)}, in this order.")
    if hasattr(thing, "fit") and "Attributes" not in told:
        faults.append(f"{name} has no Attributes.")
    if ">>>" not in told.get("Examples", ""):
        faults.append(f"{name} has no Examples.")
    return faults


@pytest.mark.parametrize("name", public_objects())
def test_public_names_are_documented(name):
    thing = public_objects()[name]
    if inspect.isclass(thing):
        assert faults_of_class(thing, name) == []
    else:
        assert faults_of_function(thing, name, with_examples=True) == []


@pytest.mark.parametrize("name", public_methods())
def test_public_methods_are_documented(name):
    assert faults_of_function(public_methods()[name], name, with_examples=False) == []


def test_the_package_is_looked_at_whole():
    assert {"skspc.SPCClustering", "skspc.datasets.fetch_mnist", "skspc.export.to_onnx"} <= set(public_objects())
    assert {"skspc.SPCClustering.load", "skspc.augmentations.AffineAugmentation.__call__"} <= set(public_methods())


def incomplete(x, y=1):
    """Halve.

    Parameters
    ----------
    y : float
    """
    if y == 0:
        raise ValueError("y is 0.")
    return x / y


def test_what_is_missing_is_found():
    assert faults_of_function(incomplete, "incomplete", with_examples=True) == [
        "incomplete: Parameters are not ['x', 'y'], in this order.",
        "incomplete has no Returns.",
        "incomplete: Raises does not tell ValueError.",
        "incomplete has no Examples.",
    ]
    assert faults_of_function(lambda: None, "a lambda", with_examples=True) == ["a lambda has no docstring."]


def test_entries_of_a_section():
    assert entries("pretrain_epochs, epochs : int\n    Of each.\n**kwargs : dict\nself\n") == [
        *("pretrain_epochs", "epochs", "kwargs", "self"),
    ]
