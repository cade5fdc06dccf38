"""The code of the README and of the docs runs as printed."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
NEEDED = {"from skspc.plotting": "matplotlib", "from skspc.export": "onnxruntime"}  # optional packages
PAGES = [path for path in sorted(ROOT.glob("docs/*.md")) if "```python" in path.read_text(encoding="utf-8")]


def python_blocks(text):
    """The python code blocks of a Markdown text."""
    return re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def run_blocks(page):
    """Run the blocks of a page one after the other: what they define."""
    text = page.read_text(encoding="utf-8")
    for statement, package in NEEDED.items():
        if statement in text:
            pytest.importorskip(package)
    namespace: dict = {}
    for block in python_blocks(text):
        exec(compile(block, str(page), "exec"), namespace)
    return namespace


def test_the_first_screen_shows_how_to_use_it():
    first_screen = README.read_text(encoding="utf-8").split("\n")[:25]
    assert any("SPCClustering(n_clusters=10).fit_predict(X)" in line for line in first_screen)


def test_code_blocks_run_in_order():
    blocks = python_blocks(README.read_text(encoding="utf-8"))
    assert len(blocks) >= 3
    namespace = run_blocks(README)
    assert len(namespace["labels"]) == len(namespace["X"])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_of_the_docs_runs_in_order(page):
    assert run_blocks(page)
