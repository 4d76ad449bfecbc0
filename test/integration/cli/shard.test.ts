/** `drover migrate --distribute`, `drover shard list` and `drover shard move`. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { citusNodes } from "../../../server/store/postgres/distribute.ts";
import { citusUrl } from "../../support/citus.ts";
import { drover } from "../../support/drover-process.ts";
import { createShardsDatabase } from "../../support/opened-postgres.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { testShards } from "../../support/test-shards.ts";

let plain: TestDatabase;
beforeAll(async () => {
  plain = await createTestDatabase({ empty: true });
});
afterAll(() => plain.drop());

const call = ({ connectionString }: TestDatabase, ...args: readonly string[]) =>
  drover(args, { env: { DATABASE_URL: connectionString } });

it.each([
  ["migrate", "--distribute"],
  ["shard", "list"],
  ["shard", "move", "0", "db-2:5432"],
])("%s %s is refused where Citus is not there, and what to do is said", async (...args) => {
  const { code, stdout, stderr } = await call(plain, ...args);
  expect(code).not.toBe(0);
  expect(stdout).toBe("");
  expect(stderr).toContain(
    "has no extension citus: run 'create extension citus' in it on every node",
  );
});

it.each([
  [["shard", "move", "first", "db-2:5432"], "Give the number of a shard"],
  [["shard", "move", "0", "db-2"], "Give host:port"],
  [["migrate", "--distribute", "--shards", "3"], "Give a power of 2, from 1 to 64"],
  [["migrate", "--distribute", "--roles"], "cannot be used with option '--roles'"],
])("%j is a mistake in the command", async (args, what) => {
  const { code, stderr } = await call(plain, ...args);
  expect(code).toBe(2);
  expect(stderr).toContain(what);
});

it("the shards are listed with their nodes, and one moves to another node", async (context) => {
  if (citusUrl === undefined) context.skip("DROVER_CITUS names no Citus cluster");
  if (testShards === 1) context.skip("DROVER_SHARDS names no number of shards");
  const store = await createShardsDatabase(testShards);
  try {
    const list = async () => {
      const { stdout } = await call(store, "shard", "list");
      return stdout.trim().split("\n");
    };
    const before = await list();
    expect(before).toHaveLength(testShards);
    expect(before[1]).toMatch(/^1 {2}drover_shard_1 {2}\S+:\d+$/);
    const nodes = await citusNodes(store.connectionString);
    const away = nodes
      .filter(({ isCoordinator }) => !isCoordinator)
      .map(({ host, port }) => `${host}:${port}`)
      .find((place) => !before[1]?.endsWith(`  ${place}`));
    if (away === undefined) throw new Error("the cluster needs two workers");
    const moved = await call(store, "shard", "move", "1", away);
    expect(moved).toMatchObject({ code: 0, stdout: `moved  drover_shard_1  ${away}\n` });
    expect((await list())[1]).toBe(`1  drover_shard_1  ${away}`);
    const none = await call(store, "shard", "move", String(testShards), away);
    expect(none.code).toBe(4);
    expect(none.stderr).toContain(`the store in drover has ${testShards}`);
  } finally {
    await store.drop();
  }
});
