/**
 * Child runs over a real database: a step begins one in the transaction of its own pass, learns of
 * its end by a message, and takes its outcome; what happens to the parent happens to the child.
 */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Definition, RunWork, StepRules } from "../../../server/core/definition/definition.ts";
import type { Reported } from "../../../server/core/model/event.ts";
import { emptyView } from "../../../server/core/model/model.ts";
import { childRef } from "../../../server/store/child-run.ts";
import type { RunRef } from "../../../server/store/store.ts";
import { endOf, openPlane, type TestPlane } from "../../support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import {
  chain,
  historyOf,
  newAgent,
  newTask,
  openQuietPlane,
  schedule,
  stateOf,
  success,
} from "./fixture.ts";

let database: TestDatabase;
/** Scans for nothing by itself: what happens here is published in process. */
let plane: TestPlane;

beforeAll(async () => {
  database = await createTestDatabase();
  plane = await openQuietPlane(database.connectionString);
});
afterAll(async () => {
  await plane?.close();
  await database?.drop();
});

const failed: Reported = {
  kind: "failure",
  class: "permanent",
  code: "declined",
  message: "no money",
  retryAfterMs: null,
  noEffect: true,
};

async function register(definition: Definition): Promise<string> {
  await plane.scheduler.registerWorkflow(plane.namespace, definition, false);
  return definition.workflow;
}

/** A registered workflow of one step, which performs the task. */
const child = (task: string, more: Partial<StepRules> = {}, input?: Definition["inputSchema"]) =>
  register({
    ...chain(task, 1, more),
    workflow: `child-${task}`,
    ...(input ? { inputSchema: input } : {}),
  });

/** The step `a` runs the workflow, and `b` performs a task with what came of it. */
function parentOf(workflow: string, after: string, more: Partial<StepRules & RunWork> = {}) {
  const input = { kind: "json", json: '{"got":"$\u007bsteps.a.output}"}' } as const;
  return {
    workflow: "parent",
    steps: [
      { id: "a", needs: [], kind: "run", workflow, ...more },
      { id: "b", needs: ["a"], task: after, input },
    ],
  } satisfies Definition;
}

const first = (parent: RunRef): RunRef => childRef(parent, 0, 1);

async function errorOf(parent: RunRef, step = 0) {
  const { attempts } = await historyOf(plane, parent);
  const outcome = attempts.findLast((one) => one.step === step)?.outcome;
  return outcome?.kind === "failure" ? outcome : null;
}

