// The recovery policy: what follows when a task of a step did not succeed.
//   1. retry by the first policy that applies to the code; a lost task at once, with another agent
//   2. fall back: the next strategy of the plan, with new retries and an effect of its own
//   3. the step has failed: `on_failure`. An undo that has failed asks a person
// A step that must not be repeated blindly is verified before each of these levels
// (unknown-outcome.ts). A strategy is left only once its effect is settled (leave-strategy.ts).
import type { RetryPolicy } from "../definition/definition.ts";
import type { Setback, Step } from "../model/model.ts";
import {
  emit,
  escalate,
  makeReady,
  type Pass,
  planStep,
  retryOf,
  stepOf,
  totalEndsAt,
} from "../pass.ts";
import { LOSSES_IN_A_ROW_MAX } from "../plan/plan.ts";
import { TOTAL_OVER } from "./fail-step.ts";
import { leave, totalOver } from "./leave-strategy.ts";
import { onUnknownOutcome } from "./unknown-outcome.ts";

/** Decides what follows a setback of a task of the step that has just ended. */
export function recover(
  pass: Pass,
  no: number,
  task: "perform" | "compensate",
  setback: Setback,
): void {
  const plan = planStep(pass, no);
  const step = stepOf(pass, no);
  const forward = task === "perform";
  if (forward && setback.unknown && plan.effects !== "idempotent") {
    onUnknownOutcome(pass, no, setback);
    return;
  }
  if (forward && setback.code === TOTAL_OVER) {
    leave(pass, no, setback);
    return;
  }
  if (setback.lostBy !== null) {
    if (forward && pass.time.now >= totalEndsAt(pass, step)) totalOver(pass, step);
    else if (step.lost < LOSSES_IN_A_ROW_MAX) makeReady(pass, no, task, setback.lostBy);
    else poison(pass, step, forward, setback);
    return;
  }
  const next = nextTry(pass, step, task, setback);
  if (next === null) {
    if (forward) leave(pass, no, setback);
    else undoFailed(pass, step, setback);
    return;
  }
  const { now, draw } = pass.time;
  const wakeAt = now + backoffMs(next.policy, next.tries, draw, setback.retryAfterMs);
  if (forward && wakeAt >= totalEndsAt(pass, step)) totalOver(pass, step);
  else emit(pass, { kind: "backed-off", step: no, task, cause: "retry", wakeAt });
}

/** The policy that allows another try after the setback; null: none does. */
export function nextTry(
  pass: Pass,
  step: Step,
  task: "perform" | "compensate",
  setback: Setback,
): { readonly policy: RetryPolicy; readonly tries: number } | null {
  const retry = retryOf(planStep(pass, step.no), step, task);
  const index = setback.permanent ? null : policyFor(retry, setback.code);
  const policy = index === null ? undefined : retry[index];
  const tries = index === null ? 0 : (step.tries[index] ?? 0);
  return policy && tries < policy.attempts ? { policy, tries } : null;
}

function undoFailed(pass: Pass, step: Step, { code, message }: Setback): void {
  const tries = `after ${step.attempt} ${step.attempt === 1 ? "try" : "tries"}`;
  const what = `"${planStep(pass, step.no).id}" could not be undone ${tries}`;
  emit(pass, { kind: "undo-failed", step: step.no });
  escalate(pass, step.no, "undo-failed", `${what}: ${code}: ${message}`, code);
}

const POISON = "drover.poison";

function poison(pass: Pass, step: Step, forward: boolean, { code }: Setback): void {
  const message = `${step.lost} agents in a row were lost with this task (${code}): it may be the cause`;
  if (forward) {
    escalate(pass, step.no, "poison", message, POISON);
    return;
  }
  emit(pass, { kind: "undo-failed", step: step.no });
  escalate(pass, step.no, "undo-failed", message, POISON);
}

/** Index of the first policy that applies to this code; null: there is no retry. */
export function policyFor(policies: readonly RetryPolicy[], code: string): number | null {
  const index = policies.findIndex((policy) => policy.on.length === 0 || policy.on.includes(code));
  return index === -1 ? null : index;
}

/**
 * Milliseconds until the next try after `tries` counted ones: exponential up to `maxMs`, spread by
 * `jitter` with the random number `draw`; never before the remote service asked to be called again.
 */
export function backoffMs(
  policy: RetryPolicy,
  tries: number,
  draw: number,
  retryAfterMs: number | null,
): number {
  const grown = policy.initialMs * policy.factor ** Math.max(0, tries - 1);
  const spread = 1 + policy.jitter * (2 * draw - 1);
  return Math.max(Math.round(Math.min(grown, policy.maxMs) * spread), retryAfterMs ?? 0);
}
