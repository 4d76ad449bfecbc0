/**
 * The audit: every call that a person or a token may make either writes one entry when it changes
 * something, or is in the list of exceptions with its reason. A call that changes nothing, that is
 * refused, or whose transaction fails writes none.
 */
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { AUDIT_ACTIONS } from "../../../server/store/audit.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";
import { at, jsonAgent, listAt, textAt } from "../../support/json-call.ts";
import { skipOnCitus } from "../../support/not-on-citus.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { until } from "../../support/until.ts";
import { ask, SERVICE_OF } from "./audit-calls.ts";

/** Calls that change nothing. */
const READS = /^(Get|List|Watch|Wait|Explain|Try)/;
const EXCEPTIONS: Readonly<Record<string, string>> = {
  Schedule: "the start of a run is data of the run",
  ScheduleBatch: "as Schedule",
  Signal: "a signal is data of the run",
};

const WORKFLOW = `workflow: audited
steps:
  - id: work
    task: work
    queue: audited
`;
const ONCE = `workflow: once
steps:
  - id: work
    task: work
    queue: once
    effects: once
`;
const APPROVAL = `workflow: approved
steps:
  - id: release
    approval: { approvers: [ada] }
`;

let database: TestDatabase;
let db: pg.Client;
let server: TestServer;

beforeAll(async () => {
  database = await createTestDatabase();
  db = new pg.Client({ connectionString: database.connectionString });
  await db.connect();
  server = await startDroverServer(database.connectionString);
  for (const text of [WORKFLOW, ONCE, APPROVAL]) await call("RegisterWorkflow", { text });
});
afterAll(async () => {
  await server?.stop();
  await db?.end();
  await database?.drop();
});

