/**
 * The database that a command uses: that of `--database-url` or DATABASE_URL, else the embedded one
 * of the data directory.
 */
import { existsSync, readFileSync } from "node:fs";
import type { DatabaseConfig } from "@drover/server/config.ts";
import { errorMessage } from "@drover/server/errors.ts";
import { DATABASE_SCHEMA, databaseSchema } from "@drover/server/store/postgres/database-schema.ts";
import { type Command, InvalidArgumentError, Option } from "commander";
import { parseSwitch } from "./context.ts";
import { CliFailure, exitCodes } from "./failure.ts";

/** The options that locate the database. */
export interface ConnectionOptions {
  readonly databaseUrl?: string;
  readonly directDatabase?: string;
  readonly dataDir: string;
}

export interface DatabaseOptions extends ConnectionOptions {
  readonly databaseSchema: string;
}

export type Database = Connection & { readonly schema: string };

type Connection =
  | { readonly kind: "url"; readonly url: string; readonly directUrl: string | undefined }
  | { readonly kind: "embedded"; readonly dataDir: string };

export function addDatabaseOptions(command: Command): Command {
  return addConnectionOptions(command).addOption(
    new Option("--database-schema <name>", "the database schema of all tables of Drover")
      .env("DROVER_DATABASE_SCHEMA")
      .argParser(parseSchema)
      .default(DATABASE_SCHEMA),
  );
}

export function addConnectionOptions(command: Command): Command {
  return command
    .addOption(
      new Option("--database-url <url>", "PostgreSQL to use instead of the embedded one").env(
        "DATABASE_URL",
      ),
    )
    .addOption(
      new Option(
        "--direct-database <url>",
        "the same PostgreSQL without the transaction pooler of --database-url",
      ).env("DROVER_DIRECT_URL"),
    )
    .addOption(
      new Option("--data-dir <folder>", "the data folder of the embedded PostgreSQL")
        .env("DROVER_DATA_DIR")
        .default("./.drover"),
    );
}

/** Of programs that migrate the database when they start. */
export interface MigrateOptions {
  readonly migrate: boolean;
}

export function addMigrateOption(command: Command): Command {
  return command
    .addOption(
      new Option(
        "--migrate [yes|no]",
        "no: do not migrate at the start, and refuse a schema that is too old (drover migrate)",
      )
        .env("DROVER_MIGRATE")
        .argParser(parseSwitch)
        .preset("yes")
        .default(true, "yes"),
    )
    .addOption(new Option("--no-migrate", "the same as --migrate no"));
}

export function databaseOf(options: DatabaseOptions): Database {
  return { ...connectionOf(options), schema: options.databaseSchema };
}

/** The database as the server takes it; an embedded one is started when the server starts. */
export function serverDatabase(database: Database): DatabaseConfig {
  if (database.kind === "url") return database;
  const { dataDir, schema } = database;
  return {
    kind: "launched",
    schema,
    launch: async (say) => {
      const { postgresLauncher } = await import("@drover/dev-postgres/postgres.ts");
      return postgresLauncher(dataDir)(say);
    },
  };
}

function connectionOf(options: ConnectionOptions): Connection {
  const { databaseUrl: url, directDatabase: directUrl, dataDir } = options;
  return url ? { kind: "url", url, directUrl } : { kind: "embedded", dataDir };
}

function parseSchema(given: string): string {
  try {
    return databaseSchema(given);
  } catch (error) {
    throw new InvalidArgumentError(`${errorMessage(error)}.`);
  }
}

/** The connection string of the database; an embedded one must be running. */
export async function runningDatabaseUrl(options: ConnectionOptions): Promise<string> {
  const database = connectionOf(options);
  if (database.kind === "url") return database.directUrl ?? database.url;
  const { clusterPaths } = await import("@drover/dev-postgres/cluster.ts");
  const { findPostmaster } = await import("@drover/dev-postgres/postmaster.ts");
  const paths = clusterPaths(database.dataDir);
  const found = existsSync(paths.data) ? findPostmaster(paths.data) : null;
  if (found?.kind !== "live")
    throw new CliFailure(`no embedded PostgreSQL is running in ${database.dataDir}`, {
      code: exitCodes.unreachable,
      next: "drover dev starts one; or set DATABASE_URL, or name another --data-dir",
    });
  const password = readFileSync(paths.passwordFile, "utf8");
  return `postgresql://drover:${password}@127.0.0.1:${found.port}/drover`;
}
