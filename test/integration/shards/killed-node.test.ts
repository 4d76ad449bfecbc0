/**
 * A node of a Citus cluster that is killed and comes back, while runs start and proceed in all
 * shards. It needs a cluster of this machine that no other test uses meanwhile:
 *
 *     DROVER_CITUS=... DROVER_SHARDS=4 npx vitest run test/integration/shards/killed-node.test.ts
 */
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createAgent } from "../../../sdk/typescript/agent.ts";
import { type Client, createClient } from "../../../sdk/typescript/client.ts";
import { partitionOf, shardOf } from "../../../server/store/partition.ts";
import { DATABASE_SCHEMA } from "../../../server/store/postgres/database-schema.ts";
import { citusNodes, listShards } from "../../../server/store/postgres/distribute.ts";
import { urlOn } from "../../../server/store/postgres/shard-address.ts";
import { silentLog } from "../../support/agent-script.ts";
import { citusUrl } from "../../support/citus.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";
import { createShardsDatabase } from "../../support/opened-postgres.ts";
import type { TestDatabase } from "../../support/postgres.ts";
import { testShards } from "../../support/test-shards.ts";
import { until } from "../../support/until.ts";

const obstacle =
  citusUrl === undefined
    ? "only Citus has nodes: DROVER_CITUS names no cluster"
    : testShards < 4 && "DROVER_SHARDS=4 gives each worker a shard";
const SERVERS = 2;
const LOADS = 8;
/** Starts before the node is killed, while it is away, and after it is back. */
const STARTS = 150;

let database: TestDatabase;
let servers: readonly TestServer[];
let client: Client;
let agent: ReturnType<typeof createAgent>;

beforeAll(async () => {
  if (obstacle) return;
  database = await createShardsDatabase(testShards);
  servers = await Promise.all(
    Array.from({ length: SERVERS }, () => startDroverServer(database.connectionString)),
  );
  const address = servers.map((server) => server.address).join(",");
  client = createClient({ address });
  const handlers = { work: async () => ({ ok: true }) };
  agent = createAgent({ address, id: "worker", handlers, log: silentLog });
  agent.start();
  await client.registerWorkflow({ workflow: "trip", steps: ["a", "b", "c"].map(stepOf) });
});
afterAll(async () => {
  await agent?.stop();
  client?.close();
  for (const server of servers ?? []) await server.stop();
  await database?.drop();
});

function stepOf(id: string, at: number, ids: readonly string[]) {
  const before = ids[at - 1];
  return {
    id,
    task: "work",
    timeouts: { heartbeat: "5s" },
    needs: before === undefined ? [] : [before],
  };
}

const shardOfRun = (runId: string) => shardOf(partitionOf(0, runId), testShards);

it("all runs complete although a node is killed and restarted meanwhile", async (context) => {
  if (obstacle) context.skip(obstacle);
  const victim = await nodeWithoutFirstShard();
  const lost = new Set(victim.shards);
  /** By key; null: not answered yet. */
  const started = new Map<string, string | null>();
  let phase = "before";
  let isLoading = true;
  const answeredIn = (name: string, of: (shard: number) => boolean) =>
    [...started].filter(
      ([key, runId]) => key.startsWith(name) && runId !== null && of(shardOfRun(runId)),
    ).length;
  const load = async (number: number): Promise<void> => {
    for (let n = 0; isLoading; n++) {
      const key = `${phase}-${number}-${n}`;
      started.set(key, null);
      await start(key, 3_000).catch(() => null);
    }
  };
  const start = async (key: string, ms: number) => {
    const signal = AbortSignal.timeout(ms);
    const { runId } = await client.schedule({ workflow: "trip", key }, { signal });
    const before = started.get(key);
    expect(before === null || before === runId, `${key} has begun two runs`).toBe(true);
    started.set(key, runId);
  };
  const loads = Array.from({ length: LOADS }, (_, number) => load(number));
  const enough = (name: string, of: (shard: number) => boolean) =>
    until(
      `${STARTS} runs ${name}`,
      () => Promise.resolve(answeredIn(name, of) >= STARTS || null),
      60_000,
    );

  try {
    await enough("before", () => true);
    victim.kill();
    phase = "away";
    await enough("away", (shard) => !lost.has(shard));
    const others = [...started.values()].flatMap((runId) => runId ?? []);
    const reachable = others.filter((runId) => !lost.has(shardOfRun(runId))).slice(0, 50);
    const ended = await Promise.all(reachable.map((runId) => waitEnd(runId)));
    expect(new Set(ended.map(({ state }) => state))).toEqual(new Set(["COMPLETED"]));

    await victim.restart();
    phase = "back";
    await enough("back", (shard) => lost.has(shard));
  } finally {
    isLoading = false;
    await victim.restart();
  }
  await Promise.all(loads);
  // Whoever got no answer asks again.
  for (const key of started.keys()) await start(key, 30_000);
  const runs = await Promise.all([...started.values()].map((runId) => waitEnd(runId ?? "")));
  expect(new Set(runs.map(({ state }) => state))).toEqual(new Set(["COMPLETED"]));
}, 300_000);

function waitEnd(runId: string) {
  return client.waitRun(runId, { signal: AbortSignal.timeout(120_000) });
}

/** A worker with shards, and not with the first one. */
async function nodeWithoutFirstShard() {
  const shards = await listShards(database.connectionString, DATABASE_SCHEMA);
  const nodes = await citusNodes(database.connectionString);
  const homePort = shards[0]?.port;
  const node = nodes.find(
    ({ isCoordinator, port }) =>
      !isCoordinator && port !== homePort && shards.some((shard) => shard.port === port),
  );
  if (!node) throw new Error("each worker has the first shard, or none");
  const folder = await dataFolder(urlOn(database.connectionString, node));
  const pidFile = join(folder, "postmaster.pid");
  if (!existsSync(pidFile)) throw new Error(`${folder} is not on this machine`);
  return {
    shards: shards.flatMap(({ port }, number) => (port === node.port ? [number] : [])),
    kill: () => process.kill(Number(readFileSync(pidFile, "utf8").split("\n")[0]), "SIGQUIT"),
    restart: () =>
      promisify(execFile)(process.execPath, [
        "test/support/citus-cluster.ts",
        "--data",
        dirname(folder),
      ]),
  };
}

async function dataFolder(url: string): Promise<string> {
  const one = new pg.Client({ connectionString: url });
  await one.connect();
  const { rows } = await one.query<{ data_directory: string }>("show data_directory");
  await one.end();
  return rows[0]?.data_directory ?? "";
}
