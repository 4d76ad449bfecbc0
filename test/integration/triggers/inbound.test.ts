/** Calls of triggers over real HTTP: who may, what follows, what a repeat gets, what is refused. */
import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { at, callJson, jsonAgent, listAt, textAt } from "../../support/json-call.ts";
import { SECRET, sign, triggerServer } from "./fixture.ts";

const drover = triggerServer();

const GITHUB = `  hmac: { header: X-Hub-Signature-256, prefix: "sha256=" }`;

/** A trigger that begins a deployment for each push, as GitHub reports them. */
async function push(name: string, more = ""): Promise<void> {
  await drover.workflow("deploy");
  await drover.put(
    `trigger: ${name}
http:
${GITHUB}
when: body.ref == "refs/heads/main"
schedule:
  workflow: deploy
  key: ${name}-\${headers["x-github-delivery"]}
  input: { commit: "\${body.after}", by: "\${query.by}" }
  labels: { repository: "\${body.repository}" }
${more}`,
    SECRET,
  );
}

const PUSH = { ref: "refs/heads/main", after: "abc123", repository: "tool" };
const delivery = (id: string) => ({ headers: { "X-GitHub-Delivery": id }, query: "?by=me&by=you" });

describe("a call that is signed", () => {
  test("schedules a run with what the mapping makes of it, and is answered with its id", async () => {
    await push("begins");
    const { status, body } = await drover.signed("begins", PUSH, delivery("d1"));
    expect(status).toBe(200);
    const { run } = await drover.client.getRun(textAt(body, "run_id"));
    expect(run).toMatchObject({
      workflow: "deploy",
      key: "begins-d1",
      labels: { repository: "tool" },
      input: { commit: "abc123", by: "me" },
    });
  });

  test("that is repeated gets the same answer in the same words, though it is worded anew", async () => {
    await push("repeats");
    const first = await drover.signed("repeats", PUSH, delivery("d2"));
    const again = await drover.signed("repeats", { ...PUSH, after: "def456" }, delivery("d2"));
    expect(again).toMatchObject({ status: 200, body: first.body });
    const other = await drover.signed("repeats", PUSH, delivery("d3"));
    expect(other.body).not.toEqual(first.body);
  });

  test("at the same time as its repeats begins one run", async () => {
    await push("races");
    const calls = Array.from({ length: 20 }, () => drover.signed("races", PUSH, delivery("d4")));
    const answers = new Set((await Promise.all(calls)).map(({ body }) => textAt(body, "run_id")));
    expect(answers.size).toBe(1);
  });

  test("that `when` is false for is let be", async () => {
    await push("ignores");
    const { status, body } = await drover.signed("ignores", { ...PUSH, ref: "x" }, delivery("d5"));
    expect({ status, body }).toEqual({ status: 200, body: { ignored: "its `when` is false" } });
    const { runs } = await drover.client.listRuns({ labels: { repository: "ignores" } });
    expect(runs).toEqual([]);
  });

  test("under a key that a run of another caller has is refused", async () => {
    await push("collides");
    await drover.client.schedule({ workflow: "deploy", key: "collides-d6" });
    const { status, body } = await drover.signed("collides", PUSH, delivery("d6"));
    expect(status).toBe(409);
    expect(body).toMatchObject({ reason: "KEY_REUSED" });
    expect(await drover.refusals("collides", 1)).toEqual(["KEY_REUSED"]);
  });

  test("passes its body on where the mapping names no input", async () => {
    await drover.workflow("plain");
    await drover.put(`trigger: plain\nhttp:\n${GITHUB}\nschedule: { workflow: plain }\n`, SECRET);
    const { body } = await drover.signed("plain", { any: ["thing"] });
    const { run } = await drover.client.getRun(textAt(body, "run_id"));
    expect(run.input).toEqual({ any: ["thing"] });
  });
});

