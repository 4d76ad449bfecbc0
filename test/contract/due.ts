/** Due rows: timers whose time has come, in the partitions of the query. */
import { describe, expect, test } from "vitest";
import type { EpochMs } from "../../server/core/model/attempt.ts";
import type { Step, WaitingFor } from "../../server/core/model/model.ts";
import { type DueRef, dueRefOf, WHOLE_RANGE } from "../../server/store/due.ts";
import type { EngineStore, Granted } from "../../server/store/store.ts";
import { workflow } from "../support/core-world.ts";
import {
  claim,
  claimOne,
  failure,
  newSession,
  newUuid,
  type Opened,
  ownPartition,
  pass,
  readStep,
  report,
  type Scheduled,
  schedule,
  success,
} from "./fixture.ts";
import { beginAs, blankStep, passAs } from "./hand-made.ts";

const A_MINUTE_MS = 60_000;
const past = { agoMs: A_MINUTE_MS };

/** Moves the timer of a leased step into the past. */
async function moveWake(store: EngineStore, run: Scheduled, no: number): Promise<void> {
  const step = await readStep(store, run, no);
  if (step.forward.kind !== "LEASED") throw new Error(`step ${no} is ${step.forward.kind}`);
  const { grantedAt } = step.forward;
  const forward = { ...step.forward, wakeAt: grantedAt - A_MINUTE_MS };
  await passAs(store, run, { steps: [{ ...step, forward }] });
}

async function sendHeartbeatOf(
  store: EngineStore,
  run: Scheduled,
  { ready, secret, session }: Granted,
) {
  const { runId, step, fence } = ready;
  const report = { runId, step, fence, secret, progress: null, details: null };
  const agent = { namespaceId: run.namespaceId, session, agentId: "x", agentVersion: "1" };
  await store.heartbeat([{ ...agent, reports: [report] }]);
}

function waiting(no: number, on: WaitingFor, wakeAt: EpochMs): Step {
  return blankStep(no, { forward: { kind: "WAITING", on, wakeAt } });
}

