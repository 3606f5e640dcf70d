#!/usr/bin/env bash
# Runs the tests in a binary of go test -c, in the directory of their package, and prints their
# output if they fail: test.sh FLAGS... WHICH PACKAGE BINARY DIRECTORY. WHICH is the flag that chooses
# the tests.
set -uo pipefail
flags=("${@:1:$#-3}") which=${*: -4:1} package=${*: -3:1} binary=${*: -2:1} dir=${*: -1}
if ! out=$(cd "$dir" && "$binary" "${flags[@]}" 2>&1); then
  printf '%s\nFAIL %s\n' "$out" "$package"
  exit 1
fi
printf 'ok %s %s %d s\n' "$package" "$which" "$SECONDS"
