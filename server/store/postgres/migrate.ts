/**
 * Brings a database to the schema that this program needs: numbered files, forward only.
 *
 * `migrations/NNNN_name.sql` are applied in order, each in a transaction of its own together with
 * its row in `drover_migration`; the transaction of the first file also creates the schema. Each
 * such transaction takes one advisory lock and reads again what is recorded. So any number of
 * programs may migrate at once, also through a transaction pooler. A file that fails leaves nothing
 * of itself and everything of the files before it.
 *
 * Servers keep working meanwhile, and a session that needs a table queues behind a file that waits
 * for it. So a file waits for a lock for 1 s at most, is rolled back, and is tried again after a
 * pause.
 *
 * A program is known by the last file that it came with. Each file names the oldest program that
 * works beside it, and its record keeps that: so a program decides about files that it does not
 * know, and an older one may start on a newer schema within that window.
 *
 * A store of several shards has a schema for each, and one for the tables that all of them read.
 * Each of them records what is applied to it, and gets the commands that are about its own tables.
 *
 * Refused, with nothing changed: a file that was changed or renamed after it was applied, a gap in
 * the numbers, a schema for newer programs only, and a database of the first design.
 */
import { type ClientBase, escapeIdentifier } from "pg";
import { systemClock } from "../../clock.ts";
import { errorMessage } from "../../errors.ts";
import { DATABASE_SCHEMA, isShared, shardOfSchema, shardSchema } from "./database-schema.ts";
import { isConnectionLost } from "./failure.ts";
import { type Migration, readMigrations } from "./migration-files.ts";
import { withConnection } from "./one-connection.ts";
import { makeShardSchemas, shardSchemas } from "./shard-schemas.ts";
import { inSchema } from "./sql.ts";
import { aboutOf, commandsOf } from "./sql-commands.ts";

export interface MigrateOptions {
  readonly folder: string;
  /** The schema of all tables; left out: DATABASE_SCHEMA. */
  readonly schema?: string;
  /** How many shards a new store gets; left out: one, or as many as it has. */
  readonly shards?: number;
  /** The caller gives the nodes of a Citus cluster the new tables that all shards read. */
  readonly shares?: boolean;
  /**
   * The node of a shard is away, and what is applied to its schema is not known. Left out, or if it
   * is the first shard: this is an error.
   */
  readonly onUnreachable?: (schema: string, error: unknown) => void;
  /** How long a file waits for a lock, in milliseconds, and how often it is tried; for tests. */
  readonly lockMs?: number;
  readonly lockTries?: number;
}

type Recorded = Omit<Migration, "sql">;

/** A file that is applied, or that this program would apply. */
export interface MigrationState {
  readonly name: string;
  readonly oldestProgram: number;
  /** null: it is pending. */
  readonly appliedAt: Date | null;
}

/** The table of the files that are applied. */
const RECORD = "drover_migration";
const LOCK_NOT_AVAILABLE = "55P03";
const INSUFFICIENT_PRIVILEGE = "42501";
const UNDEFINED_COLUMN = "42703";
/** How long a program waits for another one that migrates, while no table is locked. */
const turnMsMax = 60_000;
/** How long a file waits for a lock: all sessions that want the same table wait behind it. */
const lockMsDefault = 1_000;
/** Sessions that have queued behind a try can finish before the next try. */
const lockPauseMs = 1_000;
/** With the pauses a minute. */
const lockTriesDefault = 30;

/** Applies what is pending; returns the names of the files that this call has applied. */
export async function migrate(
  target: string | ClientBase,
  options: MigrateOptions,
): Promise<{ applied: string[] }> {
  return withClient(target, async (client) => {
    const { schema: of = DATABASE_SCHEMA, shards } = options;
    const isCitus = await isOfCitus(client, of);
    if (shards !== undefined) await makeShardSchemas(client, of, shards);
    if (isCitus && options.shares !== true) {
      await refuseUnshared(client, options);
      return { applied: [] };
    }
    const applied = new Set<string>();
    for (const schema of await schemasOf(client, options.schema))
      for (const name of await migrateSchema(client, { ...options, schema })) applied.add(name);
    return { applied: [...applied].sort() };
  });
}

/** Whether the store has several shards, and their tables are on the nodes of a cluster. */
async function isOfCitus(client: ClientBase, schema: string): Promise<boolean> {
  if ((await shardSchemas(client, schema)).length === 0) return false;
  const { rowCount } = await client.query("select from pg_extension where extname = 'citus'");
  return rowCount === 1;
}

