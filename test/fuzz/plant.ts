// Objects of every kind, planted before each round in a namespace of its own, so that calls that
// name them go deep: runs in many states, tasks with live tokens, escalations, schedules, hooks,
// triggers, tokens and pages.
import { createHmac } from "node:crypto";
import type { Chance } from "../../simulator/chance.ts";
import { at, callJson, listAt, textAt } from "../support/json-call.ts";
import type { Words } from "./messages.ts";
import { WILD_TEXTS } from "./messages.ts";

export interface Planted {
  readonly namespace: string;
  readonly words: Words;
  /** Names of each planted value, the same in every world: `run_id/3`. For a replay. */
  readonly names: ReadonlyMap<string, string>;
  readonly tokens: readonly string[];
  readonly agent: { readonly id: string; readonly session: string };
}

export const SECRET = "a-secret-of-sixteen";

export function signatureOf(body: string | Uint8Array, secret = SECRET): string {
  return `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
}

const WORKFLOWS = [
  `workflow: work
steps:
  - { id: a, task: t, queue: q, compensate: { task: u }, timeouts: { attempt: 1h } }
  - { id: b, needs: [a], task: t }
  - { id: c, needs: [a], task: t, when: "steps.a.output != null" }
`,
  `workflow: people
steps:
  - id: ok
    approval: { approvers: [ada, bob], need: 1, form: { type: object } }
  - id: news
    signal: { name: news }
  - id: pause
    wait: { for: 1h }
`,
  `workflow: many
steps:
  - { id: list, map: { over: input.list, task: t, queue: q, concurrency: 2 }, input: { x: "\${item}" } }
`,
  `workflow: once
steps:
  - { id: pay, task: pay, effects: once, on_failure: escalate, retry: { attempts: 1 } }
`,
  `workflow: child
steps:
  - { id: sub, run: { workflow: work } }
`,
];

const TRIGGERS = [
  `trigger: signed
http: { hmac: { header: x-signature, prefix: "sha256=" } }
schedule: { workflow: work, key: "\${body.id}", input: "\${body}", labels: { a: "\${headers.x}" } }
`,
  `trigger: bearer
http: { bearer: {} }
when: body.go == true
signal: { run_key: "\${body.key}", name: news, signal_id: "\${query.id}" }
`,
  `trigger: after
run_end: { workflow: work }
schedule: { workflow: many, input: { list: [] } }
`,
];

/** Plants a world. What is refused fails: the fuzzer must not run on an empty world unseen. */
export async function plant(address: string, round: number, chance: Chance): Promise<Planted> {
  const namespace = `fuzz-${round}`;
  const call = async (method: string, body: object): Promise<unknown> => {
    const answer = await callJson(address, method, { namespace, ...body });
    if (answer.status === 200) return answer.body;
    throw new Error(`planting ${method}: ${answer.status} ${JSON.stringify(answer.body)}`);
  };
  const created = await callJson(address, "OperatorService/CreateNamespace", { name: namespace });
  if (created.status !== 200) throw new Error(`planting: ${JSON.stringify(created.body)}`);
  for (const text of WORKFLOWS) await call("SchedulerService/RegisterWorkflow", { text });
  const runs = await plantRuns(call);
  const agent = { id: "fuzzer", session: Buffer.from(chance.bytes(16)).toString("base64") };
  const { taskTokens, callbackTokens } = await plantTasks(call, agent);
  await plantTriggers(call);
  const token = await call("OperatorService/CreateToken", {
    name: "t",
    role: "ROLE_CLIENT",
    by: "ada",
  });
  const escalations = await call("OperatorService/ListEscalations", {});
  const page = await call("SchedulerService/ListRuns", { pageSize: 1 });
  const words: Words = {
    ...FIXED,
    namespace: ["", "default", namespace, namespace, namespace],
    run_id: runs,
    parent_run_id: runs,
    escalation_id: listAt(escalations, "escalations").map((one) => textAt(one, "id")),
    task_token: taskTokens,
    callback_token: callbackTokens,
    session: [Uint8Array.from(Buffer.from(agent.session, "base64"))],
    page_token: [textAt(page, "nextPageToken"), ""],
    token_id: [String(at(token, "token", "id") ?? "0000000000000000")],
  };
  return { namespace, words, names: namesOf(words), tokens: taskTokens, agent };
}

type Call = (method: string, body: object) => Promise<unknown>;

async function plantRuns(call: Call): Promise<readonly string[]> {
  const json = JSON.stringify({ list: [1, 2, 3], id: "x" });
  const ids: string[] = [];
  for (const [index, name] of [
    "work",
    "work",
    "work",
    "people",
    "many",
    "once",
    "child",
  ].entries()) {
    const run = await call("SchedulerService/Schedule", {
      workflow: { name },
      input: { json },
      key: `key-${index}`,
      labels: { tenant: "acme" },
    });
    ids.push(textAt(run, "runId"));
  }
  await call("SchedulerService/CancelRun", { run: { runId: ids[2] } });
  await call("SchedulerService/PauseRun", { run: { runId: ids[1] } });
  return ids;
}

async function plantTasks(call: Call, agent: object) {
  const taskTokens: string[] = [];
  const callbackTokens: string[] = [];
  for (let pollSeq = 1; taskTokens.length < 5 && pollSeq < 40; pollSeq++) {
    const queues = ["", "q", "default"].flatMap((name) => (name === "" ? [] : [{ name }]));
    const poll = { agent, pollSeq, queues, maxTasks: 10, wait: "0.2s" };
    for (const task of listAt(await call("AgentService/PollTask", poll), "tasks")) {
      taskTokens.push(textAt(task, "taskToken"));
      callbackTokens.push(textAt(task, "callbackToken"));
      const failed = { code: "no", failureClass: "FAILURE_CLASS_PERMANENT" };
      if (at(task, "workflow") === "once")
        await call("AgentService/Complete", {
          agent,
          results: [{ taskToken: textAt(task, "taskToken"), outcome: { failed } }],
        });
    }
  }
  const [first] = taskTokens;
  if (first === undefined) throw new Error("planting: no task was handed out");
  await call("AgentService/Complete", {
    agent,
    results: [{ taskToken: first, outcome: { deferred: {} } }],
  });
  return { taskTokens, callbackTokens };
}

async function plantTriggers(call: Call): Promise<void> {
  for (const text of TRIGGERS)
    await call("OperatorService/PutTrigger", {
      text,
      ...(text.includes("http:") && { secret: SECRET }),
    });
  await call("OperatorService/PutHook", {
    name: "hook",
    url: "https://hooks.invalid/x",
    secret: SECRET,
  });
  await call("SchedulerService/CreateSchedule", {
    name: "daily",
    spec: { cron: { expression: "30 2 * * *", timeZone: "UTC" }, workflow: "work" },
  });
}

/** Words that are the same in every world. */
const FIXED: Words = {
  name: [
    "work",
    "people",
    "many",
    "once",
    "child",
    "q",
    "default",
    "t",
    "daily",
    "hook",
    "signed",
    "news",
  ],
  key: ["", "key-0", "key-3", "key-5", "fresh"],
  run_key: ["key-3", "key-4"],
  key_prefix: ["key-"],
  step_id: ["a", "b", "c", "ok", "news", "pause", "list", "pay", "sub"],
  steps: ["a", "b"],
  id: ["a", "fuzzer"],
  agent_id: ["fuzzer"],
  by: ["ada", "bob"],
  region: ["", "default"],
  url: [
    "https://hooks.invalid/x",
    "http://127.0.0.1:1/",
    "http://[::1]:1/",
    "ftp://a",
    "https://user:pw@hooks.invalid/",
  ],
  secret: [SECRET],
  answer: ["retry", "skip", "fail", "compensate", "acknowledge"],
  expression: ["30 2 * * *", "*/5 * * * MON-FRI", "@daily", "0 0 30 2 *", "* * * * *"],
  time_zone: ["UTC", "Europe/Berlin", "America/New_York", "Mars/Base"],
  when: ["", "input.id == 'x'", "true", "1 / 0 == 1", "steps.a.output.x"],
  until: ["timestamp('2030-01-01T00:00:00Z')", "input.at", "now"],
  over: ["input.list", "[1, 2, 3]", "input", "[]"],
  query: [
    "",
    "state:open",
    "key^:key- label.tenant=acme",
    "created<now-2h",
    "waits:approval",
    "state:nope",
  ],
  text: [...WORKFLOWS, ...TRIGGERS],
  json: [
    "null",
    "{}",
    '{"list":[1,2,3]}',
    '{"type":"object"}',
    '"${input.id}"',
    "[1e400]",
    '{"$ref":"#"}',
    '{"a":"\\u0000"}',
    '"\\ud800"',
    "{",
  ],
  content_type: ["", "application/json", "text/plain"],
  traceparent: ["", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"],
  reason: ["", ...WILD_TEXTS.filter((text) => !text.includes("\u0000"))],
  message: WILD_TEXTS.filter((text) => !text.includes("\u0000")),
  page_token: [""],
};

function namesOf(words: Words): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const [field, values] of Object.entries(words))
    for (const [index, value] of values.entries())
      if (typeof value === "string" && value.length >= 16 && FIXED[field]?.[index] !== value)
        names.set(value, `${field}/${index}`);
  return names;
}
