/** Queues: what waits in them, what agents have, and how much of them is handed out. */
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import type * as wire from "@drover/proto/drover/v1/queue_pb.ts";
import type { Call, CallControl } from "./call.ts";
import type { ReasonSpec } from "./commands.ts";
import type { PageSpec } from "./operations.ts";
import { readTime } from "./runs.ts";

/** Nothing new is handed out. */
export interface Pause {
  readonly sinceTime: Date | null;
  /** May be empty. */
  readonly reason: string;
}

/** How much of a queue is handed out; what is left out has no limit. */
export interface QueueLimits {
  /** Most tasks with agents at a time. */
  readonly leased?: number;
  /** Most tasks handed out per second, on average; may be a fraction. */
  readonly perSecond?: number;
  /** Most of them at once. Default: those of one second. */
  readonly burst?: number;
}

export interface Queue {
  readonly name: string;
  /** Tasks that wait for an agent, counted up to 10,000 of each task name. */
  readonly depth: number;
  /** Tasks with agents. */
  readonly leased: number;
  /** null: it is not paused. */
  readonly pause: Pause | null;
  readonly limits: QueueLimits;
  /** Since when the task waits that has waited longest; null: none waits. */
  readonly oldestTime: Date | null;
  /** When agents were last seen to wait for its tasks, up to 20 s late. */
  readonly polledTime: Date | null;
  /** Agents that have asked for its tasks in the last minute. */
  readonly agents: number;
}

export interface QueueTask
  extends Pick<Queue, "depth" | "leased" | "oldestTime" | "polledTime" | "agents"> {
  readonly task: string;
  /** Those that a pin keeps for agents of this version; empty: those for all agents. */
  readonly agentVersion: string;
}

/** Tasks of a workflow in a queue. */
export interface PinOf extends CallControl {
  readonly workflow: string;
  /** Of this version of it; default: of each that has no pin of its own. */
  readonly version?: number;
}

export interface PinSpec extends PinOf {
  /** As the agents state it. */
  readonly agentVersion: string;
}

/** What a queue keeps for one version of agents. */
export interface VersionPin {
  readonly workflow: string;
  /** 0: every version that has no pin of its own. */
  readonly version: number;
  readonly agentVersion: string;
  readonly pinnedTime: Date | null;
}

export interface QueueDetails {
  readonly queue: Queue;
  /** By name, the first 1,000. */
  readonly tasks: readonly QueueTask[];
  /** By workflow and version. */
  readonly pins: readonly VersionPin[];
  /** What keeps every queue of the namespace; null: nothing. */
  readonly namespacePause: Pause | null;
}

export interface QueuePage {
  /** By name. */
  readonly queues: readonly Queue[];
  /** Empty: this is the last page. */
  readonly nextPageToken: string;
  /** What keeps every queue of the namespace; null: nothing. */
  readonly namespacePause: Pause | null;
}

export interface Queues {
  list(options?: PageSpec): Promise<QueuePage>;
  /** One that nobody has named yet is an empty one. */
  get(queue: string, options?: CallControl): Promise<QueueDetails>;
  /** Nothing of it is handed out once this resolves; what agents have goes on. */
  pause(queue: string, options?: ReasonSpec): Promise<Queue>;
  resume(queue: string, options?: CallControl): Promise<Queue>;
  /** All of them: what is left out has no limit any more. */
  setLimits(queue: string, limits: QueueLimits, options?: CallControl): Promise<Queue>;
  /**
   * Once this resolves, agents of that version alone get such tasks of the queue; what others have
   * goes on. All pins of the queue after the call. WORKFLOW_NOT_FOUND: there is no such version.
   */
  pin(queue: string, pin: PinSpec): Promise<readonly VersionPin[]>;
  /** What no other pin keeps goes to any agent. All pins of the queue after the call. */
  unpin(queue: string, pin: PinOf): Promise<readonly VersionPin[]>;
}

const rpc = OperatorService.method;

