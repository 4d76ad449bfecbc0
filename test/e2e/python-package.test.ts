// The wheel of a release, installed into environments of its own: with the oldest packages that it
// asks for and with each major version of protobuf the SDK's own tests pass; and mypy finds its
// types in the program of a user.
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, onTestFinished, type TestContext, test } from "vitest";
import { theVersion } from "../../release/versions.ts";
import { startDroverServer } from "../support/drover-server.ts";
import { makeTestFolder } from "../support/global-postgres.ts";
import { preparePython } from "../support/python-env.ts";
import { endForLack } from "../support/required-tools.ts";

const root = join(import.meta.dirname, "../..");
const sdk = join(root, "sdk/python");
const run = promisify(execFile);
const packMs = 330_000;
const testsMs = 570_000;

/** What the SDK's own tests need beside it; they read models of pydantic. */
const testing = ["pytest==9.2.0", "pytest-asyncio==1.5.0", "pydantic==2.14.4"];
const extras = ["cryptography==50.0.2", "opentelemetry-sdk==1.45.2"];
const building = ["build==1.6.1"];

let folder: string;
let files: readonly string[] | null = null;
beforeAll(async () => {
  folder = makeTestFolder();
  const env = await preparePython(building);
  if (env.kind === "missing") return;
  const args = ["run", "-s", "release", "--", "--dry-run", "--only", "python"];
  await run("npm", [...args, "--to", folder, "--python", env.python], { cwd: root });
  files = readdirSync(join(folder, "python"))
    .sort()
    .map((name) => join(folder, "python", name));
}, packMs);
afterAll(() => rmSync(folder, { recursive: true }));

/** A Python with these packages and the wheel, which asks for nothing that they are not. */
async function installed(context: TestContext, packages: readonly string[]): Promise<string> {
  const env = await preparePython(packages);
  if (env.kind === "missing") return endForLack(context, "python3", env.why);
  const wheels = (files ?? []).filter((file) => file.endsWith(".whl"));
  const pip = ["-m", "pip", "install", "-q", "--no-index", "--no-deps", "--force-reinstall"];
  await run(env.python, [...pip, ...wheels]);
  await run(env.python, ["-m", "pip", "check"]);
  return env.python;
}

/** The tests and what they read, in a folder that has no sources of the SDK. */
function copiedTests(): string {
  const copy = makeTestFolder();
  onTestFinished(() => rmSync(copy, { recursive: true }));
  const to = join(copy, "sdk/python");
  mkdirSync(to, { recursive: true });
  for (const name of ["tests", "examples", "README.md", "pyproject.toml"])
    cpSync(join(sdk, name), join(to, name), { recursive: true });
  symlinkSync(join(root, "proto"), join(copy, "proto"));
  return to;
}

test("it is a wheel with types and licence, and a source distribution", async (context) => {
  if (files === null) return endForLack(context, "python3", "python3 with venv is missing");
  const name = `drover_sdk-${theVersion()}`;
  expect(files.map((file) => basename(file))).toEqual([
    `${name}-py3-none-any.whl`,
    `${name}.tar.gz`,
  ]);
  const [wheel = ""] = files;
  const { stdout } = await run("python3", ["-m", "zipfile", "-l", wheel]);
  expect(stdout).toContain("drover_sdk/py.typed");
  expect(stdout).toContain("drover_sdk/v1/task_pb2.pyi");
  expect(stdout).toContain("licenses/LICENSE");
  expect(stdout).not.toContain("test_");
});

test.for([
  ["the oldest packages", "4.25.0", "1.49.1", "1.59.1", "0.18.6"],
  ["protobuf 5", "5.29.5", "1.70.0", "1.66.0", "0.19.0"],
  ["protobuf 6", "6.33.0", "1.76.0", "1.72.0", "0.20.0"],
])(
  "the SDK's own tests pass with %s, also against a real server",
  { timeout: testsMs },
  async ([, protobuf, grpcio, googleapis, msgspec], context) => {
    const python = await installed(context, [
      `protobuf==${protobuf}`,
      `grpcio==${grpcio}`,
      `googleapis-common-protos==${googleapis}`,
      `msgspec==${msgspec}`,
      ...testing,
      ...extras,
    ]);
    const server = await startDroverServer();
    onTestFinished(() => server.stop());
    const env = { ...process.env, DROVER_TEST_ADDRESS: server.address };
    const ended = run(python, ["-m", "pytest"], { cwd: copiedTests(), env });
    // What it printed is what a person wants to read.
    const { stdout } = await ended.catch((error: { readonly stdout: string }) => error);
    expect(stdout).toMatch(/\n\d+ passed/);
  },
);

test("mypy finds its types in the program of a user, and what is wrong there", async (context) => {
  const newest = ["protobuf==7.36.2", "grpcio==1.85.1", "googleapis-common-protos==1.76.0"];
  const packages = [...newest, "msgspec==0.22.0", "pydantic==2.14.4", "mypy==2.4.1"];
  const python = await installed(context, packages);
  const cwd = makeTestFolder();
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  // Its wrong lines are ignored by comments, and a comment that ignores nothing is an error.
  cpSync(join(sdk, "tests/type_errors.py"), join(cwd, "program.py"));
  const { stdout } = await run(python, ["-m", "mypy", "--strict", "program.py"], { cwd });
  expect(stdout).toContain("Success: no issues found");
});
