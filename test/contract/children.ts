/** Child runs: inserted by the pass of their parent, and found by their parent. */
import { expect, test } from "vitest";
import { start } from "../../server/core/decide.ts";
import { runWakeAt } from "../../server/core/evolve.ts";
import type { Message } from "../../server/core/model/message.ts";
import { emptyView, type Parent } from "../../server/core/model/model.ts";
import { childRef, childRunId } from "../../server/store/child-run.ts";
import type { EngineStore } from "../../server/store/store.ts";
import { workflow } from "../support/core-world.ts";
import { newRun, type Opened, place, type Scheduled } from "./fixture.ts";
import { beginAs, passAs } from "./hand-made.ts";

const definition = workflow({ x: {} });
const UNTIL = 4_000_000_000_000;

/** What `server/scheduler/children.ts` writes, for the step 0 and its first fence. */
export async function childOf(
  store: EngineStore,
  { ref: of, namespaceId: inside }: Scheduled,
  more: Partial<Parent> = {},
): Promise<Scheduled> {
  const placed = await place(store, definition, { namespaceId: inside });
  const { plan, rules, namespaceId, definitionId, laneOf } = placed;
  const ref = childRef(of, 0, 1);
  return store.transact({ name: "child" }, async (tx) => {
    const parent: Parent = { runId: of.runId, step: 0, fence: 1, depth: 1, until: UNTIL, ...more };
    const { view, effects } = start(rules, tx.now, null, { parent });
    const started = newRun(plan, { ...ref, namespaceId, definitionId }, {}, tx.now);
    const head = { ...ref, namespaceId, definitionId, priority: 5, run: view.run };
    const parentRef = { runId: of.runId, stepId: "a" };
    await tx.insertRuns([{ ...started, ...head, parent: parentRef, wakeAt: runWakeAt(view.run) }]);
    const before = emptyView(view.run);
    if (effects.length > 0)
      await tx.write([{ head, before, after: view, effects, laneOf, actor: null }]);
    return { ...placed, ref, effects };
  });
}

export function describeChildren(opened: Opened): void {
  test.each([UNTIL, null])(
    "a child knows its parent, and how long that lasts: %s",
    async (until) => {
      const { store } = opened();
      const beginner = await beginAs(store, []);
      const { ref: of } = beginner;
      const child = await childOf(store, beginner, { until });
      const [head] = await store.transact({ name: "read" }, (tx) => tx.lockRuns([child.ref], true));
      const parent = { runId: of.runId, step: 0, fence: 1, depth: 1, until };
      expect(head?.run).toMatchObject({ parent, state: { kind: "PENDING", on: "start" } });
      const detail = await store.reads.runDetail(child.ref.runId, {
        attempts: false,
        interventions: false,
        escalations: false,
      });
      expect(detail?.run.parent).toEqual({ runId: of.runId, stepId: "a" });
    },
  );

  test("its parent stays known through its passes, and after its end", async () => {
    const { store } = opened();
    const beginner = await beginAs(store, []);
    const { ref: of } = beginner;
    const child = await childOf(store, beginner);
    await passAs(store, child, { run: { state: { kind: "RUNNING", deadline: UNTIL } } });
    const [head] = await store.transact({ name: "read" }, (tx) => tx.lockRuns([child.ref], true));
    expect(head?.run.parent).toMatchObject({ runId: of.runId, depth: 1 });
    await passAs(store, child, { run: { state: { kind: "COMPLETED", reason: "DONE" } } });
    const found = await store.reads.findRun(child.namespaceId, { runId: child.ref.runId });
    expect(found).toMatchObject({ parent: { runId: of.runId, stepId: "a" }, state: "COMPLETED" });
  });

  test("a child that begins too deep has ended with its first row, and has messaged its parent", async () => {
    const { store } = opened();
    const beginner = await beginAs(store, []);
    const { ref: of } = beginner;
    const child = await childOf(store, beginner, { depth: 17 });
    const [ended] = await store.transact({ name: "read" }, (tx) => tx.endedRuns([child.ref]));
    expect(ended?.run.state).toEqual({ kind: "FAILED", reason: "REFUSED" });
    const messages = await store.transact({ name: "read" }, async (tx) => {
      await tx.lockRuns([of], true);
      return (await tx.loadMessages([of.runId])).get(of.runId);
    });
    const message: Message = { kind: "child-ended", step: 0, fence: 1, child: null };
    expect(messages).toMatchObject([{ from: child.ref.runId, message }]);
  });

  test("a parent's message to its child reaches the run whose id follows from its own", async () => {
    const { store } = opened();
    const parent = await beginAs(store, []);
    const child = await childOf(store, parent);
    const message = { kind: "pause" } as const;
    await passAs(store, parent, {
      effects: [{ kind: "child-messaged", step: 0, fence: 1, message }],
    });
    const messages = await store.transact({ name: "read" }, async (tx) => {
      await tx.lockRuns([child.ref], true);
      return (await tx.loadMessages([child.ref.runId])).get(child.ref.runId);
    });
    expect(messages).toMatchObject([{ from: parent.ref.runId, message }]);
  });

  test("the id of a child is a UUIDv7 of its parent's time and partition, and no two are alike", () => {
    const parent = "019ae2f0-1234-7abc-8def-0123456789ab";
    const ids = [0, 1, 2].flatMap((step) => [1, 2].map((fence) => childRunId(parent, step, fence)));
    expect(new Set(ids).size).toBe(6);
    for (const id of ids)
      expect(id).toMatch(/^019ae2f0-1234-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{10}ab$/);
    expect(childRunId(parent, 0, 1)).toBe(ids[0]);
  });
}
