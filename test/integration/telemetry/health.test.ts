/**
 * A server reports that it is degraded when no supervisor acts on what is due: here the only
 * supervisor is a real process that is suspended, and another server, which supervises nothing,
 * checks it.
 */
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../../server/clock.ts";
import { HEALTH_DEFAULTS } from "../../../server/config.ts";
import { startServer } from "../../../server/main.ts";
import { noneOverdue, type Overdue } from "../../../server/store/overdue.ts";
import { partitionsOf } from "../../../server/store/partition.ts";
import { createPostgresStore } from "../../../server/store/postgres/postgres-store.ts";
import type { Store } from "../../../server/store/store.ts";
import {
  createSupervisorHealth,
  healthOf,
  type SupervisorHealth,
} from "../../../server/supervisor/health.ts";
import { quietLog } from "../../support/control-plane.ts";
import { type ServerProcess, spawnDroverServer } from "../../support/drover-server.ts";
import { callJson, jsonAgent, listAt } from "../../support/json-call.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { until } from "../../support/until.ts";

let database: TestDatabase;
let store: Store;
let supervisor: ServerProcess;
let itself: SupervisorHealth;
let consistencyAgeMs: number;
let lines: { event: string; reasons?: readonly string[] }[];

beforeEach(async () => {
  database = await createTestDatabase();
  store = createPostgresStore({ connectionString: database.connectionString, log: quietLog });
  supervisor = await spawnDroverServer(database.connectionString);
  lines = [];
  consistencyAgeMs = 0;
  itself = createSupervisorHealth({
    store,
    clock: systemClock,
    log: pino({ level: "warn" }, { write: (line: string) => lines.push(JSON.parse(line)) }),
    partitions: () => partitionsOf(0),
    consistencyAgeMs: () => consistencyAgeMs,
    config: { ...HEALTH_DEFAULTS, overdueMs: 1_000 },
  });
});
afterEach(async () => {
  supervisor.child.kill("SIGCONT");
  supervisor.child.kill("SIGKILL");
  await store.close();
  await database.drop();
});

/** Polls until the health is this one. */
const healthIs = (status: "ok" | "degraded", reasons: RegExp) =>
  until(
    `the health is ${status}`,
    async () => {
      await itself.runOnce();
      const health = itself.health();
      const fits = health.status === status && reasons.test(health.reasons.join("\n"));
      return fits ? health : null;
    },
    30_000,
  );

async function leaseATask(): Promise<void> {
  await callJson(supervisor.address, "SchedulerService/Schedule", {
    definition: {
      workflow: "short",
      steps: [{ id: "a", timeouts: { heartbeat: "2s" }, task: { name: "work", queue: "default" } }],
    },
  });
  const polled = await callJson(supervisor.address, "AgentService/PollTask", {
    agent: jsonAgent("silent"),
    pollSeq: "1",
    queues: [{ name: "default" }],
    maxTasks: 1,
    wait: "10s",
  });
  expect(listAt(polled.body, "tasks")).toHaveLength(1);
}

describe("a control plane whose only supervisor is suspended", () => {
  it("is degraded while it does, and no longer once it continues", async () => {
    await leaseATask();
    await itself.runOnce();
    expect(itself.health()).toEqual({ status: "ok", reasons: [] });

    await supervisor.signal("SIGSTOP");
    const { reasons } = await healthIs("degraded", /overdue.*\n.*without owner/);
    expect(reasons[0]).toMatch(
      /^work is overdue by up to \d+ ms, 1000 ms are allowed \(1 of lease\)/,
    );
    expect(reasons[1]).toMatch(/^256 partitions of region "default" are without owner/);
    expect(lines.map(({ event }) => event)).toEqual(["health.degraded"]);

    await supervisor.signal("SIGCONT");
    await healthIs("ok", /^$/);
    expect(lines.map(({ event }) => event)).toEqual(["health.degraded", "health.ok"]);
  }, 60_000);

  it("is degraded while no round of its consistency check ends, whatever else is well", async () => {
    consistencyAgeMs = HEALTH_DEFAULTS.consistencyLateMs;
    await itself.runOnce();
    expect(itself.health().status).toBe("ok");
    consistencyAgeMs++;
    await itself.runOnce();
    expect(itself.health().status).toBe("degraded");
    expect(lines.map(({ event }) => event)).toEqual(["health.degraded"]);
  });

  it("reports it at /healthz of the server itself, with 200", async () => {
    const { status, body } = await fetch(`http://${supervisor.address}/healthz`).then(
      async (response) => ({ status: response.status, body: await response.json() }),
    );
    expect({ status, body }).toEqual({ status: 200, body: { status: "ok", reasons: [] } });
  });
});

it("asks each server for the consistency check of its own", async () => {
  const health = { consistencyLateMs: -1, scanEveryMs: 100 };
  const of = { kind: "url", url: database.connectionString } as const;
  const log = { level: "silent" } as const;
  const server = await startServer({ address: "127.0.0.1:0", database: of, log, health });
  try {
    const sentText = async () => (await fetch(`http://${server.address}/healthz`)).text();
    // This one allows no age of a round, and is sent calls as ever.
    await expect
      .poll(sentText, { timeout: 20_000 })
      .toMatch(/consistency check began \d+ minutes ago/);
    expect((await fetch(`http://${server.address}/readyz`)).status).toBe(200);
    const other = await fetch(`http://${supervisor.address}/healthz`);
    expect(await other.json()).toEqual({ status: "ok", reasons: [] });
  } finally {
    await server.stop();
  }
}, 40_000);

describe("the health", () => {
  const nothing: Overdue = { now: 10_000, rows: noneOverdue(), oldestAt: null, unowned: [] };
  const unowned = [{ region: "eu", partitions: 3 }];

  const since = (unownedMs: number, consistencyAgeMs = 0) => ({ unownedMs, consistencyAgeMs });

  it("is ok when nothing is overdue and everything owned, or not owned for a short time only", () => {
    expect(healthOf(nothing, since(0), HEALTH_DEFAULTS)).toEqual({ status: "ok", reasons: [] });
    expect(healthOf({ ...nothing, unowned }, since(1_999), HEALTH_DEFAULTS).status).toBe("ok");
  });

  it("is degraded for each reason by itself, and reports it in numbers", () => {
    const late = { ...nothing, rows: { ...noneOverdue(), run: 2 }, oldestAt: 1_000 };
    expect(healthOf(late, since(0), HEALTH_DEFAULTS).reasons).toEqual([
      "work is overdue by up to 9000 ms, 5000 ms are allowed (2 of run): the owner of its partition does not process it, or not fast enough",
    ]);
    expect(healthOf({ ...nothing, unowned }, since(2_000), HEALTH_DEFAULTS).reasons).toEqual([
      '3 partitions of region "eu" are without owner: start drover supervisor --region eu, or see why its supervisor hangs',
    ]);
    expect(healthOf(nothing, since(0, 2 * 3_600_000), HEALTH_DEFAULTS).reasons).toEqual([
      "the last whole round of this server's consistency check began 120 minutes ago, 60 are allowed: see `consistency.failed` in its log, or start one more server to share the work",
    ]);
  });
});