describe("a run step", () => {
  it("begins a child at once, with its input, labels and priority, and takes its output", async () => {
    const work = newTask();
    const after = newTask();
    const input = { kind: "json", json: '{"n":"$\u007binput.n + 1}"}' } as const;
    const parent = await schedule(plane, parentOf(await child(work), after, { input }), {
      input: { kind: "json", json: '{"n":4}' },
      labels: { city: "Bern" },
      priority: 2,
    });
    const agent = newAgent(plane);
    const task = await agent.take(work);
    expect(task).toMatchObject({ runId: first(parent).runId, labels: { city: "Bern" } });
    expect(task.input).toEqual({ kind: "json", json: '{"n":5}' });
    const record = await plane.store.reads.findRun(plane.namespace.id, first(parent));
    expect(record).toMatchObject({
      parent: { runId: parent.runId, stepId: "a" },
      priority: 2,
      workflow: `child-${work}`,
      version: 1,
      state: "RUNNING",
      key: null,
    });
    await agent.report(task, success);
    const next = await agent.take(after);
    expect(next.input).toEqual({ kind: "json", json: '{"got":{"s0":{"ok":1}}}' });
    await agent.report(next, success);
    expect(await stateOf(plane, parent)).toBe("COMPLETED");
    const { interventions } = await historyOf(plane, first(parent));
    expect(interventions).toEqual([]);
  });

  it("fails with what its child failed with", async () => {
    const work = newTask();
    const parent = await schedule(plane, parentOf(await child(work), newTask()));
    const agent = newAgent(plane);
    await agent.report(await agent.take(work), failed);
    expect((await endOf(plane, parent.runId)).state).toBe("FAILED");
    expect(await errorOf(parent)).toMatchObject({
      code: "drover.child-failed",
      message: `child run ${first(parent).runId} ended FAILED (STEP_FAILED): step "s0" failed: declined: no money`,
    });
  });

  it("is undone with the child's output: what the child did is final", async () => {
    const work = newTask();
    const after = newTask();
    const undo = newTask();
    const definition = parentOf(await child(work), after, { compensate: { task: undo } });
    const parent = await schedule(plane, definition);
    const agent = newAgent(plane);
    await agent.report(await agent.take(work), success);
    await agent.report(await agent.take(after), failed);
    const task = await agent.take(undo);
    expect(task).toMatchObject({ runId: parent.runId, output: { json: '{"s0":{"ok":1}}' } });
    await agent.report(task, success);
    expect(await stateOf(plane, parent)).toBe("COMPENSATED");
    expect(await stateOf(plane, first(parent))).toBe("COMPLETED");
  });

  it("fails for good where the workflow is not there, or does not take the input", async () => {
    const missing = await schedule(plane, parentOf("nowhere", newTask()));
    await endOf(plane, missing.runId);
    expect(await errorOf(missing)).toMatchObject({
      code: "drover.child-refused",
      message: 'the workflow "nowhere" is not registered',
    });
    const schema = { kind: "json", json: '{"type":"object","required":["sum"]}' } as const;
    const parent = await schedule(plane, parentOf(await child(newTask(), {}, schema), newTask()));
    await endOf(plane, parent.runId);
    const error = await errorOf(parent);
    expect(error?.code).toBe("drover.child-refused");
    expect(error?.message).toContain("does not take the input");
    expect(error?.message).toContain("sum");
    expect(await stateOf(plane, first(parent))).toBe("FAILED");
  });

  it("of a workflow that runs itself without an end fails 16 runs deep", async () => {
    const workflow = "matryoshka";
    await register({ workflow, steps: [{ id: "a", needs: [], kind: "run", workflow }] });
    const { runId } = await plane.scheduler.schedule({
      namespace: plane.namespace,
      target: { kind: "named", name: workflow, version: 0 },
      input: null,
      key: null,
      priority: 5,
      labels: {},
      notify: null,
      startAt: null,
      concurrency: null,
      digest: "00",
    });
    const top = { runId, partition: Number.parseInt(runId.slice(-2), 16) };
    expect((await endOf(plane, runId)).state).toBe("FAILED");
    let deepest: RunRef = top;
    for (let depth = 0; depth < 16; depth++) deepest = first(deepest);
    expect(await errorOf(deepest)).toMatchObject({ code: "drover.depth" });
    expect(await stateOf(plane, first(deepest))).toBe("FAILED");
    expect(await stateOf(plane, first(first(deepest)))).toBe("gone");
  });
});

