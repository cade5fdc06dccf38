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


def broken_links(page, text):
    """Targets of a page's links within the repository that are not in a checkout, as what the site is built of."""
    targets = re.findall(r"\]\((?!https?:)([^)#\s]+)", text)
    return [each for each in targets if each.startswith("gallery/") or not (page.parent / each).exists()]


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


def test_code_blocks_run_in_order(few_steps):
    blocks = python_blocks(README.read_text(encoding="utf-8"))
    assert len(blocks) >= 3
    namespace = run_blocks(README)
    assert len(namespace["labels"]) == len(namespace["X"])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_of_the_docs_runs_in_order(page, few_steps):
    assert run_blocks(page)


@pytest.mark.parametrize("page", [README, *sorted(ROOT.glob("docs/*.md"))], ids=lambda page: page.name)
def test_links_within_the_repository_lead_somewhere(page):
    assert broken_links(page, page.read_text(encoding="utf-8")) == []


def test_a_broken_link_is_found():
    text = "[a](nowhere.md) [b](gallery/plot_nothing.rst#top) [c](theory.md#lemma-1) [d](https://example.org)"
    assert broken_links(ROOT / "docs" / "index.md", text) == ["nowhere.md", "gallery/plot_nothing.rst"]
