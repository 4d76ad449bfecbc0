/** What is in gen/ is what the contract gives; test/conformance runs the agent itself. */
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { type PythonEnv, preparePython, stubFolder } from "../support/python-env.ts";
import { endForLack } from "../support/required-tools.ts";

const installMs = 120_000;
let env: PythonEnv;

beforeAll(async () => {
  env = await preparePython();
}, installMs);

beforeEach((context) => {
  if (env.kind === "missing") endForLack(context, "python3", env.why);
});

function python(): string {
  if (env.kind === "missing") throw new Error(env.why);
  return env.python;
}

test("the generated Python code is that of the contract", async () => {
  const folder = mkdtempSync(join(tmpdir(), "drover-python-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const script = join(stubFolder, "generate.sh");
  await promisify(execFile)("sh", [script, folder], { env: { ...process.env, PYTHON: python() } });
  expect(filesOf(folder)).toEqual(filesOf(join(stubFolder, "gen")));
});

function filesOf(folder: string): Record<string, string> {
  const files: Record<string, string> = {};
  for (const path of readdirSync(folder, { recursive: true, encoding: "utf8" }).sort()) {
    if (path.endsWith(".py")) files[path] = readFileSync(join(folder, path), "utf8");
  }
  return files;
}
