// Open approvals of a served control plane on a real database: for whom they wait, page by page,
// and what a refused decision says.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import {
  type ListApprovalsRequestSchema,
  OperatorService,
} from "@drover/proto/drover/v1/operator_service_pb.ts";
import { DecisionKind, SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { ApprovalExpiry } from "@drover/proto/drover/v1/workflow_pb.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Client, createClient } from "../../../sdk/typescript/client.ts";
import type { ApprovalSpec, StepSpec } from "../../../sdk/typescript/workflow.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";
import { type GrpcClient, grpcClient } from "./rpc-clients.ts";

const { createNamespace, listApprovals } = OperatorService.method;
const { decide, scheduleBatch } = SchedulerService.method;
const HOUR_MS = 3_600_000;

let server: TestServer;
let grpc: GrpcClient;
let namespaces = 0;
beforeAll(async () => {
  server = await startDroverServer();
  grpc = grpcClient(Number(server.address.split(":")[1]));
});
afterAll(async () => {
  grpc?.close();
  await server?.stop();
});

/** A client of a namespace of its own. */
async function newNamespace(): Promise<{ readonly client: Client; readonly namespace: string }> {
  const namespace = `approvals-${++namespaces}`;
  expect((await grpc.unary(createNamespace, { name: namespace })).code).toBe(0);
  return { client: createClient({ address: server.address, namespace }), namespace };
}

const step = (id: string, approval: ApprovalSpec): StepSpec => ({ id, approval });

async function list(request: MessageInitShape<typeof ListApprovalsRequestSchema>) {
  const { answer, code, message } = await grpc.unary(listApprovals, request);
  if (!answer) throw new Error(`the list failed with ${code}: ${message}`);
  return answer;
}

/** Follows the tokens to the last page. */
async function listAll(request: MessageInitShape<typeof ListApprovalsRequestSchema>) {
  const pages = [await list(request)];
  for (let token = pages[0]?.nextPageToken; token; token = pages.at(-1)?.nextPageToken)
    pages.push(await list({ ...request, pageToken: token }));
  return pages.map(({ approvals }) => approvals);
}

test("an approval says which run waits, since when, for whom, and what they fill in", async () => {
  const { client, namespace } = await newNamespace();
  const form = { type: "object", required: ["reason"], properties: { reason: { type: "string" } } };
  const spec = { approvers: ["treasury", "ada"], need: 2, within: HOUR_MS, form } as const;
  const workflow = {
    workflow: "release-funds",
    steps: [step("approve", { ...spec, notRequester: true, onExpiry: "reject" })],
  };
  const { runId } = await client.schedule({ workflow, key: "o-1", labels: { requester: "bob" } });
  const run = { ref: { case: "runId", value: runId } } as const;
  const given = { namespace, run, stepId: "approve", decision: DecisionKind.APPROVE };
  const filledIn = { body: { case: "json", value: '{"reason":"checked"}' } } as const;
  expect((await grpc.unary(decide, { ...given, approver: "ada", form: filledIn })).code).toBe(0);

  const { approvals, nextPageToken } = await list({ namespace });
  expect(nextPageToken).toBe("");
  expect(approvals).toMatchObject([
    {
      runId,
      runKey: "o-1",
      workflow: "release-funds",
      labels: { requester: "bob" },
      stepId: "approve",
      approvers: ["treasury", "ada"],
      notRequester: true,
      need: 2,
      approvedBy: ["ada"],
      onExpiry: ApprovalExpiry.REJECT,
    },
  ]);
  const [found] = approvals;
  expect(JSON.parse(found?.form?.body.case === "json" ? found.form.body.value : "")).toEqual(form);
  const since = found?.sinceTime ? timestampMs(found.sinceTime) : 0;
  expect(found?.deadlineTime && timestampMs(found.deadlineTime)).toBe(since + HOUR_MS);
  expect(await list({ namespace, run })).toEqual(await list({ namespace }));
  client.close();
});

test("the approvals of a person are those that they may give and have not given", async () => {
  const { client, namespace } = await newNamespace();
  const schedule = (name: string, approval: ApprovalSpec, requester = "eve") =>
    client.schedule({
      workflow: { workflow: name, steps: [step("ok", approval)] },
      labels: { requester },
    });
  await schedule("treasury", { approvers: ["treasury"] });
  await schedule("ada", { approvers: ["ada"] });
  await schedule("anyone", {});
  await schedule("own", { notRequester: true }, "ada");
  const twice = await schedule("twice", { need: 2 });
  const run = { ref: { case: "runId", value: twice.runId } } as const;
  const answer = { namespace, run, stepId: "ok", decision: DecisionKind.APPROVE, approver: "ada" };
  expect((await grpc.unary(decide, answer)).code).toBe(0);

  const of = async (approver: string, ...roles: string[]) =>
    (await list({ namespace, approver, roles })).approvals.map(({ workflow }) => workflow);
  expect(await of("")).toEqual(["treasury", "ada", "anyone", "own", "twice"]);
  expect(await of("ada")).toEqual(["ada", "anyone"]);
  expect(await of("ada", "treasury")).toEqual(["treasury", "ada", "anyone"]);
  expect(await of("bob")).toEqual(["anyone", "own", "twice"]);
  expect(await of("", "treasury")).toEqual(["treasury", "anyone", "own", "twice"]);
  client.close();
});

test("1,050 runs are listed page by page, oldest first, each approval once", async () => {
  const { client, namespace } = await newNamespace();
  const workflow = {
    workflow: "many",
    steps: [step("one", { approvers: ["ada"] }), step("two", { approvers: ["bob"] })],
  };
  await client.registerWorkflow(workflow);
  const runs: string[] = [];
  for (const size of [500, 500, 50]) {
    const target = { case: "workflow", value: { name: "many" } } as const;
    const wanted = Array.from({ length: size }, () => ({ target }));
    const { answer } = await grpc.unary(scheduleBatch, { namespace, runs: wanted });
    runs.push(...(answer?.results ?? []).map(({ runId }) => runId));
  }
  expect(runs).toHaveLength(1_050);

  const pages = await listAll({ namespace, pageSize: 101 });
  // The approvals of a run are on one page.
  expect(new Set(pages.slice(0, -1).map((page) => page.length))).toEqual(new Set([102]));
  const named = pages.flat().map(({ runId, stepId }) => `${runId} ${stepId}`);
  const all = runs.toSorted().flatMap((runId) => [`${runId} one`, `${runId} two`]);
  expect(named).toEqual(all);

  // For a person without approvals a call reads 1,000 runs, and the next one reads the others.
  const last = await client.schedule({
    workflow: { workflow: "rare", steps: [step("ok", { approvers: ["zoe"] })] },
  });
  const rare = await listAll({ namespace, approver: "zoe" });
  expect(rare.map((page) => page.map(({ runId }) => runId))).toEqual([[], [last.runId]]);
  client.close();
});

test("a page token goes on for the same person alone", async () => {
  const { client, namespace } = await newNamespace();
  const workflow = { workflow: "two", steps: [step("ok", {})] };
  await client.schedule({ workflow });
  await client.schedule({ workflow });
  const { nextPageToken: pageToken } = await list({ namespace, approver: "ada", pageSize: 1 });
  expect((await list({ namespace, approver: "ada", pageSize: 1, pageToken })).nextPageToken).toBe(
    "",
  );
  for (const other of [{ approver: "bob" }, {}, { approver: "ada", roles: ["treasury"] }])
    expect(await grpc.unary(listApprovals, { namespace, pageToken, ...other })).toMatchObject({
      reason: "PAGE_TOKEN_INVALID",
    });
  client.close();
});

test("a refused decision names the field that is wrong, in words", async () => {
  const { client, namespace } = await newNamespace();
  const form = { type: "object", required: ["reason"], properties: { reason: { type: "string" } } };
  const { runId } = await client.schedule({
    workflow: {
      workflow: "refused",
      steps: [step("ok", { approvers: ["treasury", "ada"], form })],
    },
  });
  const run = { ref: { case: "runId", value: runId } } as const;
  const given = { namespace, run, stepId: "ok", decision: DecisionKind.APPROVE };
  expect(await grpc.unary(decide, { ...given, approver: "zorro" })).toMatchObject({
    reason: "DECISION_REFUSED",
    message: '"zorro" is not an approver of this step. Approvers: treasury, ada.',
    metadata: { field: "approver" },
  });
  expect(await grpc.unary(decide, { ...given, approver: "ada" })).toMatchObject({
    reason: "DECISION_REFUSED",
    message: "This approval needs a form: reason (text) is required.",
    metadata: { field: "form" },
  });
  client.close();
});
