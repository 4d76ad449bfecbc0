/**
 * Thresholds of the watches as options of a server: `--slow-factor 2` or DROVER_SLOW_FACTOR=2. What
 * they are, and what they may be, is a table of the server.
 */
import {
  SUPERVISOR_DEFAULTS,
  SUPERVISOR_SETTING_NAMES,
  SUPERVISOR_SETTINGS,
  type SupervisorConfig,
  type SupervisorSetting,
  supervisorConfig,
} from "@drover/server/config.ts";
import { type Command, InvalidArgumentError, Option } from "commander";
import { parseDuration } from "./context.ts";
import { CliFailure, exitCodes } from "./failure.ts";
import { durationWords } from "./words.ts";

/** Options by the name that commander gives them. */
export type SettingOptions = Readonly<Record<string, unknown>>;

export function addSettings(command: Command): Command {
  for (const name of SUPERVISOR_SETTING_NAMES) command.addOption(optionOf(name));
  return command;
}

/** Throws CliFailure for one that is out of its bounds. */
export function settingsOf(options: SettingOptions): SupervisorConfig {
  const given = SUPERVISOR_SETTING_NAMES.flatMap((name) => {
    const value = options[optionOf(name).attributeName()];
    return typeof value === "number" ? [[name, value] as const] : [];
  });
  try {
    return supervisorConfig(Object.fromEntries(given));
  } catch (error) {
    throw new CliFailure(error instanceof Error ? error.message : String(error), {
      code: exitCodes.usage,
      next: "drover server --help lists the settings",
    });
  }
}

function optionOf(name: SupervisorSetting): Option {
  const { flag, unit, why } = SUPERVISOR_SETTINGS[name];
  const isDuration = unit === "ms";
  const byDefault = SUPERVISOR_DEFAULTS[name];
  return new Option(
    `--${flag} <${isDuration ? "duration" : "number"}>`,
    `${why} (default ${isDuration ? durationWords(byDefault) : byDefault})`,
  )
    .env(`DROVER_${flag.toUpperCase().replaceAll("-", "_")}`)
    .argParser(isDuration ? parseDuration : parseNumber);
}

function parseNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value))
    throw new InvalidArgumentError("Numbers are written as 2 or 1.5.");
  return value;
}
