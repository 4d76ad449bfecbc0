// The state store's contract, in two halves. SQL picks and writes rows; it judges nothing: every
// rule is in `core`.
//
//   EngineStore     what scheduler, dispatch, supervisor, triggers and webhooks need, and reads of
//                   one run. PostgreSQL and memory keep it, see test/contract
//   OperatorStore   what people list and administer (operator-store.ts): PostgreSQL alone
//   Tx              one transaction of a batch. Phase 1 may wait, in this order: writer,
//                   schedules, keys, first pages of runs, then their further pages, sessions whose
//                   silence is evaluated, concurrency keys. Phase 2 (write, lockReady, grant) waits
//                   for nothing of phase 1 again, and for queues by one call alone
//
// Moments are the database's, in milliseconds. Ids of runs, sessions and secrets are hex text here.

import type { EndedAttempt, EpochMs } from "../core/attempt.ts";
import type { Definition } from "../core/definition.ts";
import type { StepsToLoad } from "../core/event.ts";
import type { Facts } from "../core/facts.ts";
import type { Decision, Intervention, OpenEscalation, StoredSignal } from "../core/history.ts";
import type { ItemOutputs } from "../core/items.ts";
import type { StoredMessage } from "../core/message.ts";
import type { Step } from "../core/model.ts";
import type { Payload } from "../core/payload.ts";
import type { Concurrency, Permit, Permits } from "../core/permits.ts";
import type { CircuitRef, Circuits, Probe } from "./circuits.ts";
import type { Consistency, ConsistencyTx } from "./consistency.ts";
import type { DueKind, DueRange, DueRow, DueScan, DueSchedule } from "./due.ts";
import type { Durations } from "./durations.ts";
import type { TaskFacts } from "./facts.ts";
import type {
  HeartbeatAnswer,
  HeartbeatReport,
  HeartbeatStore,
  SessionHeartbeat,
  SessionLease,
} from "./heartbeats.ts";
import type { Namespaces } from "./namespaces.ts";
import type { OperatorStore } from "./operator-store.ts";
import type { AgentSeen, SilentSession } from "./operators.ts";
import type { Notify, Outbox } from "./outbox.ts";
import type { Overdue } from "./overdue.ts";
import type { Partitions, TakenPartition, Writer } from "./partition-session.ts";
import type { Actor, PassRecord } from "./pass-record.ts";
import type { Pins } from "./pins.ts";
import type { PollQuery, PollQueryResult } from "./poll-query.ts";
import type { LaneQuestion, LockedQueue, QueueRef, Queues } from "./queues.ts";
import type { ParentRun, Reads, RerunOf } from "./reads.ts";
import type { Grant, Granted, LockedReady, ReadyRow } from "./ready-tasks.ts";
import type { Failures, Retention } from "./retention.ts";
import type { RunHead, RunId, RunRef } from "./run-head.ts";
import type { Schedules, ScheduleTx } from "./schedules.ts";
import type { TraceContext } from "./trace.ts";
import type { TriggeredBy, Triggers } from "./triggers.ts";
import type { Watermark } from "./watermarks.ts";
import type { Written } from "./written.ts";

export type {
  DueKind,
  DueRow,
  DueScan as DueLook,
  DueSchedule,
  Grant,
  Granted,
  HeartbeatAnswer as BeatAnswer,
  HeartbeatReport as BeatReport,
  LockedReady,
  ReadyRow,
  RunHead,
  RunId,
  RunRef,
  SessionHeartbeat as SessionBeat,
  SessionLease,
  TaskFacts,
};

export interface Namespace {
  readonly id: number;
  readonly name: string;
  readonly region: number;
}

export interface WorkflowVersion {
  readonly definitionId: number;
  readonly version: number;
  readonly createdAt: EpochMs;
}

export interface LaneKey {
  readonly namespaceId: number;
  readonly queue: string;
  readonly task: string;
}

export interface NewRun extends RunHead {
  readonly wakeAt: EpochMs | null;
  readonly key: string | null;
  readonly workflow: string;
  /** 0: an inline definition. */
  readonly version: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly input: Payload | null;
  /** The hook that is told of its end, whatever it wants to hear otherwise; null: none. */
  readonly notify: Notify | null;
  readonly createdAt: EpochMs;
  /** null: it was scheduled by itself. */
  readonly rerunOf: RerunOf | null;
  /** As `run.parent`, for people; null: it is no child. */
  readonly parent: ParentRun | null;
  readonly concurrency: Concurrency | null;
  /** The ended run that has set it off; left out: none has. */
  readonly triggered?: TriggeredBy;
  /** The trace that it is part of; left out: nobody traces it. */
  readonly trace?: TraceContext;
}

