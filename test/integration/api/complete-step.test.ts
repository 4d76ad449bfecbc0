// CompleteStep: an operator reports the outcome of a deferred step, in place of its callback.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";
import { at, jsonAgent, listAt, textAt } from "../../support/json-call.ts";
import { until } from "../../support/until.ts";
import { ask } from "./audit-calls.ts";

const WORKFLOW = `workflow: parcel
steps:
  - id: ship
    task: ship
    queue: parcels
    retry: [{ attempts: 2, initial: 1ms }]
  - id: paid
    needs: [ship]
    signal: { name: paid }
`;
const MAP = `workflow: parcels
steps:
  - id: load
    map: { over: "\${input.items}", task: ship, queue: parcels }
`;

let server: TestServer;
beforeAll(async () => {
  server = await startDroverServer();
  for (const text of [WORKFLOW, MAP]) await call("RegisterWorkflow", { text });
});
afterAll(() => server?.stop());

async function call(method: string, body: object): Promise<unknown> {
  const answer = await ask(server, method, body);
  if (answer.status !== 200) throw new Error(`${method}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

const complete = (runId: string, of: object) =>
  ask(server, "CompleteStep", { run: { runId }, stepId: "ship", by: "ada", ...of });
const success = { success: { output: { json: '{"parcel":"p-7"}' } } };

async function start(workflow = "parcel", input: object = {}): Promise<string> {
  const asked = { workflow: { name: workflow }, input: { json: JSON.stringify(input) } };
  return textAt(await call("Schedule", asked), "runId");
}

let polls = 0;

/** The next task of the run, held by an agent that this test plays. */
function takeTask(runId: string): Promise<unknown> {
  return until("a task of the run", async () => {
    const asked = {
      agent: jsonAgent("courier"),
      queues: [{ name: "parcels" }],
      maxTasks: 1,
      pollSeq: String(++polls),
      wait: "1s",
    };
    const tasks = listAt(await call("PollTask", asked), "tasks");
    return tasks.find((one) => at(one, "runId") === runId) ?? null;
  });
}

async function defer(task: unknown): Promise<void> {
  const results = [{ taskToken: textAt(task, "taskToken"), outcome: { deferred: {} } }];
  await call("Complete", { agent: jsonAgent("courier"), results });
}

async function stateOf(runId: string, stepId: string): Promise<unknown> {
  const steps = listAt(await call("GetRun", { run: { runId } }), "steps");
  return at(
    steps.find((one) => at(one, "id") === stepId),
    "state",
  );
}

describe("an operator", () => {
  it("completes a deferred step, and the run continues with the output", async () => {
    const runId = await start();
    await defer(await takeTask(runId));
    const answer = await complete(runId, { ...success, reason: "the courier called" });
    expect(answer).toMatchObject({ status: 200, body: { run: { runId } } });
    expect(JSON.stringify(answer.body)).not.toContain("oken");
    expect(await stateOf(runId, "ship")).toBe("STEP_STATE_SUCCEEDED");
    expect(await stateOf(runId, "paid")).toBe("STEP_STATE_WAITING");
    const run = await call("GetRun", { run: { runId } });
    expect(JSON.stringify(run)).toContain("p-7");
    expect(await complete(runId, success)).toMatchObject({ body: { repeated: true } });
    const other = await complete(runId, { success: {} });
    expect(other).toMatchObject({
      status: 400,
      body: { message: 'The step "ship" does not wait for a callback: it is SUCCEEDED.' },
    });
    expect(JSON.stringify(other.body)).toContain("RUN_STATE");
  });

  it("reports a failure, which is tried again, and a permanent one, which is not", async () => {
    const runId = await start();
    await defer(await takeTask(runId));
    const failed = { code: "lost-parcel", message: "It is gone." };
    await complete(runId, { failed: { ...failed, failureClass: "FAILURE_CLASS_TRANSIENT" } });
    await defer(await takeTask(runId));
    await complete(runId, { failed: { ...failed, failureClass: "FAILURE_CLASS_PERMANENT" } });
    expect(await stateOf(runId, "ship")).toBe("STEP_STATE_FAILED");
  });

  it("completes an item of a map by its index, and is told again that it did", async () => {
    const runId = await start("parcels", { items: ["a", "b"] });
    const task = await takeTask(runId);
    await defer(task);
    const item = Number(at(task, "item") ?? 0);
    const of = { stepId: "load", item, ...success };
    expect((await complete(runId, of)).status).toBe(200);
    const items = listAt(await call("ListItems", { run: { runId }, stepId: "load" }), "items");
    expect(
      at(
        items.find((one) => at(one, "id") === `load[${item}]`),
        "state",
      ),
    ).toBe("STEP_STATE_SUCCEEDED");
    expect(await complete(runId, of)).toMatchObject({ status: 200, body: { repeated: true } });
    expect((await complete(runId, { ...of, item: undefined })).body).toMatchObject({
      message: expect.stringContaining('The step "load" is a map: name the item too'),
    });
  });

  it.for([
    ["an agent has", { stepId: "ship" }, '"ship" does not wait for a callback: it is LEASED'],
    ["there is not", { stepId: "shop" }, 'The run has no step "shop": its steps are "'],
    ["has no task", { stepId: "paid" }, 'The step "paid" has no task, so no agent defers it'],
    ["has no items", { item: 1 }, 'The step "ship" is no map and has no items'],
  ] as const)("is refused for a step that %s", async ([, of, message]) => {
    const runId = await start();
    await takeTask(runId);
    const answer = await complete(runId, { ...success, ...of });
    expect(answer.status).not.toBe(200);
    expect(answer.body).toMatchObject({ message: expect.stringContaining(message) });
    expect(await stateOf(runId, "ship")).toBe("STEP_STATE_LEASED");
  });

  it("has to say who reports, and the outcome", async () => {
    const runId = await start();
    for (const of of [{ ...success, by: "" }, {}])
      expect((await complete(runId, of)).status).toBe(400);
  });
});
