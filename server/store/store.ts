// The contract of the state store, in two halves. SQL selects and writes rows and decides nothing:
// all rules are in `core`.
//
//   EngineStore     what scheduler, dispatch, supervisor, triggers and webhooks need, and reads of
//                   one run. PostgreSQL and memory implement it, see test/contract
//   OperatorStore   what people list and administer (operator-store.ts). PostgreSQL only
//   Tx              one transaction of a batch. Phase 1 may wait for locks, in this order: writer,
//                   cron schedules, idempotency keys, first pages of runs, their further pages,
//                   sessions whose silence is evaluated, questions about lanes, concurrency keys.
//                   Phase 2 (write, lockReady, grant) never waits for a lock of phase 1 again. It
//                   waits for queues, in one call only
//
// Times are the database's, in milliseconds since 1970. Ids of runs and sessions, and secrets, are
// hex text here.

import type { Definition } from "../core/definition/definition.ts";
import type { EndedAttempt, EpochMs } from "../core/model/attempt.ts";
import type { StepsToLoad } from "../core/model/event.ts";
import type { Facts } from "../core/model/facts.ts";
import type {
  Decision,
  Intervention,
  OpenEscalation,
  StoredSignal,
} from "../core/model/history.ts";
import type { ItemOutputs } from "../core/model/items.ts";
import type { StoredMessage } from "../core/model/message.ts";
import type { Step } from "../core/model/model.ts";
import type { Payload } from "../core/model/payload.ts";
import type { Concurrency, Permit, Permits } from "../core/model/permits.ts";
import type { Audit, AuditEntry } from "./audit.ts";
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
import type { AgentSeen, SessionAttempts, SilentSession } from "./operators.ts";
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
  DueScan,
  DueSchedule,
  Grant,
  Granted,
  HeartbeatAnswer,
  HeartbeatReport,
  LockedReady,
  ReadyRow,
  RunHead,
  RunId,
  RunRef,
  SessionHeartbeat,
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
  /** The hook that is notified of its end, whatever events it subscribes to; null: none. */
  readonly notify: Notify | null;
  readonly createdAt: EpochMs;
  /** null: it repeats no other run. */
  readonly rerunOf: RerunOf | null;
  /** `run.parent` in its public form; null: it is no child. */
  readonly parent: ParentRun | null;
  readonly concurrency: Concurrency | null;
  /** The ended run whose trigger began it; left out: none. */
  readonly triggered?: TriggeredBy;
  /** The trace that it is part of; left out: it is not traced. */
  readonly trace?: TraceContext;
}

export interface ConcurrencyKey {
  readonly namespaceId: number;
  readonly key: string;
}

/** A permit as it is after the change; null: the run no longer has one. */
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
  /** How long the key is retained at least, in milliseconds from now. */
  readonly keepMs: number;
}

