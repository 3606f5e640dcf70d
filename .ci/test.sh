#!/usr/bin/env bash
# Runs the tests in a binary of go test -c, in the directory of their package, and prints their
# output if they fail: test.sh FLAGS... PACKAGE BINARY DIRECTORY.
set -uo pipefail
flags=("${@:1:$#-3}") package=${*: -3:1} binary=${*: -2:1} dir=${*: -1}
if ! out=$(cd "$dir" && "$binary" "${flags[@]}" 2>&1); then
  printf '%s\nFAIL %s\n' "$out" "$package"
  exit 1
fi
printf 'ok %s %d s\n' "$package" "$SECONDS"
