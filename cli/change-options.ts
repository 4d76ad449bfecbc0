/**
 * The options of verbs by which a person changes something: `--by`, the person, and `--reason`. A
 * verb takes those that its call has a field for.
 */
import { type Command, Option } from "commander";
import { usageFailure } from "./failure.ts";

export interface ReasonOptions {
  /** Empty: none was given. */
  readonly reason: string;
}

export interface ByOptions {
  readonly by?: string;
}

interface Taken {
  readonly by?: true;
  readonly reason?: "optional" | "required";
}

export function addChangeOptions(command: Command, { by, reason }: Taken): Command {
  if (by)
    command.option(
      "--by <name>",
      "your name, which the server does not verify; default: DROVER_USER, then USER",
    );
  if (reason === "optional") command.option("--reason <text>", "the reason", "");
  if (reason === "required")
    command.addOption(new Option("--reason <text>", "the reason").makeOptionMandatory());
  return command;
}

/** The person who changes something. Throws CliFailure if neither option nor environment has it. */
export function personOf({ by }: ByOptions): string {
  const name = by ?? (process.env.DROVER_USER || process.env.USER);
  if (name) return name;
  throw usageFailure("it is unknown who you are", "--by NAME, or set DROVER_USER");
}
