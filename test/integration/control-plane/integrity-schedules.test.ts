/**
 * The rows of schedules are broken by hand so that nothing will ever wake them. The sweep finds
 * each, sets its next moment, and tells it once; moments that came meanwhile are made up for.
 */
import { type Logger, pino } from "pino";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../../server/clock.ts";
import { createMeasures } from "../../../server/measures.ts";
import type { ScheduleRecord, ScheduleSpec } from "../../../server/store/schedules.ts";
import { createMetrics, type Metrics } from "../../../server/telemetry/metrics.ts";
import type { TestPlane } from "../../support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { chain, type Hand, openHand, openQuietPlane } from "./fixture.ts";

const HOUR = 3_600_000;
/** Moments are half an hour away from now: no test comes near to one. */
const OFFSET = (Date.now() + HOUR / 2) % HOUR;
let database: TestDatabase;
let hand: Hand;
let plane: TestPlane;
let metrics: Metrics;
let lines: Record<string, unknown>[] = [];
let record: ScheduleRecord;
let made = 0;

beforeAll(async () => {
  database = await createTestDatabase();
  hand = await openHand(database.connectionString);
  const log: Logger = pino({ level: "error" }, { write: (line) => lines.push(JSON.parse(line)) });
  metrics = createMetrics();
  const measures = createMeasures(metrics, systemClock);
  plane = await openQuietPlane(database.connectionString, undefined, { log, measures });
  const { scheduler, namespace } = plane;
  await scheduler.registerWorkflow(namespace, { ...chain("a", 1), workflow: "etl" }, false);
  await plane.ownership.start();
});
beforeEach(async () => {
  lines = [];
  await hand.query("delete from schedule");
  const spec: ScheduleSpec = {
    calendar: { kind: "interval", everyMs: HOUR, offsetMs: OFFSET },
    ...{ workflow: "etl", version: 0, input: null, priority: 5, labels: {}, notify: null },
    ...{ concurrency: null, overlap: "allow-all", catchUpMs: 100 * HOUR, jitterMs: 60_000 },
  };
  const of = { namespace: plane.namespace, name: `schedule-${++made}` };
  await plane.scheduler.createSchedule(of, spec, null);
  record = await now();
});
afterAll(async () => {
  await plane?.close();
  await hand?.close();
  await database?.drop();
});

async function now(): Promise<ScheduleRecord> {
  const found = await plane.store.schedules.find(plane.namespace.id, `schedule-${made}`);
  if (!found) throw new Error("the schedule is gone");
  return found;
}

const change = (what: string) =>
  hand.query(`update schedule set ${what} where id = $1`, [record.id]);

/** One round that finds it, and one that finds nothing. */
async function swept(): Promise<void> {
  expect(await plane.sweep.roundOnce()).toBe(1);
  expect(await plane.sweep.roundOnce()).toBe(0);
  expect(lines).toMatchObject([
    {
      ...{ level: 50, event: "integrity", schedule: record.id },
      saw: `nothing would ever have woken the schedule "${record.name}" of namespace "default"`,
      did: expect.stringMatching(/^set its next moment.*This is a defect of Drover/),
    },
  ]);
}

describe("a schedule that nothing will wake", () => {
  it("gets the next moment of its calendar, with its jitter, when it has none", async () => {
    await change("wake_at = null, next_moment = null, next_at = null");
    await swept();
    expect(await now()).toMatchObject({ next: record.next, asleep: false });
    expect(await metrics.page()).toContain('drover_interventions_total{rule="integrity"} 1');
  });

  it("is woken again at the moment that its row still names", async () => {
    await change("wake_at = null");
    await swept();
    expect(await now()).toMatchObject({ next: record.next, asleep: false });
  });

  it("is woken for its moment and its jitter when its row says later", async () => {
    await change("wake_at = wake_at + interval '1 year'");
    await swept();
    expect(await now()).toMatchObject({ next: record.next, asleep: false });
  });

  it("makes up for the moments that came meanwhile", async () => {
    await change(
      `wake_at = null, next_at = next_at - interval '2 h', next_moment = next_moment - ${2 * HOUR}`,
    );
    await swept();
    expect(await now()).toMatchObject({ next: record.next, asleep: false });
    const fires = await plane.store.schedules.lastFires([record.id], 10);
    expect(fires.map(({ outcome }) => outcome)).toEqual(["started", "started"]);
  });
});

describe("a schedule that is as it should be", () => {
  it("is not doubted: not while it waits, is paused, or was deleted", async () => {
    const of = { namespace: plane.namespace, name: record.name };
    expect(await plane.sweep.roundOnce()).toBe(0);
    await plane.scheduler.pauseSchedule(of, "");
    expect(await plane.sweep.roundOnce()).toBe(0);
    await plane.scheduler.deleteSchedule(of);
    expect(await plane.sweep.roundOnce()).toBe(0);
    expect(lines).toEqual([]);
  });

  it("stays as it is when its calendar has ended, and nothing is told", async () => {
    const spec = `'{"kind": "cron", "cron": "0 0 30 2 *", "timeZone": "UTC"}'::jsonb`;
    await change(
      `wake_at = null, next_moment = null, next_at = null,
       spec = jsonb_set(spec::jsonb, '{calendar}', ${spec})::text`,
    );
    await plane.sweep.roundOnce();
    expect(await now()).toMatchObject({ next: null, asleep: true });
    expect(lines).toEqual([]);
  });
});