describe("who does not prove who he is", () => {
  test.for<[string, Readonly<Record<string, string>>]>([
    ["without a signature", {}],
    ["with the signature of another secret", { "x-hub-signature-256": sign("{}", "guessed") }],
    ["with the signature of another body", { "x-hub-signature-256": sign("[]") }],
    ["with a signature without its prefix", { "x-hub-signature-256": sign("{}").slice(7) }],
    ["with half a signature", { "x-hub-signature-256": sign("{}").slice(0, 30) }],
    ["with an empty signature", { "x-hub-signature-256": "sha256=" }],
    ["with another credential", { authorization: `Bearer ${SECRET}` }],
  ])("%s learns no more than of a trigger that is not there", async ([, headers]) => {
    await push("guarded");
    const stranger = await drover.call("guarded", "{}", { headers });
    const nowhere = await drover.call("nowhere", "{}", { headers });
    const refused = await drover.call("guarded", "{}", { headers, namespace: "missing" });
    expect(stranger.status).toBe(401);
    for (const other of [nowhere, refused]) {
      expect(other.status).toBe(401);
      expect(other.body).toEqual(stranger.body);
    }
  });

  test("is listed with the reason, which the caller does not get, however often he calls once", async () => {
    await push("listed");
    for (let n = 0; n < 5; n++) await drover.call("listed", "{}");
    expect(await drover.refusals("listed", 1)).toEqual(["UNAUTHENTICATED"]);
    const { body } = await callJson(drover.server.address, "OperatorService/ListRefusals", {
      trigger: "listed",
    });
    const [refusal] = listAt(body, "refusals");
    expect(refusal).toMatchObject({ message: "there is no header x-hub-signature-256" });
  });

  test("by a bearer is known by the token alone", async () => {
    await drover.workflow("plain");
    await drover.put(
      `trigger: bearing\nhttp: { bearer: {} }\nschedule: { workflow: plain, input: "\${headers}" }\n`,
      SECRET,
    );
    const bearer = (token: string) =>
      drover.call("bearing", "{}", { headers: { Authorization: `Bearer ${token}` } });
    expect((await bearer("another-secret-of-sixteen")).status).toBe(401);
    expect((await drover.call("bearing", "{}")).status).toBe(401);
    const { status, body } = await bearer(SECRET);
    expect(status).toBe(200);
    const { run } = await drover.client.getRun(textAt(body, "run_id"));
    expect(JSON.stringify(run.input)).not.toContain(SECRET);
  });

  test("with a signature that has grown old is a stranger", async () => {
    await drover.workflow("plain");
    await drover.put(
      `trigger: stripe
http:
  hmac: { header: Stripe-Signature, prefix: "v1=", timestamp_header: Stripe-Signature, tolerance: 1m }
schedule: { workflow: plain }
`,
      SECRET,
    );
    const stripe = (seconds: number, signedAt = seconds) => {
      const v1 = createHmac("sha256", SECRET).update(`${signedAt}.{}`).digest("hex");
      const header = `t=${seconds},v1=${"0".repeat(64)},v1=${v1}`;
      return drover.call("stripe", "{}", { headers: { "Stripe-Signature": header } });
    };
    const now = Math.floor(Date.now() / 1_000);
    expect((await stripe(now)).status).toBe(200);
    expect((await stripe(now - 3_600)).status).toBe(401);
    expect((await stripe(now + 3_600)).status).toBe(401);
    expect((await stripe(now, now - 3_600)).status).toBe(401);
    expect(await drover.refusals("stripe", 2)).toEqual(["UNAUTHENTICATED", "UNAUTHENTICATED"]);
  });
});

describe("a call that is wrong", () => {
  test.for<[string, number, string, Parameters<typeof drover.call>[2], string | Uint8Array]>([
    ["of another type", 415, "CONTENT_TYPE", { type: "text/plain" }, "{}"],
    ["of no type", 415, "CONTENT_TYPE", { type: "application/octet-stream" }, new Uint8Array([1])],
    ["that is compressed", 415, "CONTENT_TYPE", { headers: { "content-encoding": "gzip" } }, "{}"],
    ["with a body that is too large", 413, "BODY_TOO_LARGE", {}, `"${"x".repeat(300_000)}"`],
    ["with a body that is far too large", 413, "BODY_TOO_LARGE", {}, "x".repeat(5_000_000)],
    ["with a body that is no JSON", 400, "MALFORMED_BODY", {}, '{"a":'],
    ["with a body that is no UTF-8", 400, "MALFORMED_BODY", {}, new Uint8Array([34, 255, 34])],
    ["that the mapping fails for", 422, "MAPPING_FAILED", {}, '{"ref":"refs/heads/main"}'],
  ])("%s is refused: %d %s", async ([what, status, reason, spec, body]) => {
    const name = `wrong-${what.replaceAll(" ", "-")}`;
    await push(name);
    const signature = `sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}`;
    const headers = { "x-hub-signature-256": signature, ...spec?.headers };
    const answer = await drover.call(name, body, { ...spec, headers });
    expect(answer).toMatchObject({ status, body: { reason, message: expect.any(String) } });
    expect(await drover.refusals(name, 1)).toEqual([reason]);
  });

  test("is answered with what the mapping misses", async () => {
    await push("misses");
    const { body } = await drover.signed("misses", PUSH);
    expect(textAt(body, "message")).toContain('there is no "x-github-delivery"');
  });

  test("that names a workflow that is not there is refused", async () => {
    await drover.put(
      `trigger: dreams\nhttp:\n${GITHUB}\nschedule: { workflow: "\${body.name}" }\n`,
      SECRET,
    );
    expect(await drover.signed("dreams", { name: "nothing" })).toMatchObject({
      status: 422,
      body: { reason: "WORKFLOW_NOT_FOUND" },
    });
    expect(await drover.signed("dreams", { name: "no such name" })).toMatchObject({
      status: 422,
      body: { reason: "MAPPING_FAILED" },
    });
  });

  test("by another method is refused", async () => {
    const { status, headers } = await drover.call("any", "", { method: "GET" });
    expect([status, headers.get("allow")]).toEqual([405, "POST"]);
  });
});

