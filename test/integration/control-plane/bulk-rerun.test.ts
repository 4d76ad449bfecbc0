/** Many ended runs done again, over gRPC and a real database: each of them once. */
import { RunState } from "@drover/proto/drover/v1/run_pb.ts";
import { BulkKind, RerunVersion } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Definition } from "../../../server/core/definition/definition.ts";
import { DroverError } from "../../../server/errors.ts";
import { RPC_DEFAULTS } from "../../../server/rpc-config.ts";
import type { ScheduleRequest } from "../../../server/scheduler/scheduler.ts";
import { ANY_RUN } from "../../../server/store/lists.ts";
import { NO_LIMITS } from "../../../server/store/namespaces.ts";
import type { RunRef } from "../../../server/store/store.ts";
import type { TestPlane } from "../../support/control-plane.ts";
import { type BulkWorld, broken, by, openBulkWorld, reasonsOf } from "./bulk-world.ts";
import { chain, newAgent, newTask, schedule, stateOf, success } from "./fixture.ts";

let world: BulkWorld;
let plane: TestPlane;

beforeAll(async () => {
  world = await openBulkWorld();
  plane = world.plane;
});
afterAll(() => world?.close());

const rerun = { kind: BulkKind.RERUN };
const json = (value: string) => ({ body: { case: "json" as const, value } });

/** A workflow of its own name: these steps one after the other, of one task. */
function workflowOf(name: string, task: string, length: number): Definition {
  return { ...chain(task, length, { onFailure: "fail" }), workflow: name };
}

/** Runs that have failed at their last step. */
async function failed(
  label: string,
  definition: Definition,
  count: number,
  more: Partial<ScheduleRequest> = {},
  of = plane,
): Promise<readonly RunRef[]> {
  const labels = { of: label };
  const [{ task } = { task: "" }] = definition.steps as readonly { readonly task: string }[];
  const agent = newAgent(of);
  const runs: RunRef[] = [];
  for (let n = 0; n < count; n += 1) {
    runs.push(await schedule(of, definition, { labels, ...more }));
    for (const step of definition.steps)
      await agent.report(
        await agent.take(task),
        step === definition.steps.at(-1) ? broken : success,
      );
  }
  return runs;
}

async function recordOf(runId: string) {
  const record = await plane.store.reads.findRun(plane.namespace.id, { runId });
  if (!record) throw new Error(`there is no run ${runId}`);
  return record;
}

/** How many runs there are of the label that do another one again. */
async function startedCount(label: string): Promise<number> {
  const page = { order: "created-asc", limit: 100, after: null } as const;
  const filter = { ...ANY_RUN, labels: { of: label } };
  const runs = await plane.store.lists.runs(plane.namespace.id, {
    ...page,
    filter,
  });
  return runs.filter(({ rerunOf }) => rerunOf !== null).length;
}

it("a dry run counts the runs that have ended, and begins none", async () => {
  const task = newTask();
  await failed("dry", workflowOf("dry", task, 1), 2);
  await schedule(plane, workflowOf("dry", task, 1), { labels: { of: "dry" } });
  const { answer } = await world.bulk({ ...by("dry"), ...rerun, dryRun: true });
  expect(answer).toMatchObject({ count: 2, results: [] });
  expect(await startedCount("dry")).toBe(0);
});

it("each run is done again from the step, with one input and the newest version", async () => {
  const task = newTask();
  const { namespace, scheduler } = plane;
  await scheduler.registerWorkflow(namespace, workflowOf("newest", task, 2), false);
  const target = { kind: "named", name: "newest", version: 1 } as const;
  const runs = await failed("newest", workflowOf("newest", task, 2), 2, { target });
  await scheduler.registerWorkflow(namespace, workflowOf("newest", task, 3), false);
  const { answer } = await world.bulk({
    ...by("newest"),
    ...rerun,
    requestId: "newest",
    expectedCount: 2,
    stepId: "s1",
    version: RerunVersion.NEWEST,
    input: json('{"to":"Oslo"}'),
  });
  expect(reasonsOf(answer?.results)).toEqual(["", ""]);
  for (const [at, run] of runs.entries()) {
    const { runId, newRunId } = answer?.results[at] ?? { runId: "", newRunId: "" };
    expect(runId).toBe(run.runId);
    expect(await recordOf(newRunId)).toMatchObject({
      state: "RUNNING",
      version: 2,
      rerunOf: { runId, from: "s1" },
      input: { kind: "json", json: '{"to":"Oslo"}' },
    });
    expect(await stateOf(plane, run)).toBe("FAILED");
  }
});

