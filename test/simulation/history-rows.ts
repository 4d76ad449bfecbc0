// The rows of the store at the end of a history, as its reads give them, and what is recorded of
// them.

import type { Definition } from "../../server/core/definition/definition.ts";
import type { EpochMs, Outcome } from "../../server/core/model/attempt.ts";
import type { EndKind, Reason, RunState, Step } from "../../server/core/model/model.ts";
import type { Concurrency } from "../../server/core/model/permits.ts";
import { SCHEDULE_LABEL } from "../../server/scheduler/cron/start-occurrences.ts";
import type { DeliveryRecord, OutboxKind } from "../../server/store/outbox.ts";
import type {
  AttemptRecord,
  DecisionRecord,
  EscalationRecord,
  InterventionRecord,
  ParentRun,
  RerunOf,
  RunDetail,
  SignalRecord,
} from "../../server/store/reads.ts";
import type { Occurrence, ScheduleRecord, ScheduleSpec } from "../../server/store/schedules.ts";

export interface FinalRows {
  readonly at: EpochMs;
  /** Whether all faults were healed and runs had time to end: only then liveness is checked. */
  readonly drained: boolean;
  readonly definitions: readonly { readonly id: number; readonly definition: Definition }[];
  readonly runs: readonly FinalRun[];
  readonly keys: readonly {
    readonly namespace: string;
    readonly key: string;
    readonly runId: string;
    readonly digest: string;
  }[];
  /** Of concurrency keys: the runs that hold one or wait for one at the end. */
  readonly permits: readonly {
    readonly namespace: string;
    readonly key: string;
    readonly runId: string;
    readonly holds: boolean;
  }[];
  /** Every schedule that was ever made. */
  readonly schedules: readonly FinalSchedule[];
  /** The outcomes of their occurrences, in the order in which they were written. */
  readonly occurrences: readonly FinalOccurrence[];
  /** Those that have waited for the ends of runs all the time. */
  readonly triggers: readonly EndTrigger[];
  /** The starts that they refused, as text. */
  readonly refusals: readonly string[];
  readonly hooks: readonly {
    readonly namespace: string;
    readonly name: string;
    readonly events: readonly OutboxKind[];
  }[];
  /** All webhook deliveries, with their state. */
  readonly deliveries: readonly FinalDelivery[];
  /** Who watches each partition at the end, where known; empty: not known. */
  readonly owners: readonly {
    readonly partition: number;
    readonly node: string;
    readonly epoch: number;
  }[];
}

export interface FinalSchedule {
  readonly id: string;
  readonly namespace: string;
  readonly name: string;
  readonly partition: number;
  readonly spec: Pick<ScheduleSpec, "calendar" | "overlap" | "catchUpMs" | "jitterMs">;
  readonly createdAt: EpochMs;
  /** null: it was deleted. */
  readonly current: Pick<ScheduleRecord, "next" | "pause"> | null;
}

export interface FinalOccurrence extends Omit<Occurrence, "message"> {
  readonly handledAt: EpochMs;
}

/** A trigger that waits for runs of a workflow to end in some states. */
export interface EndTrigger {
  readonly namespace: string;
  readonly name: string;
  readonly workflow: string;
  readonly states: readonly EndKind[];
}

export interface FinalDelivery
  extends Pick<
    DeliveryRecord,
    "id" | "hook" | "kind" | "count" | "runId" | "n" | "state" | "nextTryAt"
  > {
  readonly namespace: string;
  /** false: no server has read the outbox for it yet. */
  readonly made: boolean;
}

