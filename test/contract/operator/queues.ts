/** Queues as they are listed, with what waits in them, their pauses and limits. */
import { expect, test } from "vitest";
import { UNLIMITED } from "../../../server/core/model/limits.ts";
import type { QueuePage } from "../../../server/store/queues.ts";
import type { Store } from "../../../server/store/store.ts";
import { workflow } from "../../support/core-world.ts";
import { claim, type Opened, schedule } from "../fixture.ts";

const ALL: QueuePage = { names: null, after: null, limit: 100 };

export function describeQueueLists(opened: Opened<Store>): void {
  const pause = (namespaceId: number, queue: string, reason = "") =>
    opened().store.queues.pause({ namespaceId, queue }, reason);

  test("queues are listed by name, with what waits, what agents have and their pause", async () => {
    const { store } = opened();
    const steps = {
      a: { queue: "b-queue" },
      b: { queue: "b-queue", task: "u" },
      c: { queue: "a" },
    };
    const run = await schedule(store, workflow(steps));
    const { namespaceId } = run;
    const [b = 0] = run.lanes;
    await claim(store, { lanes: [b] });
    const paused = await pause(namespaceId, "c", "broken");
    expect(await store.lists.queues(namespaceId, ALL)).toEqual([
      { name: "a", ready: 1, leased: 0, pause: null, limits: UNLIMITED },
      { name: "b-queue", ready: 1, leased: 1, pause: null, limits: UNLIMITED },
      { name: "c", ready: 0, leased: 0, pause: paused, limits: UNLIMITED },
    ]);
    const names = async (page: Partial<QueuePage>) =>
      (await store.lists.queues(namespaceId, { ...ALL, ...page })).map(({ name }) => name);
    expect(await names({ limit: 2 })).toEqual(["a", "b-queue"]);
    expect(await names({ after: "b-queue" })).toEqual(["c"]);
    expect(await names({ names: ["c", "never-named"] })).toEqual(["c", "never-named"]);
  });

  test("the pause of a namespace and of a workflow is listed, with the first reason, until it ends", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {} }));
    const { namespaceId } = run;
    const of = { namespaceId, workflow: run.plan.workflow };
    expect(await store.lists.namespacePause(namespaceId)).toBeNull();
    const all = await pause(namespaceId, "", "moving");
    expect(await store.lists.namespacePause(namespaceId)).toEqual(all);
    expect(await store.lists.workflowPause(of)).toBeNull();
    const first = await store.queues.pauseWorkflow(of, "first");
    expect(await store.queues.pauseWorkflow(of, "second")).toEqual(first);
    expect(await store.lists.workflowPause(of)).toEqual(first);
    await store.queues.resumeWorkflow(of);
    expect(await store.lists.workflowPause(of)).toBeNull();
  });

  test("what waits of a paused workflow waits in its queue", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {} }));
    await store.queues.pauseWorkflow({ ...run, workflow: run.plan.workflow }, "");
    const page = { names: ["default"], after: null, limit: 1 };
    const [queue] = await store.lists.queues(run.namespaceId, page);
    expect(queue).toMatchObject({ ready: 1 });
  });

  test("queues are listed with their limits", async () => {
    const run = await schedule(opened().store, workflow({ a: { queue: "slow" }, b: {} }));
    const limits = { leasesMax: 7, rate: { perSecond: 0.5, burst: 2 } };
    await opened().store.queues.setLimits({ namespaceId: run.namespaceId, queue: "slow" }, limits);
    const listed = await opened().store.lists.queues(run.namespaceId, { ...ALL, names: ["slow"] });
    expect(listed).toMatchObject([{ name: "slow", limits, pause: null }]);
  });
}
