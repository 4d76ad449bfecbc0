// Two namespaces on a real server that requires tokens, each with one object of every kind, and a
// caller of each role in the first. Whatever a name or a text of a namespace can hold contains the
// namespace's canary, so an answer that shows something of the other namespace shows its canary.
import { randomBytes, randomUUID } from "node:crypto";
import { Role } from "@drover/proto/drover/v1/token_pb.ts";
import {
  formatCallbackToken,
  formatTaskToken,
  parseTaskToken,
  type TaskToken,
} from "../../../server/dispatch/token.ts";
import { createTokenInDatabase } from "../../../server/first-token.ts";
import { startServer } from "../../../server/main.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";
import { at, listAt, textAt } from "../../support/json-call.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { until } from "../../support/until.ts";
import { CALLERS, type Caller } from "./rows.ts";

/** The names of the objects of a namespace. Those of an absent set have the same form. */
export interface Planted {
  readonly namespace: string;
  readonly canary: string;
  readonly region: string;
  /** A run whose task an agent holds, with logs. */
  readonly run: { readonly runId: string };
  /** A run with an open escalation. */
  readonly asked: { readonly runId: string };
  /** A run that waits for an approval. */
  readonly approval: { readonly runId: string };
  readonly failed: { readonly runId: string };
  readonly key: string;
  readonly workflow: string;
  readonly queue: string;
  readonly task: string;
  readonly agentId: string;
  /** base64 */
  readonly session: string;
  readonly hook: string;
  readonly trigger: string;
  readonly schedule: string;
  readonly tokenId: string;
  readonly taskToken: string;
  readonly callbackToken: string;
}

export interface Answer {
  /** Of HTTP. */
  readonly status: number;
  /** Of the protocol, as `permission_denied`; empty: it succeeded. */
  readonly code: string;
  /** All that was sent, of a stream its first message. */
  readonly text: string;
}

export interface World {
  readonly server: TestServer;
  readonly connectionString: string;
  readonly own: Planted;
  readonly other: Planted;
  /** Objects of the namespace `default`. */
  readonly none: Planted;
  /** Null: no token. */
  readonly tokens: Readonly<Record<Caller, string | null>>;
  /** Of an admin of the other namespace. */
  readonly ofOther: string;
  /** A namespace in the region of the other one, with the token of an admin. */
  readonly neighbour: { readonly namespace: string; readonly token: string };
  /** As an admin of every namespace. */
  readonly admin: string;
  close(): Promise<void>;
}

export async function plantWorld(): Promise<World> {
  const database = await createTestDatabase();
  const planting = await startDroverServer(database.connectionString, { requireTokens: true });
  const admin = await firstToken(database);
  const own = await plant(planting, admin, "alpha");
  const other = await plant(planting, admin, "beta");
  const tokens = { ...(await tokensOf(planting, admin, "alpha")), "admin*": admin };
  const ofOther = await newToken(planting, admin, { role: "admin", namespace: "beta" });
  const gamma = { name: "gamma", region: other.region };
  await done(planting, admin, "OperatorService/CreateNamespace", gamma);
  const ofGamma = await newToken(planting, admin, { role: "admin", namespace: gamma.name });
  await planting.stop();
  // No supervisor changes what was planted, and the partitions of every region are late.
  const server = await startServer({
    address: "127.0.0.1:0",
    database: { kind: "url", url: database.connectionString },
    log: { level: "silent" },
    requireTokens: true,
    supervisor: "none",
  });
  return {
    server,
    connectionString: database.connectionString,
    own,
    other,
    none: { ...absent({ ...own, namespace: "default" }), namespace: "" },
    tokens,
    ofOther,
    neighbour: { namespace: gamma.name, token: ofGamma },
    admin,
    async close() {
      await server.stop();
      await database.drop();
    },
  };
}

async function firstToken({ connectionString }: TestDatabase): Promise<string> {
  const spec = { name: "first", role: Role.ADMIN, allNamespaces: true, by: "ada" };
  return (await createTokenInDatabase(connectionString, spec)).secret;
}

/** Of a namespace, or of all (`*`). */
async function newToken(
  server: TestServer,
  admin: string,
  of: { readonly role: string; readonly namespace: string | null; readonly name?: string },
): Promise<string> {
  return textAt(await createToken(server, admin, of), "secret");
}

function createToken(
  server: TestServer,
  admin: string,
  {
    role,
    namespace,
    name = "caller",
  }: { readonly role: string; readonly namespace: string | null; readonly name?: string },
): Promise<unknown> {
  const scope = namespace === null ? { allNamespaces: true } : { namespace };
  const asked = { name, role: `ROLE_${role.toUpperCase()}`, by: "ada", ...scope };
  return done(server, admin, "OperatorService/CreateToken", asked);
}

