"""Makes the Python code of the contract: `python scripts/generate.py [FOLDER]`.

By default into this package, as `drover_sdk/v1`: protoc names modules after the files of the
contract, which is `drover.v1`, and that name belongs to another package. The rules of protovalidate
are for the server alone; they are left out, so that the SDK needs no package for them. The check of
protobuf's version is left out, too: it refuses every version before that of protoc, although the
code calls nothing that protobuf 4.25 lacks, which test/e2e/python-package.test.ts holds.


The constants of error_reason.proto become an enum that programs compare with, and read: its
comments say what each reason means.
"""

import re
import subprocess
import sys
import tempfile
import textwrap
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


def without_version(code: str) -> str:
    """No check, and no line that names protoc's version, which tools other than protobuf read."""
    check = r"_runtime_version\.ValidateProtobufRuntimeVersion\((?s:.*?)^\)"
    imported = r"from google\.protobuf import runtime_version .*"
    comments = r"# (?:NO CHECKED-IN|Protobuf Python Version).*"
    return re.sub(rf"(?m)^(?:{comments}|{imported}|{check})\n", "", code)


REASONS = "drover/v1/error_reason.proto"
REASONS_HEAD = '''"""Why a server refused a call, made by scripts/generate.py."""

from enum import Enum


class ErrorReason(str, Enum):
    """The reasons that this version knows: `error.reason == ErrorReason.KEY_REUSED`.

    A newer server may send others, so `CallError.reason` is any text.
    """
'''


def reasons(described: bytes) -> str:
    """The module, of a description that has the comments of the contract."""
    files = FileDescriptorSet.FromString(described).file
    (file,) = [one for one in files if one.name == REASONS]
    (kind,) = file.enum_type
    # Paths of source info: the first enum of the file (5), its values (2).
    comments = {
        tuple(place.path): place.leading_comments for place in file.source_code_info.location
    }
    code = REASONS_HEAD
    for at, value in list(enumerate(kind.value))[1:]:
        name = value.name.removeprefix("ERROR_REASON_")
        comment = " ".join(comments[5, 0, 2, at].split())
        code += f'\n    {name} = "{name}"\n'
        code += textwrap.fill(
            f'"""{comment}"""', 100, initial_indent="    ", subsequent_indent="    "
        )
    return f"{code}\n\n    __str__ = str.__str__\n"


def main() -> None:
    out = Path(sys.argv[1] if len(sys.argv) > 1 else HERE.parent).resolve() / "drover_sdk/v1"
    out.mkdir(parents=True, exist_ok=True)
    names = sorted(f"drover/v1/{path.name}" for path in (PROTO / "drover/v1").glob("*.proto"))
    with tempfile.TemporaryDirectory() as folder:
        described = Path(folder) / "contract.pb"
        sources = ["-I", ".", "-I", "vendor", "--include_imports", "--include_source_info"]
        protoc(*sources, f"--descriptor_set_out={described}", *names)
        (out.parent / "error_reason.py").write_text(reasons(described.read_bytes()))
        described.write_bytes(without_rules(described.read_bytes()))
        into = [f"--python_out={folder}", f"--pyi_out={folder}"]
        protoc(f"--descriptor_set_in={described}", *into, *names)
        for made in (Path(folder) / "drover/v1").iterdir():
            (out / made.name).write_text(without_version(in_this_package(made.read_text())))


if __name__ == "__main__":
    main()
