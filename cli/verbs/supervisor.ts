/** `drover supervisor`: a supervisor process that takes no calls, beside servers that do. */
import type { Command } from "commander";
import { contextOf } from "../context.ts";
import {
  addDatabaseOptions,
  addMigrateOption,
  type DatabaseOptions,
  databaseOf,
  type MigrateOptions,
} from "../database.ts";
import type { Ended } from "../failure.ts";
import { addLogOption, type LogOptions, logOf } from "../log-options.ts";
import { supervise } from "../serve.ts";
import {
  addCircuitSettings,
  addSettings,
  circuitsOf,
  type SettingOptions,
  settingsOf,
} from "../settings.ts";
import { addTlsOptions, type TlsOptions, tlsOf } from "../tls-options.ts";
import { addTraceOptions, type TraceOptions, traceOf } from "../trace-options.ts";
import { addSupervisorVerbs } from "./partition.ts";

interface SupervisorOptions
  extends DatabaseOptions,
    MigrateOptions,
    SettingOptions,
    TlsOptions,
    TraceOptions,
    LogOptions {
  readonly region?: string;
  readonly standby?: boolean;
  readonly listen?: string;
  readonly allowLocalWebhooks?: boolean;
}

export function addSupervisor(program: Command, ended: Ended): void {
  const database = addMigrateOption(addDatabaseOptions(program.command("supervisor")));
  const command = addSettings(database);
  const supervisor = addLogOption(addTraceOptions(addTlsOptions(addCircuitSettings(command))));
  addSupervisorVerbs(supervisor, ended);
  supervisor
    .description("run a supervisor process (for servers started with --supervisor none)")
    .option("--region <name>", "supervise only the namespaces of this region")
    .option("--standby", "supervise only partitions that no other process owns")
    .option("--listen <host:port>", "answer /healthz, /readyz and /partitions there")
    .option("--allow-local-webhooks", "also send webhooks to this machine and its local network")
    .action(async (options: SupervisorOptions, command: Command) => {
      const { region, listen, standby = false, allowLocalWebhooks = false } = options;
      const where = {
        ...(region === undefined ? {} : { region }),
        ...(listen === undefined ? {} : { listen }),
        ...tlsOf(options),
      };
      const database = databaseOf(options);
      const trace = traceOf(options);
      const log = logOf(options);
      const tuned = { settings: settingsOf(options), circuits: circuitsOf(options), trace, log };
      const { migrate } = options;
      const use = { database, migrate, standby, allowLocalWebhooks, ...tuned, ...where };
      ended(await supervise(use, contextOf(command)));
    });
}