/** The run that a key is reserved for: before, or (`mine`) by this transaction. */
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
   * Locks the writer row of a supervisor for this batch. Returns those of `taken` that its node
   * still owns in these epochs; none, if a take-over has deleted the row.
   */
  holdWriter(writer: Writer, taken: readonly TakenPartition[]): Promise<readonly TakenPartition[]>;
  /** Reserves idempotency keys in key order; waits for a transaction that reserves the same one. */
  reserveKeys(keys: readonly KeyReservation[]): Promise<readonly KeyHolder[]>;
  /** Locks open runs by id. Without `wait`, runs that another transaction holds are left out. */
  lockRuns(runs: readonly RunRef[], wait: boolean): Promise<readonly RunHead[]>;
  /** Heads of runs that have ended, for reports that come too late. Open runs are left out. */
  endedRuns(runs: readonly RunRef[]): Promise<readonly RunHead[]>;
  /** Steps of locked runs. Also locks the pages that contain them. */
  loadSteps(wanted: readonly StepsWanted[]): Promise<ReadonlyMap<RunId, ReadonlyMap<number, Step>>>;
  /** Last heartbeats of sessions. A heartbeat that arrives now waits for this transaction. */
  lastHeartbeats(sessions: readonly string[]): Promise<ReadonlyMap<string, EpochMs>>;
  /** Tasks of these steps and fences that have ended, of every kind. */
  loadAttempts(keys: readonly AttemptKey[]): Promise<ReadonlyMap<RunId, readonly EndedAttempt[]>>;
  /** What expressions see: facts of the run, and of those named steps that are final. */
  loadFacts(wanted: readonly FactsWanted[]): Promise<ReadonlyMap<RunId, Facts>>;
  /** The signals of these runs, in the order of arrival. */
  loadSignals(runs: readonly RunId[]): Promise<ReadonlyMap<RunId, readonly StoredSignal[]>>;
  /** By run and map, the outputs of the items that succeeded; maps without any are left out. */
  loadItemOutputs(
    maps: readonly MapRef[],
  ): Promise<ReadonlyMap<RunId, ReadonlyMap<number, ItemOutputs>>>;
  loadDecisions(runs: readonly RunId[]): Promise<ReadonlyMap<RunId, readonly Decision[]>>;
  /** Escalations by number, open or closed. */
  loadEscalations(
    wanted: readonly { readonly runId: RunId; readonly n: number }[],
  ): Promise<ReadonlyMap<RunId, readonly OpenEscalation[]>>;
  /** Messages of other runs that no pass has applied yet, in the order of their numbers. */
  loadMessages(runs: readonly RunId[]): Promise<ReadonlyMap<RunId, readonly StoredMessage[]>>;
  /** Concurrency that the runs were started with; runs without a concurrency key are left out. */
  concurrencyOf(runs: readonly RunId[]): Promise<ReadonlyMap<RunId, Concurrency>>;
  /**
   * Locks concurrency keys until the transaction ends, then reads their permits: all that are held,
   * and the first of those that wait.
   */
  lockPermits(
    keys: readonly ConcurrencyKey[],
  ): Promise<readonly (ConcurrencyKey & { readonly permits: Permits })[]>;
  /**
   * Locks the questions about these lanes until the transaction ends; called after the steps are
   * loaded. Returns the lanes that have an open question.
   */
  lockLaneQuestions(lanes: readonly number[]): Promise<readonly number[]>;
  /** The lanes must be locked. */
  writeLaneQuestions(questions: readonly LaneQuestion[]): Promise<void>;
  /** The concurrency keys must be locked. */
  writePermits(changes: readonly PermitChange[]): Promise<void>;
  /** Takes back reservations of this transaction. */
  releaseKeys(keys: readonly Pick<KeyHolder, "namespaceId" | "key" | "runId">[]): Promise<void>;
  insertRuns(runs: readonly NewRun[]): Promise<void>;
  /** Records changes that this transaction makes. */
  recordAudit(entries: readonly AuditEntry[]): Promise<void>;
  /** Writes what each pass has changed, and appends the rows of its effects. */
  write(passes: readonly PassRecord[]): Promise<Written>;
  /**
   * Locks up to `limit` ready rows of each lane, by priority and age; skips rows that another
   * transaction holds. A lane whose queue or namespace is paused gives none. A lane whose queue has
   * limits gives some only if the caller has locked the queue, which `queuesLocked` says. Rows
   * before the watermarks (`marks`) are not scanned.
   */
  lockReady(
    lanes: readonly { readonly lane: number; readonly limit: number }[],
    queuesLocked?: boolean,
    marks?: readonly Watermark[],
  ): Promise<LockedReady>;
  /** Locks those of the queues that have limits, in one order, then counts. Called once. */
  lockQueues(queues: readonly QueueRef[]): Promise<readonly LockedQueue[]>;
  /** Writes the buckets of locked queues. */
  writeBuckets(queues: readonly LockedQueue[]): Promise<void>;
  /**
   * Records tasks that are about to be granted as probes of circuits. Returns the circuits that
   * admit them: those that are open, whose time is over and that have no other probe. Never waits.
   */
  takeProbes(probes: readonly Probe[]): Promise<readonly CircuitRef[]>;
  /** Hands out the tasks of locked ready rows: their pages say LEASED from then on. */
  grant(grants: readonly Grant[]): Promise<readonly Granted[]>;
  /**
   * Ends the claims of this transaction. Returns, by its commit at the latest, the lanes in which
   * claims find ready rows that it has made; some of these may be granted already.
   */
  placeReady(): Promise<readonly number[]>;
}

export interface TransactOptions {
  /** Names the batch in errors and logs. */
  readonly name: string;
  /**
   * Whether the store finds out the result of a COMMIT without an answer. A claim does not ask: a
   * poll that fails gives back what it was granted anyway, and a claim that finds nothing then
   * costs no transaction id.
   */
  readonly fate?: "asked" | "unasked";
  /**
   * The first statement of `work` changes nothing and is sent together with BEGIN: `now` is known
   * from the first answer on. A write must not be sent so: if BEGIN alone failed, it would take
   * effect by itself.
   */
  readonly leadsWithLock?: boolean;
  /** How long `lockRuns` with `wait` may wait, in milliseconds. */
  readonly lockTimeoutMs?: number;
  /**
   * What the process knows of its runs and lanes may decide it, before the store has answered. If
   * that is outdated, nothing is written, and `work` is called once more.
   */
  readonly optimistic?: boolean;
}

/** A person takes charge of an escalation, or gives it back. */
export interface EscalationClaim {
  readonly runId: RunId;
  readonly n: number;
  readonly by: string;
  /** Even if another person has it. */
  readonly anyway: boolean;
}

export interface WatchedRun {
  readonly runId: RunId;
  readonly version: number;
}

/** Both halves, as a server gets them. Only PostgreSQL implements it. */
export interface Store extends EngineStore, OperatorStore {}

