# `make check` and `make test` need only Python 3.11 or newer: they create .venv and install what is missing.
# Variables: make check PYTHON=python3.12 FORMULAS=my.ltl MAX_N=12 CHECK_FLAGS="--regime all"

PYTHON ?= python3
VENV ?= .venv
# The versions that CI tests; `make CONSTRAINTS= test` takes the newest versions that pyproject.toml allows.
CONSTRAINTS ?= constraints.txt
FORMULAS ?= formulas formulas/networks
MAX_N ?= 8
CHECK_FLAGS ?=
BOUND_FLAGS ?=
BENCH_JSON ?= build/benchmarks.json
BENCH_FLAGS ?=
# The versions on which `make pythons` runs the tests.
PYTHONS ?= 3.11 3.12 3.13 3.14
# Number of pytest processes.
JOBS ?= 2
# Number of mutated networks that `make slow` proves or refutes, a fifth of them programs'. MUTANTS=5000 takes 90 minutes
# more.
MUTANTS ?= 500
export MUTANTS
PYTEST_FLAGS ?=
# Commands start four times slower without compiled modules, and tests start hundreds of commands.
unexport PYTHONDONTWRITEBYTECODE

BIN := $(VENV)/bin
# pip would compile every installed module, though most are never imported.
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --no-compile $(if $(CONSTRAINTS),-c $(CONSTRAINTS))
# Stamps: an installation is repeated only when its description has changed. RUN is a user's installation; DEV adds the
# tools, SLOW ray, TORCH torch, DOCS the builder of the site.
CREATED := $(VENV)/.created
RUN := $(VENV)/.installed-run
DEV := $(VENV)/.installed-dev
DOCS := $(VENV)/.installed-docs
SLOW := $(VENV)/.installed-slow
TORCH := $(VENV)/.installed-torch
FOREIGN := $(VENV)-foreign
# The last version of TransformerLens with the class `HookedTransformer`, which lies in a folder beside the version of
# pyproject.toml; other packages that it needs are those of that version.
HOOKED := $(FOREIGN)/hooked
HOOKED_PINS := transformer-lens==3.9.0 better-abc==0.0.3
DESCRIPTION := pyproject.toml $(CONSTRAINTS)
TORCH_PIN := $(shell sed -n 's/^train = \["\(.*\)"\]$$/\1/p' pyproject.toml)
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
# Each process begins with its own half of the files: what tests of one file share is made once.
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(PYTEST_FLAGS)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help check bound test coverage lint slow sweep-external rocq bench bench-docs planted critical rocq-times precision networks docs package pythons schema format clean

help: ## print this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 20

check: $(RUN) ## check everything shipped (FORMULAS, MAX_N, CHECK_FLAGS)
	$(BIN)/hardsim check $(FORMULAS) --max-n $(MAX_N) $(CHECK_FLAGS)

test: $(DEV) ## run all tests but the slow ones, in a few minutes
	$(PYTEST) -m "not slow"

coverage: $(DEV) ## all tests but the slow ones with branch coverage, which must be 90 %; takes half as long again
	$(PYTEST) -m "not slow" --cov

lint: $(DEV) ## ruff (rules and format), mypy --strict, and the canonical form of shipped files
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict
	$(BIN)/hardsim fmt --check formulas formulas/networks

bound: $(RUN) ## compare declared and measured score gaps of everything shipped but networks (FORMULAS, MAX_N, BOUND_FLAGS)
	$(BIN)/hardsim bound --gap $(filter-out formulas/networks,$(FORMULAS)) --max-n $(MAX_N) $(BOUND_FLAGS)

slow: $(SLOW) $(FOREIGN)/.installed ## run the slow tests: longer lengths, new random examples, clusters, other libraries; hours on two processors
	$(PYTEST) -m slow --hypothesis-profile new
	$(FOREIGN)/bin/python -m pytest $(PYTEST_FLAGS) -m slow --hypothesis-profile new tests/reading tests/precision tests/writing/test_torch.py
	PYTHONPATH=$(HOOKED) $(FOREIGN)/bin/python -m pytest $(PYTEST_FLAGS) -m slow tests/measuring/test_lens_export.py tests/reading/test_lens_sweep.py tests/reading/test_against_libraries.py -k "hooked or lens"

sweep-external: $(DEV) ## compare proofs of random one-layer networks with every word, and prove 500 with a wrong weight
	$(PYTEST) -s -m slow tests/proof/external/test_sweep.py

rocq: $(DEV) ## check the Rocq theorems of shipped and random formulas, and that altered ones are rejected; skipped without coqc
	$(PYTEST) -m slow tests/proving/rocq