/** Tables that all shards read would be on the coordinator alone. */
async function refuseUnshared(client: ClientBase, options: MigrateOptions): Promise<void> {
  const { schema = DATABASE_SCHEMA } = options;
  const pending = await pendingMigrations(client, options);
  if (pending.length === 0) return;
  throw new Error(
    `The store in the schema ${schema} has several shards on a Citus cluster, and ${pending[0]} is ` +
      "pending: apply it with 'drover migrate --distribute' on the coordinator, and start servers " +
      "with --no-migrate.",
  );
}

async function migrateSchema(
  client: ClientBase,
  { folder, schema, ...options }: MigrateOptions & { readonly schema: string },
): Promise<readonly string[]> {
  const { lockMs = lockMsDefault, lockTries = lockTriesDefault } = options;
  const migrations = readMigrations(folder);
  const applied: string[] = [];
  // A role that may not change the schema may start a server, if nothing is pending.
  const pending = await statesOfSchema(client, migrations, schema);
  if (pending.every(({ appliedAt }) => appliedAt !== null)) return applied;
  let tries = 0;
  for (;;) {
    const done = await applyNext(client, schema, { migrations, lockMs });
    if (done === null) return applied;
    if (done.applied) applied.push(done.name);
    tries = done.applied ? 0 : tries + 1;
    if (done.applied) continue;
    if (tries >= lockTries) throw lockRefused(done.name, lockMs, lockTries);
    await systemClock.sleep(Math.min(lockPauseMs, lockMs));
  }
}

/** The schema, and those of its shards if it has several, in their order. */
async function schemasOf(
  client: ClientBase,
  schema: string = DATABASE_SCHEMA,
): Promise<readonly string[]> {
  return [schema, ...(await shardSchemas(client, schema))];
}

function lockRefused(name: string, lockMs: number, tries: number): Error {
  return new Error(
    `Migration ${name} needs a lock that another session holds: it waited ${tries} times for ` +
      `${lockMs} ms. Nothing of this file was applied; the files before it are applied, and servers ` +
      "that run go on. Find the sessions with old transactions (select pid, application_name, " +
      "xact_start, query from pg_stat_activity where xact_start is not null order by xact_start), " +
      "end them or wait for them, and run 'drover migrate' again.",
  );
}

function unreachable(schema: string, cause: unknown): Error {
  return new Error(
    `The node that has the schema ${schema} does not answer: ${errorMessage(cause)}. Start that ` +
      "node, or let its standby take over, and repeat this command.",
    { cause },
  );
}

/** The names of the files that `migrate` would apply. Changes nothing; refuses the same. */
export async function pendingMigrations(
  target: string | ClientBase,
  options: MigrateOptions,
): Promise<string[]> {
  const states = await migrationStates(target, options);
  return states.filter(({ appliedAt }) => appliedAt === null).map(({ name }) => name);
}

/** All files, applied or pending, in their order. Changes nothing; refuses what `migrate` does. */
export async function migrationStates(
  target: string | ClientBase,
  { folder, schema = DATABASE_SCHEMA, onUnreachable }: MigrateOptions,
): Promise<readonly MigrationState[]> {
  const migrations = readMigrations(folder);
  return withClient(target, async (client) => {
    let behind = await statesOfSchema(client, migrations, schema);
    const shards = await shardSchemas(client, schema);
    // So long a node of Citus that hangs delays a start for each of its shards, in place of 30 s.
    if (shards.length > 0) await client.query("set citus.node_connection_timeout = '3s'");
    for (const of of shards) {
      try {
        const states = await statesOfSchema(client, migrations, of);
        if (countApplied(states) < countApplied(behind)) behind = states;
      } catch (error) {
        if (!isConnectionLost(error)) throw error;
        if (!onUnreachable || shardOfSchema(of) === 0) throw unreachable(of, error);
        onUnreachable(of, error);
      }
    }
    return behind;
  });
}

/** Of several shards, the one that is behind says what is pending. */
function countApplied(states: readonly MigrationState[]): number {
  return states.filter(({ appliedAt }) => appliedAt !== null).length;
}

async function statesOfSchema(
  client: ClientBase,
  migrations: readonly Migration[],
  schema: string,
): Promise<readonly MigrationState[]> {
  await refuseFirstDesign(client);
  const isThere = await hasTables(client, schema, [RECORD]);
  const recorded = isThere ? await readRecorded(client, schema) : [];
  const pending = pendingOf(migrations, recorded);
  return [...recorded, ...pending.map((file) => ({ ...file, appliedAt: null }))];
}