describe("a trigger that signals", () => {
  test("signals a run by its key, and a repeat counts once", async () => {
    await drover.workflow("waits", "    signal: paid");
    await drover.client.schedule({ workflow: "waits", key: "order-7" });
    await drover.put(
      `trigger: paid
http:
${GITHUB}
signal:
  run_key: order-\${body.order}
  name: paid
  signal_id: \${body.event}
  payload: { amount: "\${body.amount}" }
`,
      SECRET,
    );
    const paid = { order: 7, event: "evt_1", amount: 40 };
    const first = await drover.signed("paid", paid);
    expect(first.status).toBe(200);
    const run = await drover.client.waitRun({ key: "order-7" });
    expect(run).toMatchObject({ state: "COMPLETED", runId: textAt(first.body, "run_id") });
    const { steps, signals } = await drover.client.getRun({ key: "order-7" }, { signals: true });
    expect(steps[0]?.output).toEqual({ amount: 40 });
    const { status, body } = first;
    const repeat = await drover.signed("paid", { ...paid, amount: 41 });
    expect(repeat).toMatchObject({ status, body });
    expect(signals).toHaveLength(1);
    const late = await drover.signed("paid", { ...paid, event: "evt_2" });
    expect(late).toMatchObject({ status: 409, body: { reason: "RUN_STATE" } });
    const refused = await drover.signed("paid", { ...paid, order: 8 });
    expect(refused).toMatchObject({ status: 422, body: { reason: "RUN_NOT_FOUND" } });
  });
});

describe("a trigger that completes", () => {
  const COMPLETE = (name: string) => `trigger: ${name}
http:
${GITHUB}
complete:
  callback_token: \${body.token}
  outcome: '\${body.ok ? {"success": body.result} : {"failed": {"code": "denied", "message": body.why, "permanent": true}}}'
`;

  /** Has a task of the workflow deferred; its callback token. */
  async function deferred(workflow: string): Promise<string> {
    const { address } = drover.server;
    const agent = jsonAgent(`agent-${workflow}`);
    const { body } = await callJson(address, "AgentService/PollTask", {
      agent,
      pollSeq: "1",
      queues: [{ name: workflow }],
      maxTasks: 1,
      wait: "10s",
    });
    const outcome = { deferred: {} };
    const taskToken = textAt(body, "tasks", 0, "taskToken");
    const results = [{ taskToken, outcome }];
    expect(await callJson(address, "AgentService/Complete", { agent, results })).toMatchObject({
      status: 200,
    });
    return textAt(body, "tasks", 0, "callbackToken");
  }

  test.for<[string, object, string, unknown]>([
    ["well", { ok: true, result: [1] }, "COMPLETED", [1]],
    ["badly", { ok: false, why: "no money" }, "FAILED", null],
  ])(
    "reports that a deferred task has ended %s, and a repeat changes nothing",
    async ([how, sent, state, output]) => {
      const name = `ends-${how}`;
      await drover.workflow(name, `    task: pay\n    queue: ${name}`);
      await drover.put(COMPLETE(name), SECRET);
      const { runId } = await drover.client.schedule({ workflow: name });
      const token = await deferred(name);
      const answer = await drover.signed(name, { token, ...sent });
      expect(answer).toMatchObject({ status: 200, body: { run_id: runId } });
      expect(await drover.client.waitRun(runId)).toMatchObject({ state });
      const { steps } = await drover.client.getRun(runId);
      expect(steps[0]?.output ?? null).toEqual(output);
      expect(await drover.signed(name, { token, ...sent })).toMatchObject({
        status: 200,
        body: answer.body,
      });
    },
  );

  test("refuses a token that is none", async () => {
    await drover.put(COMPLETE("tokens"), SECRET);
    const answer = await drover.signed("tokens", { token: "made up", ok: true, result: 1 });
    expect(answer).toMatchObject({ status: 422, body: { reason: "TASK_NOT_FOUND" } });
    expect(at(answer.body, "run_id")).toBeUndefined();
  });
});
