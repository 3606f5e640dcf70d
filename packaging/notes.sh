#!/usr/bin/env bash
# Prints what CHANGELOG.md, on standard input, says about a version: packaging/notes.sh v1.2.3 <CHANGELOG.md.
# For a pre-release such as v1.2.3-rc.1 that has no section, it prints that of v1.2.3, or what is unreleased.
set -euo pipefail
number=${1#v}
changelog=$(cat)
section() {
  awk -v heading="## [$1]" 'index($0, "## [") == 1 {on = index($0, heading) == 1; next} on' <<<"$changelog" | sed -e '/./,$!d'
}
wanted=("$number")
[[ $number != *-* ]] || wanted+=("${number%%-*}" Unreleased)
for name in "${wanted[@]}"; do
  text=$(section "$name")
  [ -z "$text" ] || { echo "$text"; exit; }
done
echo "notes.sh: CHANGELOG.md says nothing about $number; expected a heading ## [$number] - DATE" >&2
exit 1
