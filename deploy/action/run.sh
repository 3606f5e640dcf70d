#!/usr/bin/env bash
# Runs a load test in a run of a server that it starts. The environment has the inputs of
# action.yml: CONFIG, COMMAND; PROGRAM, NAME, PORT, ARGUMENTS, REPORT.
#
# The exit code is that of mockserver run: 3 if the timing cannot be trusted.
set -efuo pipefail # f: * in the arguments is no pattern
report=${REPORT:-mockserver-report}
mkdir -p "$report"
status=0
# shellcheck disable=SC2086 # the arguments are separated by blanks
"${PROGRAM:-mockserver}" run --config "$CONFIG" --port "${PORT:-8000}" --name "${NAME:-load test}" --report "$report" \
  ${ARGUMENTS:-} -- bash -euo pipefail -c "$COMMAND" || status=$?
if [ "$status" = 3 ]; then
  echo "::error::The timing cannot be trusted: the report says why."
fi
exit "$status"
