// Spin as a function: a check goes in, what its search found comes out. Spin writes a verifier,
// the compiler builds it, and it walks every state that the model can reach; each in a folder of
// its own that is gone afterwards.
import { type ExecFileException, execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Check } from "./models.ts";

const DEPTH_MAX = 1_000_000;
const MEMORY_MIB_MAX = 2_048;
const SECONDS_MAX = 300;
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;

export interface Found extends Check {
  /** The whole space was walked and nothing is wrong, or the first thing that is. */
  readonly result: "holds" | "assertion" | "deadlock" | "cycle";
  readonly states: number;
  readonly depth: number;
  readonly memoryMib: number;
  readonly seconds: number;
  /** The model holds, or the twin breaks the property that it was made to break. */
  readonly asExpected: boolean;
}

/** Why nothing can be checked on this machine; null: all is there. */
export async function missingTool(): Promise<string | null> {
  for (const [tool, flag, how] of [
    ["spin", "-V", "apt-get install spin"],
    ["cc", "--version", "apt-get install gcc"],
  ] as const) {
    const { failed } = await run(tool, [flag], import.meta.dirname);
    if (failed) return `${tool} is not on this machine: ${how} to check the models`;
  }
  return null;
}

/** Whether a missing tool is a failure: DROVER_REQUIRE names tools, or `all`. */
export function isRequired(env: Readonly<Record<string, string | undefined>>): boolean {
  const required = (env.DROVER_REQUIRE ?? "").split(/[\s,]+/);
  return required.includes("spin") || required.includes("all");
}

/** Throws where the search could not be made, or was not completed. */
export async function search(check: Check): Promise<Found> {
  const folder = mkdtempSync(join(tmpdir(), "drover-model-"));
  const { formula } = check;
  try {
    const source = join(import.meta.dirname, `${check.model}.pml`);
    const macros = check.defines.map((define) => `-D${define}`);
    await must("spin", ["-a", ...macros, source], folder);
    const kind = formula === null ? ["-DSAFETY", "-DNOCLAIM"] : ["-DNFAIR=4"];
    // But for the longest walks the compiler takes longer than the walk.
    const level = formula !== null && check.without === null ? "-O2" : "-O0";
    const build = [level, "-w", `-DMEMLIM=${MEMORY_MIB_MAX}`, ...kind, "-o", "pan", "pan.c"];
    await must("cc", build, folder);
    const fair = formula === null ? [] : ["-a", "-f", "-N", formula];
    const startedAt = performance.now();
    const { output } = await run("./pan", [`-m${DEPTH_MAX}`, ...fair], folder);
    return foundIn(check, output, (performance.now() - startedAt) / 1_000);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function foundIn(check: Check, output: string, seconds: number): Found {
  const numberAt = (pattern: RegExp): number => Number(pattern.exec(output)?.[1] ?? Number.NaN);
  const errors = numberAt(/errors: (\d+)/);
  const cut = /max search depth too small|reached -DMEMLIM|out of memory/.exec(output)?.[0];
  const result = resultOf(output);
  if (Number.isNaN(errors) || errors > 0 === (result === "holds") || (cut && errors === 0))
    throw new Error(`${check.model}: the search was not completed (${cut ?? "see"}): ${output}`);
  const expected = check.formula === null ? "assertion" : "cycle";
  return {
    ...check,
    result,
    states: numberAt(/(\d+) states, stored/),
    depth: numberAt(/depth reached (\d+)/),
    memoryMib: numberAt(/([\d.]+)\s+total actual memory usage/),
    seconds,
    asExpected: result === (check.without === null ? "holds" : expected),
  };
}

function resultOf(output: string): Found["result"] {
  if (/^pan:\d+: assertion violated/m.test(output)) return "assertion";
  if (/^pan:\d+: invalid end state/m.test(output)) return "deadlock";
  return /^pan:\d+: (?:acceptance|non-progress) cycle/m.test(output) ? "cycle" : "holds";
}

async function must(file: string, args: readonly string[], folder: string): Promise<void> {
  const { failed, output } = await run(file, args, folder);
  if (failed) throw new Error(`${file} ${args.join(" ")} failed: ${output || failed.message}`);
}

interface Ran {
  readonly failed: ExecFileException | null;
  readonly output: string;
}

function run(file: string, args: readonly string[], cwd: string): Promise<Ran> {
  const limits = { cwd, timeout: SECONDS_MAX * 1_000, maxBuffer: OUTPUT_BYTES_MAX };
  return new Promise((resolve) => {
    execFile(file, args, limits, (failed, stdout, stderr) =>
      resolve({ failed, output: stdout + stderr }),
    );
  });
}
