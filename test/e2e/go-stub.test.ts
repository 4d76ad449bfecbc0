/** The agent in Go: its generated code and its style; test/conformance runs it. */
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { go, needsGo } from "../support/go-tool.ts";

const cwd = join(import.meta.dirname, "../../agents-examples/stubs/go");
/** The first time, Go fetches and compiles the plugins. */
const goMs = 540_000;
const run = promisify(execFile);

beforeEach(needsGo);

test("the generated Go code is that of the contract", { timeout: goMs }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "drover-go-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  await run("sh", [join(cwd, "generate.sh"), folder]);
  expect(filesOf(folder)).toEqual(filesOf(join(cwd, "gen")));
});

test("go vet and gofmt find nothing in it", { timeout: goMs }, async () => {
  expect(await go(["vet", "."], { cwd })).toBe("");
  const gofmt = join((await go(["env", "GOROOT"])).trim(), "bin/gofmt");
  expect((await run(gofmt, ["-l", "."], { cwd })).stdout).toBe("");
});

function filesOf(folder: string): Record<string, string> {
  const names = readdirSync(folder).sort();
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name), "utf8")]));
}
