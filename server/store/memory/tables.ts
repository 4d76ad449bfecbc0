// The tables of the memory store: the rows of migrations/, in the terms of the core. A store of
// several shards has the reference data once for all of them, and in its first shard what a cluster
// has once; each shard has the other tables for itself.
//
//   run                   what a run is: written once
//   page                  the state of a run (core/page)
//   ready, lease          derived from pages
//   payload, attempt_log  what has no room in a page
//   intervention, escalation     appended
//   signal, decision, step_override, message       input from people and from other runs
//   step_reused           steps that are reused from an earlier run
//   hook, outbox, delivery, slot         webhooks; permits of concurrency keys
//   queue, paused_workflow, lane_question       pauses, limits, and open escalations about lanes
//                         (no agent polls them)
//   schedule, occurrence  cron schedules and their occurrences
//   trigger, trigger_end, triggered, trigger_refusal       triggers, and ended runs that
//                         they still have to process
//   circuit, circuit_outage, circuit_end, cordon       circuits, outcome counts, and cordons
//   duration              learned durations of steps
//   region, namespace, definition, workflow, lane, version_class       reference data
//   idempotency, agent_session, agent, lane_poller, writer, partition_lease
import type { EpochMs } from "../../core/model/attempt.ts";
import type { StoredMessage } from "../../core/model/message.ts";
import { isEnded, type LeaseCancel } from "../../core/model/model.ts";
import type { Payload } from "../../core/model/payload.ts";
import type { Permit } from "../../core/model/permits.ts";
import type { LoggedAttempt, PayloadKey, PayloadRow } from "../../core/page/apply-pass.ts";
import {
  attemptNumber,
  type Page,
  type PageHead,
  type PageStep,
  pageNoOf,
} from "../../core/page/page.ts";
import { partitionOf as partitionOfRun, type ShardNumber, shardOf } from "../partition.ts";
import type {
  DecisionRecord,
  EscalationRecord,
  InterventionRecord,
  SignalRecord,
} from "../reads.ts";
import type { ReusedInsert } from "../rows-of-effects.ts";
import { endedRun } from "../run-head.ts";
import type { ConcurrencyKey, KeyReservation, NewRun, RunHead, RunId, RunRef } from "../store.ts";
import { type CatalogueTables, createTablesOfCatalogue } from "./catalogue-tables.ts";
import {
  type CircuitTables,
  type CordonTables,
  createTablesOfCircuits,
  createTablesOfCordons,
} from "./circuit-tables.ts";
import { createTablesOfDurations, type DurationTables } from "./durations.ts";
import {
  createTablesOfHooks,
  createTablesOfOutbox,
  type HookTables,
  type OutboxTables,
} from "./outbox-tables.ts";
import { createTablesOfProcesses, type ProcessTables } from "./process-tables.ts";
import { createTablesOfQueueShares, type QueueShareTables } from "./queue-shares.ts";
import {
  createTablesOfLaneQuestions,
  createTablesOfQueues,
  type LaneQuestionTables,
  type QueueTables,
} from "./queue-tables.ts";
import { createTablesOfSchedules, type ScheduleTables } from "./schedules.ts";
import { createTable, type Table } from "./table.ts";
import type { Journal } from "./transactions.ts";
import {
  createTablesOfTriggerEnds,
  createTablesOfTriggers,
  type TriggerEndTables,
  type TriggerTables,
} from "./trigger-tables.ts";

export interface RunRow extends Omit<NewRun, "run" | "wakeAt" | "triggered"> {}

export interface PageRow extends RunRef {
  readonly page: Page;
  /** May be too early, never too late; null: the page has no timer. */
  readonly wakeAt: EpochMs | null;
}

/** Of one step, with the partition of its run. */
interface StepRef extends RunRef {
  readonly step: number;
}

export interface ReadyRow extends StepRef {
  readonly lane: number;
  /** Whether its workflow is paused: no claim scans the row. */
  readonly paused: boolean;
  readonly priority: number;
  /** Its place within the priority: the transaction that made it ready, then its number there. */
  readonly transaction: number;
  readonly number: number;
  /** No attempt may run past this time; null: no bound. */
  readonly until: EpochMs | null;
}

interface LeaseRow extends StepRef {
  readonly lane: number;
  readonly session: string;
  readonly fence: number;
  readonly secret: string;
  readonly pollSeq: number;
  readonly grantedAt: EpochMs;
  readonly heartbeatMs: number;
  /** Whether its agent has to stop. */
  readonly cancel: LeaseCancel["kind"];
}

type PayloadOfRun = PayloadRow & { readonly runId: RunId };
type AttemptOfLog = LoggedAttempt & { readonly runId: RunId };

export interface EscalationRow extends EscalationRecord, RunRef {
  readonly wakeAt: EpochMs | null;
  readonly namespaceId: number;
}

