/** `drover server`: the server for real work, on the PostgreSQL of DATABASE_URL. */
import { type Command, Option } from "commander";
import { contextOf } from "../context.ts";
import { addDatabaseOptions, type DatabaseOptions, databaseOf } from "../database.ts";
import type { Ended } from "../failure.ts";
import { addLogOption, type LogOptions, logOf } from "../log-options.ts";
import { serve } from "../serve.ts";
import {
  addCircuitSettings,
  addSettings,
  circuitsOf,
  type SettingOptions,
  settingsOf,
} from "../settings.ts";
import { addTraceOptions, type TraceOptions, traceOf } from "../trace-options.ts";

interface ServerOptions extends DatabaseOptions, SettingOptions, TraceOptions, LogOptions {
  readonly insecureNoAuth?: boolean;
  readonly allowLocalWebhooks?: boolean;
  readonly supervisor: "embedded" | "none";
}

export function addServer(program: Command, ended: Ended): void {
  const command = addSettings(addDatabaseOptions(program.command("server")));
  addLogOption(addTraceOptions(addCircuitSettings(command)))
    .description("start a server on the PostgreSQL of DATABASE_URL")
    .option("--insecure-no-auth", "listen on other addresses than loopback, open to everyone")
    .option("--allow-local-webhooks", "send webhooks to this machine and its link, too")
    .addOption(
      new Option("--supervisor <where>", "embedded: watches too; none: drover supervisor does")
        .choices(["embedded", "none"])
        .env("DROVER_SUPERVISOR")
        .default("embedded"),
    )
    .action(async (options: ServerOptions, command: Command) => {
      const context = contextOf(command);
      const database = databaseOf(options);
      if (database.kind === "embedded")
        context.output.note(
          "DATABASE_URL is not set: uses an embedded PostgreSQL, like drover dev. Set it for real work",
        );
      const insecureNoAuth = options.insecureNoAuth ?? false;
      const allowLocalWebhooks = options.allowLocalWebhooks ?? false;
      const { supervisor } = options;
      const open = { insecureNoAuth, allowLocalWebhooks, supervisor };
      const next = ["drover run list"];
      const [trace, log] = [traceOf(options), logOf(options)];
      const tuned = { settings: settingsOf(options), circuits: circuitsOf(options), trace, log };
      ended(await serve({ database, ...open, ...tuned, next }, context));
    });
}