it("without a step runs are done again from the start, each with its own input", async () => {
  const input = { kind: "json", json: '{"n":1}' } as const;
  await failed("start", workflowOf("start", newTask(), 1), 1, { input });
  const { answer } = await world.bulk({ ...by("start"), ...rerun, requestId: "start" });
  const [result] = answer?.results ?? [];
  expect(await recordOf(result?.newRunId ?? "")).toMatchObject({
    input,
    version: 0,
    rerunOf: { from: "" },
  });
});

it("a request that is repeated begins no second run", async () => {
  await failed("repeat", workflowOf("repeat", newTask(), 1), 2);
  const asked = { ...by("repeat"), ...rerun, requestId: "repeat", expectedCount: 2 };
  const first = await world.bulk(asked);
  const again = await world.bulk(asked);
  expect(again.answer?.results).toEqual(first.answer?.results);
  expect(await startedCount("repeat")).toBe(2);
});

it("a call that was cut in the middle is finished by its repeat", async () => {
  const runs = await failed("cut", workflowOf("cut", newTask(), 1), 3);
  const asked = { ...by("cut"), ...rerun, requestId: "cut", expectedCount: 3 };
  const { rerun: again } = world.scheduler;
  world.scheduler.rerun = async (request) => {
    if (request.runId !== runs[1]?.runId) return again(request);
    throw new DroverError("STORE_UNAVAILABLE", "the database is away");
  };
  expect(await world.bulk(asked)).toMatchObject({ code: 14, reason: "STORE_UNAVAILABLE" });
  world.scheduler.rerun = again;
  expect(reasonsOf((await world.bulk(asked)).answer?.results)).toEqual(["", "", ""]);
  expect(await startedCount("cut")).toBe(3);
});

it("a run that is open, or has no slot of its key, is refused by itself", async () => {
  const definition = workflowOf("refused", newTask(), 1);
  const concurrency = { key: "refused", limit: 1, policy: "refuse" } as const;
  await failed("refused", definition, 2, { concurrency });
  await schedule(plane, definition, { labels: { of: "refused" } });
  const states = [RunState.FAILED, RunState.RUNNING];
  const filter = { ...by("refused").filter, states };
  const { answer } = await world.bulk({ ...rerun, filter, requestId: "refused" });
  expect([...reasonsOf(answer?.results)].sort()).toEqual(["", "CONCURRENCY_LIMIT", "RUN_STATE"]);
  expect(await startedCount("refused")).toBe(1);
});

it("a repeat takes no place in the namespace again, and where there is none it may come later", async () => {
  const team = { ...plane, namespace: await plane.store.createNamespace("team") };
  const { id, name: namespace } = team.namespace;
  const limit = (openRunsMax: number) =>
    plane.scheduler.limitNamespace(id, { ...NO_LIMITS, openRunsMax });
  for (const label of ["one", "two", "three"])
    await failed(label, workflowOf("full", newTask(), 1), 1, {}, team);
  const again = (label: string) =>
    world.bulk({ ...by(label), ...rerun, namespace, requestId: label });
  await limit(2);
  const { answer } = await again("one");
  expect((await again("one")).answer?.results).toEqual(answer?.results);
  expect(reasonsOf((await again("two")).answer?.results)).toEqual([""]);
  expect(await again("three")).toMatchObject({ code: 8, reason: "NAMESPACE_LIMIT" });
  await limit(3);
  expect(reasonsOf((await again("three")).answer?.results)).toEqual([""]);
});

