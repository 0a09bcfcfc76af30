# Touchstone. `make` lists the commands; each does its own set-up.
PYTHON ?= python3
BIN := .venv/bin

.DEFAULT_GOAL := help
SOAK ?=
# Programs start and stop often here, and each would compile every module of ours again.
unexport PYTHONDONTWRITEBYTECODE
.PHONY: help demo reset test check format bench soak audit docs lock

help: ## list the commands
	@grep -hE '^[a-z]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 10

demo: .venv/.run ## run everything on this machine with demo content, and print the links
	@exec $(BIN)/python -m scripts.demo

reset: ## delete the demo's data (asks first)
	@exec $(PYTHON) scripts/reset.py

test: .venv/.dev ## run the tests, with real servers and a real browser
	@exec $(BIN)/python -m scripts.run_tests

check: .venv/.dev ## check format, lint, words, types, contracts, doctests, docs; changes nothing
	@exec $(BIN)/python -m scripts.check

format: .venv/.dev ## format the code
	@$(BIN)/ruff format . && $(BIN)/ruff check --fix .

bench: .venv/.dev ## run every benchmark
	@exec $(BIN)/python -m scripts.bench

soak: .venv/.dev ## run the suites of attacks and faults at full size; SOAK="kills --seed 7" runs one
	@exec $(BIN)/python -m scripts.soak $(SOAK)

audit: .venv/.dev ## compare the pinned packages with lists of known vulnerabilities; needs the network
	@exec $(BIN)/python -m scripts.audit

docs: .venv/.dev ## build the docs site into build/docs; a link that leads nowhere fails
	@exec $(BIN)/python -m scripts.docs

lock: .venv/.dev ## compile the requirements and their hashes from the .in files
	@exec $(BIN)/python -m scripts.lock

# npm comes with requirements.txt, so that the machine needs no Node of its own.
.venv/.run: requirements.txt package-lock.json
	@$(PYTHON) scripts/setup.py run

.venv/.dev: requirements.txt requirements-dev.txt package-lock.json
	@$(PYTHON) scripts/setup.py dev && touch .venv/.run
