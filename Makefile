# All commands create .venv once and reuse it. `make test TORCH=torch==2.13.0` picks a build of torch first.
PYTHON ?= python3
TORCH ?=
GALLERY ?=
TESTS ?=
LEGS ?= oldest bare
BIN := .venv/bin

# What `make reproduce` has measured. To add to the committed rows: make reproduce-full RESULTS=paper/results.jsonl
RESULTS ?= reproduced.jsonl
# More for its command line, e.g. LIMIT="--hours 8"
LIMIT ?=
MEASURE = $(BIN)/python paper/reproduce.py --results $(RESULTS) $(LIMIT)
QUICK_METHODS := kmeans umap-gmm umap-hdbscan n2d spc spc-affine

.PHONY: demo test lint matrix docs reproduce reproduce-full clean

demo: .venv/.installed-demo
	$(BIN)/python examples/plot_digits.py

test: .venv/.installed-test
	$(BIN)/pytest -n auto --dist worksteal

lint: .venv/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Tests with the oldest versions allowed (of torch, what TORCH names), and without optional packages; LEGS picks, TESTS
# goes to pytest.
matrix: .venv/.installed-test
	TORCH="$(TORCH)" $(BIN)/nox -s $(LEGS) -- $(TESTS)

# The site, in docs/_build/html. GALLERY=trust runs that example alone, GALLERY=none runs none.
docs: .venv/.installed-docs
	MPLBACKEND=agg $(BIN)/sphinx-build -W --keep-going -j 1 $(if $(GALLERY),-D 'sphinx_gallery_conf.filename_pattern=plot_$(GALLERY)') docs docs/_build/html

# One seed of USPS and five of digits: meant for under 30 minutes on two cores.
reproduce: .venv/.installed-demo
	$(MEASURE) --dataset digits --seeds 0 1 2 3 4 --method $(QUICK_METHODS)
	$(MEASURE) --dataset usps --seeds 0 --method $(QUICK_METHODS)
	$(MEASURE) --print

# Everything, for as long as it takes; what is there already is not made again.
reproduce-full: .venv/.installed-demo
	$(MEASURE) --dataset digits usps --seeds 0 1 2 3 4
	$(MEASURE) --dataset all --seeds 0 1 2 3 4
	$(MEASURE) --table ablations ensemble-size cluster-sizes --dataset usps mnist fashion_mnist --seeds 0 1 2
	$(MEASURE) --print

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

.venv/.installed-docs: .venv/bin/python setup.cfg
	$(BIN)/pip install -e ".[docs]"
	touch $@ .venv/.installed-demo

clean:
	rm -rf .venv build dist *.egg-info docs/_build docs/gallery docs/generated docs/sg_execution_times.rst
