// What operators read: agents, queues in detail, partitions, supervisors, interventions, and what
// needs a person. Plain reads of a bounded cost: none scans the whole history.

import type { EpochMs, TaskKind } from "../core/model/attempt.ts";
import type { AttemptCounts } from "../core/model/failing-agent.ts";
import type { Rule } from "../core/model/history.ts";
import type { Activity, OpenRuns } from "./activity.ts";
import type { AuditList, AuditPage } from "./audit.ts";
import type { HandOverReason } from "./partition-session.ts";
import type { Pause } from "./queues.ts";
import type { InterventionRecord } from "./reads.ts";
import type { RunId } from "./run-head.ts";

/** What an agent asked for with its last poll. */
export interface AgentPoll {
  readonly queues: readonly string[];
  /** Empty: any task of the queues. */
  readonly tasks: readonly string[];
}

/** What an agent states of its process. */
interface AgentProcess {
  /** Empty: not stated. */
  readonly host: string;
  /** null: not stated. */
  readonly pid: number | null;
  /** Most tasks that it holds at a time; null: not stated. */
  readonly capacity: number | null;
  /** Its wall clock minus that of the server, in milliseconds; null: not stated. */
  readonly clockAheadMs: number | null;
}

/** `startedAgoMs`: how long ago the session began, in milliseconds; null: not stated. */
export interface AgentProcessSeen extends AgentProcess {
  readonly startedAgoMs: number | null;
}

/** How attempts of a session at the tasks of a lane ended, not stored yet. */
export interface SessionAttempts extends AttemptCounts {
  readonly session: string;
  readonly lane: number;
}

/** What a server has seen of an agent session. */
export interface AgentSeen {
  readonly session: string;
  readonly namespaceId: number;
  readonly agentId: string;
  readonly agentVersion: string;
  readonly labels: Readonly<Record<string, string>>;
  /** null: the session has not polled this server; the stored poll stays. */
  readonly poll: AgentPoll | null;
  /** Left out: the session has stated nothing to this server; what is stored stays. */
  readonly process?: AgentProcessSeen;
  /** How long ago it called, or its poll was parked, in milliseconds. */
  readonly agoMs: number;
  /**
   * How long ago it last called, in milliseconds. A parked poll is no call: its agent may have died
   * meanwhile.
   */
  readonly calledAgoMs: number;
  /**
   * How long ago this server accepted a success from it, in milliseconds; null: never, and what is
   * stored stays.
   */
  readonly succeededAgoMs: number | null;
}

/**
 * A session that may have fallen silent. It has not, if it has called since. `lost`: a lease of it
 * ended at `at` without a report; the session is silent if it had sent no heartbeat in the
 * `heartbeatMs` before that. `gone`: its connection closed `agoMs` ago while its poll was parked;
 * the session is silent if it holds no task. If it holds one, the lease of that task decides.
 */
export type SilentSession =
  | {
      readonly kind: "lost";
      readonly session: string;
      readonly at: EpochMs;
      readonly heartbeatMs: number;
    }
  | { readonly kind: "gone"; readonly session: string; readonly agoMs: number };

export interface TaskAttempts extends AttemptCounts {
  readonly queue: string;
  readonly task: string;
}

export interface AgentRecord extends AgentProcess {
  readonly session: string;
  readonly agentId: string;
  readonly agentVersion: string;
  readonly labels: Readonly<Record<string, string>>;
  /** null: it has not polled yet. */
  readonly poll: AgentPoll | null;
  /** The address of the server that it called last. */
  readonly server: string;
  readonly firstSeenAt: EpochMs;
  /** When it last called or had a parked poll; up to 20 s behind. */
  readonly seenAt: EpochMs;
  /** null: it has not held a task yet. */
  readonly lastHeartbeatAt: EpochMs | null;
  /** Since when it is silent: until it calls, it does not count as polling. null: it is not. */
  readonly silentSince: EpochMs | null;
  readonly succeededAt: EpochMs | null;
  /** Tasks that it holds, counted up to `HELD_MAX`. */
  readonly held: number;
  /** When the session began; null: not stated. */
  readonly startedAt: EpochMs | null;
  /** How its attempts of the last hour ended, those with most failures first. */
  readonly attempts: readonly TaskAttempts[];
}

/** A session that is live and fails, as core/model/failing-agent.ts defines it. */
export interface FailingAgent
  extends Pick<AgentRecord, "session" | "agentId" | "agentVersion" | "host" | "pid"> {
  readonly queue: string;
  readonly task: string;
  /** Its attempts at the task in the last hour. */
  readonly own: AttemptCounts;
  /** Those of all other sessions. */
  readonly others: AttemptCounts;
}

