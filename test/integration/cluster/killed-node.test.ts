/**
 * A node of a Citus cluster that is killed and comes back, while runs start and proceed in all
 * shards; while it is away, the servers are restarted. It needs a cluster of this machine that no
 * other test uses meanwhile:
 *
 *     DROVER_CITUS=... DROVER_SHARDS=4 npx vitest run test/integration/cluster/killed-node.test.ts
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { partitionOf, shardOf } from "../../../server/store/partition.ts";
import { DATABASE_SCHEMA } from "../../../server/store/postgres/database-schema.ts";
import { listShards } from "../../../server/store/postgres/distribute.ts";
import { nodesHere, startNodes } from "../../support/citus-nodes.ts";
import { endsOf, startKeyedLoad } from "../../support/keyed-load.ts";
import { createShardsDatabase } from "../../support/opened-postgres.ts";
import type { TestDatabase } from "../../support/postgres.ts";
import { testShards } from "../../support/test-shards.ts";
import { obstacle, openTrip, type Trip } from "./fixture.ts";

/** Starts before the node is killed, while it is away, after a restart, and after it is back. */
const STARTS = 150;

let database: TestDatabase;
let trip: Trip;

beforeAll(async () => {
  if (obstacle) return;
  database = await createShardsDatabase(testShards);
  trip = await openTrip(database.connectionString);
});
afterAll(async () => {
  await trip?.close();
  await database?.drop();
});

const shardOfRun = (runId: string) => shardOf(partitionOf(0, runId), testShards);

it("all runs complete although a node is killed and restarted meanwhile", async (context) => {
  if (obstacle) context.skip(obstacle);
  const victim = await nodeWithoutFirstShard();
  const isLost = (runId: string) => victim.shards.has(shardOfRun(runId));
  const { client } = trip;
  const load = startKeyedLoad(client, trip.workflow, "before");
  try {
    await load.enough("before", STARTS);
    victim.kill();
    load.enter("away");
    await load.enough("away", STARTS, (runId) => !isLost(runId));
    await trip.stopServers();
    await trip.startServers();
    load.enter("restarted");
    await load.enough("restarted", STARTS, (runId) => !isLost(runId));
    const started = ["before", "away", "restarted"].flatMap(load.runs);
    const reachable = started.filter((runId) => !isLost(runId)).slice(0, 50);
    expect(await endsOf(client, reachable)).toEqual(new Set(["COMPLETED"]));

    await victim.restart();
    load.enter("back");
    await load.enough("back", STARTS, isLost);
  } finally {
    await load.end();
    await victim.restart();
  }
  // Calls without an answer are repeated, as all others are.
  expect(await endsOf(client, await load.repeat())).toEqual(new Set(["COMPLETED"]));
}, 300_000);

/** A worker with shards, and not with the first one. */
async function nodeWithoutFirstShard() {
  const shards = await listShards(database.connectionString, DATABASE_SCHEMA);
  const { data, nodes } = await nodesHere(database.connectionString);
  const homePort = shards[0]?.port;
  const node = nodes.find(
    ({ isCoordinator, port }) =>
      !isCoordinator && port !== homePort && shards.some((shard) => shard.port === port),
  );
  if (!node) throw new Error("each worker has the first shard, or none");
  return {
    shards: new Set(shards.flatMap(({ port }, number) => (port === node.port ? [number] : []))),
    kill: node.kill,
    restart: () => startNodes(data),
  };
}
