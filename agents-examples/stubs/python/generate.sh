#!/bin/sh
# Makes the Python code of the contract: `./generate.sh [FOLDER]`, by default into gen/.
# google/rpc/status.proto comes with the package googleapis-common-protos, so it is not made here.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$(mkdir -p "${1:-$here/gen}" && cd "${1:-$here/gen}" && pwd)
cd "$here/../../../proto"
"${PYTHON:-python3}" -m grpc_tools.protoc -I . -I vendor --python_out="$out" \
  drover/v1/agent_service.proto drover/v1/task.proto drover/v1/payload.proto \
  buf/validate/validate.proto
"${PYTHON:-python3}" -m grpc_tools.protoc -I . -I vendor --grpc_python_out="$out" \
  drover/v1/agent_service.proto