interface SignalRow extends SignalRecord {
  readonly runId: RunId;
}

interface DecisionRow extends DecisionRecord {
  readonly runId: RunId;
}

/** The whole input that a person gave to a strategy of a step. */
interface OverrideRow {
  readonly runId: RunId;
  readonly step: number;
  readonly strategy: number;
  readonly input: Payload | null;
}

interface PermitRow extends Permit, ConcurrencyKey {}

interface MessageRow extends RunRef, StoredMessage {
  readonly wakeAt: EpochMs;
}

interface KeyRow extends Omit<KeyReservation, "keepMs"> {
  readonly expiresAt: EpochMs;
}

/** What the transactions of all shards read, and the first shard alone changes. */
interface SharedTables
  extends CatalogueTables,
    QueueTables,
    CordonTables,
    HookTables,
    TriggerTables {}

/** What the first shard has for all of them. */
interface HomeTables extends CircuitTables, DurationTables {}

export interface Tables
  extends SharedTables,
    HomeTables,
    OutboxTables,
    LaneQuestionTables,
    QueueShareTables,
    ScheduleTables,
    TriggerEndTables,
    ProcessTables {
  /** The shard that has these. */
  readonly shard: ShardNumber;
  readonly run: Table<RunRow, "namespace">;
  readonly page: Table<PageRow, "run" | "open" | "waking">;
  readonly ready: Table<ReadyRow, "lane" | "partition" | "run">;
  readonly lease: Table<LeaseRow, "lane" | "session" | "partition" | "run">;
  readonly payload: Table<PayloadOfRun, "run">;
  readonly attemptLog: Table<AttemptOfLog, "run">;
  readonly intervention: Table<InterventionRecord, "run">;
  readonly escalation: Table<EscalationRow, "run" | "namespace" | "partition">;
  readonly signal: Table<SignalRow, "run">;
  readonly decision: Table<DecisionRow, "run">;
  readonly override: Table<OverrideRow, "run">;
  readonly reusedSteps: Table<ReusedInsert & { readonly runId: RunId }, "run">;
  readonly message: Table<MessageRow, "run" | "partition">;
  readonly permit: Table<PermitRow, "key">;
  readonly idempotency: Table<KeyRow, never>;
}

/** Throws if the partition is one of another shard: the caller has asked the wrong one. */
export function expectHere({ shard }: Pick<Tables, "shard">, partition: number): void {
  const of = shardOf(partition, shard.count);
  if (of !== shard.number)
    throw new Error(`shard ${shard.number} was asked about partition ${partition} of shard ${of}`);
}

/** The same for a run. */
export function expectRunHere(tables: Pick<Tables, "shard">, runId: RunId): void {
  expectHere(tables, partitionOfRun(0, runId));
}

export function stepKey(runId: RunId, step: number): string {
  return `${runId}/${step}`;
}

export function pageKey(runId: RunId, no: number): string {
  return `${runId}/${no}`;
}

/** null: there is no such page. */
export function pageOf(tables: Tables, runId: RunId, no: number): Page | null {
  return tables.page.get(pageKey(runId, no))?.page ?? null;
}

/** null: the step has not been touched yet. */
export function pageStepOf(tables: Tables, runId: RunId, place: number): PageStep | null {
  return pageOf(tables, runId, pageNoOf(place))?.steps.get(place) ?? null;
}

function pagesOf(tables: Tables, runId: RunId): readonly Page[] {
  const rows = tables.page.where("run", runId).sort((a, b) => a.page.no - b.page.no);
  return rows.map(({ page }) => page);
}

/** By step key, in order. */
export function stepsOf(tables: Tables, runId: RunId): readonly PageStep[] {
  return pagesOf(tables, runId)
    .flatMap((page) => [...page.steps.values()])
    .sort((a, b) => a.step.no - b.step.no);
}

export function runStateOf(tables: Tables, runId: RunId): PageHead {
  const head = pageOf(tables, runId, 0)?.head;
  if (!head) throw new Error(`run ${runId} has no first page`);
  return head;
}

export function isOpen(tables: Tables, runId: RunId): boolean {
  return isOpenHead(pageOf(tables, runId, 0)?.head ?? null);
}

function isOpenHead(head: PageHead | null): head is PageHead {
  return head !== null && !isEnded(head.run.state);
}

/** The open runs of a partition; left out: of all. */
export function openRunsOf(
  tables: Tables,
  partition?: number,
): readonly (RunRef & { readonly head: PageHead })[] {
  const rows = partition === undefined ? tables.page.all() : tables.page.where("open", partition);
  return rows.flatMap(({ runId, partition: of, page: { head } }) =>
    isOpenHead(head) ? [{ runId, partition: of, head }] : [],
  );
}

