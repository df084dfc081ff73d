# Two commands are all a newcomer needs: `make serve` and `make test`. Both make their own environment.
PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3.13 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin
WORKERS ?= 2
# Clients that the tests drive and that cannot share the development environment: see docs/decisions/0002.
CLIENTS := $(VENV)/clients/aws-cli/.installed $(VENV)/clients/aioboto3/.installed $(VENV)/clients/javascript/.installed

PROTO_SCRATCH := build/proto

.PHONY: serve cluster test setup check format proto unit test-cluster faults simulate fuzz compatibility bench clean

serve: $(VENV)/.runtime
	$(BIN)/gramme serve --data ./data

cluster: $(VENV)/.runtime
	$(BIN)/gramme cluster --data ./cluster

test: check unit

setup: $(VENV)/.development $(CLIENTS)

check: $(VENV)/.development
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/mypy
	@rm -rf $(PROTO_SCRATCH) && mkdir -p $(PROTO_SCRATCH)
	$(call generate,$(PROTO_SCRATCH))
	@diff -r -x __init__.py -x __pycache__ $(PROTO_SCRATCH)/gramme/v1 gramme/v1 || \
		{ echo "gramme/v1 is not what proto/ says: run make proto" >&2; exit 1; }

# Writes gramme/v1 from proto/gramme/v1.
proto: $(VENV)/.development
	rm -f gramme/v1/*_pb2*
	$(call generate,.)

define generate
$(BIN)/python -m grpc_tools.protoc -I proto --python_out=$(1) --grpc_python_out=$(1) \
	--plugin=protoc-gen-mypy=$(BIN)/protoc-gen-mypy --mypy_out=quiet:$(1) \
	--plugin=protoc-gen-mypy_grpc=$(BIN)/protoc-gen-mypy_grpc --mypy_grpc_out=quiet:$(1) \
	proto/gramme/v1/*.proto
endef

unit: $(VENV)/.development $(CLIENTS)
	$(BIN)/pytest -n $(WORKERS) --dist worksteal

# The real image and containers of deploy/, where Docker runs; they are part of `make unit` too. Without it they say so.
test-cluster: $(VENV)/.development
	$(BIN)/pytest --verbose tests/cluster

faults: $(VENV)/.development
	$(BIN)/python -m tests.faults.campaign $(FAULTS)

# SIMULATE="--resume" goes on where the last campaign ended; SIMULATE=--bugs hunts bugs put in on purpose.
SEEDS ?= 200
simulate: $(VENV)/.development
	$(BIN)/python -m tests.simulate --seeds $(SEEDS) $(SIMULATE)

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

# Without npm nothing is marked as installed: the tests that need it are skipped, and say so, until it is there.
$(VENV)/clients/javascript/.installed: tests/clients/javascript/package.json $(VENV)/.python
	@mkdir -p $(@D)
	@cp $< $(@D)
	@if ! command -v npm > /dev/null; then echo "npm is not installed: the JavaScript SDK will not be tested"; \
	else echo "npm install --prefix $(@D)" && \
		npm install --prefix $(@D) --no-package-lock --no-audit --no-fund --loglevel=error && touch $@; fi

$(VENV)/clients/%/.installed: $(VENV)/.python pyproject.toml
	$(BIN)/python -m venv --without-pip $(@D)
	$(BIN)/pip --python $(@D)/bin/python install --quiet --group $*
	@touch $@

$(VENV)/.fuzz: $(VENV)/.development pyproject.toml
	$(BIN)/pip install --quiet --group fuzz
	@touch $@

clean:
	rm -rf $(VENV) .fuzz build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