async function call(method: string, body: object): Promise<unknown> {
  const answer = await ask(server, method, body);
  if (answer.status !== 200) throw new Error(`${method}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

interface Row {
  readonly action: string;
  readonly subject_kind: string;
  readonly subject: string;
  readonly claimed_by: string;
  readonly reason: string;
  readonly details: Readonly<Record<string, unknown>>;
}

let read = 0;

/** The entries that were written since the last call. */
async function entries(): Promise<readonly Row[]> {
  const { rows } = await db.query<Row>(
    "select * from drover.audit_entry order by at, action, subject",
  );
  const found = rows.slice(read);
  read = rows.length;
  return found;
}

async function start(name = "audited"): Promise<string> {
  const run = textAt(await call("Schedule", { workflow: { name } }), "runId");
  return run;
}

const runOf = (runId: string) => ({ run: { runId } });

/** The task of a new run, held by an agent that a test plays. */
async function takeTask(workflow = "audited") {
  const runId = await start(workflow);
  const poll = { agent: jsonAgent("audit-agent"), queues: [{ name: workflow }], maxTasks: 1 };
  const task = await until("a task of the run", async () => {
    const asked = { ...poll, pollSeq: String(++polls), wait: "1s" };
    const tasks = listAt(await call("PollTask", asked), "tasks");
    return tasks.find((one) => at(one, "runId") === runId) ?? null;
  });
  return { runId, task };
}

let polls = 0;

async function report(task: unknown, outcome: object): Promise<void> {
  await call("Complete", {
    agent: jsonAgent("audit-agent"),
    results: [{ taskToken: textAt(task, "taskToken"), outcome }],
  });
}

async function failedRun(): Promise<string> {
  const { runId, task } = await takeTask();
  await report(task, {
    failed: { code: "broken", message: "no", failureClass: "FAILURE_CLASS_PERMANENT" },
  });
  await until("it has failed", async () =>
    at(await call("GetRun", runOf(runId)), "run", "state") === "RUN_STATE_FAILED" ? true : null,
  );
  return runId;
}

/** A run with an open question to a person. */
async function escalatedRun(): Promise<object> {
  const { runId, task } = await takeTask("once");
  await report(task, { unknown: { code: "lost", message: "no answer" } });
  await until("a person is asked", async () => {
    const run = await call("GetRun", { ...runOf(runId), includeEscalations: true });
    return listAt(run, "escalations").length > 0 ? true : null;
  });
  return { ...runOf(runId), escalationId: "1" };
}

const cron = { cron: { expression: "30 2 * * *" } };
const spec = { workflow: "audited", ...cron };
const TRIGGER = `trigger: push
http:
  hmac: { header: X-Signature }
schedule:
  workflow: audited
  key: push-$\{body.id}
`;

interface Change {
  /** Brings about what the call changes. */
  readonly before?: () => Promise<object>;
  readonly request: (given: object) => object;
  readonly action: string;
  readonly subject: string | RegExp;
  readonly by?: string;
  readonly reason?: string;
  readonly details?: object;
  /** The same call again is another change. */
  readonly again?: "changes";
}

const UUID = /^[0-9a-f-]{36}$/;
const fixed = (request: object) => () => request;
const why = { reason: "because" };

const CHANGES: Readonly<Record<string, Change>> = {
  RegisterWorkflow: {
    request: fixed({ text: `${WORKFLOW}timeout: 99h\n` }),
    action: "workflow.register",
    subject: "audited",
    details: { default: true },
  },
  SetDefaultVersion: {
    request: fixed({ name: "audited", version: 1 }),
    action: "workflow.default",
    subject: "audited",
    details: { version: 1, before: expect.any(Number) },
  },
  CancelRun: {
    before: async () => runOf(await start()),
    request: (run) => ({ ...run, ...why }),
    action: "run.cancel",
    subject: UUID,
    reason: "because",
    details: { undo: true },
  },
  PauseRun: {
    before: async () => runOf(await start()),
    request: (run) => ({ ...run, ...why }),
    action: "run.pause",
    subject: UUID,
    reason: "because",
  },
  ResumeRun: {
    before: async () => {
      const run = runOf(await start());
      await call("PauseRun", run);
      return run;
    },
    request: (run) => run,
    action: "run.resume",
    subject: UUID,
  },
  RetryRun: {
    before: async () => runOf(await failedRun()),
    request: (run) => ({ ...run, requestId: "r1" }),
    action: "run.retry",
    subject: UUID,
    details: { new_run: expect.stringMatching(UUID) },
  },
  RerunFrom: {
    before: async () => runOf(await failedRun()),
    request: (run) => ({ ...run, requestId: "r2", stepId: "work" }),
    action: "run.rerun",
    subject: UUID,
    details: { step: "work", new_run: expect.stringMatching(UUID) },
  },
  Decide: {
    before: async () => runOf(await start("approved")),
    request: (run) => ({
      ...run,
      stepId: "release",
      approver: "ada",
      decision: "DECISION_KIND_APPROVE",
      comment: "fine",
    }),
    action: "run.decide",
    subject: UUID,
    by: "ada",
    reason: "fine",
    details: { step: "release", approved: true },
  },
  CompleteDeferred: {
    before: async () => {
      const { task } = await takeTask();
      await report(task, { deferred: {} });
      return { callbackToken: textAt(task, "callbackToken") };
    },
    request: (token) => ({ ...token, success: {} }),
    action: "run.complete",
    subject: UUID,
    details: { outcome: "success" },
  },
  CompleteStep: {
    before: async () => {
      const { runId, task } = await takeTask();
      await report(task, { deferred: {} });
      return runOf(runId);
    },
    request: (run) => ({ ...run, stepId: "work", success: {}, by: "ada", ...why }),
    action: "run.complete",
    subject: UUID,
    by: "ada",
    reason: "because",
    details: { step: "work", outcome: "success" },
  },
  EraseRun: {
    before: async () => runOf(await failedRun()),
    request: (run) => ({ ...run, ...why }),
    action: "run.erase",
    subject: UUID,
    reason: "because",
    details: { workflow: "audited" },
  },
  CreateSchedule: {
    request: fixed({ name: "nightly", spec }),
    action: "schedule.create",
    subject: "nightly",
    details: { workflow: "audited", cron: "30 2 * * *" },
  },
  UpdateSchedule: {
    request: fixed({ name: "nightly", spec: { ...spec, priority: 2 } }),
    action: "schedule.update",
    subject: "nightly",
  },
  PauseSchedule: {
    request: fixed({ name: "nightly", ...why }),
    action: "schedule.pause",
    subject: "nightly",
    reason: "because",
  },
  ResumeSchedule: {
    request: fixed({ name: "nightly" }),
    action: "schedule.resume",
    subject: "nightly",
  },
  TriggerSchedule: {
    request: fixed({ name: "nightly", requestId: "t1" }),
    action: "schedule.trigger",
    subject: "nightly",
    details: { new_run: expect.stringMatching(UUID) },
  },
  BackfillSchedule: {
    request: fixed({
      name: "nightly",
      startTime: "2020-01-01T00:00:00Z",
      endTime: "2020-01-03T00:00:00Z",
    }),
    action: "schedule.backfill",
    subject: "nightly",
    details: { started: 2 },
  },
  DeleteSchedule: {
    request: fixed({ name: "nightly" }),
    action: "schedule.delete",
    subject: "nightly",
  },
  ClaimEscalation: {
    before: escalatedRun,
    request: (of) => ({ ...of, by: "ada" }),
    action: "escalation.claim",
    subject: UUID,
    by: "ada",
    details: { escalation: "1" },
  },
  ReleaseEscalation: {
    before: async () => {
      const of = await escalatedRun();
      await call("ClaimEscalation", { ...of, by: "ada" });
      return of;
    },
    request: (of) => ({ ...of, by: "ada" }),
    action: "escalation.release",
    subject: UUID,
    by: "ada",
  },
  ResolveEscalation: {
    before: escalatedRun,
    request: (of) => ({ ...of, by: "ada", why: "seen", answer: "fail" }),
    action: "escalation.answer",
    subject: UUID,
    by: "ada",
    reason: "seen",
    details: { escalation: "1", answer: "fail" },
  },
  PutHook: {
    request: fixed({ name: "ops", url: "https://example.org/h", secret: "s".repeat(32) }),
    action: "hook.put",
    subject: "ops",
    details: { url: "https://example.org/h", new_secret: true, created: true },
    again: "changes",
  },
  DeleteHook: { request: fixed({ name: "ops" }), action: "hook.delete", subject: "ops" },
  PutTrigger: {
    request: fixed({ text: TRIGGER, secret: "s".repeat(32) }),
    action: "trigger.put",
    subject: "push",
    details: { source: "http", new_secret: true, created: true },
    again: "changes",
  },
  DeleteTrigger: {
    request: fixed({ name: "push" }),
    action: "trigger.delete",
    subject: "push",
  },
  PauseQueue: {
    request: fixed({ queue: "slow", ...why }),
    action: "queue.pause",
    subject: "slow",
    reason: "because",
  },
  ResumeQueue: { request: fixed({ queue: "slow" }), action: "queue.resume", subject: "slow" },
  SetQueueLimits: {
    request: fixed({ queue: "slow", limits: { leased: 3, perSecond: 2 } }),
    action: "queue.limits",
    subject: "slow",
    details: { leased: 3, per_second: 2, burst: 2 },
  },
  PinQueue: {
    request: fixed({ queue: "audited", workflow: "audited", agentVersion: "2" }),
    action: "queue.pin",
    subject: "audited",
    details: { workflow: "audited", version: 0, agent_version: "2" },
  },
  UnpinQueue: {
    request: fixed({ queue: "audited", workflow: "audited" }),
    action: "queue.unpin",
    subject: "audited",
  },
  PauseNamespace: {
    request: fixed(why),
    action: "namespace.pause",
    subject: "default",
    reason: "because",
  },
  ResumeNamespace: { request: fixed({}), action: "namespace.resume", subject: "default" },
  PauseWorkflow: {
    request: fixed({ workflow: "audited", ...why }),
    action: "workflow.pause",
    subject: "audited",
    reason: "because",
  },
  ResumeWorkflow: {
    request: fixed({ workflow: "audited" }),
    action: "workflow.resume",
    subject: "audited",
  },
  SetCircuit: {
    request: fixed({
      queue: "audited",
      task: "work",
      setting: "CIRCUIT_SETTING_CLOSED",
      by: "ada",
      why: "known",
    }),
    action: "circuit.set",
    subject: "audited/work",
    by: "ada",
    reason: "known",
    details: { setting: "closed" },
  },
  CordonAgent: {
    request: fixed({ agentId: "a1", by: "ada", why: "old" }),
    action: "agent.cordon",
    subject: "a1",
    by: "ada",
    reason: "old",
  },
  UncordonAgent: { request: fixed({ agentId: "a1" }), action: "agent.uncordon", subject: "a1" },
  CreateNamespace: {
    request: fixed({ name: "blue" }),
    action: "namespace.create",
    subject: "blue",
    details: { region: "default" },
  },
  SetNamespaceRetention: {
    request: fixed({ retention: "86400s" }),
    action: "namespace.retention",
    subject: "default",
    details: { retention_ms: 86_400_000 },
  },
  SetNamespaceLimits: {
    request: fixed({ limits: { openRuns: 1_000 } }),
    action: "namespace.limits",
    subject: "default",
    details: { open_runs: 1_000 },
  },
  SetNamespaceLogs: {
    request: fixed({ noLogs: true }),
    action: "namespace.logs",
    subject: "default",
    details: { logs: "off" },
  },
  CreateToken: {
    request: fixed({ name: "booking", role: "ROLE_CLIENT", by: "ada" }),
    action: "token.create",
    subject: /^[0-9a-f]{16}$/,
    by: "ada",
    details: { name: "booking", role: "client" },
    again: "changes",
  },
  RevokeToken: {
    before: async () => {
      const asked = { name: "leaving", role: "ROLE_CLIENT", by: "ada" };
      return { id: textAt(await call("CreateToken", asked), "token", "id") };
    },
    request: (token) => ({ ...token, by: "ada" }),
    action: "token.revoke",
    subject: /^[0-9a-f]{16}$/,
    by: "ada",
    details: { name: "leaving" },
  },
};
/** Has a test of its own: it writes an entry for the action, and one for each run. */
const OF_MANY = ["BulkAction"];

describe("a call that changes something", () => {
  const mutating = [...SERVICE_OF.keys()].filter((name) => !READS.test(name));

  it("is in this table, or is an exception with a reason", () => {
    const known = [...Object.keys(CHANGES), ...Object.keys(EXCEPTIONS), ...OF_MANY];
    expect(mutating.toSorted()).toEqual(known.toSorted());
  });

  it.for(Object.entries(CHANGES))("writes one entry: %s", async ([method, change]) => {
    const request = change.request((await change.before?.()) ?? {});
    await entries();
    await call(method, request);
    const written = await entries();
    expect(written).toMatchObject([
      {
        action: change.action,
        subject:
          typeof change.subject === "string"
            ? change.subject
            : expect.stringMatching(change.subject),
        claimed_by: change.by ?? "Jürgen",
        reason: change.reason ?? "",
        details: change.details ?? {},
      },
    ]);
    expect(AUDIT_ACTIONS).toContain(change.action);
    expect(JSON.stringify(written)).not.toMatch(/ssss|drover_|callbackToken/);
    await ask(server, method, request);
    expect(await entries()).toHaveLength(change.again === "changes" ? 1 : 0);
  });

  it("writes another entry when a circuit is no longer set by an operator", async () => {
    const lane = { queue: "audited", task: "work" };
    await entries();
    await call("SetCircuit", { ...lane, by: "ada" });
    expect(await entries()).toMatchObject([{ action: "circuit.release", subject: "audited/work" }]);
  });

  it.for(["Schedule", "Signal"])("writes none: %s", async (method) => {
    const signalled = `workflow: signalled
steps:
  - id: paid
    signal: { name: paid }
`;
    await call("RegisterWorkflow", { text: signalled });
    const runId = await start("signalled");
    await entries();
    if (method === "Schedule") await start();
    else await call("Signal", { ...runOf(runId), name: "paid", signalId: "s1" });
    expect(await entries()).toEqual([]);
  });
});

test("an action on many runs writes an entry for itself, and one for each run that it changes", async () => {
  const labels = { wave: "1" };
  for (const _ of [1, 2, 3]) await call("Schedule", { workflow: { name: "audited" }, labels });
  await entries();
  const asked = { kind: "BULK_KIND_CANCEL", filter: { labels }, requestId: "b1", ...why };
  await call("BulkAction", asked);
  const written = await entries();
  expect(written.map(({ action }) => action)).toEqual([
    "bulk.start",
    "run.cancel",
    "run.cancel",
    "run.cancel",
  ]);
  expect(written[0]).toMatchObject({
    subject: "b1",
    reason: "because",
    details: { kind: "cancel", runs: 3 },
  });
  expect(written[1]).toMatchObject({ reason: "because", details: { bulk: "b1", undo: true } });
  await call("BulkAction", asked);
  expect(await entries()).toEqual([]);
});

describe("no entry is written", () => {
  it.for([
    ["CancelRun", { run: { runId: "0198c0de-0000-7000-8000-00000000ffff" } }],
    ["SetDefaultVersion", { name: "audited", version: 999 }],
    ["PutHook", { name: "bad", url: "https://example.org" }],
    ["RevokeToken", { id: "0".repeat(16), by: "ada" }],
    ["PauseWorkflow", { workflow: "unknown" }],
  ] as const)("by a call that is refused: %s", async ([method, request]) => {
    await entries();
    expect((await ask(server, method, request)).status).not.toBe(200);
    expect(await entries()).toEqual([]);
  });

  it("by a command that the run refuses", async () => {
    const run = runOf(await failedRun());
    await entries();
    expect((await ask(server, "PauseRun", run)).status).not.toBe(200);
    expect(await entries()).toEqual([]);
  });

  it("by a transaction that fails, and the change is not made either", async (context) => {
    skipOnCitus(context, "it changes a table, which only the coordinator may do");
    const runId = await start();
    await entries();
    await db.query(
      "alter table drover.audit_entry add constraint refused check (reason <> 'refused')",
    );
    try {
      const reason = "refused";
      expect((await ask(server, "PauseQueue", { queue: "other", reason })).status).not.toBe(200);
      expect((await ask(server, "PauseRun", { ...runOf(runId), reason })).status).not.toBe(200);
    } finally {
      await db.query("alter table drover.audit_entry drop constraint refused");
    }
    expect(await entries()).toEqual([]);
    expect(at(await call("GetQueue", { queue: "other" }), "queue", "pause")).toBeUndefined();
    const { run } = (await call("GetRun", runOf(runId))) as { run: { state: string } };
    expect(run.state).toBe("RUN_STATE_RUNNING");
  });

  it("with a name that no header can have said", async () => {
    const bad = await ask(server, "PauseQueue", { queue: "x" }, { "drover-by": "%FF" });
    expect(bad).toMatchObject({
      status: 400,
      body: { message: expect.stringMatching(/drover-by/) },
    });
  });
});