async function tokensOf(
  server: TestServer,
  admin: string,
  namespace: string,
): Promise<Record<Caller, string | null>> {
  const of = async (caller: Caller) => {
    if (caller === "none") return null;
    const role = caller.replace("*", "");
    return newToken(server, admin, { role, namespace: role === caller ? namespace : null });
  };
  const found = await Promise.all(CALLERS.map(async (caller) => [caller, await of(caller)]));
  return Object.fromEntries(found);
}

async function done(
  server: TestServer,
  token: string,
  method: string,
  body: object,
): Promise<unknown> {
  const answer = await callRpc(server, `drover.v1.${method}`, body, token);
  if (answer.code !== "") throw new Error(`${method}: ${answer.text}`);
  return JSON.parse(answer.text);
}

/** One of every kind of object. */
async function plant(server: TestServer, admin: string, namespace: string): Promise<Planted> {
  const canary = `canary${namespace}`;
  const of = (kind: string) => `${kind}-${canary}`;
  const call = (method: string, body: object) =>
    done(server, admin, method, { namespace, ...body });
  const region = of("region");
  await done(server, admin, "OperatorService/CreateNamespace", { name: namespace, region });
  const [workflow, queue, task, hook] = [of("flow"), of("queue"), of("task"), of("hook")];
  const work = `  - id: work\n    task: ${task}\n    queue: ${queue}\n    effects: once\n`;
  const texts = {
    [workflow]: work,
    [of("approve")]: `  - id: release\n    approval: { approvers: [${of("ada")}] }\n`,
    [of("waits")]: "  - id: rest\n    wait: { for: 100ms }\n",
  };
  for (const [name, steps] of Object.entries(texts))
    await call("SchedulerService/RegisterWorkflow", {
      text: `workflow: ${name}\nsteps:\n${steps}`,
    });
  await call("OperatorService/PutHook", {
    name: hook,
    url: `https://${of("hook")}.invalid/h`,
    secret: "s".repeat(32),
  });
  const start = async (name: string, key = "") => {
    const labels = { team: of("label") };
    const input = { json: JSON.stringify({ secret: of("input") }) };
    const asked = { workflow: { name }, key, labels, input, notify: { hook } };
    return { runId: textAt(await call("SchedulerService/Schedule", asked), "runId") };
  };
  const agentId = of("agent");
  const session = randomBytes(16).toString("base64");
  const identity = { id: agentId, session, labels: { rack: of("rack") } };
  let polls = 0;
  const take = () =>
    until("a task", async () => {
      const asked = { agent: identity, queues: [{ name: queue }], wait: "1s" };
      const seq = { pollSeq: String(++polls), process: { host: of("host"), pid: 7 } };
      const tasks = listAt(await call("AgentService/PollTask", { ...asked, ...seq }), "tasks");
      return tasks[0] ?? null;
    });
  const report = (taskToken: string, outcome: object) =>
    call("AgentService/Complete", { agent: identity, results: [{ taskToken, outcome }] });
  const key = of("key");

  const failed = await start(workflow);
  const broken = {
    code: of("code"),
    message: of("failure"),
    failureClass: "FAILURE_CLASS_PERMANENT",
  };
  await report(textAt(await take(), "taskToken"), { failed: broken });
  const asked = await start(workflow);
  const unknown = { code: of("code"), message: of("unknown") };
  await report(textAt(await take(), "taskToken"), { unknown });
  const run = await start(workflow, key);
  const held = await take();
  const taskToken = textAt(held, "taskToken");
  const callbackToken = textAt(held, "callbackToken");
  const line = { time: "2026-01-01T00:00:00Z", message: of("log"), fields: { at: of("field") } };
  const logs = [{ taskToken, firstLine: 1, lines: [line] }];
  await call("AgentService/AppendLogs", { agent: identity, logs });
  await call("AgentService/Heartbeat", {
    agent: identity,
    reports: [{ taskToken, progress: { cursor: of("progress") } }],
  });
  const approval = await start(of("approve"));
  const waited = await start(of("waits"));
  for (const n of [1, 2]) await start(of("waits"), of(`waits-${n}`));
  await until("supervisors have acted", async () => {
    const acted = await call("OperatorService/ListInterventions", waited);
    return listAt(acted, "interventions").length > 0 ? true : null;
  });

  await until("its agent is listed", async () => {
    const found = await call("OperatorService/ListAgents", {});
    return listAt(found, "agents").length > 0 ? true : null;
  });

  const by = { by: of("ada"), why: of("why") };
  const reason = of("reason");
  await call("SchedulerService/CreateSchedule", {
    name: of("schedule"),
    spec: { workflow, cron: { expression: "30 2 * * *" } },
  });
  await call("SchedulerService/PauseSchedule", { name: of("schedule"), reason });
  await call("OperatorService/PutTrigger", {
    text: `trigger: ${of("trigger")}\nhttp:\n  hmac: { header: X-Signature }\nschedule:\n  workflow: ${workflow}\n  key: k\n`,
    secret: "s".repeat(32),
  });
  await fetch(`${server.url}/hooks/${namespace}/${of("trigger")}`, { method: "POST", body: "{}" });
  for (const name of [of("idle"), of("idle-2")])
    await call("OperatorService/PauseQueue", { queue: name, reason });
  await call("OperatorService/PauseWorkflow", { workflow: of("waits"), reason });
  await call("OperatorService/SetCircuit", {
    queue,
    task,
    setting: "CIRCUIT_SETTING_OPEN",
    ...by,
  });
  await call("OperatorService/CordonAgent", { agentId, ...by });
  await call("OperatorService/CordonAgent", { session, ...by });
  const made = await createToken(server, admin, { role: "viewer", namespace, name: of("token") });
  await until("its refusal is listed", async () => {
    const found = await call("OperatorService/ListRefusals", {});
    return listAt(found, "refusals").length > 0 ? true : null;
  });
  await until("a webhook of its hook is listed", async () => {
    const found = await call("OperatorService/ListDeliveries", {});
    return listAt(found, "deliveries").length > 0 ? true : null;
  });
  return {
    ...{ namespace, canary, region, run, asked, approval, failed, key, workflow, queue, task },
    ...{ agentId, session, hook, taskToken, callbackToken },
    trigger: of("trigger"),
    schedule: of("schedule"),
    tokenId: textAt(made, "token", "id"),
  };
}

