/**
 * EraseRun: nothing that a run held is left in any table, the run next to it stays whole, and a run
 * that is open, or whose parent or child is, is refused.
 */
import { Role } from "@drover/proto/drover/v1/token_pb.ts";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { createTokenInDatabase } from "../../../server/first-token.ts";
import { ROWS_FORGOTTEN_MAX } from "../../../server/store/namespaces.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";
import { at, type JsonAnswer, jsonAgent, listAt, textAt } from "../../support/json-call.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { until } from "../../support/until.ts";
import { ask } from "./audit-calls.ts";

const EVERYTHING = `workflow: everything
steps:
  - id: work
    task: work
    queue: erased
    on_failure: escalate
  - id: paid
    needs: [work]
    signal: { name: paid }
  - id: release
    needs: [paid]
    approval:
      approvers: [ada]
      form: { type: object }
`;
const PARENT = `workflow: parent
steps:
  - id: below
    run: waits
  - id: then
    signal: { name: then }
`;
const WAITS = `workflow: waits
steps:
  - id: paid
    signal: { name: paid }
`;

let database: TestDatabase;
let db: pg.Client;
let server: TestServer;

beforeAll(async () => {
  database = await createTestDatabase();
  db = new pg.Client({ connectionString: database.connectionString });
  await db.connect();
  server = await startDroverServer(database.connectionString);
  for (const text of [EVERYTHING, WAITS, PARENT]) await call("RegisterWorkflow", { text });
  // Nothing listens there: a webhook stays, with the error of its last try.
  const hook = { name: "ops", url: "http://127.0.0.1:9/ops", secret: "s".repeat(32) };
  await call("PutHook", { ...hook, events: ["run-ended"] });
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

const of = (runId: string) => ({ run: { runId } });
const json = (value: object) => ({ json: JSON.stringify(value) });
const erase = (runId: string, more = {}) =>
  ask(server, "EraseRun", { ...of(runId), reason: "request 17", ...more });
const refusal = ({ body }: JsonAnswer) => ({
  code: at(body, "code"),
  message: at(body, "message"),
});

async function stateOf(runId: string): Promise<unknown> {
  return at(await call("GetRun", of(runId)), "run", "state");
}

const reached = (runId: string, state: string) =>
  until(`the run is ${state}`, async () =>
    (await stateOf(runId)) === `RUN_STATE_${state}` ? true : null,
  );

const agent = jsonAgent("eraser");
let polls = 0;

const taken = () =>
  until("a task", async () => {
    const asked = { agent, queues: [{ name: "erased" }], pollSeq: String(++polls), wait: "1s" };
    return listAt(await call("PollTask", asked), "tasks")[0] ?? null;
  });

const report = (task: unknown, outcome: object) =>
  call("Complete", { agent, results: [{ taskToken: textAt(task, "taskToken"), outcome }] });

/** A run that has ended and has this word in all that it can hold. */
async function filled(word: string): Promise<string> {
  const input = json({ name: word });
  const start = { workflow: { name: "everything" }, key: `key-${word}`, input };
  const labels = { customer: word };
  const notify = { hook: "ops", url: `http://127.0.0.1:9/${word}` };
  const runId = textAt(await call("Schedule", { ...start, labels, notify }), "runId");
  const first = await taken();
  const line = { time: "2026-01-01T00:00:00Z", message: word, fields: { name: word } };
  const logs = [{ taskToken: textAt(first, "taskToken"), firstLine: 1, lines: [line] }];
  await call("AppendLogs", { agent, logs });
  const failed = { failureClass: "FAILURE_CLASS_PERMANENT", code: `code-${word}`, message: word };
  await report(first, { failed });
  await reached(runId, "ESCALATED");
  const escalation = { ...of(runId), escalationId: "1", by: "ada" };
  await call("ClaimEscalation", escalation);
  await call("ResolveEscalation", { ...escalation, answer: "retry", why: word });
  // Too large for its page, so it is a payload of its own.
  await report(await taken(), { success: { output: json({ name: word.repeat(1_000) }) } });
  const payload = json({ name: word });
  await call("Signal", { ...of(runId), name: "paid", signalId: `s-${word}`, payload });
  await until("an approval", async () => {
    const open = listAt(await call("ListApprovals", of(runId)), "approvals");
    return open.length > 0 ? true : null;
  });
  const decision = { stepId: "release", approver: "ada", decision: "DECISION_KIND_APPROVE" };
  await call("Decide", { ...of(runId), ...decision, comment: word, form: json({ name: word }) });
  await reached(runId, "COMPLETED");
  await db.query(
    `insert into drover.inbox (namespace, workflow, version, input, key, labels, refused_at, reason, message)
     values ('default', 'everything', 0, to_json($1::text), $2, '{}', now(), 'KEY_REUSED', $1)`,
    [word, start.key],
  );
  await db.query(
    `insert into drover.trigger_refusal (namespace_id, trigger, digest, reason, message, run_id, count)
     values (1, 'after', sha256(convert_to($1, 'UTF8')), 'MAPPING_FAILED', $1, $2, 1)`,
    [word, runId],
  );
  await until("a webhook that failed", async () => {
    const all = listAt(await call("ListDeliveries", {}), "deliveries");
    const mine = all.find((one) => at(one, "runId") === runId);
    return mine !== undefined && at(mine, "error") !== undefined ? true : null;
  });
  return runId;
}

/** The tables with a row that contains the text, with the number of such rows. */
async function tablesWith(text: string): Promise<Readonly<Record<string, number>>> {
  const { rows: tables } = await db.query<{ name: string }>(
    `select c.relname as name from pg_class as c
     where c.relnamespace = 'drover'::regnamespace and c.relkind = 'r' order by 1`,
  );
  expect(tables.length).toBeGreaterThan(50);
  const found: Record<string, number> = {};
  for (const { name } of tables) {
    const base64 = Buffer.from(text).toString("base64").replace(/=*$/, "").slice(0, -1);
    const { rows } = await db.query<{ count: number }>(
      `select count(*)::integer as count from drover.${name} as t
       where t::text like '%' || $1 || '%' or t::text like '%' || $2 || '%'
         or t::text like '%' || $3 || '%'`,
      [text, base64, Buffer.from(text).toString("hex")],
    );
    if (rows[0] && rows[0].count > 0) found[name.replace(/_default$/, "")] = rows[0].count;
  }
  return found;
}

test("of an erased run no table holds anything, and the run next to it is whole", async () => {
  const runId = await filled("kanarienvogel");
  const beside = await filled("zaunkoenig");
  const before = await tablesWith("kanarienvogel");
  expect(Object.keys(before)).toEqual(
    expect.arrayContaining([
      "audit_entry",
      "decision",
      "delivery",
      "escalation",
      "handler_log",
      "idempotency",
      "inbox",
      "payload",
      "run",
      "run_mark",
      "run_page",
      "signal",
      "trigger_refusal",
    ]),
  );
  const whole = await tablesWith("zaunkoenig");
  const answer = await erase(runId);
  expect(answer).toMatchObject({ status: 200, body: { runId, workflow: "everything" } });
  expect(await tablesWith("kanarienvogel")).toEqual({});
  expect(Object.keys(await tablesWith(runId))).toEqual(["audit_entry"]);
  expect(await tablesWith("zaunkoenig")).toEqual(whole);
  const wanted = { includeAttempts: true, includeEscalations: true, includeDecisions: true };
  const kept = await call("GetRun", { ...of(beside), ...wanted });
  expect(at(kept, "run", "labels", "customer")).toBe("zaunkoenig");
  expect(listAt(kept, "decisions")).toHaveLength(1);
  expect(refusal(await erase(runId))).toMatchObject({ code: "not_found" });
  expect(refusal(await ask(server, "GetRun", of(runId)))).toMatchObject({ code: "not_found" });
});

test("the audit keeps who did what and when, and why the run was erased", async () => {
  const runId = await filled("eisvogel");
  await erase(runId);
  const { rows } = await db.query(
    `select action, claimed_by, reason, details from drover.audit_entry
     where subject = $1 order by at, action`,
    [runId],
  );
  const cleared = { claimed_by: "ada", reason: "", details: {} };
  expect(rows).toEqual([
    { ...cleared, action: "escalation.claim" },
    { ...cleared, action: "escalation.answer" },
    { ...cleared, action: "run.decide" },
    {
      action: "run.erase",
      claimed_by: "Jürgen",
      reason: "request 17",
      details: { workflow: "everything" },
    },
  ]);
});

test("a run with more rows than one transaction deletes goes as a whole", async () => {
  const runId = await filled("stieglitz");
  await db.query(
    `insert into drover.handler_log (run_id, step_no, fence, kind, n, line, attempt, stored_bytes, at, level, message)
     select $1, 9, 1, 'perform', 0, n, 1, 1, now(), 'info', 'stieglitz'
     from generate_series(1, $2::integer) as n`,
    [runId, 2 * ROWS_FORGOTTEN_MAX + 1],
  );
  expect(await erase(runId)).toMatchObject({ status: 200 });
  expect(await tablesWith("stieglitz")).toEqual({});
});

test("the key of an erased run starts a new run", async () => {
  const runId = await filled("amsel");
  await ask(server, "EraseRun", { run: { key: "key-amsel" }, reason: "request 17" });
  const again = { workflow: { name: "waits" }, key: "key-amsel" };
  expect(textAt(await call("Schedule", again), "runId")).not.toBe(runId);
});

describe("a run is refused, and stays", () => {
  const start = async (name: string) =>
    textAt(await call("Schedule", { workflow: { name } }), "runId");

  it("while it is open", async () => {
    const runId = await start("waits");
    expect(refusal(await erase(runId))).toEqual({
      code: "failed_precondition",
      message: `The run ${runId} cannot be erased: it has not ended (RUNNING): wait until it has ended, or cancel it first.`,
    });
    expect(await stateOf(runId)).toBe("RUN_STATE_RUNNING");
  });

  it("while its parent is open", async () => {
    const parent = await start("parent");
    const child = await until("a child", async () => {
      const filter = { parentRunId: parent };
      const [found] = listAt(await call("ListRuns", { filter }), "runs");
      return found === undefined ? null : textAt(found, "runId");
    });
    await call("Signal", { ...of(child), name: "paid", signalId: "1" });
    await reached(child, "COMPLETED");
    expect(refusal(await erase(child))).toEqual({
      code: "failed_precondition",
      message: `The run ${child} cannot be erased: its parent ${parent} has not ended (RUNNING): wait until it has ended, or cancel it first.`,
    });
    await call("Signal", { ...of(parent), name: "then", signalId: "1" });
    await reached(parent, "COMPLETED");
    expect(await erase(child)).toMatchObject({ status: 200 });
    expect(await erase(parent)).toMatchObject({ status: 200 });
  });

  it("without a reason", async () => {
    const runId = await start("waits");
    await call("CancelRun", of(runId));
    expect(refusal(await erase(runId, { reason: "" }))).toMatchObject({ code: "invalid_argument" });
    expect(await stateOf(runId)).toBe("RUN_STATE_CANCELLED");
  });
});

describe("the runs of a person", () => {
  const bulk = (body: object) => ask(server, "BulkAction", { kind: "BULK_KIND_ERASE", ...body });
  const labels = { customer: "rotkehlchen" };

  it("are counted, and erased as far as they have ended; the audit does not name the person", async () => {
    const ended = [await filled("rotkehlchen")];
    const open = textAt(await call("Schedule", { workflow: { name: "waits" }, labels }), "runId");
    const filter = { labels };
    expect(await bulk({ filter, dryRun: true })).toMatchObject({ body: { count: 1 } });
    expect(refusal(await bulk({ filter, requestId: "e1" }))).toMatchObject({
      code: "invalid_argument",
    });
    const asked = { filter, requestId: "e1", reason: "request 18", expectedCount: 1 };
    const results = listAt((await bulk(asked)).body, "results");
    expect(results.map((one) => at(one, "runId"))).toEqual(ended);
    expect(results.map((one) => at(one, "status"))).toEqual([{}]);
    const states = ["RUN_STATE_RUNNING"];
    const wrong = await bulk({ filter: { labels, states }, requestId: "e2", reason: "request 18" });
    expect(at(wrong.body, "results", 0, "status", "code")).toBe(9);
    await call("CancelRun", of(open));
    expect(await bulk({ filter, requestId: "e3", reason: "rest" })).toMatchObject({ status: 200 });
    expect(await tablesWith("rotkehlchen")).toEqual({});
  });

  it("are erased for an admin alone", async () => {
    const strict = await startDroverServer(database.connectionString, { requireTokens: true });
    try {
      const asked = async (role: Role) => {
        const spec = { name: "caller", role, allNamespaces: true, by: "ada" };
        const { secret } = await createTokenInDatabase(database.connectionString, spec);
        const body = { kind: "BULK_KIND_ERASE", filter: { labels }, dryRun: true };
        return await ask(strict, "BulkAction", body, { authorization: `Bearer ${secret}` });
      };
      expect(await asked(Role.ADMIN)).toMatchObject({ status: 200 });
      expect(refusal(await asked(Role.OPERATOR))).toMatchObject({ code: "permission_denied" });
    } finally {
      await strict.stop();
    }
  });
});
