/**
 * Which database a command works on: the one of `--database-url` or DATABASE_URL, else the embedded
 * one of the data directory.
 */
import { existsSync, readFileSync } from "node:fs";
import { type Command, Option } from "commander";
import { CliFailure, exitCodes } from "./failure.ts";

export interface DatabaseOptions {
  readonly databaseUrl?: string;
  readonly directDatabase?: string;
  readonly dataDir: string;
}

export type Database =
  | { readonly kind: "url"; readonly url: string; readonly directUrl?: string | undefined }
  | { readonly kind: "embedded"; readonly dataDir: string };

export function addDatabaseOptions(command: Command): Command {
  return command
    .addOption(
      new Option("--database-url <url>", "PostgreSQL to use instead of the embedded one").env(
        "DATABASE_URL",
      ),
    )
    .addOption(
      new Option(
        "--direct-database <url>",
        "the same PostgreSQL without the transaction pooler that --database-url leads through",
      ).env("DROVER_DIRECT_URL"),
    )
    .addOption(
      new Option("--data-dir <folder>", "where the embedded PostgreSQL keeps its data")
        .env("DROVER_DATA_DIR")
        .default("./.drover"),
    );
}

export function databaseOf(options: DatabaseOptions): Database {
  const { databaseUrl: url, directDatabase: directUrl, dataDir } = options;
  return url ? { kind: "url", url, directUrl } : { kind: "embedded", dataDir };
}

/** What leads to the database itself now: an embedded one must be running. */
export async function runningDatabaseUrl(options: DatabaseOptions): Promise<string> {
  const database = databaseOf(options);
  if (database.kind === "url") return database.directUrl ?? database.url;
  const { clusterPaths } = await import("@drover/server/embedded/cluster.ts");
  const { lookForPostmaster } = await import("@drover/server/embedded/postmaster.ts");
  const paths = clusterPaths(database.dataDir);
  const found = existsSync(paths.data) ? lookForPostmaster(paths.data) : null;
  if (found?.kind !== "live")
    throw new CliFailure(`no embedded PostgreSQL is running in ${database.dataDir}`, {
      code: exitCodes.unreachable,
      next: "drover dev starts one; or set DATABASE_URL, or name another --data-dir",
    });
  const password = readFileSync(paths.passwordFile, "utf8");
  return `postgresql://drover:${password}@127.0.0.1:${found.port}/drover`;
}
