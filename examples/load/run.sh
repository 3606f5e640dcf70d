#!/bin/sh
# Puts a run around a load test, writes its report, and fails if its timing cannot be trusted:
#
#   examples/load/run.sh "checkout, 64 connections" wrk -t2 -c64 -d30s http://127.0.0.1:8000/tasks/7
#
# The command may be any: wrk, hey, vegeta, jmeter, gatling, k6. Needs curl and jq.
#
# MOCKSERVER_ADMIN_URL    the admin address, http://127.0.0.1:8001 if unset
# MOCKSERVER_ADMIN_TOKEN  its token, if there is one
# REPORT                  the prefix of the report files, report if unset: report.json and report.html
#
# Exit code: that of the command if it failed; 3 if the timing cannot be trusted, 4 if requests
# were unmatched; 1 if a request to the admin address fails.
set -eu
[ $# -ge 2 ] || { echo "usage: run.sh NAME COMMAND..." >&2; exit 2; }
admin=${MOCKSERVER_ADMIN_URL:-http://127.0.0.1:8001}
report=${REPORT:-report}

# The token is passed by standard input, because process lists show arguments.
ask() {
  path=$1
  shift
  printf 'header = "Authorization: Bearer %s"\n' "${MOCKSERVER_ADMIN_TOKEN:-}" |
    curl -sS -f -K - "$@" "$admin/__admin$path"
}

name=$1
shift
begun=$(ask /runs -d "$(jq -nc --arg name "$name" '{$name}')") ||
  { echo "run.sh: no run was begun at $admin" >&2; exit 1; }
run=$(printf '%s' "$begun" | jq -er .id)
trap 'ask "/runs/$run/stop" -X POST >/dev/null' INT TERM # otherwise the next run could not begin

status=0
"$@" || status=$?

trap - INT TERM
ask "/runs/$run/stop" -X POST >"$report.json" && ask "/runs/$run/report" >"$report.html" ||
  { echo "run.sh: no report of run $run at $admin" >&2; exit 1; }
jq -r '"\(.total.requests) requests. \(.verdict.text)"' "$report.json" >&2
[ $status = 0 ] || exit $status
jq -e .verdict.trusted "$report.json" >/dev/null || exit 3
jq -e '.total.unmatched == 0' "$report.json" >/dev/null ||
  { jq -r '.unmatched[] | "\(.count) × \(.method) \(.path): \(.reason)"' "$report.json" >&2; exit 4; }
