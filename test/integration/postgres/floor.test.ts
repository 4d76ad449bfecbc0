/** The floor of the benchmark `chain` writes the rows that the server writes. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { afterAll, expect, it } from "vitest";
import { decodePage } from "../../../server/core/page/codec.ts";
import { beforeAllButCitus } from "../../support/not-on-citus.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";

const FLOOR = fileURLToPath(new URL("../../../bench/floor.sql", import.meta.url));

let database: TestDatabase;
let db: pg.Client;

beforeAllButCitus("the floor is what plain PostgreSQL takes for the rows", async () => {
  database = await createTestDatabase();
  db = new pg.Client({ connectionString: database.connectionString });
  await db.connect();
  await db.query(readFileSync(FLOOR, "utf8"));
});
afterAll(async () => {
  await db?.end();
  await database?.drop();
});

it("ends a hundred runs of three steps, whose pages the codec reads, and leaves no lease", async () => {
  await db.query("call floor_of_chain(1)");
  const { rows } = await db.query<{ state: string; leases: string }>(
    "select state, (select count(*) from drover.lease) as leases from drover.run_page where ended_at is not null",
  );
  expect(rows).toHaveLength(100);
  expect(rows[0]?.leases).toBe("0");
  const { page } = decodePage(rows[0]?.state ?? "");
  expect(page.head?.run.state).toEqual({ kind: "COMPLETED", reason: "DONE" });
  expect([...page.steps.values()].map(({ step }) => step.forward.kind)).toEqual(
    Array(3).fill("SUCCEEDED"),
  );
});
