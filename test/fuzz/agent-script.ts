// An agent that takes real tasks and then calls in any order: it reports twice, reports what it
// gave back, sends heartbeats and logs for what is over, answers callbacks before the task is
// deferred, and all of it for another session or another namespace.
import type { Chance } from "../../simulator/chance.ts";
import { at, listAt } from "../support/json-call.ts";
import type { Planted } from "./plant.ts";
import type { Draft } from "./rpc.ts";

type Send = (draft: Draft) => Promise<string>;

const OUTCOMES: readonly object[] = [
  { success: {} },
  { success: { output: { json: "[1,2]" } } },
  { failed: { code: "no", failureClass: "FAILURE_CLASS_PERMANENT" } },
  { failed: { code: "later", failureClass: "FAILURE_CLASS_TRANSIENT", retryAfter: "0.001s" } },
  { unknown: { message: "?" } },
  { again: {} },
  { deferred: {} },
  { released: {} },
  { cancelled: {} },
];

const ACTIONS = [
  "complete",
  "complete",
  "heartbeat",
  "logs",
  "callback",
  "poll",
  "cancel",
] as const;

export async function agentScript(chance: Chance, planted: Planted, send: Send): Promise<void> {
  const { namespace } = planted;
  const session = () => Buffer.from(chance.bytes(16)).toString("base64");
  const mine = { id: "walker", session: session() };
  const tokens: string[] = [...planted.tokens];
  const callbacks: string[] = [];
  const runs: string[] = [];
  let pollSeq = 0;
  const call = (method: string, body: object) =>
    send({
      how: "http",
      what: `POST /drover.v1.${method}`,
      headers: { "content-type": "application/json" },
      ...bodyOf({ namespace: chance.happens(0.95) ? namespace : "default", ...body }),
    });
  const agent = () => (chance.happens(0.9) ? mine : { id: "walker", session: session() });

  async function poll(): Promise<void> {
    pollSeq += chance.pick([0, 1, 1, 1, 5]);
    const queues = [{ name: "q" }, { name: "default" }];
    const answer = await call("AgentService/PollTask", {
      agent: agent(),
      pollSeq: Math.max(1, pollSeq),
      queues,
      maxTasks: 3,
      wait: "0.05s",
      lostPolls: chance.happens(0.2) ? [Math.max(1, pollSeq - 1)] : [],
    });
    for (const task of listAt(parsed(answer), "tasks")) {
      tokens.push(String(at(task, "taskToken")));
      callbacks.push(String(at(task, "callbackToken")));
      runs.push(String(at(task, "runId")));
    }
  }

  await call("SchedulerService/Schedule", { workflow: { name: "work" }, input: { json: "{}" } });
  await poll();
  for (let step = 0; step < 12; step++) {
    const taskToken = chance.pick(tokens);
    switch (chance.pick(ACTIONS)) {
      case "complete": {
        const count = chance.pick([1, 1, 2]);
        const results = Array.from({ length: count }, () => ({
          taskToken,
          outcome: chance.pick(OUTCOMES),
        }));
        const next = chance.happens(0.3) ? { next: { pollSeq: ++pollSeq, maxTasks: 1 } } : {};
        await call("AgentService/Complete", { agent: agent(), results, ...next });
        break;
      }
      case "heartbeat":
        await call("AgentService/Heartbeat", {
          agent: agent(),
          reports: [{ taskToken, details: { json: '{"a":1}' } }, { taskToken }],
          listsAllTo: chance.pick([0, pollSeq, 2 ** 31]),
        });
        break;
      case "logs":
        await call("AgentService/AppendLogs", {
          agent: agent(),
          logs: [
            {
              taskToken,
              firstLine: chance.pick([1, 1, 2, 1_000_000_000]),
              lines: [{ time: "2026-01-01T00:00:00Z", message: "\ud800 <b>" }],
            },
          ],
        });
        break;
      case "callback":
        await call("SchedulerService/CompleteDeferred", {
          callbackToken: callbacks.length > 0 ? chance.pick(callbacks) : taskToken,
          ...chance.pick([{ success: {} }, { failed: { code: "x", failureClass: 1 } }]),
        });
        break;
      case "poll":
        await poll();
        break;
      case "cancel":
        if (runs.length > 0)
          await call("SchedulerService/CancelRun", { run: { runId: chance.pick(runs) } });
        break;
    }
  }
}

function bodyOf(body: object) {
  const text = JSON.stringify(body);
  return { text, base64: Buffer.from(text).toString("base64") };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
