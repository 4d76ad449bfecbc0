/**
 * A database that comes back without its newest transactions gives their ids out again: what it
 * reports of an id from before is about another owner.
 */
import pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createEmbeddedPostgres, type EmbeddedPostgres } from "../../../dev-postgres/postgres.ts";
import { systemClock } from "../../../server/clock.ts";
import { migrate } from "../../../server/store/postgres/migrate.ts";
import { MIGRATIONS } from "../../../server/store/postgres/migrations-folder.ts";
import { createPool } from "../../../server/store/postgres/pool.ts";
import { createTransact } from "../../../server/store/postgres/transaction.ts";
import { quietLog } from "../../support/control-plane.ts";
import { makeTestFolder } from "../../support/global-postgres.ts";

let postgres: EmbeddedPostgres;
let connectionString: string;
let pool: pg.Pool;

beforeAll(async () => {
  postgres = createEmbeddedPostgres({
    dataDir: `${await makeTestFolder()}/data`,
    log: () => undefined,
    // Nothing but a commit writes the log out, so that what was not committed is lost for certain.
    settings: { wal_writer_delay: "10s" },
  });
  ({ connectionString } = await postgres.start());
  await migrate(connectionString, { folder: MIGRATIONS });
  pool = createPool(connectionString, "hot", 2, quietLog);
});
afterAll(async () => {
  await pool?.end();
  await postgres?.stop();
});

/** The ids of so many transactions, which commit. */
async function commitSome(count: number): Promise<readonly number[]> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  const ids: number[] = [];
  for (let nth = 0; nth < count; nth++) {
    const { rows } = await client.query<{ id: string }>("select pg_current_xact_id()::text as id");
    ids.push(Number(rows[0]?.id));
  }
  await client.end();
  return ids;
}

it("a COMMIT that a crash took away is not known by an id that another transaction has since", async () => {
  const transact = createTransact(pool, systemClock, "drover");
  const [before = 0] = await commitSome(1);
  let after: readonly number[] = [];
  const lost = transact({}, async ({ query }) => {
    await query("create_namespace", { name: "lost", region: "default" });
    await postgres.kill();
    await postgres.start();
    after = await commitSome(20);
  });
  await expect(lost).rejects.toMatchObject({ reason: "STORE_UNAVAILABLE", metadata: {} });
  expect(after, "the id of the lost transaction has been given out again").toContain(before + 1);
  const { rows } = await pool.query("select from drover.namespace where name = 'lost'");
  expect(rows).toEqual([]);
});
