#!/bin/sh
# Installs mockserver @VERSION@ for this machine, after it has checked the SHA-256 sum:
#
#   curl -fsSL https://github.com/@REPOSITORY@/releases/download/@VERSION@/install.sh | sh
#
# MOCKSERVER_BIN   the directory of the program, /usr/local/bin if unset, or ~/.local/bin if that
#                  cannot be written to
# MOCKSERVER_FROM  the URL of a directory with the files of the release, such as a mirror
set -eu
from=${MOCKSERVER_FROM:-https://github.com/@REPOSITORY@/releases/download/@VERSION@}

fail() {
  echo "install.sh: $*" >&2
  exit 1
}

case $(uname -s) in
  Linux) os=linux ;;
  Darwin) os=macos ;;
  *) fail "no program for $(uname -s); expected Linux or macOS (Windows: Scoop, npm, or the .exe of the release)" ;;
esac
case $(uname -m) in
  x86_64 | amd64) arch=amd64 ;;
  aarch64 | arm64) arch=arm64 ;;
  *) fail "no program for $(uname -m); expected x86_64 or arm64" ;;
esac
file=mockserver-@VERSION@-$os-$arch
case $file in
@SUMS@
  *) fail "the release has no $file" ;;
esac

bin=${MOCKSERVER_BIN:-/usr/local/bin}
if [ -z "${MOCKSERVER_BIN:-}" ] && ! [ -w "$bin" ]; then
  bin=$HOME/.local/bin
fi
mkdir -p "$bin"
new=$(mktemp "$bin/.mockserver.XXXXXX") # in the same directory, so that the program is replaced at once
trap 'rm -f "$new"' EXIT
curl -fsSL --retry 3 -o "$new" "$from/$file" || fail "cannot download $from/$file"
if command -v sha256sum >/dev/null; then
  got=$(sha256sum "$new")
else
  got=$(shasum -a 256 "$new")
fi
[ "${got%% *}" = "$sum" ] || fail "$from/$file has the SHA-256 sum ${got%% *}; expected $sum"
chmod 755 "$new"
mv "$new" "$bin/mockserver"
echo "installed $("$bin/mockserver" -v) as $bin/mockserver"
case :$PATH: in
  *:"$bin":*) ;;
  *) echo "$bin is not on the PATH" ;;
esac