/** What the engine needs. PostgreSQL and memory implement it. */
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
   * Creates a namespace, and its region if that is new; an existing namespace stays as it is.
   * `region` left out: the region `default`. RangeError if there are 128 regions already. The
   * entry of the audit gets the id of the namespace.
   */
  createNamespace(name: string, region?: string, audit?: Audit): Promise<Namespace>;
  /** The id of this content; the same content has one id in a namespace. */
  internDefinition(namespaceId: number, definition: Definition): Promise<number>;
  definition(id: number): Promise<Definition>;
  /** A new version if the content is new under this name: the default, unless `keepDefault`. */
  registerWorkflow(
    workflow: {
      readonly namespaceId: number;
      readonly name: string;
      readonly definitionId: number;
      readonly keepDefault: boolean;
    },
    audit?: Audit,
  ): Promise<{ readonly version: number; readonly created: boolean }>;
  /** Returns the default before; null: there is no such version, and nothing has changed. */
  setDefaultVersion(
    namespaceId: number,
    name: string,
    version: number,
    audit?: Audit,
  ): Promise<number | null>;
  /** `version` 0: the default one. */
  workflowVersion(
    namespaceId: number,
    name: string,
    version: number | "newest",
  ): Promise<WorkflowVersion | null>;
  /** Ids of lanes for all agents, in the order of the keys; missing lanes are created. */
  lanes(keys: readonly LaneKey[]): Promise<readonly number[]>;
  /** Every lane for all agents in these queues, for an agent that performs any task. */
  lanesOfQueues(
    namespaceId: number,
    queues: readonly string[],
  ): Promise<readonly { readonly lane: number; readonly queue: string; readonly task: string }[]>;
  /** null: it is open and is now claimed by `by`. Else its holder; `by` null: it is closed. */
  claimEscalation(
    claim: EscalationClaim,
    audit?: Audit,
  ): Promise<{ readonly by: string | null } | null>;
  /** The same for giving it back: no person has it then. */
  releaseEscalation(
    claim: EscalationClaim,
    audit?: Audit,
  ): Promise<{ readonly by: string | null } | null>;
  /**
   * What granted tasks carry, in their order. Tasks whose lease has ended are left out: their step
   * may follow another strategy by now, under another key.
   */
  taskFacts(tasks: readonly Granted[]): Promise<readonly TaskFacts[]>;
  /** As `Tx.loadFacts`, outside of a transaction: facts never change once they exist. */
  facts(wanted: readonly FactsWanted[]): Promise<ReadonlyMap<RunId, Facts>>;
  /** Records that this node polls these lanes, so that lanes without agents can be found. */
  markPolled(node: string, lanes: readonly number[]): Promise<void>;
  /** Records which agents call the server of this address. A call ends a session's silence. */
  markAgents(server: string, seen: readonly AgentSeen[]): Promise<void>;
  /** Adds to how the attempts of sessions ended in the current five minutes. */
  countAttempts(counts: readonly SessionAttempts[]): Promise<void>;
  /** Records which sessions do not count as polling until they call again. */
  markSilent(silent: readonly SilentSession[]): Promise<void>;
  /**
   * Deletes, up to `rowsMax` rows of each kind: agents and sessions that hold nothing and were
   * silent for long, pollers not seen for long, expired keys of runs that have ended, deliveries
   * that ended 7 days ago, deleted schedules with their occurrences, old counts of runs, and the
   * trigger chains of runs that ended long ago (retention.ts). true: there may be more of some
   * kind.
   */
  forgetOld(rowsMax: number, kept?: Partial<Retention>, failures?: Failures): Promise<boolean>;
  /** One statement for everything that waits in this process. */
  pollQuery(asked: PollQuery): Promise<PollQueryResult>;
  /**
   * Rows of the partitions that are due, earliest first, and leases whose sessions are silent; and
   * the next time that comes, which is now if there are more. A page whose wake-up came too early
   * is moved to its next timer. `range` left out: `WHOLE_RANGE`.
   */
  dueRows(partitions: readonly number[], limit: number, range?: DueRange): Promise<DueScan>;
  /** What is overdue by more than `byMs`, and what has no owner. `since`: as in `DueRange`. */
  overdue(partitions: readonly number[], byMs: number, since?: EpochMs | null): Promise<Overdue>;
  /** Stores what a partition's owner did without a pass; nothing, if it is no longer the owner. */
  recordIntervention(run: RunRef, intervention: Intervention, actor: Actor): Promise<void>;
  /**
   * The changes of incarnation that this process has seen. What was read under an earlier number
   * may be missing in the database.
   */
  incarnation(): number;
  /** Calls back if the database has another incarnation, before it is asked anything more. */
  onIncarnation(listener: () => void): void;
  ready(): Promise<void>;
  close(): Promise<void>;
}
