"""The matrix of versions: `nox` runs all of it, `nox -s oldest` one leg. TORCH picks a build of torch, as in make."""

import os

import nox

nox.options.reuse_existing_virtualenvs = True
nox.options.sessions = ["lint", "tests", "oldest", "bare", "docs"]

TORCH = (os.environ.get("TORCH") or "torch").split()
# The oldest versions that setup.cfg allows of what fits and pictures need; torch is what TORCH names. Python 3.11 is
# the newest that all of them have wheels for.
OLDEST = ["numpy==1.24.*", "scipy==1.10.*", "scikit-learn==1.6.0", "hdbscan==0.8.42", "umap-learn==0.5.8"]
OLDEST += ["safetensors==0.4.0", "matplotlib==3.7.0", "pyparsing<3.1", "pytest==8.*"]

# What tests import, no extra of skspc.
TOOLS = ["pytest>=8", "pytest-xdist>=3.2", "hypothesis", "pandas", "skops", "setuptools>=77"]
PYTEST = ["pytest", "-n", "auto", "--dist", "worksteal"]  # one worker a core


@nox.session
def lint(session):
    """Style and types."""
    session.install(*TORCH)
    session.install("-e", ".[test]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")


@nox.session
def tests(session):
    """Tests and doctests with the newest versions."""
    session.install(*TORCH)
    session.install("-e", ".[plot,test]")
    session.run(*PYTEST, *session.posargs)


@nox.session(python="3.11")
def oldest(session):
    """Tests with the oldest versions."""
    session.install(*TORCH)  # by itself: it may name an index of its own
    session.install(*OLDEST)
    session.install("-e", ".[plot]", *TOOLS, *OLDEST)
    session.run(*PYTEST, "--ignore=skspc/export.py", *session.posargs)


@nox.session
def bare(session):
    """Tests without any optional package: what needs one is skipped."""
    session.install(*TORCH)
    session.install("-e", ".", *TOOLS)
    session.run(*PYTEST, "--ignore=skspc/export.py", "--ignore=skspc/plotting", *session.posargs)


@nox.session
def docs(session):
    """The site with its gallery; warnings are errors."""
    session.install(*TORCH)
    session.install("-e", ".[docs]")
    session.run("sphinx-build", "-W", "--keep-going", "-b", "html", "docs", "docs/_build/html", *session.posargs)
