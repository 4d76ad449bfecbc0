// Bad input against a real server and database: each is refused with the right code, the path of
// the field and a sentence that helps, and nothing is stored.
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startDroverServer, type TestServer } from "../support/drover-server.ts";
import { at, callJson, type JsonAnswer, jsonAgent, listAt, textAt } from "../support/json-call.ts";

let server: TestServer;
let db: pg.Client;
const agent = jsonAgent("careless");

beforeAll(async () => {
  server = await startDroverServer();
  db = new pg.Client({ connectionString: server.connectionString });
  await db.connect();
});
afterAll(async () => {
  await db?.end();
  await server?.stop();
});

const step = (id: string, needs: string[] = [], more: object = {}) => ({
  id,
  needs,
  task: { name: "t" },
  ...more,
});
const definition = (...steps: object[]) => ({ workflow: "bad", steps });
const schedule = (body: object) => ["SchedulerService/Schedule", body] as const;
const inline = (...steps: object[]) => schedule({ definition: definition(...steps) });

/** Rows of every table that a call could write to; not what servers note of who calls. */
async function everything(): Promise<string> {
  const { rows } = await db.query<{ name: string }>(
    `select c.relname as name from pg_class as c
     join pg_namespace as n on n.oid = c.relnamespace
     where n.nspname = 'drover' and c.relkind in ('r', 'p') and not c.relispartition
       and c.relname not in ('node', 'writer', 'partition_lease', 'lane_poller', 'agent')
     order by c.relname`,
  );
  const counts: string[] = [];
  for (const { name } of rows) {
    const { rows: found } = await db.query<{ md5: string }>(
      `select md5(coalesce(string_agg(t::text, '|' order by t::text), '')) from drover.${name} as t`,
    );
    counts.push(`${name} ${found[0]?.md5}`);
  }
  return counts.join("\n");
}

function paths({ body }: JsonAnswer): string[] {
  const violations = listAt(body, "details").flatMap((detail) =>
    listAt(detail, "debug", "fieldViolations"),
  );
  return violations.map((violation) => textAt(violation, "field"));
}

const cases: [string, readonly [string, object], number, string | null, RegExp][] = [
  [
    "an unknown step in needs",
    inline(step("flight"), step("hotel", ["flihgt"])),
    400,
    "definition.steps[1].needs[0]",
    /did you mean "flight"/,
  ],
  [
    "a cycle",
    inline(step("a", ["b"]), step("b", ["a"])),
    400,
    "definition.steps[0].needs",
    /circle: a needs b needs a/,
  ],
  ["a duplicate id", inline(step("a"), step("a")), 400, "definition.steps[1].id", /taken/],
  ["an empty workflow", inline(), 400, "definition.steps", /at least 1/],
  [
    "501 steps",
    inline(...Array.from({ length: 501 }, (_, no) => step(`s${no}`))),
    400,
    "definition.steps",
    /500/,
  ],
  [
    "an oversized payload",
    schedule({
      definition: definition(step("a")),
      input: { json: JSON.stringify("x".repeat(262_145)) },
    }),
    400,
    "input",
    /262144|256 KiB|object storage/,
  ],
  [
    "input that is no JSON",
    schedule({ definition: definition(step("a")), input: { json: "{" } }),
    400,
    "input.json",
    /JSON/,
  ],
  ["a bad name", inline(step("a b")), 400, "definition.steps[0].id", /must be 1 to 128 characters/],
  [
    "a negative duration",
    inline(step("a", [], { timeouts: { attempt: "-3s" } })),
    400,
    "definition.steps[0].timeouts.attempt",
    /./,
  ],
  [
    "a heartbeat under two seconds",
    inline(step("a", [], { timeouts: { heartbeat: "1s" } })),
    400,
    "definition.steps[0].timeouts.heartbeat",
    /2s/,
  ],
  [
    "effects to be verified by no task",
    inline(step("a", [], { effects: "EFFECTS_VERIFIABLE" })),
    400,
    "definition.steps[0].verify",
    /name the task that finds out/,
  ],
  ["an unknown workflow", schedule({ workflow: { name: "nope" } }), 404, null, /register it/],
  [
    "an unknown namespace",
    schedule({ namespace: "nope", definition: definition(step("a")) }),
    404,
    null,
    /nope/,
  ],
  ["an unknown field", schedule({ definitoin: {} }), 400, null, /definitoin/],
  [
    "a session that is not 16 bytes",
    ["AgentService/PollTask", { agent: { id: "x", session: "AAAA" }, pollSeq: 1 }],
    400,
    "agent.session",
    /16/,
  ],
  [
    "a text with a typo",
    ["SchedulerService/RegisterWorkflow", { text: "workflow: w\nsteps:\n - id: a\n   taks: t\n" }],
    400,
    "steps[0].taks",
    /line 4/,
  ],
];

