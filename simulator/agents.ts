// The agents of a scenario. Each queue has as many processes as there is work for, and each
// process has one task at a time, so that a fault of one task affects no other task.
//
//   process: polls → has a task (task-player.ts) → spare → polls …
//                                        └ frozen or crashed: never again
//
// One process of each queue always polls, unless the scenario has removed the queue's agents.
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { AgentService, type PollTaskResponse } from "@drover/proto/drover/v1/agent_service_pb.ts";
import type { Task } from "@drover/proto/drover/v1/task_pb.ts";
import { DroverError } from "@drover/server/errors.ts";
import type { Chance } from "./chance.ts";
import { type PerformanceWorld, perform } from "./task-player.ts";

interface AgentProcess {
  readonly name: string;
  readonly queue: string;
  readonly session: Uint8Array;
  polls: bigint;
}

export interface Agents {
  /** From now on a process polls this queue. */
  serve(queue: string): void;
  leave(queue: string): void;
  comeBack(queue: string): void;
  /** The tasks whose process will still do something by itself. */
  busy(): number;
}

interface AgentsWorld extends PerformanceWorld {
  readonly chance: Chance;
  /** Called when a task is handed out. */
  readonly onTask: (task: Task) => void;
}

interface Queue {
  readonly name: string;
  started: number;
  readonly spare: AgentProcess[];
  polling: { readonly agent: AgentProcess; readonly gone: AbortController } | null;
  isAway: boolean;
}

const POLL_MS = 60_000;
const SERVER_AWAY_MS = 200;

interface State {
  readonly world: AgentsWorld;
  readonly queues: Map<string, Queue>;
  busy: number;
}

export function createAgents(world: AgentsWorld): Agents {
  const state: State = { world, queues: new Map(), busy: 0 };
  return Object.freeze({
    serve(name: string) {
      if (state.queues.has(name)) return;
      const queue: Queue = { name, started: 0, spare: [], polling: null, isAway: false };
      state.queues.set(name, queue);
      staff(state, queue);
    },
    leave(name: string) {
      const queue = state.queues.get(name);
      if (!queue) return;
      queue.isAway = true;
      queue.polling?.gone.abort();
      queue.polling = null;
    },
    comeBack(name: string) {
      const queue = state.queues.get(name);
      if (!queue) return;
      queue.isAway = false;
      staff(state, queue);
    },
    busy: () => state.busy,
  } satisfies Agents);
}

/** Starts a poll if no process polls the queue. */
function staff(state: State, queue: Queue): void {
  if (queue.isAway || queue.polling) return;
  const agent = queue.spare.shift() ?? start(state.world, queue);
  const gone = new AbortController();
  queue.polling = { agent, gone };
  void pollFor(state, queue, agent, gone.signal);
}

function start({ chance }: AgentsWorld, queue: Queue): AgentProcess {
  queue.started += 1;
  const name = `${queue.name}-${queue.started}`;
  return { name, queue: queue.name, session: chance.bytes(16), polls: 0n };
}

async function pollFor(
  state: State,
  queue: Queue,
  agent: AgentProcess,
  gone: AbortSignal,
): Promise<void> {
  const { world } = state;
  while (!gone.aborted) {
    const answer = await pollOnce(world, agent, gone);
    const task = answer?.tasks[0];
    if (task) {
      void work(state, queue, agent, task);
      if (queue.polling?.agent === agent) queue.polling = null;
      staff(state, queue);
      return;
    }
    if (answer === null) await world.sleep(SERVER_AWAY_MS);
  }
  queue.spare.push(agent);
}

/** null: the server is down. */
async function pollOnce(
  world: AgentsWorld,
  agent: AgentProcess,
  gone: AbortSignal,
): Promise<PollTaskResponse | null> {
  agent.polls += 1n;
  const { name: id, session, queue, polls: pollSeq } = agent;
  const asked = { agent: { id, session, version: "1" }, pollSeq, maxTasks: 1 };
  const wait = durationFromMs(POLL_MS);
  const queues = [{ name: queue, weight: 1 }];
  try {
    return await world.call(AgentService.method.pollTask, { ...asked, queues, wait }, gone);
  } catch (error) {
    if (error instanceof DroverError && error.reason === "STORE_UNAVAILABLE") return null;
    throw error;
  }
}

async function work(state: State, queue: Queue, agent: AgentProcess, task: Task): Promise<void> {
  state.busy += 1;
  state.world.onTask(task);
  const left = await perform(state.world, agent, task, () => {
    state.busy -= 1;
  });
  if (left === "alive") queue.spare.push(agent);
}
