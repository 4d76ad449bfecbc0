"""Makes the Python code of the contract: `python scripts/generate.py [FOLDER]`.

By default into this package, as `drover/v1`. The rules of protovalidate are for the server alone;
they are left out, so that the SDK needs no package for them.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from google.protobuf.descriptor_pb2 import FileDescriptorSet

HERE = Path(__file__).resolve().parent
PROTO = HERE.parents[2] / "proto"
RULES = "buf/validate/validate.proto"


def protoc(*args: str) -> None:
    subprocess.run([sys.executable, "-m", "grpc_tools.protoc", *args], check=True, cwd=PROTO)


def without_rules(described: bytes) -> bytes:
    """Rules are options that this process does not know, so dropping the unknown drops them."""
    files = FileDescriptorSet.FromString(described)
    remaining = [file for file in files.file if file.name != RULES]
    for file in remaining:
        if RULES in file.dependency:
            file.dependency.remove(RULES)
        file.DiscardUnknownFields()
    return FileDescriptorSet(file=remaining).SerializeToString(deterministic=True)


def main() -> None:
    out = Path(sys.argv[1] if len(sys.argv) > 1 else HERE.parent).resolve()
    out.mkdir(parents=True, exist_ok=True)
    names = sorted(f"drover/v1/{path.name}" for path in (PROTO / "drover/v1").glob("*.proto"))
    with tempfile.TemporaryDirectory() as folder:
        described = Path(folder) / "contract.pb"
        sources = ["-I", ".", "-I", "vendor", "--include_imports"]
        protoc(*sources, f"--descriptor_set_out={described}", *names)
        described.write_bytes(without_rules(described.read_bytes()))
        into = [f"--python_out={out}", f"--pyi_out={out}"]
        protoc(f"--descriptor_set_in={described}", *into, *names)


if __name__ == "__main__":
    main()
