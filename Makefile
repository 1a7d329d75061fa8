# For newcomers: `make demo` shows the exchange at work, `make test` tests it, `make help` lists more.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# The tests start hundreds of processes: with this set, each compiles everything anew.
unexport PYTHONDONTWRITEBYTECODE
# What tests hold our documents and collections against, each as its users have it.
NPM_TOOLS := @asyncapi/parser@3.6.3 @bufbuild/buf@1.75.0 newman@6.2.2 @usebruno/cli@4.1.0 \
	typescript@7.0.2 @types/node@26.6.6 axe-core@4.14.1 testcontainers@12.1.0

.PHONY: help demo test mutants detection soak serve bench crowd profile container lint types contract docs outputs site lock audit npm browser clean
help:            ## list the targets
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

# The lock is whole: without --no-deps pip looks for extras (coverage[toml]) anew, past their pins.
$(VENV)/.ready: requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: $(VENV)/.ready      ## a partner's whole journey over real sockets, under a minute
	$(BIN)/sim demo

test: $(VENV)/.ready      ## the test suite; ALL=1: also long tests; LAW=1: every run under the law
	$(BIN)/python -m pytest -q -rs -n 3 --dist worksteal $(if $(ALL),-m "not soak") $(if $(LAW),--law)

mutants: $(VENV)/.ready   ## a sample of small mistakes in the rules, and whether a test notices
	$(BIN)/python -m tools.mutation $(MUTANTS)

detection: $(VENV)/.ready ## plant forty bugs and see which tool finds which; goes on where it stopped
	nice -n 12 $(BIN)/python -m tools.detection $(DETECTION)

soak: $(VENV)/.ready      ## long runs: kills, fuzzers, public clients, tests in the other reading
	$(BIN)/python -m tools.soak.kills --rounds $(or $(ROUNDS),100)
	$(BIN)/python -m tools.soak.trouble --rounds $(or $(TROUBLES),40)
	$(BIN)/python -m tools.soak.edge --minutes $(or $(MINUTES),15) --seed $(or $(SEED),1)
	$(BIN)/python -m tools.soak.edge --minutes $(or $(MINUTES),15) --seed $(or $(SEED),1) --preset hostile
	$(BIN)/python -m tools.soak.scenario_mutants --count $(or $(COUNT),10000) --seed $(or $(SEED),1)
	$(BIN)/python -m tools.soak.journal_mutants --count $(or $(COUNT),10000) --seed $(or $(SEED),1)
	$(BIN)/python -m tools.soak.witness --count $(or $(SEEDS),1000) --seed $(or $(SEED),1)
	$(BIN)/sim hunt --minutes $(or $(MINUTES),15) --jobs 2 --seed $(or $(SEED),1) --keep-going
	$(BIN)/python -m tools.soak.sdk_versions
	$(BIN)/python -m pytest -q -m soak
	RECORD_ROUNDS=200 $(BIN)/python -m pytest -q tests/server/test_record_sdk.py
	SIM_READING=observed $(BIN)/python -m pytest -q -n 2 --dist worksteal
	$(BIN)/python -m benchmarks --rounds 1

serve: $(VENV)/.ready     ## the bundled quickstart on loopback, ports from 18080
	$(BIN)/sim serve

bench: $(VENV)/.ready     ## figures beside floors; with BEFORE=COMMIT an earlier commit, with PEERS=1 other programs
	$(if $(BEFORE),git worktree add --force --detach build/before $(BEFORE))
	$(if $(PEERS),test -d build/peers || $(BIN)/python -m benchmarks.peers build/peers)
	$(BIN)/python -m benchmarks $(AREA) --keep build/benchmarks \
		$(if $(BEFORE),--before build/before) $(if $(PEERS),--peers build/peers)
	$(if $(BEFORE),git worktree remove --force build/before)

crowd: $(VENV)/.ready     ## 10,000 participants on Dask with two workers; MINUTES=30 for longer than 5
	$(BIN)/python -m benchmarks.crowd --minutes $(or $(MINUTES),5)

profile: $(VENV)/.ready   ## where the time of each hot path goes
	$(BIN)/python -m benchmarks.profiles --keep build/benchmarks/profiles.md

container: $(VENV)/.ready ## the image, and compose's client against it, without a daemon (as root)
	$(BIN)/python .ci/container.py

lint: $(VENV)/.ready      ## ruff
	$(BIN)/ruff check . && $(BIN)/ruff format --check -q .
types: $(VENV)/.ready     ## mypy, strict
	$(BIN)/mypy

contract: $(VENV)/.ready  ## regenerate sim/contract/messages and sim/contract/pb from proto/
	$(BIN)/python -m sim.contract.compile

docs: $(VENV)/.ready      ## renew what README.md and docs/ take from the code
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/openapi_examples.py

outputs: $(VENV)/.ready   ## renew what verbs and mistakes print in tests/outputs and tests/mistakes
	$(BIN)/python -m tests.outputs.verbs
	$(BIN)/python -m tests.mistakes.table

site: $(VENV)/.ready      ## build the documentation into site/; a broken link fails
	$(BIN)/zensical build --clean --strict

lock: $(VENV)/.ready      ## pin what pyproject.toml asks for, with hashes (needs uv)
	uv pip compile --universal --generate-hashes --python-version 3.11 --extra dev pyproject.toml -o requirements.lock

audit: $(VENV)/.ready     ## renew .ci/advisories.json from osv.dev and compare (needs the network)
	$(BIN)/python .ci/advisories.py renew

npm: $(VENV)/.ready       ## the published npm client and tools that tests drive (needs node)
	npm install --silent --no-fund --no-audit --prefix $(VENV) polymarket-us@0.1.1
	npm install --silent --no-fund --no-audit --prefix $(VENV)/tools $(NPM_TOOLS)

browser:                  ## Chromium from Debian's packages, for the tests of pages (asks for root)
	command -v chromium || (apt-get -qq update && apt-get -qq install --no-install-recommends chromium)

clean:           ## remove the environment and caches
	rm -rf $(VENV) build site .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis
