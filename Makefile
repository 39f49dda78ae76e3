PYTHON ?= python3
BIN := .venv/bin
export PYTHONWARNINGS ?= ignore::DeprecationWarning

.PHONY: setup demo test lint bench docs browser clean

setup: .venv/.dev

demo: .venv/.base
	$(BIN)/rlassay score --html report.html
	@echo "Open report.html in a browser."

test: .venv/.dev lint docs browser
	$(BIN)/python -m pytest -n 2 --dist loadfile

lint: .venv/.dev
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/pyright

docs: .venv/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: .venv/.dev
	$(BIN)/python benchmarks/run.py

# The page is tested in a real browser: use the one that is there, else ask Debian for it.
browser:
	@command -v chromium chromium-browser google-chrome >/dev/null || { [ "$$(id -u)" = 0 ] && apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null; } || echo "No browser found: page tests will be skipped; install one with: sudo apt-get install chromium"

.venv/bin/python:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip

.venv/.base: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

.venv/.dev: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@ .venv/.base

clean:
	rm -rf .venv site report.html
