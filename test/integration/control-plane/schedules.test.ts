/**
 * Schedules over real locks: each occurrence begins one run, whichever server owns the partition,
 * dies, or comes too late; and what becomes of occurrences while a run of the schedule is under
 * way.
 */
import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Overlap } from "../../../server/core/definition/calendar.ts";
import type { SupervisorActor } from "../../../server/scheduler/advance.ts";
import { ANY_RUN } from "../../../server/store/lists.ts";
import type { PartitionSession } from "../../../server/store/partition-session.ts";
import type {
  OccurrenceRecord,
  ScheduleRecord,
  ScheduleSpec,
} from "../../../server/store/schedules.ts";
import type { TestPlane } from "../../support/control-plane.ts";
import {
  chain,
  gatedStore,
  newAgent,
  newTask,
  openTwoServers,
  success,
  type TwoServers,
} from "./fixture.ts";
import type { Hand } from "./hand.ts";

const HOUR = 3_600_000;
/** Occurrences are half an hour away from now, before and after: no test comes near to one. */
const BEGAN = Math.floor(Date.now() / 1_000) * 1_000;
const gates = gatedStore();
let hand: Hand;
let here: TestPlane;
let there: TestPlane;
let close: TwoServers["close"];
const sessions: PartitionSession[] = [];

beforeAll(async () => {
  ({ hand, here, there, close } = await openTwoServers(gates.wrap));
});
afterEach(async () => {
  for (const session of sessions.splice(0)) await session.leave();
});
afterAll(() => close?.());

let made = 0;

interface Made {
  readonly id: string;
  readonly name: string;
  readonly task: string;
}

/** At an interval of an hour, whose next occurrence is the first of the last `late`. */
async function make(late: number, more: Partial<ScheduleSpec> = {}): Promise<Made> {
  const task = newTask();
  const name = `schedule-${++made}`;
  const { scheduler, namespace } = here;
  await scheduler.registerWorkflow(namespace, { ...chain(task, 1), workflow: name }, false);
  const spec: ScheduleSpec = {
    calendar: { kind: "interval", everyMs: HOUR, offsetMs: (BEGAN + HOUR / 2) % HOUR },
    workflow: name,
    version: 0,
    input: null,
    priority: 5,
    labels: {},
    notify: null,
    concurrency: null,
    overlap: "allow-all",
    catchUpMs: 100 * HOUR,
    jitterMs: 0,
    ...more,
  };
  await scheduler.createSchedule({ namespace, name }, spec, null);
  const { id } = await recordOf(name);
  await setBack(id, late);
  return { id, name, task };
}

/** As if no server had acted on so many occurrences. */
async function setBack(id: string, late: number): Promise<void> {
  await hand.query(
    `update drover.schedule set next_nominal_time = $2::bigint, next_at = to_timestamp($2::bigint / 1000.0),
       wake_at = to_timestamp($2::bigint / 1000.0)
     where id = $1`,
    [id, BEGAN + HOUR / 2 - late * HOUR],
  );
}

async function recordOf(name: string): Promise<ScheduleRecord> {
  const found = await here.store.schedules.find(here.namespace.id, name);
  if (!found) throw new Error(`there is no schedule ${name}`);
  return found;
}

/** An owner of its partition, and the actor that its batches name. */
async function ownerOf({ name }: Made): Promise<{ session: PartitionSession; actor: Actor }> {
  const { partition } = await recordOf(name);
  const session = await here.store.partitions.join({ node: randomUUID(), address: "test" });
  sessions.push(session);
  const [taken] = await session.takeOver([partition]);
  return { session, actor: { node: session.node, epoch: taken?.epoch ?? 0 } };
}
type Actor = SupervisorActor;

async function beginDue(plane: TestPlane, { id, name }: Made, actor: Actor) {
  const { partition } = await recordOf(name);
  return plane.beginDue({ id, partition }, actor);
}

