// Lists for people and their tools, page by page, of one namespace. Plain reads of a bounded cost,
// without locks.

import type { EpochMs } from "../core/model/attempt.ts";
import type { Decision } from "../core/model/history.ts";
import type { RunState, Step } from "../core/model/model.ts";
import type { WaitKind } from "../core/model/waits.ts";
import type { CircuitPage, CircuitRecord, Cordon } from "./circuits.ts";
import type { NamespaceSettings } from "./namespaces.ts";
import type { DeliveryPage, DeliveryRecord } from "./outbox.ts";
import type { Pin } from "./pins.ts";
import type { Pause, QueuePage, QueueRecord, WorkflowRef } from "./queues.ts";
import type { EscalationRecord, RunDefinition, RunRecord } from "./reads.ts";
import type { RunId } from "./run-head.ts";
import type { SchedulePage, ShownSchedule } from "./schedules.ts";
import type { FailureFilter } from "./search-keys.ts";
import type { RefusalRecord, TriggerRecord } from "./triggers.ts";

/** `working`: an agent has a task of the run; `agent`: a task is ready, and no agent has it. */
export type SubstateFilter = WaitKind | "working" | "agent";

/** The key of a run: the whole of it, or its beginning. */
export type KeyFilter =
  | { readonly kind: "is"; readonly key: string }
  | { readonly kind: "prefix"; readonly prefix: string };

export interface RunFilter {
  /** Only children of this run; null: any run. */
  readonly parent: RunId | null;
  readonly states: readonly RunState["kind"][];
  /** Only open runs with one of these; empty: all runs. */
  readonly substates: readonly SubstateFilter[];
  readonly workflow: string | null;
  readonly labels: Readonly<Record<string, string>>;
  /** Only runs in which such a step failed for good, or was escalated to a person. */
  readonly failure: FailureFilter;
  /** null: any key, or none. */
  readonly key: KeyFilter | null;
  readonly createdAfter: EpochMs | null;
  readonly createdBefore: EpochMs | null;
  /** Only runs that ended at this time or later; null: also open runs. */
  readonly endedAfter: EpochMs | null;
  readonly endedBefore: EpochMs | null;
}

/** All runs. */
export const ANY_RUN: RunFilter = Object.freeze({
  parent: null,
  states: [],
  substates: [],
  workflow: null,
  labels: {},
  failure: { step: null, code: null },
  key: null,
  createdAfter: null,
  createdBefore: null,
  endedAfter: null,
  endedBefore: null,
});

export interface RunPage {
  readonly filter: RunFilter;
  readonly order: "created-desc" | "created-asc";
  readonly limit: number;
  /** The last run of the page before. */
  readonly after: RunId | null;
  /**
   * Some filters cannot be answered by an index alone: the beginning of a key that many runs have,
   * and the time of the end. For them the search reads this many runs at most, in the order of the
   * list, and the page may be short (`searchedTo`). Left out: it reads as many as it needs.
   */
  readonly readMax?: number;
}

/** An escalation in a list over several runs. */
export interface EscalationOfRun extends EscalationRecord {
  readonly runId: RunId;
  readonly workflow: string;
  readonly definitionId: number;
}

export interface EscalationPage {
  readonly openOnly: boolean;
  readonly limit: number;
  /** The last escalation of the page before. */
  readonly after: { readonly runId: RunId; readonly n: number } | null;
}

export interface WorkflowRecord {
  readonly name: string;
  readonly defaultVersion: number;
  readonly latestVersion: number;
  readonly createdAt: EpochMs;
}

/**
 * A version of a workflow, with the number of open runs that have its content, counted up to
 * `OPEN_RUNS_MAX`.
 */
export interface VersionRecord {
  readonly name: string;
  readonly version: number;
  readonly createdAt: EpochMs;
  readonly openRuns: number;
}

export const OPEN_RUNS_MAX = 10_000;

