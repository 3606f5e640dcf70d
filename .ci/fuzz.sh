#!/usr/bin/env bash
# Runs one fuzz target: fuzz.sh PACKAGE TARGET DURATION [PARALLEL], on PARALLEL CPUs, or on all.
# FUZZ_BINARY and FUZZ_DIR name an existing test binary of the package, and the package's directory.
# The binary may lack the instrumentation that guides the search: .ci/run fuzzes for so short a time
# that linking an instrumented binary for each target would take longer.
#
# When the time is up, Go's fuzzer sometimes reports its own deadline as a failure
# (golang/go#75804). Such a run found nothing: its output about the failure is only
# "context deadline exceeded", whereas a real failure prints more, writes its
# input, or panics.
set -uo pipefail
package=$1 target=$2 duration=$3 parallel=${4:-$(getconf _NPROCESSORS_ONLN)}

fuzz() {
  if [ -z "${FUZZ_BINARY:-}" ]; then
    go test "$package" -run '^$' -fuzz "^$target\$" -fuzztime "$duration" -parallel "$parallel"
    return
  fi
  cd "$FUZZ_DIR" &&
    "$FUZZ_BINARY" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "$duration" -test.parallel "$parallel" \
      -test.fuzzcachedir "$(go env GOCACHE)/fuzz/$package"
}

out=$(fuzz 2>&1)
status=$?
if [ $status -ne 0 ]; then
  failure=$(sed -n '/^--- FAIL: /,/^FAIL$/p' <<<"$out" | sed -e '/^--- FAIL: /d' -e '/^FAIL$/d' -e 's/^[[:space:]]*//')
  if [ "$failure" != 'context deadline exceeded' ] || grep -qE 'Failing input|^panic:|^fatal error:' <<<"$out"; then
    echo "$out"
    exit $status
  fi
fi
echo "$package $target: $(grep -o 'execs: [0-9]*' <<<"$out" | tail -1)"