/** Names of the same form, in the same namespace, of nothing that exists. */
export function absent(of: Planted): Planted {
  const swap = (name: string) => name.replace(of.canary, `absent${of.namespace}`);
  const parsed = parseTaskToken(of.taskToken);
  if (parsed === null) throw new Error("a task token that the server made is none");
  const run = { runId: randomUUID() };
  const token: TaskToken = {
    ...parsed,
    ...run,
    namespace: of.namespace,
    secret: randomBytes(16).toString("hex"),
  };
  return {
    namespace: of.namespace,
    canary: of.canary,
    region: swap(of.region),
    run,
    asked: { runId: randomUUID() },
    approval: { runId: randomUUID() },
    failed: { runId: randomUUID() },
    key: swap(of.key),
    workflow: swap(of.workflow),
    queue: swap(of.queue),
    task: swap(of.task),
    agentId: swap(of.agentId),
    session: randomBytes(16).toString("base64"),
    hook: swap(of.hook),
    trigger: swap(of.trigger),
    schedule: swap(of.schedule),
    tokenId: randomBytes(8).toString("hex"),
    taskToken: formatTaskToken(token),
    callbackToken: formatCallbackToken(token),
  };
}

/** Every name is this text. */
export function namesOf(name: string): Planted {
  const run = { runId: name };
  return {
    ...{ run, asked: run, approval: run, failed: run },
    ...{ namespace: name, canary: name, region: name, key: name, workflow: name, queue: name },
    ...{ task: name, agentId: name, session: name, hook: name, trigger: name, schedule: name },
    ...{ tokenId: name, taskToken: name, callbackToken: name },
  };
}

/** Calls by Connect's JSON. Of a stream only the first message is read. */
export async function callRpc(
  { url }: Pick<TestServer, "url">,
  path: string,
  body: object,
  token: string | null,
  isStream = false,
): Promise<Answer> {
  const type = isStream ? "application/connect+json" : "application/json";
  const headers = { "content-type": type, ...(token && { authorization: `Bearer ${token}` }) };
  const over = new AbortController();
  const json = Buffer.from(JSON.stringify(body));
  const response = await fetch(`${url}/${path}`, {
    method: "POST",
    headers,
    body: isStream ? enveloped(json) : json,
    signal: over.signal,
  });
  if (isStream && response.ok && response.body) {
    const { flags, text } = await firstEnvelope(response.body);
    over.abort();
    const code = flags === END_OF_STREAM ? codeOf(at(JSON.parse(text), "error")) : "";
    return { status: response.status, code, text };
  }
  const text = await response.text();
  return { status: response.status, code: response.ok ? "" : codeOf(JSON.parse(text)), text };
}

function codeOf(error: unknown): string {
  const code = at(error, "code");
  return typeof code === "string" ? code : "";
}

const END_OF_STREAM = 2;
const HEAD_BYTES = 5;

function enveloped(json: Buffer): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32BE(json.length, 1);
  return Buffer.concat([head, json]);
}

async function firstEnvelope(body: ReadableStream<Uint8Array>) {
  let read = Buffer.alloc(0);
  for await (const chunk of body) {
    read = Buffer.concat([read, chunk]);
    if (read.length < HEAD_BYTES) continue;
    const end = HEAD_BYTES + read.readUInt32BE(1);
    if (read.length >= end)
      return { flags: read.readUInt8(0), text: read.toString("utf8", HEAD_BYTES, end) };
  }
  throw new Error("a stream ended before its first message");
}
