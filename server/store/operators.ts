// What operators look at: agents, queues in full, partitions, supervisors, interventions, and what
// needs a person. Plain reads of a bounded cost: none looks through history.

import type { EpochMs, TaskKind } from "../core/attempt.ts";
import type { Rule } from "../core/history.ts";
import type { Activity, OpenRuns } from "./activity.ts";
import type { HandOverWhy } from "./partition-session.ts";
import type { Pause } from "./queues.ts";
import type { InterventionRecord } from "./reads.ts";
import type { RunId } from "./run-head.ts";

/** What an agent asked for with its last poll. */
export interface AgentPoll {
  readonly queues: readonly string[];
  /** Empty: any task of the queues. */
  readonly tasks: readonly string[];
}

/** What a server has seen of an agent session. */
export interface AgentSeen {
  readonly session: string;
  readonly namespaceId: number;
  readonly agentId: string;
  readonly agentVersion: string;
  readonly labels: Readonly<Record<string, string>>;
  /** null: it has not polled here; what is stored stays. */
  readonly poll: AgentPoll | null;
  /** How long ago it was last there, in milliseconds: it called, or its poll was parked. */
  readonly agoMs: number;
  /** How long ago it last called. A parked poll is no call: its agent may have died meanwhile. */
  readonly calledAgoMs: number;
  /** How long ago a success of it was taken; null: none was here, and what is stored stays. */
  readonly succeededAgoMs: number | null;
}

/**
 * A session that may have fallen silent; it is not, if it has called since. `lost`: a lease of it
 * ended then without a report, and it is silent if it had sent no heartbeat in the lease's time
 * before that. `gone`: its connection closed so long ago while its poll was parked, and it is
 * silent if it holds no task: where it does, its leases will tell.
 */
export type SilentSession =
  | {
      readonly kind: "lost";
      readonly session: string;
      readonly at: EpochMs;
      readonly heartbeatMs: number;
    }
  | { readonly kind: "gone"; readonly session: string; readonly agoMs: number };

export interface AgentRecord {
  readonly session: string;
  readonly agentId: string;
  readonly agentVersion: string;
  readonly labels: Readonly<Record<string, string>>;
  /** null: it has not polled yet. */
  readonly poll: AgentPoll | null;
  /** The address of the server that it called last. */
  readonly server: string;
  readonly firstSeenAt: EpochMs;
  /** The last call of any kind, up to 20 s late. */
  readonly seenAt: EpochMs;
  /** null: it has not held a task yet. */
  readonly lastHeartbeatAt: EpochMs | null;
  /** It has fallen silent, and does not count as polling until it calls; null: it has not. */
  readonly silentSince: EpochMs | null;
  readonly succeededAt: EpochMs | null;
  /** Tasks in its hands, counted up to `HELD_MAX`. */
  readonly held: number;
}

export interface AgentPage {
  /** The sessions of this agent alone; null: all. */
  readonly agentId: string | null;
  readonly session: string | null;
  /** The last one of the page before. */
  readonly after: { readonly agentId: string; readonly session: string } | null;
  readonly limit: number;
}

/** A task in an agent's hands. */
export interface HeldTask {
  readonly runId: RunId;
  readonly workflow: string;
  readonly definitionId: number;
  readonly step: number;
  readonly kind: TaskKind;
  readonly queue: string;
  readonly task: string;
  readonly fence: number;
  readonly attempt: number;
  readonly since: EpochMs;
  readonly attemptBy: EpochMs;
  /** As the agent said it; null: it has said nothing. */
  readonly progress: string | null;
  /** When the progress last became another one; the grant, until then. */
  readonly progressAt: EpochMs;
  /** The agent is told to stop. */
  readonly cancelling: boolean;
}

/** How a queue stands, beside its record. */
export interface QueueActivity {
  readonly name: string;
  /** Since when the task waits that has waited longest; null: none waits. */
  readonly oldestAt: EpochMs | null;
  /** When an agent was last seen to wait for its tasks, up to 20 s late; null: not lately. */
  readonly polledAt: EpochMs | null;
  /** Sessions that have called in the last minute, and asked for its tasks with their last poll. */
  readonly agents: number;
}

export interface QueueTask extends Omit<QueueActivity, "name"> {
  readonly task: string;
  /** Those that are kept for agents of this version; null: those for all agents. */
  readonly agentVersion: string | null;
  /** Counted up to 10,000. */
  readonly ready: number;
  readonly leased: number;
}

/** A lane with tasks that wait, which nobody has asked for in the last minute. */
export interface OrphanLane extends Pick<QueueActivity, "oldestAt" | "polledAt"> {
  readonly queue: string;
  readonly task: string;
  /** It is for agents of this version; null: for all. */
  readonly agentVersion: string | null;
}

export interface PartitionOwner {
  readonly node: string;
  /** null: the node has been silent for so long that it is forgotten. */
  readonly address: string | null;
  readonly lastSeenAt: EpochMs | null;
}

export interface PartitionRecord {
  readonly partition: number;
  /** Its region, by name. */
  readonly region: string;
  /** Something of the region waits for its supervisor, or will (the view region_use). */
  readonly used: boolean;
  /** How often it has changed hands. */
  readonly epoch: number;
  /** null: nobody has had it yet. */
  readonly takenAt: EpochMs | null;
  /** Who took it last; null: it was given back, or nobody has had it. */
  readonly owner: PartitionOwner | null;
  /** Its owner has been seen in the last 3 seconds. */
  readonly watched: boolean;
  /** The oldest moment that has come and was not acted upon; null: none. */
  readonly overdueAt: EpochMs | null;
}

