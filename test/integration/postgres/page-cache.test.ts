/** The cached page while its lock is being taken, and other calls use the cache. */
import pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { systemClock } from "../../../server/clock.ts";
import { decodePage } from "../../../server/core/page/codec.ts";
import { createPageCache } from "../../../server/store/postgres/page-cache.ts";
import { createPages } from "../../../server/store/postgres/pages.ts";
import { createPool } from "../../../server/store/postgres/pool.ts";
import { createTransact } from "../../../server/store/postgres/transaction.ts";
import { quietLog } from "../../support/control-plane.ts";
import { headWith, insertRun, readyWith, stepWith, TERMS } from "../../support/pages.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";

let database: TestDatabase;
let db: pg.Client;
let pool: pg.Pool;

beforeAll(async () => {
  database = await createTestDatabase();
  db = new pg.Client({ connectionString: database.connectionString });
  await db.connect();
  pool = createPool(database.connectionString, "hot", 1, quietLog);
});
afterAll(async () => {
  await pool?.end();
  await db?.end();
  await database?.drop();
});

it("a page that the cache drops while its lock is under way is still known to who locks it", async () => {
  const runId = await insertRun(db, headWith(), [
    stepWith(0, { forward: readyWith() }, { terms: TERMS }),
  ]);
  const { rows } = await db.query<{ version: number; state: string }>(
    "select version, state from drover.run_page where run_id = $1",
    [runId],
  );
  const cache = createPageCache();
  for (const { version, state } of rows)
    cache.keep(runId, { version, encoded: decodePage(state), wakeAt: null });
  const transact = createTransact(pool, systemClock, "drover");
  const heads = await transact({ leadsWithLock: true }, async (tx) => {
    const locked = createPages(tx, cache).lockRuns([{ runId, partition: 7 }], true);
    cache.forget();
    return locked;
  });
  expect(heads).toMatchObject([{ runId, run: { state: { kind: "RUNNING" } } }]);
});
