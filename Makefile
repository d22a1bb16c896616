# Everything a developer or a build machine does with this repository.
# `make help` lists it.

VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
FUZZTIME ?= 60s
ARGS     ?=

# command:package pairs that tests need beside Go. The race detector needs a C
# compiler; nginx and promtool are peers the tests run against.
PEERS := gcc:gcc gcc:libc6-dev node:nodejs npm:npm nginx:nginx promtool:prometheus

# Our own source, without what npm brought.
OURS    = find . -path ./.git -prune -o -name node_modules -prune -o
GOFILES = $(OURS) -name '*.go' -print
NESTED  = $(OURS) -name go.mod ! -path ./go.mod -exec dirname {} \;

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo build test lint format vet staticcheck size fuzz bench peers clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: build ## build and start the scripted demo agent on 127.0.0.1:8080 (ARGS="--listen 127.0.0.1:0")
	./bin/aguigate demo $(ARGS)

build: ## bin/aguigate, one static file
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/aguigate ./cmd/aguigate
	@if ldd bin/aguigate >/dev/null 2>&1; then \
	  echo "bin/aguigate needs shared libraries; the image is built from scratch and has none" >&2; exit 1; fi

test: peers lint build e2e/node_modules/.package-lock.json ## all of it: installs what is missing, lint, every Go test with -race
	go test -race -count=1 ./...
	go test -count=1 -run 'TestLinearizable$$' ./gateway # 100,000 operations, which the race detector makes too slow
	@for m in $$($(NESTED)); do \
	  echo "module $$m" && (cd $$m && go vet ./... && go test -race -count=1 ./...) || exit 1; done

lint: format vet staticcheck size ## gofmt, go vet, staticcheck, length of files and functions

format:
	@bad=$$(gofmt -l $$($(GOFILES))) || exit 1; \
	if [ -n "$$bad" ]; then echo "gofmt -w wanted for:" >&2; echo "$$bad" >&2; exit 1; fi

vet:
	go vet ./...

staticcheck:
	go tool staticcheck ./...

# gofmt puts the first and last line of every top-level function in column 1,
# so its length needs no parser.
size:
	@$(GOFILES) | sort | xargs awk ' \
	  FNR == 1 { if (NR > 1) whole(); file = FILENAME; start = 0; made = 0 } \
	  FNR <= 3 && /^\/\/ Code generated .* DO NOT EDIT\.$$/ { made = 1 } \
	  { last = FNR } \
	  /^func / && !/}$$/ { start = FNR; name = $$0 } \
	  /^}/ && start { if (FNR - start + 1 > 80 && !made) say(start, name ": " (FNR - start + 1) " lines, at most 80"); start = 0 } \
	  END { whole(); exit bad } \
	  function whole() { if (last > 500 && !made) say(last, "file of " last " lines, at most 500") } \
	  function say(line, what) { print file ":" line ": " what; bad = 1 }' >&2

fuzz: ## every FuzzXxx for FUZZTIME (60s)
	@$(GOFILES) | grep '_test\.go$$' | xargs grep -Ho '^func Fuzz[A-Za-z0-9_]*' | sed 's/:func /:/' | \
	while IFS=: read -r file name; do \
	  echo "$$name in $$file"; \
	  (cd $$(dirname $$file) && go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) .) || exit 1; done

bench: ## nginx and aguigate in front of the same stream, one core each (ARGS="-quick"; bench/README.md)
	go run ./bench/run $(ARGS)

# As root on Debian the missing peers are installed; elsewhere this says how.
peers:
	@want=""; for p in $(PEERS); do command -v $${p%%:*} >/dev/null || want="$$want $${p#*:}"; done; \
	if [ -z "$$want" ]; then exit 0; fi; \
	if [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then \
	  echo "the tests also need these Debian packages:$$want" >&2; \
	  echo "install them: sudo apt-get update && sudo apt-get install --no-install-recommends$$want" >&2; exit 1; fi; \
	apt-get update -q && RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $$want

# npm writes this file last, so it is there only after a whole install.
e2e/node_modules/.package-lock.json: e2e/package.json e2e/package-lock.json | peers
	npm ci --prefix e2e --ignore-scripts
	@touch $@

clean: ## what a build left
	rm -rf bin e2e/node_modules
