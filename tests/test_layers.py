"""A module imports from its own row or from rows below, and never in a circle."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import skspc

ROOT = Path(skspc.__file__).parent
ROOMS = {  # top to bottom: what a row is, and its rooms, each with what is in it; docs/contributing.md shows them
    "public names": {"__init__": "`SPCClustering`"},
    "pictures, export": {"plotting": "displays of a fitted model", "export": "ONNX"},
    "the estimator": {
        "_spc": "`SPCClustering`: parameters, `fit`, `predict`",
        "model_selection": "how many clusters",
    },
    "what is kept": {"_persistence": "model files, checkpoints, files written whole or not at all"},
    "the paper": {"_method": "Algorithm 1: rounds, labelling, consensus, pseudo-labels, objectives, history"},
    "its parts": {
        "_ensemble": "K members in groups: training, encoding, states, packing",
        "_input": "X checked, scaled, each row once",
    },
    "what users choose": {
        "clusterers": "clusterers, reducers, their registry",
        "networks": "autoencoders batched over members",
        "augmentations": "changes of a batch",
    },
    "data, measures": {"datasets": "loaders", "metrics": "accuracy, matching"},
    "what a fit runs on": {"_runtime": "devices, memory, threads, jobs, modes of torch, seeds, recorded steps, arrays"},
    "names": {"_constants": "`NOISE`", "_docstrings": "docstrings that share parts", "_version": "the version"},
}
ROW_OF = {name: row for row, rooms in enumerate(ROOMS.values()) for name in rooms}


def read_package(root=ROOT):
    """Sources of a package by dotted name: "" is its __init__, "networks" that package's."""
    sources = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        sources[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path.read_text()
    return sources


def all_imports(source):
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, (ast.Import, ast.ImportFrom))]


def imports_on_loading(source):
    """Import statements that run when the module is imported: those outside functions."""
    found, pending = [], [ast.parse(source)]
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found.append(node)
        for_types_alone = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        if not for_types_alone and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            pending.extend(ast.iter_child_nodes(node))
    return found


def top_level_names(nodes):
    """First component of each absolute import: {"numpy", "torch"}."""
    names = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif node.level == 0:
            names.add(node.module.split(".")[0])
    return names


def internal_imports(name, sources):
    """Modules of the package that module ``name`` imports, late imports too."""
    has_children = name == "" or any(other.startswith(f"{name}.") for other in sources)
    package = name.split(".") if name else []
    package = package if has_children else package[:-1]
    found = set()
    for node in all_imports(sources[name]):
        if isinstance(node, ast.Import):
            targets = [alias.name.split(".") for alias in node.names]
            found |= {".".join(parts[1:]) for parts in targets if parts[0] == "skspc"}
            continue
        if node.level == 0 and node.module.split(".")[0] != "skspc":
            continue
        base = node.module.split(".")[1:] if node.level == 0 else package[: len(package) - node.level + 1]
        base = base + (node.module.split(".") if node.level and node.module else [])
        for alias in node.names:  # `from .networks import _conv` means the module, `import ConvNetwork` the package
            deeper = ".".join([*base, alias.name])
            found.add(deeper if deeper in sources else ".".join(base))
    return found - {name}


def layer_faults(sources):
    """Sentences on modules without a row, imports from above, and circles."""
    faults = []
    graph = {name: internal_imports(name, sources) for name in sources}

    def row(name):
        return ROW_OF.get(name.split(".")[0] or "__init__")

    for name in sources:
        if row(name) is None:
            faults.append(f"skspc.{name} has no row: place it in ROOMS of tests/test_layers.py.")
    for name, targets in graph.items():
        for target in sorted(targets):
            if None not in (row(name), row(target)) and row(target) < row(name):
                faults.append(f"skspc.{name} imports skspc.{target}, of a row above its own.")
    return faults + [f"A circle of imports: {' -> '.join(circle)}." for circle in find_circles(graph)]


