# From a bare machine (Python 3.11 or later, git, make, gcc, g++) to a trained model and its scores.
# Nothing but pip uses the network. Another Python: make demo PYTHON=/opt/python3.12/bin/python3

# The first Python on the path that is new enough; python3 if none is, for the message below.
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(or $(shell for python in python3 python3.13 python3.12 python3.11; do \
	$$python -c '$(NEW_ENOUGH)' 2>/dev/null && echo $$python && break; done),python3)
VENV := .venv
BIN := $(VENV)/bin
# vLLM pins another torch than this project's, so it gets an environment of its own, which sees what
# is in $(VENV) through a .pth file and adds only what is missing there.
VLLM_VENV := .venv-vllm
SEE_THROUGH := import pathlib, sysconfig; \
	site = sysconfig.get_path("purelib", vars={"base": "$(VLLM_VENV)"}); \
	pathlib.Path(site, "base.pth").write_text(sysconfig.get_path("purelib"))
# vLLM has a CPU wheel for Linux only; elsewhere the tests that need it are skipped.
VLLM_INSTALLED := $(if $(filter Linux,$(shell uname -s)),$(VLLM_VENV)/installed)
# Small models on few cores: more threads than that cost more than they bring.
TEST_ENV := OMP_NUM_THREADS=$${OMP_NUM_THREADS:-2} TOKENIZERS_PARALLELISM=false \
	HF_HUB_OFFLINE=1 WANDB_MODE=offline HF_HUB_DISABLE_TELEMETRY=1

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow vllm clean
.NOTPARALLEL:

help:  ## print this list
	@grep -E '^[a-z-]+:.*  ## ' Makefile | sed -E 's/^([a-z-]+):.*  ## /  make \1\t/' | expand -t 18

demo: $(VENV)/installed-demo  ## the whole way on the rendered world, ending in a table; goes on where it stopped
	bash launch/demo.sh

test: $(VENV)/installed-all  ## lint, types and all tests but the slow ones
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(TEST_ENV) $(BIN)/python -m pytest --durations=20

# Exit code 5 is pytest's "no test was selected".
test-slow: $(VENV)/installed-all $(VLLM_INSTALLED)  ## the slow tests: kills, several processes, long fuzzing
	$(TEST_ENV) $(BIN)/python -m pytest -m slow --durations=20 || [ $$? -eq 5 ]

vllm: $(VLLM_VENV)/installed  ## vLLM for the CPU, in an environment beside the other

clean:  ## remove the environments and what the tools cached; runs/, builds/ and data/ stay
	rm -rf $(VENV) $(VLLM_VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info

# Each stamp is written last: an install that was cut short is done again, a finished one is not.
$(VENV)/installed-demo: EXTRAS := train,data,eval
$(VENV)/installed-all: EXTRAS := all
$(VENV)/installed-%: $(VENV)/created pyproject.toml constraints.txt
	$(BIN)/python -m pip install -c constraints.txt -e '.[$(EXTRAS)]'
	@touch $@

$(VLLM_VENV)/installed: $(VENV)/installed-all requirements-vllm.txt
	$(BIN)/python -m venv --without-pip $(VLLM_VENV)
	$(BIN)/python -c '$(SEE_THROUGH)'
	$(BIN)/python -m pip --python $(VLLM_VENV)/bin/python install --no-deps -r requirements-vllm.txt
	@touch $@

$(VENV)/created:
	@$(PYTHON) -c '$(NEW_ENOUGH)' 2>/dev/null || { \
		echo "This needs Python 3.11 or later; $(PYTHON) is $$($(PYTHON) --version 2>&1)." >&2; \
		echo "Name another one: make PYTHON=/path/to/python3.12" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@
