/** Runs and their steps: what one transaction has written the next one finds, or nothing of it. */

import { expect, test } from "vitest";
import type { RunEvent } from "../../server/core/model/event.ts";
import { movingSide } from "../../server/core/model/model.ts";
import { undoneBy, workflow } from "../support/core-world.ts";
import { named, WHOLE_RUN } from "../support/rows-to-load.ts";
import {
  cancel,
  claim,
  claimOne,
  insert,
  json,
  LATE,
  type Opened,
  pass,
  permanent,
  place,
  readRun,
  report,
  schedule,
  silence,
  success,
} from "./fixture.ts";

export function describeRuns(opened: Opened): void {
  test("a run is found as its first pass made it", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {}, b: { needs: ["a"] } }), { priority: 3 });
    const [head] = await store.transact({ name: "read" }, (tx) => tx.lockRuns([run.ref], true));
    const { namespaceId, definitionId } = run;
    expect(head).toMatchObject({ ...run.ref, namespaceId, definitionId, priority: 3 });
    expect(head?.run).toMatchObject({ version: 1, stepsLeft: 2, moving: 1, undosLeft: 0 });
    expect(head?.run.state.kind).toBe("RUNNING");
  });

  test("a step that nothing has happened to has no row", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {}, b: { needs: ["a"] } }));
    const { steps } = await readRun(store, run);
    expect([...steps.keys()]).toEqual([0]);
  });

  test("steps are loaded by their numbers, of several runs at once", async () => {
    const { store } = opened();
    const definition = workflow({ a: {}, b: {}, c: {} });
    const one = await schedule(store, definition);
    const two = await schedule(store, definition);
    const loaded = await store.transact({ name: "read" }, async (tx) => {
      await tx.lockRuns([one.ref, two.ref], true);
      return tx.loadSteps([
        { runId: one.ref.runId, ...named(2, 0, 7) },
        { runId: two.ref.runId, ...WHOLE_RUN },
      ]);
    });
    const numbers = (runId: string) => [...(loaded.get(runId)?.keys() ?? [])].sort();
    expect(numbers(one.ref.runId)).toEqual([0, 2]);
    expect(numbers(two.ref.runId)).toEqual([0, 1, 2]);
  });

  test("runs are locked in the order of their ids; unknown ones are left out", async () => {
    const { store } = opened();
    const definition = workflow({ a: {} });
    const one = await schedule(store, definition);
    const two = await schedule(store, definition);
    const elsewhere = { ...one.ref, partition: 254 };
    const locked = await store.transact({ name: "lock" }, (tx) =>
      tx.lockRuns([two.ref, one.ref], true),
    );
    expect(locked.map(({ runId }) => runId)).toEqual([one.ref.runId, two.ref.runId]);
    const none = await store.transact({ name: "lock" }, (tx) => tx.lockRuns([elsewhere], false));
    expect(none).toEqual([]);
  });

  test("a run that no transaction holds is locked without waiting", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {} }));
    const locked = await store.transact({ name: "lock" }, (tx) => tx.lockRuns([run.ref], false));
    expect(locked).toHaveLength(1);
  });

  test("passes over one run take turns, and each sees what the one before wrote", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {}, b: {}, c: { needs: ["a", "b"] } }));
    const granted = await claim(store, run);
    await Promise.all(granted.map((task) => pass(store, run, report(task, success))));
    const { run: after, steps } = await readRun(store, run);
    expect(after).toMatchObject({ version: 3, stepsLeft: 1, moving: 1 });
    expect(steps.get(2)?.forward.kind).toBe("READY");
  });

  test("a transaction that throws leaves nothing: no run, no step, no ready row", async () => {
    const { store } = opened();
    const placed = await place(store, workflow({ a: {} }));
    let ref = { runId: "", partition: 0 };
    const failed = store.transact({ name: "fails" }, async (tx) => {
      const run = await insert(tx, placed);
      ref = run.ref;
      throw new Error("no, after all");
    });
    await expect(failed).rejects.toThrow("no, after all");
    expect(await store.reads.findRun(placed.namespaceId, ref)).toBeNull();
    expect(await claim(store, placed)).toEqual([]);
    expect(
      (await store.pollQuery({ lanes: placed.lanes, runs: [ref], watermarks: [] })).lanes,
    ).toEqual([]);
  });

  test("a transaction that throws takes back its changes to runs that were there before", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {} }));
    const before = await readRun(store, run);
    const failed = store.transact({ name: "fails" }, async (tx) => {
      const { rows: ready } = await tx.lockReady(run.lanes.map((lane) => ({ lane, limit: 1 })));
      const [row] = ready;
      if (row) {
        const lease = { secret: "aa".repeat(16), session: "bb".repeat(16) };
        await tx.grant([{ ready: row, ...lease, agentId: "x", pollSeq: 1 }]);
      }
      throw new Error("no, after all");
    });
    await expect(failed).rejects.toThrow("no, after all");
    expect(await readRun(store, run)).toEqual(before);
  });

  test("a run that has ended is no longer open, and its end is stored", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {} }), { priority: 2 });
    await pass(store, run, report(await claimOne(store, run), success));
    const [open, ended] = await store.transact({ name: "read" }, async (tx) => [
      await tx.lockRuns([run.ref], true),
      await tx.endedRuns([run.ref]),
    ]);
    expect(open).toEqual([]);
    expect(ended).toMatchObject([{ ...run.ref, priority: 2, namespaceId: run.namespaceId }]);
    expect(ended?.[0]?.run).toMatchObject({
      state: { kind: "COMPLETED", reason: "DONE" },
      version: 2,
    });
  });

  test("a run that ends in its first pass is never open", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: { when: "false" }, b: { needs: ["a"] } }));
    const [open, ended] = await store.transact({ name: "read" }, async (tx) => [
      await tx.lockRuns([run.ref], true),
      await tx.endedRuns([run.ref]),
    ]);
    expect(open).toEqual([]);
    expect(ended?.[0]?.run).toMatchObject({ state: { kind: "COMPLETED" }, version: 1 });
    const { steps } = await readRun(store, run);
    expect([...steps.values()].map(({ forward }) => forward.kind)).toEqual(["SKIPPED", "SKIPPED"]);
    expect(await store.reads.findRun(run.namespaceId, run.ref)).toMatchObject({
      state: "COMPLETED",
      reason: "DONE",
      deadlineAt: null,
      endedAt: expect.any(Number),
    });
  });

  test("a run that is open is not among the ended ones", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {} }));
    expect(await store.transact({ name: "x" }, (tx) => tx.endedRuns([run.ref]))).toEqual([]);
  });

  test("the steps of a run that has ended can still be loaded", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {} }));
    await pass(store, run, report(await claimOne(store, run), success));
    expect((await readRun(store, run)).steps.get(0)).toMatchObject({
      forward: { kind: "SUCCEEDED" },
      strategies: [{ planned: 0, changed: false, effectStatus: "MADE" }],
      fence: 1,
      result: { fence: 1, kind: "perform", n: 0 },
    });
  });

  test("a step is moving on one side only, whatever its other rows hold", async () => {
    const { store } = opened();
    const run = await schedule(
      store,
      workflow({ a: { compensate: undoneBy("undo-a") }, b: { needs: ["a"] } }),
    );
    await pass(store, run, report(await claimOne(store, run), success));
    await pass(store, run, report(await claimOne(store, run), permanent));
    const undoing = (await readRun(store, run)).steps.get(0);
    expect(undoing?.forward).toEqual({ kind: "SUCCEEDED" });
    expect(undoing?.undo).toMatchObject({ kind: "READY", task: "compensate", fence: 2 });
    await claimOne(store, run);
    const leased = (await readRun(store, run)).steps.get(0);
    expect(leased && movingSide(leased)).toMatchObject({ side: "undo", state: { kind: "LEASED" } });
  });

  test("a step that turns from its next try to its undo in one pass changes lanes", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: { compensate: undoneBy("undo-a") } }));
    await pass(store, run, silence(await claimOne(store, run)), { agoMs: -60_000 });
    await pass(store, run, cancel(true), LATE);
    const { ready } = await claimOne(store, run);
    const { lane } = run.laneOf(0, "compensate", 0);
    expect(ready).toMatchObject({ task: "compensate", fence: 2, lane });
  });

  test("a run in each of its states is read back as it was written", async () => {
    const { store } = opened();
    const definition = workflow({
      a: { compensate: undoneBy("undo-a", { retry: [{ attempts: 1 }] }) },
      b: { needs: ["a"] },
    });
    const run = await schedule(store, definition, { input: json("{}") });
    const seen: string[] = [];
    const check = async (event: RunEvent): Promise<void> => {
      const { view } = await pass(store, run, event);
      const stored = await readRun(store, run);
      seen.push(stored.run.state.kind);
      expect(stored.run.state).toEqual(view.run.state);
      expect(stored.steps).toEqual(view.steps);
    };
    await check(report(await claimOne(store, run), success));
    const held = await claimOne(store, run);
    await check(cancel(true));
    await check(report(held, { kind: "cancelled", noEffect: true }));
    await check(report(await claimOne(store, run), permanent));
    await check(cancel(false));
    expect(seen).toEqual(["RUNNING", "STOPPING", "COMPENSATING", "ESCALATED", "CANCELLED"]);
  });
}
