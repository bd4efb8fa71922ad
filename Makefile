# Targets for people are those that `make help` lists. CI runs test-all.
SHELL := bash
GO ?= go
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/quarry
STATICCHECK_VERSION := v0.8.2
# A staticcheck built by an older Go cannot read what a newer one compiles, so both are in the name.
STATICCHECK := $(CACHE)/staticcheck-$(STATICCHECK_VERSION)-$(shell $(GO) env GOVERSION)

# Modules of their own; ./... leaves them out.
MODULES := bench $(patsubst %/go.mod,%,$(wildcard tools/*/go.mod))
IN_MODULES = @set -e; for m in $(MODULES); do echo "$$m:"; (cd $$m; $(1)); done

# What `make nightly` raises: seeds of the learning suite, and how often a run is killed.
export LEARN_SEEDS ?= 2
export KILL_TRIALS ?= 5

SUB := $(MAKE) --no-print-directory

.PHONY: help build test test-all nightly nightly-suites need lint fmt vet staticcheck unit modules learn survive fuzz bench clean
.DEFAULT_GOAL := help

help:
	@echo 'make build       static binary bin/quarry'
	@echo 'make test        every test that needs Go and a few Debian packages'
	@echo 'make test-all    test and the heavier suites, each against its time budget; what CI runs'
	@echo 'make nightly     test-all with 5 seeds and 50 kills, and each fuzz target for 30 s'
	@echo 'make learn       the learning suite alone: LEARN_SEEDS seeds (2) and their controls'
	@echo 'make bench       all benchmarks; make bench-NAME one of them'
	@echo 'make clean       remove what these targets built'

build:
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags="-s -w" -o bin/quarry ./cmd/quarry

# Suites: name, budget in minutes on 2 cores with warm caches, command.
test: need
	@scripts/suite.sh lint 3 $(SUB) lint
	@scripts/suite.sh unit 5 $(SUB) unit
	@scripts/suite.sh modules 2 $(SUB) modules
	@scripts/suite.sh learn $$((3 * LEARN_SEEDS)) $(SUB) learn
	@scripts/suite.sh survive $$((2 + KILL_TRIALS / 4)) $(SUB) survive

test-all:
	@scripts/suites.sh scripts/suite.sh core 12 $(SUB) test

nightly: export LEARN_SEEDS := 5
nightly: export KILL_TRIALS := 50
nightly: export LEARN_FLAGS := -markdown docs/design/learning-results.md
nightly:
	@scripts/suites.sh $(SUB) nightly-suites

nightly-suites:
	@scripts/suite.sh core 40 $(SUB) test
	@scripts/suite.sh fuzz 20 scripts/fuzz.sh 30s

# The race detector needs a C compiler.
need:
	@scripts/need.sh git:git gcc:gcc /usr/include/stdlib.h:libc6-dev

lint: fmt vet staticcheck

fmt:
	@bad=$$(gofmt -l .); \
	if [ -n "$$bad" ]; then echo "not formatted, run gofmt -w on:" $$bad; exit 1; fi

vet:
	$(GO) vet ./...
	$(call IN_MODULES,$(GO) vet ./...)

$(STATICCHECK):
	@mkdir -p $(CACHE)/build
	GOBIN=$(CACHE)/build $(GO) install honnef.co/go/tools/cmd/staticcheck@$(STATICCHECK_VERSION)
	@mv $(CACHE)/build/staticcheck $@

staticcheck: $(STATICCHECK)
	$(STATICCHECK) ./...
	$(call IN_MODULES,$(STATICCHECK) ./...)

unit:
	$(GO) test -race -timeout 30m ./...

modules:
	$(call IN_MODULES,$(GO) test ./...)

learn:
	@scripts/learn.sh $(LEARN_FLAGS)

survive:
	@scripts/survive.sh

fuzz:
	@scripts/fuzz.sh

bench:
	bench/run.sh

bench-%:
	bench/run.sh $*

clean:
	rm -rf bin
	rm -rf $(CACHE)/build $(CACHE)/staticcheck-*
