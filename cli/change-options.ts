/**
 * The options of verbs by which a person changes something: `--by`, the person, and `--reason`. A
 * verb takes those that its call has a field for.
 */
import { type Command, Option } from "commander";
import { mayProveName, userName } from "./client.ts";
import { connectionOf } from "./context.ts";
import { usageFailure } from "./failure.ts";
import type { GlobalOptions } from "./global-options.ts";

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
      "your name; default: the one that a JWT proves, else DROVER_USER, then USER, not verified",
    );
  if (reason === "optional") command.option("--reason <text>", "the reason", "");
  if (reason === "required")
    command.addOption(new Option("--reason <text>", "the reason").makeOptionMandatory());
  return command;
}

/**
 * The person who changes something; "": the one that the call proves. Throws CliFailure if neither
 * option nor environment has it.
 */
export function personOf({ by }: ByOptions, command: Command): string {
  if (by !== undefined) return by;
  const connection = connectionOf(command.optsWithGlobals<GlobalOptions>());
  const name = userName(connection);
  if (name !== "" || mayProveName(connection)) return name;
  throw usageFailure("it is unknown who you are", "--by NAME, or set DROVER_USER");
}