export interface AgentPage {
  /** Only the sessions of this agent; null: all. */
  readonly agentId: string | null;
  readonly session: string | null;
  /** The last session of the page before. */
  readonly after: { readonly agentId: string; readonly session: string } | null;
  readonly limit: number;
}

/** A task that an agent holds. */
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
  /** As the agent reported it; null: it has reported none. */
  readonly progress: string | null;
  /** When the progress last changed; before the first change, the time of the grant. */
  readonly progressAt: EpochMs;
  /** The agent is asked to stop. */
  readonly cancelling: boolean;
}

/** The activity of a queue, besides its record. */
export interface QueueActivity {
  readonly name: string;
  /** Since when the oldest waiting task waits; null: none waits. */
  readonly oldestAt: EpochMs | null;
  /** When an agent was last seen to wait for its tasks, up to 20 s behind; null: not recently. */
  readonly polledAt: EpochMs | null;
  /** Sessions that have called in the last minute and whose last poll asked for its tasks. */
  readonly agents: number;
}

export interface QueueTask extends Omit<QueueActivity, "name"> {
  readonly task: string;
  /** Tasks that are reserved for agents of this version; null: tasks for all agents. */
  readonly agentVersion: string | null;
  /** Counted up to 10,000. */
  readonly ready: number;
  readonly leased: number;
}

