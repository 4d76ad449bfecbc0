/**
 * One execution of the command line: from arguments to an exit code; every error is reported in one
 * way.
 */
import { readFileSync } from "node:fs";
import { CommanderError } from "commander";
import { type Ended, exitCodes } from "./failure.ts";
import type { GlobalOptions } from "./global-options.ts";
import { createProgram } from "./program.ts";

export async function main(args: readonly string[]): Promise<void> {
  process.stdout.on("error", endQuietly);
  await run(args, (code) => {
    process.exitCode = code;
  });
}

/**
 * Reports its result through `ended` only; a verb that watches something has ended when it returns.
 */
export async function run(args: readonly string[], ended: Ended): Promise<void> {
  const program = await createProgram(readVersion(), ended, args);
  try {
    // `run start --version 2` names a workflow version, so only a lone --version means Drover's
    // own.
    await program.parseAsync(args.length === 1 && args[0] === "--version" ? ["-V"] : args, {
      from: "user",
    });
  } catch (error) {
    // Help or the version was printed. For a noun without a verb help is printed, too, but that is
    // a mistake.
    if (error instanceof CommanderError) {
      ended(error.exitCode === 0 ? exitCodes.done : exitCodes.usage);
      return;
    }
    const { failureOf, failureText } = await import("./failure-of.ts");
    const failure = failureOf(error, program.opts<GlobalOptions>().address);
    process.stderr.write(failureText(failure));
    if (process.env.DROVER_DEBUG) console.error(error);
    ended(failure.code);
  }
}

/** The reader of the output has closed the pipe, as `head` does when it has enough. */
function endQuietly(error: Error): void {
  if ("code" in error && error.code === "EPIPE") process.exit();
  throw error;
}

function readVersion(): string {
  const text = readFileSync(new URL("package.json", import.meta.url), "utf8");
  const parsed: unknown = JSON.parse(text);
  const known = typeof parsed === "object" && parsed !== null && "version" in parsed;
  return known ? String(parsed.version) : "unknown";
}
