"""A module imports from its own row or from rows below, and never in a circle."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import skspc

ROOT = Path(skspc.__file__).parent
ROWS = [  # top to bottom; a package stands for all its modules
    {"__init__"},
    {"plotting", "export"},
    {"_spc"},
    {"_io", "_checkpoints"},
    {"_rounds"},
    {"_ensemble", "_validation"},
    {"_packing"},
    {"_members", "_memory"},
    {"clusterers", "networks", "augmentations"},
    {"datasets", "metrics"},
    {"_scaling", "_consensus", "_workers", "_matching", "_representatives", "_steps"},
    {"_history", "_reporter", "_device", "_seeding", "_constants", "_files", "_rows", "_version"},
]
ROW_OF = {name: row for row, names in enumerate(ROWS) for name in names}


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
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
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
            faults.append(f"skspc.{name} has no row: place it in ROWS of tests/test_layers.py and in the layout.")
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


def test_the_package_is_read_whole():
    sources = read_package()
    assert {"", "_spc", "_rounds", "networks", "networks._layers", "clusterers._cut"} <= set(sources)
    assert "_ensemble" in internal_imports("_spc", sources)
    assert "_constants" in internal_imports("clusterers._cut", sources)
    assert "networks" in internal_imports("_validation", sources)


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
    faults = layer_faults({"": "", "_spc": "", "_history": statement})
    assert faults == ["skspc._history imports skspc._spc, of a row above its own."]


def test_an_upward_import_from_a_package_is_found():
    sources = {"_rounds": "", "networks": "", "networks._conv": "from .._rounds import run_rounds"}
    assert layer_faults(sources) == ["skspc.networks._conv imports skspc._rounds, of a row above its own."]


def test_downward_and_foreign_imports_are_no_faults():
    sources = {"_spc": "import numpy\nfrom torch import nn\nfrom ._rounds import run_rounds", "_rounds": ""}
    assert layer_faults(sources) == []


def test_a_circle_is_found():
    faults = layer_faults({"_history": "from . import _device", "_device": "from ._history import best_round"})
    assert faults == ["A circle of imports: _device -> _history -> _device."]


def test_a_module_without_a_row_is_told_to_be_placed():
    (fault,) = layer_faults({"_brand_new": ""})
    assert "skspc._brand_new has no row: place it" in fault


def test_consensus_is_numpy_and_scipy_only():
    source = read_package()["_consensus"]
    assert top_level_names(all_imports(source)) <= {"dataclasses", "numpy", "scipy"}
    assert internal_imports("_consensus", read_package()) == {"_constants"}


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