describe("what happens to a parent happens to its child", () => {
  it("a cancel undoes what the child did, and the parent ends after it", async () => {
    const work = newTask();
    const undo = newTask();
    const definition = {
      ...chain(work, 2, { compensate: { task: undo } }),
      workflow: `child-${work}`,
    };
    const parent = await schedule(plane, parentOf(await register(definition), newTask()));
    const agent = newAgent(plane);
    await agent.report(await agent.take(work), success);
    const second = await agent.take(work);
    await plane.scheduler.command(parent, { kind: "cancel", undo: true, note: "" });
    await expect.poll(() => stateOf(plane, first(parent))).toBe("STOPPING");
    expect(await stateOf(plane, parent)).toBe("STOPPING");
    await agent.report(second, failed);
    await agent.report(await agent.take(undo), success);
    const ended = await endOf(plane, parent.runId);
    expect(ended).toMatchObject({ state: "CANCELLED", reason: "CANCELLED_BY_USER" });
    const record = await plane.store.reads.findRun(plane.namespace.id, first(parent));
    expect(record).toMatchObject({ state: "COMPENSATED", reason: "CANCELLED_BY_USER" });
    expect(record?.endedAt).toBeLessThanOrEqual(ended.endedAt ?? 0);
  });

  it("a pause and a resume, through all that it has started", async () => {
    const work = newTask();
    const middle = await register({
      workflow: `middle-${work}`,
      steps: [{ id: "in", needs: [], kind: "run", workflow: await child(work) }],
    });
    const parent = await schedule(plane, parentOf(middle, newTask()));
    const grandchild = first(first(parent));
    await expect.poll(() => stateOf(plane, grandchild)).toBe("RUNNING");
    await plane.scheduler.command(parent, { kind: "pause", note: "" });
    await expect.poll(() => stateOf(plane, grandchild)).toBe("PAUSED");
    expect(await newAgent(plane).poll(work, { waitMs: 0 })).toEqual([]);
    await plane.scheduler.command(parent, { kind: "resume", note: "" });
    const agent = newAgent(plane);
    expect((await agent.take(work)).runId).toBe(grandchild.runId);
  });

  it("its deadline, which no child outlives", async () => {
    const work = newTask();
    const definition = { ...parentOf(await child(work), newTask()), timeoutMs: 60_000 };
    const parent = await schedule(plane, definition);
    await newAgent(plane).take(work);
    const of = await plane.store.reads.findRun(plane.namespace.id, parent);
    const record = await plane.store.reads.findRun(plane.namespace.id, first(parent));
    expect(record?.deadlineAt).toBe(of?.deadlineAt);
    const owner = await openPlane(database.connectionString);
    await expire(parent);
    await expect.poll(() => stateOf(plane, first(parent)), { timeout: 5_000 }).toBe("STOPPING");
    const { reason } = (await plane.store.reads.findRun(plane.namespace.id, parent)) ?? {};
    expect(reason).toBe("TIMED_OUT");
    await owner.close();
  });

  /** Its deadline comes now. */
  async function expire({ runId }: RunRef): Promise<void> {
    await plane.store.transact({ name: "expire" }, async (tx) => {
      const ref = { runId, partition: Number.parseInt(runId.slice(-2), 16) };
      const [head] = await tx.lockRuns([ref], true);
      if (!head) throw new Error("the run is open");
      const view = emptyView(head.run);
      const state = { kind: "RUNNING", deadline: tx.now } as const;
      const version = head.run.version + 1;
      const after = { ...view, run: { ...head.run, state, version } };
      const laneOf = () => {
        throw new Error("no lane is asked for");
      };
      await tx.write([{ head, before: view, after, effects: [], laneOf, actor: null }]);
    });
  }
});

/** A process that lets so many passes through, and then none. */
function openDying(passes: number): Promise<TestPlane> {
  let left = passes;
  return openQuietPlane(database.connectionString, (store) => ({
    ...store,
    transact(options, work) {
      if (options.name !== "advance" || left-- > 0) return store.transact(options, work);
      return Promise.reject(new Error("the process is dead"));
    },
  }));
}

describe("a process that dies", () => {
  it("when it has started a child leaves it to the owner of the child's partition", async () => {
    const work = newTask();
    const dying = await openDying(0);
    const parent = await schedule(dying, parentOf(await child(work), newTask()));
    expect(await stateOf(plane, first(parent))).toBe("PENDING");
    const owner = await openPlane(database.connectionString);
    expect((await newAgent(owner).take(work)).runId).toBe(first(parent).runId);
    const { interventions } = await historyOf(plane, first(parent));
    expect(interventions.map(({ rule }) => rule)).toEqual(["start"]);
    await owner.close();
    await dying.close();
  });

  it("when a child has ended leaves what follows to the owner of the parent's partition", async () => {
    const work = newTask();
    const after = newTask();
    const dying = await openDying(2);
    const parent = await schedule(dying, parentOf(await child(work), after));
    const agent = newAgent(dying);
    await agent.report(await agent.take(work), success);
    expect(await stateOf(plane, first(parent))).toBe("COMPLETED");
    expect(await stateOf(plane, parent)).toBe("RUNNING");
    const owner = await openPlane(database.connectionString);
    expect((await newAgent(owner).take(after)).runId).toBe(parent.runId);
    await owner.close();
    await dying.close();
  });
});
