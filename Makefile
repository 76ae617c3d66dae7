# Everything happens in .venv, which tools/ensure-venv makes and keeps up to date.
#   make test PYTHON=python3.12     another Python
#   make test ARGS='-k gru'         more arguments for the tool that runs

DEMO := output-demo
ARGS :=
# The benchmarks to run; the second compares with torch and jax, and its extra is a large one.
BENCH := derive programs
BIN  := .venv/bin

# The scripts read it; unset, they look for one.
export PYTHON

# Two targets at once would install into .venv at once.
.NOTPARALLEL:
.PHONY: help demo test fuzz lint types certify coqchk bench gallery clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' Makefile

demo: ## derive and prove the linear network for three steps
	@sh tools/ensure-venv core
	$(BIN)/symbptt report linear --T 3 -o $(DEMO)
	@echo
	@echo "The generated program checks itself:"
	$(BIN)/python $(DEMO)/linear/numpy/linear.py
	@echo
	@echo "The report lies in $(DEMO)/linear: read text/linear.txt or markdown/linear.md, or compile latex/linear.tex."

test: ## run the tests but the slow ones (ARGS="-m slow" for those)
	@sh tools/ensure-venv test
	$(BIN)/python -m pytest --numprocesses auto $(if $(ARGS),$(ARGS),-m "not slow")

fuzz: ## invent models and try every law on them (ARGS=2000 for so many)
	@sh tools/ensure-venv test
	SYMBPTT_FUZZ=$(if $(ARGS),$(ARGS),1000) $(BIN)/python -m pytest tests/test_battery.py -k as_many

lint: ## check the style with ruff
	@sh tools/ensure-venv dev
	$(BIN)/python -m ruff check $(ARGS)

types: ## check the types with mypy
	@sh tools/ensure-venv dev
	$(BIN)/python -m mypy $(ARGS)

certify: ## have Coq check the certificate of every built-in model (ARGS="lstm gru" for some)
	@sh tools/ensure-venv core
	$(BIN)/python tools/certify.py $(ARGS)

coqchk: ## have Coq's second checker go over the compiled lemma library (minutes)
	@sh tools/ensure-venv core
	@folder=$$($(BIN)/python -c 'from symbptt.proof.checker import library; print(library())') && \
	modules=$$(cd "$$folder" && ls *.v | sed 's/^/symbptt./; s/\.v$$//') && \
	coqchk -silent -o -Q "$$folder" symbptt $$modules

bench: ## run the benchmarks (BENCH=derive or BENCH=programs for one, with ARGS of its own)
	@sh tools/ensure-venv $(if $(filter programs,$(BENCH)),bench,test)
	@set -e; for name in $(BENCH); do $(BIN)/python -m benchmarks.$$name $(ARGS); done

gallery: ## write the committed output/ anew
	@sh tools/ensure-venv test
	$(BIN)/python -m pytest tests/test_output.py --update-output $(ARGS)

clean: ## remove .venv, the demo and caches
	rm -rf .venv $(DEMO) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
