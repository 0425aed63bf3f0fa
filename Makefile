# The one place that says how this tree is worked on. `make` alone lists what there is.
SHELL := /bin/sh
.DEFAULT_GOAL := help
linters := lint-ruff lint-mypy lint-imports lint-dependencies lint-commits lint-console
.PHONY: help run test check bench docs dist pictures audit-dependencies soak cloud cloud-stop reference pins cloud-pins \
	format clean lint $(linters) runtime-environment check-environment test-environment

bin := .venv/bin
# Every program that the suite starts would otherwise compile all that it imports: seven seconds each.
unexport PYTHONDONTWRITEBYTECODE
# The suite starts processes and database servers of its own beside its workers, and waits for them, so there are a few
# workers however many cores there are.
workers ?= 4

help: ## List these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: runtime-environment ## Start the whole service on its built-in sandbox cloud
	@exec $(bin)/leasehold-standalone

test: test-environment ## Everything: lint, types and the whole test suite, on every database and on an OpenStack
	@$(MAKE) --no-print-directory lint
	$(bin)/python tools/run_tests.py $(workers)

check: check-environment ## What to run before a commit: lint, types and the quick tests
	@$(MAKE) --no-print-directory lint
	$(bin)/pytest -m "not slow and not servers and not openstack" -n auto --dist worksteal --hypothesis-profile=quick

bench: test-environment ## Run the benchmarks, or those that are named: make bench only="calendar post"
	$(bin)/python -m bench $(only)

seconds ?= 600
database ?= mariadb
soak: test-environment ## Everything at once for ten minutes: `make soak seconds=60 database=postgresql`
	$(bin)/python -m tests.harness soak --seconds $(seconds) --database $(database)
	LEASEHOLD_WHOLE=true $(bin)/pytest -q -n auto $$(grep -rl --include='test_*.py' 'from tests.selection import' tests)

cloud: test-environment ## Start an OpenStack to test on, and say how to use it
	@$(bin)/python -m tests.openstack.cloud start

reference: check-environment ## Write the references of options, policies and states, and the types of the API, from the code
	$(bin)/python tools/reference.py
	$(bin)/python tools/console_types.py
	$(bin)/python tools/preload.py

docs: test-environment ## Build the documentation site; needs Graphviz
	@$(bin)/python -m docs._site

# What is not committed would be in what others install.
dist: check-environment ## Build the source distributions and the wheels of a release into dist/
	@test -z "$$(git status --porcelain)" || { echo 'There are changes that are not committed.' >&2; exit 1; }
	rm -rf dist
	@$(bin)/python tools/distributions.py dist

pictures: test-environment ## Take pictures of the console for the site, by its browser tests
	rm -rf build/pictures
	LEASEHOLD_PICTURES=$(CURDIR)/build/pictures $(bin)/pytest -q tests/console

cloud-stop: check-environment ## Stop it; its data stays
	@$(bin)/python -m tests.openstack.cloud stop

format: check-environment ## Format the code and repair what ruff can repair
	$(bin)/ruff check --fix-only --quiet .
	$(bin)/ruff format .

# One resolution in several files: what the service runs on constrains what it is tested with. The custom header and the
# missing index keep the machine that made the pins out of them. `make pins upgrade=--upgrade` moves to newer versions.
upgrade ?=
compile = $(bin)/uv pip compile --quiet --generate-hashes --universal --python-version 3.11 \
	--no-emit-index-url --no-emit-find-links --no-emit-package leasehold-nova --no-emit-package leasehold-client \
	--custom-compile-command "make $@" $(upgrade)

pins: check-environment ## Resolve the requirements again and write requirements/*.txt
	$(compile) pyproject.toml -o requirements/runtime.txt
	$(compile) pyproject.toml --extra bridge -c requirements/runtime.txt -o requirements/bridge.txt
	$(compile) pyproject.toml --extra redfish -c requirements/runtime.txt -o requirements/redfish.txt
	$(compile) client/pyproject.toml -c requirements/runtime.txt -o requirements/client.txt
	$(compile) pyproject.toml client/pyproject.toml --extra bridge --extra redfish --group dev \
		-c requirements/bridge.txt -c requirements/redfish.txt -c requirements/client.txt -o requirements/dev.txt
	$(compile) --group tools -c requirements/dev.txt -o requirements/tools.txt

# These have nothing to do with one another, nor with ours: each is what one environment of the cloud holds.
cloud-pins: check-environment ## The same for the OpenStack to test on
	for name in openstack tempest blazar dashboard ironic cinder cloudkitty; do \
		$(compile) tests/openstack/requirements/$$name.in -o tests/openstack/requirements/$$name.txt || exit 1; \
	done

audit-dependencies: check-environment ## Look at pins, licences and known vulnerabilities of what this depends on
	$(bin)/python tools/audit_dependencies.py

clean: ## Remove what was built or measured here, the environment and the local state included
	rm -rf .venv .state .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build dist bench/out
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# All at the same time, each with its output in one piece; --keep-going shows what every tool has found.
lint:
	@$(MAKE) --no-print-directory --jobs --output-sync=target --keep-going $(linters)

lint-ruff:
	$(bin)/ruff check .
	$(bin)/ruff format --check .

lint-mypy:
	$(bin)/mypy

lint-imports:
	$(bin)/lint-imports

lint-dependencies:
	$(bin)/python tools/audit_dependencies.py

lint-commits:
	$(bin)/python tools/check_commits.py

lint-console:
	$(bin)/python tools/check_console.py

runtime-environment:
	@tools/bootstrap runtime

check-environment:
	@tools/bootstrap check

test-environment:
	@tools/bootstrap test
