// Names that callers have proved by a JWT, on a real database: in the audit, in decisions about
// approvals and in answers to escalations; and what becomes of a name that a call claims besides.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { oidcConfig } from "../../../server/identity-config.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";
import { type IdentityProvider, startIdentityProvider } from "../../support/identity-provider.ts";
import {
  at,
  callJson,
  type JsonAnswer,
  jsonAgent,
  listAt,
  textAt,
} from "../../support/json-call.ts";
import { until } from "../../support/until.ts";
import { SERVICE_OF } from "./audit-calls.ts";

const WORKFLOW = `workflow: released
steps:
  - id: release
    approval: { approvers: [ada@example.com, finance], need: 2 }
`;
const ONCE = `workflow: once
steps:
  - id: work
    task: work
    queue: once
    effects: once
`;
const ADA = "ada@example.com";
const BOB = "bob@example.com";

let provider: IdentityProvider;
let server: TestServer;

beforeAll(async () => {
  provider = await startIdentityProvider();
  const { issuer, audience } = provider;
  const identities = { oidc: oidcConfig({ issuer, audience }) };
  server = await startDroverServer(undefined, { requireTokens: true, identities });
  for (const text of [WORKFLOW, ONCE]) await done(ADA, "RegisterWorkflow", { text });
});
afterAll(async () => {
  await server?.stop();
  await provider?.close();
});

interface Wish {
  readonly roles?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

async function call(
  email: string,
  method: string,
  body: object,
  { roles = ["operator"], headers = {} }: Wish = {},
): Promise<JsonAnswer> {
  const token = await provider.sign({ sub: `id-of-${email}`, email, drover_roles: roles });
  const path = `${SERVICE_OF.get(method) ?? "AgentService"}/${method}`;
  return callJson(server.address, path, body, { authorization: `Bearer ${token}`, ...headers });
}

async function done(email: string, method: string, body: object, wish?: Wish): Promise<unknown> {
  const { status, body: answer } = await call(email, method, body, wish);
  if (status !== 200) throw new Error(`${method}: ${JSON.stringify(answer)}`);
  return answer;
}

async function newRun(name: string) {
  return { runId: textAt(await done(ADA, "Schedule", { workflow: { name } }), "runId") };
}

async function newestEntry(subject: { readonly kind: string; readonly name: string }) {
  return at(await done(ADA, "ListAudit", { subject }), "entries", 0);
}

const decision = (runId: string, more: object = {}) => ({
  run: { runId },
  stepId: "release",
  decision: "DECISION_KIND_APPROVE",
  ...more,
});

const notAllowed = (message: RegExp) => ({
  status: 403,
  body: { code: "permission_denied", message: expect.stringMatching(message) },
});

describe("the audit", () => {
  test("has the proved name, the subject and the role of the JWT", async () => {
    await done(ADA, "PauseQueue", { queue: "mail", reason: "the bank is down" });
    expect(await newestEntry({ kind: "queue", name: "mail" })).toMatchObject({
      action: "queue.pause",
      by: ADA,
      byVerified: true,
      tokenId: `id-of-${ADA}`,
      tokenName: ADA,
      tokenRole: "ROLE_OPERATOR",
    });
  });

  test("takes no other name: not from a header, and not from a request", async () => {
    const headers = { "drover-by": "bob%40example.com" };
    expect(await call(ADA, "ResumeQueue", { queue: "mail" }, { headers })).toMatchObject(
      notAllowed(
        /^The JWT of "ada@example.com" proves who calls, and the call gives the name "bob@/,
      ),
    );
    expect(await call(ADA, "CordonAgent", { agentId: "a-1", by: BOB })).toMatchObject(
      notAllowed(/leave it out/),
    );
    const same = { "drover-by": "ada%40example.com" };
    expect(await call(ADA, "ResumeQueue", { queue: "mail" }, { headers: same })).toMatchObject({
      status: 200,
    });
  });

  test("has a claimed name as such", async () => {
    const token = await done(
      ADA,
      "CreateToken",
      { name: "ops", role: "ROLE_OPERATOR" },
      {
        roles: ["admin"],
      },
    );
    expect(at(token, "token", "madeBy")).toBe(ADA);
    const headers = {
      authorization: `Bearer ${textAt(token, "secret")}`,
      "drover-by": "ada%40example.com",
    };
    expect(await call(ADA, "PauseQueue", { queue: "post" }, { headers })).toMatchObject({
      status: 200,
    });
    const entry = await newestEntry({ kind: "queue", name: "post" });
    expect(entry).toMatchObject({ by: ADA, tokenName: "ops" });
    expect(at(entry, "byVerified")).toBeUndefined();
  });
});

describe("an approval", () => {
  test("is decided by those who prove that they are its approvers", async () => {
    const { runId } = await newRun("released");
    expect(await call(BOB, "Decide", decision(runId))).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining('"bob@example.com" (roles: operator) is not an') },
    });
    for (const claim of [{ approver: ADA }, { roles: ["finance"] }])
      expect(await call(BOB, "Decide", decision(runId, claim))).toMatchObject(
        notAllowed(/^The JWT of "bob@example.com" proves who calls, and/),
      );
    await done(ADA, "Decide", decision(runId));
    const ofFinance = { roles: ["operator", "finance"] };
    await done(BOB, "Decide", decision(runId, { approver: BOB, roles: ["finance"] }), ofFinance);
    const found = await done(ADA, "GetRun", { run: { runId }, includeDecisions: true });
    expect(found).toMatchObject({
      run: { state: "RUN_STATE_COMPLETED" },
      decisions: [
        { approver: ADA, approverVerified: true },
        { approver: BOB, approverVerified: true },
      ],
    });
    expect(await newestEntry({ kind: "run", name: runId })).toMatchObject({
      action: "run.decide",
      by: BOB,
      byVerified: true,
    });
  });

  test("is decided as before by an API token, under a name that is not verified", async () => {
    const admin = { roles: ["admin"] };
    const token = await done(ADA, "CreateToken", { name: "x", role: "ROLE_OPERATOR" }, admin);
    const headers = { authorization: `Bearer ${textAt(token, "secret")}` };
    const { runId } = await newRun("released");
    const claimed = decision(runId, { approver: ADA });
    expect(await call(BOB, "Decide", claimed, { headers })).toMatchObject({ status: 200 });
    const { status } = await call(BOB, "Decide", decision(runId), { headers });
    expect(status).toBe(400);
    const found = await done(ADA, "GetRun", { run: { runId }, includeDecisions: true });
    expect(at(found, "decisions", 0, "approver")).toBe(ADA);
    expect(at(found, "decisions", 0, "approverVerified")).toBeUndefined();
  });
});

