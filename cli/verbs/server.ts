/** `drover server`: the server for production, on the PostgreSQL of DATABASE_URL. */
import { type Command, Option } from "commander";
import { contextOf, parseSwitch } from "../context.ts";
import { addDatabaseOptions, type DatabaseOptions, databaseOf } from "../database.ts";
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
}

export function addServer(program: Command, ended: Ended): void {
  const tuned = addSettings(addEdgeSettings(addDatabaseOptions(program.command("server"))));
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
      const tuned = { ...watches, limits: edgeOf(options), ...traces, log };
      ended(await serve({ database, ...open, ...tuned, next }, context));
    });
}

function switchOption(flag: string, description: string): Option {
  const option = new Option(`${flag} [yes|no]`, description).argParser(parseSwitch);
  return option.preset("yes").default(false, "no");
}
