/**
 * The server's log level: `--log info` or DROVER_LOG=info. On a terminal lines are formatted for
 * people, elsewhere they are JSON.
 */
import type { LogConfig, LogLevel } from "@drover/server/config.ts";
import { LOG_DEFAULTS } from "@drover/server/config.ts";
import { type Command, Option } from "commander";

export interface LogOptions {
  readonly log: LogLevel;
}

const LEVELS = ["debug", "info", "warn", "error", "silent"] satisfies LogLevel[];

export function addLogOption(command: Command): Command {
  return command.addOption(
    new Option("--log <level>", "info: what happens to each run, a line each")
      .choices(LEVELS)
      .env("DROVER_LOG")
      .default(LOG_DEFAULTS.level),
  );
}

export function logOf({ log: level }: LogOptions): LogConfig {
  return { level, pretty: process.stderr.isTTY };
}
