"""Builds the emulated card's library: g++ against the headers that torch brings, in seconds."""

import shutil
import subprocess
from pathlib import Path

import torch
from torch.utils.cpp_extension import include_paths

SOURCE = Path(__file__).with_name("emulated_card.cpp")


def reason_against():
    """Why no card can be emulated here; None if one can."""
    if torch.version.cuda is not None or torch.version.hip is not None:
        return "this torch is built with CUDA, whose places the emulated card would take"
    if shutil.which("g++") is None:
        return "there is no g++ to build the emulated card with"
    return None


def build(folder):
    """Build the library in a folder: its path, or the compiler's words as a RuntimeError."""
    library, torch_libraries = Path(folder) / "card.so", Path(torch.__file__).parent / "lib"
    command = ["g++", "-shared", "-fPIC", "-std=c++20", "-O0", *(f"-I{path}" for path in include_paths()), SOURCE]
    command += [f"-L{torch_libraries}", f"-Wl,-rpath,{torch_libraries}", "-lc10", "-ltorch_cpu", "-o", library]
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode:
        raise RuntimeError(f"emulated_card.cpp does not fit torch {torch.__version__}:\n{ran.stderr[-2000:]}")
    return library