/** The oldest first. */
async function occurrencesOf({ id }: Made): Promise<readonly OccurrenceRecord[]> {
  return (await here.store.schedules.lastOccurrences([id], 100)).toReversed();
}

async function runsOf({ name }: Made) {
  const filter = { ...ANY_RUN, labels: { "drover.schedule": name } };
  const page = { filter, order: "created-asc", limit: 100, after: null } as const;
  return here.store.lists.runs(here.namespace.id, page);
}

/** One row and one run for each of these occurrences, each run with the label of its own. */
async function expectOnceEach(schedule: Made, count: number): Promise<void> {
  const occurrences = await occurrencesOf(schedule);
  const runs = await runsOf(schedule);
  expect(occurrences.map(({ outcome }) => outcome)).toEqual(Array(count).fill("started"));
  expect(occurrences.map(({ runId }) => runId)).toEqual(runs.map(({ runId }) => runId));
  const times = occurrences.map(({ at }) => new Date(at).toISOString().replace(".000Z", "Z"));
  expect(runs.map(({ labels }) => labels["drover.nominal_time"])).toEqual(times);
}

describe("an occurrence that is due", () => {
  it("begins a run of the version that is the default then, and the schedule moves on", async () => {
    const schedule = await make(1);
    const other = { ...chain(schedule.task, 2), workflow: schedule.name };
    await here.scheduler.registerWorkflow(here.namespace, other, false);
    const { actor } = await ownerOf(schedule);
    expect(await beginDue(here, schedule, actor)).toEqual({ kind: "done", handled: 1 });
    await expectOnceEach(schedule, 1);
    expect(await occurrencesOf(schedule)).toMatchObject([{ cause: "calendar", actor }]);
    expect(await runsOf(schedule)).toMatchObject([{ version: 2, state: "RUNNING" }]);
    const [last] = await occurrencesOf(schedule);
    expect((await recordOf(schedule.name)).next?.at).toBe((last?.at ?? 0) + HOUR);
    expect(await beginDue(here, schedule, actor)).toEqual({ kind: "done", handled: 0 });
  });

  it("is found by the scan of its owner, and its task handed to an agent", async () => {
    const schedule = await make(1);
    const { partition } = await recordOf(schedule.name);
    const due = await here.store.dueRows([partition], 10);
    expect(due.schedules).toMatchObject([{ id: schedule.id, partition }]);
    const { actor } = await ownerOf(schedule);
    const taken = newAgent(here).take(schedule.task);
    await beginDue(here, schedule, actor);
    expect((await taken).labels).toMatchObject({ "drover.schedule": schedule.name });
  });

  it("fires once when a take-over comes in the middle: it waits for the batch", async () => {
    const schedule = await make(1);
    const former = await ownerOf(schedule);
    const gate = gates.stopNext("occurrences");
    const first = beginDue(here, schedule, former.actor);
    await gate.reached;
    const next = ownerOf(schedule);
    await hand.untilWaiting("writer");
    gate.open();
    expect(await first).toEqual({ kind: "done", handled: 1 });
    expect(await beginDue(there, schedule, (await next).actor)).toEqual({
      kind: "done",
      handled: 0,
    });
    await expectOnceEach(schedule, 1);
  });

  it("is nothing to an owner that was fenced: its successor fires it", async () => {
    const schedule = await make(1);
    const former = await ownerOf(schedule);
    const next = await ownerOf(schedule);
    expect(await beginDue(here, schedule, former.actor)).toEqual({ kind: "fenced" });
    expect(await occurrencesOf(schedule)).toEqual([]);
    expect(await beginDue(there, schedule, next.actor)).toEqual({ kind: "done", handled: 1 });
    await expectOnceEach(schedule, 1);
  });

  it("fires once though another server believes that it owns it: that one's write changes nothing", async () => {
    const schedule = await make(3);
    const { actor } = await ownerOf(schedule);
    const other = await here.store.partitions.join(node());
    sessions.push(other);
    const gate = gates.stopNext("occurrences");
    const first = beginDue(here, schedule, actor);
    await gate.reached;
    const second = beginDue(there, schedule, { node: other.node, epoch: actor.epoch + 1 });
    expect(await second).toEqual({ kind: "fenced" });
    gate.open();
    expect(await first).toEqual({ kind: "done", handled: 3 });
    await expectOnceEach(schedule, 3);
  });

  it("fires after a restart if the server died before its commit, and once", async () => {
    const schedule = await make(1);
    const former = await ownerOf(schedule);
    const gate = gates.stopNext("occurrences");
    const first = beginDue(here, schedule, former.actor).catch((error: Error) => error);
    await gate.reached;
    await hand.endIdleTransaction();
    const next = await ownerOf(schedule);
    expect(await occurrencesOf(schedule)).toEqual([]);
    expect(await beginDue(there, schedule, next.actor)).toEqual({ kind: "done", handled: 1 });
    gate.open();
    await first;
    await expectOnceEach(schedule, 1);
  });

  it("of a workflow that is gone is recorded with the reason", async () => {
    const schedule = await make(2);
    await hand.query("update drover.schedule set spec = replace(spec, $2, $3) where id = $1", [
      schedule.id,
      `"workflow":"${schedule.name}"`,
      `"workflow":"gone"`,
    ]);
    const { actor } = await ownerOf(schedule);
    expect(await beginDue(here, schedule, actor)).toEqual({ kind: "done", handled: 2 });
    const rows = await occurrencesOf(schedule);
    expect(rows.map(({ outcome }) => outcome)).toEqual(["refused", "refused"]);
    expect(rows[0]?.message).toContain('there is no workflow "gone"');
    expect((await recordOf(schedule.name)).next?.at).toBeGreaterThan(rows[1]?.at ?? 0);
  });
});

