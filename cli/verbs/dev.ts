/** `drover dev`: everything in one process, with an embedded PostgreSQL, for development. */
import type { Command } from "commander";
import { contextOf } from "../context.ts";
import { addDatabaseOptions, type DatabaseOptions, databaseOf } from "../database.ts";
import type { Ended } from "../failure.ts";
import { addLogOption, type LogOptions, logOf } from "../log-options.ts";
import { serve } from "../serve.ts";
import { addSettings, type SettingOptions, settingsOf } from "../settings.ts";
import {
  addTraceLinkOption,
  addTraceOptions,
  type TraceLinkOptions,
  type TraceOptions,
  traceLinkOf,
  traceOf,
} from "../trace-options.ts";

type DevOptions = DatabaseOptions & SettingOptions & TraceOptions & TraceLinkOptions & LogOptions;

export function addDev(program: Command, ended: Ended): void {
  const command = addSettings(addDatabaseOptions(program.command("dev")));
  addLogOption(addTraceLinkOption(addTraceOptions(command)))
    .description("start a server with an embedded PostgreSQL, for development")
    .action(async (options: DevOptions, command: Command) => {
      const next = [
        "drover workflow apply FILE      register a workflow",
        "drover run start NAME --watch   start a run and follow it",
        "drover run list                 list the runs",
      ];
      const database = databaseOf(options);
      // During development, a webhook is often received on the same machine.
      const open = { insecureNoAuth: false, allowLocalWebhooks: true };
      const how = { supervisor: "embedded", settings: settingsOf(options) } as const;
      const traces = { trace: traceOf(options), traceLink: traceLinkOf(options) };
      const log = logOf(options);
      ended(await serve({ database, ...open, ...how, ...traces, log, next }, contextOf(command)));
    });
}
