#!/usr/bin/env bash
# Runs a load test in a run of a server that it starts. The environment has the inputs of
# action.yml: CONFIG, COMMAND; PROGRAM, NAME, PORT, ARGUMENTS, REPORT.
#
# The exit code is that of mockserver run: 3 if the timing cannot be trusted, or if the command exits with 3.
set -efuo pipefail # f: * in the arguments is no pattern
report=${REPORT:-mockserver-report}
mkdir -p "$report"
before=$(mktemp)
trap 'rm -f "$before"' EXIT
status=0
# shellcheck disable=SC2086 # the arguments are separated by blanks
"${PROGRAM:-mockserver}" run --config "$CONFIG" --port "${PORT:-8000}" --name "${NAME:-load test}" --report "$report" \
  ${ARGUMENTS:-} -- bash -euo pipefail -c "$COMMAND" || status=$?
reported() { # whether the report of this run has a verdict
  find "$report" -name '*.json' -newer "$before" -exec grep -A1 '^  "verdict": {' {} + | grep "\"trusted\": $1" >/dev/null
}
if [ "$status" = 3 ] && reported false; then
  echo "::error::The timing cannot be trusted: the report says why."
fi
exit "$status"
