// Maps on a real database: what an item costs whatever the size of the list, queues of their own,
// and the items of a run that is undone.
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { StepDefinition } from "../../../server/core/definition/definition.ts";
import { ITEMS_MAX } from "../../../server/core/model/step-key.ts";
import type { HandedTask } from "../../../server/dispatch/dispatcher.ts";
import { partitionOf } from "../../../server/store/partition.ts";
import { endOf, openPlane, scheduleInline, type TestPlane } from "../../support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { type Agent, newAgent, newTask, success } from "./fixture.ts";

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

const broken = {
  kind: "failure",
  class: "permanent",
  code: "broken",
  message: "it is broken",
  retryAfterMs: null,
  noEffect: true,
} as const;

function mapOf(task: string, over: string, more: object = {}): StepDefinition {
  return { id: "m", needs: [], kind: "map", task, over, ...more };
}

async function takeAll(agent: Agent, task: string, count: number): Promise<readonly HandedTask[]> {
  const tasks: HandedTask[] = [];
  while (tasks.length < count) tasks.push(await agent.take(task));
  return tasks;
}

const LOADS = ["load_pages", "load_whole_runs", "read_pages"];

async function workOff(task: string, items: number): Promise<void> {
  const agent = newAgent(plane);
  for (let done = 0; done < items; ) {
    const tasks = await agent.poll(task, { maxTasks: 100 });
    await agent.complete(tasks, success);
    done += tasks.length;
  }
}

/** Pages that passes have loaded of steps and items meanwhile, besides the first ones of runs. */
async function pagesLoaded(work: () => Promise<void>): Promise<number> {
  let pages = 0;
  const query = pg.Client.prototype.query;
  const spy = vi.spyOn(pg.Client.prototype, "query").mockImplementation(function (
    this: pg.Client,
    ...args: unknown[]
  ) {
    const answer = Reflect.apply(query, this, args);
    const [what] = args;
    const isLoad = typeof what === "object" && what !== null && "name" in what;
    if (isLoad && LOADS.includes(String(what.name)))
      void Promise.resolve(answer).then((result: pg.QueryResult) => {
        pages += result.rows.length;
      });
    return answer;
  });
  await work();
  spy.mockRestore();
  return pages;
}

async function detail(runId: string) {
  const found = await plane.store.reads.runDetail(runId, {
    attempts: true,
    interventions: false,
    escalations: false,
  });
  if (!found) throw new Error(`there is no run ${runId}`);
  return found;
}

async function outputOf(runId: string, no: number): Promise<unknown> {
  const { steps, attempts } = await detail(runId);
  const { result } = steps.get(no) ?? {};
  const row = attempts.find(({ step, kind }) => step === no && kind === result?.kind);
  const output = row?.outcome.kind === "success" ? row.outcome.output : null;
  return output?.kind === "json" ? JSON.parse(output.json) : null;
}

