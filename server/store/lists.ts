// What people and their tools list: page by page, of one namespace. Plain reads of a bounded cost,
// no locks.

import type { EpochMs } from "../core/attempt.ts";
import type { RunState } from "../core/model.ts";
import type { CircuitPage, CircuitRecord, Cordon } from "./circuits.ts";
import type { NamespaceSettings } from "./namespaces.ts";
import type { DeliveryPage, DeliveryRecord } from "./outbox.ts";
import type { Pin } from "./pins.ts";
import type { Pause, QueuePage, QueueRecord, WorkflowRef } from "./queues.ts";
import type { EscalationRecord, RunDefinition, RunRecord } from "./reads.ts";
import type { RunId } from "./run-head.ts";
import type { SchedulePage, ScheduleRecord } from "./schedules.ts";
import type { RefusalRecord, TriggerRecord } from "./triggers.ts";

export interface RunFilter {
  /** Children of this run; null: any run. */
  readonly parent: RunId | null;
  readonly states: readonly RunState["kind"][];
  readonly workflow: string | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly createdAfter: EpochMs | null;
  readonly createdBefore: EpochMs | null;
}

export interface RunPage {
  readonly filter: RunFilter;
  readonly order: "created-desc" | "created-asc";
  readonly limit: number;
  /** The last run of the page before. */
  readonly after: RunId | null;
}

/** An escalation in a list over runs. */
export interface EscalationOfRun extends EscalationRecord {
  readonly runId: RunId;
  readonly workflow: string;
  readonly definitionId: number;
}

export interface EscalationPage {
  readonly openOnly: boolean;
  readonly limit: number;
  /** The last one of the page before. */
  readonly after: { readonly runId: RunId; readonly n: number } | null;
}

export interface WorkflowRecord {
  readonly name: string;
  readonly defaultVersion: number;
  readonly latestVersion: number;
  readonly createdAt: EpochMs;
}

/** A version, and how many open runs have its content; counted up to `OPEN_RUNS_MAX`. */
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
}

export interface RegionRecord {
  readonly id: number;
  readonly name: string;
  /** How many of its partitions are watched by somebody now. */
  readonly watched: number;
}

export interface Lists {
  /** By name, those after `after`; `names`: only these, null: all. */
  namespaces(
    of: { readonly names: readonly string[] | null; readonly after: string | null },
    limit: number,
  ): Promise<readonly NamespaceRecord[]>;
  /** All, in the order in which they came. */
  regions(): Promise<readonly RegionRecord[]>;
  /** Runs by creation; `after` and the order make pages. */
  runs(namespaceId: number, page: RunPage): Promise<readonly RunRecord[]>;
  /** How many runs pass the filter, counted up to `most`, and the moment of that look. */
  countRuns(
    namespaceId: number,
    filter: RunFilter,
    most: number,
  ): Promise<{ readonly count: number; readonly now: EpochMs }>;
  /**
   * What the oldest `runs` that pass the filter are runs of: the first `definitions` by name and
   * version.
   */
  definitions(
    namespaceId: number,
    filter: RunFilter,
    most: { readonly runs: number; readonly definitions: number },
  ): Promise<readonly RunDefinition[]>;
  /** Escalations of the namespace by run and number, newest runs first. */
  escalations(namespaceId: number, page: EscalationPage): Promise<readonly EscalationOfRun[]>;
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
  /** Of the namespace as a whole. */
  namespacePause(namespaceId: number): Promise<Pause | null>;
  workflowPause(of: WorkflowRef): Promise<Pause | null>;
  /** Of this queue, by workflow and version. */
  pins(namespaceId: number, queue: string): Promise<readonly Pin[]>;
  /** Those that are not plainly closed, by lane and agent. */
  circuits(namespaceId: number, page: CircuitPage): Promise<readonly CircuitRecord[]>;
  /** By kind and name. */
  cordons(namespaceId: number): Promise<readonly Cordon[]>;
  /** By name. */
  schedules(namespaceId: number, page: SchedulePage): Promise<readonly ScheduleRecord[]>;
  /** By name. */
  triggers(namespaceId: number): Promise<readonly TriggerRecord[]>;
  /** The last first; of one trigger, or of all. */
  refusals(
    namespaceId: number,
    trigger: string | null,
    limit: number,
  ): Promise<readonly RefusalRecord[]>;
  /** Newest first. */
  deliveries(namespaceId: number, page: DeliveryPage): Promise<readonly DeliveryRecord[]>;
}
