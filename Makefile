# Every target makes what it needs: `make demo` or `make test` in a fresh clone is enough.
# Three stamps: the server (demo, serve, bench), the developer's tools (everything else), the tool that pins versions.

PYTHON ?= python3
JOBS ?= auto
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
MAKEFLAGS += --no-print-directory

.DEFAULT_GOAL := help
.PHONY: help demo serve test coverage lint format types layers docs reference bench requirements clean

help:  ## list the targets
	@sed -n 's/^\([a-z]*\):.*##  *\(.*\)/\1|\2/p' $(firstword $(MAKEFILE_LIST)) | while IFS='|' read -r name text; do \
		printf '  make %-14s %s\n' "$$name" "$$text"; done

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "negotiator needs Python 3.11 or later: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.server: $(BIN)/python pyproject.toml requirements/server.txt requirements/build.txt
	$(PIP) install --require-hashes -r requirements/build.txt
	$(PIP) install --require-hashes -r requirements/server.txt
	$(PIP) install --no-build-isolation --no-deps --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.server requirements/dev.txt
	$(PIP) install --require-hashes -r requirements/dev.txt
	@touch $@

$(VENV)/.lock: $(BIN)/python requirements/lock.txt
	$(PIP) install --require-hashes -r requirements/lock.txt
	@touch $@

demo: $(VENV)/.server  ## the whole story over real HTTP, narrated
	$(BIN)/negotiator demo

serve: $(VENV)/.server  ## a small demo website behind the negotiator, on this machine only
	$(BIN)/negotiator serve

test: $(VENV)/.dev  ## every test, in parallel and in random order (JOBS=n, ARGS='-k word')
	$(BIN)/python -m pytest -n $(JOBS) $(ARGS)

coverage: $(VENV)/.dev  ## the tests with branch coverage
	$(BIN)/python -m pytest -n $(JOBS) --cov --cov-report=term $(ARGS)

lint: $(VENV)/.dev  ## style: ruff check and ruff format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.dev  ## let ruff format and fix what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(VENV)/.dev  ## mypy, strict
	$(BIN)/mypy

layers: $(VENV)/.dev  ## a module imports only from the layers below it
	$(BIN)/lint-imports

docs: $(VENV)/.dev  ## the documentation as HTML in docs/_build; a warning is an error
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html

reference: $(VENV)/.dev  ## write the generated parts of the documentation again
	$(BIN)/python -m tests.docs.reference

bench: $(VENV)/.dev  ## every speed bound; writes bench/results.json
	$(BIN)/python -m bench

# Existing pins are kept where they still fit; UPGRADE=1 looks for newer ones.
COMPILE = $(BIN)/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --fork-strategy fewest \
	--generate-hashes --no-strip-extras --no-header --no-annotate --no-emit-index-url --no-emit-find-links $(if $(UPGRADE),--upgrade)

requirements: $(VENV)/.lock  ## pin every dependency again, with hashes (UPGRADE=1)
	$(COMPILE) --extra server --group dev --output-file requirements/dev.txt
	$(COMPILE) --extra server --constraint requirements/dev.txt --output-file requirements/server.txt
	$(COMPILE) --constraint requirements/dev.txt --output-file requirements/base.txt
	$(subst pip compile pyproject.toml,pip compile --group build,$(COMPILE)) \
		--constraint requirements/dev.txt --output-file requirements/build.txt
	$(subst pip compile pyproject.toml,pip compile --group lock,$(COMPILE)) --output-file requirements/lock.txt

clean:  ## remove the environment, caches and built files (var/ stays: it holds data)
	rm -rf $(VENV) build dist docs/_build .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis \
		.coverage .coverage.* htmlcov
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
