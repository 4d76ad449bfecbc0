/** Claims: ready rows in their order, each to one agent; and what a granted task carries. */

import { expect, test } from "vitest";
import { movingSide } from "../../server/core/model/model.ts";
import type { Watermark } from "../../server/store/watermarks.ts";
import { undoneBy, workflow } from "../support/core-world.ts";
import { named } from "../support/rows-to-load.ts";
import {
  cancel,
  claim,
  claimIn,
  claimOne,
  failure,
  insert,
  json,
  LATE,
  leaseOf,
  newNamespace,
  newSession,
  type Opened,
  pass,
  permanent,
  place,
  readStep,
  report,
  type Scheduled,
  SESSION,
  schedule,
  silence,
  success,
} from "./fixture.ts";

export function describeClaims(opened: Opened): void {
  test("a lane is served by priority, then by transaction, then in the order of writing", async () => {
    const { store } = opened();
    const definition = workflow({ a: { task: "t" }, b: { task: "t" } });
    const placed = await place(store, definition);
    const options = [{ priority: 9 }, {}, {}, { priority: 1 }];
    const runs: Scheduled[] = [];
    for (const each of options)
      runs.push(await store.transact({ name: "schedule" }, (tx) => insert(tx, placed, each)));
    const ids = runs.map(({ ref }) => ref.runId);
    const granted = await claim(store, placed);
    expect(granted.map(({ ready }) => `${ids.indexOf(ready.runId)}.${ready.step}`)).toEqual([
      "3.0",
      "3.1",
      "1.0",
      "1.1",
      "2.0",
      "2.1",
      "0.0",
      "0.1",
    ]);
  });

  test("a row that was made ready again comes after those that became ready before", async () => {
    const { store } = opened();
    const placed = await place(store, workflow({ a: {} }));
    const one = await store.transact({ name: "1" }, (tx) => insert(tx, placed));
    const [held] = await claim(store, placed);
    const two = await store.transact({ name: "2" }, (tx) => insert(tx, placed));
    if (!held) throw new Error("nothing was ready");
    await pass(store, one, report(held, { kind: "released" }));
    const again = await claim(store, placed);
    expect(again.map(({ ready }) => ready.runId)).toEqual([two.ref.runId, one.ref.runId]);
  });

  test("each lane of a claim has its own limit, and no other lane is touched", async () => {
    const { store } = opened();
    const run = await schedule(
      store,
      workflow({ a: { task: "x" }, b: { task: "x" }, c: { task: "y" }, d: { queue: "other" } }),
    );
    const [x = 0, y = 0] = run.lanes;
    const { rows } = await store.transact({ name: "read" }, (tx) =>
      tx.lockReady([
        { lane: x, limit: 1 },
        { lane: y, limit: 5 },
      ]),
    );
    expect(rows.map(({ lane, step }) => ({ lane, step }))).toEqual([
      { lane: x, step: 0 },
      { lane: y, step: 2 },
    ]);
  });

  test("a ready row has all that a lease is made of", async () => {
    const { store } = opened();
    const timeouts = { attemptMs: 60_000, heartbeatMs: 7_000, cancelMs: 3_000 };
    const run = await schedule(store, workflow({ a: { timeouts } }, { timeoutMs: 90_000 }), {
      priority: 4,
    });
    const { run: stored, steps } = await store.transact({ name: "read" }, async (tx) => ({
      run: (await tx.lockRuns([run.ref], true))[0]?.run,
      steps: await tx.loadSteps([{ runId: run.ref.runId, ...named(0) }]),
    }));
    const step = steps.get(run.ref.runId)?.get(0);
    const until = stored?.state.kind === "RUNNING" ? stored.state.deadline : null;
    const readyAt = step?.firstReadyAt;
    const { rows } = await store.transact({ name: "read" }, (tx) =>
      tx.lockReady([{ lane: run.lanes[0] ?? 0, limit: 1 }]),
    );
    expect(rows[0]).toEqual({
      ...run.ref,
      step: 0,
      lane: run.lanes[0],
      priority: 4,
      task: "perform",
      fence: 1,
      attempt: 1,
      readyAt,
      until,
      avoid: null,
      stallMs: null,
      ...timeouts,
      isFirstTry: true,
    });
    expect(step && movingSide(step)?.state).toMatchObject({ kind: "READY", until, alarms: 0 });
  });

  test("a grant turns the ready row into a lease of the session", async () => {
    const { store } = opened();
    const timeouts = { attemptMs: 60_000, heartbeatMs: 7_000, cancelMs: 3_000 };
    const run = await schedule(store, workflow({ a: { timeouts } }));
    const granted = await claimOne(store, run, { session: SESSION, pollSeq: 12, agentId: "maria" });
    expect(granted.attemptBy).toBe(granted.grantedAt + 60_000);
    expect(await leaseOf(store, run, 0)).toEqual({
      kind: "LEASED",
      task: "perform",
      fence: 1,
      attempt: 1,
      secret: granted.secret,
      session: SESSION,
      agentId: "maria",
      pollSeq: 12,
      grantedAt: granted.grantedAt,
      attemptBy: granted.attemptBy,
      heartbeatMs: 7_000,
      cancelMs: 3_000,
      stallMs: null,
      progressAt: granted.grantedAt,
      cancel: { kind: "none" },
      suspectAt: null,
      // No duration of its step is known: it is checked after half of its time.
      wakeAt: granted.grantedAt + 30_000,
    });
    expect(await claim(store, run)).toEqual([]);
  });

  test("an attempt may not run past what is left of its run", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {} }, { timeoutMs: 20_000 }));
    const granted = await claimOne(store, run);
    expect(granted.attemptBy).toBe(granted.ready.until);
    expect((await leaseOf(store, run, 0)).attemptBy).toBe(granted.ready.until);
  });

  test("a lease is checked first when its progress may have stalled", async () => {
    const { store } = opened();
    const timeouts = { heartbeatMs: 7_000, stallMs: 3_000 };
    const run = await schedule(store, workflow({ a: { timeouts } }));
    const granted = await claimOne(store, run);
    expect(granted.ready.stallMs).toBe(3_000);
    const { stallMs, progressAt, wakeAt } = await leaseOf(store, run, 0);
    expect({ stallMs, progressAt, wakeAt }).toEqual({
      stallMs: 3_000,
      progressAt: granted.grantedAt,
      wakeAt: granted.grantedAt + 3_000,
    });
  });

  test("a ready row whose time is over is not handed out", async () => {
    const { store } = opened();
    const late = await schedule(store, workflow({ a: {} }, { timeoutMs: 20_000 }), {
      agoMs: 60_000,
    });
    expect(await claim(store, late)).toEqual([]);
    expect((await readStep(store, late, 0)).forward.kind).toBe("READY");
  });

  test("claims at the same time never get the same row", async () => {
    const { store } = opened();
    const run = await schedule(
      store,
      workflow({ a: { task: "t" }, b: { task: "t" }, c: { task: "t" }, d: { task: "t" } }),
    );
    const granted = await Promise.all(
      [1, 2, 3].map(() =>
        store.transact({ name: "claim" }, (tx) => claimIn(tx, run.lanes, { limit: 2 })),
      ),
    );
    const steps = granted.flat().map(({ ready }) => ready.step);
    expect(new Set(steps).size).toBe(steps.length);
    const rest = await claim(store, run);
    expect([...steps, ...rest.map(({ ready }) => ready.step)].sort()).toEqual([0, 1, 2, 3]);
  });

  test("a claim serves what its own transaction has made ready", async () => {
    const { store } = opened();
    const placed = await place(store, workflow({ a: {} }));
    const granted = await store.transact({ name: "schedule and claim" }, async (tx) => {
      await insert(tx, placed);
      return claimIn(tx, placed.lanes);
    });
    expect(granted).toHaveLength(1);
  });

  test("a task that was given back names the session that should not get it", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {} }));
    await pass(store, run, report(await claimOne(store, run), { kind: "released" }));
    const again = await claimOne(store, run, { session: newSession() });
    expect(again.ready).toMatchObject({ fence: 2, attempt: 1, avoid: { session: SESSION } });
    expect(again.ready.avoid?.until).toBeGreaterThan(0);
  });

  test("leases of polls that ended without an answer are found by session and poll", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {}, b: {}, c: {} }));
    const { namespaceId } = run;
    const session = newSession();
    const other = newSession();
    const [a] = await claim(store, { lanes: run.lanes.slice(0, 1) }, { session, pollSeq: 7 });
    await claim(store, { lanes: run.lanes.slice(1, 2) }, { session, pollSeq: 8 });
    await claim(store, { lanes: run.lanes.slice(2) }, { session: other, pollSeq: 7 });
    expect(await store.undelivered([{ namespaceId, session, polls: [6, 7] }])).toEqual([
      { ...run.ref, step: 0, fence: 1, secret: a?.secret },
    ]);
    expect(await store.undelivered([{ namespaceId, session, polls: [] }])).toEqual([]);
    const elsewhere = { namespaceId: namespaceId + 1, session, polls: [7] };
    expect(await store.undelivered([elsewhere])).toEqual([]);
    const twice = [
      { namespaceId, session, polls: [7] },
      { namespaceId, session: other, polls: [7, 8] },
      { namespaceId, session, polls: [7, 9] },
    ];
    expect((await store.undelivered(twice)).map(({ step }) => step).sort()).toEqual([0, 2]);
  });

  test("a granted task carries the facts of its run", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {} }), {
      version: 4,
      labels: { city: "Bern" },
      input: json('{"nights":2}'),
    });
    const granted = await claimOne(store, run);
    expect(await store.taskFacts([granted])).toEqual([
      {
        runId: run.ref.runId,
        step: 0,
        definitionId: run.definitionId,
        version: 4,
        labels: { city: "Bern" },
        input: json('{"nights":2}'),
        lastDetails: null,
        strategy: 0,
        planned: 0,
        changedInput: null,
        output: null,
        effectOf: null,
        items: null,
        trace: null,
      },
    ]);
  });

  test("facts come in the order of the tasks, bytes as they were", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    const data = { kind: "data", contentType: "image/png", data: new Uint8Array([0, 255, 7]) };
    const runs = [
      await schedule(store, workflow({ a: {} }), { namespaceId, input: { ...data, kind: "data" } }),
      await schedule(store, workflow({ a: {} }), { namespaceId }),
    ];
    const granted = [...(await claim(store, { lanes: runs[0]?.lanes ?? [] }))].reverse();
    const facts = await store.taskFacts(granted);
    expect(facts.map(({ runId }) => runId)).toEqual(granted.map(({ ready }) => ready.runId));
    const input = facts.at(-1)?.input;
    expect(input).toMatchObject({ kind: "data", contentType: "image/png" });
    expect(input?.kind === "data" && [...input.data]).toEqual([0, 255, 7]);
  });

  test("the next attempt gets the last details that any earlier attempt reported", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {} }));
    const first = await claimOne(store, run);
    const { secret, ready } = first;
    const reported = { progress: "page 3", details: json('{"page":3}') };
    // The second heartbeat has nothing new, and leaves what is stored.
    for (const sent of [reported, { progress: null, details: null }])
      await store.heartbeat([
        {
          namespaceId: run.namespaceId,
          session: SESSION,
          agentId: "x",
          agentVersion: "1",
          reports: [{ runId: ready.runId, step: 0, fence: 1, secret, ...sent }],
        },
      ]);
    await pass(store, run, silence(first), LATE);
    const second = await claimOne(store, run, { session: newSession() });
    expect([first.ready.isFirstTry, second.ready.isFirstTry]).toEqual([true, false]);
    expect(await store.taskFacts([second])).toMatchObject([{ lastDetails: reported.details }]);
    // The first has ended: no agent gets it any more.
    expect(await store.taskFacts([first, second])).toHaveLength(1);
    await pass(store, run, report(second, { kind: "released" }));
    const third = await claimOne(store, run, { session: newSession() });
    expect(await store.taskFacts([third])).toMatchObject([{ lastDetails: reported.details }]);
    const wanted = { attempts: true, interventions: false, escalations: false };
    const { attempts = [] } = (await store.reads.runDetail(run.ref.runId, wanted)) ?? {};
    expect(attempts.map(({ progress }) => progress)).toEqual(
      expect.arrayContaining([reported.progress, null]),
    );
  });

  test("a task that ended before it was delivered has no facts: its step goes another way", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: { fallback: [{ task: "plan-b" }] } }));
    const slow = await claimOne(store, run);
    expect(await store.taskFacts([slow])).toMatchObject([{ strategy: 0, lastDetails: null }]);
    await pass(store, run, report(slow, permanent));
    const next = await claimOne(store, run, { session: newSession() });
    expect(next.ready.isFirstTry).toBe(false);
    const facts = await store.taskFacts([slow, next]);
    expect(facts).toMatchObject([{ step: 0, strategy: 1 }]);
    expect(facts).toHaveLength(1);
  });

  test("an undo gets the output of the attempt that it undoes", async () => {
    const { store } = opened();
    const run = await schedule(
      store,
      workflow({ a: { compensate: undoneBy("undo-a") }, b: { needs: ["a"] } }),
    );
    await pass(store, run, report(await claimOne(store, run), failure));
    await pass(store, run, { kind: "due-timer", step: 0, on: "backoff" }, LATE);
    const booked = { kind: "success", output: json('"B-17"') } as const;
    await pass(store, run, report(await claimOne(store, run), booked));
    await pass(store, run, report(await claimOne(store, run), permanent));
    const undo = await claimOne(store, run);
    expect(undo.ready).toMatchObject({ step: 0, task: "compensate", fence: 3 });
    expect(await store.taskFacts([undo])).toMatchObject([{ output: json('"B-17"') }]);
  });

  test("a poll query names the lanes that have work and the watched runs that are open", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {}, b: { needs: ["a"] } }));
    const done = await schedule(store, workflow({ a: {} }));
    await pass(store, done, cancel(false));
    const [a = 0] = run.lanes;
    const lanes = [...run.lanes, ...done.lanes];
    expect(await store.pollQuery({ lanes, runs: [run.ref, done.ref], watermarks: [] })).toEqual({
      lanes: [a],
      runs: [{ runId: run.ref.runId, version: 1 }],
      watermarks: null,
      circuits: null,
      silent: expect.any(Array),
    });
    await pass(store, run, report(await claimOne(store, run), success));
    const after = await store.pollQuery({ lanes: [a], runs: [run.ref], watermarks: [] });
    const none = {
      lanes: [],
      runs: [],
      watermarks: null,
      circuits: null,
      silent: expect.any(Array),
    };
    expect(after).toEqual({ ...none, runs: [{ runId: run.ref.runId, version: 2 }] });
    expect(await store.pollQuery({ lanes: [], runs: [], watermarks: [] })).toEqual(none);
    const { circuits } = await store.pollQuery({
      lanes: [],
      runs: [],
      watermarks: [],
      circuitsMs: 60_000,
    });
    expect(circuits).toMatchObject({ now: expect.any(Number), changeToken: expect.any(String) });
  });

  test("a watermark skips the rows before it, of its lane and priority alone", async () => {
    const { store } = opened();
    const placed = await place(store, workflow({ a: {} }));
    const of = (priority: number) =>
      store.transact({ name: "schedule" }, (tx) => insert(tx, placed, { priority }));
    const one = await of(5);
    const two = await of(5);
    const other = await of(7);
    const [lane = 0] = one.lanes;
    const poll = async (watermarks: readonly Watermark[]) => {
      const { rows } = await store.transact({ name: "read" }, (tx) =>
        tx.lockReady([{ lane, limit: 9 }], false, watermarks),
      );
      return rows.map(({ runId }) => runId);
    };
    const ids = [one, two, other].map(({ ref }) => ref.runId);
    expect(await poll([])).toEqual(ids);
    const asked = [{ lane, priority: 5, from: 0n }];
    const { watermarks } = await store.pollQuery({ lanes: [lane], runs: [], watermarks: asked });
    const first = watermarks?.watermarks[0]?.first ?? 0n;
    expect(watermarks).toMatchObject({
      watermarks: [{ lane, priority: 5, first: expect.any(BigInt) }],
    });
    expect(watermarks?.oldest).toBeGreaterThan(0n);
    const behind = { lane, priority: 5, from: first + 1n };
    expect(await poll([behind])).toEqual(ids.slice(1));
    expect(await poll([{ ...behind, lane: lane + 1 }])).toEqual(ids);
    const next = await store.pollQuery({ lanes: [lane], runs: [], watermarks: [behind] });
    const second = next.watermarks?.watermarks[0]?.first ?? 0n;
    expect(await poll([{ ...behind, from: second + 1n }])).toEqual(ids.slice(2));
    await claim(store, one);
    const after = await store.pollQuery({ lanes: [lane], runs: [], watermarks: asked });
    expect(after).toMatchObject({ lanes: [], watermarks: { watermarks: [{ first: null }] } });
  });

  test("a step that waits for its next try is in no lane", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {} }));
    await pass(store, run, report(await claimOne(store, run), failure));
    expect((await readStep(store, run, 0)).forward.kind).toBe("BACKOFF");
    expect(await claim(store, run)).toEqual([]);
  });
}
