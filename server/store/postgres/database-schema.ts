// The schemas of the database that contain all of Drover: tables, views and functions. Locks and
// channels depend on their names too, so that two Drovers in one database never affect each other.
//
// A store of one shard is one schema. A store of several has a schema for each shard, and one for
// the tables that all shards read: `drover`, `drover_shard_0`, `drover_shard_1`, ...

/** The schema of the database that contains all of Drover, if no other is named. */
export const DATABASE_SCHEMA = "drover";

/**
 * What a store with several shards has once, and not in the schemas of its shards: tables whose
 * rows are few and seldom change, which a server writes through the first shard; and the function
 * that puts a row into the inbox, which is in the first shard.
 */
const SHARED: ReadonlySet<string> = new Set([
  "circuit",
  "circuit_outage",
  "circuit_version",
  "cordon",
  "definition",
  "hook",
  "lane",
  "namespace",
  "paused_workflow",
  "queue",
  "region",
  "schedule(",
  "trigger",
  "version_class",
  "version_pin",
  "workflow",
  "workflow_version",
]);

/** Schemas in which others have their tables; "public" is for all users. */
const OTHERS_SCHEMAS: readonly string[] = Object.freeze(["public", "information_schema"]);

const SHARD_SCHEMA = /^(.+)_shard_(\d{1,2})$/;

/** The name, if a schema of the database may have it. Throws an Error that says what is wrong. */
export function databaseSchema(name: string): string {
  if (SHARD_SCHEMA.test(name))
    throw new Error(
      `"${name}" is the name of one shard: name the schema of all shards, ` +
        `"${SHARD_SCHEMA.exec(name)?.[1]}"`,
    );
  const isPlain = /^[a-z_][a-z0-9_]{0,53}$/.test(name);
  if (isPlain && !name.startsWith("pg_") && !OTHERS_SCHEMAS.includes(name)) return name;
  throw new Error(
    `"${name}" cannot be the schema of Drover: name one of its own, of at most 54 small letters, ` +
      "digits and underscores, which begins with no digit and not with pg_, and is not " +
      `${OTHERS_SCHEMAS.join(" or ")}`,
  );
}

/** The schema of a shard, if there are several. */
export function shardSchema(schema: string, shard: number): string {
  return `${schema}_shard_${shard}`;
}

/** The number of the shard; null: the schema is that of no shard, or of the only one. */
export function shardOfSchema(schema: string): number | null {
  const found = SHARD_SCHEMA.exec(schema)?.[2];
  return found === undefined ? null : Number(found);
}

/** The schema of the tables that all shards read; of a store with one shard the same. */
export function sharedSchema(schema: string): string {
  return SHARD_SCHEMA.exec(schema)?.[1] ?? schema;
}

/** The schema that contains a table, view or function; the latter with its bracket. */
export function schemaOf(name: string, schema: string): string {
  return isShared(name) ? sharedSchema(schema) : schema;
}

export function isShared(name: string): boolean {
  return SHARED.has(name);
}
