# Needs Python 3.11 or newer, make and a package index. Everything else goes into .venv, as requirements.lock says,
# and is redone only when the lock, pyproject.toml or the folder's place changes.
#
#   make demo PYTHON=/path/to/python    another interpreter for a new .venv
#   make test ARGS="-k schema -x"       more arguments for pytest (demo, test, lab)

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DEFAULT_GOAL := help
.PHONY: help setup demo test test-all lab lint lock speed model clean moved

# Nothing inherited may redirect the set-up or shadow what .venv holds. What says where packages come from stays.
SOURCES := PIP_INDEX% PIP_EXTRA_INDEX% PIP_FIND_LINKS PIP_NO_INDEX PIP_CONFIG_FILE PIP_CERT PIP_CLIENT_CERT \
	PIP_TRUSTED_HOST PIP_PROXY PIP_TIMEOUT PIP_DEFAULT_TIMEOUT PIP_RETRIES PIP_CACHE_DIR PIP_NO_CACHE_DIR \
	PIP_KEYRING% PIP_DISABLE_PIP_VERSION_CHECK UV_INDEX% UV_DEFAULT_INDEX UV_EXTRA_INDEX% UV_FIND_LINKS UV_OFFLINE \
	UV_CONFIG_FILE UV_CACHE_DIR UV_NO_CACHE UV_NATIVE_TLS UV_SYSTEM_CERTS UV_HTTP_TIMEOUT UV_INSECURE_HOST \
	UV_KEYRING% UV_LINK_MODE UV_CONCURRENT%
unexport $(filter-out $(SOURCES),$(filter PIP_% UV_%,$(.VARIABLES))) VIRTUAL_ENV CONDA_PREFIX PYTHONPATH PYTHONHOME
export PIP_USER := 0

# A home that cannot be written (a container's odd user) moves into the checkout: pip, uv and Jupyter want one.
ifeq ($(shell [ -w "$$HOME" ] && echo yes),)
export HOME := $(CURDIR)/.cache/home
$(shell mkdir -p .cache/home)
endif

READY := .venv/.ready
MYSQL := .cache/programs/.mysql
MODEL := .cache/programs/.model
PYTHONS := $(or $(PYTHON),python3.13 python3.12 python3.11 python3)
PYTEST := .venv/bin/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /  make \1\t/p' Makefile | expand -t 18

demo: $(READY) $(MYSQL) $(MODEL) ## the whole way on the bundled benchmark, up to the figures
	@.venv/bin/workbench run notebooks/demo.yaml $(ARGS) || [ $$? = 1 ] # 1: without an engine that is absent here

test: $(READY) $(MYSQL) $(MODEL) ## all tests but the slow ones
	@$(PYTEST) -m "not slow" $(ARGS)

test-all: $(READY) $(MYSQL) $(MODEL) ## all tests
	@$(PYTEST) $(ARGS)

lab: $(READY) ## JupyterLab on the notebooks
	@.venv/bin/python -m jupyterlab --notebook-dir notebooks $(ARGS)

lint: $(READY) ## style and format of the Python files
	@.venv/bin/ruff check .
	.venv/bin/ruff format --check .

setup: $(READY) ## .venv alone

lock: $(READY) ## requirements.lock again, after a change of pyproject.toml (ARGS=--upgrade for newer versions)
	@.venv/bin/python -m uv pip compile pyproject.toml --extra all --group setup --output-file requirements.lock \
		--universal --python-version 3.11 --fork-strategy fewest --generate-hashes --no-emit-index-url \
		--no-annotate --custom-compile-command "make lock" --quiet $(ARGS)

speed: $(READY) $(MYSQL) ## how long plans, verdicts, scoring, bootstraps and migrations take, beside sqlglot, pandas, sqlite3, scikit-learn, the bare routes and dlt (ARGS=--rounds 5, ...)
	@if ! cmp -s speed/requirements.txt .cache/speed/requirements.txt; then
		rm -rf .cache/speed/packages
		if UV_DEFAULT_INDEX="$${UV_DEFAULT_INDEX:-$${PIP_INDEX_URL:-}}" .venv/bin/python -m uv --quiet pip install \
			--python .venv --no-deps --target .cache/speed/packages -r speed/requirements.txt; then
			cp speed/requirements.txt .cache/speed/requirements.txt
		else
			rm -rf .cache/speed/packages
			echo "make: dlt and a tokenizer cannot be installed; they are left out" >&2
		fi
	fi
	.venv/bin/python speed/compiler.py
	.venv/bin/python speed/compare.py
	.venv/bin/python speed/score.py
	.venv/bin/python speed/generation.py
	.venv/bin/python speed/meta.py
	.venv/bin/python speed/migration.py $(ARGS)

