# The two commands of the README, `make demo` and `make test`, need nothing but Debian's Python 3.11:
# tools/setup makes .venv the first time, and again when pyproject.toml has changed.

BIN := .venv/bin
CODE := $(shell find src sim bench tests -name '*.py' 2> /dev/null | cut -d/ -f1 | sort -u)

.DEFAULT_GOAL := help
.PHONY: help demo test check format bench sim exhaustive crashes soak spark kills makers circle fuzz clean distclean

help: ## list these targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

demo: ## show what Hansard does, in a terminal
	@tools/setup run
	@JAVA_HOME="$$(tools/java find || true)" $(BIN)/python -m hansard.demo $(ARGS)

test: ## run the tests and 1,200 simulated worlds; ARGS="-k name" runs some of the tests
	@tools/setup dev
ifdef ARGS
	@$(BIN)/python -m pytest -n 2 $(ARGS)
else
	@tools/suite
endif

check: ## lint, formatting, types and the rules of the house, each even when another failed
	@tools/setup dev
	@failed=; \
	run() { echo "check: $$1"; shift; "$$@" || failed=1; }; \
	run lint $(BIN)/ruff check $(CODE); \
	run formatting $(BIN)/ruff format --check $(CODE); \
	run types $(BIN)/mypy $(CODE); \
	run rules $(BIN)/python -m pytest -q tests/house; \
	test -z "$$failed"

format: ## rewrite the code as the formatter wants it, and fix what the linter can
	@tools/setup dev
	@$(BIN)/ruff check --fix-only $(CODE)
	@$(BIN)/ruff format $(CODE)

bench: ## measure; ARGS= is passed on
	@tools/setup run
	@$(BIN)/python -m bench $(ARGS)

sim: ## simulate SEEDS=100 worlds, on all cores, of WORLD=bucket, atomic or cluster; a failing seed says how to look at it
	@tools/setup dev
	@$(BIN)/python -m sim.seeds --world $(or $(WORLD),bucket) --seeds $(or $(SEEDS),100) $(ARGS)

exhaustive: ## every interleaving of a small world, of WORLD=bucket (in both shapes) or atomic (many minutes)
	@tools/setup dev
	@$(BIN)/python -m sim.$(if $(filter atomic,$(WORLD)),atomic.)exhaustive $(ARGS)

crashes: ## crash LIVES=50 stores after every operation of their disk; the plain tests look at fewer
	@tools/setup dev
	@$(BIN)/python -m sim.crashes --lives $(or $(LIVES),50)

soak: ## SECONDS=600 of producers and followers against a cluster whose participants are killed all the time
	@tools/setup dev
	@$(BIN)/python -m tests.soak --seconds $(or $(SECONDS),600)

makers: ## kill makers of checkpoints KILLS=20 times, each at some step of its work, and look whether what is there is exact
	@tools/setup dev
	@$(BIN)/python -m tests.pipeline.makers --kills $(or $(KILLS),20)

spark: ## the long tests of the Spark data source: 2 million changes, LIVES=30 restarts, two workers, Connect
	@tools/setup dev
	@$(BIN)/python -m tests.spark.long --lives $(or $(LIVES),30) $(ARGS)

kills: ## kill jobs of the pipeline KILLS=20 times while they work, and look whether their results are exact
	@tools/setup dev
	@$(BIN)/python -m tests.pipeline.kills --kills $(or $(KILLS),20) --seed $(or $(SEED),1)

circle: ## CHANGES=5000000 archived, the cluster wiped, restored into twice the buckets, verified; bookmarks resume
	@tools/setup dev
	@$(BIN)/python -m tests.pipeline.circle --changes $(or $(CHANGES),5000000)

fuzz: ## feed SECONDS=60 of damaged bytes to the batch reader
	@tools/setup dev
	@$(BIN)/python -m tests.batch.fuzz --seconds $(or $(SECONDS),60)

clean: ## remove what tools leave behind
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## that, and .venv
	rm -rf .venv
