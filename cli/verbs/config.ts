/** `drover config show`: every setting with its effective value and its source. */
import { type Command, Option } from "commander";
import { readConfig, settingsOfProgram, unknownVariables } from "../config-file.ts";
import { contextOf } from "../context.ts";
import { type Ended, exitCodes } from "../failure.ts";
import type { GlobalOptions } from "../global-options.ts";
import { printTable } from "../table.ts";
import { clean, durationWords } from "../words.ts";

export interface ShownSetting {
  readonly setting: string;
  readonly value: string;
  readonly source: "flag" | "environment" | "context" | "file" | "default";
  /** The flag, the variable, the context or the file. */
  readonly from: string;
}

/** Called after all other verbs: it takes the options of each, so that flags are shown as well. */
export function addConfigVerbs(program: Command, ended: Ended): void {
  const settings = settingsOfProgram(program);
  const show = program
    .command("config")
    .description("settings: effective values and their sources")
    .command("show")
    .description(
      "list every setting with its value and its source: flag, environment, context, file or default",
    );
  for (const option of settings.values())
    if (!program.options.includes(option)) show.addOption(hidden(option));
  show.action((_options: unknown, command: Command) => {
    const { output } = contextOf(command);
    const file = readConfig(program.opts<GlobalOptions>().config, program)?.file ?? "";
    const values = [...settings].map(([name, option]) => shownSetting(name, option, command, file));
    if (output.format === "jsonl") for (const one of values) output.value({ ...one });
    else output.value({ file, settings: values.map((one) => ({ ...one })) });
    const rows = values.map(({ setting, value, source, from }) => [
      setting,
      clean(value),
      source === "default" ? output.paint("dim", source) : `${source} ${clean(from)}`,
    ]);
    if (output.format === "table") printTable(output, ["SETTING", "VALUE", "FROM"], rows);
    for (const line of unknownVariables(process.env, settings)) output.note(line);
    output.note(
      file === "" ? "no file: drover.yaml here, or --config FILE" : `file ${clean(file)}`,
    );
    ended(exitCodes.done);
  });
}

/** These options are accepted here, and documented at their own verbs. */
function hidden(option: Option): Option {
  const taken = new Option(option.flags, option.description).env(option.envVar ?? "").hideHelp();
  taken.default(option.defaultValue, option.defaultValueDescription);
  if (option.parseArg) taken.argParser(option.parseArg);
  return taken;
}

function shownSetting(name: string, option: Option, command: Command, file: string): ShownSetting {
  const key = option.attributeName();
  const value: unknown = command.optsWithGlobals()[key];
  const words = valueWords(value, option);
  const isSecret = name === "token" && words !== "";
  const base = { setting: name, value: isSecret ? "***" : masked(words) };
  switch (command.getOptionValueSourceWithGlobals(key)) {
    case "cli":
      return { ...base, source: "flag", from: option.long ?? name };
    case "env":
      return { ...base, source: "environment", from: option.envVar ?? "" };
    case "config":
      return { ...base, source: "file", from: file };
    case "context":
      return {
        ...base,
        source: "context",
        from: command.optsWithGlobals<GlobalOptions>().context ?? "",
      };
    default:
      return { ...base, source: "default", from: "" };
  }
}

/** As it is typed; a default that only a server knows is shown by its description. */
function valueWords(value: unknown, { defaultValueDescription, flags }: Option): string {
  if (value === undefined) return defaultValueDescription ?? "";
  if (typeof value !== "number") return String(value);
  if (flags.includes("<duration>")) return durationWords(value);
  return String(flags.includes("<percent>") ? value * 100 : value);
}

/** Hides passwords in addresses: that of the user, and parameters like `password` and `token`. */
export function masked(value: string): string {
  return value
    .replace(/^([a-z][a-z0-9+.-]*:\/\/[^/?#@]*?:)[^/?#]*@/i, "$1***@")
    .replaceAll(/([?&](?:password|sslpassword|token)=)[^&#]*/gi, "$1***");
}
