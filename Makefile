# Two commands are all a newcomer needs: `make serve` and `make test`. Both make their own environment.
PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3.13 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin
WORKERS ?= 2

.PHONY: serve test setup check format unit faults fuzz compatibility bench clean

serve: $(VENV)/.runtime
	$(BIN)/gramme serve --data ./data

test: check unit

setup: $(VENV)/.development

check: $(VENV)/.development
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/mypy

unit: $(VENV)/.development
	$(BIN)/pytest -n $(WORKERS) --dist worksteal

faults: $(VENV)/.development
	$(BIN)/python -m tests.faults.campaign $(FAULTS)

# FUZZ="coverage --seconds 60" also installs what guides it.
fuzz: $(VENV)/.development $(if $(filter coverage,$(FUZZ)),$(VENV)/.fuzz)
	$(BIN)/python -m tests.fuzz.campaign $(FUZZ)

# Writes docs/compatibility.md from what the conformance tests show.
compatibility: $(VENV)/.development
	$(BIN)/pytest -q tests/conformance --evidence
	$(BIN)/python tools/make_compatibility.py

bench: $(VENV)/.development
	$(BIN)/python -m bench $(BENCH)

format: $(VENV)/.development
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Gramme needs Python 3.11 or newer; set PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	@touch $@

$(VENV)/.runtime: $(VENV)/.python pyproject.toml
	$(BIN)/pip install --quiet --editable .
	@touch $@

$(VENV)/.development: $(VENV)/.runtime pyproject.toml
	$(BIN)/pip install --quiet --group dev
	@touch $@

$(VENV)/.fuzz: $(VENV)/.development pyproject.toml
	$(BIN)/pip install --quiet --group fuzz
	@touch $@

clean:
	rm -rf $(VENV) .fuzz build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
