/** Paused workflows: no task of their runs is handed out, and other runs of a lane continue. */
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
  readStep,
  report,
  type Scheduled,
  schedule,
  success,
} from "./fixture.ts";

export function describePausedWorkflows(opened: Opened): void {
  const pause = ({ namespaceId, plan }: Pick<Scheduled, "namespaceId" | "plan">, reason = "") =>
    opened().store.queues.pauseWorkflow({ namespaceId, workflow: plan.workflow }, reason);
  const resume = ({ namespaceId, plan }: Pick<Scheduled, "namespaceId" | "plan">) =>
    opened().store.queues.resumeWorkflow({ namespaceId, workflow: plan.workflow });
  const runsClaimed = async (run: Scheduled) =>
    (await claim(opened().store, run)).map(({ ready }) => ready.runId);

  test("its tasks are not handed out, those of another workflow in the same lane are", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    const other = { ...workflow({ a: {} }), workflow: "other" };
    const run = await schedule(store, workflow({ a: {} }), { namespaceId });
    const free = await schedule(store, other, { namespaceId, workflow: "other" });
    await pause(run);
    expect(await runsClaimed(run)).toEqual([free.ref.runId]);
    expect(await resume(run)).toEqual(run.lanes);
    expect(await runsClaimed(run)).toEqual([run.ref.runId]);
  });

  test("nor those of a run that begins later, in whatever version", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {} }));
    const { namespaceId } = run;
    await pause(run);
    const later = await schedule(store, workflow({ a: {}, b: {} }), { namespaceId });
    expect(await runsClaimed(later)).toEqual([]);
    await resume(run);
    expect((await runsClaimed(later)).sort()).toEqual(
      [run.ref.runId, later.ref.runId, later.ref.runId].sort(),
    );
  });

  test("a workflow of that name in another namespace continues", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {} }));
    const other = await schedule(store, workflow({ a: {} }));
    await pause(run);
    expect(await runsClaimed(other)).toEqual([other.ref.runId]);
  });

  test("what reports, backoffs and undoing make ready is held, and keeps its order", async () => {
    const { store } = opened();
    const definition = workflow({ a: { compensate: undoneBy("undo-a") }, b: { needs: ["a"] } });
    const run = await schedule(store, definition);
    const a = await claimOne(store, run);
    await pause(run);
    await pass(store, run, report(a, failure));
    await pass(store, run, { kind: "due-timer", step: 0, on: "backoff" }, LATE);
    expect(await runsClaimed(run)).toEqual([]);
    await resume(run);
    await pass(store, run, report(await claimOne(store, run), success));
    await pause(run);
    await pass(store, run, cancel(true));
    expect((await readStep(store, run, 0)).undo.kind).toBe("READY");
    expect(await runsClaimed(run)).toEqual([]);
    await resume(run);
    expect((await claimOne(store, run)).ready.task).toBe("compensate");
  });

  test("passes find its ready steps, and cancel them", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {} }));
    await pause(run);
    expect((await readStep(store, run, 0)).forward.kind).toBe("READY");
    await pass(store, run, cancel(false));
    await resume(run);
    expect(await runsClaimed(run)).toEqual([]);
  });

  test("what waits of it is held: no agent is reported missing, and the reason is given", async () => {
    const { store } = opened();
    const partition = ownPartition();
    const definition = workflow({ a: { timeouts: { pickupMs: 1_000 } } });
    const run = await schedule(store, definition, { partition, agoMs: 60_000 });
    const pauseInfo = await pause(run, "the price list is wrong");
    expect((await store.dueRows([partition], 10)).due).toMatchObject([{ polled: true }]);
    const { pauses } = await store.reads.runLiveness(run.ref.runId);
    expect(pauses).toEqual(new Map([[0, { scope: "workflow", ...pauseInfo }]]));
    await resume(run);
    expect((await store.dueRows([partition], 10)).due).toMatchObject([{ polled: false }]);
    expect((await store.reads.runLiveness(run.ref.runId)).pauses).toEqual(new Map());
  });

  test("pausing again keeps the first pause, resuming again changes nothing", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {} }));
    const { namespaceId } = run;
    const first = await pause(run, "first");
    expect(await pause(run, "second")).toEqual(first);
    await resume(run);
    expect(await resume(run)).toEqual([]);
    expect(await pause(run, "third")).toMatchObject({ reason: "third" });
    expect(await store.queues.pauseWorkflow({ namespaceId, workflow: "unknown" }, "")).toBeNull();
  });

  test("a paused queue keeps what a resumed workflow gives back", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {} }));
    const { namespaceId } = run;
    await pause(run);
    await store.queues.pause({ namespaceId, queue: "default" }, "");
    await resume(run);
    expect(await runsClaimed(run)).toEqual([]);
    await store.queues.resume({ namespaceId, queue: "default" });
    expect(await runsClaimed(run)).toEqual([run.ref.runId]);
  });

  test("more than a thousand runs are held, and released", async () => {
    const { store } = opened();
    const first = await schedule(store, workflow({ a: {}, b: {}, c: {} }));
    const { namespaceId } = first;
    for (let n = 1; n < 600; n++)
      await schedule(store, workflow({ a: {}, b: {}, c: {} }), { namespaceId });
    await pause(first);
    expect(await runsClaimed(first)).toEqual([]);
    await resume(first);
    const granted = await claim(store, first, { limit: 5_000 });
    expect(granted).toHaveLength(1_800);
  });
}
