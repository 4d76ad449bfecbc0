/** Pins: tasks of a workflow in a queue that agents of one version alone get. */
import { expect, test } from "vitest";
import { undoneBy, workflow } from "../support/core-world.ts";
import {
  cancel,
  claim,
  claimOne,
  failure,
  LATE,
  newNamespace,
  type Opened,
  ownPartition,
  pass,
  prepare,
  readStep,
  report,
  type Scheduled,
  schedule,
  success,
} from "./fixture.ts";
import { type OfNamespace, pinning } from "./pinning.ts";

const ONE = workflow({ a: {} });
const WINDOW_MS = 60_000;
const UNKNOWN = { kind: "unknown", code: "drover.unknown", message: "" } as const;

export function describePins(opened: Opened): void {
  const { pin, unpin, versionOf } = pinning(opened);

  /** What agents of a version ask for beside the lanes of all, of the tasks of a run. */
  async function lanesFor(run: Scheduled, agentVersion: string): Promise<readonly number[]> {
    const { pinned } = await opened().store.circuits.snapshot(WINDOW_MS);
    return pinned.lanes.flatMap((one) =>
      run.lanes.includes(one.base) && one.agentVersion === agentVersion ? [one.lane] : [],
    );
  }

  /** Of the namespace, by definition. */
  async function pinned({ namespaceId }: OfNamespace) {
    const { pinned: known } = await opened().store.circuits.snapshot(WINDOW_MS);
    return known.pins
      .filter((one) => one.namespaceId === namespaceId)
      .map(({ definitionId, agentVersion }) => [definitionId, agentVersion]);
  }

  /** The runs whose tasks any agent gets, or one of this version. */
  async function runsFor(run: Scheduled, agentVersion: string | null): Promise<readonly string[]> {
    const own = agentVersion === null ? [] : await lanesFor(run, agentVersion);
    const lanes = agentVersion === null ? run.lanes : own;
    return (await claim(opened().store, { lanes })).map(({ ready }) => ready.runId);
  }

  test("what becomes ready is for agents of that version alone, other workflows are for all", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    const other = { ...ONE, workflow: "other" };
    const free = await schedule(store, other, { namespaceId, workflow: "other" });
    await store.internDefinition(namespaceId, ONE);
    expect(await pin({ namespaceId }, "2.1")).toEqual([]);
    const run = await schedule(store, ONE, { namespaceId });
    expect(await runsFor(run, null)).toEqual([free.ref.runId]);
    expect(await runsFor(run, "2.0")).toEqual([]);
    expect(await runsFor(run, "2.1")).toEqual([run.ref.runId]);
  });

  test("what is ready moves when it is pinned, to another version, and when it is not any more", async () => {
    const { store } = opened();
    const run = await schedule(store, ONE);
    const lanes = await pin(run, "2.1");
    expect(lanes).toEqual(await lanesFor(run, "2.1"));
    expect(await runsFor(run, null)).toEqual([]);
    expect(await pin(run, "2.2")).toEqual(await lanesFor(run, "2.2"));
    expect(await runsFor(run, "2.1")).toEqual([]);
    expect(await unpin(run)).toEqual(run.lanes);
    expect(await runsFor(run, "2.2")).toEqual([]);
    expect(await runsFor(run, null)).toEqual([run.ref.runId]);
  });

  test("the pin of a version goes before that of every version", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    const first = await versionOf({ namespaceId }, ONE);
    const second = await versionOf(first, workflow({ a: {}, b: { needs: ["a"] } }));
    await pin(first, "old", 1);
    expect(await runsFor(first, null)).toEqual([second.ref.runId]);
    expect(await runsFor(first, "old")).toEqual([first.ref.runId]);
    await pin(first, "new");
    const [a, b] = [await versionOf(first, ONE), await versionOf(second, workflow({ a: {} }))];
    const third = await versionOf(first, workflow({ a: {}, c: { needs: ["a"] } }));
    expect(await runsFor(first, "old")).toEqual([a.ref.runId, b.ref.runId]);
    expect(await runsFor(first, "new")).toEqual([third.ref.runId]);
    const again = await versionOf(first, ONE);
    expect(await unpin(first, 1)).toEqual(await lanesFor(first, "new"));
    expect(await runsFor(first, "new")).toEqual([again.ref.runId]);
  });

  test("a pin is of one queue in one namespace", async () => {
    const { store } = opened();
    const definition = workflow({ a: { task: "t" }, b: { task: "t", queue: "other" } });
    const run = await schedule(store, definition);
    const elsewhere = await schedule(store, definition);
    await pin(run, "2", 0, "other");
    expect((await claim(store, run)).map(({ ready }) => ready.step)).toEqual([0]);
    expect(await claim(store, elsewhere)).toHaveLength(2);
  });

  test("a task of the queue that is new has a lane for each version at once", async () => {
    const { store } = opened();
    const run = await schedule(store, ONE);
    await pin(run, "2");
    const later = await versionOf(run, workflow({ fresh: { task: "fresh" } }));
    expect(await runsFor(later, null)).toEqual([]);
    expect(await runsFor(later, "2")).toEqual([later.ref.runId]);
    const known = await store.lanesOfQueues(run.namespaceId, ["default"]);
    expect(known.map(({ lane }) => lane).sort()).toEqual([...run.lanes, ...later.lanes].sort());
  });

  test("a transaction reports the lanes that its rows went to", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {}, b: { needs: ["a"] } }));
    const first = await claimOne(store, run);
    await pin(run, "2");
    const filled = await store.transact({ name: "report" }, async (tx) => {
      const decided = await prepare(tx, run, [report(first, success)]);
      await tx.write([decided.record]);
      return tx.placeReady();
    });
    const { pinned } = await store.circuits.snapshot(WINDOW_MS);
    const task = pinned.lanes.find(({ lane }) => filled.includes(lane))?.task;
    expect([filled.length, task]).toEqual([1, "b"]);
  });

  test("an agent keeps what it has; its retry, its verify and its undo are for the version", async () => {
    const { store } = opened();
    const definition = workflow({
      a: { effects: "verifiable", verify: { task: "find-a" }, compensate: undoneBy("undo-a") },
      b: { needs: ["a"] },
    });
    const run = await schedule(store, definition);
    const mine = await claimOne(store, run);
    await pin(run, "2");
    const own = { ...run, lanes: await lanesFor(run, "2") };
    const again = { kind: "due-timer", step: 0, on: "backoff" } as const;
    await pass(store, run, report(mine, failure));
    await pass(store, run, again, LATE);
    expect(await runsFor(run, null)).toEqual([]);
    await pass(store, run, report(await claimOne(store, own), UNKNOWN));
    await pass(store, run, again, LATE);
    expect(await runsFor(run, null)).toEqual([]);
    const verify = await claimOne(store, own);
    expect(verify.ready.task).toBe("verify");
    await pass(store, run, report(verify, success));
    await pass(store, run, cancel(true));
    expect((await readStep(store, run, 0)).undo.kind).toBe("READY");
    expect(await runsFor(run, null)).toEqual([]);
    expect((await claimOne(store, own)).ready.task).toBe("compensate");
  });

  test("a paused workflow that is pinned comes back to the lanes of its version", async () => {
    const { store } = opened();
    const run = await schedule(store, ONE);
    const paused = { namespaceId: run.namespaceId, workflow: "test" };
    await store.queues.pauseWorkflow(paused, "");
    expect(await pin(run, "2")).toEqual([]);
    const later = await schedule(store, ONE, { namespaceId: run.namespaceId });
    expect([await runsFor(run, null), await runsFor(run, "2")]).toEqual([[], []]);
    expect(await store.queues.resumeWorkflow(paused)).toEqual(await lanesFor(run, "2"));
    expect(await runsFor(run, null)).toEqual([]);
    const both = [run.ref.runId, later.ref.runId].sort();
    expect([...(await runsFor(run, "2"))].sort()).toEqual(both);
  });

  test("what is unpinned while its workflow is paused comes back for all", async () => {
    const { store } = opened();
    const run = await schedule(store, ONE);
    const paused = { namespaceId: run.namespaceId, workflow: "test" };
    await pin(run, "2");
    await store.queues.pauseWorkflow(paused, "");
    expect(await unpin(run)).toEqual([]);
    expect([await runsFor(run, null), await runsFor(run, "2")]).toEqual([[], []]);
    expect(await store.queues.resumeWorkflow(paused)).toEqual(run.lanes);
    expect(await runsFor(run, null)).toEqual([run.ref.runId]);
  });

  test("a paused queue, and one that is full, give nothing to agents of the version either", async () => {
    const { store } = opened();
    const run = await schedule(store, ONE);
    const { namespaceId } = run;
    await pin(run, "2");
    await store.queues.pause({ namespaceId, queue: "default" }, "");
    expect(await runsFor(run, "2")).toEqual([]);
    const lanes = await store.queues.resume({ namespaceId, queue: "default" });
    expect(lanes).toEqual(expect.arrayContaining([...(await lanesFor(run, "2"))]));
    await store.queues.setLimits({ namespaceId, queue: "default" }, { leasesMax: 1, rate: null });
    const asked = (await lanesFor(run, "2")).map((lane) => ({ lane, limit: 1 }));
    const { limited } = await store.transact({ name: "read" }, (tx) => tx.lockReady(asked));
    expect(limited).toMatchObject([{ namespaceId, queue: "default" }]);
  });

  test("what waits for a version without agents is due, and names the version", async () => {
    const { store } = opened();
    const partition = ownPartition();
    const definition = workflow({ a: { timeouts: { pickupMs: 1_000 } } });
    const run = await schedule(store, definition, { partition, agoMs: 60_000 });
    const node = "00000000-0000-4000-8000-000000000001";
    await store.markPolled(node, run.lanes);
    await pin(run, "2");
    const [lane = 0] = await lanesFor(run, "2");
    const due = async () => (await store.dueRows([partition], 10)).due;
    expect(await due()).toMatchObject([{ polled: false, lane, agentVersion: "2" }]);
    const { polls, agentVersions } = await store.reads.runLiveness(run.ref.runId);
    expect([polls.get(0), agentVersions.get(0)]).toEqual([null, "2"]);
    await store.markPolled(node, [lane]);
    expect(await due()).toMatchObject([{ polled: true }]);
    await unpin(run);
    expect(await due()).toMatchObject([{ lane: run.lanes[0], agentVersion: null }]);
  });

  test("a person's setting of a circuit holds for the lanes of every version", async () => {
    const { store } = opened();
    const run = await schedule(store, ONE);
    const [base = 0] = run.lanes;
    await pin(run, "2");
    const setting = { forced: "open", by: "ada", why: "" } as const;
    const open = async () =>
      (await store.circuits.snapshot(WINDOW_MS)).circuits
        .filter(({ override: of }) => of?.forced === "open")
        .map(({ lane }) => lane);
    await store.circuits.setOverride({ lane: base, agentId: "" }, setting);
    expect(await open()).toEqual(expect.arrayContaining([base, ...(await lanesFor(run, "2"))]));
    await pin(run, "3");
    expect(await open()).toEqual(expect.arrayContaining([...(await lanesFor(run, "3"))]));
    await store.circuits.setOverride({ lane: base, agentId: "" }, null);
    const lanes = [base, ...(await lanesFor(run, "2")), ...(await lanesFor(run, "3"))];
    expect((await open()).filter((lane) => lanes.includes(lane))).toEqual([]);
  });

  test("what is pinned is known by definition, and the first of two alike stays", async () => {
    const { store } = opened();
    const run = await versionOf({ namespaceId: await newNamespace(store) }, ONE);
    expect(await pinned(run)).toEqual([]);
    await pin(run, "new", 1);
    await pin(run, "old");
    await pin(run, "old");
    const both = [
      [null, "old"],
      [run.definitionId, "new"],
    ];
    expect(await pinned(run)).toEqual(expect.arrayContaining(both));
    expect(await pinned(run)).toHaveLength(2);
    await unpin(run, 1);
    await unpin(run, 1);
    expect(await pinned(run)).toEqual([[null, "old"]]);
  });

  test("a workflow or a version that is not there is not pinned", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    expect(await pin({ namespaceId }, "2")).toBeNull();
    const run = await versionOf({ namespaceId }, ONE);
    expect(await pin(run, "2", 2)).toBeNull();
    expect(await pinned({ namespaceId })).toEqual([]);
  });

  test("a thousand rows and more move, and back, in their order", async () => {
    const { store } = opened();
    const three = workflow({ a: { task: "t" }, b: { task: "t" }, c: { task: "t" } });
    const first = await schedule(store, three);
    const { namespaceId } = first;
    for (let n = 1; n < 600; n++) await schedule(store, three, { namespaceId });
    await pin(first, "2");
    expect(await runsFor(first, null)).toEqual([]);
    await unpin(first);
    const granted = await claim(store, first, { limit: 5_000 });
    expect(granted).toHaveLength(1_800);
    const runs = [...new Set(granted.slice(0, 3).map(({ ready }) => ready.runId))];
    expect(runs).toEqual([first.ref.runId]);
  });
}
