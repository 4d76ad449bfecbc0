/**
 * Thresholds as options of a server: `--slow-factor 2` or DROVER_SLOW_FACTOR=2. Their names and
 * bounds come from tables of the server.
 */
import {
  CIRCUIT_SETTING_NAMES,
  CIRCUIT_SETTINGS,
  type CircuitConfig,
  circuitConfig,
  type Setting,
  SUPERVISOR_SETTING_NAMES,
  SUPERVISOR_SETTINGS,
  type SupervisorConfig,
  supervisorConfig,
} from "@drover/server/config.ts";
import { errorMessage } from "@drover/server/errors.ts";
import {
  API_LIMIT_SETTING_NAMES,
  API_LIMIT_SETTINGS,
  type ApiLimitConfig,
  apiLimitConfig,
} from "@drover/server/rpc-config.ts";
import { type Command, InvalidArgumentError, Option } from "commander";
import { parseDuration } from "./context.ts";
import { CliFailure, exitCodes } from "./failure.ts";
import { durationWords } from "./words.ts";

/** Options by the name that commander gives them. */
export type SettingOptions = Readonly<Record<string, unknown>>;

export function addSettings(command: Command): Command {
  for (const name of SUPERVISOR_SETTING_NAMES)
    command.addOption(optionOf(SUPERVISOR_SETTINGS[name]));
  return command;
}

export function addCircuitSettings(command: Command): Command {
  for (const name of CIRCUIT_SETTING_NAMES) command.addOption(optionOf(CIRCUIT_SETTINGS[name]));
  return command;
}

/** Throws CliFailure for a value that is out of its bounds. */
export function settingsOf(options: SettingOptions): SupervisorConfig {
  return checked(() =>
    supervisorConfig(given(SUPERVISOR_SETTING_NAMES, SUPERVISOR_SETTINGS, options)),
  );
}

export function addEdgeSettings(command: Command): Command {
  for (const name of API_LIMIT_SETTING_NAMES) command.addOption(optionOf(API_LIMIT_SETTINGS[name]));
  return command;
}

/** Throws CliFailure for a value that is out of its bounds. */
export function edgeOf(options: SettingOptions): Partial<ApiLimitConfig> {
  return checked(() => apiLimitConfig(given(API_LIMIT_SETTING_NAMES, API_LIMIT_SETTINGS, options)));
}

/** Throws CliFailure for a value that is out of its bounds. */
export function circuitsOf(options: SettingOptions): CircuitConfig {
  return checked(() => circuitConfig(given(CIRCUIT_SETTING_NAMES, CIRCUIT_SETTINGS, options)));
}

function given<Name extends string>(
  names: readonly Name[],
  settings: Readonly<Record<Name, Setting>>,
  options: SettingOptions,
): Partial<Record<Name, number>> {
  const given: Partial<Record<Name, number>> = {};
  for (const name of names) {
    const value = options[optionOf(settings[name]).attributeName()];
    if (typeof value === "number") given[name] = value;
  }
  return given;
}

function checked<Config>(config: () => Config): Config {
  try {
    return config();
  } catch (error) {
    throw new CliFailure(errorMessage(error), {
      code: exitCodes.usage,
      next: "drover server --help lists the settings",
    });
  }
}

const UNITS: Readonly<Record<Setting["unit"], string>> = Object.freeze({
  ms: "duration",
  count: "number",
  factor: "number",
  share: "percent",
});

function optionOf({ flag, unit, byDefault, why }: Setting): Option {
  return (
    new Option(`--${flag} <${UNITS[unit]}>`, `${why} (default ${shown(unit, byDefault)})`)
      // An option that is not set stays undefined: the server has the default.
      .default(undefined, shown(unit, byDefault))
      .env(`DROVER_${flag.toUpperCase().replaceAll("-", "_")}`)
      .argParser(unit === "ms" ? parseDuration : unit === "share" ? parsePercent : parseNumber)
  );
}

function shown(unit: Setting["unit"], value: number): string {
  if (unit === "ms") return durationWords(value);
  return String(unit === "share" ? value * 100 : value);
}

function parsePercent(text: string): number {
  return parseNumber(text) / 100;
}

function parseNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value))
    throw new InvalidArgumentError("Numbers are written as 2 or 1.5.");
  return value;
}
