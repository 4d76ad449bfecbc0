// Child runs as callers and agents see them: real servers, processes that are killed, and agents of
// the SDK that write down what they did.
import pg from "pg";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createAgent } from "../../sdk/typescript/agent.ts";
import type { AgentOptions } from "../../sdk/typescript/agent-options.ts";
import { type Client, createClient } from "../../sdk/typescript/client.ts";
import { PermanentError } from "../../sdk/typescript/task-errors.ts";
import type { WorkflowSpec } from "../../sdk/typescript/workflow.ts";
import { silentLog } from "../support/agent-script.ts";
import { type ServerProcess, spawnDroverServer } from "../support/drover-server.ts";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";
import { until } from "../support/until.ts";

let database: TestDatabase;
let server: ServerProcess;
let client: Client;

beforeAll(async () => {
  database = await createTestDatabase();
  server = await spawnDroverServer(database.connectionString);
  client = createClient({ address: server.address, patience: "20s" });
});
afterAll(async () => {
  client?.close();
  await server?.signal("SIGTERM");
  await database?.drop();
});

function work(handlers: AgentOptions["handlers"]): void {
  const agent = createAgent({ address: server.address, id: "worker", log: silentLog, handlers });
  agent.start();
  onTestFinished(() => agent.stop());
}

/** The run that the step began last. */
async function childOf(runId: string, step = "in"): Promise<string> {
  return await until(`step ${step} has started a run`, async () => {
    const { steps } = await client.getRun(runId);
    return steps.find(({ id }) => id === step)?.childRunId || null;
  });
}

const inState = (runId: string, state: string) =>
  until(`run ${runId} is ${state}`, async () => {
    const { run } = await client.getRun(runId);
    return run.state === state ? run : null;
  });

/** A hotel, then a car, which are given back in reverse; `in` of the trip runs it. */
const stay: WorkflowSpec = {
  workflow: "stay",
  steps: [
    {
      id: "hotel",
      task: "book-hotel",
      compensate: "free-hotel",
      timeouts: { heartbeat: "2s" },
    },
    {
      id: "car",
      task: "book-car",
      needs: ["hotel"],
      compensate: "free-car",
      timeouts: { heartbeat: "2s" },
    },
  ],
};
const middle: WorkflowSpec = { workflow: "middle", steps: [{ id: "in", run: "stay" }] };
const trip = (more: Partial<WorkflowSpec> = {}): WorkflowSpec => ({
  workflow: "trip",
  steps: [
    { id: "flight", task: "book-flight", compensate: "free-flight" },
    { id: "in", run: "middle", needs: ["flight"] },
  ],
  ...more,
});

async function register(): Promise<void> {
  await client.registerWorkflow(stay);
  await client.registerWorkflow(middle);
}

