/**
 * Java and Maven, for tests of sdk/java: whether this machine has them, and how they are run. Where
 * one is missing they are skipped, unless DROVER_REQUIRE names it.
 */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { TestContext } from "vitest";
import { endForLack } from "./required-tools.ts";

export const javaFolder = join(import.meta.dirname, "../../sdk/java");
const outputBytesMax = 16 * 1024 * 1024;

interface Where {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** What it wrote; rejects with all that it wrote if it fails. */
export async function javaTool(
  tool: "mvn" | "java" | "javac",
  args: readonly string[],
  { cwd = javaFolder, env = {} }: Where = {},
): Promise<string> {
  const options = { cwd, env: { ...process.env, ...env }, maxBuffer: outputBytesMax };
  try {
    return (await promisify(execFile)(tool, args, options)).stdout;
  } catch (error) {
    if (!(error instanceof Error && "stdout" in error && "stderr" in error)) throw error;
    throw new Error(`${tool} ${args.join(" ")} failed:\n${error.stdout}${error.stderr}`);
  }
}

/** Asked once in a process: starting Maven takes half a second of CPU. */
let lack: Promise<string | null> | undefined;

/** For `beforeEach`. */
export async function needsJava(context: TestContext): Promise<void> {
  lack ??= missingTool();
  const tool = await lack;
  if (tool !== null)
    endForLack(
      context,
      tool,
      `${tool} is not on this machine: CONTRIBUTING.md says what is needed`,
    );
}

/** Null: both answer. */
async function missingTool(): Promise<string | null> {
  for (const tool of ["java", "mvn"]) {
    try {
      await promisify(execFile)(tool, ["-version"]);
    } catch {
      return tool;
    }
  }
  return null;
}
