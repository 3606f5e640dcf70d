#!/usr/bin/env bash
# Makes what a release has next to its binaries, in the directory of the binaries and SHA256SUMS:
#
#   packaging/build.sh VERSION DIRECTORY linux   deb and rpm packages, by nfpm
#   packaging/build.sh VERSION DIRECTORY         from SHA256SUMS: install.sh, mockserver.rb for
#                                                Homebrew, mockserver.json for Scoop; from the
#                                                binaries: npm/, a package a directory
#
# Names come from packaging/NAMES. A VERSION that is not one of a release, such as a commit, makes nothing.
set -euo pipefail
version=$1 dist=$(cd "$2" && pwd)
cd "$(dirname "$0")/.."
. packaging/NAMES

if ! [[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]]; then
  echo "no packages: $version is not a version such as v1.2.3"
  exit
fi
number=${version#v}

if [ "${3:-}" = linux ]; then
  export MAINTAINER REPOSITORY VERSION=$number ARCH PROGRAM SOURCE_DATE_EPOCH=1767225600
  for ARCH in amd64 arm64; do
    PROGRAM=$dist/mockserver-$version-linux-$ARCH
    for format in deb rpm; do
      GOFLAGS=-trimpath go run github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.0 package \
        --config packaging/nfpm.yaml --packager "$format" --target "$PROGRAM.$format"
    done
  done
  exit
fi

# sum PLATFORM prints the sum of its binary.
sum() {
  awk -v file="mockserver-$version-$1" '$2 == file {print $1; found = 1} END {exit !found}' "$dist/SHA256SUMS" ||
    { echo "build.sh: SHA256SUMS has no mockserver-$version-$1" >&2; return 1; }
}

replace=(-e "s|@VERSION@|$version|g" -e "s|@NUMBER@|$number|g" -e "s|@REPOSITORY@|$REPOSITORY|g" -e "s|@TAP@|$TAP|g"
  -e "s|@URL@|https://github.com/$REPOSITORY/releases/download/$version|g")
cases=
for platform in {linux,macos}-{amd64,arm64} windows-{amd64,arm64}.exe; do
  hash=$(sum "$platform")
  replace+=(-e "s|@$platform@|$hash|g")
  [[ $platform = windows-* ]] || cases+="  *-$platform) sum=$hash ;;\\n"
done
replace+=(-e "s|^@SUMS@\$|${cases%\\n}|")
for file in install.sh mockserver.rb mockserver.json; do
  sed "${replace[@]}" "packaging/$file" >"$dist/$file"
done

# package DIRECTORY FIELDS writes a package.json; FIELDS are those that differ.
package() {
  printf '{\n  "name": "%s",\n  "version": "%s",\n  "description": "HTTP mock server for load tests",\n' "$1" "$number"
  printf '  "license": "MIT",\n  "repository": "github:%s",\n%s\n}\n' "$REPOSITORY" "$2"
}
rm -rf "$dist/npm"
optional=
for platform in linux-{x64,arm64} darwin-{x64,arm64} win32-{x64,arm64}; do
  os=${platform%-*} cpu=${platform#*-} program=mockserver
  case $os in darwin) goos=macos ;; win32) goos=windows ;; *) goos=linux ;; esac
  binary=mockserver-$version-$goos-${cpu/x64/amd64}
  [ "$os" != win32 ] || { program+=.exe binary+=.exe; }
  mkdir -p "$dist/npm/$platform"
  install -m 755 "$dist/$binary" "$dist/npm/$platform/$program"
  cp LICENSE "$dist/npm/$platform/"
  package "$NPM-$platform" "  \"os\": [\"$os\"],
  \"cpu\": [\"$cpu\"],
  \"preferUnplugged\": true,
  \"files\": [\"$program\"]" >"$dist/npm/$platform/package.json"
  optional+="${optional:+,}
    \"$NPM-$platform\": \"$number\""
done
mkdir "$dist/npm/mockserver"
cp LICENSE "$dist/npm/mockserver/"
install -m 755 packaging/npm/mockserver.js "$dist/npm/mockserver/"
package "$NPM" "  \"bin\": {\"mockserver\": \"mockserver.js\"},
  \"engines\": {\"node\": \">=18\"},
  \"files\": [\"mockserver.js\"],
  \"optionalDependencies\": {$optional
  }" >"$dist/npm/mockserver/package.json"
sed "s|@NPM@|$NPM|g" packaging/npm/README.md >"$dist/npm/mockserver/README.md"
