// The recovery ladder: what follows when a task of a step did not succeed.
//   1. retry by the first policy that answers the code; a lost task at once, elsewhere
//   2. (fallbacks: the next strategy)
//   3. the step has failed: the run gets its verdict. An undo that has failed asks a person
import { LOSSES_IN_A_ROW_MAX } from "./definition.ts";
import type { Side } from "./effect.ts";
import type { EscalationReason, Step } from "./model.ts";
import {
  emit,
  inWords,
  makeReady,
  type Pass,
  planStep,
  planTaskOf,
  stepOf,
  totalEndsAt,
} from "./pass.ts";
import { backoffMs, policyFor } from "./retry.ts";
import { stop } from "./saga.ts";

export interface Setback {
  readonly code: string;
  readonly message: string;
  readonly permanent: boolean;
  readonly retryAfterMs: number | null;
  /** The session that lost it; null when it was not lost. */
  readonly lostBy: string | null;
}

/** Decides what follows a setback of the side of a step whose task has just ended. */
export function climb(pass: Pass, no: number, side: Side, setback: Setback): void {
  const step = stepOf(pass, no);
  if (setback.lostBy !== null) {
    if (side === "forward" && pass.occasion.now >= totalEndsAt(pass, step)) totalOver(pass, step);
    else if (step.lost < LOSSES_IN_A_ROW_MAX) makeReady(pass, no, side, setback.lostBy);
    else escalate(pass, step, side, "poison", poisonMessage(step, setback));
    return;
  }
  const { retry } = planTaskOf(pass, no, side);
  const index = setback.permanent ? null : policyFor(retry, setback.code);
  const policy = index === null ? undefined : retry[index];
  const tries = index === null ? 0 : (step.tries[index] ?? 0);
  if (!policy || tries >= policy.attempts) {
    exhausted(pass, step, side, setback);
    return;
  }
  const { now, draw } = pass.occasion;
  const wakeAt = now + backoffMs(policy, tries, draw, setback.retryAfterMs);
  if (side === "forward" && wakeAt >= totalEndsAt(pass, step)) totalOver(pass, step);
  else emit(pass, { kind: "backed-off", step: no, side, wakeAt });
}

/** `total` is over, or would be before the next try: the step fails with `drover.total`. */
export function totalOver(pass: Pass, step: Step): void {
  const { now } = pass.occasion;
  const { totalMs } = planStep(pass, step.no).timeouts;
  emit(pass, {
    kind: "attempt-kept",
    attempt: {
      step: step.no,
      kind: "engine",
      fence: step.fence,
      attempt: step.attempt,
      agentId: null,
      session: null,
      secret: null,
      startedAt: step.firstReadyAt ?? now,
      endedAt: now,
      outcome: {
        kind: "failure",
        class: "permanent",
        code: "drover.total",
        message: `all tries together may take ${inWords(totalMs)}, which is over: raise timeouts.total`,
        retryAfterMs: null,
        noEffect: false,
      },
      digest: null,
    },
  });
  fail(pass, step, "drover.total");
}

function exhausted(pass: Pass, step: Step, side: Side, setback: Setback): void {
  if (side === "forward") fail(pass, step, setback.code);
  else {
    const tries = `after ${step.attempt} ${step.attempt === 1 ? "try" : "tries"}`;
    const what = `"${planStep(pass, step.no).id}" could not be undone ${tries}`;
    escalate(pass, step, side, "undo-failed", `${what}: ${setback.code}: ${setback.message}`);
  }
}

function fail(pass: Pass, step: Step, code: string): void {
  emit(pass, { kind: "failed", step: step.no, code });
  const { onFailure } = planStep(pass, step.no);
  stop(pass, { reason: "STEP_FAILED", undo: onFailure !== "fail" });
}

function escalate(
  pass: Pass,
  step: Step,
  side: Side,
  reason: EscalationReason,
  message: string,
): void {
  if (side === "undo") emit(pass, { kind: "undo-failed", step: step.no });
  emit(pass, { kind: "escalated", step: step.no, reason, message });
}

function poisonMessage(step: Step, setback: Setback): string {
  return `${step.lost} agents in a row were lost with this task (${setback.code}): it may be what kills them`;
}
