/**
 * The number of shards of the stores of test servers: 1, or DROVER_SHARDS. Tests that make a store
 * of their own have one shard.
 *
 *     DROVER_SHARDS=2 npx vitest run test/integration/api
 *
 * Tests that look into tables find those of all shards together in views of the schema `drover`.
 */
import { Client } from "pg";
import { DATABASE_SCHEMA, shardSchema } from "../../server/store/postgres/database-schema.ts";

export const testShards = Number(process.env.DROVER_SHARDS ?? "1");

/** The schema for rows that a test may add to any shard. */
export const writtenSchema = testShards > 1 ? shardSchema(DATABASE_SCHEMA, 0) : DATABASE_SCHEMA;

/** The schemas whose tables have the rows of runs. */
export const runSchemas: readonly string[] =
  testShards > 1
    ? Array.from({ length: testShards }, (_, shard) => shardSchema(DATABASE_SCHEMA, shard))
    : [DATABASE_SCHEMA];

/** Selects the id of every run, in all shards. */
export const selectRunIds = runSchemas
  .map((schema) => `select id::text from ${schema}.run`)
  .join(" union all ");

export async function createViewsOverShards(url: string, shards: number): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ name: string }>(
    `select c.relname as name
     from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
     where n.nspname = $1 and c.relkind in ('r', 'p', 'v') and not c.relispartition
       and c.relname <> 'drover_migration'`,
    [shardSchema(DATABASE_SCHEMA, 0)],
  );
  for (const { name } of rows) {
    const parts = Array.from(
      { length: shards },
      (_, shard) => `select * from ${shardSchema(DATABASE_SCHEMA, shard)}.${name}`,
    );
    await client.query(`create view ${DATABASE_SCHEMA}.${name} as ${parts.join(" union all ")}`);
  }
  await client.end();
}
