# syntax=docker/dockerfile:1
# The server and nothing else: no shell, no package manager, no root.
#
#   docker build -t mockserver .
#   docker run --rm -p 8000:8000 -v "$PWD/mocks:/app:ro" mockserver
#
# with mocks/mockserver.yml as the configuration. docs/container.md has the rest.

# The build cross-compiles on the builder's own platform: nothing is emulated.
FROM --platform=$BUILDPLATFORM golang:1.26.8-alpine AS build
WORKDIR /src
# Modules are downloaded again only when these two files change.
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION
ARG COMMIT
ARG TARGETOS
ARG TARGETARCH
# The same flags as in the Makefile: the program is the released one, byte for byte.
RUN --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$VERSION -X main.commit=$COMMIT" -o mockserver .

FROM scratch
# For requests over HTTPS, such as those that fetch bodies.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /src/LICENSE /LICENSE
# Not below /app, where a mount would hide it.
COPY --from=build /src/mockserver /usr/local/bin/mockserver
WORKDIR /app
ENV CONFIG=/app/mockserver.yml
EXPOSE 8000
# A number, so that Kubernetes can verify that the user is not root.
USER 65532:65532
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --start-interval=1s --retries=3 \
    CMD ["/usr/local/bin/mockserver", "health"]
ENTRYPOINT ["/usr/local/bin/mockserver"]
ARG VERSION
ARG COMMIT
LABEL org.opencontainers.image.title="mockserver" \
      org.opencontainers.image.description="HTTP mock server for load tests" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$COMMIT"
