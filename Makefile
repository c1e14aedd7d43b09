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

.PHONY: demo test check unit properties notebooks lab refresh browser server bench docs matrix release clean

demo: FIRST := 1/3:
demo: $(VENV)/.demo ## Open JupyterLab on the quickstart: no key, no network, no question.
	@echo "3/3: JupyterLab opens the quickstart (Ctrl+C here ends it)"
	@$(BIN)/jupyter lab $(ROOT_FLAG) --LabApp.default_url=/lab/tree/notebooks/01_quickstart.ipynb \
		--LabApp.news_url= --LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate

test: check unit notebooks lab ## Everything, cheap things first. CI runs exactly this.

check: $(VENV)/.test $(TSC) ## Format, lint, types of both halves, layers.
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/typing
	$(TSC) -p widgets
	$(BIN)/lint-imports --no-cache

unit: $(VENV)/.test browser server ## All tests but the JupyterLab journeys and the notebooks.
	$(BIN)/python -m pytest --ignore=tests/lab --ignore=tests/typing

properties: $(VENV)/.test ## At length: 2,000 random afternoons, each planted fault found by chance, 2,000 tables back as they were.
	HYPOTHESIS_PROFILE=properties $(BIN)/python -m pytest -q -rP tests/unit/yes/test_model.py tests/unit/yes/test_mutants.py \
		tests/unit/data/test_exact.py tests/unit/data/test_diff_review.py tests/unit/inbox/test_nights.py tests/unit/data/test_label_log.py
	STORM_ROUNDS=200 $(BIN)/python -m pytest -q tests/unit/inbox/test_storms.py

notebooks: $(VENV)/.test ## The tutorials, strictly: every printed output is true.
	$(BIN)/python -m tests.notebooks

lab: $(VENV)/.test browser ## Journeys of a person in a real JupyterLab in a real browser.
	$(BIN)/python -m pytest tests/lab

refresh: $(VENV)/.test ## Run the tutorials and store their outputs.
	$(BIN)/python -m tests.notebooks --refresh

browser: ## Chromium, from the distribution.
	@command -v chromium chromium-browser google-chrome >/dev/null || \
		{ $(SUDO) apt-get update -q && $(SUDO) apt-get install -y -q chromium; }

server: ## PostgreSQL, from the distribution; the tests start one of their own.
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || \
		{ $(SUDO) apt-get update -q && $(SUDO) apt-get install -y -q postgresql; }

$(VENV)/bin/uv:
	@echo $(FIRST) "an environment of its own in $(VENV), and uv, which installs into it"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install -q uv

# Not -q: the packages come in one long silence else. uv shows what it loads, and how far, where a person looks on.
$(VENV)/.demo: $(VENV)/bin/uv pyproject.toml
	@echo "2/3: CrewAI, litellm, JupyterLab, pandas and scikit-learn: about 230 packages, 1.8 GB in $(VENV), 3 minutes"
	@$(BIN)/uv pip install --python $(BIN)/python --compile-bytecode -e ".[demo]" && \
		echo "2/3: installed, $$(du -sh $(VENV) | cut -f1) in $(VENV)"
	@$(NO_NEWS)
	@touch $@

$(VENV)/.test: $(VENV)/bin/uv pyproject.toml
	$(BIN)/uv pip install -q --python $(BIN)/python --compile-bytecode -e ".[test]"
	@$(NO_NEWS)
	@touch $@ $(VENV)/.demo

$(VENV)/.bench: $(VENV)/.test
	$(BIN)/uv pip install -q --python $(BIN)/python --compile-bytecode -e ".[bench]"
	@touch $@

# Only to check the types of the browser half: nothing is built with Node, and nobody who installs needs it.
$(TSC): Makefile
	@command -v npm >/dev/null || { $(SUDO) apt-get update -q && $(SUDO) apt-get install -y -q npm; }
	@mkdir -p .node/types
	npm install --silent --no-save --no-audit --no-fund --prefix .node/types typescript@$(TYPESCRIPT)
	@touch $@

docs: $(VENV)/.test ## The site, in build/site: tutorials, how-tos, reference, cards to try; no server, no network.
	$(BIN)/python -m tests.docs.build

bench: $(VENV)/.bench browser server ## Every figure, as a ratio measured side by side in one run; what misses its goal is marked.
	$(BIN)/python -m tests.bench --write

matrix: $(VENV)/.test browser ## Hosts × situations, run; the README's table is written from what is found. And MCP's clients.
	$(BIN)/python -m pytest -q tests/unit/mcp/clients.py
	$(BIN)/python -m tests.hosts.matrix --write

release: $(VENV)/.test browser ## What would be published, in dist/: built, checked, installed into empty environments.
	$(BIN)/python -m pytest -q -rP tests/release tests/release/stranger.py
	rm -rf dist && $(BIN)/uv build -q && $(BIN)/twine check --strict dist/*

clean: ## Forget everything that was made.
	rm -rf $(VENV) .kernels .node build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
