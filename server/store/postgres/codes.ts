// The small integers that stand for names in the tables. A code is the index in its list: lists
// only grow at their end. The views in migrations/ contain the same lists in words; a test compares
// them.
import type { CircuitState, Forced } from "../../core/model/circuit.ts";
import type { AnswerKind, EscalationReason, Rule } from "../../core/model/history.ts";
import type { Message } from "../../core/model/message.ts";
import type { Reason, RunState } from "../../core/model/model.ts";
import type { ConcurrencyPolicy } from "../../core/model/permits.ts";
import type { CordonKind } from "../circuits.ts";
import { type DeliveryState, OUTBOX_KINDS, type OutboxKind } from "../outbox.ts";
import { HAND_OVER_REASONS, type HandOverReason } from "../partition-session.ts";
import {
  OCCURRENCE_CAUSES,
  OCCURRENCE_OUTCOMES,
  type OccurrenceCause,
  type OccurrenceOutcome,
} from "../schedules.ts";

interface Codes<Name extends string> {
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
  "permit",
  "no-permit",
  "make-room",
  "child-ended",
]);
export const policies = codes<ConcurrencyPolicy>("concurrency policy", [
  "queue",
  "refuse",
  "cancel-oldest",
  "queue-one",
]);
export const occurrenceCauses = codes<OccurrenceCause>("occurrence cause", OCCURRENCE_CAUSES);
export const occurrenceOutcomes = codes<OccurrenceOutcome>(
  "occurrence outcome",
  OCCURRENCE_OUTCOMES,
);
export const circuitStates = codes<CircuitState["kind"]>("circuit state", [
  "closed",
  "open",
  "trying",
]);
export const circuitSettings = codes<Exclude<Forced, null>>("circuit setting", ["closed", "open"]);
export const handOverReasons = codes<HandOverReason>("hand-over", HAND_OVER_REASONS);
export const cordonKinds = codes<CordonKind>("cordon", ["agent", "version", "session"]);

/** The lists whose words the .sql files use. */
export const CODES: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ["run_state", runStates.names],
  ["circuit_state", circuitStates.names],
  ["circuit_setting", circuitSettings.names],
  ["cordon_kind", cordonKinds.names],
  ["delivery_state", deliveryStates.names],
  ["outbox_kind", outboxKinds.names],
  ["hand_over_why", handOverReasons.names],
]);
