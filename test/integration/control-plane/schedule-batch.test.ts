/** Many runs in one transaction, on a real database: an answer for each, and safe to repeat. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { DroverError } from "../../../server/errors.ts";
import type { ScheduleRequest } from "../../../server/scheduler/scheduler.ts";
import type { TestPlane } from "../../support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { chain, newAgent, newTask, openQuietPlane, request } from "./fixture.ts";
import { type Hand, openHand } from "./hand.ts";

let database: TestDatabase;
let hand: Hand;
let plane: TestPlane;

beforeAll(async () => {
  database = await createTestDatabase();
  hand = await openHand(database.connectionString);
  plane = await openQuietPlane(database.connectionString);
});
afterAll(async () => {
  await plane?.close();
  await hand?.close();
  await database?.drop();
});

const digest = (n: number) => n.toString(16).padStart(64, "0");

function inline(task: string, more: Partial<ScheduleRequest> = {}): ScheduleRequest {
  return request(plane, chain(task, 1), more);
}

function named(name: string, more: Partial<ScheduleRequest> = {}): ScheduleRequest {
  return { ...inline("unused", more), target: { kind: "named", name, version: 0 } };
}

async function runs(requests: readonly ScheduleRequest[]) {
  const answers = await plane.scheduler.scheduleBatch(requests);
  return answers.map((answer) => (answer.kind === "scheduled" ? answer : answer.error.reason));
}

it("starts hundreds in one transaction, and their first tasks are there to be taken", async () => {
  const task = newTask();
  const asked = Array.from({ length: 300 }, (_, n) => inline(task, { key: `many-${n}` }));
  const answers = await runs(asked);
  expect(new Set(answers.map((answer) => typeof answer === "object" && answer.runId)).size).toBe(
    300,
  );
  const rows = await hand.query<{ xids: number; runs: number }>(
    `select count(distinct xmin::text)::integer as xids, count(*)::integer as runs
     from drover.run where key like 'many-%'`,
  );
  expect(rows).toEqual([{ xids: 1, runs: 300 }]);
  const tasks = await newAgent(plane).poll(task, { maxTasks: 100 });
  expect(tasks).toHaveLength(100);
});

it("answers a repeat with the same runs, and another request under a key with its refusal", async () => {
  const task = newTask();
  const asked = [1, 2].map((n) => inline(task, { key: `again-${n}`, digest: digest(n) }));
  const first = await runs(asked);
  expect(first).toMatchObject([{ created: true }, { created: true }]);
  const third = inline(task, { key: "again-3", digest: digest(3) });
  const other = inline(task, { key: "again-1", digest: digest(9) });
  const second = await runs([...asked, third, other]);
  expect(second.slice(0, 2)).toEqual(first.map((run) => ({ ...Object(run), created: false })));
  expect(second.slice(2)).toEqual([expect.objectContaining({ created: true }), "KEY_REUSED"]);
});

it("takes a key that one batch names twice as one run", async () => {
  const task = newTask();
  const twice = [1, 1, 2].map((n) => inline(task, { key: "twice", digest: digest(n) }));
  const [first, second, third] = await runs(twice);
  expect(first).toMatchObject({ created: true });
  expect(second).toEqual({ ...Object(first), created: false });
  expect(third).toBe("KEY_REUSED");
});

it("refuses what is wrong with one run alone", async () => {
  const schema = { kind: "json", json: '{"type":"object","required":["to"]}' } as const;
  const definition = { ...chain(newTask(), 1), workflow: "strict", inputSchema: schema };
  await plane.scheduler.registerWorkflow(plane.namespace, definition, false);
  const good = { kind: "json", json: '{"to":"Rome"}' } as const;
  const answers = await runs([
    named("strict"),
    named("strict", { input: good }),
    named("nothing"),
    named("strict", { input: good }),
  ]);
  expect(answers).toEqual([
    "INVALID_REQUEST",
    expect.objectContaining({ created: true }),
    "WORKFLOW_NOT_FOUND",
    expect.objectContaining({ created: true }),
  ]);
});

it("starts runs that begin thousands of items in several transactions, each key once", async () => {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: an expression of a workflow.
  const over = "${input.items}";
  const wide = {
    workflow: "wide",
    steps: [{ id: "m", needs: [], kind: "map", task: newTask(), over, concurrency: 1_000 }],
  } as const;
  const input = {
    kind: "json",
    json: JSON.stringify({ items: [...Array(1_000).keys()] }),
  } as const;
  const keys = [...Array(12).keys(), 11, 0];
  const asked = keys.map((n) =>
    request(plane, wide, { input, key: `wide-${n}`, digest: digest(n) }),
  );
  const answers = await runs(asked);
  expect(answers.slice(0, 12)).toEqual(Array(12).fill(expect.objectContaining({ created: true })));
  expect(answers.slice(12)).toEqual(
    [answers[11], answers[0]].map((first) => ({ ...Object(first), created: false })),
  );
  const [rows] = await hand.query<{ xids: number; runs: number }>(
    `select count(distinct xmin::text)::integer as xids, count(*)::integer as runs
     from drover.run where key like 'wide-%'`,
  );
  expect(rows?.runs).toBe(12);
  expect(rows?.xids).toBeGreaterThan(1);
  expect(rows?.xids).toBeLessThan(12);
});

it("starts none where the store fails", async () => {
  const away = new DroverError("STORE_UNAVAILABLE", "away");
  const broken = await openQuietPlane(database.connectionString, (store) => ({
    ...store,
    transact: () => Promise.reject(away),
  }));
  const asked = [request(broken, chain(newTask(), 1), { key: "none" })];
  await expect(broken.scheduler.scheduleBatch(asked)).rejects.toBe(away);
  expect(await hand.query("select from drover.run where key = 'none'")).toEqual([]);
  await broken.close();
});
