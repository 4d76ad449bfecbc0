/**
 * Rows go to PostgreSQL as arrays that the store writes itself: whatever a row contains comes back
 * as it was.
 */
import fc from "fast-check";
import pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { columns } from "../../../server/store/postgres/columns.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";

let database: TestDatabase;
let client: pg.Client;

beforeAll(async () => {
  database = await createTestDatabase();
  client = new pg.Client({ connectionString: database.connectionString });
  await client.connect();
});
afterAll(async () => {
  await client?.end();
  await database?.drop();
});

interface Row {
  text: string | null;
  number: number | null;
  truth: boolean | null;
  bytes: Buffer | null;
}

async function thereAndBack(rows: readonly Row[]): Promise<readonly Row[]> {
  const arrays = columns(rows, {
    text: (row) => row.text,
    number: (row) => row.number,
    truth: (row) => row.truth,
    bytes: (row) => row.bytes,
  });
  const { rows: found } = await client.query<Row>({
    name: "there_and_back",
    text: `select unnest($1::text[]) as text, unnest($2::float8[]) as number,
      unnest($3::boolean[]) as truth, unnest($4::bytea[]) as bytes`,
    values: Object.values(arrays),
  });
  return found.map((row) => ({ ...row }));
}

const orNull = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: null });
/** PostgreSQL stores no NUL within a text. */
const text = fc
  .oneof(
    fc.string({ unit: "grapheme" }),
    fc.constantFrom("", "null", "NULL", "{}", "{1,2}", '"', "\\", '\\"', " ", "a,b", "\n", "\\x00"),
  )
  .filter((one) => !one.includes("\0") && one.isWellFormed());

it("each row comes back as it was sent", async () => {
  const row = fc.record({
    text: orNull(text),
    number: orNull(
      fc.oneof(
        fc.maxSafeInteger(),
        fc.double({ noNaN: true }).map((n) => n + 0),
      ),
    ),
    truth: orNull(fc.boolean()),
    bytes: orNull(fc.uint8Array().map((bytes) => Buffer.from(bytes))),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 5 }), async (rows) => {
      expect(await thereAndBack(rows)).toEqual(rows);
    }),
    { numRuns: 300 },
  );
});
