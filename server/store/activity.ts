// What an overview counts in a namespace: open runs as they are, runs by the minute in which they
// were accepted or ended, and what supervisors did.
//
// Promise: runs are counted by the transaction that accepts or ends them, so a count is there as
// surely as the run or its end. An ended run never opens again; a retry of it is a run of its own,
// and so is a child. Counts outlive the runs: they are kept for `runCountsMs`.
import type { EpochMs } from "../core/attempt.ts";
import type { Rule } from "../core/history.ts";
import type { EndKind, RunState } from "../core/model.ts";

export const MINUTE_MS = 60_000;
/** Of one partition: a hundred thousand in a region. */
export const OPEN_RUNS_COUNTED_MAX = 400;
/** Of one namespace. */
export const OPEN_RUNS_OF_NAMESPACE_MAX = 100_000;
/** Of one rule. */
export const INTERVENTIONS_COUNTED_MAX = 10_000;

export interface OpenRuns {
  /** Open runs by state; states without any are left out. */
  readonly openRuns: ReadonlyMap<RunState["kind"], number>;
  /** False: there are more, which were not counted. */
  readonly allCounted: boolean;
}

export interface RunCount {
  /** When the minute of the database's clock began. */
  readonly minute: EpochMs;
  /** ACCEPTED, or the state in which runs ended. */
  readonly event: "ACCEPTED" | EndKind;
  readonly runs: number;
}

/** How the runs of a workflow ended, of which some did not complete. */
export interface WorkflowEnds {
  readonly workflow: string;
  readonly ends: Readonly<Record<EndKind, number>>;
}

export interface Activity {
  /** `namespaceId` null: of all namespaces. */
  openRuns(namespaceId: number | null): Promise<OpenRuns>;
  /** Exact, of the minutes that began at `since` or later, the oldest first. */
  runCounts(namespaceId: number, since: EpochMs): Promise<readonly RunCount[]>;
  /** Exact too; those with most ends other than COMPLETED first. */
  unsuccessfulWorkflows(
    namespaceId: number,
    since: EpochMs,
    limit: number,
  ): Promise<readonly WorkflowEnds[]>;
  /** By rule, those that acted at `since` or later, up to `INTERVENTIONS_COUNTED_MAX` of each. */
  countInterventions(namespaceId: number, since: EpochMs): Promise<ReadonlyMap<Rule, number>>;
}

export function minuteOf(at: EpochMs): EpochMs {
  return Math.floor(at / MINUTE_MS) * MINUTE_MS;
}