const node = () => ({ node: randomUUID(), address: "test" });

describe("occurrences that come late", () => {
  it("fire in their order within the catch-up window; those before it are recorded", async () => {
    const schedule = await make(30, { catchUpMs: 5 * HOUR });
    const { actor } = await ownerOf(schedule);
    await beginDue(here, schedule, actor);
    const [missed, ...fired] = await occurrencesOf(schedule);
    expect(fired).toHaveLength(5);
    expect(missed).toMatchObject({ outcome: "missed", runId: null, missed: { count: 25 } });
    expect(missed?.missed?.until).toBeLessThanOrEqual(fired[0]?.at ?? 0);
    const ats = fired.map(({ at }) => at);
    expect(ats).toEqual([...ats].sort((a, b) => a - b));
    expect(fired.map(({ runId }) => runId)).toEqual((await runsOf(schedule)).map((r) => r.runId));
  });

  it.for<[Overlap, readonly string[], readonly string[]]>([
    ["skip", ["started", "overlapped", "overlapped"], ["RUNNING"]],
    ["buffer-one", ["started", "started", "overlapped"], ["RUNNING", "PENDING"]],
    ["buffer-all", ["started", "started", "started"], ["RUNNING", "PENDING", "PENDING"]],
    ["allow-all", ["started", "started", "started"], ["RUNNING", "RUNNING", "RUNNING"]],
  ])("with the overlap policy %s are %j", async ([overlap, outcomes, states]) => {
    const schedule = await make(3, { overlap });
    const { actor } = await ownerOf(schedule);
    await beginDue(here, schedule, actor);
    expect((await occurrencesOf(schedule)).map(({ outcome }) => outcome)).toEqual(outcomes);
    expect((await runsOf(schedule)).map(({ state }) => state)).toEqual(states);
  });

  it.for<[Overlap, string]>([
    ["skip", ""],
    ["buffer-one", ", and another one waits"],
  ])("that are skipped say which run is still open, overlap %s", async ([overlap, end]) => {
    const schedule = await make(3, { overlap });
    const { actor } = await ownerOf(schedule);
    await beginDue(here, schedule, actor);
    const [started, , skipped] = await occurrencesOf(schedule);
    expect(skipped?.message).toBe(
      `overlap is ${overlap}, and the run ${started?.runId} is still open${end}`,
    );
  });

  it("with the overlap policy cancel-other end the run before, and the last one continues", async () => {
    const schedule = await make(3, { overlap: "cancel-other" });
    const { actor } = await ownerOf(schedule);
    await beginDue(here, schedule, actor);
    const states = async () => (await runsOf(schedule)).map(({ state }) => state);
    await expect
      .poll(states, { interval: 10, timeout: 5_000 })
      .toEqual(["CANCELLED", "CANCELLED", "RUNNING"]);
  });

  it("with buffer-all get their turns in the order of the occurrences", async () => {
    const schedule = await make(6, { overlap: "buffer-all" });
    const { actor } = await ownerOf(schedule);
    await beginDue(here, schedule, actor);
    const agent = newAgent(here);
    const order: string[] = [];
    for (let turn = 0; turn < 6; turn++) {
      const task = await agent.take(schedule.task);
      order.push(task.runId);
      await agent.report(task, success);
    }
    expect(order).toEqual((await occurrencesOf(schedule)).map(({ runId }) => runId));
  });
});