export interface FinalRun {
  readonly runId: string;
  readonly namespace: string;
  readonly partition: number;
  readonly definitionId: number;
  readonly key: string | null;
  /** The label `request`. */
  readonly mark: string | null;
  /** The name of the schedule that began it. */
  readonly scheduledBy: string | null;
  readonly concurrency: Concurrency | null;
  readonly rerunOf: RerunOf | null;
  /** Steps of the run that it does again; `of`: the one that made their effects. */
  readonly reused: readonly { readonly step: number; readonly of: string }[];
  /** The run whose step began it. */
  readonly parent: ParentRun | null;
  readonly state: RunState["kind"];
  readonly reason: Reason | null;
  readonly version: number;
  readonly createdAt: EpochMs;
  readonly endedAt: EpochMs | null;
  /** The run's own timer (deadline, end of settling); null: it has none. */
  readonly wakeAt: EpochMs | null;
  /** As in their pages; steps that are in none are left out. */
  readonly steps: readonly Step[];
  readonly attempts: readonly FinalAttempt[];
  readonly interventions: readonly InterventionRecord[];
  readonly escalations: readonly EscalationRecord[];
  readonly signals: readonly Pick<SignalRecord, "id" | "name" | "takenBy">[];
  readonly decisions: readonly Pick<DecisionRecord, "step" | "approver" | "approved">[];
  /** A pivot has succeeded: the run is not undone any more. */
  readonly pivoted: boolean;
}

/** An attempt, its outcome without payloads. */
export interface FinalAttempt extends Omit<AttemptRecord, "session" | "outcome" | "progress"> {
  readonly outcome: OutcomeFact;
}

export type OutcomeFact =
  | {
      readonly kind: "failure";
      readonly class: "transient" | "permanent";
      readonly code: string;
      readonly retryAfterMs: number | null;
      readonly noEffect: boolean;
    }
  | { readonly kind: "unknown"; readonly code: string }
  | { readonly kind: "cancelled"; readonly noEffect: boolean }
  | {
      readonly kind:
        | ("success" | "again" | "deferred" | "released")
        | ("undelivered" | "unsent" | "superseded");
    };

/** The label under which a scheduling client writes its `mark`. */
export const MARK_LABEL = "request";

export function outcomeFact(outcome: Outcome): OutcomeFact {
  switch (outcome.kind) {
    case "failure": {
      const { kind, class: failureClass, code, retryAfterMs, noEffect } = outcome;
      return { kind, class: failureClass, code, retryAfterMs, noEffect };
    }
    case "unknown":
      return { kind: outcome.kind, code: outcome.code };
    case "cancelled":
      return { kind: outcome.kind, noEffect: outcome.noEffect };
    default:
      return { kind: outcome.kind };
  }
}

/** The final row of a run from `reads.runDetail` with everything wanted, and what it lacks. */
export function finalRun(
  detail: RunDetail,
  beside: {
    readonly namespace: string;
    readonly partition: number;
    readonly wakeAt: EpochMs | null;
  },
): FinalRun {
  const { run } = detail;
  return {
    ...beside,
    runId: run.runId,
    definitionId: run.definitionId,
    key: run.key,
    mark: run.labels[MARK_LABEL] ?? null,
    scheduledBy: run.labels[SCHEDULE_LABEL] ?? null,
    concurrency: run.concurrency,
    rerunOf: run.rerunOf,
    parent: run.parent,
    reused: [...detail.reused].map(([step, of]) => ({ step, of })),
    state: run.state,
    reason: run.reason,
    version: run.stateVersion,
    createdAt: run.createdAt,
    endedAt: run.endedAt,
    steps: [...detail.steps.values()].sort((a, b) => a.no - b.no),
    attempts: detail.attempts.map(({ progress: _, ...row }) => ({
      ...row,
      outcome: outcomeFact(row.outcome),
    })),
    interventions: detail.interventions,
    escalations: detail.escalations,
    signals: detail.signals.map(({ id, name, takenBy }) => ({ id, name, takenBy })),
    decisions: detail.decisions.map(({ step, approver, approved }) => ({
      step,
      approver,
      approved,
    })),
    pivoted: detail.pivoted,
  };
}

export function isEndState(state: FinalRun["state"]): boolean {
  return ["COMPLETED", "FAILED", "COMPENSATED", "CANCELLED"].includes(state);
}
