/**
 * The Python SDK: its types, its style, its generated code, and its own tests, against a real
 * server.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { startDroverServer } from "../support/drover-server.ts";
import { pythonDefinitions, pythonDefinitionsFile } from "../support/python-definitions.ts";
import { type PythonEnv, preparePython } from "../support/python-env.ts";
import { isRequired } from "../support/required-tools.ts";

const root = join(import.meta.dirname, "../..");
const sdk = join(root, "sdk/python");
const installMs = 330_000;
const runMs = 180_000;
let env: PythonEnv;

beforeAll(async () => {
  env = await preparePython(join(sdk, "requirements.txt"));
}, installMs);

beforeEach((context) => {
  if (env.kind !== "missing") return;
  // As the conformance suite names the tool, and as people do.
  if (isRequired("python3") || isRequired("python")) throw new Error(env.why);
  context.skip(env.why);
});

async function python(args: readonly string[], more: Readonly<Record<string, string>> = {}) {
  if (env.kind === "missing") throw new Error(env.why);
  const variables = { ...process.env, PYTHONDONTWRITEBYTECODE: "1", ...more };
  try {
    await promisify(execFile)(env.python, args, { cwd: sdk, env: variables });
    return "";
  } catch (error) {
    // What it printed is what a person wants to read.
    if (error instanceof Error && "stdout" in error) return String(error.stdout) + error.message;
    throw error;
  }
}

/** What it printed. */
async function pyright(): Promise<string> {
  if (env.kind === "missing") throw new Error(env.why);
  const args = ["run", "-s", "typecheck:python", "--", "--pythonpath", env.python];
  return promisify(execFile)("npm", args, { cwd: root }).then(
    ({ stdout }) => stdout,
    ({ stdout }: { readonly stdout: string }) => stdout,
  );
}

test(
  "its types are whole and strict",
  async () => {
    expect(await python(["-m", "mypy"])).toBe("");
    expect(await pyright()).toContain("0 errors, 0 warnings");
  },
  runMs,
);

test("its style is that of its settings", async () => {
  expect(await python(["-m", "ruff", "check", "."])).toBe("");
  expect(await python(["-m", "ruff", "format", "--diff", "."])).toBe("");
});

test("its generated code is that of the contract", async () => {
  const folder = mkdtempSync(join(tmpdir(), "drover-python-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  expect(await python(["scripts/generate.py", folder])).toBe("");
  const made = filesOf(join(folder, "drover_sdk"));
  expect(Object.keys(made).length).toBeGreaterThan(40);
  expect(filesOf(join(sdk, "drover_sdk"))).toMatchObject(made);
});

test("its client without asyncio is made of that with it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "drover-python-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "sync.py");
  expect(await python(["scripts/make_sync.py", file])).toBe("");
  expect(readFileSync(file, "utf8")).toBe(readFileSync(join(sdk, "drover_sdk/sync.py"), "utf8"));
});

test("the definitions that its builder is held against are those of the text form", () => {
  expect(readFileSync(pythonDefinitionsFile, "utf8")).toBe(pythonDefinitions());
});

test(
  "its own tests pass, also those against a real server",
  async () => {
    const server = await startDroverServer();
    onTestFinished(() => server.stop());
    const address = { DROVER_TEST_ADDRESS: server.address, PYTHONPATH: sdk };
    expect(await python(["-m", "pytest"], address)).toBe("");
  },
  runMs,
);

function filesOf(folder: string): Record<string, string> {
  const files: Record<string, string> = {};
  for (const path of readdirSync(folder, { recursive: true, encoding: "utf8" }).sort()) {
    if (/\.pyi?$/.test(path)) files[path] = readFileSync(join(folder, path), "utf8");
  }
  return files;
}
