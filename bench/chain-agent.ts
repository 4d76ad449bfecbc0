// An agent of `chain` as a process of its own: tasks that do nothing. Reports to its parent five
// times a second how many it has done.
//   node chain-agent.ts ADDRESS batches SLOTS [NAMESPACE]   as the SDK does it by itself
//   node chain-agent.ts ADDRESS single CALLS                one task in a call, CALLS at a time
import { randomBytes } from "node:crypto";
import { AgentService } from "@drover/proto/drover/v1/agent_service_pb.ts";
import { openChannel } from "../sdk/typescript/channel.ts";
import { createAgent } from "../sdk/typescript/index.ts";

const [address = "", how = "batches", many = "500", namespace = "default"] = process.argv.slice(2);
const REPORT_MS = 200;
const CALL_MS = 60_000;
/** As many connections as one agent of the SDK has in a process. */
const CHANNELS = 4;
let done = 0;

function inBatches(): void {
  const handlers = {
    nothing: () => {
      done++;
      return null;
    },
  };
  createAgent({ address, namespace, id: "chain", slots: Number(many), handlers }).start();
}

/** A report and the wish for the next task in one call, as an agent with one slot makes it. */
async function oneByOne(index: number): Promise<void> {
  const channel = channels[index % CHANNELS] ?? openChannel({ address });
  const agent = { id: `chain-${index}`, session: randomBytes(16) };
  const queues = [{ name: "default", weight: 1 }];
  let pollSeq = 0n;
  let token: string | undefined;
  for (;;) {
    const next = { queues, tasks: ["nothing"], maxTasks: 1, pollSeq: ++pollSeq };
    const { tasks } =
      token === undefined
        ? await channel.unary(AgentService.method.pollTask, { agent, ...next }, call)
        : await channel.unary(
            AgentService.method.complete,
            { agent, results: [{ taskToken: token, outcome: SUCCESS }], next },
            call,
          );
    if (token !== undefined) done++;
    token = tasks[0]?.taskToken;
  }
}

const call = { timeoutMs: CALL_MS };
const SUCCESS = { kind: { case: "success" as const, value: {} } };
const channels =
  how === "single" ? Array.from({ length: CHANNELS }, () => openChannel({ address })) : [];
if (how === "single") for (let index = 0; index < Number(many); index++) void oneByOne(index);
else inBatches();
setInterval(() => process.send?.(done), REPORT_MS);
