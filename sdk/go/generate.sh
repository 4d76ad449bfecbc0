#!/bin/sh
# Generates the Go code of the contract again, in droverpb/: `sdk/go/generate.sh [FOLDER]`. Go fetches
# the plugins by itself; buf comes with `npm ci`.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$(mkdir -p "${1:-$here/droverpb}" && cd "${1:-$here/droverpb}" && pwd)
cd "$here/../.."
PATH="$PWD/node_modules/.bin:$PATH" buf generate \
  --template "$(sed "s#out: sdk/go/droverpb#out: $out#" sdk/go/buf.gen.yaml)"
