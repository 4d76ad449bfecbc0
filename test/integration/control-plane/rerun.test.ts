/** Reruns of ended runs on a real database: the old run does not change, nothing is done twice. */
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Definition } from "../../../server/core/definition/definition.ts";
import type { Reported } from "../../../server/core/model/event.ts";
import type { RerunRequest } from "../../../server/scheduler/scheduler.ts";
import { partitionOf } from "../../../server/store/partition.ts";
import type { RunRef } from "../../../server/store/store.ts";
import type { TestPlane } from "../../support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { historyOf, newAgent, newTask, openQuietPlane, schedule, stateOf } from "./fixture.ts";

let database: TestDatabase;
let plane: TestPlane;

beforeAll(async () => {
  database = await createTestDatabase();
  plane = await openQuietPlane(database.connectionString);
});
afterAll(async () => {
  await plane?.close();
  await database?.drop();
});

const json = (text: string) => ({ kind: "json", json: text }) as const;
const done = (output: string): Reported => ({ kind: "success", output: json(output) });
const broken: Reported = {
  kind: "failure",
  class: "permanent",
  code: "broken",
  message: "no",
  retryAfterMs: null,
  noEffect: true,
};

/** flight, then hotel, whose input comes from the flight; each in a lane of its own. */
function holiday(task: string, onFailure: "fail" | "compensate"): Definition {
  return {
    workflow: `holiday-${task}`,
    steps: [
      {
        id: "flight",
        needs: [],
        task: `${task}-flight`,
        // biome-ignore lint/suspicious/noTemplateCurlyInString: an expression of a workflow.
        input: json('{"to":"${input.to}"}'),
        compensate: { task: `${task}-undo` },
      },
      {
        id: "hotel",
        needs: ["flight"],
        task: `${task}-hotel`,
        // biome-ignore lint/suspicious/noTemplateCurlyInString: an expression of a workflow.
        input: json('{"flight":"${steps.flight.output.booking}"}'),
        onFailure,
      },
    ],
  };
}

const trip = { input: json('{"to":"Rome"}') };

/** The flight is booked, and the hotel refuses. */
async function failedRun(definition: Definition, task: string): Promise<RunRef> {
  const agent = newAgent(plane);
  const run = await schedule(plane, definition, trip);
  await agent.report(await agent.take(`${task}-flight`), done('{"booking":7}'));
  await agent.report(await agent.take(`${task}-hotel`), broken);
  return run;
}

let asked = 0;
function again(run: RunRef, more: Partial<RerunRequest> = {}) {
  const { namespace } = plane;
  const request = { from: { kind: "failed" }, input: null, version: "same" } as const;
  const id = { requestId: `request-${++asked}`, digest: "11".repeat(32) };
  return plane.scheduler.rerun({ ...request, ...id, namespace, runId: run.runId, ...more });
}

const refOf = (runId: string): RunRef => ({
  runId,
  partition: partitionOf(plane.namespace.region, runId),
});

it("a retry is a new run from the failed step on, with the outputs of the steps that succeeded", async () => {
  const task = newTask();
  const old = await failedRun(holiday(task, "fail"), task);
  expect(await stateOf(plane, old)).toBe("FAILED");
  const { runId, created } = await again(old);
  expect(created).toBe(true);
  expect(runId).not.toBe(old.runId);
  const agent = newAgent(plane);
  expect(await agent.poll(`${task}-flight`, { waitMs: 0 })).toEqual([]);
  const hotel = await agent.take(`${task}-hotel`);
  expect(hotel).toMatchObject({ runId, input: json('{"flight":7}') });
  await agent.report(hotel, done("{}"));
  expect(await stateOf(plane, refOf(runId))).toBe("COMPLETED");
  expect(await stateOf(plane, old)).toBe("FAILED");
  const { run, reused } = await historyOf(plane, refOf(runId));
  expect(run.rerunOf).toEqual({ runId: old.runId, from: null });
  expect([...reused]).toEqual([[0, old.runId]]);
});

it("what is reused is undone under the key and the input with which it was made, in later runs too", async () => {
  const task = newTask();
  const old = await failedRun(holiday(task, "fail"), task);
  const input = { payload: json('{"to":"Oslo"}') };
  const agent = newAgent(plane);
  const second = await again(old, { input, from: { kind: "step", stepId: "hotel" } });
  await agent.report(await agent.take(`${task}-hotel`), broken);
  expect(await stateOf(plane, refOf(second.runId))).toBe("FAILED");
  const third = await again(refOf(second.runId));
  const hotel = await agent.take(`${task}-hotel`);
  await plane.scheduler.command(refOf(third.runId), { kind: "cancel", undo: true, note: "" });
  await agent.report(hotel, broken);
  const undo = await agent.take(`${task}-undo`);
  expect(undo).toMatchObject({
    runId: third.runId,
    effectKey: `${old.runId}/flight/0`,
    idempotencyKey: `${old.runId}/flight/0u`,
    input: json('{"to":"Rome"}'),
    output: json('{"booking":7}'),
    fence: 2,
  });
  await agent.report(undo, done("{}"));
  expect(await stateOf(plane, refOf(third.runId))).toBe("COMPENSATED");
});

