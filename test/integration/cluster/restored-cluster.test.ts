/**
 * A Citus cluster with runs under way is restored to a restore point, from base backups of its
 * nodes and their logs. What was acknowledged by then is there, what came later is forgotten and
 * may be called again, and all runs complete. The nodes stop meanwhile, so no other test may use
 * them:
 *
 *     DROVER_CITUS=... DROVER_SHARDS=4 npx vitest run \
 *       test/integration/cluster/restored-cluster.test.ts
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import {
  type ClusterNode,
  type NodesHere,
  nodesHere,
  startNodes,
  stopNodes,
} from "../../support/citus-nodes.ts";
import { makeTestFolder } from "../../support/global-postgres.ts";
import { endsOf, startKeyedLoad } from "../../support/keyed-load.ts";
import { createShardsDatabase } from "../../support/opened-postgres.ts";
import type { TestDatabase } from "../../support/postgres.ts";
import { selectRunIds, testShards } from "../../support/test-shards.ts";
import { until } from "../../support/until.ts";
import { obstacle, openTrip, type Trip } from "./fixture.ts";

const run = promisify(execFile);
const POINT = "agreed";
const STARTS = 150;

let folder: string;
let database: TestDatabase;
let trip: Trip;
let cluster: NodesHere;
const receivers: ChildProcess[] = [];

beforeAll(async () => {
  if (obstacle) return;
  folder = makeTestFolder();
  database = await createShardsDatabase(testShards);
  cluster = await nodesHere(database.connectionString);
  trip = await openTrip(database.connectionString);
});
afterAll(async () => {
  if (obstacle) return;
  await trip?.close();
  for (const receiver of receivers) receiver.kill("SIGKILL");
  await stopNodes(folder);
  await startNodes(cluster.data);
  await database.drop();
  rmSync(folder, { recursive: true });
});

const bin = (program: string) => {
  const programs = join(cluster.data, "programs");
  return join(programs, readFileSync(join(programs, "bin"), "utf8"), program);
};
const logOf = ({ name }: ClusterNode) => join(folder, `log-of-${name}`);

it("a cluster is restored to a point, and goes on from there", async (context) => {
  if (obstacle) context.skip(obstacle);
  const { client, workflow } = trip;
  const load = startKeyedLoad(client, workflow, "before");
  await load.enough("before", STARTS);
  await Promise.all(cluster.nodes.map(backUp));
  const agreed = new Set(load.runs("before"));
  await coordinator().query(`select citus_create_restore_point('${POINT}')`);
  load.enter("after");
  await load.enough("after", STARTS);
  await load.end();
  const known = [...load.runs("before"), ...load.runs("after")].length;

  await trip.stopServers();
  await Promise.all(cluster.nodes.map(endLog));
  for (const receiver of receivers) receiver.kill("SIGKILL");
  await stopNodes(cluster.data);
  for (const node of cluster.nodes) await prepareRestore(node);
  symlinkSync(join(cluster.data, "programs"), join(folder, "programs"));
  await startNodes(folder);
  const restored = await storedRuns();
  expect([...agreed].filter((runId) => !restored.has(runId))).toEqual([]);
  expect(restored.size).toBeLessThan(known);

  await trip.startServers();
  // A key of before the point is answered with the same run.
  load.onlyKnows(agreed);
  expect(await endsOf(client, await load.repeat())).toEqual(new Set(["COMPLETED"]));
  const stored = await storedRuns();
  expect([...restored].filter((runId) => !stored.has(runId))).toEqual([]);
  expect(await endsOf(client, [...stored])).toEqual(new Set(["COMPLETED"]));
}, 300_000);

function coordinator(): ClusterNode {
  const [first] = cluster.nodes;
  if (!first?.isCoordinator) throw new Error("the coordinator is not the first node");
  return first;
}

/** Follows the log of the node from now on, and copies its files. */
async function backUp(node: ClusterNode): Promise<void> {
  mkdirSync(logOf(node));
  const follow = ["-D", logOf(node), "-d", node.url, "--no-loop"];
  receivers.push(spawn(bin("pg_receivewal"), follow, { stdio: ["ignore", "ignore", "inherit"] }));
  const isFollowed = async () => {
    const found = await node.query(
      "select from pg_stat_replication where application_name = 'pg_receivewal' and state = 'streaming'",
    );
    return found.length > 0 || null;
  };
  await until(`the log of ${node.name} is followed`, isFollowed);
  await run(bin("pg_basebackup"), [
    ...["-D", join(folder, node.name), "-d", node.url],
    ...["--wal-method=none", "--checkpoint=fast", "--no-sync"],
  ]);
}

/** Resolves when all that the node has written until now is in its log here. */
async function endLog(node: ClusterNode): Promise<void> {
  const [written] = await node.query("select pg_walfile_name(pg_switch_wal()) as file");
  const file = join(logOf(node), String(written?.file));
  await until(`${file} is there`, () => existsSync(file) || null);
}

/** The base backup, which reads the log up to the restore point when it starts. */
async function prepareRestore(node: ClusterNode): Promise<void> {
  const copy = join(folder, node.name);
  const settings = {
    restore_command: `cp ${logOf(node)}/%f %p`,
    recovery_target_name: POINT,
    recovery_target_action: "promote",
    // No session before the point is reached.
    hot_standby: "off",
  };
  appendFileSync(
    join(copy, "postgresql.conf"),
    Object.entries(settings)
      .map(([name, value]) => `${name} = '${value}'\n`)
      .join(""),
  );
  writeFileSync(join(copy, "recovery.signal"), "");
  const { uid, gid } = statSync(node.folder);
  if (process.getuid?.() === 0) await run("chown", ["-R", `${uid}:${gid}`, copy, logOf(node)]);
}

async function storedRuns(): Promise<ReadonlySet<string>> {
  const rows = await coordinator().query(selectRunIds);
  return new Set(rows.map(({ id }) => String(id)));
}