/** For a program that does not migrate: throws if the schema is not one that it works with. */
export async function requireMigrated(
  target: string | ClientBase,
  options: MigrateOptions,
): Promise<void> {
  const states = await migrationStates(target, options);
  const pending = states.filter(({ appliedAt }) => appliedAt === null);
  const newest = pending.at(-1);
  if (newest === undefined) return;
  const applied = states.length - pending.length;
  const at = applied === 0 ? "has no tables of Drover" : `is at ${states[applied - 1]?.name}`;
  const { schema = DATABASE_SCHEMA } = options;
  throw new Error(
    `The schema ${schema} ${at}, and this program needs ${newest.name}. It was told not to ` +
      "migrate (--no-migrate): run 'drover migrate' with a role that owns the schema, and then " +
      "start it again.",
  );
}

async function withClient<T>(
  target: string | ClientBase,
  work: (client: ClientBase) => Promise<T>,
): Promise<T> {
  if (typeof target !== "string") return work(target);
  return withConnection({ connectionString: target, application_name: "drover migrate" }, work);
}

/** `applied: false`: another session holds what the file has to lock. */
interface Tried {
  readonly name: string;
  readonly applied: boolean;
}

/** null: nothing is left to apply. */
async function applyNext(
  client: ClientBase,
  schema: string,
  { migrations, lockMs }: { readonly migrations: readonly Migration[]; readonly lockMs: number },
): Promise<Tried | null> {
  await client.query("begin");
  try {
    await client.query(`set local lock_timeout = ${turnMsMax}; set local statement_timeout = 0`);
    // A name without its schema fails, instead of being created wherever the role's path leads.
    await client.query("set local search_path = ''");
    await takeLock(client, schema);
    await refuseFirstDesign(client);
    await makeSchema(client, schema);
    const next = pendingOf(migrations, await readRecorded(client, schema))[0];
    const applied = next !== undefined && (await apply(client, next, { schema, lockMs }));
    await client.query(next === undefined || applied ? "commit" : "rollback");
    return next === undefined ? null : { name: next.name, applied };
  } catch (error) {
    // The connection may be lost; then the server rolls back by itself.
    await client.query("rollback").catch(() => undefined);
    throw error;
  }
}

/** One lock for all programs and versions; another schema has another lock. */
async function takeLock(client: ClientBase, schema: string): Promise<void> {
  try {
    await client.query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [
      `drover migrate ${schema}`,
    ]);
  } catch (cause) {
    if (!isLockTimeout(cause)) throw cause;
    throw new Error(
      `Another program has been migrating this database for ${turnMsMax / 1000} s. Wait until it ` +
        "is done, or look for its session in pg_stat_activity (application_name 'drover migrate').",
      { cause },
    );
  }
}

/** The first design had its tables in `public` and was never released: nothing migrates it. */
async function refuseFirstDesign(client: ClientBase): Promise<void> {
  const tables = ["run_open", RECORD];
  if (!(await hasTables(client, "public", tables))) return;
  throw new Error(
    `This database has the tables of an unreleased Drover in the schema public (${tables.join(", ")} ` +
      "and others), which this version cannot bring up to date. Make a new database, or drop those " +
      "tables and the schema drover, and run 'drover migrate' again.",
  );
}

/** Reads the catalogue, for which no right on the schema is needed. */
async function hasTables(
  client: ClientBase,
  schema: string,
  names: readonly string[],
): Promise<boolean> {
  const { rows } = await client.query<{ found: number }>(
    `select count(*)::integer as found
     from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
     where n.nspname = $1 and c.relname = any ($2)`,
    [schema, names],
  );
  return rows[0]?.found === names.length;
}

/** Creates only what is missing: the owner of a schema need not have the right to create one. */
async function makeSchema(client: ClientBase, schema: string): Promise<void> {
  if (await hasTables(client, schema, [RECORD])) return;
  const { rowCount } = await client.query("select from pg_namespace where nspname = $1", [schema]);
  try {
    if (rowCount === 0) await client.query(`create schema ${escapeIdentifier(schema)}`);
    await client.query(
      inSchema(
        `create table if not exists drover.${RECORD} (
           number integer primary key,
           name text not null,
           checksum text not null,
           oldest_program integer not null,
           applied_at timestamptz not null default now()
         )`,
        schema,
      ),
    );
  } catch (cause) {
    if (!hasCode(cause, INSUFFICIENT_PRIVILEGE)) throw cause;
    throw new Error(
      `The role of this connection may not make the schema ${schema}, or tables in it: ` +
        `${errorMessage(cause)}. As the owner of the database, run ` +
        `'create schema ${schema} authorization ROLE', and then run ` +
        "'drover migrate' again.",
      { cause },
    );
  }
}

