# Everything runs in .venv, which the first command that needs it makes. Needs Python 3.11 or newer with venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What is imported is compiled then, by several processes at once; most of what is installed never is.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile

.PHONY: help demo studio test test-all browser check docs bench reproduce bounds mutations wheel clean

# What tests the choice between compiled and interpreted kernels has nothing to say where there is none.
INTERPRETED := --ignore=tests/kernels/test_jit.py --ignore=tests/kernels/test_both_ways.py

# Without compiled bytecode every worker and every child process of the tests would compile the sources anew.
unexport PYTHONDONTWRITEBYTECODE

help:
	@echo "make demo   see the product at work on a synthetic hospital (a minute)"
	@echo "make studio  open the studio on the demo's hospital"
	@echo "make test   run the tests, the same way every time"
	@echo "make test-all  run all tests, the slow ones too, on more examples and in another order every time"
	@echo "make browser  drive the studio in a browser; fails in CI without one, and is skipped elsewhere"
	@echo "make bounds  run kernels with bounds checked over 100,000 generated tables; TABLES=1000 for fewer"
	@echo "make check  style, types, layers"
	@echo "make docs   build the documentation site into build/docs/site, and check its links"
	@echo "make bench  measure speed and loss against other tools"
	@echo "make reproduce  repeat the experiments of all papers, and hold the verdicts against a file"
	@echo "make mutations  change 60 places of the package, one by one, and see which the tests find; OTHER=CHECKOUT of the last version"
	@echo "make wheel  build the wheel, install it in an empty environment, and play the demo there"
	@echo "make clean  remove what these commands made"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip

$(VENV)/.run: pyproject.toml | $(BIN)/python
	$(INSTALL) --editable .
	touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(INSTALL) --editable ".[dev]"
	touch $@ $(VENV)/.run

$(VENV)/.studio: pyproject.toml | $(BIN)/python
	$(INSTALL) --editable ".[studio]"
	touch $@ $(VENV)/.run

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(INSTALL) --editable ".[docs]"
	touch $@ $(VENV)/.run

$(VENV)/.bench: pyproject.toml | $(BIN)/python
	$(INSTALL) --editable ".[bench]"
	touch $@ $(VENV)/.run

demo: $(VENV)/.run
	$(BIN)/sfumato demo

studio: $(VENV)/.studio
	$(BIN)/sfumato demo --out demo-output >/dev/null
	$(BIN)/sfumato studio demo-output/patients.csv

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n 3 --dist worksteal --durations=10
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n 2 tests/kernels $(INTERPRETED)

test-all: SEED := $(or $(SEED),$(shell $(PYTHON) -c "import random; print(random.getrandbits(32))"))
test-all: $(VENV)/.dev
	@echo "The order of the tests: make test-all SEED=$(SEED)"
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not browser" --hypothesis-profile=full --randomly-seed=$(SEED) --durations=30
	for way in compiled interpreted; do SFUMATO_KERNELS=$$way $(BIN)/python -m pytest -n 2 --dist worksteal -m "" \
		--randomly-seed=$(SEED) tests/golden tests/guarantees tests/naive || exit 1; done
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n 2 -m "" --hypothesis-profile=full --randomly-seed=$(SEED) tests/kernels $(INTERPRETED)

# Every kernel with bounds checked over generated tables; a tenth of them interpreted, with indexes below zero refused.
bounds: TABLES ?= 100000
bounds: PROCESSES ?= $(shell getconf _NPROCESSORS_ONLN)
bounds: $(VENV)/.dev
	PYTHONPATH=tests SFUMATO_KERNELS=checked $(BIN)/python -m bounds $(TABLES) 0 $(PROCESSES)
	PYTHONPATH=tests SFUMATO_KERNELS=interpreted $(BIN)/python -m bounds $$(( $(TABLES) / 10 )) 0 $(PROCESSES)

# A system's package, where there is none and the system has packages: the tests download nothing themselves.
browser: $(VENV)/.dev
	@command -v "$${SFUMATO_BROWSER:-chromium}" google-chrome chrome >/dev/null || ! command -v apt-get >/dev/null \
		|| (apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium) || true
	$(BIN)/python -m pytest -n 0 -m browser tests/studio/browser --durations=5

check: $(VENV)/.dev
	$(BIN)/ruff check src tests benchmarks docs/site
	$(BIN)/ruff format --check src tests benchmarks docs/site
	printf '%s\n' linux win32 darwin | xargs -P 2 -I{} $(BIN)/mypy --platform {} --cache-dir .mypy_cache/{}
	$(BIN)/lint-imports

docs: $(VENV)/.docs
	$(BIN)/python docs/site

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks

# Also among the slow tests, a paper each.
reproduce: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python -m papers.verdicts

# Places are drawn among functions that stand in OTHER, too: python -m mutations says which.
mutations: PLACES ?= 60
mutations: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python -m mutations --other $(OTHER) --places $(PLACES) $(MORE)

wheel: $(BIN)/python
	rm -rf build/wheel build/empty
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir build/wheel .
	$(PYTHON) -m venv build/empty
	build/empty/bin/python -m pip install --quiet --disable-pip-version-check build/wheel/sfumato-*.whl
	cd build/empty && bin/sfumato --version && bin/sfumato demo --patients 2000 --out demo-output

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build demo-output
