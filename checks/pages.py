"""Tables in Markdown, and pages that have a part written by a script: those of paper/, which has more of both."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "paper"))  # scripts are run by their path, from any folder

from reproduction.machine import versions
from reproduction.report import markdown_table, replace_between_markers

__all__ = ["markdown_table", "replace_between_markers", "versions"]
