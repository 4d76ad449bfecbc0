// The tables of the memory store: the rows of migrations/, in the words of the core.
//
//   run, run_open         presence in run_open is what open means
//   step                  forward and undo as stored: READY and LEASED are OPEN here
//   ready, lease, due     a step that may run, is in an agent's hands, or waits for a moment
//   attempt, intervention, escalation     appended
//   signal, decision, step_override, message       what people and other runs have said to it
//   step_kept             steps that have ended in a run before
//   hook, outbox, delivery, slot         what the outside is told; slots of concurrency keys
//   queue, paused_workflow, lane_question       what people say, and are asked about lanes
//   schedule, fire        calendars, and what became of their moments
//   trigger, trigger_end, triggered, trigger_refusal       what sets off runs by itself
//   run_count             how many runs were accepted and ended, by the minute
//   circuit, circuit_outage, circuit_end, cordon       what rests, and what is judged by
//   api_token, duration   who may call; what was learned of steps
//   region, namespace, definition, workflow, lane, version_class       what changes seldom
//   idempotency, agent_session, agent, lane_poller, writer, partition_lease, partition_history
import type { Attempt, Counted, Moment } from "../../core/attempt.ts";
import type { StoredMessage } from "../../core/message.ts";
import type { End, Lease, Parent, Ready, Run } from "../../core/model.ts";
import type { Payload } from "../../core/payload.ts";
import type { Slot } from "../../core/slots.ts";
import { attemptRowNumber } from "../attempts.ts";
import type { Due, KeptInsert } from "../changes.ts";
import type { AgentRecord, HandOverRecord } from "../operators.ts";
import type {
  DecisionRecord,
  EscalationRecord,
  InterventionRecord,
  SignalRecord,
} from "../reads.ts";
import { endedRun } from "../run-head.ts";
import type { StepColumns } from "../step-row.ts";
import type { ConcurrencyKey, KeyReservation, NewRun, RunHead, RunId, RunRef } from "../store.ts";
import { type ActivityTables, createTablesOfActivity } from "./activity.ts";
import { type CatalogueTables, createTablesOfCatalogue } from "./catalogue-tables.ts";
import { type CircuitTables, createTablesOfCircuits } from "./circuit-tables.ts";
import { createTablesOfDurations, type DurationTables } from "./durations.ts";
import { createTablesOfOutbox, type OutboxTables } from "./outbox-tables.ts";
import { createTablesOfQueues, type QueueTables } from "./queue-tables.ts";
import { createTablesOfSchedules, type ScheduleTables } from "./schedules.ts";
import { createTable, type Table } from "./table.ts";
import { createTablesOfTokens, type TokenTables } from "./tokens.ts";
import type { Journal } from "./transactions.ts";
import { createTablesOfTriggers, type TriggerTables } from "./trigger-tables.ts";

export interface RunRow extends Omit<NewRun, "run" | "wakeAt" | "triggered"> {
  readonly cancelNote: string | null;
  /** As its open row says it. */
  readonly childOf: Parent | null;
  /** Written once, at the end; until then `run_open` says how it stands. */
  readonly ended: { readonly run: EndedRun; readonly at: Moment } | null;
}

/** What is kept of a run's state: its counters go with the open row. */
export interface EndedRun extends Pick<Run, "version" | "warnings"> {
  readonly state: End;
}

export interface OpenRunRow extends RunRef {
  readonly run: Run;
  readonly wakeAt: Moment | null;
}

export interface StepRow extends StepColumns {
  readonly runId: RunId;
}

/** What is of one step, in a partition that somebody watches. */
interface StepRef extends RunRef {
  readonly step: number;
}

export interface ReadyRow extends StepRef {
  /** Negative while its workflow is paused: no claim looks there. */
  readonly lane: number;
  readonly priority: number;
  /** Place within the priority: the transaction that made it ready, then its number there. */
  readonly transaction: number;
  readonly number: number;
  readonly ready: Ready;
  readonly attemptMs: number;
  readonly heartbeatMs: number;
  readonly cancelMs: number;
  readonly stallMs: number | null;
  readonly slowAfterMs: number | null;
  readonly plain: boolean;
}

export interface LeaseRow extends StepRef {
  readonly lane: number;
  readonly lease: Lease;
  readonly slowAfterMs: number | null;
  readonly progress: string | null;
  readonly details: Payload | null;
}

export interface DueRow extends StepRef {
  readonly due: Due;
}

export interface AttemptRow {
  readonly runId: RunId;
  readonly attempt: Attempt;
  readonly counted: Counted;
  /** Place in the order in which attempts were written. */
  readonly number: number;
  readonly progress: string | null;
  readonly details: Payload | null;
}

export interface EscalationRow extends EscalationRecord, RunRef {
  readonly wakeAt: Moment | null;
  readonly namespaceId: number;
}

export interface SignalRow extends SignalRecord {
  readonly runId: RunId;
}