export interface PartitionPage {
  /** -1: from the first. */
  readonly after: number;
  readonly limit: number;
}

/** A partition in one owner's hands. */
export interface HandOverRecord {
  readonly partition: number;
  readonly epoch: number;
  readonly node: string;
  /** null: the node had left by then. */
  readonly address: string | null;
  /** Why it was free to be taken. */
  readonly why: HandOverWhy;
  readonly takenAt: EpochMs;
  /** When it was given back, or the next one took it; null: nobody has taken it since. */
  readonly leftAt: EpochMs | null;
}

/** Newest first; of one moment by partition. */
export interface HandOverPage {
  /** null: of all. */
  readonly partition: number | null;
  readonly after: Pick<HandOverRecord, "takenAt" | "partition" | "epoch"> | null;
  readonly limit: number;
}

export interface SupervisorRecord {
  readonly node: string;
  readonly address: string;
  readonly startedAt: EpochMs;
  readonly lastSeenAt: EpochMs;
  /** Seen in the last 3 seconds. */
  readonly alive: boolean;
  readonly partitions: number;
}

/** An intervention in a list over runs. */
export interface ListedIntervention extends InterventionRecord {
  readonly workflow: string;
  readonly definitionId: number;
  /** The attempt that it was about; 0: none, or one that has not ended. */
  readonly attempt: number;
}

/** Newest first; of one moment the newest runs first. */
export interface InterventionPage {
  /** null: of all rules. */
  readonly rules: readonly Rule[] | null;
  readonly runId: RunId | null;
  /** Acted then or later. */
  readonly from: EpochMs | null;
  /** Acted before. */
  readonly until: EpochMs | null;
  readonly after: InterventionPlace | null;
  readonly limit: number;
}

/** Where an intervention stands in the order. */
export interface InterventionPlace {
  readonly actedAt: EpochMs;
  readonly runId: RunId;
  /** null: about the run as a whole. */
  readonly step: number | null;
  readonly fence: number;
  readonly rule: Rule;
  readonly n: number;
}

export interface MigrationRecord {
  readonly number: number;
  readonly name: string;
  readonly appliedAt: EpochMs;
}

export interface ClusterRecord extends OpenRuns {
  /** Its version. */
  readonly database: string;
  /** In their order. */
  readonly migrations: readonly MigrationRecord[];
}

/** What needs a person in a namespace; of each kind the first `ATTENTION_MAX`. */
export interface Attention {
  /** Open ones, counted up to `ESCALATIONS_COUNTED_MAX`. */
  readonly escalations: number;
  /** By queue and task. */
  readonly orphans: readonly OrphanLane[];
  readonly namespacePause: Pause | null;
  readonly pausedQueues: readonly { readonly name: string; readonly pause: Pause }[];
  readonly pausedWorkflows: readonly { readonly name: string; readonly pause: Pause }[];
}

/** What stands open in all namespaces together. */
export interface Gauges {
  readonly openRuns: OpenRuns["openRuns"];
  /** Tasks that may be taken and nobody has, up to `WAITING_COUNTED_MAX` of each lane. */
  readonly waiting: number;
  /** How long the one of these waits that has waited longest, in milliseconds; 0: none waits. */
  readonly waitingMs: number;
  /** Up to `ESCALATIONS_COUNTED_MAX` of each namespace. */
  readonly escalations: number;
  readonly openCircuits: { readonly queue: number; readonly agent: number };
}

/** Connections of this process to the database. */
export interface PoolUse {
  readonly pool: string;
  readonly busy: number;
  readonly idle: number;
  /** Those who wait for one. */
  readonly waiting: number;
}

export const HELD_MAX = 1_000;
export const QUEUE_TASKS_MAX = 1_000;
export const SUPERVISORS_MAX = 1_000;
export const ATTENTION_MAX = 100;
export const ESCALATIONS_COUNTED_MAX = 10_000;
export const WAITING_COUNTED_MAX = 1_000;

export interface Operators extends Activity {
  /** By name and session. */
  agents(namespaceId: number, page: AgentPage): Promise<readonly AgentRecord[]>;
  /** What a session holds, what it has held longest first: up to `HELD_MAX`. */
  held(session: string): Promise<readonly HeldTask[]>;
  /** In the order of the names, each of which is answered. */
  queueLooks(namespaceId: number, names: readonly string[]): Promise<readonly QueueActivity[]>;
  /** By name, those for all agents first: up to `QUEUE_TASKS_MAX`. */
  queueTasks(namespaceId: number, queue: string): Promise<readonly QueueTask[]>;
  /** By number, and the moment of the look. */
  partitions(
    page: PartitionPage,
  ): Promise<{ readonly now: EpochMs; readonly partitions: readonly PartitionRecord[] }>;
  /** Who had which partition from when to when: of each partition the last `HAND_OVERS_KEPT`. */
  handOvers(page: HandOverPage): Promise<readonly HandOverRecord[]>;
  /** Those that were seen in the last minute, the longest there first: up to `SUPERVISORS_MAX`. */
  supervisors(): Promise<readonly SupervisorRecord[]>;
  interventions(
    namespaceId: number,
    page: InterventionPage,
  ): Promise<readonly ListedIntervention[]>;
  /** The database's time. */
  now(): Promise<EpochMs>;
  /** `namespaceId`: the one whose open runs are counted; null: all. */
  cluster(namespaceId: number | null): Promise<ClusterRecord>;
  attention(namespaceId: number): Promise<Attention>;
  gauges(): Promise<Gauges>;
  /** By name. */
  connections(): readonly PoolUse[];
}
