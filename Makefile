# Needs Python 3.11 or newer and make; the rest goes into .venv.
PYTHON ?= python3
# Processes that share out the tests; 0 runs them in one.
WORKERS ?= 2
# How long make fuzz runs.
MINUTES ?= 10
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

.DELETE_ON_ERROR:
.PHONY: help demo test quick lint bench fuzz reproduce tutorials docs clean

help:
	@echo "make demo       install, cluster handwritten digits, write demo/report.html"
	@echo "make test       install, run all tests"
	@echo "make quick      run the tests that are not slow"
	@echo "make lint       check style, format and types"
	@echo "make bench      measure speed"
	@echo "make fuzz       read damaged files of all kinds for MINUTES=10"
	@echo "make tutorials  run the tutorials where their data are, and write what they say"
	@echo "make docs       make the documentation site, docs/_build/html"
	@echo "make reproduce  repeat the paper's results"
	@echo "make clean      remove .venv, caches and results"
	@echo "Another Python: make demo PYTHON=python3.13"

demo: $(VENV)/.installed
	@$(BIN)/threecpo demo --output demo --force

test: $(VENV)/.test
	@$(PYTEST)

quick: $(VENV)/.test
	@$(PYTEST) -m "not slow"

lint: $(VENV)/.lint
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: $(VENV)/.test
	@$(BIN)/python benchmarks/speed.py

fuzz: $(VENV)/.test
	@$(BIN)/python -m fuzz.crafted --workers $(WORKERS)
	@$(BIN)/python -m fuzz --minutes $(MINUTES) --workers $(WORKERS)

# The data lie beside the checkout, in ../shared; pages without theirs stay as they are.
tutorials: $(VENV)/.test
	@for page in cells texts sites customers digits; do \
	  folder=$$(mktemp -d) && ln -s $(abspath ../shared)/* $$folder && \
	  (cd $$folder && MPLBACKEND=Agg $(abspath $(BIN))/python -W ignore \
	    $(abspath tests)/tutorial.py $(abspath docs)/tutorials/$$page.md --update); \
	  rm -rf $$folder; \
	done

# Everything is made afresh, so that no page of a name that has gone stays.
docs: $(VENV)/.docs
	@rm -rf docs/_build docs/_made docs/api
	@$(BIN)/python -m sphinx --builder html --fail-on-warning --quiet docs docs/_build/html
	@$(BIN)/python docs/_ext/built_pages.py docs/_build/html

reproduce: $(VENV)/.test
	@$(BIN)/python -m experiments all --output docs/results

clean:
	rm -rf $(VENV) demo build dist docs/_build docs/_made docs/api fuzz-failures .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src experiments fuzz tests benchmarks -name __pycache__ -prune -exec rm -rf {} + \
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
	@touch $@

$(VENV)/.lint: $(VENV)/.test
	@echo "Installing what the checks need ..."
	@$(PIP) install --group lint
	@touch $@

$(VENV)/.docs: $(VENV)/.installed
	@echo "Installing what the documentation needs ..."
	@$(PIP) install --group docs
	@touch $@