it("another count than was expected begins nothing", async () => {
  await failed("count", workflowOf("count", newTask(), 1), 1);
  const asked = { ...by("count"), ...rerun, requestId: "count", expectedCount: 2 };
  expect(await world.bulk(asked)).toMatchObject({ code: 9, reason: "COUNT_MISMATCH" });
  expect(await startedCount("count")).toBe(0);
});

it("a step that some of the runs have not is reported before anything is done, in a dry run too", async () => {
  await failed("step", workflowOf("long", newTask(), 2), 1);
  await failed("step", workflowOf("short", newTask(), 1), 1);
  const asked = { ...by("step"), ...rerun, requestId: "step", stepId: "s1" };
  const refused = await world.bulk(asked);
  expect(refused).toMatchObject({ code: 5, reason: "STEP_NOT_FOUND" });
  expect(refused.message).toContain('The workflow "short" has no step "s1": its steps are s0.');
  expect(await world.bulk({ ...asked, dryRun: true })).toMatchObject({ reason: "STEP_NOT_FOUND" });
  expect(await startedCount("step")).toBe(0);
  // Nothing was filed, so the name is free for what is right.
  const filter = { ...by("step").filter, workflow: "long" };
  expect(reasonsOf((await world.bulk({ ...asked, filter })).answer?.results)).toEqual([""]);
});

it("an input, a version and a payload that do not fit are reported before anything is done", async () => {
  const schema = { kind: "json", json: '{"type":"object"}' } as const;
  const strict = { ...workflowOf("strict", newTask(), 1), inputSchema: schema };
  await failed("fit", strict, 1);
  const asked = { ...by("fit"), ...rerun, requestId: "fit" };
  const number = await world.bulk({ ...asked, input: json("7") });
  expect(number).toMatchObject({ code: 3, reason: "INVALID_REQUEST" });
  expect(number.fields.map(([path]) => path)).toEqual(["input"]);
  const newest = { ...asked, version: RerunVersion.NEWEST };
  expect(await world.bulk(newest)).toMatchObject({ code: 5, reason: "WORKFLOW_NOT_FOUND" });
  const large = json(JSON.stringify("x".repeat(RPC_DEFAULTS.payloadBytesMax)));
  expect(await world.bulk({ ...asked, input: large })).toMatchObject({
    reason: "PAYLOAD_TOO_LARGE",
  });
  const invalid = await world.bulk({ ...asked, kind: BulkKind.RETRY, stepId: "s0" });
  expect(invalid.fields).toEqual([["step_id", "is for RERUN: leave it out"]]);
  expect(await startedCount("fit")).toBe(0);
});

it("an action that has started continues, although a newer version would be refused now", async () => {
  const task = newTask();
  const { namespace, scheduler } = plane;
  await scheduler.registerWorkflow(namespace, workflowOf("moved", task, 2), false);
  const target = { kind: "named", name: "moved", version: 1 } as const;
  await failed("moved", workflowOf("moved", task, 2), 1, { target });
  const version = RerunVersion.NEWEST;
  const asked = { ...by("moved"), ...rerun, requestId: "moved", stepId: "s1", version };
  expect(reasonsOf((await world.bulk(asked)).answer?.results)).toEqual([""]);
  await scheduler.registerWorkflow(namespace, workflowOf("moved", task, 1), false);
  expect((await world.bulk(asked)).answer?.results).toHaveLength(1);
  expect(await startedCount("moved")).toBe(1);
  expect(await world.bulk({ ...asked, requestId: "other" })).toMatchObject({ code: 5 });
});

it("what no run is found for is no mistake", async () => {
  const asked = { ...by("none"), ...rerun, requestId: "none", stepId: "any" };
  expect((await world.bulk(asked)).answer).toMatchObject({ count: 0, results: [] });
});
