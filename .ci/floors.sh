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
mockserver/bench -> mockserver/config/item
mockserver/bench -> mockserver/config/policy
mockserver/bench -> mockserver/config/settings
mockserver/config -> mockserver/config/item
mockserver/config -> mockserver/config/openapi
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
mockserver/config/imports/curl -> mockserver/config/imports/language
mockserver/config/imports/curl -> mockserver/config/syntax
mockserver/config/imports/draft -> mockserver/config/syntax
mockserver/config/imports/jsonserver -> mockserver/config/imports/draft
mockserver/config/imports/jsonserver -> mockserver/config/imports/language
mockserver/config/imports/jsonserver -> mockserver/config/syntax
mockserver/config/imports/language -> mockserver/config/imports/draft
mockserver/config/imports/language -> mockserver/config/item
mockserver/config/imports/language -> mockserver/config/syntax
mockserver/config/imports/mockoon -> mockserver/config/imports/draft
mockserver/config/imports/mockoon -> mockserver/config/imports/language
mockserver/config/imports/mockoon -> mockserver/config/syntax
mockserver/config/imports/postman -> mockserver/config/imports/draft
mockserver/config/imports/postman -> mockserver/config/imports/language
mockserver/config/imports/postman -> mockserver/config/syntax
mockserver/config/imports/traffic -> mockserver/config/imports/draft
mockserver/config/imports/traffic -> mockserver/config/imports/language
mockserver/config/imports/traffic -> mockserver/config/samples
mockserver/config/imports/traffic -> mockserver/config/syntax
mockserver/config/imports/wiremock -> mockserver/config/imports/draft
mockserver/config/imports/wiremock -> mockserver/config/imports/language
mockserver/config/imports/wiremock -> mockserver/config/syntax
mockserver/config/item -> mockserver/config/model
mockserver/config/model -> mockserver/config/policy
mockserver/config/model -> mockserver/config/syntax
mockserver/config/model -> mockserver/config/table
mockserver/config/item -> mockserver/config/openapi
mockserver/config/item -> mockserver/config/policy
mockserver/config/item -> mockserver/config/syntax
mockserver/config/item -> mockserver/config/table
mockserver/config/openapi -> mockserver/config/openapi/generate
mockserver/config/openapi -> mockserver/config/openapi/jsonvalue
mockserver/config/openapi -> mockserver/config/openapi/validate
mockserver/config/openapi -> mockserver/config/syntax
mockserver/config/openapi/export -> mockserver/config
mockserver/config/openapi/export -> mockserver/config/item
mockserver/config/openapi/export -> mockserver/config/openapi
mockserver/config/openapi/export -> mockserver/config/openapi/jsonvalue
mockserver/config/openapi/export -> mockserver/config/syntax
mockserver/config/openapi/export -> mockserver/config/table
mockserver/config/openapi/generate -> mockserver/config/openapi/invent
mockserver/config/openapi/generate -> mockserver/config/openapi/jsonvalue
mockserver/config/openapi/generate -> mockserver/config/openapi/text
mockserver/config/openapi/generate -> mockserver/config/openapi/validate
mockserver/config/openapi/invent -> mockserver/config/openapi/jsonvalue
mockserver/config/openapi/invent -> mockserver/config/openapi/text
mockserver/config/openapi/jsonvalue -> mockserver/config/syntax
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
mockserver/fetcher -> mockserver/config
mockserver/fetcher -> mockserver/config/item
mockserver/fetcher -> mockserver/config/syntax
mockserver/fetcher -> mockserver/fetcher/rows
mockserver/fetcher -> mockserver/matcher
mockserver/fetcher -> mockserver/renderer
mockserver/fetcher/upstream -> mockserver/config/item
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
mockserver/listener -> mockserver/listener/compile
mockserver/listener -> mockserver/listener/memory/data
mockserver/listener -> mockserver/listener/observe/arrivals
mockserver/listener -> mockserver/listener/observe/probe
mockserver/listener -> mockserver/listener/observe/record
mockserver/listener -> mockserver/listener/observe/recording
mockserver/listener -> mockserver/listener/observe/sentry
mockserver/listener -> mockserver/listener/protocol/certs
mockserver/listener -> mockserver/listener/protocol/wire
mockserver/listener -> mockserver/listener/serve
mockserver/listener -> mockserver/listener/compile/traffic
mockserver/listener -> mockserver/listener/compile/webhook
mockserver/listener -> mockserver/matcher
mockserver/listener/compile -> mockserver/config
mockserver/listener/compile -> mockserver/config/item
mockserver/listener/compile -> mockserver/config/openapi
mockserver/listener/compile -> mockserver/config/syntax
mockserver/listener/compile -> mockserver/fetcher
mockserver/listener/compile -> mockserver/fetcher/upstream
mockserver/listener/compile -> mockserver/listener/memory/data
mockserver/listener/compile -> mockserver/listener/observe/record
mockserver/listener/compile -> mockserver/listener/observe/recording
mockserver/listener/compile -> mockserver/listener/reply
mockserver/listener/compile -> mockserver/listener/protocol/websocket
mockserver/listener/compile -> mockserver/listener/compile/negotiate
mockserver/listener/compile -> mockserver/listener/compile/traffic
mockserver/listener/compile -> mockserver/listener/compile/webhook
mockserver/listener/compile -> mockserver/matcher
mockserver/listener/compile -> mockserver/matcher/nearest
mockserver/listener/compile -> mockserver/renderer
mockserver/listener/compile -> mockserver/renderer/stream
mockserver/listener/compile -> mockserver/config/model
mockserver/listener/compile -> mockserver/renderer/llm
mockserver/listener/control/admin -> mockserver/config
mockserver/listener/control/admin -> mockserver/config/imports
mockserver/listener/control/admin -> mockserver/config/imports/draft
mockserver/listener/control/admin -> mockserver/config/item
mockserver/listener/control/admin -> mockserver/config/settings
mockserver/listener/control/admin -> mockserver/config/syntax
mockserver/listener/control/admin -> mockserver/dispatcher
mockserver/listener/control/admin -> mockserver/listener
mockserver/listener/control/admin -> mockserver/listener/control/fleet
mockserver/listener/control/admin -> mockserver/listener/control/runs
mockserver/listener/control/admin -> mockserver/listener/memory/data
mockserver/listener/control/admin -> mockserver/listener/memory/state
mockserver/listener/control/admin -> mockserver/listener/observe/arrivals
mockserver/listener/control/admin -> mockserver/listener/observe/record
mockserver/listener/control/admin -> mockserver/listener/observe/recording
mockserver/listener/control/admin -> mockserver/listener/observe/verdict
mockserver/listener/control/admin -> mockserver/listener/protocol/certs
mockserver/listener/control/admin -> mockserver/matcher
mockserver/listener/control/fleet -> mockserver/config/settings
mockserver/listener/control/fleet -> mockserver/listener/control/runs
mockserver/listener/control/fleet -> mockserver/listener/observe/arrivals
mockserver/listener/control/runs -> mockserver/config
mockserver/listener/control/runs -> mockserver/config/item
mockserver/listener/control/runs -> mockserver/config/settings
mockserver/listener/control/runs -> mockserver/dispatcher
mockserver/listener/control/runs -> mockserver/listener/observe/arrivals
mockserver/listener/control/runs -> mockserver/listener/observe/record
mockserver/listener/control/runs -> mockserver/listener/observe/verdict
mockserver/listener/listenertest -> mockserver/config
mockserver/listener/listenertest -> mockserver/listener
mockserver/listener/listenertest -> mockserver/listener/observe/record
mockserver/listener/listenertest -> mockserver/listener/observe/logging
mockserver/listener/memory/data -> mockserver/config
mockserver/listener/memory/data -> mockserver/config/item
mockserver/listener/memory/data -> mockserver/config/openapi
mockserver/listener/memory/data -> mockserver/config/openapi/validate
mockserver/listener/memory/data -> mockserver/config/syntax
mockserver/listener/memory/data -> mockserver/fetcher
mockserver/listener/memory/data -> mockserver/fetcher/rows
mockserver/listener/memory/data -> mockserver/listener/memory/data/edit
mockserver/listener/memory/data -> mockserver/listener/memory/state
mockserver/listener/memory/data -> mockserver/listener/memory/statefile
mockserver/listener/memory/data -> mockserver/listener/observe/record
mockserver/listener/memory/data -> mockserver/listener/reply
mockserver/listener/memory/data -> mockserver/matcher
mockserver/listener/memory/data -> mockserver/renderer
mockserver/listener/memory/data -> mockserver/renderer/escape
mockserver/listener/memory/data -> mockserver/renderer/scalar
mockserver/listener/observe/record -> mockserver/config
mockserver/listener/observe/record -> mockserver/config/item
mockserver/listener/observe/record -> mockserver/config/policy
mockserver/listener/observe/record -> mockserver/config/syntax
mockserver/listener/observe/record -> mockserver/listener/observe/arrivals
mockserver/listener/observe/record -> mockserver/listener/reply
mockserver/listener/observe/record -> mockserver/matcher
mockserver/listener/observe/record -> mockserver/renderer
mockserver/listener/observe/recording -> mockserver/config/item
mockserver/listener/observe/recording -> mockserver/config/syntax
mockserver/listener/observe/recording -> mockserver/fetcher
mockserver/listener/observe/recording -> mockserver/fetcher/upstream
mockserver/listener/observe/recording -> mockserver/matcher
mockserver/listener/observe/recording -> mockserver/renderer
mockserver/listener/observe/sentry -> mockserver/fetcher
mockserver/listener/observe/verdict -> mockserver/dispatcher
mockserver/listener/observe/verdict -> mockserver/listener/observe/probe
mockserver/listener/observe/verdict -> mockserver/listener/observe/record
mockserver/listener/observe/verdict -> mockserver/matcher
mockserver/listener/program -> mockserver/bench
mockserver/listener/program -> mockserver/config
mockserver/listener/program -> mockserver/config/item
mockserver/listener/program -> mockserver/config/openapi/export
mockserver/listener/program -> mockserver/config/settings
mockserver/listener/program -> mockserver/config/syntax
mockserver/listener/program -> mockserver/listener
mockserver/listener/program -> mockserver/listener/control/admin
mockserver/listener/program -> mockserver/listener/control/fleet
mockserver/listener/program -> mockserver/listener/control/health
mockserver/listener/program -> mockserver/listener/program/importing
mockserver/listener/program -> mockserver/listener/observe/logging
mockserver/listener/program -> mockserver/listener/protocol/certs
mockserver/listener/program/importing -> mockserver/config
mockserver/listener/program/importing -> mockserver/config/imports
mockserver/listener/program/importing -> mockserver/config/imports/draft
mockserver/listener/program/importing -> mockserver/listener
mockserver/listener/program/importing -> mockserver/listener/observe/logging
mockserver/listener/protocol/certs -> mockserver/config/watch
mockserver/listener/reply -> mockserver/fetcher
mockserver/listener/reply -> mockserver/matcher
mockserver/listener/reply -> mockserver/renderer
mockserver/listener/protocol/websocket -> mockserver/config/item
mockserver/listener/protocol/websocket -> mockserver/config/syntax
mockserver/listener/protocol/websocket -> mockserver/listener/observe/record
mockserver/listener/protocol/websocket -> mockserver/listener/reply
mockserver/listener/protocol/websocket -> mockserver/matcher
mockserver/listener/protocol/websocket -> mockserver/matcher/nearest
mockserver/listener/protocol/websocket -> mockserver/renderer
mockserver/listener/protocol/websocket -> mockserver/renderer/scalar
mockserver/listener/protocol/wire -> mockserver/matcher
mockserver/listener/serve -> mockserver/dispatcher
mockserver/listener/serve -> mockserver/config/policy
mockserver/listener/serve -> mockserver/fetcher/upstream
mockserver/listener/serve -> mockserver/listener/compile
mockserver/listener/serve -> mockserver/listener/memory/data
mockserver/listener/serve -> mockserver/listener/observe/arrivals
mockserver/listener/serve -> mockserver/listener/observe/record
mockserver/listener/serve -> mockserver/listener/observe/recording
mockserver/listener/serve -> mockserver/listener/observe/sentry
mockserver/listener/serve -> mockserver/listener/protocol/h2
mockserver/listener/serve -> mockserver/listener/reply
mockserver/listener/serve -> mockserver/listener/protocol/websocket
mockserver/listener/serve -> mockserver/listener/protocol/wire
mockserver/listener/serve -> mockserver/listener/compile/negotiate
mockserver/listener/serve -> mockserver/listener/compile/traffic
mockserver/listener/serve -> mockserver/listener/compile/webhook
mockserver/listener/serve -> mockserver/matcher
mockserver/listener/serve -> mockserver/matcher/nearest
mockserver/listener/serve -> mockserver/renderer
mockserver/listener/serve -> mockserver/renderer/stream
mockserver/listener/compile/negotiate -> mockserver/config/item
mockserver/listener/compile/negotiate -> mockserver/config/openapi
mockserver/listener/compile/negotiate -> mockserver/config/openapi/generate
mockserver/listener/compile/negotiate -> mockserver/config/openapi/validate
mockserver/listener/compile/negotiate -> mockserver/listener/reply
mockserver/listener/compile/negotiate -> mockserver/matcher
mockserver/listener/compile/traffic -> mockserver/config/item
mockserver/listener/compile/traffic -> mockserver/config/policy
mockserver/listener/compile/traffic -> mockserver/config/syntax
mockserver/listener/compile/traffic -> mockserver/listener/observe/record
mockserver/listener/compile/traffic -> mockserver/listener/reply
mockserver/listener/compile/traffic -> mockserver/matcher
mockserver/listener/compile/webhook -> mockserver/config/item
mockserver/listener/compile/webhook -> mockserver/config/syntax
mockserver/listener/compile/webhook -> mockserver/dispatcher
mockserver/listener/compile/webhook -> mockserver/matcher
mockserver/listener/compile/webhook -> mockserver/renderer
mockserver/matcher -> mockserver/config/item
mockserver/matcher -> mockserver/config/syntax
mockserver/matcher/nearest -> mockserver/config/item
mockserver/matcher/nearest -> mockserver/matcher
mockserver/renderer -> mockserver/config/syntax
mockserver/renderer -> mockserver/matcher
mockserver/renderer -> mockserver/renderer/escape
mockserver/renderer -> mockserver/renderer/fake
mockserver/renderer -> mockserver/renderer/scalar
mockserver/renderer -> mockserver/renderer/value
mockserver/renderer/stream -> mockserver/config/item
mockserver/renderer/stream -> mockserver/config/policy
mockserver/renderer/stream -> mockserver/config/syntax
mockserver/renderer/stream -> mockserver/matcher
mockserver/renderer/stream -> mockserver/renderer
mockserver/renderer/stream -> mockserver/renderer/value
mockserver/renderer/llm -> mockserver/config/model
mockserver/renderer/llm -> mockserver/config/openapi
mockserver/renderer/llm -> mockserver/config/policy
mockserver/renderer/llm -> mockserver/config/syntax
mockserver/renderer/llm -> mockserver/matcher
mockserver/renderer/llm -> mockserver/renderer
mockserver/renderer/fake -> mockserver/matcher
mockserver/renderer/fake -> mockserver/renderer/value
mockserver/renderer/value -> mockserver/matcher
mockserver/renderer/value -> mockserver/renderer/escape
mockserver/renderer/value -> mockserver/renderer/scalar
'

imports=$(go list -f '{{$p := .ImportPath}}{{range .Imports}}{{$p}} -> {{.}}{{"\n"}}{{end}}' ./...) # a separate command, so that its failure is detected
found=$(grep -- '-> mockserver' <<<"$imports" || true)
status=0
# All packages may use internal/.
if new=$(grep -v -- ' -> mockserver/internal/' <<<"$found" | grep -vxF -f <(printf '%s\n' "$allowed")); then
  sed 's/^/floors: new edge: /' <<<"$new" >&2
  status=1
fi
if grep -v '^mockserver/internal/harness ' <<<"$found" | grep 'mockserver/internal/harness'; then
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
if go list -deps . | grep -E '^testing(/|$)|/listenertest$|/internal/harness(/|$)|/goleak'; then
  echo "floors: the program imports what only tests need" >&2
  status=1
fi
exit $status
