/**
 * What the integrity sweep reads and writes: open runs by their place in the walk, rows as they
 * stand, runs that have left rows behind, open rows that are made again.
 */
import { expect, test } from "vitest";
import type { Effect } from "../../server/core/effect.ts";
import { runWakeAt } from "../../server/core/evolve.ts";
import type { StoredPlace, StoredRun } from "../../server/core/stored.ts";
import { childRef } from "../../server/store/child-run.ts";
import type { RunRef } from "../../server/store/store.ts";
import { workflow } from "../support/core-world.ts";
import { childOf } from "./children.ts";
import {
  cancel,
  claimOne,
  failure,
  lockAndLoad,
  look,
  newNamespace,
  newRunId,
  type Opened,
  ownPartition,
  pass,
  report,
  type Scheduled,
  schedule,
} from "./fixture.ts";
import { beginAs, blankStep, DEADLINE, passAs, readyFor } from "./hand-made.ts";

const AT = 1_767_225_600_000;
const NOBODY = newRunId(AT, 255);

export function describeSweep(opened: Opened): void {
  const storedOf = async ({ ref }: Pick<Scheduled, "ref">): Promise<StoredRun> => {
    const found = (await opened().store.storedRuns([ref])).get(ref.runId);
    if (!found) throw new Error(`nothing was read of run ${ref.runId}`);
    return found.stored;
  };
  const placeOf = async (run: Scheduled, no: number): Promise<StoredPlace> => {
    const place = (await storedOf(run)).places.find((one) => one.no === no);
    if (!place) throw new Error(`run ${run.ref.runId} has no rows of step ${no}`);
    return place;
  };
  /** Of a walk through all of them, those of a partition. */
  const walked = async (
    walk: "strayRuns" | "unopenedRuns",
    partition: number,
    limit: number,
  ): Promise<ReadonlySet<string>> => {
    const found = new Set<string>();
    let after: string | null = null;
    do {
      const page: { readonly runs: readonly RunRef[]; readonly last: string | null } =
        await opened().store[walk](after, limit);
      for (const run of page.runs) if (run.partition === partition) found.add(run.runId);
      after = page.last;
    } while (after !== null);
    return found;
  };

  test("open runs are walked by partition and id, page by page, with the rows that they have", async () => {
    const { store } = opened();
    const [one, two] = [ownPartition(), ownPartition()];
    const steps = [blankStep(0, { forward: readyFor() }), blankStep(1)];
    const first = await beginAs(store, steps, { partition: one });
    const second = await beginAs(store, [], { partition: one });
    const third = await beginAs(store, [], { partition: two });
    const walk = await store.openRuns([one, two], null, 10);
    expect(walk).toEqual([
      { ...first.ref, version: 1, rows: 2 },
      { ...second.ref, version: 1, rows: 0 },
      { ...third.ref, version: 1, rows: 0 },
    ]);
    expect(await store.openRuns([one, two], null, 2)).toEqual(walk.slice(0, 2));
    expect(await store.openRuns([one, two], second.ref, 2)).toEqual(walk.slice(2));
    expect(await store.openRuns([one, two], third.ref, 2)).toEqual([]);
    expect(await store.openRuns([two], first.ref, 2)).toEqual(walk.slice(2));
  });

  test("a run that has ended is not walked any more", async () => {
    const { store } = opened();
    const partition = ownPartition();
    const run = await schedule(store, workflow({ a: {} }), { partition });
    expect(await store.openRuns([partition], null, 10)).toHaveLength(1);
    await pass(store, run, cancel(true));
    expect(await store.openRuns([partition], null, 10)).toEqual([]);
    expect(await storedOf(run)).toMatchObject({ row: "ended", open: null, unopened: null });
  });

  test("a step is read with what stands beside it: a ready row, a lease, a due row", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {} }));
    expect(await placeOf(run, 0)).toMatchObject({
      step: { no: 0, forward: "OPEN", undo: "NONE" },
      ready: { ready: { kind: "READY", task: "perform", fence: 1 }, lane: true },
      ...{ lease: null, due: null },
    });
    const granted = await claimOne(store, run);
    expect(await placeOf(run, 0)).toMatchObject({
      step: { forward: "OPEN" },
      lease: { kind: "LEASED", secret: granted.secret },
      ...{ ready: null, due: null },
    });
    await pass(store, run, report(granted, failure));
    expect(await placeOf(run, 0)).toMatchObject({
      step: { forward: "BACKOFF" },
      due: { kind: "BACKOFF", task: "perform" },
      ...{ ready: null, lease: null },
    });
  });

  test("the open row is read with its state, its counters and its moment", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {} }));
    const { run: is } = await look(store, run);
    const { state, ...counters } = is;
    expect(await storedOf(run)).toMatchObject({
      row: "open",
      open: { kind: "RUNNING", state, run: counters, wakeAt: runWakeAt(is) },
      ...{ unopened: null, escalations: [], slot: null, slotTold: false, messages: 0 },
    });
  });

  test("of a run that was never there nothing is read but that", async () => {
    const ref = { runId: NOBODY, partition: 255 };
    expect(await storedOf({ ref })).toEqual({
      ...{ row: "missing", open: null, unopened: null, places: [], escalations: [] },
      ...{ attempts: [], slot: null, slotTold: false, untold: [], messages: 0 },
    });
  });

  test("questions are read while they stand open, with their moments", async () => {
    const { store } = opened();
    const run = await beginAs(store, [blankStep(0, { forward: { kind: "ESCALATED" } })]);
    const asked = { step: 0, reason: "unknown", code: "", message: "?", deadlineAt: null } as const;
    const ask: Effect = { kind: "escalated", n: 1, wakeAt: DEADLINE, ...asked };
    await passAs(store, run, { effects: [ask] });
    expect((await storedOf(run)).escalations).toMatchObject([
      { n: 1, step: 0, reason: "unknown", wakeAt: DEADLINE, closedBy: null },
    ]);
    await passAs(store, run, { effects: [{ kind: "escalation-closed", step: 0, by: "it" }] });
    expect((await storedOf(run)).escalations).toEqual([]);
  });

  test("a slot is read with its key, and whether the run was told of it", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    const run = await beginAs(store, [], { namespaceId });
    const key = { namespaceId, key: "desk" };
    const { runId } = run.ref;
    const slot = { runId, limit: 1, priority: 5, since: AT, holds: false, leaving: false };
    const write = (holds: boolean) =>
      store.transact({ name: "slots" }, async (tx) => {
        await tx.lockSlots([key]);
        await tx.writeSlots([{ ...key, runId, slot: { ...slot, holds } }]);
      });
    await write(false);
    const head = (await store.storedRuns([run.ref])).get(runId);
    expect(head).toMatchObject({ slotOf: key, stored: { slot: "waits", slotTold: false } });
    await write(true);
    const other = await beginAs(store, []);
    await passAs(store, other, {
      effects: [{ kind: "message-sent", to: runId, message: { kind: "slot" } }],
    });
    expect(await storedOf(run)).toMatchObject({ slot: "holds", slotTold: true, messages: 1 });
  });

  test("a step waits in vain for a child that has ended, or is not there, and is not told", async () => {
    const { store } = opened();
    const forward = { kind: "WAITING", on: "child", wakeAt: DEADLINE } as const;
    const parent = await beginAs(store, [blankStep(0, { forward, fence: 1 })]);
    const untold = async () => (await storedOf(parent)).untold;
    expect(await untold()).toEqual([{ step: 0, fence: 1 }]);
    const child = await schedule(store, workflow({ a: {} }), childRef(parent.ref, 0, 1));
    expect(await untold()).toEqual([]);
    await pass(store, child, cancel(true));
    expect(await untold()).toEqual([{ step: 0, fence: 1 }]);
    const to = parent.ref.runId;
    const message = { kind: "child-ended", step: 0, fence: 1, child: null } as const;
    await passAs(store, parent, { effects: [{ kind: "message-sent", to, message }] });
    expect(await untold()).toEqual([]);
  });

  test("rows are read again under the lock, and those that must go are removed by name", async () => {
    const { store } = opened();
    const run = await beginAs(
      store,
      [0, 1].map((no) => blankStep(no, { forward: readyFor() })),
    );
    await store.transact({ name: "mend" }, async (tx) => {
      const found = (await tx.lockStored([run.ref])).get(run.ref.runId);
      expect(found?.stored.places.map(({ ready }) => ready !== null)).toEqual([true, true]);
      const strays = [
        { step: 0, of: "ready" },
        { step: 1, of: "lease" },
      ] as const;
      await tx.removeStrays([{ ...run.ref, strays, all: false }]);
    });
    const { places, open } = await storedOf(run);
    expect(places.map(({ ready }) => ready !== null)).toEqual([false, true]);
    expect(open).not.toBeNull();
  });

  test("a step that no plan has is removed by name, and the others stay", async () => {
    const { store } = opened();
    const run = await beginAs(store, [blankStep(0, { forward: readyFor() }), blankStep(77)]);
    await store.transact({ name: "mend" }, async (tx) => {
      await tx.lockStored([run.ref]);
      await tx.removeStrays([{ ...run.ref, strays: [{ step: 77, of: "step" }], all: false }]);
    });
    expect((await storedOf(run)).places.map(({ no }) => no)).toEqual([0]);
  });

  test("an open row that is gone is missed, and made again as it is said to be", async () => {
    const { store } = opened();
    const partition = ownPartition();
    const concurrency = { key: "desk", limit: 1, policy: "queue" } as const;
    const keyed = { partition, concurrency, keyed: true };
    const run = await schedule(store, workflow({ a: {} }), keyed);
    const { head, steps } = await store.transact({ name: "look" }, (tx) =>
      lockAndLoad(tx, run.ref),
    );
    expect(await walked("unopenedRuns", partition, 7)).toEqual(new Set());
    await loseOpenRow(run);
    expect(await walked("unopenedRuns", partition, 7)).toEqual(new Set([run.ref.runId]));
    expect(await walked("strayRuns", partition, 7)).toEqual(new Set([run.ref.runId]));
    const { namespaceId, definitionId, priority } = head;
    expect((await store.storedRuns([run.ref])).get(run.ref.runId)).toMatchObject({
      ...{ namespaceId, definitionId, priority },
      stored: {
        ...{ row: "open", open: null },
        unopened: { keyed: true, parent: null, escalations: 0 },
      },
    });
    await store.transact({ name: "reopen" }, (tx) => tx.reopenRuns([head]));
    expect(await look(store, run)).toEqual({ run: head.run, steps });
    const again = store.transact({ name: "reopen" }, (tx) => tx.reopenRuns([head]));
    await expect(again).rejects.toThrow();
    for (const walk of ["unopenedRuns", "strayRuns"] as const)
      expect(await walked(walk, partition, 7)).toEqual(new Set());
  });

  test("whose child a run is, is known without its open row, and how deep it is", async () => {
    const { store } = opened();
    const top = await beginAs(store, []);
    const child = await childOf(store, top);
    const { head } = await store.transact({ name: "look" }, (tx) => lockAndLoad(tx, child.ref));
    await loseOpenRow(child);
    const { unopened } = await storedOf(child);
    expect(unopened?.parent).toEqual(head.run.parent);
    expect(unopened?.parent).toMatchObject({ runId: top.ref.runId, step: 0, fence: 1, depth: 1 });
  });

  /** As a hand in the tables would: all that the run leaves is what stands beside it. */
  async function loseOpenRow({ ref }: Scheduled): Promise<void> {
    await opened().store.transact({ name: "lose" }, async (tx) => {
      await tx.lockStored([ref]);
      await tx.removeStrays([{ ...ref, strays: [], all: true }]);
    });
  }

  test("a run that has ended is a stray for what it holds, and for a question", async () => {
    const { store } = opened();
    const partition = ownPartition();
    const run = await schedule(store, workflow({ a: {} }), { partition });
    await pass(store, run, cancel(true));
    expect(await walked("strayRuns", partition, 7)).toEqual(new Set());
    const asked = { step: 0, code: "", message: "?", wakeAt: DEADLINE, deadlineAt: null } as const;
    await passAs(store, run, {
      effects: [{ kind: "escalated", n: 1, reason: "doubled", ...asked }],
    });
    expect(await walked("strayRuns", partition, 7)).toEqual(new Set());
    await passAs(store, run, {
      effects: [{ kind: "escalated", n: 2, reason: "unknown", ...asked }],
    });
    expect(await walked("strayRuns", partition, 7)).toEqual(new Set([run.ref.runId]));
    await passAs(store, run, { effects: [{ kind: "escalation-closed", step: 0, by: "it" }] });
    expect(await walked("strayRuns", partition, 7)).toEqual(new Set());
  });

  test("a lane that is there stays as it is when it is made again", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {} }));
    const [lane = 0] = run.lanes;
    const { namespaceId } = run;
    const of = { namespaceId, queue: "default", task: "work" };
    await store.transact({ name: "lanes" }, (tx) => tx.restoreLanes([{ ...of, lane }]));
    const granted = await claimOne(store, run);
    expect(granted.ready.lane).toBe(lane);
  });
}