export interface NamespaceRecord extends NamespaceSettings {
  readonly id: number;
  readonly name: string;
  /** Name of its region. */
  readonly region: string;
  readonly createdAt: EpochMs;
  /** What its runs take, as estimated within the last minutes; null: not estimated yet. */
  readonly storageBytes: number | null;
}

export interface RegionRecord {
  readonly id: number;
  readonly name: string;
  /** How many of its partitions a supervisor watches now. */
  readonly watched: number;
}

/** Steps of a run that may wait for approval. */
export interface ApprovalsWanted {
  readonly runId: RunId;
  /** Numbers of the steps. */
  readonly steps: readonly number[];
}

/** These steps as they are now; those that have done nothing are left out. */
export interface ApprovalsFound {
  readonly steps: ReadonlyMap<number, Step>;
  /** In the order in which they came. */
  readonly decisions: readonly Decision[];
}

export interface Lists {
  /** By name, those behind `after`. `names`: only these; null: all. */
  namespaces(
    of: { readonly names: readonly string[] | null; readonly after: string | null },
    limit: number,
  ): Promise<readonly NamespaceRecord[]>;
  /** All regions, in the order of their creation. */
  regions(): Promise<readonly RegionRecord[]>;
  /** Runs in the order of creation, or the reverse; `after` continues behind a page. */
  runs(namespaceId: number, page: RunPage): Promise<readonly RunRecord[]>;
  /**
   * Of a page with `readMax`: the last run up to which the search is complete. Runs of the page
   * beyond it belong to the next one. null: the search is complete.
   */
  searchedTo(namespaceId: number, page: RunPage): Promise<RunId | null>;
  /** How many runs match the filter, counted up to `most`, and the database's time of the count. */
  countRuns(
    namespaceId: number,
    filter: RunFilter,
    most: number,
  ): Promise<{ readonly count: number; readonly now: EpochMs }>;
  /**
   * The workflow versions of the oldest `most.runs` runs that match the filter: the first
   * `most.definitions` of them by name and version.
   */
  definitions(
    namespaceId: number,
    filter: RunFilter,
    most: { readonly runs: number; readonly definitions: number },
  ): Promise<readonly RunDefinition[]>;
  /** Escalations of the namespace by run and number, newest runs first. */
  escalations(namespaceId: number, page: EscalationPage): Promise<readonly EscalationOfRun[]>;
  /** Approval steps of runs, with their decisions. Runs that do not exist are left out. */
  approvals(wanted: readonly ApprovalsWanted[]): Promise<ReadonlyMap<RunId, ApprovalsFound>>;
  workflows(
    namespaceId: number,
    after: string | null,
    limit: number,
  ): Promise<readonly WorkflowRecord[]>;
  /** The newest `limit` versions of each of these workflows, newest first. */
  versions(
    namespaceId: number,
    names: readonly string[],
    limit: number,
  ): Promise<readonly VersionRecord[]>;
  /** By name. */
  queues(namespaceId: number, page: QueuePage): Promise<readonly QueueRecord[]>;
  /** The pause of the namespace as a whole. */
  namespacePause(namespaceId: number): Promise<Pause | null>;
  workflowPause(of: WorkflowRef): Promise<Pause | null>;
  /** Pins of this queue, by workflow and version. */
  pins(namespaceId: number, queue: string): Promise<readonly Pin[]>;
  /** Circuits that are not closed or that a person has forced, by lane and agent. */
  circuits(namespaceId: number, page: CircuitPage): Promise<readonly CircuitRecord[]>;
  /** By kind and name. */
  cordons(namespaceId: number): Promise<readonly Cordon[]>;
  /** By name. */
  schedules(namespaceId: number, page: SchedulePage): Promise<readonly ShownSchedule[]>;
  /** By name. */
  triggers(namespaceId: number): Promise<readonly TriggerRecord[]>;
  /** The latest first; of one trigger, or (null) of all. */
  refusals(
    namespaceId: number,
    trigger: string | null,
    limit: number,
  ): Promise<readonly RefusalRecord[]>;
  /** Newest first. */
  deliveries(namespaceId: number, page: DeliveryPage): Promise<readonly DeliveryRecord[]>;
}
