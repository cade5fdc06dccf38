"""The README's code runs as printed."""

import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def python_blocks(text):
    """The python code blocks of a Markdown text."""
    return re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def test_the_first_screen_shows_how_to_use_it():
    first_screen = README.read_text(encoding="utf-8").split("\n")[:25]
    assert any("SPCClustering(n_clusters=10).fit_predict(X)" in line for line in first_screen)


def test_code_blocks_run_in_order():
    blocks = python_blocks(README.read_text(encoding="utf-8"))
    assert len(blocks) >= 3
    namespace: dict = {}
    for block in blocks:
        exec(compile(block, str(README), "exec"), namespace)
    assert len(namespace["labels"]) == len(namespace["X"])
