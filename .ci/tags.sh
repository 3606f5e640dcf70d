#!/usr/bin/env bash
# The version and the image tags that a push gives: tags.sh REF IMAGE, as
# version=… and tags=…, which separates tags with a comma.
#
#   refs/heads/main        dev
#   refs/tags/v1.2.3       v1.2.3, latest
#   refs/tags/v1.2.3-rc.1  v1.2.3-rc.1: latest is the latest stable release
set -euo pipefail
ref=$1 image=${2,,} # a registry takes lower case only

case $ref in
  refs/heads/main) tags=(dev) ;;
  refs/tags/v*-*) tags=("${ref#refs/tags/}") ;;
  refs/tags/v*) tags=("${ref#refs/tags/}" latest) ;;
  *) echo "tags: $ref gives no image: main and tags v* do" >&2; exit 1 ;;
esac
echo "version=${tags[0]}"
list=$(printf ",$image:%s" "${tags[@]}")
echo "tags=${list:1}"