export function payloadKey(runId: RunId, { step, kind, fence, n, what }: PayloadKey): string {
  return `${stepKey(runId, step)}/${fence}/${kind}/${n}/${what}`;
}

function loggedKey({ runId, ...of }: AttemptOfLog): string {
  return `${stepKey(runId, of.step)}/${of.fence}/${of.kind}/${attemptNumber(of)}`;
}

export function interventionKey(
  about: Pick<InterventionRecord, "runId" | "step" | "fence" | "rule" | "n">,
): string {
  return `${about.runId}/${about.step}/${about.fence}/${about.rule}/${about.n}`;
}

export function concurrencyKeyText({ namespaceId, key }: ConcurrencyKey): string {
  return `${namespaceId}/${key}`;
}

export function headOf(
  row: RunRow,
  { namespaceId, definitionId, priority, run }: PageHead,
): RunHead {
  const { runId, partition } = row;
  return { runId, partition, namespaceId, definitionId, priority, run };
}

/** The head of a run that has ended. */
export function endedHeadOf(row: RunRow, { run, ...head }: PageHead): RunHead {
  if (!isEnded(run.state)) throw new Error(`run ${row.runId} is open`);
  return headOf(row, { ...head, run: endedRun(run.state, run) });
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

export function createSharedTables(journal: Journal): SharedTables {
  return {
    ...createTablesOfCatalogue(journal),
    ...createTablesOfQueues(journal),
    ...createTablesOfCordons(journal),
    ...createTablesOfHooks(journal),
    ...createTablesOfTriggers(journal),
  };
}

export function createHomeTables(journal: Journal): HomeTables {
  return { ...createTablesOfCircuits(journal), ...createTablesOfDurations(journal) };
}

/** The tables of one shard, with those that it shares. */
export function createTables(
  journal: Journal,
  shard: ShardNumber,
  shared: SharedTables & HomeTables,
): Tables {
  return Object.freeze({
    ...shared,
    shard,
    run: createTable<RunRow, "namespace">(journal, {
      name: "run",
      key: runOf,
      indexes: { namespace: (row) => row.namespaceId },
    }),
    page: createTable<PageRow, "run" | "open" | "waking">(journal, {
      name: "run_page",
      key: (row) => pageKey(row.runId, row.page.no),
      indexes: {
        run: runOf,
        // First pages of open runs, by partition.
        open: (row) => (isOpenHead(row.page.head) ? row.partition : null),
        // Pages with a timer, by partition.
        waking: (row) => (row.wakeAt === null ? null : row.partition),
      },
    }),
    ready: createTable<ReadyRow, "lane" | "partition" | "run">(journal, {
      name: "ready",
      key: ofStep,
      indexes: { lane: (row) => row.lane, partition: partitionOf, run: runOf },
    }),
    lease: createTable<LeaseRow, "lane" | "session" | "partition" | "run">(journal, {
      name: "lease",
      key: ofStep,
      indexes: {
        lane: (row) => row.lane,
        session: (row) => row.session,
        partition: partitionOf,
        run: runOf,
      },
    }),
    payload: createTable<PayloadOfRun, "run">(journal, {
      name: "payload",
      key: (row) => payloadKey(row.runId, row),
      indexes: { run: runOf },
    }),
    attemptLog: createTable<AttemptOfLog, "run">(journal, {
      name: "attempt_log",
      key: loggedKey,
      indexes: { run: runOf },
    }),
    intervention: createTable<InterventionRecord, "run">(journal, {
      name: "intervention",
      key: interventionKey,
      indexes: { run: runOf },
    }),
    ...createTablesOfPeople(journal),
    ...createTablesOfOutbox(journal),
    ...createTablesOfLaneQuestions(journal),
    ...createTablesOfQueueShares(journal),
    ...createTablesOfSchedules(journal),
    ...createTablesOfTriggerEnds(journal),
    ...createTablesOfProcesses(journal),
    idempotency: createTable<KeyRow, never>(journal, {
      name: "idempotency",
      key: concurrencyKeyText,
      indexes: {},
    }),
  });
}

function createTablesOfPeople(
  journal: Journal,
): Pick<
  Tables,
  "escalation" | "signal" | "decision" | "override" | "reusedSteps" | "message" | "permit"
> {
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
    reusedSteps: createTable<ReusedInsert & { readonly runId: RunId }, "run">(journal, {
      name: "step_reused",
      key: (row) => stepKey(row.runId, row.step),
      indexes: { run: runOf },
    }),
    message: createTable<MessageRow, "run" | "partition">(journal, {
      name: "message",
      key: (row) => messageKey(row.runId, row.no),
      indexes: { run: runOf, partition: partitionOf },
    }),
    permit: createTable<PermitRow, "key">(journal, {
      name: "permit",
      key: runOf,
      indexes: { key: concurrencyKeyText },
    }),
  };
}
