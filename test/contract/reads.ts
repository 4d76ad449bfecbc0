/** One run, as people and the engine read it: by its id or its key, and whole. */
import { expect, test } from "vitest";
import type { RunState } from "../../server/core/model/model.ts";
import { itemOf, numberOf, stepKeyOf } from "../../server/core/model/step-key.ts";
import type { ItemPage, RunRecord } from "../../server/store/reads.ts";
import { undoneBy, workflow } from "../support/core-world.ts";
import {
  cancel,
  claimOne,
  hex,
  insert,
  json,
  newNamespace,
  newRunId,
  newUuid,
  type Opened,
  pass,
  permanent,
  place,
  report,
  SESSION,
  schedule,
  success,
} from "./fixture.ts";
import { beginAs, blankStep, DEADLINE, passAs } from "./hand-made.ts";

const nothing = { attempts: false, interventions: false, escalations: false };
export function describeReads(opened: Opened): void {
  test("a run is found by its id, with all that it was scheduled with", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {} }), {
      workflow: "holiday",
      version: 3,
      priority: 2,
      input: json("[1]"),
      labels: { city: "Bern" },
    });
    const { namespaceId, definitionId } = run;
    const { runId } = run.ref;
    const record = await store.reads.findRun(namespaceId, { runId });
    expect(record).toMatchObject({
      runId,
      namespaceId,
      definitionId,
      key: null,
      workflow: "holiday",
      version: 3,
      state: "RUNNING",
      reason: null,
      cancelNote: null,
      stateVersion: 1,
      priority: 2,
      labels: { city: "Bern" },
      input: json("[1]"),
      endedAt: null,
    });
    const week = 7 * 86_400_000;
    expect(record?.deadlineAt).toBe((record?.createdAt ?? 0) + week);
  });

  test("a run is found by the key that it was scheduled under", async () => {
    const { store } = opened();
    const placed = await place(store, workflow({ a: {} }));
    const { namespaceId } = placed;
    const run = await store.transact({ name: "schedule" }, async (tx) => {
      const runId = newRunId(tx.now, 255);
      const key = { namespaceId, key: "order-7", runId, digest: hex(32), keepMs: 60_000 };
      await tx.reserveKeys([key]);
      return insert(tx, placed, { key: "order-7", runId });
    });
    const { runId } = run.ref;
    const found = await store.reads.findRun(namespaceId, { key: "order-7" });
    expect(found).toMatchObject({ runId, key: "order-7" });
    expect(await store.reads.findRun(namespaceId, { key: "order-8" })).toBeNull();
    const elsewhere = await newNamespace(store);
    expect(await store.reads.findRun(elsewhere, { key: "order-7" })).toBeNull();
  });

  test("a run of another namespace is not found", async () => {
    const { store } = opened();
    const { ref } = await schedule(store, workflow({ a: {} }));
    const elsewhere = await newNamespace(store);
    expect(await store.reads.findRun(elsewhere, { runId: ref.runId })).toBeNull();
    expect(await store.reads.findRun(elsewhere, { runId: newUuid() })).toBeNull();
  });

  test("a run that stops has its reason, and no deadline any more", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {} }));
    await claimOne(store, run);
    await pass(store, run, cancel(true));
    expect(await store.reads.findRun(run.namespaceId, run.ref)).toMatchObject({
      state: "STOPPING",
      reason: "CANCELLED_BY_USER",
      cancelNote: "enough",
      stateVersion: 2,
      deadlineAt: null,
      endedAt: null,
    });
  });

  test("a run that has ended has the time of its end", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {} }));
    const now = await store.transact({ name: "end" }, async (tx) => tx.now);
    await pass(store, run, report(await claimOne(store, run), success));
    const record = await store.reads.findRun(run.namespaceId, run.ref);
    expect(record).toMatchObject({ state: "COMPLETED", reason: "DONE", stateVersion: 2 });
    expect(record?.endedAt).toBeGreaterThanOrEqual(now);
  });

  test("a run that ends is read with how it ends, and one that has ended with its warnings", async () => {
    const { store } = opened();
    const run = await beginAs(store, []);
    const found = () => store.reads.findRun(run.namespaceId, run.ref);
    const stopReason = { reason: "TIMED_OUT", undo: true } as const;
    const end = { kind: "COMPENSATED", reason: "TIMED_OUT" } as const;
    const suspended = { leftMs: 5_000, since: 1_000 };
    const stopped: readonly [RunState, RunRecord["reason"]][] = [
      [{ kind: "PAUSED", ...suspended, stopReason: null }, null],
      [{ kind: "PAUSED", ...suspended, stopReason }, "TIMED_OUT"],
      [{ kind: "ESCALATED", from: { kind: "RUNNING", ...suspended } }, null],
      [{ kind: "ESCALATED", from: { kind: "COMPENSATING", stopReason } }, "TIMED_OUT"],
      [{ kind: "ESCALATED", from: { kind: "FINISHING", end } }, "TIMED_OUT"],
      [{ kind: "FINISHING", end }, "TIMED_OUT"],
      [end, "TIMED_OUT"],
    ];
    for (const [state, reason] of stopped) {
      await passAs(store, run, { run: { state, warnings: 3 } });
      const { kind } = state;
      expect(await found()).toMatchObject({ state: kind, reason, warnings: 3, deadlineAt: null });
    }
  });

  test("items of a map come in their order, behind one of them, in these states alone", async () => {
    const { store } = opened();
    const next = stepKeyOf(1, 2);
    const backoff = { kind: "BACKOFF", task: "perform", cause: "retry" } as const;
    const later = { ...backoff, wakeAt: DEADLINE };
    const run = await beginAs(store, [
      blankStep(0, { forward: { kind: "MAPPING" } }),
      blankStep(stepKeyOf(0, 1), { forward: { kind: "FAILED" } }),
      blankStep(stepKeyOf(0, 2), { forward: { kind: "SUCCEEDED" } }),
      blankStep(stepKeyOf(0, 3), { forward: { kind: "FAILED" } }),
      blankStep(stepKeyOf(0, 4), { forward: later }),
      blankStep(next, { forward: { kind: "FAILED" } }),
    ]);
    const items = async (more: Partial<ItemPage>) => {
      const page = { map: 0, after: 0, limit: 10, forwards: null, ...more };
      const { steps } = await store.reads.runItems(run.ref.runId, page);
      return [...steps].map(([place, { forward }]) => [
        numberOf(place),
        itemOf(place),
        forward.kind,
      ]);
    };
    expect(await items({})).toEqual([
      [0, 1, "FAILED"],
      [0, 2, "SUCCEEDED"],
      [0, 3, "FAILED"],
      [0, 4, "BACKOFF"],
    ]);
    expect(await items({ after: 1, limit: 1 })).toEqual([[0, 2, "SUCCEEDED"]]);
    expect(await items({ after: 1, forwards: ["FAILED"] })).toEqual([[0, 3, "FAILED"]]);
    expect(await items({ forwards: ["LEASED", "BACKOFF"] })).toEqual([[0, 4, "BACKOFF"]]);
    expect(await items({ map: 1 })).toEqual([[1, 2, "FAILED"]]);
    expect(await items({ map: 2 })).toEqual([]);
  });

  test("a whole run has its steps as the rules see them", async () => {
    const { store } = opened();
    const definition = workflow({ a: { compensate: undoneBy("undo-a") }, b: { needs: ["a"] } });
    const run = await schedule(store, definition);
    await pass(store, run, report(await claimOne(store, run), success));
    const { view } = await pass(store, run, report(await claimOne(store, run), permanent));
    const detail = await store.reads.runDetail(run.ref.runId, nothing);
    expect(detail?.steps).toEqual(view.steps);
    expect(detail?.run).toMatchObject({ state: "COMPENSATING", reason: "STEP_FAILED" });
    expect(detail).toMatchObject({ attempts: [], interventions: [], escalations: [] });
    expect(detail).toMatchObject({ signals: [], decisions: [] });
  });

  test("attempts come in the order in which they ended", async () => {
    const { store, elapse } = opened();
    const run = await schedule(store, workflow({ a: {}, b: { needs: ["a"] } }));
    await pass(store, run, report(await claimOne(store, run), { kind: "released" }));
    await elapse(5);
    await pass(store, run, report(await claimOne(store, run), success));
    await elapse(5);
    await pass(store, run, report(await claimOne(store, run), success));
    const wanted = { ...nothing, attempts: true };
    const detail = await store.reads.runDetail(run.ref.runId, wanted);
    const attempts = detail?.attempts ?? [];
    expect(attempts.map(({ step, fence, outcome }) => [step, fence, outcome.kind])).toEqual([
      [0, 1, "released"],
      [0, 2, "success"],
      [1, 1, "success"],
    ]);
    expect(attempts[0]).toMatchObject({ kind: "perform", attempt: 1, agentId: "agent-1" });
  });

  test("a run is read with signs of its agents: polls of its lanes, heartbeats, progress", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {}, b: { needs: ["a"] } }));
    const { runId } = run.ref;
    const queued = await store.reads.runLiveness(runId);
    expect([...queued.polls]).toEqual([[0, null]]);
    expect([...queued.queues]).toEqual([[0, "default"]]);
    for (const node of [newUuid(), newUuid()]) await store.markPolled(node, run.lanes);
    const polled = await store.reads.runLiveness(runId);
    expect(polled.polls.get(0)).toBeGreaterThanOrEqual(queued.now);
    expect(polled.polls.get(0)).toBeLessThanOrEqual(polled.now);

    const { ready, secret } = await claimOne(store, run);
    const silent = await store.reads.runLiveness(runId);
    expect([...silent.polls]).toEqual([]);
    expect([...silent.queues]).toEqual([[0, "default"]]);
    expect(silent.leases.get(0)?.progress).toBeNull();
    const { step, fence } = ready;
    const report = { runId, step, fence, secret, progress: "page 7", details: null };
    const about = { session: SESSION, agentId: "agent-1", agentVersion: "1" };
    await store.heartbeat([{ ...about, namespaceId: run.namespaceId, reports: [report] }]);
    const renewed = await store.reads.runLiveness(runId);
    expect(renewed.leases.get(0)).toMatchObject({ progress: "page 7" });
    expect(renewed.leases.get(0)?.lastHeartbeatAt).toBeGreaterThanOrEqual(silent.now);
  });

  test("there are no signs of a run that is not there, and the time all the same", async () => {
    const { store } = opened();
    const now = await store.transact({ name: "read" }, async (tx) => tx.now);
    const signs = await store.reads.runLiveness(newUuid());
    expect([...signs.leases, ...signs.polls, ...signs.queues]).toEqual([]);
    expect(signs.now).toBeGreaterThanOrEqual(now);
  });

  test("there is no detail of a run that is not there", async () => {
    expect(await opened().store.reads.runDetail(newUuid(), nothing)).toBeNull();
  });
}