export function describeDue(opened: Opened): void {
  test("a partition where nothing is due has a next due time", async () => {
    const { store } = opened();
    const partition = ownPartition();
    const run = await schedule(store, workflow({ a: {} }), { partition });
    const scan = await store.dueRows([partition], 10);
    const [row] = await store.transact({ name: "read" }, (tx) => tx.lockRuns([run.ref], true));
    expect(scan.due).toEqual([]);
    expect(scan.nextAt).toBeGreaterThan(scan.now);
    expect(row?.run.state).toMatchObject({ kind: "RUNNING" });
    expect(scan.nextAt).toBeLessThan(scan.now + 5 * A_MINUTE_MS + 1);
  });

  test("an empty partition has no next due time", async () => {
    const { store } = opened();
    expect(await store.dueRows([ownPartition()], 10)).toMatchObject({ due: [], nextAt: null });
    expect(await store.dueRows([], 10)).toMatchObject({ due: [], nextAt: null });
  });

  test("each kind of row comes due: ready, lease, backoff, run", async () => {
    const { store } = opened();
    const partition = ownPartition();
    const quick = { timeouts: { pickupMs: 1_000 } };
    const over = await schedule(store, workflow({ a: quick }, { timeoutMs: 30_000 }), {
      ...past,
      partition,
    });
    const run = await schedule(store, workflow({ b: {}, c: {} }), { ...past, partition });
    const [b, c] = await claim(store, run, { session: newSession() });
    if (!b || !c) throw new Error("two steps should be ready");
    await moveWake(store, run, b.ready.step);
    await pass(store, run, report(c, failure), past);
    const { due, now } = await store.dueRows([partition], 10);
    expect(due.map(({ kind, step }) => `${kind} ${step}`).sort()).toEqual([
      "backoff 1",
      "lease 0",
      "ready 0",
      "run -1",
    ]);
    for (const row of due) {
      const { ref } = row.kind === "lease" || row.kind === "backoff" ? run : over;
      expect(row).toMatchObject(ref);
      expect(row.wakeAt).toBeLessThanOrEqual(now);
      if (row.kind === "lease" || row.kind === "ready") expect(row.fence).toBe(1);
    }
  });

  describe("silent sessions", () => {
    const SILENT_AT_ONCE = { timeouts: { heartbeatMs: 0 } };
    const since = (partition: number, at: EpochMs) => ({
      ...WHOLE_RANGE,
      silenceCountsSince: new Map([[partition, at]]),
    });

    async function leased(step: object, partition: number) {
      const { store } = opened();
      const run = await schedule(store, workflow({ a: step }), { partition });
      return { store, run, granted: await claimOne(store, run, { session: newSession() }) };
    }

    test("a lease comes due when its session has been silent for longer than it allows", async () => {
      const partition = ownPartition();
      const { store, run, granted } = await leased(SILENT_AT_ONCE, partition);
      const { due } = await store.dueRows([partition], 10, since(partition, 0));
      expect(due).toMatchObject([
        { kind: "lease", runId: run.ref.runId, step: 0, fence: 1, wakeAt: granted.grantedAt },
      ]);
    });

    test("the shorter timeout counts, whichever lease the session was granted first", async () => {
      const { store } = opened();
      const partition = ownPartition();
      const silent: string[] = [];
      const grant = async (session: string, step: object) => {
        const run = await schedule(store, workflow({ a: step }), { partition });
        await claimOne(store, run, { session });
        if (step === SILENT_AT_ONCE) silent.push(run.ref.runId);
      };
      const one = newSession();
      const two = newSession();
      for (const step of [{}, SILENT_AT_ONCE]) await grant(one, step);
      for (const step of [SILENT_AT_ONCE, {}]) await grant(two, step);
      const { due } = await store.dueRows([partition], 10, since(partition, 0));
      expect(due.map(({ runId }) => runId).sort()).toEqual(silent.sort());
    });

    test("a heartbeat puts it off, and moves no page", async () => {
      const partition = ownPartition();
      const { store, run, granted } = await leased({}, partition);
      const before = await readStep(store, run, 0);
      await sendHeartbeatOf(store, run, granted);
      const { due, nextAt } = await store.dueRows([partition], 10, since(partition, 0));
      expect(due).toEqual([]);
      expect(nextAt).toBeGreaterThanOrEqual(granted.grantedAt + 30_000);
      expect(await readStep(store, run, 0)).toEqual(before);
    });

    test("silence counts only from when a server could have received a heartbeat", async () => {
      const partition = ownPartition();
      const { store, granted } = await leased(SILENT_AT_ONCE, partition);
      const later = granted.grantedAt + A_MINUTE_MS;
      const scan = await store.dueRows([partition], 10, since(partition, later));
      expect(scan.due).toEqual([]);
      expect(scan.nextAt).toBe(later);
      expect((await store.dueRows([partition], 10)).due).toEqual([]);
    });

    test("one whose agent knows that it should stop is ended by its grace, not by silence", async () => {
      const partition = ownPartition();
      const { store, run, granted } = await leased(SILENT_AT_ONCE, partition);
      const before = await readStep(store, run, 0);
      if (before.forward.kind !== "LEASED") throw new Error(`it is ${before.forward.kind}`);
      const by = granted.grantedAt + A_MINUTE_MS;
      const cancel = { kind: "received", cause: "run", by } as const;
      const forward = { ...before.forward, cancel, wakeAt: by };
      await passAs(store, run, { steps: [{ ...before, forward }] });
      const scan = await store.dueRows([partition], 10, since(partition, 0));
      expect(scan).toMatchObject({ due: [], nextAt: by });
    });
  });

  test("a lease that is past its time, stalled or cancelled comes due all the same", async () => {
    const { store } = opened();
    const partition = ownPartition();
    const late = { attempt: { timeouts: { attemptMs: 0 } }, stall: { timeouts: { stallMs: 0 } } };
    for (const step of [late.attempt, late.stall, {}]) {
      const run = await schedule(store, workflow({ a: step }), { ...past, partition });
      await sendHeartbeatOf(store, run, await claimOne(store, run, { session: newSession() }));
      const before = await readStep(store, run, 0);
      if (before.forward.kind !== "LEASED") throw new Error(`it is ${before.forward.kind}`);
      const { grantedAt } = before.forward;
      const cancel = { kind: "asked", cause: "run", at: grantedAt } as const;
      const requested = step === late.attempt || step === late.stall ? {} : { cancel };
      const forward = { ...before.forward, ...requested, wakeAt: grantedAt - A_MINUTE_MS };
      await passAs(store, run, { steps: [{ ...before, forward }] });
    }
    const { due } = await store.dueRows([partition], 10);
    expect(due.map(({ kind }) => kind)).toEqual(["lease", "lease", "lease"]);
  });

  test("where more is due than the limit, the next due time is now", async () => {
    const { store } = opened();
    const partition = ownPartition();
    const steps = [waiting(0, "signal", 1_000), waiting(1, "timer", 2_000)];
    await beginAs(store, steps, { partition });
    const { now, nextAt, due } = await store.dueRows([partition], 1);
    expect(due).toHaveLength(1);
    expect(nextAt).toBe(now);
  });

  test("a scan reports the time up to which it is complete", async () => {
    const { store } = opened();
    const partition = ownPartition();
    const steps = [waiting(0, "signal", 1_000), waiting(1, "timer", 2_000)];
    await beginAs(store, [...steps, waiting(2, "timer", 3_000)], { partition });
    const foundTo = async (limit: number) => (await store.dueRows([partition], limit)).foundTo;
    expect([await foundTo(1), await foundTo(2), await foundTo(3)]).toEqual([1_000, 2_000, 3_000]);
    const { foundTo: all, now } = await store.dueRows([partition], 4);
    expect(all).toBe(now);
  });

  test("a scan begins at the given time, and reports nothing that is farther ahead", async () => {
    const { store } = opened();
    const partition = ownPartition();
    const { now } = await store.dueRows([partition], 10);
    const soon = now + 5 * A_MINUTE_MS;
    // Each in a run of its own: a scan begins at pages.
    for (const step of [
      waiting(0, "signal", 1_000),
      waiting(1, "timer", 2_000),
      waiting(2, "timer", soon),
    ])
      await beginAs(store, [step], { partition });
    const scan = (since: number | null, aheadMs: number | null) =>
      store.dueRows([partition], 10, { since, aheadMs });
    const found = async (since: number | null) =>
      (await scan(since, null)).due.map(({ step }) => step);
    expect([await found(null), await found(2_000), await found(2_001)]).toEqual([[0, 1], [1], []]);
    expect((await scan(null, 10 * A_MINUTE_MS)).nextAt).toBe(soon);
    expect((await scan(null, A_MINUTE_MS)).nextAt).toBeNull();
  });

  test("excluded rows use up no part of the limit, each alone", async () => {
    const { store } = opened();
    const partition = ownPartition();
    const definition = workflow({ a: {}, b: {}, c: {} });
    const steps = [
      waiting(0, "signal", 1_000),
      waiting(1, "timer", 2_000),
      waiting(2, "callback", 3_000),
    ];
    const run = await beginAs(store, steps, { partition, definition });
    const refs = (await store.dueRows([partition], 10)).due.map(dueRefOf);
    const found = async (without: readonly DueRef[]) => {
      const scan = await store.dueRows([partition], 1, { ...WHOLE_RANGE, without });
      return scan.due.map(({ step }) => step);
    };
    expect(await found([])).toEqual([0]);
    expect(await found(refs.slice(0, 1))).toEqual([1]);
    expect(await found(refs.slice(0, 2))).toEqual([2]);
    // The run's own timer is another row, and so is a lease of the same step.
    const own: DueRef = { kind: "run", id: run.ref.runId, place: -1 };
    expect(await found([own, ...refs.slice(1)])).toEqual([0]);
    expect(await found([{ kind: "lease", id: run.ref.runId, place: 0 }])).toEqual([0]);
  });

  test("leases, ready rows and the timers of runs can be excluded", async () => {
    const { store } = opened();
    const partition = ownPartition();
    await schedule(store, workflow({ a: {} }), { partition, agoMs: 10 * A_MINUTE_MS });
    const due = async (without: readonly DueRef[]) => {
      const scan = await store.dueRows([partition], 10, { ...WHOLE_RANGE, without });
      return scan.due.map(dueRefOf);
    };
    const all = await due([]);
    expect(all.map(({ kind }) => kind)).toContain("ready");
    for (const ref of all)
      expect(await due([ref])).toEqual(all.filter(({ kind }) => kind !== ref.kind));
  });

  test("a step that waits comes due as what it waits for", async () => {
    const { store } = opened();
    const partition = ownPartition();
    const kinds = ["timer", "signal", "approval", "callback"] as const;
    const definition = workflow({ a: {}, b: {}, c: {}, d: {}, e: {} });
    const steps = kinds.map((on, no) => waiting(no, on, 1_000 + no));
    const undo = { kind: "BACKOFF", task: "verify", cause: "settle", wakeAt: 1_004 } as const;
    const all = [...steps, blankStep(4, { forward: { kind: "FAILED" }, undo })];
    const run = await beginAs(store, all, { partition, definition });
    const { due } = await store.dueRows([partition], 10);
    expect(due).toEqual(
      [...kinds, "backoff"].map((kind, step) => ({
        ...run.ref,
        kind,
        step,
        fence: 0,
        wakeAt: 1_000 + step,
        polled: false,
        lane: null,
        agentVersion: null,
      })),
    );
  });

  test("what a step waits for may change with its timer, and another step stays", async () => {
    const { store } = opened();
    const partition = ownPartition();
    const steps = [waiting(0, "signal", 1_000), waiting(1, "timer", 2_000)];
    const run = await beginAs(store, steps, { partition });
    await passAs(store, run, { steps: [waiting(0, "callback", 3_000)] });
    const { due } = await store.dueRows([partition], 10);
    expect(due.map(({ kind, step, wakeAt }) => [kind, step, wakeAt])).toEqual([
      ["timer", 1, 2_000],
      ["callback", 0, 3_000],
    ]);
    const resumed = { kind: "HELD", task: "perform" } as const;
    await passAs(store, run, { steps: [blankStep(0, { forward: resumed })] });
    expect((await store.dueRows([partition], 10)).due).toMatchObject([{ step: 1 }]);
  });

  test("the earliest come first, and no more than asked for", async () => {
    const { store } = opened();
    const partition = ownPartition();
    const made: Scheduled[] = [];
    for (const agoMs of [700_000, 900_000, 600_000, 800_000])
      made.push(await schedule(store, workflow({ a: {} }), { partition, agoMs }));
    const { due } = await store.dueRows([partition], 3);
    const order = [1, 3, 0].map((at) => made[at]?.ref.runId);
    expect(due.map(({ runId }) => runId)).toEqual(order);
  });

  test("what is due in one partition is not seen from another", async () => {
    const { store } = opened();
    const one = ownPartition();
    const two = ownPartition();
    const agoMs = 400_000;
    await schedule(store, workflow({ a: {} }), { partition: one, agoMs });
    await schedule(store, workflow({ a: {} }), { partition: two, agoMs });
    const scan = async (of: number[]) =>
      (await store.dueRows(of, 10)).due.map(({ partition }) => partition).sort((a, b) => a - b);
    expect(await scan([two])).toEqual([two]);
    expect(await scan([one, two])).toEqual([one, two]);
  });

  test("a timer that was moved comes due at its new time", async () => {
    const { store } = opened();
    const partition = ownPartition();
    const run = await schedule(store, workflow({ a: {} }), { partition, agoMs: 400_000 });
    const polled = { kind: "ready-timer", step: 0, fence: 1, polled: true } as const;
    await pass(store, run, polled);
    const scan = await store.dueRows([partition], 10);
    expect(scan.due).toEqual([]);
    expect(scan.nextAt).toBeGreaterThan(scan.now + 200_000);
  });

  test("what has ended is due no more", async () => {
    const { store } = opened();
    const partition = ownPartition();
    const run = await schedule(store, workflow({ a: {} }), { partition, agoMs: 400_000 });
    await pass(store, run, report(await claimOne(store, run), success));
    expect(await store.dueRows([partition], 10)).toMatchObject({ due: [], nextAt: null });
  });

  test("a ready row knows whether its lane is polled", async () => {
    const { store } = opened();
    const partition = ownPartition();
    const run = await schedule(store, workflow({ a: {} }), { partition, agoMs: 400_000 });
    expect((await store.dueRows([partition], 10)).due).toMatchObject([{ polled: false }]);
    const node = newUuid();
    await store.markPolled(node, run.lanes);
    await store.markPolled(node, run.lanes);
    expect((await store.dueRows([partition], 10)).due).toMatchObject([{ polled: true }]);
  });
}
