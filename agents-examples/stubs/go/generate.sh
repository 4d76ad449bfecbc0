#!/bin/sh
# Makes the Go code of the contract: `./generate.sh [FOLDER]`, by default into gen/. Go fetches the
# plugins by itself; buf comes with `npm ci`.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$(mkdir -p "${1:-$here/gen}" && cd "${1:-$here/gen}" && pwd)
cd "$here/../../.."
PATH="$PWD/node_modules/.bin:$PATH" buf generate \
  --template "$(sed "s#out: OUT#out: $out#" agents-examples/stubs/go/buf.gen.yaml)"