/** A task of a queue that an agent holds, with what is known of its run. */
export interface QueueHolding {
  readonly grantedAt: EpochMs;
  readonly workflow: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** A lane with waiting tasks for which no agent has polled in the last minute. */
export interface OrphanLane extends Pick<QueueActivity, "oldestAt" | "polledAt"> {
  readonly queue: string;
  readonly task: string;
  /** The lane is for agents of this version; null: for all agents. */
  readonly agentVersion: string | null;
}

interface PartitionOwner {
  readonly node: string;
  /** null: its row was deleted, after a long silence of the node. */
  readonly address: string | null;
  readonly lastSeenAt: EpochMs | null;
}

export interface PartitionRecord {
  readonly partition: number;
  /** Name of its region. */
  readonly region: string;
  /** Something of the region waits for its supervisor, or will (the view region_use). */
  readonly used: boolean;
  /** How often a node has taken it. */
  readonly epoch: number;
  /** null: no node has taken it yet. */
  readonly takenAt: EpochMs | null;
  /** The node that took it last; null: it was given back, or no node has taken it yet. */
  readonly owner: PartitionOwner | null;
  /** Its owner was seen in the last 3 seconds. */
  readonly watched: boolean;
  /** The earliest time that is due and that no supervisor has acted on; null: none. */
  readonly overdueAt: EpochMs | null;
}

export interface PartitionPage {
  /** -1: from the first. */
  readonly after: number;
  readonly limit: number;
}

/** The time during which one node owned a partition. */
export interface HandOverRecord {
  readonly partition: number;
  readonly epoch: number;
  readonly node: string;
  /** null: the node had left before it could be recorded. */
  readonly address: string | null;
  /** Why the partition was free to be taken. */
  readonly why: HandOverReason;
  readonly takenAt: EpochMs;
  /** When the node gave it back, or the next node took it; null: neither has happened. */
  readonly leftAt: EpochMs | null;
}

/** Newest first; those of one time by partition. */
export interface HandOverPage {
  /** null: all partitions. */
  readonly partition: number | null;
  readonly after: Pick<HandOverRecord, "takenAt" | "partition" | "epoch"> | null;
  readonly limit: number;
}

export interface SupervisorRecord {
  /** Of a store with several shards: its process, the same in all of them. */
  readonly node: string;
  readonly address: string;
  readonly startedAt: EpochMs;
  readonly lastSeenAt: EpochMs;
  /** It was seen in the last 3 seconds. */
  readonly alive: boolean;
  readonly partitions: number;
}

/** An intervention in a list over several runs. */
export interface ListedIntervention extends InterventionRecord {
  readonly workflow: string;
  readonly definitionId: number;
  /** Number of the attempt that it was about; 0: none, or one that has not ended. */
  readonly attempt: number;
}

/** Newest first; those of one time by run, newest runs first. */
export interface InterventionPage {
  /** null: all rules. */
  readonly rules: readonly Rule[] | null;
  readonly runId: RunId | null;
  /** Only those that were made at this time or later; null: no bound. */
  readonly from: EpochMs | null;
  /** Only those that were made before this time; null: no bound. */
  readonly until: EpochMs | null;
  readonly after: InterventionPlace | null;
  readonly limit: number;
}

/** The position of an intervention in the order of the list. */
export interface InterventionPlace {
  readonly actedAt: EpochMs;
  readonly runId: RunId;
  /** null: it is about the run as a whole. */
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
  /** The version of the database. */
  readonly database: string;
  /** By number. */
  readonly migrations: readonly MigrationRecord[];
  readonly durability: Durability;
}

/** Settings of the database on which it depends whether acknowledged work can be lost. */
export interface Durability {
  /** false: a power failure may destroy it. */
  readonly crashSafe: boolean;
  readonly synchronousCommit: string;
  /** Empty: there is none. */
  readonly synchronousStandbys: string;
  readonly archivesLog: boolean;
  /** null: never. */
  readonly archivedAt: EpochMs | null;
  /** null: the last try to archive did not fail. */
  readonly archiveFailedAt: EpochMs | null;
}

/** What needs a person in a namespace; at most `ATTENTION_MAX` of each kind. */
export interface Attention {
  /** Open escalations, counted up to `ESCALATIONS_COUNTED_MAX`. */
  readonly escalations: number;
  /** By queue and task. */
  readonly orphans: readonly OrphanLane[];
  /** By queue, task and session. */
  readonly failingAgents: readonly FailingAgent[];
  readonly namespacePause: Pause | null;
  readonly pausedQueues: readonly { readonly name: string; readonly pause: Pause }[];
  readonly pausedWorkflows: readonly {
    readonly name: string;
    readonly pause: Pause;
    /** Schedules that start it, counted up to `SCHEDULES_COUNTED_MAX`; paused ones are left out. */
    readonly schedules: number;
  }[];
}

/** Gauges over all namespaces together. */
export interface Gauges {
  readonly openRuns: OpenRuns["openRuns"];
  /** Ready tasks that may be claimed, counted up to `WAITING_COUNTED_MAX` in each lane. */
  readonly waiting: number;
  /** How long the oldest of these has waited, in milliseconds; 0: none waits. */
  readonly waitingMs: number;
  /** Open escalations, counted up to `ESCALATIONS_COUNTED_MAX` in each namespace. */
  readonly escalations: number;
  readonly openCircuits: { readonly queue: number; readonly agent: number };
  /** Tasks of sessions, counted up to `SUSPECTS_MAX`. */
  readonly failingAgents: number;
}

/** Connections of this process to the database. */
interface PoolUse {
  readonly pool: string;
  readonly busy: number;
  readonly idle: number;
  /** Callers that wait for a connection. */
  readonly waiting: number;
}

export const HELD_MAX = 1_000;
export const QUEUE_TASKS_MAX = 1_000;
/** Most tasks of a queue whose runs are read. */
export const HOLDINGS_MAX = 200;
export const SUPERVISORS_MAX = 1_000;
export const ATTENTION_MAX = 100;
/** Most pairs of a live session and a task that are evaluated for `FailingAgent`. */
export const SUSPECTS_MAX = 1_000;
export const SCHEDULES_COUNTED_MAX = 1_000;
export const ESCALATIONS_COUNTED_MAX = 10_000;
export const WAITING_COUNTED_MAX = 1_000;

export interface Operators extends Activity {
  /** By name of the agent and session. */
  agents(namespaceId: number, page: AgentPage): Promise<readonly AgentRecord[]>;
  /** The tasks that a session holds, the longest held first: up to `HELD_MAX`. */
  held(session: string): Promise<readonly HeldTask[]>;
  /** One answer for each name, in the order of the names. */
  queueActivity(namespaceId: number, names: readonly string[]): Promise<readonly QueueActivity[]>;
  /** By name of the task, those for all agents first: up to `QUEUE_TASKS_MAX`. */
  queueTasks(namespaceId: number, queue: string): Promise<readonly QueueTask[]>;
  /** Any `HOLDINGS_MAX` of the tasks of the queue that agents hold. */
  queueHoldings(namespaceId: number, queue: string): Promise<readonly QueueHolding[]>;
  /** By number, with the database's time of the read. */
  partitions(
    page: PartitionPage,
  ): Promise<{ readonly now: EpochMs; readonly partitions: readonly PartitionRecord[] }>;
  /** Which node owned which partition when: the last `HAND_OVERS_MAX` of each partition. */
  handOvers(page: HandOverPage): Promise<readonly HandOverRecord[]>;
  /** Nodes seen in the last minute, the longest running first: up to `SUPERVISORS_MAX`. */
  supervisors(): Promise<readonly SupervisorRecord[]>;
  audit(namespaceId: number, page: AuditPage): Promise<AuditList>;
  interventions(
    namespaceId: number,
    page: InterventionPage,
  ): Promise<readonly ListedIntervention[]>;
  /** The database's time. */
  now(): Promise<EpochMs>;
  /** `namespaceId`: the namespace whose open runs are counted; null: all. */
  cluster(namespaceId: number | null): Promise<ClusterRecord>;
  attention(namespaceId: number): Promise<Attention>;
  gauges(): Promise<Gauges>;
  /** By name of the pool. */
  connections(): readonly PoolUse[];
}
