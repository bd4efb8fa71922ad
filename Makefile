# Targets for people are those that `make help` lists. CI runs test-all.
SHELL := bash
GO ?= go
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/quarry
STATICCHECK_VERSION := v0.8.2
# A staticcheck built by an older Go cannot read what a newer one compiles, so both are in the name.
STATICCHECK := $(CACHE)/staticcheck-$(STATICCHECK_VERSION)-$(shell $(GO) env GOVERSION)

# What `make nightly` raises: seeds of the learning suite, and how often a run is killed.
export LEARN_SEEDS ?= 2
export KILL_TRIALS ?= 5

.PHONY: help build test test-all nightly need fmt vet staticcheck unit learn bench clean
.DEFAULT_GOAL := help

help:
	@echo 'make build       static binary bin/quarry'
	@echo 'make test        every test that needs Go and a few Debian packages'
	@echo 'make test-all    test and the heavier suites, each against its time budget; what CI runs'
	@echo 'make nightly     test-all with 5 seeds and 50 kills'
	@echo 'make bench       all benchmarks; make bench-NAME one of them'
	@echo 'make clean       remove what these targets built'

build:
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/quarry ./cmd/quarry

test: need fmt vet staticcheck unit learn

# Suites: name, budget in minutes, command.
test-all:
	@scripts/suite.sh core 12 $(MAKE) --no-print-directory test

nightly:
	@LEARN_SEEDS=5 KILL_TRIALS=50 scripts/suite.sh nightly 60 $(MAKE) --no-print-directory test-all

# The race detector needs a C compiler.
need:
	@scripts/need.sh git:git gcc:gcc gcc:libc6-dev

fmt:
	@bad=$$(gofmt -l .); \
	if [ -n "$$bad" ]; then echo "not formatted, run gofmt -w on:" $$bad; exit 1; fi

vet:
	$(GO) vet ./...
	cd bench && $(GO) vet ./...

$(STATICCHECK):
	@mkdir -p $(CACHE)/build
	GOBIN=$(CACHE)/build $(GO) install honnef.co/go/tools/cmd/staticcheck@$(STATICCHECK_VERSION)
	@mv $(CACHE)/build/staticcheck $@

staticcheck: $(STATICCHECK)
	$(STATICCHECK) ./...
	cd bench && $(STATICCHECK) ./...

unit:
	cd bench && $(GO) test ./...
	$(GO) test -race ./...

learn:
	bash scripts/learn.sh

bench:
	bench/run.sh

bench-%:
	bench/run.sh $*

clean:
	rm -rf bin
	rm -rf $(CACHE)/build $(CACHE)/staticcheck-*
