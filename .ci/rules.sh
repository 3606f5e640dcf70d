#!/usr/bin/env bash
# The rules of docs/architecture.md that no available linter checks.
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

# New files are checked before they are committed; deleted files are skipped.
files=$(git ls-files --cached --others --exclude-standard '*.go' | while read -r f; do [ ! -e "$f" ] || echo "$f"; done)
tests=$(grep '_test\.go$' <<<"$files")
code=$(grep -v '_test\.go$' <<<"$files")
# bench passes its environment on to the servers that it starts.
inside=$(grep -vE '^(main|bench/command|internal/startup/.*|internal/harness/.*|\.ci/.*)\.go$' <<<"$code")
# In a bubble of testing/synctest, waiting for a duration takes no time.
# shellcheck disable=SC2086
waiting=$(grep -L 'testing/synctest' $tests)
# shellcheck disable=SC2086 # file names of this repository contain no blanks
{
  refuse "a test waits for a condition, it does not sleep" 'time\.Sleep\(' $tests
  refuse "a test waits for a condition, it does not sleep" '^[[:space:]]*<-time\.After\(' $waiting
  refuse "no init functions" '^func init\(\)' $code
  refuse "a setting of fasthttp for the whole process is the host program's" 'fasthttp\.Set[A-Z]' $code
  refuse "only main.go uses the process" 'os\.(Getenv|LookupEnv|Environ|Exit|Setenv|Chdir)\b|signal\.Notify|debug\.Set(GCPercent|MemoryLimit\([^-])' $inside
  refuse "left for later" 'TODO|FIXME|XXX' $code $tests
}
exit $status
