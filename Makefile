# `make check` and `make test` need nothing but Python 3.11 or newer: they make .venv and install what is missing.
# Variables: make check PYTHON=python3.12 FORMULAS=my.ltl MAX_N=12 CHECK_FLAGS="--regime all"

PYTHON ?= python3
VENV ?= .venv
# The versions that CI tests; `make CONSTRAINTS= test` takes the newest that pyproject.toml allows.
CONSTRAINTS ?= constraints.txt
FORMULAS ?= formulas formulas/networks
MAX_N ?= 8
CHECK_FLAGS ?=
BOUND_FLAGS ?=
BENCH_JSON ?= build/benchmarks.json
BENCH_FLAGS ?=
# How many processes pytest uses.
JOBS ?= 2
# How many networks `make slow` changes in a place and asks about, a fifth of them of programs: MUTANTS=5000 takes an
# hour and a half more.
MUTANTS ?= 500
export MUTANTS
PYTEST_FLAGS ?=
# Commands that find no compiled modules start four times slower, and tests start hundreds of them.
unexport PYTHONDONTWRITEBYTECODE

BIN := $(VENV)/bin
# pip would compile every module of what it installs, of which most are never imported.
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --no-compile $(if $(CONSTRAINTS),-c $(CONSTRAINTS))
# Stamps: an installation is repeated only when its description has changed. RUN holds what a user has, DEV also the
# tools, SLOW also ray, TORCH also torch, DOCS what builds the site.
CREATED := $(VENV)/.created
RUN := $(VENV)/.installed-run
DEV := $(VENV)/.installed-dev
DOCS := $(VENV)/.installed-docs
SLOW := $(VENV)/.installed-slow
TORCH := $(VENV)/.installed-torch
FOREIGN := $(VENV)-foreign
DESCRIPTION := pyproject.toml $(CONSTRAINTS)
TORCH_PIN := $(shell sed -n 's/^train = \["\(.*\)"\]$$/\1/p' pyproject.toml)
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
PYTEST := $(BIN)/python -m pytest -n $(JOBS) $(PYTEST_FLAGS)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help check bound test coverage lint slow bench bench-docs planted critical precision networks docs schema format clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 20

check: $(RUN) ## the main job: check everything shipped (FORMULAS, MAX_N, CHECK_FLAGS)
	$(BIN)/hardsim check $(FORMULAS) --max-n $(MAX_N) $(CHECK_FLAGS)

test: $(DEV) ## all tests but the slow ones, in a few minutes
	$(PYTEST) -m "not slow"

coverage: $(DEV) ## the same with branch coverage, which must be 90 %, in half as much time again
	$(PYTEST) -m "not slow" --cov

lint: $(DEV) ## ruff (rules and format), mypy --strict, and the canonical form of what is shipped
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict
	$(BIN)/hardsim fmt --check formulas formulas/networks

bound: $(RUN) ## score gaps, declared and measured, of everything shipped but networks (FORMULAS, MAX_N, BOUND_FLAGS)
	$(BIN)/hardsim bound --gap $(filter-out formulas/networks,$(FORMULAS)) --max-n $(MAX_N) $(BOUND_FLAGS)

slow: $(SLOW) $(FOREIGN)/.installed ## the slow tests: longer lengths, new random examples, clusters, other libraries; hours on two processors
	$(PYTEST) -m slow --hypothesis-profile new
	$(FOREIGN)/bin/python -m pytest $(PYTEST_FLAGS) -m slow --hypothesis-profile new tests/reading tests/formats tests/writing/test_torch.py

bench: $(TORCH) ## measure costs beside their targets (BENCH_FLAGS), twelve minutes; the numbers go to BENCH_JSON too
	$(ONE_THREAD) $(BIN)/python -m benchmarks --json $(BENCH_JSON) $(BENCH_FLAGS)

bench-docs: $(TORCH) ## measure everything, and put the numbers into benchmarks/results.json and docs/benchmarks.md
	@# A missed target is shown in the table too, and must not keep the page from being written.
	$(ONE_THREAD) $(BIN)/python -m benchmarks --all --json benchmarks/results.json || test $$? -eq 1
	$(BIN)/python -m benchmarks --docs

critical: $(DEV) ## the critical beta of every operator: benchmarks/critical.json and docs/critical.md, a quarter of an hour
	$(ONE_THREAD) $(BIN)/python -m benchmarks.critical

precision: $(DEV) ## how far shipped formulas are right in number formats: benchmarks/precision.json and docs/precision.md, hours
	$(ONE_THREAD) $(BIN)/python -m benchmarks.precision --processes $(JOBS)

networks: $(TORCH) ## train the networks of formulas/networks anew, ten minutes on an idle processor
	$(ONE_THREAD) $(BIN)/python -m formulas.networks.train

planted: $(DEV) ## whether the search finds faults that random words miss: benchmarks/planted.json and docs/search.md, a quarter of an hour
	$(ONE_THREAD) $(BIN)/python -m benchmarks.planted --processes $(JOBS)
	$(BIN)/python -m benchmarks.planted --docs

docs: $(DOCS) ## the documentation as a site, build/site/index.html (docs/options.md is written anew); a dead link fails
	$(BIN)/python -m docs.site.options
	$(BIN)/python -m docs.editor.grammars
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --config-file docs/site/mkdocs.yml

schema: $(RUN) ## write docs/schema.json, the JSON Schema of --json, anew from the classes of the results
	$(BIN)/python -m hardsim.report.schema > docs/schema.json

format: $(DEV) ## format the code, apply ruff's safe fixes, and write what is shipped in its canonical form
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .
	$(BIN)/hardsim fmt --write formulas formulas/networks

clean: ## remove .venv, builds and caches
	rm -rf $(VENV) $(FOREIGN) build dist htmlcov .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find hardsim benchmarks docs tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(CREATED):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "hardsim needs Python 3.11 or newer; name one: make PYTHON=/path/to/python3.11 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(RUN): $(CREATED) $(DESCRIPTION)
	$(PIP) -e .
	@touch $@

# The build backend is pinned, too: it is installed first and used without isolation.
$(DEV): $(CREATED) $(DESCRIPTION)
	$(PIP) hatchling
	$(PIP) --no-build-isolation -e '.[dev]'
	@touch $@ $(RUN)

$(DOCS): $(CREATED) $(DESCRIPTION)
	$(PIP) -e '.[docs]'
	@touch $@ $(RUN)

$(SLOW): $(DEV)
	$(PIP) --no-build-isolation -e '.[dev,ray]'
	@touch $@

# What networks that others made are read from and held against wants older versions of some of what is pinned.
$(FOREIGN)/.installed: $(CREATED) $(DESCRIPTION)
	$(PYTHON) -m venv $(FOREIGN)
	$(FOREIGN)/bin/python -m pip --disable-pip-version-check install --quiet -e '.[dev,foreign]'
	@touch $@

# Without what torch depends on: that would replace mpmath by an older one, and tensors need none of it. Where torch
# cannot be had its rows are left out (nothing can be trained), and the next run asks for it again.
$(TORCH): $(DEV)
	$(PIP) --no-deps $(TORCH_PIN) && touch $@ || echo "$(TORCH_PIN) could not be installed" >&2