export interface DecisionRow extends DecisionRecord {
  readonly runId: RunId;
}

/** The whole input that a person gave to a strategy of a step. */
export interface OverrideRow {
  readonly runId: RunId;
  readonly step: number;
  readonly strategy: number;
  readonly input: Payload | null;
}

export interface SlotRow extends Slot, ConcurrencyKey {}

export interface MessageRow extends RunRef, StoredMessage {
  readonly wakeAt: Moment;
}

export interface KeyRow extends Omit<KeyReservation, "keepMs"> {
  readonly expiresAt: Moment;
}

export interface AgentSessionRow {
  readonly session: string;
  readonly namespaceId: number;
  readonly agentId: string;
  readonly agentVersion: string;
  readonly lastBeatAt: Moment;
}

export interface AgentRow extends Omit<AgentRecord, "lastBeatAt" | "held"> {
  readonly namespaceId: number;
  readonly calledAt: Moment;
}

export interface LanePollerRow {
  readonly lane: number;
  readonly node: string;
  readonly seenAt: Moment;
}

/** All slots of a process in one row: transactions are serial, and a take-over fences them all. */
export interface WriterRow {
  readonly node: string;
}

export interface PartitionRow {
  readonly partition: number;
  readonly node: string | null;
  readonly epoch: number;
  readonly takenAt: Moment;
}

export interface Tables
  extends OutboxTables,
    QueueTables,
    ScheduleTables,
    TriggerTables,
    CircuitTables,
    ActivityTables,
    CatalogueTables,
    DurationTables,
    TokenTables {
  readonly run: Table<RunRow, "namespace" | "definition">;
  readonly runOpen: Table<OpenRunRow, "partition">;
  readonly step: Table<StepRow, "run">;
  readonly ready: Table<ReadyRow, "lane" | "partition">;
  readonly lease: Table<LeaseRow, "lane" | "session" | "partition">;
  readonly due: Table<DueRow, "partition">;
  readonly attempt: Table<AttemptRow, "run" | "step">;
  readonly intervention: Table<InterventionRecord, "run">;
  readonly escalation: Table<EscalationRow, "run" | "namespace" | "partition">;
  readonly signal: Table<SignalRow, "run">;
  readonly decision: Table<DecisionRow, "run">;
  readonly override: Table<OverrideRow, "run">;
  readonly kept: Table<KeptInsert & { readonly runId: RunId }, "run">;
  readonly message: Table<MessageRow, "run" | "partition">;
  readonly slot: Table<SlotRow, "key">;
  readonly idempotency: Table<KeyRow, never>;
  readonly agentSession: Table<AgentSessionRow, never>;
  readonly agent: Table<AgentRow, never>;
  readonly lanePoller: Table<LanePollerRow, "lane">;
  readonly writer: Table<WriterRow, never>;
  readonly partitionLease: Table<PartitionRow, never>;
  readonly partitionHistory: Table<HandOverRecord, "partition">;
}

export function stepKey(runId: RunId, step: number): string {
  return `${runId}/${step}`;
}

export function attemptKey(
  runId: RunId,
  { step, fence, kind, n }: Pick<Attempt, "step" | "fence" | "kind" | "n">,
): string {
  return `${stepKey(runId, step)}/${fence}/${kind}/${n}`;
}

/** The key of the row that an attempt is written as. */
export function attemptRowKey(runId: RunId, attempt: Attempt): string {
  return attemptKey(runId, { ...attempt, n: attemptRowNumber(attempt) });
}

export function interventionKey(
  about: Pick<InterventionRecord, "runId" | "step" | "fence" | "rule" | "n">,
): string {
  return `${about.runId}/${about.step}/${about.fence}/${about.rule}/${about.n}`;
}

export function keyOfKey({ namespaceId, key }: ConcurrencyKey): string {
  return `${namespaceId}/${key}`;
}

export function headOf(row: RunRow, run: Run): RunHead {
  const { runId, partition, namespaceId, definitionId, priority } = row;
  return { runId, partition, namespaceId, definitionId, priority, run };
}

/** A late report may still open a question about a run that has ended, so theirs are counted. */
export function endedHeadOf(tables: Tables, row: RunRow, ended: EndedRun): RunHead {
  const escalations = tables.escalation.where("run", row.runId).length;
  return headOf(row, endedRun(ended.state, { ...ended, escalations }));
}

export function overrideKey({ runId, step, strategy }: Omit<OverrideRow, "input">): string {
  return `${stepKey(runId, step)}/${strategy}`;
}

export function messageKey(runId: RunId, no: number): string {
  return `${runId}/${no}`;
}

const ofStep = (row: StepRef): string => stepKey(row.runId, row.step);
const runOf = (row: { readonly runId: RunId }): RunId => row.runId;
const partitionOf = (row: RunRef): number => row.partition;

