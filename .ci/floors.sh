#!/usr/bin/env bash
# The floors of docs/architecture.md: which package may import which. The check fails for a new
# import; change the document and this table together.
set -euo pipefail
cd "$(dirname "$0")/.."

allowed='
mockserver -> mockserver/bench
mockserver -> mockserver/config/settings
mockserver -> mockserver/listener/program
mockserver/bench -> mockserver/bench/load
mockserver/bench -> mockserver/config
mockserver/bench -> mockserver/config/policy
mockserver/bench -> mockserver/config/settings
mockserver/bench -> mockserver/matcher
mockserver/bench -> mockserver/renderer
mockserver/config -> mockserver/config/item
mockserver/config -> mockserver/config/openapi
mockserver/config -> mockserver/config/openapi/tree
mockserver/config -> mockserver/config/policy
mockserver/config -> mockserver/config/syntax
mockserver/config -> mockserver/config/table
mockserver/config/imports -> mockserver/config/imports/curl
mockserver/config/imports -> mockserver/config/imports/draft
mockserver/config/imports -> mockserver/config/imports/jsonserver
mockserver/config/imports -> mockserver/config/imports/mockoon
mockserver/config/imports -> mockserver/config/imports/postman
mockserver/config/imports -> mockserver/config/imports/traffic
mockserver/config/imports -> mockserver/config/imports/wiremock
mockserver/config/imports -> mockserver/config/syntax
mockserver/config/imports/curl -> mockserver/config/imports/draft
mockserver/config/imports/curl -> mockserver/config/syntax
mockserver/config/imports/draft -> mockserver/config/openapi/jsonvalue
mockserver/config/imports/draft -> mockserver/config/syntax
mockserver/config/imports/jsonserver -> mockserver/config/imports/draft
mockserver/config/imports/jsonserver -> mockserver/config/imports/language
mockserver/config/imports/jsonserver -> mockserver/config/syntax
mockserver/config/imports/language -> mockserver/config/imports/draft
mockserver/config/imports/language -> mockserver/config/item
mockserver/config/imports/language -> mockserver/config/openapi/text
mockserver/config/imports/language -> mockserver/config/syntax
mockserver/config/imports/mockoon -> mockserver/config/imports/draft
mockserver/config/imports/mockoon -> mockserver/config/imports/language
mockserver/config/imports/mockoon -> mockserver/config/syntax
mockserver/config/imports/postman -> mockserver/config/imports/draft
mockserver/config/imports/postman -> mockserver/config/imports/language
mockserver/config/imports/postman -> mockserver/config/syntax
mockserver/config/imports/traffic -> mockserver/config/imports/draft
mockserver/config/imports/traffic -> mockserver/config/samples
mockserver/config/imports/traffic -> mockserver/config/syntax
mockserver/config/imports/wiremock -> mockserver/config/imports/draft
mockserver/config/imports/wiremock -> mockserver/config/imports/language
mockserver/config/imports/wiremock -> mockserver/config/syntax
mockserver/config/item -> mockserver/config/openapi
mockserver/config/item -> mockserver/config/policy
mockserver/config/item -> mockserver/config/syntax
mockserver/config/item -> mockserver/config/table
mockserver/config/openapi -> mockserver/config/openapi/generate
mockserver/config/openapi -> mockserver/config/openapi/jsonvalue
mockserver/config/openapi -> mockserver/config/openapi/tree
mockserver/config/openapi -> mockserver/config/openapi/validate
mockserver/config/openapi -> mockserver/config/syntax
mockserver/config/openapi/export -> mockserver/config
mockserver/config/openapi/export -> mockserver/config/openapi
mockserver/config/openapi/export -> mockserver/config/openapi/jsonvalue
mockserver/config/openapi/export -> mockserver/config/openapi/tree
mockserver/config/openapi/generate -> mockserver/config/openapi/invent
mockserver/config/openapi/generate -> mockserver/config/openapi/jsonvalue
mockserver/config/openapi/generate -> mockserver/config/openapi/text
mockserver/config/openapi/generate -> mockserver/config/openapi/validate
mockserver/config/openapi/invent -> mockserver/config/openapi/jsonvalue
mockserver/config/openapi/invent -> mockserver/config/openapi/text
mockserver/config/openapi/tree -> mockserver/config/openapi/jsonvalue
mockserver/config/openapi/tree -> mockserver/config/syntax
mockserver/config/openapi/validate -> mockserver/config/openapi/jsonvalue
mockserver/config/openapi/validate -> mockserver/config/openapi/text
mockserver/config/policy -> mockserver/config/samples
mockserver/config/policy -> mockserver/config/syntax
mockserver/config/policy -> mockserver/config/table
mockserver/config/settings -> mockserver/config
mockserver/config/settings -> mockserver/config/item
mockserver/config/settings -> mockserver/config/syntax
mockserver/config/table -> mockserver/config/syntax
mockserver/config/watch -> mockserver/config/syntax
mockserver/dispatcher -> mockserver/dispatcher/client
mockserver/dispatcher -> mockserver/dispatcher/outbox
mockserver/dispatcher/stream -> mockserver/dispatcher/outbox
mockserver/fetcher -> mockserver/config
mockserver/fetcher -> mockserver/config/syntax
mockserver/fetcher -> mockserver/matcher
mockserver/fetcher -> mockserver/renderer
mockserver/fetcher/rows -> mockserver/renderer/escape
mockserver/fetcher/upstream -> mockserver/config
mockserver/fetcher/upstream -> mockserver/config/syntax
mockserver/fetcher/upstream -> mockserver/dispatcher/client
mockserver/fetcher/upstream -> mockserver/matcher
mockserver/fetcher/upstream -> mockserver/renderer
mockserver/listener -> mockserver/config
mockserver/listener -> mockserver/config/openapi
mockserver/listener -> mockserver/config/syntax
mockserver/listener -> mockserver/config/watch
mockserver/listener -> mockserver/dispatcher
mockserver/listener -> mockserver/fetcher
mockserver/listener -> mockserver/fetcher/upstream
mockserver/listener -> mockserver/listener/certs
mockserver/listener -> mockserver/listener/data
mockserver/listener -> mockserver/listener/h2
mockserver/listener -> mockserver/listener/negotiate
mockserver/listener -> mockserver/listener/probe
mockserver/listener -> mockserver/listener/record
mockserver/listener -> mockserver/listener/recording
mockserver/listener -> mockserver/listener/reply
mockserver/listener -> mockserver/listener/sentry
mockserver/listener -> mockserver/listener/shared
mockserver/listener -> mockserver/listener/traffic
mockserver/listener -> mockserver/listener/webhook
mockserver/listener -> mockserver/listener/websocket
mockserver/listener -> mockserver/listener/wire
mockserver/listener -> mockserver/matcher
mockserver/listener -> mockserver/matcher/nearest
mockserver/listener -> mockserver/renderer
mockserver/listener/admin -> mockserver/config
mockserver/listener/admin -> mockserver/config/imports
mockserver/listener/admin -> mockserver/config/imports/draft
mockserver/listener/admin -> mockserver/config/item
mockserver/listener/admin -> mockserver/config/policy
mockserver/listener/admin -> mockserver/config/settings
mockserver/listener/admin -> mockserver/config/syntax
mockserver/listener/admin -> mockserver/dispatcher
mockserver/listener/admin -> mockserver/listener
mockserver/listener/admin -> mockserver/listener/admin/schema
mockserver/listener/admin -> mockserver/listener/certs
mockserver/listener/admin -> mockserver/listener/data
mockserver/listener/admin -> mockserver/listener/fleet
mockserver/listener/admin -> mockserver/listener/record
mockserver/listener/admin -> mockserver/listener/recording
mockserver/listener/admin -> mockserver/listener/runs
mockserver/listener/admin -> mockserver/listener/state
mockserver/listener/admin -> mockserver/listener/verdict
mockserver/listener/admin -> mockserver/matcher
mockserver/listener/certs -> mockserver/config/watch
mockserver/listener/data -> mockserver/config
mockserver/listener/data -> mockserver/config/item
mockserver/listener/data -> mockserver/config/openapi/validate
mockserver/listener/data -> mockserver/config/syntax
mockserver/listener/data -> mockserver/fetcher
mockserver/listener/data -> mockserver/fetcher/rows
mockserver/listener/data -> mockserver/listener/data/edit
mockserver/listener/data -> mockserver/listener/record
mockserver/listener/data -> mockserver/listener/reply
mockserver/listener/data -> mockserver/listener/state
mockserver/listener/data -> mockserver/listener/statefile
mockserver/listener/data -> mockserver/matcher
mockserver/listener/data -> mockserver/renderer
mockserver/listener/data -> mockserver/renderer/escape
mockserver/listener/data -> mockserver/renderer/scalar
mockserver/listener/data/edit -> mockserver/renderer/escape
mockserver/listener/fleet -> mockserver/listener/runs
mockserver/listener/importing -> mockserver/config
mockserver/listener/importing -> mockserver/config/imports
mockserver/listener/importing -> mockserver/config/imports/draft
mockserver/listener/importing -> mockserver/config/settings
mockserver/listener/importing -> mockserver/listener
mockserver/listener/importing -> mockserver/listener/logging
mockserver/listener/importing/importtest -> mockserver/config
mockserver/listener/importing/importtest -> mockserver/config/imports/draft
mockserver/listener/importing/importtest -> mockserver/listener
mockserver/listener/importing/importtest -> mockserver/listener/listenertest
mockserver/listener/listenertest -> mockserver/config
mockserver/listener/listenertest -> mockserver/listener
mockserver/listener/listenertest -> mockserver/listener/logging
mockserver/listener/listenertest -> mockserver/listener/record
mockserver/listener/negotiate -> mockserver/config
mockserver/listener/negotiate -> mockserver/config/openapi
mockserver/listener/negotiate -> mockserver/config/openapi/generate
mockserver/listener/negotiate -> mockserver/config/openapi/validate
mockserver/listener/negotiate -> mockserver/listener/reply
mockserver/listener/negotiate -> mockserver/matcher
mockserver/listener/program -> mockserver/bench
mockserver/listener/program -> mockserver/config
mockserver/listener/program -> mockserver/config/openapi/export
mockserver/listener/program -> mockserver/config/settings
mockserver/listener/program -> mockserver/config/syntax
mockserver/listener/program -> mockserver/listener
mockserver/listener/program -> mockserver/listener/admin
mockserver/listener/program -> mockserver/listener/certs
mockserver/listener/program -> mockserver/listener/fleet
mockserver/listener/program -> mockserver/listener/health
mockserver/listener/program -> mockserver/listener/importing
mockserver/listener/program -> mockserver/listener/logging
mockserver/listener/program/programtest -> mockserver/config/settings
mockserver/listener/program/programtest -> mockserver/listener/program
mockserver/listener/record -> mockserver/config
mockserver/listener/record -> mockserver/config/policy
mockserver/listener/record -> mockserver/listener/reply
mockserver/listener/record -> mockserver/matcher
mockserver/listener/record -> mockserver/renderer
mockserver/listener/recording -> mockserver/config
mockserver/listener/recording -> mockserver/config/syntax
mockserver/listener/recording -> mockserver/fetcher
mockserver/listener/recording -> mockserver/fetcher/upstream
mockserver/listener/recording -> mockserver/matcher
mockserver/listener/recording -> mockserver/renderer
mockserver/listener/reply -> mockserver/fetcher
mockserver/listener/reply -> mockserver/matcher
mockserver/listener/reply -> mockserver/renderer
mockserver/listener/runs -> mockserver/config
mockserver/listener/runs -> mockserver/config/settings
mockserver/listener/runs -> mockserver/listener/record
mockserver/listener/runs -> mockserver/listener/verdict
mockserver/listener/sentry -> mockserver/fetcher
mockserver/listener/traffic -> mockserver/config
mockserver/listener/traffic -> mockserver/config/policy
mockserver/listener/traffic -> mockserver/config/syntax
mockserver/listener/traffic -> mockserver/listener/record
mockserver/listener/traffic -> mockserver/listener/reply
mockserver/listener/traffic -> mockserver/listener/shared
mockserver/listener/traffic -> mockserver/matcher
mockserver/listener/verdict -> mockserver/dispatcher
mockserver/listener/verdict -> mockserver/listener/probe
mockserver/listener/verdict -> mockserver/listener/record
mockserver/listener/verdict -> mockserver/matcher
mockserver/listener/webhook -> mockserver/config
mockserver/listener/webhook -> mockserver/config/syntax
mockserver/listener/webhook -> mockserver/dispatcher
mockserver/listener/webhook -> mockserver/dispatcher/outbox
mockserver/listener/webhook -> mockserver/dispatcher/stream
mockserver/listener/webhook -> mockserver/matcher
mockserver/listener/webhook -> mockserver/renderer
mockserver/listener/websocket -> mockserver/config
mockserver/listener/websocket -> mockserver/config/item
mockserver/listener/websocket -> mockserver/config/syntax
mockserver/listener/websocket -> mockserver/listener/record
mockserver/listener/websocket -> mockserver/listener/reply
mockserver/listener/websocket -> mockserver/matcher
mockserver/listener/websocket -> mockserver/matcher/nearest
mockserver/listener/websocket -> mockserver/renderer
mockserver/listener/websocket -> mockserver/renderer/scalar
mockserver/listener/wire -> mockserver/matcher
mockserver/matcher -> mockserver/config
mockserver/matcher -> mockserver/config/syntax
mockserver/matcher/nearest -> mockserver/config
mockserver/matcher/nearest -> mockserver/matcher
mockserver/renderer -> mockserver/config/syntax
mockserver/renderer -> mockserver/matcher
mockserver/renderer -> mockserver/renderer/escape
mockserver/renderer -> mockserver/renderer/fake
mockserver/renderer -> mockserver/renderer/jsontext
mockserver/renderer -> mockserver/renderer/scalar
mockserver/renderer -> mockserver/renderer/value
mockserver/renderer/fake -> mockserver/config/syntax
mockserver/renderer/fake -> mockserver/matcher
mockserver/renderer/fake -> mockserver/renderer/value
mockserver/renderer/jsontext -> mockserver/config/syntax
mockserver/renderer/jsontext -> mockserver/renderer/value
mockserver/renderer/scalar -> mockserver/config/syntax
mockserver/renderer/value -> mockserver/config/syntax
mockserver/renderer/value -> mockserver/matcher
mockserver/renderer/value -> mockserver/renderer/escape
mockserver/renderer/value -> mockserver/renderer/scalar
'

