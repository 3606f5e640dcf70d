#!/usr/bin/env bash
# Prints the version and the image tags for a push: git tag | tags.sh REF IMAGE, as
# version=… and tags=…, in which tags are separated by commas. It reads the tags of the
# repository, since a fix of an old release is not the latest release.
#
#   refs/heads/main        dev
#   refs/tags/v1.2.3       v1.2.3, and latest unless there is a later stable release
#   refs/tags/v1.2.3-rc.1  v1.2.3-rc.1, never latest
set -euo pipefail
ref=$1 image=${2,,} # a registry accepts only lower case
stable='^v[0-9]+(\.[0-9]+)+$'
release='^v[0-9]+(\.[0-9]+)+(-[0-9A-Za-z.-]+)?$'

refuse() { echo "tags: $*" >&2; exit 1; }

version=${ref#refs/tags/}
if [ "$ref" = refs/heads/main ]; then
  tags=(dev)
elif [ "$ref" != "refs/tags/$version" ] || ! [[ $version =~ $release ]]; then
  refuse "$ref gives no image: main and tags such as v1.2.3 and v1.2.3-rc.1 do"
else
  known=$(cat)
  grep -qxF -- "$version" <<<"$known" || refuse "$version is not among the tags of the repository: are they fetched?"
  tags=("$version")
  latest=$(grep -E -- "$stable" <<<"$known" | sort -V | tail -n 1) || true # there may be none
  [ "$version" != "$latest" ] || tags+=(latest)
fi
echo "version=${tags[0]}"
list=$(printf ",$image:%s" "${tags[@]}")
echo "tags=${list:1}"
