// The small integers that stand for names in the tables. A code is a place in its list: lists only
// grow at their end. The views in migrations/ spell the same lists in words; a test compares them.
import type { AttemptKind, FailureClass, Outcome, TaskKind } from "../../core/attempt.ts";
import type { CircuitState, Forced } from "../../core/circuit.ts";
import type { AnswerKind, EscalationReason, Rule } from "../../core/history.ts";
import type { Message } from "../../core/message.ts";
import type { BackoffCause, CancelCause, Reason, RunState, WaitingFor } from "../../core/model.ts";
import type { ConcurrencyPolicy } from "../../core/slots.ts";
import type { EffectMark } from "../../core/strategy.ts";
import { TASKS } from "../attempts.ts";
import type { CordonKind } from "../circuits.ts";
import { type DeliveryState, OUTBOX_KINDS, type OutboxKind } from "../outbox.ts";
import { HAND_OVER_WHYS, type HandOverWhy } from "../partition-session.ts";
import { FIRE_CAUSES, FIRE_OUTCOMES, type FireCause, type FireOutcome } from "../schedules.ts";
import type { StoredState } from "../step-row.ts";

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
  "PAUSED",
  "FINISHING",
  "PENDING",
]);

export const reasons = codes<Reason>("reason", [
  "DONE",
  "STEP_FAILED",
  "TIMED_OUT",
  "CANCELLED_BY_USER",
  "NEVER_STARTED",
  "REFUSED",
  "CANCELLED_BY_NEWER",
]);

export type StoredForward = StoredState<"forward">;

export const forwards = codes<StoredForward>("forward state", [
  "BLOCKED",
  "OPEN",
  "BACKOFF",
  "ESCALATED",
  "SUCCEEDED",
  "FAILED",
  "CANCELLED",
  "WAITING",
  "HELD",
  "SKIPPED",
  "MAPPING",
  "UNDOING",
]);

export type StoredUndo = StoredState<"undo">;

export const undos = codes<StoredUndo>("undo state", [
  "NONE",
  "PENDING",
  "OPEN",
  "BACKOFF",
  "DONE",
  "FAILED",
  "WAITING",
  "HELD",
  "MAPPING",
]);

/** States in which a side of a step moves no more, and asks nobody. */
export const FORWARD_ENDS = (["SUCCEEDED", "FAILED", "SKIPPED", "CANCELLED"] as const).map(
  forwards.code,
);
export const UNDO_ENDS = (["NONE", "DONE"] as const).map(undos.code);

export const marks = codes<EffectMark>("effect mark", [
  "NONE",
  "UNSETTLED",
  "MADE",
  "ATTEMPTED",
  "UNDONE",
  "LINGERING",
  "CLEARED",
]);

export const attemptKinds = codes<AttemptKind>("attempt kind", [
  "perform",
  "compensate",
  "late",
  "engine",
  "verify",
  "answer",
]);

/** A task has the code of the attempt as which it ends. */
export const taskKinds: Codes<TaskKind> = {
  names: TASKS,
  code: attemptKinds.code,
  name(code) {
    const task = TASKS.find((name) => attemptKinds.code(name) === code);
    if (task === undefined) throw new Error(`no task has the code ${code}`);
    return task;
  },
};

/** What a due row is for: a backoff, by its task and its cause, or what the step waits for. */
export const dueKinds = codes<`${TaskKind} ${BackoffCause}` | WaitingFor>("due row", [
  "perform retry",
  "perform again",
  "perform settle",
  "compensate retry",
  "compensate again",
  "compensate settle",
  "verify retry",
  "verify again",
  "verify settle",
  "timer",
  "signal",
  "approval",
  "callback",
  "child",
  "child-end",
  "items",
]);

export const cancels = codes<"none" | "asked" | "heard">("cancel", ["none", "asked", "heard"]);
export const cancelCauses = codes<CancelCause>("cancel cause", ["run", "timeout", "stalled"]);
export const outcomes = codes<Outcome["kind"]>("outcome", [
  "success",
  "failure",
  "unknown",
  "released",
  "cancelled",
  "undelivered",
  "again",
  "deferred",
  "superseded",
  "unsent",
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
  "stall",
  "timer",
  "signal",
  "approval",
  "callback",
  "start",
  "agent-circuit",
  "queue-circuit",
  "forgotten",
  "slow",
  "integrity",
  "failing",
]);
export const escalationReasons = codes<EscalationReason>("escalation reason", [
  "undo-failed",
  "poison",
  "unknown",
  "unverified",
  "expression",
  "step-failed",
  "after-pivot",
  "pickup",
  "expired",
  "doubled",
]);
export const answers = codes<AnswerKind>("answer", [
  "retry",
  "retry-changed",
  "succeed",
  "skip",
  "compensate",
  "fail",
  "acknowledge",
]);
export const outboxKinds = codes<OutboxKind>("outbox kind", OUTBOX_KINDS);
export const deliveryStates = codes<DeliveryState>("delivery state", [
  "pending",
  "delivered",
  "given-up",
]);

export const messageKinds = codes<Message["kind"]>("message", [
  "cancel",
  "pause",
  "resume",
  "slot",
  "no-slot",
  "make-room",
  "child-ended",
]);
export const policies = codes<ConcurrencyPolicy>("concurrency policy", [
  "queue",
  "refuse",
  "cancel-oldest",
  "queue-one",
]);
export const fireCauses = codes<FireCause>("fire cause", FIRE_CAUSES);
export const fireOutcomes = codes<FireOutcome>("fire outcome", FIRE_OUTCOMES);
export const circuitStates = codes<CircuitState["kind"]>("circuit state", [
  "closed",
  "open",
  "trying",
]);
export const circuitSettings = codes<Exclude<Forced, null>>("circuit setting", ["closed", "open"]);
export const handOverWhys = codes<HandOverWhy>("hand-over", HAND_OVER_WHYS);
export const cordonKinds = codes<CordonKind>("cordon", ["agent", "version"]);
