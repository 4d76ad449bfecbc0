/**
 * A server on a store of several shards, beside what the tests of the API ask of it, which run on
 * several shards too (`npm run test:shards`). On Citus a shard moves to another node meanwhile.
 */
import pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createAgent } from "../../../sdk/typescript/agent.ts";
import { type Client, createClient } from "../../../sdk/typescript/client.ts";
import { partitionOf, shardOf } from "../../../server/store/partition.ts";
import { DATABASE_SCHEMA } from "../../../server/store/postgres/database-schema.ts";
import { citusNodes, listShards, moveSchema } from "../../../server/store/postgres/distribute.ts";
import { silentLog } from "../../support/agent-script.ts";
import { citusUrl } from "../../support/citus.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";
import { createShardsDatabase } from "../../support/opened-postgres.ts";
import type { TestDatabase } from "../../support/postgres.ts";
import { testShards } from "../../support/test-shards.ts";
import { until } from "../../support/until.ts";

/** On Citus without DROVER_SHARDS there are no several shards. */
const count = citusUrl === undefined ? 4 : testShards;

let database: TestDatabase;
let server: TestServer;
let client: Client;
let agent: ReturnType<typeof createAgent>;

beforeAll(async () => {
  database = await createShardsDatabase(count);
  server = await startDroverServer(database.connectionString);
  const { address } = server;
  client = createClient({ address });
  const handlers = { work: async () => ({ ok: true }) };
  agent = createAgent({ address, id: "worker", handlers, log: silentLog });
  agent.start();
  await client.registerWorkflow({ workflow: "trip", steps: ["a", "b", "c"].map(stepOf) });
});
afterAll(async () => {
  await agent?.stop();
  client?.close();
  await server?.stop();
  await database?.drop();
});

function stepOf(id: string, at: number, ids: readonly string[]) {
  const before = ids[at - 1];
  return { id, task: "work", needs: before === undefined ? [] : [before] };
}

const shardOfRun = (runId: string) => shardOf(partitionOf(0, runId), count);

it("a run that SQL puts into the inbox starts, wherever its key leads", async () => {
  const user = new pg.Client({ connectionString: database.connectionString });
  await user.connect();
  const keys = Array.from({ length: 16 }, (_, n) => `of-sql-${n}`);
  for (const key of keys)
    await user.query("select drover.schedule('default', 'trip', '{}', $1)", [key]);
  await user.end();
  const found = await Promise.all(
    keys.map((key) =>
      until(`the run of ${key} has started`, () => client.getRun({ key }).catch(() => null)),
    ),
  );
  const runs = await Promise.all(found.map(({ run }) => waitEnd(run.runId)));
  expect(new Set(runs.map(({ state }) => state))).toEqual(new Set(["COMPLETED"]));
  expect(new Set(runs.map(({ runId }) => shardOfRun(runId))).size).toBeGreaterThan(1);
});

it("all runs complete while a shard moves from node to node", async (context) => {
  if (citusUrl === undefined) context.skip("only Citus has nodes: DROVER_CITUS names no cluster");
  const [of] = await listShards(database.connectionString, DATABASE_SCHEMA);
  const nodes = await citusNodes(database.connectionString);
  const away = nodes.find(({ isCoordinator, port }) => !isCoordinator && port !== of?.port);
  if (!of || !away) throw new Error("the cluster needs two workers");
  let isMoving = true;
  const started: string[] = [];
  const load = async (): Promise<void> => {
    while (isMoving || started.length < 100)
      started.push((await client.schedule({ workflow: "trip" })).runId);
  };
  const loads = Array.from({ length: 5 }, load);
  await moveSchema(database.connectionString, away, of.schema);
  const moved = await listShards(database.connectionString, DATABASE_SCHEMA);
  expect(moved[0]).toMatchObject({ host: away.host, port: away.port });
  await moveSchema(database.connectionString, of, of.schema);
  isMoving = false;
  await Promise.all(loads);
  const runs = await Promise.all(started.map((runId) => waitEnd(runId)));
  expect(new Set(runs.map(({ state }) => state))).toEqual(new Set(["COMPLETED"]));
  expect(new Set(runs.map(({ runId }) => shardOfRun(runId))).size).toBe(count);
});

function waitEnd(runId: string) {
  return client.waitRun(runId, { signal: AbortSignal.timeout(60_000) });
}
