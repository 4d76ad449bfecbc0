// The agents of `idle`: many sessions in one process, each with one poll that waits. Who gets a
// task reports to its parent when, by the clock that all processes share, and holds it until the
// parent sends a message; then it reports and polls again. A call that the server could not take is
// repeated, as the SDKs do it, and counted.
//   node idle-agent.ts ADDRESS SESSIONS WAIT-S together|spread
import { randomBytes } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { AgentService } from "@drover/proto/drover/v1/agent_service_pb.ts";
import { openChannel } from "../sdk/typescript/channel.ts";
import { DroverCallError } from "../sdk/typescript/index.ts";
import { nowMs } from "./shared-clock.ts";

const [address = "", many = "1", longest = "60", how = "together"] = process.argv.slice(2);
const sessions = Number(many);
const waitMs = Number(longest) * 1_000;
const CALL = { timeoutMs: 120_000 };
/** Half of what a server lets one connection have. */
const POLLS_A_CHANNEL = 500;
const REPORT_MS = 20;
/** Before a call is repeated: half to all of it. */
const REST_MS = 1_000;
const SUCCESS = { kind: { case: "success" as const, value: {} } };

const channels = Array.from({ length: Math.ceil(sessions / POLLS_A_CHANNEL) }, () =>
  openChannel({ address }),
);
let awake: number[] = [];
let failed = 0;
let goOn = Promise.withResolvers<void>();

async function live(index: number): Promise<void> {
  const channel = channels[index % channels.length] ?? openChannel({ address });
  const agent = { id: `idle-${process.pid}-${index}`, session: randomBytes(16) };
  const ask = { agent, tasks: ["nothing"], maxTasks: 1 };
  // Those that are spread end one after the other, as those of agents that began at any time do.
  let nextWaitMs = how === "spread" ? (waitMs * (index + 1)) / sessions : waitMs;
  let pollSeq = 0n;
  const lostPolls: bigint[] = [];
  for (;;) {
    const { tasks } = await repeated((again) => {
      if (again) lostPolls.push(pollSeq);
      const poll = { ...ask, lostPolls, pollSeq: ++pollSeq, wait: durationOf(nextWaitMs) };
      return channel.unary(AgentService.method.pollTask, poll, CALL);
    });
    nextWaitMs = waitMs;
    const [task] = tasks;
    if (!task) continue;
    awake.push(nowMs());
    await goOn.promise;
    const results = [{ taskToken: task.taskToken, outcome: SUCCESS }];
    await repeated(() => channel.unary(AgentService.method.complete, { agent, results }, CALL));
  }
}

async function repeated<T>(call: (again: boolean) => Promise<T>): Promise<T> {
  for (let again = false; ; again = true) {
    try {
      return await call(again);
    } catch (error) {
      if (!(error instanceof DroverCallError) || error.code !== "UNAVAILABLE") throw error;
      failed++;
      await wait(REST_MS * (0.5 + Math.random() / 2));
    }
  }
}

function durationOf(ms: number) {
  return { seconds: BigInt(Math.floor(ms / 1_000)), nanos: Math.round(ms % 1_000) * 1_000_000 };
}

process.on("message", () => {
  goOn.resolve();
  goOn = Promise.withResolvers<void>();
});
setInterval(() => {
  if (awake.length === 0 && failed === 0) return;
  process.send?.({ awake, failed });
  awake = [];
  failed = 0;
}, REPORT_MS);
for (let index = 0; index < sessions; index++) void live(index);
process.send?.("polling");