export interface ConcurrencyKey {
  readonly namespaceId: number;
  readonly key: string;
}

/** A slot as it is now; null: the run has none any more. */
export interface PermitChange extends ConcurrencyKey {
  readonly runId: RunId;
  readonly permit: Permit | null;
}

export interface KeyReservation {
  readonly namespaceId: number;
  readonly key: string;
  readonly runId: RunId;
  /** SHA-256 of the request, hex. */
  readonly digest: string;
  /** How long the key is kept at least, in milliseconds from now. */
  readonly keepMs: number;
}

/** Who had reserved the key before; the reservation of this transaction if `mine`. */
export interface KeyHolder {
  readonly namespaceId: number;
  readonly key: string;
  readonly runId: RunId;
  readonly digest: string;
  readonly mine: boolean;
}

export interface StepsWanted extends StepsToLoad {
  readonly runId: RunId;
}

/** A map of a run. */
export interface MapRef {
  readonly runId: RunId;
  readonly map: number;
}

export interface AttemptKey {
  readonly runId: RunId;
  readonly step: number;
  readonly fence: number;
}

export interface FactsWanted {
  readonly runId: RunId;
  readonly steps: readonly number[];
}

export interface Tx extends ScheduleTx, ConsistencyTx {
  /** The transaction's time. */
  readonly now: EpochMs;
  /**
   * Locks the writer row of a supervisor for this batch. Gives what its node owns of `taken`, in
   * these epochs; nothing, where a take-over has deleted the row.
   */
  holdWriter(writer: Writer, taken: readonly TakenPartition[]): Promise<readonly TakenPartition[]>;
  /** Reserves keys in key order; waits for another transaction that reserves the same one. */
  reserveKeys(keys: readonly KeyReservation[]): Promise<readonly KeyHolder[]>;
  /** Locks open runs by id. Without `wait`, those that another transaction holds are left out. */
  lockRuns(runs: readonly RunRef[], wait: boolean): Promise<readonly RunHead[]>;
  /** Heads of runs that have ended, for reports that come too late. Open ones are left out. */
  endedRuns(runs: readonly RunRef[]): Promise<readonly RunHead[]>;
  /** Steps of locked runs; the pages that they are in are locked, too. */
  loadSteps(wanted: readonly StepsWanted[]): Promise<ReadonlyMap<RunId, ReadonlyMap<number, Step>>>;
  /**
   * Last heartbeats of sessions, as they are now: a heartbeat that comes waits for this
   * transaction.
   */
  lastHeartbeats(sessions: readonly string[]): Promise<ReadonlyMap<string, EpochMs>>;
  /** Tasks that ended: those of a step and fence, of every kind. */
  loadAttempts(keys: readonly AttemptKey[]): Promise<ReadonlyMap<RunId, readonly EndedAttempt[]>>;
  /** What expressions see: the run's own facts, and those of the named steps that are final. */
  loadFacts(wanted: readonly FactsWanted[]): Promise<ReadonlyMap<RunId, Facts>>;
  /** The signals of these runs, in the order in which they came. */
  loadSignals(runs: readonly RunId[]): Promise<ReadonlyMap<RunId, readonly StoredSignal[]>>;
  /** By run and map, the outputs of the items that succeeded; a map that has none is left out. */
  loadItemOutputs(
    maps: readonly MapRef[],
  ): Promise<ReadonlyMap<RunId, ReadonlyMap<number, ItemOutputs>>>;
  loadDecisions(runs: readonly RunId[]): Promise<ReadonlyMap<RunId, readonly Decision[]>>;
  /** Escalations by number, open or closed. */
  loadEscalations(
    wanted: readonly { readonly runId: RunId; readonly n: number }[],
  ): Promise<ReadonlyMap<RunId, readonly OpenEscalation[]>>;
  /** What other runs have told these and no pass has applied yet, in the order of the numbers. */
  loadMessages(runs: readonly RunId[]): Promise<ReadonlyMap<RunId, readonly StoredMessage[]>>;
  /** Concurrency keys of runs, as they were scheduled with; runs without one are left out. */
  concurrencyOf(runs: readonly RunId[]): Promise<ReadonlyMap<RunId, Concurrency>>;
  /**
   * Locks concurrency keys until the transaction ends, and then looks at their slots: all that are
   * held, and of those who wait for one the first.
   */
  lockPermits(
    keys: readonly ConcurrencyKey[],
  ): Promise<readonly (ConcurrencyKey & { readonly slots: Permits })[]>;
  /**
   * Locks questions about lanes until the transaction ends, after the steps; returns the lanes of
   * which one stands open.
   */
  lockLaneQuestions(lanes: readonly number[]): Promise<readonly number[]>;
  /** Of locked lanes. */
  writeLaneQuestions(questions: readonly LaneQuestion[]): Promise<void>;
  /** Of locked concurrency keys. */
  writePermits(changes: readonly PermitChange[]): Promise<void>;
  /** Takes back reservations of this transaction. */
  releaseKeys(keys: readonly Pick<KeyHolder, "namespaceId" | "key" | "runId">[]): Promise<void>;
  insertRuns(runs: readonly NewRun[]): Promise<void>;
  /** Writes the difference that each pass made, and appends the rows that its effects carry. */
  write(passes: readonly PassRecord[]): Promise<Written>;
  /**
   * Locks up to `limit` ready rows of each lane, by priority and age; locked ones are skipped. A
   * lane whose queue or namespace is paused gives none; one of a queue with limits only when the
   * caller has locked that queue, and so says `queuesLocked`. Rows before a mark are not looked at.
   */
  lockReady(
    lanes: readonly { readonly lane: number; readonly limit: number }[],
    queuesLocked?: boolean,
    marks?: readonly Watermark[],
  ): Promise<LockedReady>;
  /** Locks queues with limits in one order, then counts; others are left out. Called once. */
  lockQueues(queues: readonly QueueRef[]): Promise<readonly LockedQueue[]>;
  /** Writes the buckets of locked queues. */
  writeBuckets(queues: readonly LockedQueue[]): Promise<void>;
  /**
   * Marks tasks that are about to be granted as those that try circuits; returns the circuits that
   * let them: open, their time over, and nobody else tries. Waits for nobody.
   */
  takeProbes(probes: readonly Probe[]): Promise<readonly CircuitRef[]>;
  /** Hands out the tasks of locked ready rows: their pages say LEASED from now on. */
  grant(grants: readonly Grant[]): Promise<readonly Granted[]>;
  /**
   * The end of what is claimed in this transaction. Returns, by its commit at the latest, the lanes
   * in which claims find ready rows that it has made; some of them may be granted already.
   */
  placeReady(): Promise<readonly number[]>;
}

