"""The folders of scripts: each README lists its scripts, and what pages say of them holds."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("benchmarks", "checks", "paper")
SCRIPTS = [path for folder in FOLDERS for path in sorted(ROOT.glob(f"{folder}/*.py")) if path.stem != "pages"]
PAGES = [
    path
    for pattern in ("*.md", "docs/*.md", "tests/README.md", "*/README.md", "Makefile", "checks/*.py", "paper/**/*.py")
    for path in sorted(ROOT.glob(pattern))
]


def is_listed(readme, name):
    """Whether a table has a line on a script with all that a line is to tell."""
    lines = [line for line in readme.splitlines() if line.startswith(f"| `{name}` |")]
    return len(lines) == 1 and all(cell.strip() for cell in lines[0].strip("|").split("|"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_a_script_is_listed_with_what_it_answers_takes_and_how_long(path):
    assert is_listed((path.parent / "README.md").read_text(encoding="utf-8"), path.name)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_script_that_is_named_exists(path):
    named = set(re.findall(r"\b(?:benchmarks|checks|paper)/\w+\.\w+", path.read_text(encoding="utf-8")))
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("path", [path for folder in FOLDERS for path in sorted(ROOT.glob(f"{folder}/**/*.py"))])
def test_no_script_replaces_a_function_of_the_package(path):
    """It would measure another package than the one that is shipped."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    imported = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    imported |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    called = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert not {"unittest", "unittest.mock", "mock"} & imported
    assert "setattr" not in called