export function createTables(journal: Journal): Tables {
  return Object.freeze({
    run: createTable<RunRow, "namespace" | "definition">(journal, {
      name: "run",
      key: runOf,
      indexes: { namespace: (row) => row.namespaceId, definition: (row) => row.definitionId },
    }),
    runOpen: createTable<OpenRunRow, "partition">(journal, {
      name: "run_open",
      key: runOf,
      indexes: { partition: partitionOf },
    }),
    step: createTable<StepRow, "run">(journal, {
      name: "step",
      key: (row) => stepKey(row.runId, row.no),
      indexes: { run: runOf },
    }),
    ready: createTable<ReadyRow, "lane" | "partition">(journal, {
      name: "ready",
      key: ofStep,
      indexes: { lane: (row) => row.lane, partition: partitionOf },
    }),
    lease: createTable<LeaseRow, "lane" | "session" | "partition">(journal, {
      name: "lease",
      key: ofStep,
      indexes: {
        lane: (row) => row.lane,
        session: (row) => row.lease.session,
        partition: partitionOf,
      },
    }),
    due: createTable<DueRow, "partition">(journal, {
      name: "due",
      key: ofStep,
      indexes: { partition: partitionOf },
    }),
    attempt: createTable<AttemptRow, "run" | "step">(journal, {
      name: "attempt",
      key: (row) => attemptRowKey(row.runId, row.attempt),
      indexes: { run: runOf, step: (row) => stepKey(row.runId, row.attempt.step) },
    }),
    intervention: createTable<InterventionRecord, "run">(journal, {
      name: "intervention",
      key: interventionKey,
      indexes: { run: runOf },
    }),
    ...createTablesOfPeople(journal),
    ...createTablesOfOutbox(journal),
    ...createTablesOfQueues(journal),
    ...createTablesOfSchedules(journal),
    ...createTablesOfTriggers(journal),
    ...createTablesOfCircuits(journal),
    ...createTablesOfActivity(journal),
    ...createTablesOfTokens(journal),
    ...createTablesOfCatalogue(journal),
    ...createTablesOfDurations(journal),
    ...createSmallTables(journal),
  });
}

function createTablesOfPeople(
  journal: Journal,
): Pick<Tables, "escalation" | "signal" | "decision" | "override" | "kept" | "message" | "slot"> {
  return {
    escalation: createTable<EscalationRow, "run" | "namespace" | "partition">(journal, {
      name: "escalation",
      key: (row) => `${row.runId}/${row.n}`,
      indexes: { run: runOf, namespace: (row) => row.namespaceId, partition: partitionOf },
    }),
    signal: createTable<SignalRow, "run">(journal, {
      name: "signal",
      key: (row) => `${row.runId}/${row.seq}`,
      indexes: { run: runOf },
    }),
    decision: createTable<DecisionRow, "run">(journal, {
      name: "decision",
      key: (row) => `${stepKey(row.runId, row.step)}/${row.approver}`,
      indexes: { run: runOf },
    }),
    override: createTable<OverrideRow, "run">(journal, {
      name: "step_override",
      key: overrideKey,
      indexes: { run: runOf },
    }),
    kept: createTable<KeptInsert & { readonly runId: RunId }, "run">(journal, {
      name: "step_kept",
      key: (row) => stepKey(row.runId, row.step),
      indexes: { run: runOf },
    }),
    message: createTable<MessageRow, "run" | "partition">(journal, {
      name: "message",
      key: (row) => messageKey(row.runId, row.no),
      indexes: { run: runOf, partition: partitionOf },
    }),
    slot: createTable<SlotRow, "key">(journal, {
      name: "slot",
      key: runOf,
      indexes: { key: keyOfKey },
    }),
  };
}

function createSmallTables(
  journal: Journal,
): Pick<Tables, "idempotency" | "agentSession" | "agent" | "lanePoller" | "writer"> &
  Pick<Tables, "partitionLease" | "partitionHistory"> {
  return {
    idempotency: createTable<KeyRow, never>(journal, {
      name: "idempotency",
      key: keyOfKey,
      indexes: {},
    }),
    agentSession: createTable<AgentSessionRow, never>(journal, {
      name: "agent_session",
      key: (row) => row.session,
      indexes: {},
    }),
    agent: createTable<AgentRow, never>(journal, {
      name: "agent",
      key: (row) => row.session,
      indexes: {},
    }),
    lanePoller: createTable<LanePollerRow, "lane">(journal, {
      name: "lane_poller",
      key: (row) => `${row.lane}/${row.node}`,
      indexes: { lane: (row) => row.lane },
    }),
    writer: createTable<WriterRow, never>(journal, {
      name: "writer",
      key: (row) => row.node,
      indexes: {},
    }),
    partitionLease: createTable<PartitionRow, never>(journal, {
      name: "partition_lease",
      key: (row) => String(row.partition),
      indexes: {},
    }),
    partitionHistory: createTable<HandOverRecord, "partition">(journal, {
      name: "partition_history",
      key: (row) => `${row.partition}/${row.epoch}`,
      indexes: { partition: (row) => row.partition },
    }),
  };
}
