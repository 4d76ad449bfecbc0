/** What an overview counts: exactly what a scan of the runs counts, each run once. */
import { expect, test } from "vitest";
import type { Outcome } from "../../../server/core/model/attempt.ts";
import {
  dayBefore,
  MINUTE_MS,
  minuteOf,
  OPEN_RUNS_COUNTED_MAX,
  type WorkflowRuns,
} from "../../../server/store/activity.ts";
import { ANY_RUN } from "../../../server/store/lists.ts";
import type { RunRecord } from "../../../server/store/reads.ts";
import type { Store } from "../../../server/store/store.ts";
import { tookQuantile } from "../../../server/store/took-buckets.ts";
import { workflow } from "../../support/core-world.ts";
import { countedRuns, scannedRuns } from "../../support/run-counts.ts";
import {
  cancel,
  claimOne,
  insert,
  LATE,
  newNamespace,
  type Opened,
  pass,
  permanent,
  place,
  report,
  type ScheduleOptions,
  schedule,
  silence,
  success,
} from "../fixture.ts";

const FIRST_MINUTE = 0;
const RUNS_MAX = 1_000;

/** Before and after housekeeping has added the counts up, they are what a scan counts. */
export async function expectCounted(store: Store, namespaceId: number): Promise<void> {
  const runs = await store.lists.runs(namespaceId, {
    filter: ANY_RUN,
    order: "created-desc",
    limit: RUNS_MAX,
    after: null,
  });
  expect(await countedRuns(store, namespaceId)).toEqual(scannedRuns(runs));
  while (await store.forgetOld(RUNS_MAX));
  expect(await countedRuns(store, namespaceId)).toEqual(scannedRuns(runs));
}

function sorted({ completedTook }: WorkflowRuns): readonly (readonly [number, number])[] {
  return [...completedTook].sort(([a], [b]) => a - b);
}

