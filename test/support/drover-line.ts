// Whether the command line takes a line, by its own tree of commands: nothing is run.
import type { Command } from "commander";
import { EXAMPLES } from "../../cli/examples.ts";
import { createProgram } from "../../cli/program.ts";
import { errorMessage } from "../../server/errors.ts";

/** What is wrong with the words after `drover`; null: a command takes them. */
export async function problemOfLine(words: readonly string[]): Promise<string | null> {
  const program = await createProgram("0", () => undefined);
  let command: Command = program;
  let rest: readonly string[] = words;
  try {
    for (;;) {
      const { operands, unknown } = command.parseOptions([...rest]);
      const [name = "", ...others] = operands;
      const verb = command.commands.find(
        (one) => one.name() === name || one.aliases().includes(name),
      );
      if (!verb) return leafProblem(command, operands, unknown);
      command = verb;
      rest = [...others, ...unknown];
    }
  } catch (error) {
    return errorMessage(error);
  }
}

function leafProblem(command: Command, operands: readonly string[], unknown: readonly string[]) {
  const [option] = unknown;
  if (option === "--help" || option === "-h") return null;
  if (option !== undefined) return `${command.name()} has no option ${option}`;
  // A noun with examples of its own is a command, too: drover supervisor.
  if (command.commands.length > 0 && !EXAMPLES[command.name()])
    return `${command.name()} has no verb ${operands[0] ?? "(none is given)"}`;
  const args = command.registeredArguments;
  const least = args.filter(({ required }) => required).length;
  const most = args.some(({ variadic }) => variadic) ? Infinity : args.length;
  if (operands.length < least || operands.length > most)
    return `${command.name()} takes ${least} to ${most} arguments, and gets ${operands.join(" ")}`;
  const missing = command.options.find(
    (one) => one.mandatory && command.getOptionValue(one.attributeName()) === undefined,
  );
  return missing ? `${command.name()} needs ${missing.long}` : null;
}