export interface TransactOptions {
  /** Names the batch in errors and logs. */
  readonly name: string;
  /**
   * Whether the fate of a COMMIT without an answer is found out. A claim does not ask: a poll that
   * fails gives back what it was granted anyway, and a claim that finds nothing then costs no
   * transaction id.
   */
  readonly fate?: "asked" | "unasked";
  /**
   * What it asks first changes nothing, and leaves together with BEGIN: `now` is known from the
   * first answer on. A write must not: if BEGIN alone failed, it would count by itself.
   */
  readonly leadsWithLock?: boolean;
  /** How long `lockRuns` with `wait` may wait. */
  readonly lockTimeoutMs?: number;
  /**
   * It may be decided by what the process knows of its runs and lanes, before the store has
   * answered. Where that is no longer so nothing is written, and `work` is called once more.
   */
  readonly optimistic?: boolean;
}

/** A person says that he looks after an escalation, or that he no longer does. */
export interface EscalationClaim {
  readonly runId: RunId;
  readonly n: number;
  readonly by: string;
  /** Although another has it. */
  readonly anyway: boolean;
}

export interface WatchedRun {
  readonly runId: RunId;
  readonly version: number;
}

/** Both halves: what a server is given. PostgreSQL alone keeps it. */
export interface Store extends EngineStore, OperatorStore {}

/** What the engine needs. PostgreSQL and memory keep it. */
export interface EngineStore extends HeartbeatStore, Consistency {
  readonly reads: Reads;
  readonly partitions: Partitions;
  readonly outbox: Outbox;
  readonly queues: Queues;
  readonly pins: Pins;
  readonly schedules: Schedules;
  readonly triggers: Triggers;
  readonly circuits: Circuits;
  readonly durations: Durations;
  readonly namespaces: Namespaces;
  transact<T>(options: TransactOptions, work: (tx: Tx) => Promise<T>): Promise<T>;

