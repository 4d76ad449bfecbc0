// GetStepInput: what the tasks of a step get, by a served control plane on a real database.
import { Code } from "@connectrpc/connect";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Agent, createAgent } from "../../../sdk/typescript/agent.ts";
import { type Client, createClient } from "../../../sdk/typescript/client.ts";
import { PermanentError } from "../../../sdk/typescript/task-errors.ts";
import type { StepSpec } from "../../../sdk/typescript/workflow.ts";
import { silentLog } from "../../support/agent-script.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";
import { until } from "../../support/until.ts";
import { type GrpcClient, grpcClient } from "../api/rpc-clients.ts";

let server: TestServer;
let client: Client;
let grpc: GrpcClient;
let agent: Agent;
/** What the tasks of steps got. */
const got = new Map<string, unknown>();
beforeAll(async () => {
  server = await startDroverServer();
  client = createClient({ address: server.address });
  grpc = grpcClient(Number(server.address.split(":")[1]));
  agent = createAgent({
    address: server.address,
    id: "inputs-1",
    slots: 20,
    log: silentLog,
    handlers: {
      async work(task) {
        got.set(task.stepId, task.input());
        return { nights: 2 };
      },
      fail: async () => {
        throw new PermanentError("no-room", "the hotel is full");
      },
    },
  });
  agent.start();
});
afterAll(async () => {
  await agent?.stop();
  grpc?.close();
  client?.close();
  await server?.stop();
});

const ask = (runId: string, stepId: string, item?: number) =>
  grpc.unary(SchedulerService.method.getStepInput, {
    run: { ref: { case: "runId", value: runId } },
    stepId,
    ...(item === undefined ? {} : { item }),
  });

async function inputOf(runId: string, stepId: string, item?: number): Promise<unknown> {
  const { answer } = await ask(runId, stepId, item);
  if (!answer?.hasInput) return "none";
  const { result } = answer;
  if (result.case === "problem") return { problem: result.value };
  return result.value?.body.case === "json" ? JSON.parse(result.value.body.value) : null;
}

async function ended(steps: readonly StepSpec[], state: string, input: object): Promise<string> {
  const { runId } = await client.schedule({ workflow: { workflow: "inputs", steps }, input });
  await until(`${runId} is ${state}`, async () =>
    (await client.getRun(runId)).run.state === state ? true : null,
  );
  return runId;
}

test("a started step has the input that its task got, and a step that waits has none", async () => {
  const runId = await ended(
    [
      { id: "book", task: "work", input: { hotel: `\${input.city} Palace` } },
      {
        id: "pay",
        needs: ["book"],
        task: "work",
        input: { nights: `\${steps.book.output.nights}` },
      },
      { id: "plain", task: "work" },
      {
        id: "each",
        needs: ["pay"],
        map: { over: '["a", "b"]', task: "work" },
        input: { is: `\${item}` },
      },
      { id: "never", needs: ["pay"], when: "false", task: "work", input: { n: 1 } },
      { id: "pause", wait: "1ms" },
    ],
    "COMPLETED",
    { city: "Rome" },
  );
  expect(await inputOf(runId, "book")).toEqual({ hotel: "Rome Palace" });
  expect(await inputOf(runId, "pay")).toEqual({ nights: 2 });
  expect(await inputOf(runId, "plain")).toEqual({ city: "Rome" });
  expect(await inputOf(runId, "each", 1)).toEqual({ is: "b" });
  for (const stepId of ["book", "pay", "plain"])
    expect(await inputOf(runId, stepId)).toEqual(got.get(stepId));
  for (const stepId of ["each", "never", "pause"])
    expect(await inputOf(runId, stepId)).toEqual("none");
});

test("the input is that of the fallback which the step follows, or that a person gave", async () => {
  const book = {
    id: "book",
    task: "fail",
    retry: [{ attempts: 1 }],
    input: { hotel: "Palace", nights: 2 },
    fallback: [{ task: "work", input: { hotel: "Inn" } }],
  };
  const fallen = await ended([book], "COMPLETED", {});
  expect(await inputOf(fallen, "book")).toEqual({ hotel: "Inn", nights: 2 });
  expect(got.get("book")).toEqual({ hotel: "Inn", nights: 2 });
  const { fallback: _, ...alone } = book;
  const asks = await ended([{ ...alone, onFailure: "escalate" }], "ESCALATED", {});
  const { escalations } = await client.escalations.list();
  const id = escalations.find(({ runId }) => runId === asks)?.id ?? "";
  const payload = { hotel: "Tent" };
  await client.escalations.resolve(asks, id, { answer: "retry-changed", by: "ada", payload });
  await expect.poll(() => inputOf(asks, "book")).toEqual({ hotel: "Tent" });
});

test("an input that cannot be evaluated is a sentence, and not the failure of the call", async () => {
  const runId = await ended(
    [{ id: "book", task: "work", input: { first: `\${input.hotels[3]}` } }],
    "ESCALATED",
    { hotels: [] },
  );
  const input = await inputOf(runId, "book");
  expect(input).toEqual({ problem: expect.stringContaining("input.first") });
});

test("an unknown step, and an item of a step that is no map, are refused", async () => {
  const runId = await ended([{ id: "book", task: "work" }], "COMPLETED", {});
  for (const [stepId, item] of [["bok"], ["book", 1]] as const) {
    const { code, message } = await ask(runId, stepId, item);
    expect(code).toBe(Code.NotFound);
    expect(message).toContain(`"${stepId}"`);
  }
});
