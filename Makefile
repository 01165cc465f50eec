# `make demo` and `make test` set everything up by themselves, in a virtual environment of their own.
PYTHON ?= python3
BIN := .venv/bin
# Processes that tests run in. Those that share fixtures, ports or a clock stay together (tests/conftest.py).
WORKERS ?= 2

.PHONY: demo test chromium bench accuracy lint clean

demo: .venv/ready
	$(BIN)/tracekit demo

# The first run of a checkout compiles the kernels, which two processes would do twice. Where the environment keeps Python
# from storing bytecode, each of the many processes that tests start would compile the package anew.
test: export PYTHONDONTWRITEBYTECODE =
test: .venv/ready chromium
	$(BIN)/python -m tests.compile_kernels
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadscope --no-loadscope-reorder

# Browser tests drive Debian's Chromium. Where there is none and none can be installed, they are skipped, which is said.
chromium:
	@if [ -n "$$CHROMIUM" ] || command -v chromium google-chrome > /dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null \
		&& apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium > /dev/null; then \
		echo "Installed Debian's chromium for the tests in a browser."; \
	else echo "No Chromium, and none can be installed (that takes root and apt): the tests in a browser are skipped."; \
	fi

bench: .venv/ready
	$(BIN)/python -m tests.benchmarks

accuracy: .venv/ready
	$(BIN)/python -m tests.accuracy

lint: .venv/ready-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf .venv dist build .pytest_cache .hypothesis .ruff_cache .mypy_cache

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable . --group test
	touch $@

.venv/ready-lint: .venv/ready
	$(BIN)/python -m pip install --quiet --group lint
	touch $@
