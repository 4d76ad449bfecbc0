// The small integers that stand for names in the tables. A code is a place in its list: lists only
// grow at their end. The views in migrations/ spell the same lists in words; a test compares them.
import type {
  AttemptKind,
  EffectMark,
  EscalationReason,
  FailureClass,
  Outcome,
  Reason,
  Rule,
  RunState,
  TaskKind,
} from "../../core/model.ts";

export interface Codes<Name extends string> {
  readonly names: readonly Name[];
  readonly code: (name: Name) => number;
  readonly name: (code: number) => Name;
}

function codes<Name extends string>(what: string, names: readonly Name[]): Codes<Name> {
  return {
    names,
    code(name) {
      const code = names.indexOf(name);
      if (code === -1) throw new Error(`${what} has no code for "${name}"`);
      return code;
    },
    name(code) {
      const name = names[code];
      if (name === undefined) throw new Error(`${what} has no name for code ${code}`);
      return name;
    },
  };
}

export const runStates = codes<RunState["kind"]>("run state", [
  "RUNNING",
  "STOPPING",
  "COMPENSATING",
  "ESCALATED",
  "COMPLETED",
  "FAILED",
  "COMPENSATED",
  "CANCELLED",
]);

export const reasons = codes<Reason>("reason", [
  "DONE",
  "STEP_FAILED",
  "TIMED_OUT",
  "CANCELLED_BY_USER",
]);

export type StoredForward =
  | "BLOCKED"
  | "OPEN"
  | "BACKOFF"
  | "ESCALATED"
  | "SUCCEEDED"
  | "FAILED"
  | "CANCELLED";

export const forwards = codes<StoredForward>("forward state", [
  "BLOCKED",
  "OPEN",
  "BACKOFF",
  "ESCALATED",
  "SUCCEEDED",
  "FAILED",
  "CANCELLED",
]);

export type StoredUndo = "NONE" | "PENDING" | "OPEN" | "BACKOFF" | "DONE" | "FAILED";

export const undos = codes<StoredUndo>("undo state", [
  "NONE",
  "PENDING",
  "OPEN",
  "BACKOFF",
  "DONE",
  "FAILED",
]);

export const effects = codes<EffectMark>("effect", ["NONE", "UNSETTLED", "MADE"]);
export const taskKinds = codes<TaskKind>("task kind", ["perform", "compensate"]);
export const attemptKinds = codes<AttemptKind>("attempt kind", [
  "perform",
  "compensate",
  "late",
  "engine",
]);
export const cancels = codes<"none" | "asked" | "heard">("cancel", ["none", "asked", "heard"]);
export const cancelCauses = codes<"run" | "timeout">("cancel cause", ["run", "timeout"]);
export const outcomes = codes<Outcome["kind"]>("outcome", [
  "success",
  "failure",
  "unknown",
  "released",
  "cancelled",
  "undelivered",
]);
export const failureClasses = codes<FailureClass>("failure class", ["transient", "permanent"]);
export const rules = codes<Rule>("rule", [
  "lease",
  "delivery",
  "attempt",
  "pickup",
  "total",
  "backoff",
  "settle",
  "deadline",
  "late-effect",
]);
export const escalationReasons = codes<EscalationReason>("escalation reason", [
  "undo-failed",
  "poison",
]);
