/**
 * Settings of the command line: options that may also be set in the environment or in one YAML
 * file; the file is the weakest of the three.
 *
 *     --slow-factor 3  >  DROVER_SLOW_FACTOR=3  >  slow-factor: 3 in the file  >  the default
 *
 * The file is named by --config or DROVER_CONFIG; otherwise it is drover.yaml in the current
 * folder, if it exists. Its keys are the names of the options; an unknown key is an error.
 */
import { existsSync, readFileSync } from "node:fs";
import { suggestion } from "@drover/server/definition-text/problems.ts";
import { errorMessage } from "@drover/server/errors.ts";
import { type Command, InvalidArgumentError, type Option } from "commander";
import { isMap, isScalar, LineCounter, parseDocument } from "yaml";
import { type CliFailure, usageFailure } from "./failure.ts";
import { defaultConfigFile, type GlobalOptions } from "./global-options.ts";
import { clean } from "./words.ts";

const variablePrefix = "DROVER_";
/** Environment variables of Drover that are not settings. */
const otherVariables = ["DROVER_DEBUG", "DROVER_REQUIRE", "DROVER_USER"];

/** By name, as `slow-factor`: every option of the program that can be set in the environment. */
export function settingsOfProgram(program: Command): ReadonlyMap<string, Option> {
  const found = new Map<string, Option>();
  const collect = (command: Command) => {
    for (const option of command.options)
      if (option.envVar !== undefined && option.long && option.attributeName() !== "config")
        found.set(option.long.slice(2), found.get(option.long.slice(2)) ?? option);
    for (const child of command.commands) collect(child);
  };
  collect(program);
  return found;
}

/**
 * Sets options of a verb and of the commands above it from the file, unless a flag or the
 * environment sets them. `whole` is the program with all its verbs, since the file may have
 * settings of other verbs, too.
 */
export function applyConfig(
  verb: Command,
  { program, whole }: { readonly program: Command; readonly whole: Command },
): void {
  const given = readConfig(program.opts<GlobalOptions>().config, whole);
  if (given === null) return;
  for (let command: Command | null = verb; command !== null; command = command.parent)
    for (const option of command.options) take(command, option, given);
}

interface Config {
  readonly file: string;
  readonly values: ReadonlyMap<string, string>;
}

function take(command: Command, option: Option, { file, values }: Config): void {
  const text = values.get(option.long?.slice(2) ?? "");
  const key = option.attributeName();
  const source = command.getOptionValueSource(key);
  if (text === undefined || (source !== undefined && source !== "default")) return;
  command.setOptionValueWithSource(key, parsed(option, text, file), "config");
}

function parsed(option: Option, text: string, file: string): unknown {
  try {
    return option.parseArg ? option.parseArg(text, undefined) : text;
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    throw refusal(
      file,
      `${option.long?.slice(2)}: "${clean(text)}" is not allowed. ${error.message}`,
    );
  }
}

/** null: there is no file. */
export function readConfig(named: string | undefined, program: Command): Config | null {
  if (named === undefined && !existsSync(defaultConfigFile)) return null;
  const file = named ?? defaultConfigFile;
  const known = [...settingsOfProgram(program).keys()];
  const lines = new LineCounter();
  const document = parseDocument(textOf(file), { lineCounter: lines });
  const [problem] = document.errors;
  if (problem) throw refusal(file, problem.message.split("\n")[0] ?? "is not YAML");
  const values = new Map<string, string>();
  if (document.contents === null) return { file, values };
  if (!isMap(document.contents))
    throw refusal(file, "it must contain settings, as `address: HOST:PORT`");
  for (const { key, value } of document.contents.items) {
    const name = isScalar(key) ? String(key.value) : "";
    const line = isScalar(key) && key.range ? lines.linePos(key.range[0]).line : 1;
    const position = `${file}:${line}`;
    if (!known.includes(name))
      throw refusal(position, `there is no setting "${clean(name)}": ${suggestion(name, known)}`);
    if (!isScalar(value) || value.value === null)
      throw refusal(position, `${name} must be one text or number`);
    values.set(name, String(value.value));
  }
  return { file, values };
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const why = clean(errorMessage(error));
    throw usageFailure(`cannot read the settings: ${why}`, "--config FILE names another file");
  }
}

function refusal(position: string, message: string): CliFailure {
  return usageFailure(
    `${clean(position)}: ${message}`,
    "correct the file; drover config show lists the settings; --config FILE names another file",
  );
}

/** Environment variables that look like settings but are none, each with a suggestion. */
export function unknownVariables(
  environment: Readonly<Record<string, string | undefined>>,
  settings: ReadonlyMap<string, Option>,
): readonly string[] {
  const known = [...settings.values()].flatMap(({ envVar }) => envVar ?? []);
  const all = [...known, "DROVER_CONFIG", ...otherVariables];
  return Object.keys(environment)
    .filter((name) => name.startsWith(variablePrefix) && !all.includes(name))
    .map((name) => `${clean(name)} is not a setting: ${suggestion(name, all)}`);
}