  namespace(name: string): Promise<Namespace | null>;
  /**
   * Makes a namespace, and its region if that is new; one that is there stays as it is. Left out:
   * the region `default`. RangeError if there are 128 regions already.
   */
  createNamespace(name: string, region?: string): Promise<Namespace>;
  /** The id of this content; the same content has one id in a namespace. */
  internDefinition(namespaceId: number, definition: Definition): Promise<number>;
  definition(id: number): Promise<Definition>;
  /** A new version if the content is new under this name; the default unless told not to be. */
  registerWorkflow(workflow: {
    readonly namespaceId: number;
    readonly name: string;
    readonly definitionId: number;
    readonly keepDefault: boolean;
  }): Promise<{ readonly version: number; readonly created: boolean }>;
  /** Returns the default before; null: there is no such version, and nothing has changed. */
  setDefaultVersion(namespaceId: number, name: string, version: number): Promise<number | null>;
  /** version 0: the default one. */
  workflowVersion(
    namespaceId: number,
    name: string,
    version: number | "newest",
  ): Promise<WorkflowVersion | null>;
  /** Ids of lanes for all agents, in the order of the keys; unknown ones are made. */
  lanes(keys: readonly LaneKey[]): Promise<readonly number[]>;
  /** Every lane for all agents of these queues, for an agent that performs any task. */
  lanesOfQueues(
    namespaceId: number,
    queues: readonly string[],
  ): Promise<readonly { readonly lane: number; readonly queue: string; readonly task: string }[]>;
  /** null: it stands open and is now `by`'s; else who has it, or null in `by` when it is closed. */
  claimEscalation(claim: EscalationClaim): Promise<{ readonly by: string | null } | null>;
  /** The same; nobody has it then. */
  releaseEscalation(claim: EscalationClaim): Promise<{ readonly by: string | null } | null>;
  /**
   * What granted tasks carry, in their order. Those whose lease has ended are left out: their step
   * may be tried in another way by now, under another key.
   */
  taskFacts(tasks: readonly Granted[]): Promise<readonly TaskFacts[]>;
  /** As `Tx.loadFacts`, outside of a transaction: facts never change once they are there. */
  facts(wanted: readonly FactsWanted[]): Promise<ReadonlyMap<RunId, Facts>>;
  /** Says that these lanes are polled here: a backlog is told from a lane without agents by it. */
  markPolled(node: string, lanes: readonly number[]): Promise<void>;
  /** Says which agents call the server of this address: one that was silent may be no more. */
  markAgents(server: string, seen: readonly AgentSeen[]): Promise<void>;
  /** Says which sessions do not count as polling until they call again. */
  markSilent(silent: readonly SilentSession[]): Promise<void>;
  /**
   * Forgets, up to so many rows of each: agents and sessions that hold nothing and were silent for
   * long, pollers not seen for long, expired keys of runs that have ended, deliveries that ended 7
   * days ago, deleted schedules with their fires, old counts of runs, and how many triggers stand
   * behind runs that ended long ago (retention.ts). true: of one of them there may be more.
   */
  forgetOld(rowsMax: number, kept?: Partial<Retention>, failures?: Failures): Promise<boolean>;
  /** One statement for everything that waits in this process. */
  pollQuery(asked: PollQuery): Promise<PollQueryResult>;
  /**
   * Rows of the partitions whose moment has come, earliest first, and the moment after them; now,
   * where there are more; and leases whose sessions are silent. A page that was looked at too early
   * is moved on to its next timer. `range`: left out, all of them.
   */
  dueRows(partitions: readonly number[], limit: number, range?: DueRange): Promise<DueScan>;
  /** What is overdue by more than so long, and how many nobody owns. `since`: as of a range. */
  overdue(partitions: readonly number[], byMs: number, since?: EpochMs | null): Promise<Overdue>;
  /** What the owner of a run's partition did now, where no pass can be made; else it is nothing. */
  recordIntervention(run: RunRef, intervention: Intervention, actor: Actor): Promise<void>;
  /** Hears, before it is asked anything more, that the database has another incarnation. */
  onIncarnation(listener: () => void): void;
  ready(): Promise<void>;
  close(): Promise<void>;
}
