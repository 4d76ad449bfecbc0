// The schemas of the shards of a store, which exist before anything is migrated: that they are
// there says how many shards the store has, and this does not change later.
import { type ClientBase, escapeIdentifier } from "pg";
import { SHARDS_MAX } from "../partition.ts";
import { shardOfSchema, shardSchema, sharedSchema } from "./database-schema.ts";

/** In their order; none: the store is one shard, and all of it is in one schema. */
export async function shardSchemas(client: ClientBase, schema: string): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>("select nspname as name from pg_namespace");
  const found = rows.filter(
    ({ name }) => shardOfSchema(name) !== null && sharedSchema(name) === schema,
  );
  return found.map((_, shard) => shardSchema(schema, shard));
}

/** Creates what is missing of so many. Throws if the store has another number of shards. */
export async function makeShardSchemas(
  client: ClientBase,
  schema: string,
  shards: number,
): Promise<void> {
  if (!Number.isInteger(shards) || shards < 1 || SHARDS_MAX % shards !== 0)
    throw new Error(
      `A store cannot have ${shards} shards: give a power of 2, from 1 to ${SHARDS_MAX}.`,
    );
  const before = Math.max(1, (await shardSchemas(client, schema)).length);
  const { rows } = await client.query<{ migrated: boolean }>(
    `select exists (
       select from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
       where n.nspname = $1 and c.relname = 'drover_migration'
     ) as migrated`,
    [schema],
  );
  if (rows[0]?.migrated === true) {
    if (before === shards) return;
    throw new Error(
      `The store in the schema ${schema} has ${before} ${before === 1 ? "shard" : "shards"}, and ` +
        `cannot be divided into ${shards}: runs stay where they are. Make a store with ${shards} ` +
        "shards in a new database, let new runs start there, and keep this one until its last run " +
        "has ended.",
    );
  }
  if (shards === 1) return;
  for (let shard = 0; shard < shards; shard++)
    await client.query(
      `create schema if not exists ${escapeIdentifier(shardSchema(schema, shard))}`,
    );
}
