# Two commands do everything on a fresh machine: `make run` and `make test`.
VENV ?= .venv
PYTHON ?= $(firstword $(foreach p,python3 python3.13 python3.12 python3.11,$(shell $(p) -c 'import sys; sys.version_info >= (3, 11) and print(sys.executable)' 2>/dev/null)))
BIN := $(VENV)/bin
ARGS ?=

.PHONY: setup run test check bench docs clean

setup: $(BIN)/.installed

$(BIN)/.installed: pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later is needed; set PYTHON=/path/to/python3"; exit 3; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

run: setup
	$(BIN)/toolhop run $(ARGS)

test: setup
	$(BIN)/python -m pytest -n auto $(ARGS)

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: setup
	$(BIN)/python -m benchmarks.calls --write $(ARGS)
	$(BIN)/python -m benchmarks.policy_on_toolhop || test $$? = 3

docs: setup
	$(BIN)/python docs/make_help.py
	$(BIN)/python -m tests.attacks.make_report

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
