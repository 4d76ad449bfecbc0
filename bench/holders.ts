// Many agents in one process, each with its own session, that take tasks and hold them with beats
// at a third of the heartbeat, until they are killed. Says "held" when all tasks are held.
//   node holders.ts ADDRESS SESSIONS TASKS-EACH HEARTBEAT-MS
import { randomBytes } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { AgentService } from "@drover/proto/drover/v1/agent_service_pb.ts";
import { openChannel } from "../sdk/typescript/channel.ts";

const [address = "", sessions = "1", each = "1", heartbeat = "2000"] = process.argv.slice(2);
const beatMs = Number(heartbeat) / 3;
const tasksEach = Number(each);
const CHANNELS = 4;
const channels = Array.from({ length: CHANNELS }, () => openChannel(address));

async function take(place: number): Promise<() => Promise<void>> {
  const channel = channels[place % CHANNELS] ?? openChannel(address);
  const agent = { id: `holder-${place}`, session: randomBytes(16) };
  const tokens: string[] = [];
  let pollSeq = 0n;
  while (tokens.length < tasksEach) {
    const { tasks } = await channel.unary(
      AgentService.method.pollTask,
      { agent, pollSeq: ++pollSeq, maxTasks: tasksEach - tokens.length },
      { timeoutMs: 60_000 },
    );
    tokens.push(...tasks.map(({ taskToken }) => taskToken));
  }
  const reports = tokens.map((taskToken) => ({ taskToken }));
  return async () => {
    await channel.unary(AgentService.method.heartbeat, { agent, reports }, { timeoutMs: 60_000 });
  };
}

const beats = await Promise.all(
  Array.from({ length: Number(sessions) }, (_, place) => take(place)),
);
process.stdout.write("held\n");
// Spread over the time between two, as agents that started at any moment are.
await Promise.all(
  beats.map(async (beat, place) => {
    await wait((beatMs * place) / beats.length);
    for (;;) {
      const startedAt = performance.now();
      await beat();
      await wait(Math.max(0, beatMs - (performance.now() - startedAt)));
    }
  }),
);