describe("a backfill", () => {
  const range = (occurrences: number) => ({ from: BEGAN - occurrences * HOUR, until: BEGAN });
  const of = ({ name }: Made) => ({ namespace: here.namespace, name });

  it("reports what it would do, and does it once, however often it is asked", async () => {
    const schedule = await make(0);
    const asked = { ...of(schedule), ...range(4), concurrency: 2 };
    const dry = await here.scheduler.backfillSchedule({ ...asked, dryRun: true });
    expect(dry).toMatchObject({ count: 4, next: null });
    expect(dry.occurrences.map(({ runId }) => runId)).toEqual([null, null, null, null]);
    expect(await occurrencesOf(schedule)).toEqual([]);
    const first = await here.scheduler.backfillSchedule({ ...asked, dryRun: false });
    expect(first.occurrences.map(({ created }) => created)).toEqual([true, true, true, true]);
    const again = await there.scheduler.backfillSchedule({ ...asked, dryRun: false });
    expect(again.occurrences.map(({ created }) => created)).toEqual([false, false, false, false]);
    expect(again.occurrences.map(({ runId }) => runId)).toEqual(
      first.occurrences.map((m) => m.runId),
    );
    await expectOnceEach(schedule, 4);
    const states = (await runsOf(schedule)).map(({ state }) => state);
    expect(states).toEqual(["RUNNING", "RUNNING", "PENDING", "PENDING"]);
  });

  it("beside the same occurrences leaves each with one run", async () => {
    const schedule = await make(4);
    const { actor } = await ownerOf(schedule);
    const asked = { ...of(schedule), ...range(6), concurrency: 10, dryRun: false };
    const gate = gates.stopNext("occurrences");
    const firing = beginDue(here, schedule, actor);
    await gate.reached;
    const filling = there.scheduler.backfillSchedule(asked);
    await hand.untilWaiting("from drover.schedule as s");
    gate.open();
    await firing;
    const { occurrences } = await filling;
    expect(occurrences.every(({ runId }) => runId !== null)).toBe(true);
    const rows = await occurrencesOf(schedule);
    expect(new Set(rows.map(({ at }) => at)).size).toBe(rows.length);
    expect(await runsOf(schedule)).toHaveLength(rows.length);
    expect(new Set(rows.map(({ cause }) => cause))).toEqual(new Set(["calendar", "backfill"]));
  });

  it("begins what was skipped, and refuses what is to come", async () => {
    const schedule = await make(3, { overlap: "skip" });
    const { actor } = await ownerOf(schedule);
    await beginDue(here, schedule, actor);
    const asked = { ...of(schedule), ...range(2), concurrency: 1 };
    await here.scheduler.backfillSchedule({ ...asked, dryRun: false });
    await expectOnceEach(schedule, 3);
    const future = { ...asked, until: BEGAN + HOUR, dryRun: true };
    await expect(here.scheduler.backfillSchedule(future)).rejects.toMatchObject({
      fields: [{ path: "end_time" }],
    });
  });
});

