#!/usr/bin/env bash
# Rules of docs/architecture.md that no linter at hand keeps.
set -uo pipefail
cd "$(dirname "$0")/.."
status=0

refuse() { # refuse MESSAGE PATTERN FILES…
  local message=$1 pattern=$2
  shift 2
  if grep -nE -- "$pattern" "$@" /dev/null; then
    echo "rules: $message" >&2
    status=1
  fi
}

tests=$(git ls-files '*_test.go')
code=$(git ls-files '*.go' | grep -v '_test\.go$')
# shellcheck disable=SC2086 # file names of this repository hold no blanks
{
  refuse "a test waits for a condition, it does not sleep" 'time\.Sleep\(' $tests
  refuse "no init functions" '^func init\(\)' $code
  refuse "left for later" 'TODO|FIXME|XXX' $code $tests
}
exit $status
