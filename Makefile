# `make demo` and `make test` set everything up by themselves, in a virtual environment of their own.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test bench accuracy lint clean

demo: .venv/ready
	$(BIN)/tracekit demo

test: .venv/ready
	$(BIN)/python -m pytest

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
