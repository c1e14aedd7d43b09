# Two commands matter: `make demo` (see it) and `make test` (trust it). Both start from a bare Python.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ROOT_FLAG := $(shell [ "$$(id -u)" = 0 ] && echo --allow-root)
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
TYPESCRIPT := 5.9.3
TSC := .node/types/node_modules/.bin/tsc

# Without .pyc files importing crewai takes twice as long, in every kernel that the tests start.
unexport PYTHONDONTWRITEBYTECODE

# JupyterLab asks a new user about its news; the notebook is what they came for.
LAB_SETTINGS := $(VENV)/share/jupyter/lab/settings
NO_NEWS = mkdir -p $(LAB_SETTINGS) && printf '%s\n' \
	'{"@jupyterlab/apputils-extension:notification": {"fetchNews": "false"}}' > $(LAB_SETTINGS)/overrides.json

.PHONY: demo test check unit properties notebooks lab refresh browser clean

demo: $(VENV)/.demo ## Open JupyterLab on the quickstart: no key, no network, no question.
	$(BIN)/jupyter lab $(ROOT_FLAG) --LabApp.default_url=/lab/tree/notebooks/01_quickstart.ipynb \
		--LabApp.news_url= --LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate

test: check unit notebooks lab ## Everything, cheap things first. CI runs exactly this.

check: $(VENV)/.test $(TSC) ## Format, lint, types of both halves, layers.
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/typing
	$(TSC) -p widgets
	$(BIN)/lint-imports --no-cache

unit: $(VENV)/.test browser ## All tests but the JupyterLab journeys and the notebooks.
	$(BIN)/python -m pytest --ignore=tests/lab --ignore=tests/typing

properties: $(VENV)/.test ## What may run, at length: 2,000 random afternoons, and each planted fault found by chance.
	HYPOTHESIS_PROFILE=properties $(BIN)/python -m pytest -q -rP tests/unit/yes/test_model.py tests/unit/yes/test_mutants.py

notebooks: $(VENV)/.test ## The tutorials, strictly: every printed output is true.
	$(BIN)/python -m tests.notebooks

lab: $(VENV)/.test browser ## Journeys of a person in a real JupyterLab in a real browser.
	$(BIN)/python -m pytest tests/lab

refresh: $(VENV)/.test ## Run the tutorials and store their outputs.
	$(BIN)/python -m tests.notebooks --refresh

browser: ## Chromium, from the distribution.
	@command -v chromium chromium-browser google-chrome >/dev/null || \
		{ $(SUDO) apt-get update -q && $(SUDO) apt-get install -y -q chromium; }

$(VENV)/bin/uv:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q uv

$(VENV)/.demo: $(VENV)/bin/uv pyproject.toml
	$(BIN)/uv pip install -q --python $(BIN)/python --compile-bytecode -e ".[demo]"
	@$(NO_NEWS)
	@touch $@

$(VENV)/.test: $(VENV)/bin/uv pyproject.toml
	$(BIN)/uv pip install -q --python $(BIN)/python --compile-bytecode -e ".[test]"
	@$(NO_NEWS)
	@touch $@ $(VENV)/.demo

# Only to check the types of the browser half: nothing is built with Node, and nobody who installs needs it.
$(TSC): Makefile
	@command -v npm >/dev/null || { $(SUDO) apt-get update -q && $(SUDO) apt-get install -y -q npm; }
	@mkdir -p .node/types
	npm install --silent --no-save --no-audit --no-fund --prefix .node/types typescript@$(TYPESCRIPT)
	@touch $@

clean: ## Forget everything that was made.
	rm -rf $(VENV) .kernels .node build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
