#!/usr/bin/env bash
# Starts a server, waits until it is ready, runs a load test as a run, and stops the server. The
# environment has the inputs of action.yml: CONFIG, COMMAND; PROGRAM, NAME, PORT, ARGUMENTS, REPORT,
# and ADMIN, the admin address.
#
# Exit code: that of the load test if it failed, 3 if the timing cannot be trusted, that of the
# server if it did not start.
set -euo pipefail
program=${PROGRAM:-mockserver} report=${REPORT:-mockserver-report} admin=${ADMIN:-127.0.0.1:8001}
export PORT=${PORT:-8000}
export MOCKSERVER_URL=http://127.0.0.1:$PORT
mkdir -p "$report"

# shellcheck disable=SC2086 # the arguments are separated by blanks
"$program" -c "$CONFIG" --admin "$admin" ${ARGUMENTS:-} >"$report/mockserver.log" 2>&1 &
server=$!
stop() {
  kill "$server" 2>/dev/null || true
  wait "$server" || true
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
until curl -sf -o "$report/ready.json" "http://$admin/readyz"; do
  if ! kill -0 "$server" 2>/dev/null; then
    cat "$report/mockserver.log" >&2
    status=0
    wait "$server" || status=$?
    exit $((status ? status : 1))
  fi
  sleep 0.2
done
rm "$report/ready.json"

status=0
"$program" fleet run --admin "$admin" --wait 30s --name "${NAME:-load test}" --report "$report" -- \
  bash -euo pipefail -c "$COMMAND" || status=$?
if [ "$status" = 3 ]; then
  echo "::error::The timing cannot be trusted: the report says why."
fi
exit "$status"
