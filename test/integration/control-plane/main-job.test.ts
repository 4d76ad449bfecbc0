import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  endOf,
  openPlane,
  scheduleInline,
  type TestPlane,
  testAgent,
} from "../../support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";

let database: TestDatabase;
let plane: TestPlane;

beforeAll(async () => {
  database = await createTestDatabase();
  plane = await openPlane(database.connectionString);
});
afterAll(async () => {
  await plane?.close();
  await database?.drop();
});

const success = { kind: "success", output: { kind: "json", json: '{"ok":true}' } } as const;

describe("a run from Schedule to its end", () => {
  it("hands each step out in order and completes", async () => {
    const agent = testAgent(plane);
    const runId = await scheduleInline(plane, {
      workflow: "chain",
      steps: [
        { id: "a", needs: [], task: "a" },
        { id: "b", needs: ["a"], task: "b" },
      ],
    });
    const first = await agent.take();
    expect(first.stepId).toBe("a");
    expect((await agent.report(first, success)).answers).toEqual([
      { kind: "accepted", repeated: false },
    ]);
    expect((await agent.report(first, success)).answers).toEqual([
      { kind: "accepted", repeated: true },
    ]);
    const second = await agent.take();
    expect(second.stepId).toBe("b");
    await agent.report(second, success);
    expect(await endOf(plane, runId)).toMatchObject({ state: "COMPLETED", reason: "DONE" });
  });

  it("undoes what was done, in reverse order, when a step fails for good", async () => {
    const agent = testAgent(plane);
    const runId = await scheduleInline(plane, {
      workflow: "undo",
      steps: [
        { id: "a", needs: [], task: "a", compensate: { task: "undo-a" } },
        { id: "b", needs: ["a"], task: "b", compensate: { task: "undo-b" } },
        { id: "c", needs: ["b"], task: "c" },
      ],
    });
    await agent.report(await agent.take(), success);
    await agent.report(await agent.take(), success);
    const failing = await agent.take();
    await agent.report(failing, {
      kind: "failure",
      class: "permanent",
      code: "no-rooms",
      message: "full",
      retryAfterMs: null,
      noEffect: true,
    });
    const undoB = await agent.take();
    expect([undoB.task, undoB.kind, undoB.output]).toEqual([
      "undo-b",
      "compensate",
      { kind: "json", json: '{"ok":true}' },
    ]);
    await agent.report(undoB, success);
    const undoA = await agent.take();
    expect(undoA.task).toBe("undo-a");
    await agent.report(undoA, success);
    expect(await endOf(plane, runId)).toMatchObject({
      state: "COMPENSATED",
      reason: "STEP_FAILED",
    });
  });

  it("gives the task of a silent agent to another one and records why", async () => {
    const lost = testAgent(plane, "lost");
    const other = testAgent(plane, "other");
    const runId = await scheduleInline(plane, {
      workflow: "lost",
      steps: [{ id: "a", needs: [], task: "a", timeouts: { heartbeatMs: 2_000 } }],
    });
    const task = await lost.take();
    const again = await other.take(15_000);
    expect([again.fence, again.attempt]).toEqual([task.fence + 1, 1]);
    expect((await lost.report(task, success)).answers[0]).toMatchObject({ kind: "refused" });
    await other.report(again, success);
    await endOf(plane, runId);
    const detail = await plane.store.reads.runDetail(runId, {
      attempts: true,
      interventions: true,
      escalations: true,
    });
    expect(detail?.interventions.map(({ rule }) => rule)).toEqual(["lease"]);
    expect(detail?.attempts.map(({ kind, outcome }) => [kind, outcome.kind])).toEqual([
      ["perform", "unknown"],
      ["late", "success"],
      ["perform", "success"],
    ]);
  });
});
