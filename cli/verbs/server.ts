/** `drover server`: the server for production, on the PostgreSQL of DATABASE_URL. */
import { type Command, Option } from "commander";
import { contextOf, parseDuration, parseSwitch } from "../context.ts";
import {
  addDatabaseOptions,
  addMigrateOption,
  type DatabaseOptions,
  databaseOf,
  type MigrateOptions,
} from "../database.ts";
import type { Ended } from "../failure.ts";
import { addIdentityOptions, type IdentityOptions, identitiesOf } from "../identity-options.ts";
import { addLogOption, type LogOptions, logOf } from "../log-options.ts";
import { serve } from "../serve.ts";
import {
  addCircuitSettings,
  addEdgeSettings,
  addSettings,
  circuitsOf,
  edgeOf,
  type SettingOptions,
  settingsOf,
} from "../settings.ts";
import { addTlsOptions, type TlsOptions, tlsOf } from "../tls-options.ts";
import {
  addTraceLinkOption,
  addTraceOptions,
  type TraceLinkOptions,
  type TraceOptions,
  traceLinkOf,
  traceOf,
} from "../trace-options.ts";

interface ServerOptions
  extends DatabaseOptions,
    MigrateOptions,
    SettingOptions,
    TlsOptions,
    IdentityOptions,
    TraceOptions,
    TraceLinkOptions,
    LogOptions {
  readonly insecureNoAuth?: boolean;
  readonly requireTokens: boolean;
  readonly tlsInFront: boolean;
  readonly hostName?: readonly string[];
  readonly allowLocalWebhooks?: boolean;
  readonly supervisor: "embedded" | "none";
  readonly lameDuck: number;
}

export function addServer(program: Command, ended: Ended): void {
  const database = addMigrateOption(addDatabaseOptions(program.command("server")));
  const tuned = addSettings(addEdgeSettings(database));
  const command = addIdentityOptions(addTlsOptions(addCircuitSettings(tuned)));
  addLogOption(addTraceLinkOption(addTraceOptions(command)))
    .description("start a server on the PostgreSQL of DATABASE_URL")
    .option("--insecure-no-auth", "listen on addresses other than loopback, without authentication")
    .addOption(
      switchOption(
        "--require-tokens",
        "every call must send an API token: drover token create",
      ).env("DROVER_REQUIRE_TOKENS"),
    )
    .addOption(
      switchOption(
        "--tls-in-front",
        "a proxy in front of the server terminates TLS; with tokens, allows other addresses than loopback",
      ).env("DROVER_TLS_IN_FRONT"),
    )
    .option(
      "--host-name <name...>",
      "names, besides localhost, under which a browser may reach the server on loopback",
    )
    .option("--allow-local-webhooks", "also send webhooks to this machine and its local network")
    .addOption(
      new Option(
        "--supervisor <where>",
        "embedded: the server supervises, too; none: only drover supervisor does",
      )
        .choices(["embedded", "none"])
        .env("DROVER_SUPERVISOR")
        .default("embedded"),
    )
    .addOption(
      new Option(
        "--lame-duck <duration>",
        "after SIGTERM, serve on for so long while /readyz and gRPC health report that it stops: as long as load balancers need to notice",
      )
        .env("DROVER_LAME_DUCK")
        .argParser(parseDuration)
        .default(0, "0s"),
    )
    .action(async (options: ServerOptions, command: Command) => {
      const context = contextOf(command);
      const database = databaseOf(options);
      if (database.kind === "embedded")
        context.output.note(
          "DATABASE_URL is not set: using an embedded PostgreSQL, like drover dev. Set it for production",
        );
      const insecureNoAuth = options.insecureNoAuth ?? false;
      const allowLocalWebhooks = options.allowLocalWebhooks ?? false;
      const { supervisor, requireTokens, tlsInFront, hostName: hostNames = [] } = options;
      const access = { insecureNoAuth, requireTokens, tlsInFront, hostNames, ...tlsOf(options) };
      const identities = identitiesOf(options, { requireTokens });
      const open = { ...access, identities, allowLocalWebhooks, supervisor };
      const next = [requireTokens ? "drover token create --help" : "drover run list"];
      const traces = { trace: traceOf(options), traceLink: traceLinkOf(options) };
      const log = logOf(options);
      const watches = { settings: settingsOf(options), circuits: circuitsOf(options) };
      const limits = { ...edgeOf(options), lameDuckMs: options.lameDuck };
      const tuned = { ...watches, limits, ...traces, log };
      const { migrate } = options;
      ended(await serve({ database, migrate, ...open, ...tuned, next }, context));
    });
}

function switchOption(flag: string, description: string): Option {
  const option = new Option(`${flag} [yes|no]`, description).argParser(parseSwitch);
  return option.preset("yes").default(false, "no");
}
