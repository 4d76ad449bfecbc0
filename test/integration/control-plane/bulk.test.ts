/** The same to many runs, over gRPC and a real database: counted first, and safe to repeat. */
import { RunState } from "@drover/proto/drover/v1/run_pb.ts";
import { BulkKind } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { TestPlane } from "../../support/control-plane.ts";
import { type BulkWorld, broken, by, openBulkWorld } from "./bulk-world.ts";
import { chain, newAgent, newTask, request, stateOf } from "./fixture.ts";

let world: BulkWorld;
let plane: TestPlane;

beforeAll(async () => {
  world = await openBulkWorld();
  plane = world.plane;
});
afterAll(() => world?.close());

/** Runs of one label of their own. */
async function started(label: string, count: number, task = newTask()) {
  const asked = Array.from({ length: count }, () =>
    request(plane, chain(task, 1, { onFailure: "fail" }), { labels: { of: label } }),
  );
  await plane.scheduler.scheduleBatch(asked);
  return task;
}

it("a dry run counts and changes nothing", async () => {
  await started("dry", 3);
  const asked = { ...by("dry"), kind: BulkKind.CANCEL, dryRun: true };
  const { answer } = await world.bulk(asked);
  expect(answer).toMatchObject({ count: 3, results: [], nextPageToken: "" });
  expect(await world.count("dry", RunState.RUNNING)).toBe(3);
});

it("all pages together are all runs that were there, and none that came later", async () => {
  await started("pages", 130);
  const asked = { ...by("pages"), kind: BulkKind.CANCEL, requestId: "pages", expectedCount: 130 };
  const first = await world.bulk(asked);
  expect(first.answer).toMatchObject({ count: 130 });
  expect(first.answer?.results).toHaveLength(100);
  await started("pages", 2);
  const pageToken = first.answer?.nextPageToken ?? "";
  const second = await world.bulk({ ...asked, pageToken });
  expect(second.answer).toMatchObject({ count: 0, nextPageToken: "" });
  expect(second.answer?.results).toHaveLength(30);
  const again = await world.bulk({ ...asked, pageToken });
  expect(again.answer?.results).toEqual([]);
  expect(await world.count("pages", RunState.CANCELLED)).toBe(130);
  expect(await world.count("pages", RunState.RUNNING)).toBe(2);
});

it("a first call that is repeated continues, although the count has changed meanwhile", async () => {
  await started("repeat", 2);
  const asked = { ...by("repeat"), kind: BulkKind.CANCEL, requestId: "repeat", expectedCount: 2 };
  expect((await world.bulk(asked)).answer?.results).toHaveLength(2);
  const again = await world.bulk(asked);
  expect(again.answer).toMatchObject({ count: 0, results: [] });
  // A caller that counts again before the repetition finds another number.
  const counted = await world.bulk({ ...asked, expectedCount: 0 });
  expect(counted.answer).toMatchObject({ count: 0, results: [] });
  const other = await world.bulk({ ...asked, kind: BulkKind.PAUSE });
  expect(other).toMatchObject({ code: 6, reason: "KEY_REUSED" });
});

it("another count than was expected does nothing, and may be corrected under the same name", async () => {
  await started("count", 2);
  const asked = { ...by("count"), kind: BulkKind.PAUSE, requestId: "count" };
  const refused = await world.bulk({ ...asked, expectedCount: 5 });
  expect(refused).toMatchObject({ code: 9, reason: "COUNT_MISMATCH" });
  expect(refused.metadata).toEqual({ expected: "5", found: "2" });
  expect(await world.count("count", RunState.RUNNING)).toBe(2);
  const good = await world.bulk({ ...asked, expectedCount: 2 });
  expect(good.answer?.results).toHaveLength(2);
  expect(await world.count("count", RunState.PAUSED)).toBe(2);
  const resumed = { ...by("count"), kind: BulkKind.RESUME, requestId: "resume" };
  expect((await world.bulk(resumed)).answer?.results).toHaveLength(2);
  expect(await world.count("count", RunState.RUNNING)).toBe(2);
});

it("a cancel of all that are open finds those that have not started as well", async () => {
  const startAt = Date.now() + 86_400_000;
  await plane.scheduler.schedule(
    request(plane, chain(newTask(), 1), { labels: { of: "later" }, startAt }),
  );
  const asked = { ...by("later"), kind: BulkKind.CANCEL, requestId: "later", expectedCount: 1 };
  const { answer } = await world.bulk(asked);
  expect(answer?.results.map(({ status }) => status?.code)).toEqual([0]);
  expect(await world.count("later", RunState.CANCELLED)).toBe(1);
});

it("what failed is retried once for each run, whichever caller repeats it", async () => {
  const task = await started("retry", 2);
  const agent = newAgent(plane);
  const tasks = await agent.poll(task);
  await agent.complete(tasks, broken);
  const asked = { ...by("retry"), kind: BulkKind.RETRY, requestId: "retry" };
  const first = await world.bulk(asked);
  const ids = first.answer?.results.map(({ newRunId }) => newRunId) ?? [];
  expect(new Set(ids).size).toBe(2);
  const second = await world.bulk(asked);
  expect(second.answer?.results.map(({ newRunId }) => newRunId)).toEqual(ids);
  for (const runId of ids) expect(await stateOf(plane, { runId, partition: 0 })).toBe("RUNNING");
});

it("a run that the action is not for keeps its answer to itself", async () => {
  const task = await started("mixed", 2);
  const agent = newAgent(plane);
  const [first] = await agent.poll(task, { maxTasks: 1 });
  if (!first) throw new Error("no task came");
  await agent.report(first, { kind: "success", output: null });
  const states = [RunState.RUNNING, RunState.COMPLETED];
  const filter = { labels: { of: "mixed" }, states };
  const asked = { filter, kind: BulkKind.CANCEL, requestId: "mixed" };
  const { answer } = await world.bulk(asked);
  expect(answer?.results.map(({ status }) => status?.code).sort()).toEqual([0, 9]);
});

it("an action without a name of its own is refused, and so is a page of another one", async () => {
  const nameless = await world.bulk({ kind: BulkKind.CANCEL });
  expect(nameless).toMatchObject({ code: 3, reason: "INVALID_REQUEST" });
  const page = { kind: BulkKind.CANCEL, requestId: "x", pageToken: "abcd" };
  expect(await world.bulk(page)).toMatchObject({ reason: "PAGE_TOKEN_INVALID" });
});
