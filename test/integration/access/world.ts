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

/** Calls in a namespace, and names with its canary. */
interface Planting {
  readonly server: TestServer;
  readonly admin: string;
  readonly namespace: string;
  readonly call: (method: string, body: object) => Promise<unknown>;
  readonly of: (kind: string) => string;
}

/** One of every kind of object. */
async function plant(server: TestServer, admin: string, namespace: string): Promise<Planted> {
  const canary = `canary${namespace}`;
  const of = (kind: string) => `${kind}-${canary}`;
  const call = (method: string, body: object) =>
    done(server, admin, method, { namespace, ...body });
  const planting = { server, admin, namespace, call, of };
  const region = of("region");
  await done(server, admin, "OperatorService/CreateNamespace", { name: namespace, region });
  await plantHook(planting);
  await plantWorkflows(planting);
  const work = await plantWork(planting);
  const tokenId = await plantSettings(planting, work.session);
  for (const list of ["Refusals", "Deliveries"])
    await until(`a row of ${list}`, async () => {
      const found = await call(`OperatorService/List${list}`, {});
      return listAt(found, list.toLowerCase()).length > 0 ? true : null;
    });
  const [workflow, queue, task] = [of("flow"), of("queue"), of("task")];
  const names = { hook: of("hook"), trigger: of("trigger"), schedule: of("schedule") };
  const agentId = of("agent");
  return {
    namespace,
    canary,
    region,
    key: of("key"),
    workflow,
    queue,
    task,
    agentId,
    tokenId,
    ...names,
    ...work,
  };
}

async function plantHook({ call, of }: Planting): Promise<void> {
  const url = `https://${of("hook")}.invalid/h`;
  await call("OperatorService/PutHook", { name: of("hook"), url, secret: "s".repeat(32) });
}

async function plantWorkflows({ call, of }: Planting): Promise<void> {
  const work = `task: ${of("task")}\n    queue: ${of("queue")}\n    effects: once`;
  for (const [name, step] of [
    [of("flow"), `id: work\n    ${work}`],
    [of("approve"), `id: release\n    approval: { approvers: [${of("ada")}] }`],
    [of("waits"), "id: rest\n    wait: { for: 100ms }"],
  ] as const)
    await call("SchedulerService/RegisterWorkflow", {
      text: `workflow: ${name}\nsteps:\n  - ${step}\n`,
    });
}

/** Runs in several states, and an agent that holds the task of one of them. */
async function plantWork({ call, of }: Planting) {
  const start = async (name: string, key = "") => {
    const labels = { team: of("label") };
    const input = { json: JSON.stringify({ secret: of("input") }) };
    const body = { workflow: { name }, key, labels, input, notify: { hook: of("hook") } };
    return { runId: textAt(await call("SchedulerService/Schedule", body), "runId") };
  };
  const session = randomBytes(16).toString("base64");
  const agent = { id: of("agent"), session, labels: { rack: of("rack") } };
  let polls = 0;
  const take = () =>
    until("a task", async () => {
      const seq = { pollSeq: String(++polls), process: { host: of("host"), pid: 7 } };
      const asked = { agent, queues: [{ name: of("queue") }], wait: "1s" };
      const answer = await call("AgentService/PollTask", { ...asked, ...seq });
      return listAt(answer, "tasks")[0] ?? null;
    });
  const report = async (outcome: object) =>
    call("AgentService/Complete", {
      agent,
      results: [{ taskToken: textAt(await take(), "taskToken"), outcome }],
    });

  const failed = await start(of("flow"));
  const broken = { code: of("code"), message: of("failure") };
  await report({ failed: { failureClass: "FAILURE_CLASS_PERMANENT", ...broken } });
  const asked = await start(of("flow"));
  await report({ unknown: { code: of("code"), message: of("unknown") } });
  const run = await start(of("flow"), of("key"));
  const held = await take();
  const taskToken = textAt(held, "taskToken");
  const line = { time: "2026-01-01T00:00:00Z", message: of("log"), fields: { at: of("field") } };
  const logs = [{ taskToken, firstLine: 1, lines: [line] }];
  await call("AgentService/AppendLogs", { agent, logs });
  const reports = [{ taskToken, progress: { cursor: of("progress") } }];
  await call("AgentService/Heartbeat", { agent, reports });
  const approval = await start(of("approve"));
  const waited = await start(of("waits"));
  for (const n of [1, 2]) await start(of("waits"), of(`waits-${n}`));
  await until("a supervisor has acted", async () => {
    const acted = await call("OperatorService/ListInterventions", waited);
    return listAt(acted, "interventions").length > 0 ? true : null;
  });
  await until("the agent is listed", async () => {
    const found = await call("OperatorService/ListAgents", {});
    return listAt(found, "agents").length > 0 ? true : null;
  });
  const callbackToken = textAt(held, "callbackToken");
  return { failed, asked, run, approval, session, taskToken, callbackToken };
}

/** What people set. Returns the id of a token. */
async function plantSettings(
  { server, admin, namespace, call, of }: Planting,
  session: string,
): Promise<string> {
  const by = { by: of("ada"), why: of("why") };
  const reason = of("reason");
  const workflow = of("flow");
  const spec = { workflow, cron: { expression: "30 2 * * *" } };
  await call("SchedulerService/CreateSchedule", { name: of("schedule"), spec });
  await call("SchedulerService/PauseSchedule", { name: of("schedule"), reason });
  const http = "http:\n  hmac: { header: X-Signature }\n";
  await call("OperatorService/PutTrigger", {
    text: `trigger: ${of("trigger")}\n${http}schedule:\n  workflow: ${workflow}\n  key: k\n`,
    secret: "s".repeat(32),
  });
  await fetch(`${server.url}/hooks/${namespace}/${of("trigger")}`, { method: "POST", body: "{}" });
  for (const queue of [of("idle"), of("idle-2")])
    await call("OperatorService/PauseQueue", { queue, reason });
  await call("OperatorService/PauseWorkflow", { workflow: of("waits"), reason });
  const lane = { queue: of("queue"), task: of("task"), setting: "CIRCUIT_SETTING_OPEN" };
  await call("OperatorService/SetCircuit", { ...lane, ...by });
  await call("OperatorService/CordonAgent", { agentId: of("agent"), ...by });
  await call("OperatorService/CordonAgent", { session, ...by });
  const made = await createToken(server, admin, { role: "viewer", namespace, name: of("token") });
  return textAt(made, "token", "id");
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
  const runs = { run, asked: run, approval: run, failed: run };
  const work = { workflow: name, queue: name, task: name, agentId: name, session: name };
  const settings = { hook: name, trigger: name, schedule: name, tokenId: name };
  const more = { namespace: name, canary: name, region: name, key: name };
  return { ...runs, ...work, ...settings, ...more, taskToken: name, callbackToken: name };
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
