// Counts for the overview of a namespace: open runs by state, runs accepted or ended by minute, and
// interventions by rule; and for its workflows: ended runs by state, and how long they took.
//
// Promise: the transaction that accepts or ends a run also counts it, so a count is as durable as
// the run or its end. An ended run never opens again: a retry is a run of its own, and so is a
// child. Counts outlive the runs; they are retained for `runCountsMs`.
import type { EpochMs } from "../core/model/attempt.ts";
import type { Rule } from "../core/model/history.ts";
import type { EndKind, RunState } from "../core/model/model.ts";
import type { SubstateFilter } from "./lists.ts";
import type { RunId } from "./run-head.ts";
import type { TookCounts } from "./took-buckets.ts";

export const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_HOURS = 24;
/** Most open runs that are counted in one partition: about 100,000 in a region. */
export const OPEN_RUNS_COUNTED_MAX = 400;
/** Most open runs that are counted in one namespace. */
export const OPEN_RUNS_OF_NAMESPACE_MAX = 100_000;
/** Most runs that are counted of one substate, and most tasks that are read for it. */
export const SUBSTATE_RUNS_MAX = 10_000;
export const SUBSTATE_TASKS_MAX = 20_000;
/** Most interventions that are counted of one rule. */
export const INTERVENTIONS_COUNTED_MAX = 10_000;

export interface OpenRuns {
  /** Open runs by state; states without runs are left out. */
  readonly openRuns: ReadonlyMap<RunState["kind"], number>;
  /** False: there are more open runs, which were not counted. */
  readonly allCounted: boolean;
}

/** Open runs with a substate; a run with several is counted for each. */
export interface SubstateRuns {
  readonly substate: SubstateFilter;
  /** At most `SUBSTATE_RUNS_MAX`. */
  readonly runs: number;
  /** There are more, which were not counted. */
  readonly more: boolean;
}

/** Failures of a step with one error code. */
export interface FailingStep {
  readonly workflow: string;
  readonly step: string;
  /** The compensation of the step failed. */
  readonly isUndo: boolean;
  readonly code: string;
  /** Attempts that failed, or whose outcome is unknown. */
  readonly attempts: number;
  /** Steps, or items of a map, that failed for good. */
  readonly steps: number;
  readonly firstAt: EpochMs;
  readonly lastAt: EpochMs;
  readonly lastRunId: RunId;
  readonly lastMessage: string;
}

export interface RunCount {
  /** When the minute began, by the database's clock. */
  readonly minute: EpochMs;
  /** ACCEPTED, or the state in which runs ended. */
  readonly event: "ACCEPTED" | EndKind;
  readonly runs: number;
}

/** How the runs of a workflow ended; at least one of them did not complete. */
export interface WorkflowEnds {
  readonly workflow: string;
  readonly ends: Readonly<Record<EndKind, number>>;
}

/** The ended runs of a workflow. */
export interface WorkflowRuns {
  readonly workflow: string;
  readonly ends: Readonly<Record<EndKind, number>>;
  /** How long the runs took that reached COMPLETED, from acceptance to end. */
  readonly completedTook: TookCounts;
  /** When the last run reached FAILED or COMPENSATED; null: none did. */
  readonly lastFailureAt: EpochMs | null;
}

export interface Activity {
  /** `namespaceId` null: the runs of all namespaces. */
  openRuns(namespaceId: number | null): Promise<OpenRuns>;
  /** Substates without runs are left out. */
  substates(namespaceId: number): Promise<readonly SubstateRuns[]>;
  /** Exact counts of the minutes that began at `since` or later, the oldest first. */
  runCounts(namespaceId: number, since: EpochMs): Promise<readonly RunCount[]>;
  /** Exact counts. Workflows with the most ends other than COMPLETED come first. */
  unsuccessfulWorkflows(
    namespaceId: number,
    since: EpochMs,
    limit: number,
  ): Promise<readonly WorkflowEnds[]>;
  /**
   * Exact counts of the hours that began at `since` or later; `since` is the start of an hour.
   * Workflows without ended runs are left out.
   */
  workflowRuns(
    namespaceId: number,
    workflows: readonly string[],
    since: EpochMs,
  ): Promise<readonly WorkflowRuns[]>;
  /**
   * Failures in the minutes that began at `since` or later: those that failed most steps for good
   * first, then those that failed most attempts.
   */
  failingSteps(namespaceId: number, since: EpochMs, limit: number): Promise<readonly FailingStep[]>;
  /** As `failingSteps`, of one workflow. */
  failingStepsOf(
    namespaceId: number,
    workflow: string,
    since: EpochMs,
    limit: number,
  ): Promise<readonly FailingStep[]>;
  /**
   * Interventions by rule that were made at `since` or later; at most `INTERVENTIONS_COUNTED_MAX`
   * are counted of each rule.
   */
  countInterventions(namespaceId: number, since: EpochMs): Promise<ReadonlyMap<Rule, number>>;
}

export function minuteOf(at: EpochMs): EpochMs {
  return Math.floor(at / MINUTE_MS) * MINUTE_MS;
}

/** The start of the hour that was 24 hours ago: counts by hour since then are those of a day. */
export function dayBefore(now: EpochMs): EpochMs {
  return (Math.floor(now / HOUR_MS) - DAY_HOURS) * HOUR_MS;
}