describe("a person's change of a schedule", () => {
  const of = ({ name }: Made) => ({ namespace: here.namespace, name });

  it("holds it: what passes meanwhile is recorded and gets no run", async () => {
    const schedule = await make(0);
    await here.scheduler.pauseSchedule(of(schedule), "holidays");
    await here.scheduler.pauseSchedule(of(schedule), "again");
    const { pause, partition } = await recordOf(schedule.name);
    expect(pause?.reason).toBe("holidays");
    await setBack(schedule.id, 5);
    await hand.query("update drover.schedule set wake_at = null where id = $1", [schedule.id]);
    expect((await here.store.dueRows([partition], 10)).schedules).toEqual([]);
    const { actor } = await ownerOf(schedule);
    expect(await beginDue(here, schedule, actor)).toEqual({ kind: "done", handled: 0 });
    await here.scheduler.resumeSchedule(of(schedule));
    await here.scheduler.resumeSchedule(of(schedule));
    expect(await occurrencesOf(schedule)).toMatchObject([
      { outcome: "paused", missed: { count: 5 } },
    ]);
    const { next, pause: left } = await recordOf(schedule.name);
    expect(left).toBeNull();
    expect(next?.at).toBe(BEGAN + HOUR / 2);
    expect(await runsOf(schedule)).toEqual([]);
  });

  it("begins a run now, once for each request", async () => {
    const schedule = await make(0, { overlap: "skip" });
    const first = await here.scheduler.triggerSchedule(of(schedule), "one");
    expect(first.created).toBe(true);
    const again = await there.scheduler.triggerSchedule(of(schedule), "one");
    expect(again).toEqual({ runId: first.runId, created: false });
    expect(await occurrencesOf(schedule)).toMatchObject([{ cause: "trigger", runId: first.runId }]);
    const second = here.scheduler.triggerSchedule(of(schedule), "two");
    await expect(second).rejects.toMatchObject({ reason: "CONCURRENCY_LIMIT" });
    const agent = newAgent(here);
    await agent.report(await agent.take(schedule.task), success);
    expect(await here.scheduler.triggerSchedule(of(schedule), "two")).toMatchObject({
      created: true,
    });
  });

  it("with another calendar leaves its past alone and continues from now", async () => {
    const schedule = await make(3);
    const { spec } = await recordOf(schedule.name);
    const calendar = { kind: "cron", cron: "0 9 * * *", timeZone: "Asia/Tokyo" } as const;
    await here.scheduler.updateSchedule(of(schedule), { ...spec, calendar });
    const { series, revision, next } = await recordOf(schedule.name);
    expect([series, revision]).toEqual([2, 2]);
    expect(next?.at).toBeGreaterThan(BEGAN);
    await here.scheduler.updateSchedule(of(schedule), { ...spec, calendar });
    expect((await recordOf(schedule.name)).revision).toBe(2);
  });

  it("that makes it is sent once; another one of its name is refused", async () => {
    const schedule = await make(0);
    const { spec } = await recordOf(schedule.name);
    const create = (given: ScheduleSpec) =>
      here.scheduler.createSchedule(of(schedule), given, null);
    expect(await create(spec)).toEqual({ created: false });
    await expect(create({ ...spec, priority: 1 })).rejects.toMatchObject({
      reason: "SCHEDULE_EXISTS",
    });
  });
});