def find_circles(graph):
    """Each circle of a depth-first search, as a list of names that starts and ends alike."""
    circles, done = [], set()

    def visit(name, path):
        if name in path:
            circles.append([*path[path.index(name) :], name])
        elif name not in done:
            for target in sorted(graph.get(name, ())):
                visit(target, [*path, name])
            done.add(name)

    for name in sorted(graph):
        visit(name, [])
    return circles


def test_modules_import_from_their_own_row_or_below():
    assert layer_faults(read_package()) == []


def rooms_as_a_table():
    """The rows of `ROOMS` as Markdown."""
    rows = [
        f"| {row} | {'; '.join(f'`{room}`: {what}' for room, what in rooms.items())} |" for row, rooms in ROOMS.items()
    ]
    return "\n".join(["| row | rooms |", "| --- | --- |", *rows])


def test_the_page_shows_these_rooms():
    assert rooms_as_a_table() in (Path(__file__).parents[1] / "docs" / "contributing.md").read_text(encoding="utf-8")


def test_no_function_is_longer_than_a_screen():
    too_long = []
    for name, source in read_package().items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                if body and body[-1].end_lineno - body[0].lineno + 1 > 40:
                    too_long.append(f"skspc.{name}.{node.name}")
    assert too_long == []


def test_the_package_is_read_whole():
    sources = read_package()
    assert {"", "_spc", "_method.rounds", "networks", "networks._layers", "clusterers._cut"} <= set(sources)
    assert "_ensemble.ensemble" in internal_imports("_spc", sources)
    assert "_constants" in internal_imports("clusterers._cut", sources)
    assert "networks" in internal_imports("_input.validation", sources)
    assert {name.partition(".")[0] or "__init__" for name in sources} == set(ROW_OF)


@pytest.mark.parametrize(
    "statement",
    [
        "from ._spc import SPCClustering",
        "from . import _spc",
        "import skspc._spc",
        "from skspc._spc import SPCClustering",
        "def f():\n    from ._spc import SPCClustering",
    ],
)
def test_an_upward_import_is_found(statement):
    faults = layer_faults({"": "", "_spc": "", "_runtime": statement})
    assert faults == ["skspc._runtime imports skspc._spc, of a row above its own."]


def test_an_upward_import_from_a_package_is_found():
    sources = {"_method": "", "networks": "", "networks._conv": "from .._method import run_rounds"}
    assert layer_faults(sources) == ["skspc.networks._conv imports skspc._method, of a row above its own."]


def test_downward_and_foreign_imports_are_no_faults():
    sources = {"_spc": "import numpy\nfrom torch import nn\nfrom ._method import run_rounds", "_method": ""}
    assert layer_faults(sources) == []


def test_a_circle_is_found():
    faults = layer_faults({"_input": "from . import _ensemble", "_ensemble": "from ._input import distinct_rows"})
    assert faults == ["A circle of imports: _ensemble -> _input -> _ensemble."]


def test_a_module_without_a_row_is_told_to_be_placed():
    (fault,) = layer_faults({"_brand_new": ""})
    assert "skspc._brand_new has no row: place it" in fault


def test_consensus_is_numpy_and_scipy_only():
    source = read_package()["_method.consensus"]
    assert top_level_names(all_imports(source)) <= {"dataclasses", "numpy", "scipy"}
    assert internal_imports("_method.consensus", read_package()) == {"_constants"}


@pytest.mark.parametrize("name", sorted(read_package()))
def test_optional_packages_are_imported_late(name):
    imported = top_level_names(imports_on_loading(read_package()[name]))
    assert imported.isdisjoint({"matplotlib", "pandas", "tqdm", "umap", "onnx", "onnxscript"})


def test_an_early_import_is_told_from_a_late_one():
    source = "try:\n    import tqdm\nexcept ImportError:\n    pass\ndef f():\n    import pandas\n"
    assert top_level_names(imports_on_loading(source)) == {"tqdm"}


def test_importing_skspc_does_not_import_umap():
    program = "import sys, skspc, skspc.clusterers; print({'umap', 'matplotlib'} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "set()"
