/**
 * What a client lists of approvals and workflows, a run of a definition as a message, and what the
 * audit has of who calls, on a real server.
 */
import { create } from "@bufbuild/protobuf";
import { WorkflowDefinitionSchema } from "@drover/proto/drover/v1/workflow_pb.ts";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { type ClientOptions, createClient } from "../../../sdk/typescript/client.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";
import { at, callJson, listAt } from "../../support/json-call.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startDroverServer();
});
afterAll(() => server.stop());

function clientWith(options: Partial<ClientOptions> = {}) {
  const client = createClient({ address: server.address, ...options });
  onTestFinished(() => client.close());
  return client;
}

const approval = {
  approvers: ["ada", "treasury"],
  need: 2,
  notRequester: true,
  within: "1h",
  onExpiry: "reject",
} as const;
const release = { workflow: "release", steps: [{ id: "go", approval }] };

test("open approvals are listed, and those of one person or one run alone", async () => {
  const client = clientWith();
  const labels = { requester: "bob" };
  const { runId } = await client.schedule({ workflow: release, key: "release-1", labels });
  await client.schedule({ workflow: { workflow: "other", steps: [{ id: "ok", approval: {} }] } });
  const { approvals } = await client.approvals.list({ run: runId });
  expect(approvals).toEqual([
    {
      runId,
      key: "release-1",
      workflow: "release",
      workflowVersion: 0,
      labels,
      stepId: "go",
      approvers: ["ada", "treasury"],
      notRequester: true,
      need: 2,
      approvedBy: [],
      form: undefined,
      sinceTime: expect.any(Date),
      deadlineTime: expect.any(Date),
      onExpiry: "REJECT",
    },
  ]);
  const idsFor = async (approver: string, roles: readonly string[] = []) =>
    (await client.approvals.list({ approver, roles })).approvals.map(({ stepId }) => stepId);
  expect(await idsFor("carl")).toEqual(["ok"]);
  expect(await idsFor("carl", ["treasury"])).toEqual(["go", "ok"]);
});

test("workflows are listed page by page, and one has its definition as text", async () => {
  const client = clientWith();
  for (const name of ["a", "b"])
    await client.registerWorkflow(`workflow: ${name}\nsteps: [{ id: s, task: t }]`);
  await client.registerWorkflow("workflow: b\nsteps: [{ id: second, task: t }]");
  const first = await client.listWorkflows({ pageSize: 1 });
  expect(first.workflows).toMatchObject([{ name: "a", defaultVersion: 1, newestVersion: 1 }]);
  const next = await client.listWorkflows({ pageToken: first.nextPageToken });
  expect(next.workflows).toMatchObject([{ name: "b", defaultVersion: 2, newestVersion: 2 }]);
  expect((await client.getWorkflow("b")).definitionText).toContain("id: second");
  expect((await client.getWorkflow("b", { version: 1 })).definitionText).toContain("id: s\n");
});

test("a run of a definition that is a message is that of the same object", async () => {
  const client = clientWith();
  const wait = { case: "wait", value: { over: { case: "for", value: { seconds: 1n } } } } as const;
  const message = create(WorkflowDefinitionSchema, {
    workflow: "waits",
    steps: [{ id: "s", kind: wait }],
  });
  const spec = { workflow: "waits", steps: [{ id: "s", wait: "1s" }] };
  const first = await client.schedule({ workflow: message, key: "same" });
  expect(await client.schedule({ workflow: spec, key: "same" })).toEqual({
    ...first,
    created: false,
  });
});

test("the audit has the name of the caller, and the kind of program that called", async () => {
  const { runId } = await clientWith().schedule({ workflow: release });
  await clientWith({ by: "Zoë", via: "mcp" }).pauseRun(runId, { reason: "wrong rate" });
  const subject = { kind: "run", name: runId };
  const { body } = await callJson(server.address, "OperatorService/ListAudit", { subject });
  expect(listAt(body, "entries")).toHaveLength(1);
  expect(at(body, "entries", 0)).toMatchObject({
    action: "run.pause",
    by: "Zoë",
    reason: "wrong rate",
    details: { via: "mcp" },
  });
});

test("a kind of program that is no plain word is refused", async () => {
  const client = clientWith({ via: "MCP <b>" });
  const { runId } = await client.schedule({ workflow: release });
  await expect(client.pauseRun(runId)).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message: expect.stringContaining("drover-via"),
  });
});
