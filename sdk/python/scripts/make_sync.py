"""Makes drover_sdk/sync.py of the asyncio client: `python scripts/make_sync.py [FILE]`.

Every public call gets a twin of the same name, arguments, docstring and types, which waits for it.
"""

import ast
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parent / "drover_sdk"

PARTS = (
    "Escalations",
    "Hooks",
    "Schedules",
    "Triggers",
    "Queues",
    "Circuits",
    "Namespaces",
    "Operations",
)
# Module of each class, and the classes whose calls Client has beside its own.
MODULES = {
    "Escalations": "escalations",
    "Hooks": "hooks",
    "Schedules": "schedules",
    "Triggers": "triggers",
    "Queues": "queues",
    "Circuits": "circuits",
    "Namespaces": "namespaces",
    "Operations": "operations",
    "Client": "clients",
    "Commands": "commands",
    "WorkflowCalls": "workflow_calls",
}
MIXINS = ("Commands", "WorkflowCalls")

HEAD = '''"""The client for programs without asyncio, with the same calls as drover_sdk.clients.

    with drover_sdk.sync.Client("127.0.0.1:7420") as client:
        run = client.wait_run(client.schedule("trip", input={"to": "Lisbon"}).run_id)

It may be used from several threads. Made by scripts/make_sync.py; change drover_sdk/clients.py and
its parts instead.
"""
'''


class Imports:
    """Where names come from, and which of them are used."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}
        self.used: set[str] = set()

    def learn(self, module: str, tree: ast.Module) -> None:
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and node.module != "__future__":
                for name in node.names:
                    self.known.setdefault(name.asname or name.name, f"{node.module} {name.name}")
            elif isinstance(node, ast.ClassDef) and node.name not in MODULES:
                self.known[node.name] = f"drover_sdk.{module} {node.name}"
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self.known[node.targets[0].id] = f"drover_sdk.{module} {node.targets[0].id}"

    def use(self, node: ast.AST) -> None:
        self.used |= {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}

    def lines(self) -> list[str]:
        wanted = sorted(self.used & self.known.keys())
        return [
            "from {} import {}".format(*self.known[name].split())
            + ("" if self.known[name].endswith(f" {name}") else f" as {name}")
            for name in wanted
        ]


def twin(method: ast.AsyncFunctionDef, imports: Imports) -> str:
    args = method.args
    for one in [*args.args, *args.kwonlyargs, args.kwarg]:
        if one is not None and one.annotation is not None:
            imports.use(one.annotation)
    for default in [*args.defaults, *args.kw_defaults]:
        if default is not None:
            imports.use(default)
    assert method.returns is not None
    returns = ast.unparse(method.returns)
    streams = returns.startswith("AsyncIterator[")
    returns = returns.removeprefix("Async") if streams else returns
    imports.use(ast.parse(returns))
    given = [one.arg for one in args.args[1:]]
    given += [f"{one.arg}={one.arg}" for one in args.kwonlyargs]
    given += [f"**{args.kwarg.arg}"] if args.kwarg else []
    how = "iterate" if streams else "call"
    work = f"self._loop.{how}(self._inner.{method.name}({', '.join(given)}))"
    doc = ast.get_docstring(method) or ""
    docstring = "\n".join(
        f"        {line}".rstrip() for line in f'"""{doc}"""'.splitlines()
    ).lstrip()
    if any(ast.unparse(one) == "overload" for one in method.decorator_list):
        imports.used.add("overload")
        return f"    @overload\n    def {method.name}({ast.unparse(args)}) -> {returns}: ...\n"
    return (
        f"    def {method.name}({ast.unparse(args)}) -> {returns}:\n        {docstring}\n"
        f"        {'' if returns == 'None' else 'return '}{work}\n"
    )


def calls_of(name: str, imports: Imports) -> str:
    module = MODULES[name]
    tree = ast.parse((PACKAGE / f"{module}.py").read_text())
    imports.learn(module, tree)
    (kind,) = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name]
    methods = [node for node in kind.body if isinstance(node, ast.AsyncFunctionDef)]
    return "\n".join(
        twin(method, imports)
        for method in methods
        if not method.name.startswith("_") and (name, method.name) != ("Client", "close")
    )


def document(name: str) -> tuple[str, ast.ClassDef]:
    tree = ast.parse((PACKAGE / f"{MODULES[name]}.py").read_text())
    (kind,) = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name]
    return ast.get_docstring(kind) or "", kind


def part(name: str, imports: Imports) -> str:
    doc, _ = document(name)
    return (
        f'class {name}:\n    """{doc}"""\n\n'
        f"    def __init__(self, inner: {MODULES[name]}.{name}, loop: LoopThread) -> None:\n"
        '        """Made by Client."""\n        self._inner = inner\n        self._loop = loop\n\n'
        + calls_of(name, imports)
    )


def client(imports: Imports) -> str:
    _, kind = document("Client")
    (init,) = [
        node for node in kind.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"
    ]
    imports.use(init.args)
    given = ["address"] + [f"{one.arg}={one.arg}" for one in init.args.kwonlyargs]
    doc = (ast.get_docstring(init) or "").replace("\n", "\n        ")
    doc = doc.replace("        \n", "\n")
    parts = "".join(
        f"        self.{name.lower()} = {name}(self._inner.{name.lower()}, self._loop)\n"
        for name in PARTS
    )
    return (
        'class Client:\n    """Starts runs and reads their state."""\n\n'
        f'    def __init__({ast.unparse(init.args)}) -> None:\n        """{doc}\n        """\n'
        f"        self._inner = clients.Client({', '.join(given)})\n"
        f"        self._loop = LoopThread()\n{parts}\n"
        '    def close(self) -> None:\n        """Closes the connection; may be called twice."""\n'
        "        if self._loop.alive:\n"
        "            self._loop.call(self._inner.close())\n            self._loop.stop()\n\n"
        "    def __enter__(self) -> Self:\n"
        '        """The client connects when it is first used."""\n'
        "        return self\n\n    def __exit__(self, kind: type[BaseException] | None, "
        "error: BaseException | None, trace: TracebackType | None) -> None:\n"
        '        """Closes the client."""\n        self.close()\n\n'
        + "\n".join(calls_of(name, imports) for name in ("Client", *MIXINS))
    )


def main() -> None:
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else PACKAGE / "sync.py"
    imports = Imports()
    imports.known["Iterator"] = "collections.abc Iterator"
    imports.known["TYPE_CHECKING"] = "typing TYPE_CHECKING"
    classes = [part(name, imports) for name in PARTS]
    classes.append(client(imports))
    imports.used |= {"TracebackType", "TYPE_CHECKING"}
    inner = ", ".join(sorted(MODULES[name] for name in [*PARTS, "Client"]))
    lines = [
        HEAD,
        "from __future__ import annotations\n",
        *imports.lines(),
        f"from drover_sdk import {inner}",
        "from drover_sdk.loop_thread import LoopThread\n",
        # A type of Python 3.11 on, which type checkers know without a package.
        "if TYPE_CHECKING:\n    from typing_extensions import Self\n\n",
    ]
    file.write_text("\n".join(lines) + "\n\n".join(classes))
    settings = ["--config", str(HERE.parent / "pyproject.toml"), "-q", str(file)]
    for tool in (["check", "--fix-only", "--select", "I"], ["format"]):
        subprocess.run([sys.executable, "-m", "ruff", *tool, *settings], check=True)


if __name__ == "__main__":
    main()