describe("a map", () => {
  it("performs each item with its own input and key, and publishes what they came to", async () => {
    const task = newTask();
    const runId = await scheduleInline(plane, {
      workflow: "map",
      steps: [mapOf(task, '["a", "b", "c"]')],
    });
    const agent = newAgent(plane);
    const tasks = await takeAll(agent, task, 3);
    expect(tasks.map(({ stepId, item, input }) => ({ stepId, item, input }))).toEqual(
      ["a", "b", "c"].map((value, item) => {
        return { stepId: "m", item, input: { kind: "json", json: JSON.stringify(value) } };
      }),
    );
    expect(new Set(tasks.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(3);
    await agent.complete(tasks, ({ item }) => {
      return { kind: "success", output: { kind: "json", json: `${item}` } };
    });
    expect(await endOf(plane, runId)).toMatchObject({ state: "COMPLETED" });
    expect(await outputOf(runId, 0)).toEqual({
      counts: { total: 3, succeeded: 3, failed: 0, skipped: 0 },
      items: [0, 1, 2],
    });
  });

  it("sends each item to the queue that its expression names", async () => {
    const task = newTask();
    await scheduleInline(plane, {
      workflow: "queues",
      steps: [mapOf(task, '["north", "south"]', { queue: `to-\${item}` })],
    });
    const agent = newAgent(plane);
    const south = await agent.take(task, { queue: "to-south" });
    expect(south).toMatchObject({ item: 1, queue: "to-south" });
    expect(await agent.take(task, { queue: "to-north" })).toMatchObject({ item: 0 });
  });

  it("asks a gate that a person has given another input under another key", async () => {
    const task = newTask();
    const gate = newTask();
    const runId = await scheduleInline(plane, {
      workflow: "gated",
      steps: [
        { id: "before", needs: [], task, pivot: true },
        mapOf(task, "2", { needs: ["before"], waves: { size: 1, gate: { task: gate } } }),
      ],
    });
    const agent = newAgent(plane);
    await agent.complete([await agent.take(task)], success);
    await agent.complete([await agent.take(task)], success);
    const first = await agent.take(gate);
    await agent.complete([first], broken);
    const payload = { kind: "json", json: '{"look":"again"}' } as const;
    const resolution = {
      kind: "answer",
      n: 1,
      answer: "retry-changed",
      by: "ann",
      why: "",
    } as const;
    const ref = { runId, partition: partitionOf(plane.namespace.region, runId) };
    await plane.scheduler.command(ref, { ...resolution, payload });
    const second = await agent.take(gate);
    expect(second.input).toEqual(payload);
    expect([first.idempotencyKey, second.idempotencyKey]).toEqual([
      `${runId}/m/after-1`,
      `${runId}/m/after-1.1`,
    ]);
  });

  it("undoes the items that were touched, and no other", async () => {
    const task = newTask();
    const undo = newTask();
    const runId = await scheduleInline(plane, {
      workflow: "roll-out",
      steps: [mapOf(task, "6", { waves: { size: 2 }, compensate: { task: undo } })],
    });
    const agent = newAgent(plane);
    const [first, second] = await takeAll(agent, task, 2);
    if (!first || !second) throw new Error("two items were handed out");
    await agent.report(first, success);
    await agent.report(second, broken);
    const undoing = await agent.take(undo);
    expect(undoing).toMatchObject({ item: 0, kind: "compensate" });
    await agent.report(undoing, success);
    expect(await endOf(plane, runId)).toMatchObject({ state: "COMPENSATED" });
    const items = await plane.store.reads.runItems(runId, {
      map: 0,
      after: 0,
      limit: 10,
      forwards: null,
    });
    expect([...items.steps.values()].map(({ forward, undo }) => [forward.kind, undo.kind])).toEqual(
      [
        ["SUCCEEDED", "DONE"],
        ["FAILED", "NONE"],
      ],
    );
  });

  it("of a thousand items is worked off, and listed page by page", async () => {
    const task = newTask();
    const runId = await scheduleInline(plane, { workflow: "many", steps: [mapOf(task, "1000")] });
    await workOff(task, 1_000);
    expect(await endOf(plane, runId)).toMatchObject({ state: "COMPLETED" });
    expect(await outputOf(runId, 0)).toMatchObject({ counts: { total: 1_000, succeeded: 1_000 } });
    const page = await plane.store.reads.runItems(runId, {
      map: 0,
      after: 990,
      limit: 100,
      forwards: null,
    });
    expect(page.steps.size).toBe(10);
    // What people see of it is the map, not a thousand items.
    expect([...(await detail(runId)).steps.keys()]).toEqual([0]);
  });

  it("of ten thousand items ends, having loaded as many pages for each as one of ten", async () => {
    for (const items of [10, ITEMS_MAX]) {
      const task = newTask();
      const last = newTask();
      const steps = [mapOf(task, String(items)), { id: "z", needs: ["m"], task: last }];
      const runId = await scheduleInline(plane, { workflow: "cost", steps });
      const pages = await pagesLoaded(() => workOff(task, items));
      expect(pages / items).toBeLessThanOrEqual(2);
      await workOff(last, 1);
      expect(await endOf(plane, runId)).toMatchObject({ state: "COMPLETED" });
      const counts = { total: items, succeeded: items, failed: 0, skipped: 0 };
      expect(await outputOf(runId, 0)).toMatchObject({ counts });
    }
  });
});