bench: $(TORCH) ## measure costs and compare them with targets (BENCH_FLAGS), a quarter of an hour; BENCH_JSON gets the numbers
	$(ONE_THREAD) $(BIN)/python -m benchmarks --json $(BENCH_JSON) $(BENCH_FLAGS)

bench-docs: $(TORCH) ## measure everything; write benchmarks/results.json and docs/benchmarks.md
	@# Exit code 1 is a missed target: the table shows it, and the page must still be written.
	$(ONE_THREAD) $(BIN)/python -m benchmarks --all --json benchmarks/results.json || test $$? -eq 1
	$(BIN)/python -m benchmarks --docs

critical: $(DEV) ## find the critical beta of every operator; write benchmarks/critical.json and docs/critical.md, a quarter of an hour
	$(ONE_THREAD) $(BIN)/python -m benchmarks.critical

rocq-times: $(DEV) ## measure how long coqc takes for the Rocq theorem of every shipped formula; write benchmarks/rocq.json and docs/rocq.md, a quarter of an hour
	$(ONE_THREAD) $(BIN)/python -m benchmarks.rocq

precision: $(DEV) ## find the lengths to which shipped formulas are right in number formats; write docs/precision.md, hours
	$(ONE_THREAD) $(BIN)/python -m benchmarks.precision --processes $(JOBS)

networks: $(TORCH) ## train the networks of formulas/networks, ten minutes on an idle processor
	$(ONE_THREAD) $(BIN)/python -m formulas.networks.train
	$(ONE_THREAD) $(BIN)/python -m formulas.networks.repair

planted: $(DEV) ## search for planted faults that random words miss; write docs/search.md, a quarter of an hour
	$(ONE_THREAD) $(BIN)/python -m benchmarks.planted --processes $(JOBS)
	$(BIN)/python -m benchmarks.planted --docs

docs: $(DOCS) ## build the site, build/site/index.html, docs/options.md and docs/classes.md; a dead link is an error
	$(BIN)/python -m docs.site.options
	$(BIN)/python -m docs.site.classes
	$(BIN)/python -m docs.editor.grammars
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --config-file docs/site/mkdocs.yml

package: $(DEV) ## build wheel and sdist in dist/, check what they have, and run the wheel in an empty environment
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist
	DIST=dist $(BIN)/python -m pytest -q -m slow tests/test_package.py

# A command of pyenv may stand for no installed version, so each interpreter is asked for its version.
pythons: ## run the tests on each interpreter of PYTHONS that is found, each in its own environment .venv-VERSION
	@failed=; for version in $(PYTHONS); do \
	  found=; for python in python$$version $${PYENV_ROOT:-$$HOME/.pyenv}/versions/$$version.*/bin/python; do \
	    test "$$($$python -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)" != $$version || found=$$python; \
	  done; \
	  if test -z "$$found"; then echo "Python $$version: not found"; continue; fi; \
	  echo "Python $$version: $$found"; \
	  $(MAKE) --no-print-directory PYTHON=$$found VENV=.venv-$$version test || failed="$$failed $$version"; \
	done; test -z "$$failed" || { echo "failed on Python$$failed" >&2; exit 1; }

schema: $(RUN) ## write docs/schema.json, the JSON Schema of --json, from the classes of the results
	$(BIN)/python -m hardsim.report.schema > docs/schema.json

format: $(DEV) ## format the code, apply ruff's safe fixes, and format shipped files
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .
	$(BIN)/hardsim fmt --write formulas formulas/networks

clean: ## remove .venv, builds and caches
	rm -rf $(VENV) $(VENV)-* build dist htmlcov .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find hardsim benchmarks docs tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(CREATED):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "hardsim needs Python 3.11 or newer; name one: make PYTHON=/path/to/python3.11 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(RUN): $(CREATED) $(DESCRIPTION)
	$(PIP) -e .
	@touch $@

# The build backend is pinned, too: it is installed first, and the build uses it without isolation.
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

# The libraries that external networks are read from and compared with need older versions of some pinned packages.
$(FOREIGN)/.installed: $(CREATED) $(DESCRIPTION)
	$(PYTHON) -m venv $(FOREIGN)
	$(FOREIGN)/bin/python -m pip --disable-pip-version-check install --quiet -e '.[dev,foreign]'
	$(FOREIGN)/bin/python -m pip --disable-pip-version-check install --quiet --no-deps --target $(HOOKED) $(HOOKED_PINS)
	@touch $@

# Without torch's dependencies, which tensors do not need and which would replace mpmath by an older version. If torch
# cannot be installed, its rows are left out (nothing can be trained), and the next run tries again.
$(TORCH): $(DEV)
	$(PIP) --no-deps $(TORCH_PIN) && touch $@ || echo "$(TORCH_PIN) could not be installed" >&2