export function describeActivity(opened: Opened<Store>): void {
  const begin = (options: ScheduleOptions = {}) =>
    schedule(opened().store, workflow({ a: {} }), options);

  /** A run of one step that ends so. */
  async function end(outcome: Outcome, options: ScheduleOptions): Promise<void> {
    const { store } = opened();
    const run = await begin(options);
    await pass(store, run, report(await claimOne(store, run), outcome));
  }

  test("runs are counted in the minute in which they were accepted, and in that of their end", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    await end(success, { namespaceId });
    await end(success, { namespaceId, agoMs: 5 * MINUTE_MS });
    await end(permanent, { namespaceId });
    await pass(store, await begin({ namespaceId }), cancel(false));
    await begin({ namespaceId });
    await expectCounted(store, namespaceId);
    const ended = await store.operators.runCounts(namespaceId, FIRST_MINUTE);
    const sums = new Map<string, number>();
    for (const { event, runs } of ended) sums.set(event, (sums.get(event) ?? 0) + runs);
    expect(Object.fromEntries(sums)).toEqual({
      ACCEPTED: 5,
      COMPLETED: 2,
      FAILED: 1,
      CANCELLED: 1,
    });
  });

  test("counts of earlier minutes are left out, and those of other namespaces", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    await begin({ namespaceId, agoMs: 5 * MINUTE_MS });
    await begin();
    const { createdAt } = await startedNow(namespaceId);
    const since = minuteOf(createdAt);
    expect(await store.operators.runCounts(namespaceId, since)).toEqual([
      { minute: since, event: "ACCEPTED", runs: 1 },
    ]);
  });

  async function startedNow(namespaceId: number): Promise<RunRecord> {
    const { store } = opened();
    const { ref } = await begin({ namespaceId });
    const run = await store.reads.findRun(namespaceId, { runId: ref.runId });
    if (!run) throw new Error(`run ${ref.runId} is not there`);
    return run;
  }

  test("what a transaction wrote that was taken back is not counted", async () => {
    const { store } = opened();
    const placed = await place(store, workflow({ a: {} }));
    const failed = store.transact({ name: "failing" }, async (tx) => {
      await insert(tx, placed);
      throw new Error("not today");
    });
    await expect(failed).rejects.toThrow("not today");
    expect(await countedRuns(store, placed.namespaceId)).toEqual(new Map());
  });

  test("a transaction counts all the runs that it begins", async () => {
    const { store } = opened();
    const placed = await place(store, workflow({ a: {} }));
    await store.transact({ name: "many" }, async (tx) => {
      for (let n = 0; n < 20; n++) await insert(tx, placed, { workflow: `w-${n % 3}` });
    });
    await expectCounted(store, placed.namespaceId);
  });

  test("two that add counts up at the same time lose none, and count none twice", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    for (let n = 0; n < 10; n++) await begin({ namespaceId });
    await Promise.all([store.forgetOld(3), store.forgetOld(3), store.forgetOld(3)]);
    await expectCounted(store, namespaceId);
  });

  test("workflows of which runs did not complete are named, those with most first", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    await end(success, { namespaceId, workflow: "good" });
    await end(success, { namespaceId, workflow: "mixed" });
    await end(permanent, { namespaceId, workflow: "mixed" });
    for (let n = 0; n < 2; n++) await end(permanent, { namespaceId, workflow: "bad" });
    await pass(store, await begin({ namespaceId, workflow: "bad" }), cancel(false));
    const none = { COMPLETED: 0, FAILED: 0, COMPENSATED: 0, CANCELLED: 0 };
    const bad = { workflow: "bad", ends: { ...none, FAILED: 2, CANCELLED: 1 } };
    const mixed = { workflow: "mixed", ends: { ...none, COMPLETED: 1, FAILED: 1 } };
    const named = (limit: number) =>
      store.operators.unsuccessfulWorkflows(namespaceId, FIRST_MINUTE, limit);
    expect(await named(5)).toEqual([bad, mixed]);
    expect(await named(1)).toEqual([bad]);
  });

  test("ended runs of a workflow are counted by state, with how long those took that completed", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    const mixed = { namespaceId, workflow: "mixed" };
    for (let n = 0; n < 9; n++) await end(success, mixed);
    await end(success, { ...mixed, agoMs: 60 * MINUTE_MS });
    await end(permanent, mixed);
    await pass(store, await begin(mixed), cancel(false));
    await end(success, { namespaceId, workflow: "good" });
    await end(success, { workflow: "mixed" });
    const read = () =>
      store.operators.workflowRuns(namespaceId, ["good", "mixed", "none"], FIRST_MINUTE);
    const before = await read();
    const {
      mixed: of,
      good,
      ...others
    } = Object.fromEntries(before.map((one) => [one.workflow, one]));
    expect(others).toEqual({});
    expect(good).toMatchObject({ ends: { COMPLETED: 1 }, lastFailureAt: null });
    expect(of?.ends).toEqual({ COMPLETED: 10, FAILED: 1, COMPENSATED: 0, CANCELLED: 1 });
    expect(of?.lastFailureAt).toBeCloseTo(await store.operators.now(), -4);
    const took = of?.completedTook ?? new Map();
    expect(tookQuantile(took, 0.5)).toBeLessThan(10_000);
    // 60 minutes, within 10 %.
    expect(tookQuantile(took, 0.95)).toBeGreaterThan(54 * MINUTE_MS);
    expect(tookQuantile(took, 0.95)).toBeLessThan(66 * MINUTE_MS);

    const byName = (runs: typeof before) =>
      new Map(runs.map((one) => [one.workflow, { ...one, completedTook: sorted(one) }]));
    while (await store.forgetOld(RUNS_MAX));
    expect(byName(await read())).toEqual(byName(before));
    await end(success, mixed);
    const [more] = await store.operators.workflowRuns(namespaceId, ["mixed"], FIRST_MINUTE);
    expect(more?.ends.COMPLETED).toBe(11);
    while (await store.forgetOld(RUNS_MAX, { runCountsMs: -2 * MINUTE_MS }));
    expect(await read()).toEqual([]);
  });

  test("runs of hours before are left out of the counts of a workflow", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    await end(success, { namespaceId, workflow: "w" });
    const now = await store.operators.now();
    const since = (at: number) => store.operators.workflowRuns(namespaceId, ["w"], at);
    expect(await since(dayBefore(now))).toHaveLength(1);
    while (await store.forgetOld(RUNS_MAX));
    expect(await since(dayBefore(now))).toHaveLength(1);
    expect(await since(now + 60 * MINUTE_MS)).toEqual([]);
  });

  test("open runs are counted by their state, of a namespace as the cluster's are", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    await end(permanent, { namespaceId });
    await begin({ namespaceId });
    await begin({ namespaceId });
    await pass(store, await begin({ namespaceId }), { kind: "pause", note: "" });
    const counted = await store.operators.openRuns(namespaceId);
    expect(counted.openRuns).toEqual(
      new Map([
        ["RUNNING", 2],
        ["PAUSED", 1],
      ]),
    );
    expect(counted.allCounted).toBe(true);
    expect(await store.operators.cluster(namespaceId)).toMatchObject(counted);
  });

  test("all open runs of a namespace are counted, more than of one partition", async () => {
    const { store } = opened();
    const placed = await place(store, workflow({ a: {} }));
    const many = OPEN_RUNS_COUNTED_MAX + 1;
    await store.transact({ name: "many" }, async (tx) => {
      for (let n = 0; n < many; n++) await insert(tx, placed);
    });
    const counted = await store.operators.cluster(placed.namespaceId);
    expect(counted).toMatchObject({ openRuns: new Map([["RUNNING", many]]), allCounted: true });
  });

  test("interventions are counted by their rule, from a time on", async () => {
    const { store } = opened();
    const run = await begin();
    await pass(store, run, silence(await claimOne(store, run)), LATE);
    const count = (since: number) => store.operators.countInterventions(run.namespaceId, since);
    const counted = await count(FIRST_MINUTE);
    expect([...counted.values()]).toEqual([1]);
    expect((await count((await store.operators.now()) + 2 * 3_600_000)).size).toBe(0);
    expect((await store.operators.countInterventions(await newNamespace(store), 0)).size).toBe(0);
  });

  test("counts are stored for 26 hours, or as long as housekeeping is set to", async () => {
    const { store } = opened();
    const { namespaceId } = await begin();
    const old = await begin({ namespaceId, agoMs: 26 * 60 * MINUTE_MS + 2 * MINUTE_MS });
    expect((await countedRuns(store, old.namespaceId)).size).toBe(2);
    while (await store.forgetOld(RUNS_MAX));
    expect((await countedRuns(store, namespaceId)).size).toBe(1);
    while (await store.forgetOld(RUNS_MAX, { runCountsMs: -2 * MINUTE_MS }));
    expect((await countedRuns(store, namespaceId)).size).toBe(0);
  });
}