imports=$(go list -f '{{$p := .ImportPath}}{{range .Imports}}{{$p}} -> {{.}}{{"\n"}}{{end}}' ./...) # a separate command, so that its failure is detected
found=$(grep -- '-> mockserver' <<<"$imports" || true)
status=0
while read -r edge; do
  [ -n "$edge" ] || continue
  [[ $edge != *' -> mockserver/internal/'* ]] || continue # all packages may use internal/
  if ! grep -qxF -- "$edge" <<<"$allowed"; then
    echo "floors: new edge: $edge" >&2
    status=1
  fi
done <<<"$found"
if grep -vE '^mockserver/(internal/harness|listener/program/programtest) ' <<<"$found" | grep 'mockserver/internal/harness'; then
  echo "floors: only tests import the harness" >&2
  status=1
fi
# No package has more than 4,000 lines, not counting tests.
while read -r package dir; do
  lines=$(find "$dir" -maxdepth 1 -name '*.go' ! -name '*_test.go' -exec cat {} + | wc -l)
  if [ "$lines" -gt 4000 ]; then
    echo "floors: $package has $lines lines without tests, more than 4,000" >&2
    status=1
  fi
done < <(go list -f '{{.ImportPath}} {{.Dir}}' ./...)
# The program does not contain packages that only tests need.
if go list -deps . | grep -E '^testing(/|$)|/listenertest$|/programtest$|/internal/harness(/|$)|/goleak'; then
  echo "floors: the program imports what only tests need" >&2
  status=1
fi
exit $status
