// What GetRun says about the history that it leaves out, and one item of a large map with its
// attempts, by a served control plane on a real database.
import { OutcomeKind, StepState } from "@drover/proto/drover/v1/run_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Agent, createAgent } from "../../../sdk/typescript/agent.ts";
import { type Client, createClient } from "../../../sdk/typescript/client.ts";
import { PermanentError } from "../../../sdk/typescript/task-errors.ts";
import { silentLog } from "../../support/agent-script.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";
import { at } from "../../support/json-call.ts";
import { until } from "../../support/until.ts";
import { type GrpcClient, grpcClient } from "../api/rpc-clients.ts";

/** More than GetRun returns. */
const ITEMS = 1_100;
const BAD = 3;

let server: TestServer;
let client: Client;
let grpc: GrpcClient;
let agent: Agent;
let runId = "";
beforeAll(async () => {
  server = await startDroverServer();
  client = createClient({ address: server.address });
  grpc = grpcClient(Number(server.address.split(":")[1]));
  agent = createAgent({
    address: server.address,
    id: "totals-1",
    slots: 100,
    log: silentLog,
    handlers: {
      prepare: async () => ({}),
      async load(task) {
        if (at(task.input(), "n") === BAD) throw new PermanentError("bad-row", "it has no price");
        return {};
      },
    },
  });
  agent.start();
  const map = { over: String(ITEMS), task: "load", tolerate: 1 };
  const steps = [
    { id: "prepare", task: "prepare" },
    // biome-ignore lint/suspicious/noTemplateCurlyInString: an expression of a workflow.
    { id: "load", needs: ["prepare"], map, input: { n: "${item}" }, retry: [{ attempts: 1 }] },
  ];
  ({ runId } = await client.schedule({ workflow: { workflow: "totals", steps } }));
  await until("the run has ended", async () =>
    (await client.getRun(runId)).run.state === "COMPLETED" ? true : null,
  );
});
afterAll(async () => {
  await agent?.stop();
  grpc?.close();
  client?.close();
  await server?.stop();
});

const run = () => ({ ref: { case: "runId" as const, value: runId } });

test("GetRun counts the attempts that it leaves out, and keeps those at other steps", async () => {
  const { answer } = await grpc.unary(SchedulerService.method.getRun, {
    run: run(),
    includeAttempts: true,
    includeInterventions: true,
  });
  // One for each item, one of `prepare`, and the end of the map.
  expect(answer?.attemptsTotal).toBe(ITEMS + 2);
  expect(answer?.attempts).toHaveLength(1_002);
  expect(answer?.attempts.filter(({ stepId }) => stepId === "prepare")).toHaveLength(1);
  expect(answer?.interventionsTotal).toBe(answer?.interventions.length);
});

test("GetRun counts nothing that is not asked for", async () => {
  const { answer } = await grpc.unary(SchedulerService.method.getRun, { run: run() });
  expect(answer?.attemptsTotal).toBeUndefined();
  expect(answer?.interventionsTotal).toBeUndefined();
});

test("ListItems returns one item with its attempts", async () => {
  const method = SchedulerService.method.listItems;
  const { answer } = await grpc.unary(method, { run: run(), stepId: "load", item: BAD });
  expect(answer?.items).toMatchObject([{ id: `load[${BAD}]`, state: StepState.FAILED }]);
  expect(answer?.attempts).toMatchObject([
    { stepId: `load[${BAD}]`, outcome: OutcomeKind.FAILURE, failure: { code: "bad-row" } },
  ]);
});

test("ListItems returns nothing for an item that the map does not have", async () => {
  const method = SchedulerService.method.listItems;
  const { answer } = await grpc.unary(method, { run: run(), stepId: "load", item: ITEMS });
  expect(answer?.items).toEqual([]);
  expect(answer?.attempts).toEqual([]);
});
