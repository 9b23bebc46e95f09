# Needs Python 3.11 or newer and make; the rest goes into .venv.
PYTHON ?= python3
# Processes that share out the tests; 0 runs them in one.
WORKERS ?= 2
# What make bench-check compares with, and data sets to measure.
BASE ?= main
SETS ?=
HISTORY := benchmarks/results/history.jsonl
# How long make fuzz runs.
MINUTES ?= 10
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

.DELETE_ON_ERROR:
.PHONY: help demo test test-all test-oldest test-bare test-addresses dist test-dist lint bench bench-history bench-check fuzz reproduce tutorials docs clean

help:
	@echo "make demo       install, cluster Jane Austen's novels, write demo/report.html"
	@echo "make test       install, run the tests that are not slow"
	@echo "make test-all   run all tests, also those in browsers, of lost clusters and of the paper"
	@echo "make test-oldest  run the tests with the oldest versions that are allowed"
	@echo "make dist       make the wheel and the source distribution, and check both"
	@echo "make test-dist  run the tests of the source distribution on the installed wheel"
	@echo "make lint       check style, format and types"
	@echo "make bench      measure speed"
	@echo "make bench-history  measure speed, add it to those of earlier commits, draw them"
	@echo "make bench-check  fail if this is slower than BASE=main; SETS=\"synth bbcsports\""
	@echo "make fuzz       read damaged files of all kinds for MINUTES=10"
	@echo "make tutorials  install, run the tutorials, compare what they print"
	@echo "make docs       make the documentation site, docs/_build/html"
	@echo "make reproduce  repeat the paper's results"
	@echo "make clean      remove .venv, caches and results"
	@echo "Another Python: make demo PYTHON=python3.13"

demo: $(VENV)/.installed
	@$(BIN)/threecpo demo --output demo

test: $(VENV)/.test
	@$(PYTEST) -m "not slow"

test-all: $(VENV)/.test
	@$(PYTEST)

# In environments of their own: the oldest versions of everything, and no extras at all.
test-oldest: $(VENV)/.pip
	@$(PYTHON) -m venv .venv-oldest
	@.venv-oldest/bin/python -m pip --quiet install --upgrade "pip>=25.1"
	@.venv-oldest/bin/python -m pip --quiet install --editable ".[all]" --group test-base \
	  --constraint tests/oldest.txt
	@SCIPY_ARRAY_API=1 .venv-oldest/bin/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow" $(TESTS)

test-bare: $(VENV)/.pip
	@$(PYTHON) -m venv .venv-bare
	@.venv-bare/bin/python -m pip --quiet install --upgrade "pip>=25.1"
	@.venv-bare/bin/python -m pip --quiet install --editable . --group test-base
	@.venv-bare/bin/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow" \
	  tests/cluster tests/core tests/fit tests/select tests/test_import.py

test-addresses: $(VENV)/.test
	@$(BIN)/python -m pytest -q -p no:xdist tests/docs/test_release.py

# The wheel is made from the source distribution, and tried in an environment of its own.
dist: $(VENV)/.dist
	@rm -rf dist .venv-wheel
	@$(BIN)/python -m build --outdir dist .
	@$(BIN)/python -m twine check --strict dist/*
	@$(BIN)/check-wheel-contents dist/*.whl
	@$(BIN)/pyroma --min=10 dist/*.tar.gz
	@$(PYTHON) -m venv .venv-wheel
	@.venv-wheel/bin/python -m pip --quiet install "$$(echo dist/*.whl)[cli,report]"
	@cd dist && ../.venv-wheel/bin/threecpo demo --output ../.venv-wheel/demo

# The tests of the source distribution, unpacked outside of the repository, on what the wheel installs.
test-dist: dist
	@.venv-wheel/bin/python -m pip --quiet install --upgrade "pip>=25.1"
	@.venv-wheel/bin/python -m pip --quiet install "$$(echo dist/*.whl)[all]" --group test
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && \
	  tar -xzf dist/*.tar.gz -C "$$folder" --strip-components 1 && cd "$$folder" && \
	  $(abspath .venv-wheel)/bin/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow" $(TESTS) && \
	  $(abspath .venv-wheel)/bin/python -m pytest -q -m "not slow" --pyargs threecpo

lint: $(VENV)/.lint
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: $(VENV)/.test
	@$(BIN)/python benchmarks/speed.py

# One more line, for this commit, in the history of speed, and its picture.
bench-history: $(VENV)/.test
	@$(BIN)/python benchmarks/speed.py --only kmeans --json $(HISTORY) $(if $(SETS),--datasets $(SETS))
	@$(BIN)/python benchmarks/history.py $(HISTORY)

# Fails where this checkout is slower than BASE, a commit or a tag, beyond noise.
bench-check: $(VENV)/.test
	@$(BIN)/python benchmarks/slowdown.py --base $(BASE) $(if $(SETS),--datasets $(SETS))

fuzz: $(VENV)/.test
	@$(BIN)/python -m fuzz.crafted --workers $(WORKERS)
	@$(BIN)/python -m fuzz --minutes $(MINUTES) --workers $(WORKERS)

# Runs the tutorials and compares what they print; UPDATE=--update writes it instead.
tutorials: $(VENV)/.test
	@for page in cells texts sites customers; do \
	  echo "$$page:" && folder=$$(mktemp -d) && \
	  (cd $$folder && MPLBACKEND=Agg $(abspath $(BIN))/python -W ignore \
	    $(abspath tests/docs)/tutorial.py $(abspath docs)/tutorials/$$page.md $(UPDATE)) || exit 1; \
	  rm -rf $$folder; \
	done

# Everything is made afresh, so that no page of a name that has gone stays.
docs: $(VENV)/.docs
	@rm -rf docs/_build docs/_made docs/reference/names
	@$(BIN)/python -m sphinx --builder html --fail-on-warning --quiet docs docs/_build/html
	@$(BIN)/python docs/_ext/built_pages.py docs/_build/html

reproduce: $(VENV)/.test
	@$(BIN)/python -m paper all --output paper/results

clean:
	rm -rf $(VENV) .venv-oldest .venv-bare .venv-wheel demo build dist docs/_build docs/_made docs/reference/names fuzz-failures .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src paper fuzz tests benchmarks -name __pycache__ -prune -exec rm -rf {} + \
	  2>/dev/null || true

# Dependency groups need pip 25.1.
$(VENV)/.pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "$(PYTHON) is older than Python 3.11; try: make PYTHON=python3.11" >&2; \
	  exit 1; }
	@echo "Making $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --upgrade "pip>=25.1"
	@touch $@

$(VENV)/.installed: pyproject.toml | $(VENV)/.pip
	@echo "Installing threecpo and what it needs ..."
	@$(PIP) install --editable ".[cli,plot,report]"
	@touch $@

$(VENV)/.test: $(VENV)/.installed
	@echo "Installing what the tests need ..."
	@$(PIP) install --group test
	@$(PIP) install --group tutorials || echo "Some tutorials are not tested: no data."
	@touch $@

$(VENV)/.dist: $(VENV)/.installed
	@echo "Installing what a release needs ..."
	@$(PIP) install --group dist
	@touch $@

$(VENV)/.lint: $(VENV)/.test
	@echo "Installing what the checks need ..."
	@$(PIP) install --group lint
	@touch $@

$(VENV)/.docs: $(VENV)/.installed
	@echo "Installing what the documentation needs ..."
	@$(PIP) install --group docs
	@touch $@
