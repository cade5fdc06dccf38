# Both commands create .venv once and reuse it. `make test TORCH=torch==2.13.0` picks a build of torch first.
PYTHON ?= python3
TORCH ?=
BIN := .venv/bin

.PHONY: demo test lint clean

demo: .venv/.installed-demo
	$(BIN)/python examples/plot_digits.py

test: .venv/.installed-test
	$(BIN)/pytest

lint: .venv/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

.venv/bin/python:
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --upgrade pip
	$(if $(TORCH),$(BIN)/pip install $(TORCH))

.venv/.installed-demo: .venv/bin/python setup.cfg
	$(BIN)/pip install -e ".[plot]"
	touch $@

.venv/.installed-test: .venv/bin/python setup.cfg
	$(BIN)/pip install -e ".[plot,test]"
	touch $@ .venv/.installed-demo

clean:
	rm -rf .venv build *.egg-info
