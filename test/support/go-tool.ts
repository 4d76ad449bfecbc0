/**
 * The go command, for tests of sdk/go: whether this machine has it, and how it is run. Where it is
 * missing they are skipped, unless DROVER_REQUIRE names it.
 */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { TestContext } from "vitest";
import { endForLack } from "./required-tools.ts";

export const goFolder = join(import.meta.dirname, "../../sdk/go");
const why = "go is not on this machine: see CONTRIBUTING.md for where it comes from";
const outputBytesMax = 16 * 1024 * 1024;

/** What it wrote; rejects with all that it wrote if it fails. */
export async function go(
  args: readonly string[],
  { cwd = goFolder, env = {} }: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<string> {
  const options = { cwd, env: { ...process.env, ...env }, maxBuffer: outputBytesMax };
  try {
    return (await promisify(execFile)("go", args, options)).stdout;
  } catch (error) {
    if (!(error instanceof Error && "stdout" in error && "stderr" in error)) throw error;
    throw new Error(`go ${args.join(" ")} failed:\n${error.stdout}${error.stderr}`);
  }
}

/** For `beforeEach`. */
export async function needsGo(context: TestContext): Promise<void> {
  try {
    await promisify(execFile)("go", ["version"]);
  } catch {
    endForLack(context, "go", why);
  }
}