function isLockTimeout(error: unknown): boolean {
  return hasCode(error, LOCK_NOT_AVAILABLE);
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

/** false: a lock that it needs was not granted in time. */
async function apply(
  client: ClientBase,
  migration: Migration,
  { schema, lockMs }: { readonly schema: string; readonly lockMs: number },
): Promise<boolean> {
  await client.query(`set local lock_timeout = ${Math.round(lockMs)}`);
  let sent = 0;
  try {
    const hasShards = (await shardSchemas(client, schema)).length > 0;
    for (const { text, at } of commandsOf(migration.sql)) {
      if (!isFor(schema, hasShards, text)) continue;
      sent = at;
      // What all shards share may name a table that is not: that of the first shard.
      const isOfAll = hasShards && shardOfSchema(schema) === null;
      await client.query(inSchema(text, isOfAll ? shardSchema(schema, 0) : schema));
    }
  } catch (cause) {
    if (isLockTimeout(cause)) return false;
    const within = cause instanceof Error && "position" in cause ? Number(cause.position) : 0;
    const at = sent + within;
    const line = within > 0 ? `, line ${migration.sql.slice(0, at).split("\n").length}` : "";
    throw new Error(
      `Migration ${migration.name}${line} failed: ${errorMessage(cause)}. ` +
        "Nothing of this file was applied; the files before it are applied, and servers that run go " +
        "on. Fix the cause (space on the disk, rights of the role, rows that are in the " +
        "way), and run 'drover migrate' again.",
      { cause },
    );
  }
  await client.query(
    inSchema(
      `insert into drover.${RECORD} (number, name, checksum, oldest_program)
       values ($1, $2, $3, $4)`,
      schema,
    ),
    [migration.number, migration.name, migration.checksum, migration.oldestProgram],
  );
  return true;
}

/** A store of several shards has some tables once, and all else in each shard. */
function isFor(schema: string, hasShards: boolean, command: string): boolean {
  const of = aboutOf(command);
  if (shardOfSchema(schema) !== null) return of === null || !isShared(of);
  return !hasShards || of === null || isShared(of);
}

type RecordedRow = Recorded & { readonly appliedAt: Date };

async function readRecorded(client: ClientBase, schema: string): Promise<RecordedRow[]> {
  try {
    const read = await client.query<RecordedRow>(
      inSchema(
        `select number, name, checksum, oldest_program as "oldestProgram",
           applied_at as "appliedAt"
         from drover.${RECORD} order by number`,
        schema,
      ),
    );
    return read.rows;
  } catch (cause) {
    if (hasCode(cause, UNDEFINED_COLUMN))
      throw new Error(
        `The schema ${schema} was made by an unreleased Drover, which this version cannot bring ` +
          "up to date. Make a new database, or drop that schema, and run 'drover migrate' again.",
        { cause },
      );
    if (!hasCode(cause, INSUFFICIENT_PRIVILEGE)) throw cause;
    throw new Error(
      `The role of this connection may not read ${schema}.${RECORD}: ${errorMessage(cause)}. As ` +
        `the owner, run 'grant usage on schema ${schema} to ROLE' and ` +
        `'grant select on ${schema}.${RECORD} to ROLE'.`,
      { cause },
    );
  }
}

/** The migrations that are left; throws if this program does not work with what is recorded. */
function pendingOf(migrations: readonly Migration[], recorded: readonly Recorded[]): Migration[] {
  const unknown = recorded.slice(migrations.length);
  const oldest = Math.max(0, ...unknown.map(({ oldestProgram }) => oldestProgram));
  if (oldest > migrations.length) throw tooOld(migrations, recorded, oldest);
  recorded.slice(0, migrations.length).forEach((row, index) => {
    const file = migrations[index];
    if (file === undefined || row.number !== file.number) {
      throw new Error(
        `The database says that ${row.name} is applied, and has no record of ${file?.name}. ` +
          "The table drover_migration was edited: put the row back, or restore a backup.",
      );
    }
    if (row.name === file.name && row.checksum === file.checksum) return;
    throw new Error(
      `Migration ${file.name} was changed after this database applied it as ${row.name} ` +
        `(checksum ${row.checksum.slice(0, 12)}, the file has ${file.checksum.slice(0, 12)}). ` +
        "Put the file back as it was, and make the change in a new migration.",
    );
  });
  return migrations.slice(recorded.length);
}

function tooOld(
  migrations: readonly Migration[],
  recorded: readonly Recorded[],
  oldest: number,
): Error {
  return new Error(
    `This database was migrated by a newer Drover: it is at ${recorded.at(-1)?.name}, which works ` +
      `with programs that know migration ${String(oldest).padStart(4, "0")} or later, and this ` +
      `program knows ${migrations.at(-1)?.name ?? "no migration"} as the last. Start a newer ` +
      "program. There is no way back to this one but a backup.",
  );
}
