/**
 * A whole Drover agent with nothing but generated code; proto/drover/v1/agent_service.proto has the
 * rules that it follows. Its handler is script.ts: put your own in its place.
 */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { durationFromMs, durationMs } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { AgentService } from "@drover/proto/drover/v1/agent_service_pb.ts";
import type { Outcome, Task } from "@drover/proto/drover/v1/task_pb.ts";
import { emit, instead, type Notes, outcomeOf, perform } from "./script.ts";

const variable = (name: string): string => process.env[`DROVER_${name}`] ?? "";
const namespace = variable("NAMESPACE");
const pollWaitMs = Number(variable("POLL_WAIT_MS"));
const queues = [{ name: variable("QUEUE") }];
const asked = { queues, tasks: ["work", "check", "undo"], wait: durationFromMs(pollWaitMs) };
const headers = { authorization: `Bearer ${variable("TOKEN")}` }; // open servers ignore it
const me = { id: variable("AGENT"), session: randomBytes(16) };
const baseUrl = `http://${variable("ADDRESS")}`;
const readMaxBytes = 8 * 1024 * 1024; // a single task may be larger than the default 4 MiB
const server = createClient(AgentService, createGrpcTransport({ baseUrl, readMaxBytes }));
const lost = new Map<bigint, number>(); // polls without an answer: named until this time
const drain = new AbortController();
let graceEndsMs = Number.POSITIVE_INFINITY; // sooner once it drains

const now = (): number => performance.now(); // the wall clock may jump
const ms = (of: Task["leaseFor"]): number => (of === undefined ? 0 : durationMs(of));
const lostPolls = (): bigint[] => [...lost.keys()].filter((seq) => (lost.get(seq) ?? 0) > now());

const heartbeat = (reports: (Notes & { taskToken: string })[]) =>
  server.heartbeat(
    { namespace, agent: me, reports, lostPolls: lostPolls() },
    { timeoutMs: 3_000, headers },
  );

/** Renews the lease of a task until the report is answered. */
function hold({ taskToken, heartbeatInterval, ...task }: Task, grantedMs: number) {
  const overMs = grantedMs + ms(task.attemptFor);
  let endsMs = grantedMs + ms(task.leaseFor);
  let why: string | null = null;
  let notes: Notes = {};
  let answered = false;

  async function sendHeartbeat(): Promise<void> {
    const sentMs = now();
    const sent = notes;
    notes = {};
    const response = await heartbeat([{ taskToken, ...sent }]).catch(() => null);
    if (response === null) notes = { ...sent, ...notes };
    const answer = response?.answers[0]?.answer;
    if (answer?.case === "carryOn") endsMs = sentMs + ms(answer.value.leaseFor);
    if (answer?.case === "cancel") why ??= "cancelled";
    if (answer?.case === "leaseLost") why ??= "lease-lost";
  }
  let heartbeatSent = Promise.resolve();
  async function renewLease(): Promise<void> {
    for (let dueMs = now() + ms(heartbeatInterval); !answered; await sleep(50)) {
      if (now() < dueMs && Object.keys(notes).length === 0) continue;
      dueMs = now() + ms(heartbeatInterval);
      await heartbeatSent;
      heartbeatSent = sendHeartbeat();
    }
  }
  void renewLease();

  return {
    /** Why the work must end, or null. */
    stopped(): string | null {
      if (now() > endsMs) why ??= "lease-ended";
      if (now() > overMs) why ??= "attempt-over";
      if (now() > graceEndsMs) why ??= "agent-stopped";
      return why;
    },
    note(more: Notes): void {
      notes = { ...notes, ...more };
    },
    /** Repeats the report until it is answered: an error of the call proves nothing about it. */
    async report(outcome: Outcome, refused = false): Promise<void> {
      await heartbeatSent;
      if (Object.keys(notes).length > 0) await sendHeartbeat(); // the next attempt resumes from it
      const request = { namespace, agent: me, results: [{ taskToken, outcome }] };
      for (; !answered; await sleep(200)) {
        const call = server.complete(request, { timeoutMs: 5_000, headers });
        const [answer] = (await call.catch(() => null))?.answers ?? [];
        if (answer === undefined) continue;
        const { code = 0, message = "" } = answer.status ?? {};
        if (code === 3 && !refused) return this.report(instead(outcome, message), true);
        answered = [0, 3, 5, 9].includes(code); // accepted or final; all else may pass later
      }
    },
  };
}

process.once("SIGTERM", () => {
  graceEndsMs = now() + Number(variable("GRACE_MS"));
  drain.abort();
});
emit("ready");
for (let pollSeq = 1n; !drain.signal.aborted; pollSeq += 1n) {
  const sentMs = now();
  const request = { namespace, agent: me, pollSeq, ...asked, lostPolls: lostPolls() };
  const call = { timeoutMs: pollWaitMs + 10_000, headers, signal: drain.signal };
  const response = await server.pollTask(request, call).catch(() => null);
  if (response === null) {
    lost.set(pollSeq, sentMs + pollWaitMs + 30_000);
    await sleep(200, null, { signal: drain.signal }).catch(() => null);
  }
  for (const task of response?.tasks ?? []) {
    const held = hold(task, sentMs + ms(response?.waited));
    // What was not started, or is of a kind that only a newer agent knows, is given back.
    const starts = [1, 2, 3].includes(task.kind) && !drain.signal.aborted && !held.stopped();
    const outcome = starts ? await perform(task, held) : outcomeOf({ case: "released", value: {} });
    await held.report(outcome);
  }
}
if (lostPolls().length > 0) await heartbeat([]).catch(() => null); // reports them
process.exit();
