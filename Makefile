# Build targets; make help lists them.

# Releases set these; otherwise they describe the working tree.
VERSION := $(or $(shell git describe --tags --always --dirty 2>/dev/null),development)
COMMIT  := $(shell git describe --exclude '*' --always --abbrev=12 --dirty 2>/dev/null)
DIST    := dist
IMAGE   := mockserver

# The same flags as in the Dockerfile. Apart from VERSION and COMMIT, no path, time
# or state of the repository gets into a program: the same source gives the same bytes.
BUILD   := go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)"

RELEASE   := $(DIST)/mockserver-$(VERSION)
PLATFORMS := linux-amd64 linux-arm64 macos-amd64 macos-arm64 windows-amd64.exe windows-arm64.exe
BINARIES  := $(addprefix $(RELEASE)-,$(PLATFORMS))

.PHONY: help build test check calibrate statistics streams items waiting figures generators pictures beside release image clean $(BINARIES)

help: ## print this text
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 18

build: ## build ./mockserver for this machine
	CGO_ENABLED=0 $(BUILD) -o mockserver .

test: ## run the tests
	go test ./...

check: ## run everything that a change must pass
	.ci/run

calibrate: ## compare the verdict with a client, on a quiet machine, for twenty minutes
	go test -tags measure -count=1 -timeout 40m -v ./listener/observe/verdict/calibration

statistics: ## simulate runs to test their intervals and comparisons, in a few minutes
	go test -tags measure -count=1 -timeout 30m -run TestStatistics ./listener/control/runs

streams: ## measure 10,000 delayed streams of HTTP/2 and the memory of connections, on a quiet machine, for eight minutes
	go test -tags measure -count=1 -timeout 20m -v -run TestStreams ./listener/program/e2e

items: ## measure what an item of a stream costs, and how far gaps are off, on a quiet machine, for a minute
	go test -tags measure -count=1 -timeout 10m -v -run TestItems ./listener/program/e2e

waiting: ## measure how late 10,000 waiting requests are answered, on a quiet machine, for a minute
	go test -tags measure -count=1 -timeout 10m -v -run TestWaiting ./listener/program/e2e

figures: ## measure proxying, recording and imports, on a quiet machine, for a few minutes
	go test -tags measure -count=1 -timeout 40m -v -run TestFigures ./listener/program/e2e

generators: ## run wrk, h2load, vegeta (if they are on the PATH) and our generator, and see how reports name them
	go test -tags measure -count=1 -timeout 10m -v -run 'TestGenerators$$' ./listener/program/e2e

pictures: ## make the pictures in docs/img, with Chromium, on a quiet machine, in two minutes
	MOCKSERVER_PAGE_TESTS=1 go test -tags measure -count=1 -timeout 10m -v -run 'TestPictures$$' ./listener/program/e2e

beside: ## compare imports with WireMock, Mockoon, json-server and newman from the PATH
	MOCKSERVER_BESIDE_TESTS=1 go test -count=1 -timeout 20m -run Beside ./config/imports

release: $(BINARIES) ## build what is released into dist/: binaries and packages of all platforms, SHA256SUMS
	packaging/build.sh $(VERSION) $(DIST) linux
	cd $(DIST) && if command -v sha256sum >/dev/null; then sum=sha256sum; else sum='shasum -a 256'; fi && \
	$$sum $(notdir $(RELEASE))-* > SHA256SUMS && $$sum -c SHA256SUMS
	packaging/build.sh $(VERSION) $(DIST)

# The stem is OS-ARCH, followed by .exe for Windows. Go calls macOS darwin.
$(BINARIES): $(RELEASE)-%:
	CGO_ENABLED=0 GOOS=$(patsubst macos,darwin,$(word 1,$(subst -, ,$*))) GOARCH=$(basename $(word 2,$(subst -, ,$*))) $(BUILD) -o $@ .

image: ## build the container image mockserver:dev
	docker build --build-arg VERSION=$(VERSION) --build-arg COMMIT=$(COMMIT) -t $(IMAGE):dev .

clean: ## remove what was built
	rm -rf $(DIST) mockserver
