// Two servers as real processes share the partitions; one is killed, frozen, or stopped cleanly.
import pg from "pg";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ServerProcess, spawnDroverServer } from "../../support/drover-server.ts";
import { callJson, jsonAgent, listAt, textAt } from "../../support/json-call.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { until } from "../../support/until.ts";
import { bothShare, owners, soleOwner, takenOverFrom } from "./partition-owners.ts";

let database: TestDatabase;
let db: pg.Client;
let servers: ServerProcess[];

beforeEach(async () => {
  database = await createTestDatabase();
  db = new pg.Client({ connectionString: database.connectionString });
  await db.connect();
  servers = [];
});
afterEach(async () => {
  for (const { child } of servers) {
    child.kill("SIGCONT");
    child.kill("SIGKILL");
  }
  await db.end();
  await database.drop();
});

async function start(): Promise<ServerProcess> {
  const server = await spawnDroverServer(database.connectionString);
  servers.push(server);
  return server;
}

describe("take-over of partitions", () => {
  it("a second server shares them, and takes them all when the first is killed", async () => {
    const first = await start();
    const firstNode = await soleOwner(db);
    await start();
    await bothShare(db);
    await first.signal("SIGKILL");
    const tookMs = await takenOverFrom(db, firstNode);
    expect(tookMs).toBeLessThan(10_000);
    const { rows } = await db.query("select from drover.writer where node = $1", [firstNode]);
    expect(rows).toEqual([]);
  });

  it("what the killed one watched is found by the other: a silent agent's task comes again", async () => {
    const first = await start();
    const firstNode = await soleOwner(db);
    const second = await start();
    await bothShare(db);
    const definition = {
      workflow: "watched",
      steps: [{ id: "a", task: { name: "a" }, timeouts: { heartbeat: "2s" } }],
    };
    for (let run = 0; run < 8; run++)
      await callJson(first.address, "SchedulerService/Schedule", { definition, key: `run-${run}` });
    const taken = await callJson(first.address, "AgentService/PollTask", {
      agent: jsonAgent("silent"),
      pollSeq: 1,
      maxTasks: 8,
    });
    expect(listAt(taken.body, "tasks")).toHaveLength(8);
    await first.signal("SIGKILL");
    await takenOverFrom(db, firstNode);
    const agent = jsonAgent("other");
    let pollSeq = 0;
    const again = new Set<string>();
    await until("every task comes again", async () => {
      pollSeq += 1;
      const polled = await callJson(second.address, "AgentService/PollTask", {
        agent,
        pollSeq,
        maxTasks: 8,
        wait: "1s",
      });
      for (const task of listAt(polled.body, "tasks")) again.add(textAt(task, "runId"));
      return again.size === 8 ? true : null;
    });
    const { rows } = await db.query<{ rule: string; node: string; epoch: string }>(
      "select rule, node, epoch from drover.intervention_view where fence = 1",
    );
    expect(rows.map(({ rule }) => rule)).toEqual(Array.from({ length: 8 }, () => "lease"));
    const [node] = (await owners(db)).keys();
    expect(new Set(rows.map((row) => row.node))).toEqual(new Set([node]));
    expect(Math.min(...rows.map(({ epoch }) => Number(epoch)))).toBeGreaterThan(1);
  });

  it("a frozen server is relieved, and does nothing more under its old name when it wakes", async () => {
    const first = await start();
    const firstNode = await soleOwner(db);
    await start();
    await bothShare(db);
    await first.signal("SIGSTOP");
    await takenOverFrom(db, firstNode);
    const before = await epochs();
    await first.signal("SIGCONT");
    // It comes back under a new name, which is how it is seen that it has given up the old one.
    await until("the woken server joins under a new id", async () => {
      const { rows } = await db.query<{ id: string }>(
        "select id from drover.node where last_seen_at > now() - interval '2 seconds' and id <> $1",
        [firstNode],
      );
      return rows.length === 2 ? true : null;
    });
    const stale = await db.query(
      "select from drover.intervention where node = $1 and acted_at > now() - interval '10 seconds'",
      [firstNode],
    );
    expect(stale.rows).toEqual([]);
    expect((await owners(db)).has(firstNode)).toBe(false);
    const after = await epochs();
    for (const [partition, epoch] of before)
      expect(after.get(partition)).toBeGreaterThanOrEqual(epoch);
  });

  it("a server that stops cleanly hands its partitions over without being fenced", async () => {
    const first = await start();
    const firstNode = await soleOwner(db);
    await start();
    await bothShare(db);
    await first.signal("SIGTERM");
    expect(first.child.exitCode).toBe(0);
    expect((await owners(db)).has(firstNode)).toBe(false);
    await takenOverFrom(db, firstNode);
  });
});

async function epochs(): Promise<ReadonlyMap<number, number>> {
  const { rows } = await db.query<{ partition: number; epoch: string }>(
    "select partition, epoch from drover.partition_lease",
  );
  return new Map(rows.map(({ partition, epoch }) => [partition, Number(epoch)]));
}
