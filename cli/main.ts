/**
 * One run of the command line: from arguments to an exit code, with every error told in one way.
 */
import { readFileSync } from "node:fs";
import { CommanderError } from "commander";
import type { GlobalOptions } from "./context.ts";
import { type CliFailure, exitCodes, failureOf } from "./failure.ts";
import { createProgram } from "./program.ts";
import { clean } from "./words.ts";

export async function main(args: readonly string[]): Promise<void> {
  process.stdout.on("error", endQuietly);
  const program = createProgram(readVersion(), (code) => {
    process.exitCode = code;
  });
  try {
    // `run start --version 2` is about a workflow, so that only a lone --version asks for ours.
    await program.parseAsync(args.length === 1 && args[0] === "--version" ? ["-V"] : args, {
      from: "user",
    });
  } catch (error) {
    // Help or version was printed; help also where a noun came without verb, which is a mistake.
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
      return;
    }
    const failure = failureOf(error, program.opts<GlobalOptions>().address);
    process.stderr.write(failureText(failure));
    if (process.env.DROVER_DEBUG) console.error(error);
    process.exitCode = failure.code;
  }
}

function failureText({ message, fields, next }: CliFailure): string {
  // A lone field that the sentence repeats would be told twice.
  const told = fields.length === 1 && fields.every((field) => message.includes(field.message));
  const lines = told ? [] : fields.map(({ path, message: of }) => `  ${clean(path)}: ${clean(of)}`);
  return [`drover: ${clean(message)}`, ...lines, `  next: ${next}`, ""].join("\n");
}

/** Whoever read our output has gone, as `head` does when it has enough. */
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
