"""Makes the Python code of the contract: `python scripts/generate.py [FOLDER]`.

By default into this package, as `drover_sdk/v1`: protoc names modules after the files of the
contract, which is `drover.v1`, and that name belongs to another package. The rules of protovalidate
are for the server alone; they are left out, so that the SDK needs no package for them.
"""

import re
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


def in_this_package(code: str) -> str:
    """The imports of other modules, and the name of the module in messages."""
    code = code.replace("from drover.v1 import ", "from drover_sdk.v1 import ")
    return re.sub(r"'drover\.v1\.(\w+_pb2)'", r"'drover_sdk.v1.\1'", code)


def main() -> None:
    out = Path(sys.argv[1] if len(sys.argv) > 1 else HERE.parent).resolve() / "drover_sdk/v1"
    out.mkdir(parents=True, exist_ok=True)
    names = sorted(f"drover/v1/{path.name}" for path in (PROTO / "drover/v1").glob("*.proto"))
    with tempfile.TemporaryDirectory() as folder:
        described = Path(folder) / "contract.pb"
        sources = ["-I", ".", "-I", "vendor", "--include_imports"]
        protoc(*sources, f"--descriptor_set_out={described}", *names)
        described.write_bytes(without_rules(described.read_bytes()))
        into = [f"--python_out={folder}", f"--pyi_out={folder}"]
        protoc(f"--descriptor_set_in={described}", *into, *names)
        for made in (Path(folder) / "drover/v1").iterdir():
            (out / made.name).write_text(in_this_package(made.read_text()))


if __name__ == "__main__":
    main()
