# Works with GNU make 3.81 (the one on macOS) and newer.  `make help` lists the targets.

SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
UV_VERSION := 0.13.9

# Only what exists: the tools refuse a path that does not.
TYPED := $(wildcard wow_ray serve tests benchmarks examples)

# Without byte code every start would compile the package again.
unexport PYTHONDONTWRITEBYTECODE
# Nothing of an outer environment may answer for what this one lacks.
unexport VIRTUAL_ENV PYTHONPATH PYTHONHOME

.PHONY: help venv check test demo soak bench fresh constraints clean
.DEFAULT_GOAL := help

help: ## list the targets
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{ printf "%-20s %s\n", $$1, $$2 }'

venv: $(STAMP) ## the project's own environment, .venv

# The first interpreter that really runs and is new enough (PYTHON=... to choose another one).
$(STAMP): constraints.txt pyproject.toml
	@set -e; found=; \
	for python in $(PYTHON) python3 python3.13 python3.12 python3.11; do \
	    if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then found=$$python; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
	    echo "wow-ray needs Python 3.11 or newer and found none; install it, or say where it is: make venv PYTHON=/path/to/python3.11" >&2; exit 1; \
	fi; \
	if ! $(BIN)/python -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	    rm -rf $(VENV); \
	    "$$found" -m venv $(VENV) || { echo "$$found cannot make virtual environments; on Debian and Ubuntu: apt-get install python3-venv" >&2; rm -rf $(VENV); exit 1; }; \
	fi
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(STAMP)

check: $(STAMP) ## lint, format, types, import directions, sizes
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(TYPED)
	$(BIN)/lint-imports
	$(BIN)/python tests/sizes.py

test: check ## everything: check, then each folder of tests
	$(BIN)/python tests/run.py

demo: $(STAMP) ## the example shop on Ray (KEEP=1: go on until Ctrl-C)
	$(BIN)/wow-ray demo $(if $(filter-out 0,$(KEEP)),--keep)

soak: $(STAMP) ## the long run under load and failures
	tests/netns.sh $(BIN)/python -m tests.chaos.soak

bench: $(STAMP) ## all benchmarks, short form
	$(BIN)/python -m benchmarks all --quick

fresh: ## what a newcomer gets: demo and test in a new clone of HEAD, with a new home
	@set -e; here=$$(pwd); place=$$(mktemp -d); trap 'rm -rf "$$place"' EXIT INT TERM; \
	mkdir "$$place/home"; git clone --quiet "$$here" "$$place/wow-ray"; cd "$$place/wow-ray"; \
	for name in $$(env | sed -n 's/^\(PYTHON[A-Z_]*\)=.*/\1/p') VIRTUAL_ENV MAKEFLAGS MAKELEVEL XDG_STATE_HOME XDG_CACHE_HOME; do unset "$$name"; done; \
	HOME="$$place/home" $(MAKE) demo test

# Regenerated with one version of uv; holds versions and hashes only, so any index serves it.
constraints: ## constraints.txt anew, from pyproject.toml
	@set -e; place=$$(mktemp -d); trap 'rm -rf "$$place"' EXIT INT TERM; \
	python3 -m venv "$$place"; "$$place/bin/python" -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION); \
	"$$place/bin/uv" pip compile pyproject.toml --quiet --all-extras --group build --universal --python-version 3.11 \
	    --generate-hashes --no-header --no-annotate --no-emit-index-url --no-emit-find-links $(UPGRADE) -o constraints.txt

clean: ## remove the environment and everything generated
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
