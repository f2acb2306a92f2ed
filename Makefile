# `make help` lists the targets. Each one sets up what it needs and nothing twice.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready
CODE := python scripts test benchmark

# Options of the scripts, handed on through the environment: none goes through a shell.
# OPTIONS is for the rest, such as --dry-run, as words of the command line.
NAMES := PAGE MODEL TP TASK LIMIT CONCURRENCY CHUNK MAX_GEN_TOKS REPEATS MARGIN ARGS \
	BASE_URLS BASELINE DEFECT PORT OUTPUT
OPTIONS ?=

.DEFAULT_GOAL := help
.PHONY: help setup gsm8k parity test test-gpu test-sglang-kits test-releases check-aiter defects mutation patch patch-check try-release lint type format env pages stage-b fork unfork

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-13s %s\n", $$1, $$2}' Makefile

$(READY): python/pyproject.toml python/constraints.txt scripts/setup_env.py
	$(PYTHON) scripts/setup_env.py --venv $(VENV)
	@touch $@

setup: $(READY) ## virtual environment with everything pinned; uses an installed SGLang

fork: $(READY) ## splice the overlay into the installed SGLang
	$(PY) -m sglang_graft apply

unfork: $(READY) ## put the installed SGLang back, byte for byte
	$(PY) -m sglang_graft revert

$(foreach name,$(NAMES),$(eval gsm8k parity: export GSM8K_$(name) := $$(value $(name))))

gsm8k: $(READY) ## gsm8k at page 1, 1 again and PAGE (all: 16, 64): make gsm8k PAGE=16
	@$(PY) scripts/gsm8k_page_size.py $(OPTIONS)

parity: $(READY) ## logprobs of fixed prompts, page size against page size
	@$(PY) scripts/page_size_parity.py $(OPTIONS)

test: fork ## the whole suite, on a CPU
	$(PY) -m pytest

test-gpu: fork ## the helper, the producer and the gather with compiled kernels
	TRITON_INTERPRET=0 $(PY) -m pytest test/gpu

test-sglang-kits: fork ## SGLang's own kits, for attention and for servers, on this backend
	SGLANG_KITS=all $(PY) -m pytest test/sglang_kits

test-releases: $(READY) ## graft, helper, producers on SGLang 0.5.19 to 0.5.23 (SAMPLE=1: a part)
	$(PY) scripts/fetch_releases.py --folder $(VENV)/releases
	SGLANG_RELEASES=$(VENV)/releases $(PY) -m pytest test/sglang_graft/test_releases.py \
	  test/sglang_graft/test_releases_patch.py test/docs/test_granularity.py
	$(PY) scripts/suite_on_releases.py $(if $(SAMPLE),--sample)

check-aiter: $(READY) ## the reference kernels against aiter's own: make check-aiter AITER=/path
	$(PY) scripts/check_against_aiter.py '$(AITER)' $(OPTIONS)

defects: fork ## which level of the suite catches which defect of test/defects
	$(PY) scripts/defect_matrix.py $(OPTIONS)

mutation: fork ## the share of mutants of the gather's indices that the suite kills
	$(PY) scripts/mutation_score.py $(OPTIONS)

patch: $(READY) ## git-am-able patches: make patch BASE=/path/to/sglang [ONLY=helper]
	$(PY) -m sglang_graft patch $(if $(BASE),--base='$(BASE)') $(if $(ONLY),--only='$(ONLY)')

patch-check: $(READY) ## fail if those written before differ from what would be written
	$(PY) -m sglang_graft patch --check $(if $(BASE),--base='$(BASE)') $(if $(ONLY),--only='$(ONLY)')

try-release: $(READY) ## the fork on another release: make try-release VERSION=newest
	$(PY) scripts/try_release.py '$(or $(VERSION),newest)'

lint: $(READY) ## ruff, formatting, spelling
	$(VENV)/bin/ruff check $(CODE)
	$(VENV)/bin/ruff format --check $(CODE)
	$(VENV)/bin/codespell $(CODE) docs README.md CONTRIBUTING.md Makefile

type: $(READY) ## mypy, strict
	$(VENV)/bin/mypy python
	# Apart: to these, sglang is the whole package, which the overlay is not.
	$(VENV)/bin/mypy $(filter-out python,$(CODE))

format: $(READY) ## rewrite the code in the house format
	$(VENV)/bin/ruff check --fix $(CODE)
	$(VENV)/bin/ruff format $(CODE)

env: ## versions, device, graft and flags, to paste; URL= asks a running server
	@$(if $(wildcard $(PY)),$(PY),$(PYTHON)) scripts/show_env.py $(if $(URL),'$(URL)')

pages: $(READY) ## rewrite the generated parts of docs/
	$(PY) scripts/write_granularity.py
	$(PY) scripts/write_pull_request.py
	$(PY) scripts/write_suite_power.py

stage-b: $(READY) ## the registered tests as AMD's CI runs them
	bash scripts/ci/amd_stage_b.sh --python $(PY) $(OPTIONS)
