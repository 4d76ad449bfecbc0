/** docs/CLI.md: the command line as a page, one heading for each verb. */
import type { Argument, Command, Option } from "commander";
import { EXAMPLES } from "../cli/examples.ts";
import { createProgram } from "../cli/program.ts";

export async function cliPage(): Promise<string> {
  const program = await createProgram("0", () => undefined);
  const nouns = program.commands.filter(isDocumented);
  const names = nouns.map((noun) => `[${noun.name()}](#drover-${noun.name()})`).join(" · ");
  const global = optionTable(program.options);
  return [HEAD, names, "## Global options", global, ...nouns.map((noun) => nounPart(noun))].join(
    "\n\n",
  );
}

const HEAD = `# The command line

<!-- Made by \`node docs/generate.ts\` from cli/: change that, not this page. -->

This page lists every command with its arguments, options and examples. With it you can look up how to call \`drover\` and what an exit code means.

A command has the form \`drover NOUN VERB\`; the noun may be plural (\`drover runs list\`). It writes data to standard output, in the format that \`-o\` names, and messages to standard error. \`drover completion bash|zsh|fish\` prints a completion script for the shell.

On a terminal, lists show ages (\`3m\`, \`2h\`) and cut their widest columns until they fit; names that other commands take are never cut. In a pipe and with \`-o wide\` all texts are whole, and times are absolute. The history of a run has absolute times everywhere. \`-o name\` prints the name of each item on a line, as other commands take it: \`drover run list --state failed -o name | xargs -n 1 drover run retry\`.

| exit code | meaning |
| --- | --- |
| 0 | done |
| 1 | the run failed, or the request was refused |
| 2 | wrong usage |
| 3 | cannot connect |
| 4 | not found |
| 5 | only a person can move the run, by an answer or an approval (\`run start --wait\`, \`run watch --until-person\`) |

A setting comes from the first source that has it: the option, the environment, the context (address, namespace and token only; for commands that call a server), the file \`drover.yaml\` (or \`--config FILE\`), the default. \`drover config show\` shows which one applies.

A context is a server by name: its address, its namespace, and the file or the environment variable that has its token. Contexts are in \`$XDG_CONFIG_HOME/drover/contexts.json\`, else in \`~/.config/drover/contexts.json\`, which only the user may read; the token itself is never in it. \`drover context use NAME\` chooses the one for all commands, \`--context NAME\` or \`DROVER_CONTEXT\` the one for a command.`;

/** The command of the completion scripts is not for people; `drover run complete` is. */
function isDocumented(command: Command): boolean {
  return command.name() !== "complete" || command.parent?.parent !== null;
}

function nounPart(noun: Command): string {
  const name = `drover ${noun.name()}`;
  const verbs = noun.commands.filter(isDocumented);
  if (verbs.length === 0) return verbPart(noun, name, "##");
  const own = EXAMPLES[noun.name()]
    ? [verbPart(noun, name, "##")]
    : [`## ${name}`, noun.description()];
  return [...own, ...verbsPart(verbs, name)].join("\n\n");
}

function verbsPart(verbs: readonly Command[], under: string): readonly string[] {
  return verbs.flatMap((verb) => {
    const name = `${under} ${verb.name()}`;
    const more = verb.commands.filter(isDocumented);
    return more.length === 0 ? [verbPart(verb, name, "###")] : verbsPart(more, name);
  });
}

function verbPart(verb: Command, name: string, heading: string): string {
  const usage = [name, ...verb.registeredArguments.map(argumentWord)].join(" ");
  const examples = EXAMPLES[name.replace(/^drover /, "")] ?? [];
  const parts = [
    `${heading} ${name}`,
    `\`${usage}\`: ${verb.description()}.`,
    argumentTable(verb.registeredArguments),
    optionTable(verb.options),
    examples.length === 0 ? "" : ["```sh", ...examples, "```"].join("\n"),
  ];
  return parts.filter((part) => part !== "").join("\n\n");
}

function argumentWord(argument: Argument): string {
  const word = argument.variadic ? `${argument.name()}...` : argument.name();
  return argument.required ? `<${word}>` : `[${word}]`;
}

function argumentTable(args: readonly Argument[]): string {
  const rows = args.map((argument) => `| \`${argument.name()}\` | ${cell(argument.description)} |`);
  return rows.length === 0 ? "" : ["| argument | |", "| --- | --- |", ...rows].join("\n");
}

function optionTable(options: readonly Option[]): string {
  const rows = options
    .filter(({ hidden }) => !hidden)
    .map((option) => {
      const { flags, description, envVar, argChoices } = option;
      const choices = argChoices ? [`one of ${argChoices.map(code).join(", ")}`] : [];
      const fallback = description.includes("(default ") ? "" : defaultOf(option);
      const more = [...choices, ...(fallback ? [`default ${fallback}`] : [])];
      const text = [description, ...more].filter((part) => part !== "").join("; ");
      return `| \`${cell(flags)}\` | ${cell(text)} | ${envVar ? code(envVar) : ""} |`;
    });
  if (rows.length === 0) return "";
  return ["| option | | environment |", "| --- | --- | --- |", ...rows].join("\n");
}

function defaultOf({ defaultValue, defaultValueDescription }: Option): string {
  if (defaultValueDescription !== undefined) return defaultValueDescription;
  const value: unknown = defaultValue;
  if (typeof value === "string" && value !== "") return code(value);
  return typeof value === "number" ? String(value) : "";
}

function code(text: string): string {
  return `\`${text}\``;
}

/** A bar would end the cell, and a tag would be none. */
function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("\n", " ");
}
