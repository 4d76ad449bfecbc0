/** Queues: waiting tasks, tasks that agents hold, pauses, limits and pins. */
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import type * as wire from "@drover/proto/drover/v1/queue_pb.ts";
import type { Call, CallControl } from "./call.ts";
import type { ReasonSpec } from "./commands.ts";
import type { PageSpec } from "./operations.ts";
import { readTime } from "./runs.ts";

/** A pause: no new tasks are handed out. */
export interface Pause {
  readonly sinceTime: Date | null;
  /** May be empty. */
  readonly reason: string;
}

/** Limits for handing out tasks of a queue; a limit that is left out does not exist. */
export interface QueueLimits {
  /** Maximum number of tasks that agents hold at a time. */
  readonly leased?: number;
  /** Maximum number of tasks handed out per second, on average; may be a fraction. */
  readonly perSecond?: number;
  /** Maximum number of tasks handed out at once. Default: the number of one second. */
  readonly burst?: number;
}

export interface Queue {
  readonly name: string;
  /** Number of tasks that wait for an agent, counted up to 10,000 of each task name. */
  readonly depth: number;
  /** Number of tasks that agents hold. */
  readonly leased: number;
  /** null: the queue is not paused. */
  readonly pause: Pause | null;
  readonly limits: QueueLimits;
  /** Since when the oldest waiting task waits; null: none waits. */
  readonly oldestTime: Date | null;
  /** When agents last polled for its tasks, up to 20 s late. */
  readonly polledTime: Date | null;
  /** Number of agents that have polled for its tasks in the last minute. */
  readonly agents: number;
}

export interface QueueTask
  extends Pick<Queue, "depth" | "leased" | "oldestTime" | "polledTime" | "agents"> {
  readonly task: string;
  /** Set for tasks that a pin restricts to agents of this version; empty: tasks for all agents. */
  readonly agentVersion: string;
}

/** Tasks of a workflow in a queue. */
export interface PinOf extends CallControl {
  readonly workflow: string;
  /** Version of the workflow; default: every version that has no pin of its own. */
  readonly version?: number;
}

export interface PinSpec extends PinOf {
  /** Version of the agents, as they state it. */
  readonly agentVersion: string;
}

/** A pin: tasks of a queue that only agents of one version get. */
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
  /** The pause of the namespace, which applies to every queue; null: it is not paused. */
  readonly namespacePause: Pause | null;
}

export interface QueuePage {
  /** By name. */
  readonly queues: readonly Queue[];
  /** Empty: this is the last page. */
  readonly nextPageToken: string;
  /** The pause of the namespace, which applies to every queue; null: it is not paused. */
  readonly namespacePause: Pause | null;
}

export interface Queues {
  list(options?: PageSpec): Promise<QueuePage>;
  /** A queue that was never used is returned as an empty one. */
  get(queue: string, options?: CallControl): Promise<QueueDetails>;
  /** Once this resolves, no task of the queue is handed out; tasks that agents hold continue. */
  pause(queue: string, options?: ReasonSpec): Promise<Queue>;
  resume(queue: string, options?: CallControl): Promise<Queue>;
  /** Sets all limits: a limit that is left out is removed. */
  setLimits(queue: string, limits: QueueLimits, options?: CallControl): Promise<Queue>;
  /**
   * Once this resolves, only agents of that version get these tasks of the queue; tasks that other
   * agents hold continue. Returns all pins of the queue. WORKFLOW_NOT_FOUND: the version does not
   * exist.
   */
  pin(queue: string, pin: PinSpec): Promise<readonly VersionPin[]>;
  /** Tasks that no other pin restricts go to any agent. Returns all pins of the queue. */
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
  depth: 0,
  leased: 0,
  pause: null,
  limits: {},
  oldestTime: null,
  polledTime: null,
  agents: 0,
};

function readQueueOf(name: string, { queue }: { queue?: wire.Queue | undefined }): Queue {
  return queue ? readQueue(queue) : Object.freeze({ name, ...nothing });
}

function readQueue(queue: wire.Queue): Queue {
  const { name, depth, leased, agents, pause, limits } = queue;
  return Object.freeze({
    name,
    depth,
    leased,
    agents,
    pause: readPause(pause),
    limits: readLimits(limits),
    oldestTime: readTime(queue.oldestTime),
    polledTime: readTime(queue.polledTime),
  });
}

function readTask(one: wire.QueueTask): QueueTask {
  const { task, depth, leased, agents, agentVersion } = one;
  return Object.freeze({
    task,
    depth,
    leased,
    agents,
    agentVersion,
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