describe("bad input is refused, and nothing is stored", () => {
  it.each(cases)("%s", async (_what, [method, body], status, path, sentence) => {
    const before = await everything();
    const answer = await callJson(server.address, method, body);
    expect(answer.status).toBe(status);
    if (path !== null) expect(paths(answer)).toContain(path);
    const { body: refused } = answer;
    const answerText = [at(refused, "message"), JSON.stringify(at(refused, "details") ?? [])].join(
      " ",
    );
    expect(answerText).toMatch(sentence);
    expect(await everything()).toBe(before);
  });

  it("undecodable protobuf", async () => {
    const before = await everything();
    const response = await fetch(`${server.url}/drover.v1.SchedulerService/Schedule`, {
      method: "POST",
      headers: { "content-type": "application/proto" },
      body: new Uint8Array([255, 255, 255]),
    });
    expect(response.status).toBe(400);
    expect(JSON.stringify(await response.json())).toContain("MALFORMED_MESSAGE");
    expect(await everything()).toBe(before);
  });

  it("a message over the limit", async () => {
    const before = await everything();
    const answer = await callJson(
      server.address,
      ...schedule({ definition: definition(step("a")), key: "x".repeat(5 * 1024 * 1024) }),
    );
    expect(at(answer.body, "code")).toBe("resource_exhausted");
    expect(JSON.stringify(answer.body)).toContain("MESSAGE_TOO_LARGE");
    expect(await everything()).toBe(before);
  });

  it("an absurd deadline", async () => {
    const before = await everything();
    const response = await fetch(`${server.url}/drover.v1.SchedulerService/Schedule`, {
      method: "POST",
      headers: { "content-type": "application/json", "connect-timeout-ms": "9999999999" },
      body: JSON.stringify({ definition: definition(step("a")) }),
    });
    expect(response.status).toBe(400);
    expect(JSON.stringify(await response.json())).toContain("DEADLINE_TOO_LONG");
    expect(await everything()).toBe(before);
  });

  it("a key reused with another request, while the same request gets the same run", async () => {
    const request = { definition: definition(step("a")), key: "once" };
    const first = await callJson(server.address, ...schedule(request));
    const before = await everything();
    const again = await callJson(server.address, ...schedule(request));
    const runId = textAt(first.body, "runId");
    expect(again.body).toEqual({ runId });
    const other = await callJson(server.address, ...schedule({ ...request, priority: 1 }));
    expect(other.status).toBe(409);
    expect(at(other.body, "message")).toContain(runId);
    expect(await everything()).toBe(before);
  });

  it("tokens: malformed, of another namespace, and another report for a task that is over", async () => {
    const polled = await callJson(server.address, "AgentService/PollTask", { agent, pollSeq: 1 });
    const token = textAt(polled.body, "tasks", 0, "taskToken");
    const bytes = Buffer.from(token, "base64url");
    const foreign = Buffer.concat([bytes.subarray(0, 44), Buffer.from("\u0009elsewhere")]);
    const report = async (taskToken: string, outcome: object) => {
      const results = [{ taskToken, outcome }];
      const { body } = await callJson(server.address, "AgentService/Complete", { agent, results });
      return JSON.stringify(at(body, "answers", 0) ?? body);
    };
    const before = await everything();
    expect(await report("no token", { success: {} })).toContain("MALFORMED_TOKEN");
    expect(await report(foreign.toString("base64url"), { success: {} })).toContain(
      "TASK_NOT_FOUND",
    );
    const callback = { callbackToken: token, success: {} };
    const refused = await callJson(server.address, "SchedulerService/CompleteDeferred", callback);
    expect(JSON.stringify(refused.body)).toContain("MALFORMED_TOKEN");
    expect(await everything()).toBe(before);
    expect(await report(token, { success: {} })).toBe('{"status":{}}');
    const done = await everything();
    expect(await report(token, { success: {} })).toBe('{"status":{},"repeated":true}');
    expect(await report(token, { unknown: { message: "?" } })).toContain("TASK_OVER");
    expect(await everything()).toBe(done);
  });
});
