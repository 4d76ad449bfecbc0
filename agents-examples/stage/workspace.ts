/**
 * Where a story happens: a folder for its database, ledgers and logs, and a Drover server of its
 * own. And the way back: nothing of it is left.
 */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { stopAbandonedPostgres } from "@drover/dev-postgres/postgres.ts";
import type { Processes } from "./processes.ts";

export interface Workspace {
  readonly folder: string;
  readonly database: string;
  readonly logs: string;
  readonly ledgers: string;
  /** Removes a temporary folder; one that was asked for stays. */
  readonly leave: () => void;
}

/** `dataDir` null: a fresh temporary folder, named after the story. */
export function makeWorkspace(story: string, dataDir: string | null): Workspace {
  const folder = dataDir === null ? makeTemporary(story) : resolve(dataDir);
  if (existsSync(folder) && readdirSync(folder).length > 0) {
    throw new Error(`--data-dir: ${folder} is not empty; remove it, or name a new folder`);
  }
  const logs = join(folder, "logs");
  const ledgers = join(folder, "ledgers");
  for (const made of [logs, ledgers]) mkdirSync(made, { recursive: true });
  return {
    folder,
    database: join(folder, "database"),
    logs,
    ledgers,
    leave() {
      if (dataDir === null) rmSync(folder, { recursive: true, force: true });
    },
  };
}

function makeTemporary(story: string): string {
  const folder = mkdtempSync(join(tmpdir(), `drover-${story}-`));
  // As root, PostgreSQL runs under another account, which must be able to pass.
  chmodSync(folder, 0o711);
  return folder;
}

export interface Drover {
  /** host:port. */
  readonly address: string;
  readonly connectionString: string;
}

/** Beside the database. */
export interface DroverSettings {
  /** Where traces go; null: nowhere. */
  readonly trace?: string | null;
  /** No call is taken without a token. */
  readonly requireTokens?: boolean;
}

/** `databaseUrl` null: on an embedded PostgreSQL. */
export async function startDrover(
  workspace: Workspace,
  processes: Processes,
  databaseUrl: string | null,
  { trace = null, requireTokens = false }: DroverSettings = {},
): Promise<Drover> {
  const url = databaseUrl === null ? [] : ["--database-url", databaseUrl];
  const traces = trace === null ? [] : ["--trace", trace];
  const { ready } = await processes.startReady({
    name: "server",
    program: new URL("./server-process.ts", import.meta.url),
    args: [
      "--data-dir",
      workspace.database,
      ...url,
      ...traces,
      ...(requireTokens ? ["--require-tokens"] : []),
    ],
  });
  return {
    address: textIn(ready, "address"),
    connectionString: textIn(ready, "connectionString"),
  };
}

/** Stops all that runs and removes what need not stay; may be called at any time. */
export async function leaveNothing(workspace: Workspace, processes: Processes): Promise<void> {
  await processes.stopAll();
  // Only a server that was killed leaves its database running.
  if (existsSync(join(workspace.database, "postgres")))
    await stopAbandonedPostgres(workspace.database);
  workspace.leave();
}

/** A text in the line by which a process reports that it is ready. */
export function textIn(ready: unknown, name: string): string {
  const fields: Readonly<Record<string, unknown>> =
    typeof ready === "object" && ready !== null ? { ...ready } : {};
  const value = fields[name];
  if (typeof value === "string") return value;
  throw new Error(
    `a process reports that it is ready without its ${name}: ${JSON.stringify(ready)}`,
  );
}
