// Many agents in one process, each with its own session, that take tasks and hold them with
// heartbeats at a third of the heartbeat, until they are killed. Prints "held" when all tasks are
// held.
//   node holders.ts ADDRESS SESSIONS TASKS-EACH HEARTBEAT-MS [QUEUE]
import { randomBytes } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { AgentService } from "@drover/proto/drover/v1/agent_service_pb.ts";
import { openChannel } from "../sdk/typescript/channel.ts";
import { DroverCallError } from "../sdk/typescript/index.ts";

const [address = "", sessions = "1", each = "1", heartbeat = "2000", queue = "default"] =
  process.argv.slice(2);
const heartbeatMs = Number(heartbeat) / 3;
const tasksEach = Number(each);
const queues = [{ name: queue, weight: 1 }];
const CHANNELS = 4;
const channels = Array.from({ length: CHANNELS }, () => openChannel({ address }));

async function take(index: number): Promise<() => Promise<void>> {
  const channel = channels[index % CHANNELS] ?? openChannel({ address });
  const agent = { id: `holder-${process.pid}-${index}`, session: randomBytes(16) };
  const tokens: string[] = [];
  let pollSeq = 0n;
  while (tokens.length < tasksEach) {
    const { tasks } = await channel.unary(
      AgentService.method.pollTask,
      { agent, queues, tasks: ["hold"], pollSeq: ++pollSeq, maxTasks: tasksEach - tokens.length },
      { timeoutMs: 60_000 },
    );
    tokens.push(...tasks.map(({ taskToken }) => taskToken));
  }
  const reports = tokens.map((taskToken) => ({ taskToken }));
  return async () => {
    try {
      await channel.unary(AgentService.method.heartbeat, { agent, reports }, { timeoutMs: 60_000 });
    } catch (error) {
      // A server that could not take it has the next one.
      if (!(error instanceof DroverCallError) || error.code !== "UNAVAILABLE") throw error;
    }
  };
}

/** From when they are held on, spread over the time between two as those of agents at large are. */
async function sendHeartbeats(send: () => Promise<void>, index: number): Promise<void> {
  await wait((heartbeatMs * index) / Number(sessions));
  for (;;) {
    const startedAt = performance.now();
    await send();
    await wait(Math.max(0, heartbeatMs - (performance.now() - startedAt)));
  }
}

await Promise.all(
  Array.from({ length: Number(sessions) }, async (_, index) => {
    const send = await take(index);
    void sendHeartbeats(send, index);
  }),
);
process.stdout.write("held\n");
