/**
 * docs/reference/SETTINGS.md: every setting of the command and of a server, as option, variable and
 * key of the file, with its unit, default and range.
 */
import type { Command, Option } from "commander";
import { settingsOfProgram } from "../cli/config-file.ts";
import { createProgram } from "../cli/program.ts";
import { CIRCUIT_SETTINGS, type Setting, SUPERVISOR_SETTINGS } from "../server/config.ts";
import { API_LIMIT_SETTINGS } from "../server/rpc-config.ts";
import { words } from "./duration-words.ts";
import { cellText, codeCell, markdownTable } from "./markdown-text.ts";

type Table = Readonly<Record<string, Setting>>;

/** Settings with a range, by what they are about. */
const TABLES: readonly (readonly [heading: string, about: string, settings: Table])[] = [
  [
    "Supervision",
    "What a supervisor waits for before it acts. [Detection](../DETECTION.md) says how to choose.",
    SUPERVISOR_SETTINGS,
  ],
  [
    "Circuit breakers",
    "When a circuit opens, and for how long: [circuit breakers](../CIRCUITS.md).",
    CIRCUIT_SETTINGS,
  ],
  [
    "Limits of the API",
    "How many calls and connections a server takes. [Namespaces](../NAMESPACES.md) have limits of their own.",
    API_LIMIT_SETTINGS,
  ],
];

export async function settingsPage(): Promise<string> {
  const program = await createProgram("0", () => undefined);
  const all = [...settingsOfProgram(program).values()];
  const ranged = new Set(TABLES.flatMap(([, , of]) => Object.values(of).map(({ flag }) => flag)));
  const isGlobal = (option: Option) => program.options.includes(option);
  const others = all.filter((option) => !isGlobal(option) && !ranged.has(nameOf(option)));
  return `${[
    HEAD,
    "## Every command",
    plainTable(all.filter(isGlobal), program),
    "## Server",
    "The database, the access, TLS, the identity provider, traces and logs. Some commands that work on the database take some of these settings, too.",
    plainTable(others, program),
    ...TABLES.flatMap(([heading, about, of]) => [`## ${heading}`, about, rangedTable(of, all)]),
    OTHERS,
  ].join("\n\n")}\n`;
}

const HEAD = `# Settings

<!-- Made by \`node docs/generate.ts\` from cli/ and server/: change that, not this page. -->

This page lists every setting. Each is an option of a command, an environment variable, and a key of \`drover.yaml\` (or of the file that \`--config\` or \`DROVER_CONFIG\` names); the key is the option without its dashes. The option wins over the variable, the variable over the file, the file over the default. \`drover config show\` prints what applies, and from where it comes.

A duration is written as \`500ms\`, \`30s\`, \`5m\`, \`2h\` or \`7d\`. A switch is \`yes\` or \`no\`. A value out of its range ends the command with exit code 2.`;

const OTHERS = `## Other variables

These variables are no settings, and have no option or key.

| variable | meaning |
| --- | --- |
| \`DROVER_USER\` | your name for changes, where no \`--by\` is given and no JWT proves one; the default is \`USER\` |
| \`DROVER_DEBUG\` | any value: an error of the command is printed with its stack |
| \`NO_COLOR\` | any value: no colours |
| \`XDG_CONFIG_HOME\` | where the contexts of \`drover context\` are; the default is \`~/.config\` |

The SDKs read \`DROVER_TOKEN\`; everything else is an argument of theirs: [TypeScript](../../sdk/typescript/README.md), [Python](../../sdk/python/README.md), [Go](../../sdk/go/README.md).`;

function plainTable(options: readonly Option[], program: Command): string {
  const rows = options.map((option) => [
    nameCell(option),
    defaultOf(option),
    takenBy(option, program),
    cellText([option.description, choicesOf(option)].filter(Boolean).join("; ")),
  ]);
  return markdownTable(["option and variable", "default", "commands", "meaning"], rows);
}

function rangedTable(settings: Table, all: readonly Option[]): string {
  const rows = Object.values(settings).map(({ flag, unit, byDefault, least, most, why }) => {
    const option = all.find((one) => nameOf(one) === flag);
    if (!option) throw new Error(`no command takes --${flag}`);
    return [
      nameCell(option),
      valueWords(unit, byDefault),
      `${valueWords(unit, least)} to ${valueWords(unit, most)}`,
      cellText(why),
    ];
  });
  return markdownTable(["option and variable", "default", "range", "meaning"], rows);
}

function nameCell({ flags, envVar = "" }: Option): string {
  return `${codeCell(flags)}<br>${codeCell(envVar)}`;
}

function valueWords(unit: Setting["unit"], value: number): string {
  if (unit === "ms") return words(value);
  if (unit === "share") return `${value * 100} %`;
  return value.toLocaleString("en");
}

function nameOf({ long }: Option): string {
  return long?.replace(/^--/, "") ?? "";
}

function defaultOf({ defaultValue, defaultValueDescription }: Option): string {
  const value: unknown = defaultValueDescription ?? defaultValue;
  if (value === undefined) return "";
  return value === false ? "no" : codeCell(String(value));
}

function choicesOf({ argChoices }: Option): string {
  return argChoices ? `one of ${argChoices.map((one) => `\`${one}\``).join(", ")}` : "";
}

/** "": all of them. */
function takenBy(option: Option, program: Command): string {
  if (program.options.includes(option)) return "all";
  const names: string[] = [];
  const visit = (command: Command, parents: readonly string[]): void => {
    const path = [...parents, command.name()];
    if (command.options.some((one) => one.long === option.long && one.envVar !== undefined))
      names.push(`\`${path.join(" ")}\``);
    for (const child of command.commands) visit(child, path);
  };
  for (const command of program.commands) visit(command, []);
  return names.join(", ");
}
