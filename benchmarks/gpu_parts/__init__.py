"""What `gpu.py` is made of: tables by name, each a list of rows, measured in a process apart."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "paper"))  # what it knows of machines, and of its rows