test("an escalation is claimed and answered by the proved name", async () => {
  const { runId } = await newRun("once");
  const agent = jsonAgent("once-1");
  const wish = { roles: ["agent"] };
  const poll = { agent, queues: [{ name: "once" }], maxTasks: 1, wait: "10s", pollSeq: "1" };
  const taskToken = textAt(await done("work", "PollTask", poll, wish), "tasks", 0, "taskToken");
  const outcome = { unknown: { code: "lost", message: "no answer" } };
  await done("work", "Complete", { agent, results: [{ taskToken, outcome }] }, wish);
  await until("a person is asked", async () => {
    const found = await done(ADA, "GetRun", { run: { runId }, includeEscalations: true });
    return listAt(found, "escalations").length > 0 ? true : null;
  });
  const escalation = { run: { runId }, escalationId: "1" };
  const claimed = await done(BOB, "ClaimEscalation", escalation);
  expect(at(claimed, "escalation", "claimedBy")).toBe(BOB);
  expect(
    await call(ADA, "ResolveEscalation", { ...escalation, answer: "skip", by: BOB }),
  ).toMatchObject(notAllowed(/proves who calls/));
  const answered = await done(ADA, "ResolveEscalation", { ...escalation, answer: "fail" });
  expect(at(answered, "escalation", "answer")).toEqual({
    answer: "fail",
    by: ADA,
    byVerified: true,
  });
  expect(await newestEntry({ kind: "run", name: runId })).toMatchObject({
    action: "escalation.answer",
    by: ADA,
    byVerified: true,
  });
});