export function createQueues(call: Call, namespace: string): Queues {
  return Object.freeze({
    async list({ pageSize = 0, pageToken = "", signal }: PageSpec = {}): Promise<QueuePage> {
      const request = { namespace, pageSize, pageToken };
      const answer = await call(rpc.listQueues, request, { signal });
      const { nextPageToken } = answer;
      const namespacePause = readPause(answer.namespacePause);
      return { queues: answer.queues.map(readQueue), nextPageToken, namespacePause };
    },

    async get(queue: string, { signal }: CallControl = {}): Promise<QueueDetails> {
      const answer = await call(rpc.getQueue, { namespace, queue }, { signal });
      const tasks = answer.tasks.map(readTask);
      const pins = answer.pins.map(readPin);
      const namespacePause = readPause(answer.namespacePause);
      return { queue: readQueueOf(queue, answer), tasks, pins, namespacePause };
    },

    async pause(queue: string, { reason = "", signal }: ReasonSpec = {}): Promise<Queue> {
      const answer = await call(rpc.pauseQueue, { namespace, queue, reason }, { signal });
      return readQueueOf(queue, answer);
    },

    async resume(queue: string, { signal }: CallControl = {}): Promise<Queue> {
      return readQueueOf(queue, await call(rpc.resumeQueue, { namespace, queue }, { signal }));
    },

    async setLimits(
      queue: string,
      { leased = 0, perSecond = 0, burst = 0 }: QueueLimits,
      { signal }: CallControl = {},
    ): Promise<Queue> {
      const request = { namespace, queue, limits: { leased, perSecond, burst } };
      return readQueueOf(queue, await call(rpc.setQueueLimits, request, { signal }));
    },

    async pin(
      queue: string,
      { workflow, version = 0, agentVersion, signal }: PinSpec,
    ): Promise<readonly VersionPin[]> {
      const request = { namespace, queue, workflow, version, agentVersion };
      return (await call(rpc.pinQueue, request, { signal })).pins.map(readPin);
    },

    async unpin(
      queue: string,
      { workflow, version = 0, signal }: PinOf,
    ): Promise<readonly VersionPin[]> {
      const request = { namespace, queue, workflow, version };
      return (await call(rpc.unpinQueue, request, { signal })).pins.map(readPin);
    },
  });
}

export function readPause(pause: wire.Pause | undefined): Pause | null {
  return pause ? { sinceTime: readTime(pause.sinceTime), reason: pause.reason } : null;
}

const nothing: Omit<Queue, "name"> = {
  ...{ depth: 0, leased: 0, pause: null, limits: {}, oldestTime: null, polledTime: null },
  agents: 0,
};

function readQueueOf(name: string, { queue }: { queue?: wire.Queue | undefined }): Queue {
  return queue ? readQueue(queue) : Object.freeze({ name, ...nothing });
}

function readQueue(queue: wire.Queue): Queue {
  const { name, depth, leased, agents, pause, limits } = queue;
  return Object.freeze({
    ...{ name, depth, leased, agents, pause: readPause(pause), limits: readLimits(limits) },
    oldestTime: readTime(queue.oldestTime),
    polledTime: readTime(queue.polledTime),
  });
}

function readTask(one: wire.QueueTask): QueueTask {
  const { task, depth, leased, agents, agentVersion } = one;
  return Object.freeze({
    ...{ task, depth, leased, agents, agentVersion },
    oldestTime: readTime(one.oldestTime),
    polledTime: readTime(one.polledTime),
  });
}

function readPin({ workflow, version, agentVersion, pinnedTime }: wire.VersionPin): VersionPin {
  return Object.freeze({ workflow, version, agentVersion, pinnedTime: readTime(pinnedTime) });
}

function readLimits(limits: wire.QueueLimits | undefined): QueueLimits {
  const { leased = 0, perSecond = 0, burst = 0 } = limits ?? {};
  return {
    ...(leased > 0 ? { leased } : {}),
    ...(perSecond > 0 ? { perSecond, burst } : {}),
  };
}