describe("a parent and what it has started", () => {
  test("are linked both ways, and the output goes up", async () => {
    await register();
    work({ "book-flight": () => 1, "book-hotel": () => 2, "book-car": () => ({ plate: "BE 1" }) });
    const { runId } = await client.schedule({ workflow: trip(), labels: { city: "Bern" } });
    expect((await client.waitRun(runId)).state).toBe("COMPLETED");
    const { steps } = await client.getRun(runId);
    expect(steps[1]).toMatchObject({
      kind: "RUN",
      state: "SUCCEEDED",
      output: { in: { car: { plate: "BE 1" } } },
    });
    const child = await childOf(runId);
    const { run } = await client.getRun(child);
    expect(run).toMatchObject({ parent: { runId, stepId: "in" }, labels: { city: "Bern" } });
    const { runs } = await client.listRuns({ parentRunId: runId });
    expect(runs.map((one) => one.runId)).toEqual([child]);
  });

  test("are cancelled together: what was done is undone from below, and none outlives it", async () => {
    await register();
    const did: string[] = [];
    const note = (what: string) => () => void did.push(what);
    const driving = Promise.withResolvers<void>();
    work({
      "book-flight": note("flight"),
      "book-hotel": note("hotel"),
      "book-car": async (_task, { signal }) => {
        driving.resolve();
        await new Promise((_, reject) => signal.addEventListener("abort", reject));
      },
      "free-flight": note("no flight"),
      "free-hotel": note("no hotel"),
      "free-car": note("no car"),
    });
    const { runId } = await client.schedule({ workflow: trip() });
    await driving.promise;
    const explained = await client.explainRun(runId);
    expect(explained.wait).toMatchObject({
      waitingFor: "CHILD",
      next: "STOP_CHILD",
      child: { runId: await childOf(runId), stopping: false },
    });
    await client.cancelRun(runId);
    const ended = await client.waitRun(runId);
    expect(ended).toMatchObject({ state: "COMPENSATED", reason: "CANCELLED_BY_USER" });
    expect(did.slice(0, 2)).toEqual(["flight", "hotel"]);
    expect(did.filter((what) => what.startsWith("no ")).at(-1)).toBe("no flight");
    expect(did).toContain("no hotel");
    const child = await childOf(runId);
    const grandchild = await childOf(child);
    for (const below of [child, grandchild]) {
      const { run } = await client.getRun(below);
      expect(run.ended).toBe(true);
      expect(Number(run.endedTime)).toBeLessThanOrEqual(Number(ended.endedTime));
    }
  });

  test("are paused and resumed together", async () => {
    await register();
    const held = Promise.withResolvers<void>();
    const did: string[] = [];
    work({
      "book-flight": () => 1,
      "book-hotel": () => held.promise,
      "book-car": () => void did.push("car"),
    });
    const { runId } = await client.schedule({ workflow: trip() });
    const grandchild = await childOf(await childOf(runId));
    await inState(grandchild, "RUNNING");
    await client.pauseRun(runId);
    await inState(grandchild, "PAUSED");
    held.resolve();
    await until("the hotel is booked", async () => {
      const { steps } = await client.getRun(grandchild);
      return steps[0]?.state === "SUCCEEDED" ? true : null;
    });
    expect(did).toEqual([]);
    await client.resumeRun(runId);
    expect((await client.waitRun(runId)).state).toBe("COMPLETED");
    expect(did).toEqual(["car"]);
  });

  test("are over with the deadline, and no agent of theirs works on", async () => {
    await register();
    const stopped: string[] = [];
    work({
      "book-flight": () => 1,
      "free-flight": () => 1,
      "book-hotel": async (task, { signal }) => {
        await new Promise<void>((resolve) => {
          signal.addEventListener("abort", () => resolve());
        });
        // The agent ends the attempt before the server does, which counts it as failed until then.
        await until("the deadline has stopped the run", async () => {
          const { run } = await client.getRun(task.runId);
          return run.state === "RUNNING" ? null : true;
        });
        stopped.push("hotel");
        throw new PermanentError("stopped", "it was asked to stop", { noEffect: true });
      },
    });
    const { runId } = await client.schedule({ workflow: trip({ timeout: "2s" }) });
    const ended = await client.waitRun(runId);
    expect(ended).toMatchObject({ state: "COMPENSATED", reason: "TIMED_OUT" });
    expect(stopped).toEqual(["hotel"]);
    const { run } = await client.getRun(await childOf(await childOf(runId)));
    expect(run.ended).toBe(true);
  });
});

describe("registering", () => {
  test("a workflow that runs one which is not there is refused, with its place", async () => {
    const text = "workflow: lonely\nsteps:\n  - id: a\n    run: missing\n";
    await expect(client.registerWorkflow(text)).rejects.toThrow(
      'step "a" runs the workflow "missing", which is not registered: register it first (line 4, column 10)',
    );
  });
});

/** No other transaction changes the run until this is called. */
async function holdRun(runId: string): Promise<() => Promise<void>> {
  const hand = new pg.Client({ connectionString: database.connectionString });
  await hand.connect();
  await hand.query("begin");
  await hand.query("select from drover.run_page where run_id = $1 and no = 0 for update", [runId]);
  return async () => {
    await hand.query("rollback");
    await hand.end();
  };
}

test("a server that is killed between a child's end and its parent's pass loses nothing", async () => {
  await client.registerWorkflow({ workflow: "one", steps: [{ id: "only", task: "last-words" }] });
  const speaking = Promise.withResolvers<void>();
  work({ "last-words": () => speaking.promise.then(() => "farewell"), "after-it": () => 1 });
  const { runId } = await client.schedule({
    workflow: {
      workflow: "bereaved",
      steps: [
        { id: "in", run: "one" },
        { id: "after", task: "after-it", needs: ["in"] },
      ],
    },
  });
  const child = await childOf(runId);
  await inState(child, "RUNNING");
  const release = await holdRun(runId);
  speaking.resolve();
  expect((await client.waitRun(child)).state).toBe("COMPLETED");
  expect((await client.getRun(runId)).steps[0]?.state).toBe("WAITING");
  const { address } = server;
  await server.signal("SIGKILL");
  await release();
  server = await spawnDroverServer(database.connectionString, address);
  expect((await client.waitRun(runId)).state).toBe("COMPLETED");
  const { steps } = await client.getRun(runId);
  expect(steps[0]?.output).toEqual({ only: "farewell" });
});