model: $(READY) ## a small real model, which `make demo` and `make test` fetch too where they can
	@.venv/bin/python -m workbench.local_model

clean: ## removes .venv and every cache; results/ and figures/ stay
	@if [ -x .venv/bin/workbench ]; then
		.venv/bin/workbench engines stop || echo "make clean: the engines could not be asked to stop" >&2
	fi
	rm -rf .venv .cache .pytest_cache .ruff_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A real MySQL server, where the machine has none and can fetch one; without it the rest still runs.
$(MYSQL): | $(READY)
	@if .venv/bin/python -m workbench.backends.mysql_fetch; then
		mkdir -p $(@D)
		touch $@
	fi

# A small real model and its server, where they can be fetched; without them the rest still runs.
$(MODEL): | $(READY)
	@if .venv/bin/python -m workbench.local_model; then
		mkdir -p $(@D)
		touch $@
	fi

# The stamp holds the folder it was made in, since an environment cannot be moved. `.begun` without a finish means
# that a set-up was interrupted: packages may lie there in part, so all of it is made again.
ifneq ($(shell cat $(READY) 2>/dev/null),$(shell pwd -P))
$(READY): moved
endif

$(READY): requirements.lock pyproject.toml
	@fail() { echo "make: $$1" >&2; exit 2; }
	first() { for p in $(PYTHONS); do if "$$p" -c "$$1" 2>/dev/null; then echo "$$p"; return; fi; done; }
	recent='import sys; sys.exit(sys.version_info < (3, 11))'
	if [ -e .venv/.begun ] || ! .venv/bin/python -c "import pip; $$recent" 2>/dev/null ||
		{ [ -e $(READY) ] && [ "$$(cat $(READY))" != "$$(pwd -P)" ]; }; then
		rm -rf .venv
		# Debian ships ensurepip apart: an interpreter that has it beats a newer one that does not.
		python=$$(first "import ensurepip, venv; $$recent")
		if [ -z "$$python" ]; then
			python=$$(first "$$recent")
			[ -n "$$python" ] || fail "no Python 3.11 or newer among: $(PYTHONS) (say make PYTHON=/path/to/python)"
			package=$$("$$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
			if [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
				fail "$$python cannot make environments; on Debian run: sudo apt-get install $$package"
			fi
			apt-get -qq update >/dev/null
			DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends "$$package" >/dev/null
		fi
		mkdir -p .venv
		touch .venv/.begun
		"$$python" -m venv .venv
	fi
	touch .venv/.begun
	echo "Setting up .venv ($$(.venv/bin/python --version)) from requirements.lock"
	# uv is pinned in the lock like all others, but is the one that installs them; without it pip does, slower.
	sed -n '/^uv==/,/[^\\]$$/p' requirements.lock > .venv/uv.lock
	sed '/^uv==/,/[^\\]$$/d' requirements.lock > .venv/rest.lock
	pip() { .venv/bin/python -m pip --quiet --disable-pip-version-check "$$@"; }
	uv() { UV_DEFAULT_INDEX="$${UV_DEFAULT_INDEX:-$${PIP_INDEX_URL:-}}" .venv/bin/python -m uv --quiet "$$@"; }
	pip install --no-deps --require-hashes -r .venv/uv.lock || echo "make: uv cannot be installed" >&2
	if ! uv pip sync --python .venv --require-hashes requirements.lock; then
		echo "make: installing with pip instead" >&2
		pip install --no-deps --require-hashes -r .venv/rest.lock
	fi
	pip install --no-deps --no-build-isolation --editable .
	pwd -P > .venv/.begun
	mv .venv/.begun $(READY)
	echo "Set up in $$SECONDS s"