it("what a person set as succeeded, without an input, is reused and undone without one", async () => {
  const task = newTask();
  const { workflow, steps } = holiday(task, "fail");
  const [flight, hotel] = steps;
  if (!flight || !hotel) throw new Error("a holiday has two steps");
  // biome-ignore lint/suspicious/noTemplateCurlyInString: an expression of a workflow.
  const broke = { ...flight, input: json('{"to":"${input.list[0]}"}') };
  const definition = { workflow, steps: [broke, hotel] };
  const old = await schedule(plane, definition, { input: json('{"list":[]}') });
  const answer = { answer: "succeed", by: "ann", why: "", n: 1 } as const;
  await plane.scheduler.command(old, {
    kind: "answer",
    ...answer,
    payload: json('{"booking":7}'),
  });
  const agent = newAgent(plane);
  await agent.report(await agent.take(`${task}-hotel`), broken);
  expect(await stateOf(plane, old)).toBe("FAILED");
  const { runId } = await again(old);
  const second = await agent.take(`${task}-hotel`);
  await plane.scheduler.command(refOf(runId), { kind: "cancel", undo: true, note: "" });
  await agent.report(second, broken);
  const undo = await agent.take(`${task}-undo`);
  expect(undo).toMatchObject({ runId, effectKey: `${old.runId}/flight/0`, input: null });
});

it("the same request again is the same run, also side by side; another under its id is refused", async () => {
  const task = newTask();
  const old = await failedRun(holiday(task, "fail"), task);
  const requestId = "once";
  const [one, two] = await Promise.all([again(old, { requestId }), again(old, { requestId })]);
  expect(new Set([one.runId, two.runId]).size).toBe(1);
  expect([one.created, two.created].sort()).toEqual([false, true]);
  const other = again(old, { requestId, digest: "22".repeat(32) });
  await expect(other).rejects.toMatchObject({ reason: "KEY_REUSED" });
});

it("a compensated run is done again from the start alone", async () => {
  const task = newTask();
  const definition = holiday(task, "compensate");
  const two = {
    ...definition,
    steps: [...definition.steps, { id: "mail", needs: [], task: `${task}-mail` }],
  };
  const agent = newAgent(plane);
  const old = await schedule(plane, two, trip);
  await agent.report(await agent.take(`${task}-mail`), done("{}"));
  await agent.report(await agent.take(`${task}-flight`), done('{"booking":7}'));
  await agent.report(await agent.take(`${task}-hotel`), broken);
  await agent.report(await agent.take(`${task}-undo`), done("{}"));
  expect(await stateOf(plane, old)).toBe("COMPENSATED");
  await expect(again(old)).rejects.toMatchObject({ reason: "RUN_STATE" });
  const from = { kind: "step", stepId: "" } as const;
  const { runId } = await again(old, { from });
  expect(await agent.take(`${task}-flight`)).toMatchObject({ runId, input: json('{"to":"Rome"}') });
});

it("an open run, one without a failure, and a step that is not there are refused", async () => {
  const task = newTask();
  const agent = newAgent(plane);
  const run = await schedule(plane, holiday(task, "fail"), trip);
  await expect(again(run)).rejects.toMatchObject({ reason: "RUN_STATE" });
  await agent.report(await agent.take(`${task}-flight`), done('{"booking":7}'));
  await agent.report(await agent.take(`${task}-hotel`), done("{}"));
  await expect(again(run)).rejects.toThrow(/no step of it has failed/);
  const from = { kind: "step", stepId: "car" } as const;
  await expect(again(run, { from })).rejects.toThrow(/its steps are flight, hotel/);
});

it("the newest version is taken where it is asked for, with what it reuses by the ids of steps", async () => {
  const task = newTask();
  const definition = holiday(task, "fail");
  await plane.scheduler.registerWorkflow(plane.namespace, definition, false);
  const target = { kind: "named", name: definition.workflow, version: 0 } as const;
  const agent = newAgent(plane);
  const old = await schedule(plane, definition, { ...trip, target });
  await agent.report(await agent.take(`${task}-flight`), done('{"booking":7}'));
  await agent.report(await agent.take(`${task}-hotel`), broken);
  const [flight, hotel] = definition.steps;
  if (!flight || !hotel) throw new Error("two steps");
  const fixed = { ...hotel, task: `${task}-hotel-2` };
  const newer = { ...definition, steps: [fixed, flight] } as Definition;
  await plane.scheduler.registerWorkflow(plane.namespace, newer, true);
  const { runId } = await again(old, { version: "newest" });
  expect(await agent.take(`${task}-hotel-2`)).toMatchObject({ runId, version: 2 });
  const inline = await failedRun(holiday(`${task}x`, "fail"), `${task}x`);
  const asks = again(inline, { version: "newest" });
  await expect(asks).rejects.toMatchObject({ reason: "WORKFLOW_NOT_FOUND" });
});
