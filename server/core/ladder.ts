// The recovery ladder: what follows when a task of a step did not succeed.
//   1. retry by the first policy that answers the code; a lost task at once, elsewhere
//   2. fall back: the next strategy of the plan, with fresh retries and an effect of its own
//   3. the step has failed: `on_failure`. An undo that has failed asks a person
// A step that must not be repeated blindly is verified before each rung (verify.ts).
import { inDoubt } from "./doubt.ts";
import { currentMark } from "./evolve.ts";
import type { Setback, Step, Verdict } from "./model.ts";
import { beginStrategy, continueAfter } from "./open.ts";
import {
  emit,
  escalate,
  inWords,
  keepFacts,
  makeReady,
  type Pass,
  planStep,
  retryOf,
  stepOf,
  totalEndsAt,
} from "./pass.ts";
import { itemOf } from "./place.ts";
import { LOSSES_IN_A_ROW_MAX } from "./plan.ts";
import { backoffMs, policyFor } from "./retry.ts";
import { stop } from "./saga.ts";
import { currentStrategy, isUnsettled, nextStrategyPlace } from "./strategy.ts";

export const TOTAL_OVER = "drover.total";

/** Decides what follows a setback of a task of the step that has just ended. */
export function climb(
  pass: Pass,
  no: number,
  task: "perform" | "compensate",
  setback: Setback,
): void {
  const plan = planStep(pass, no);
  const step = stepOf(pass, no);
  const forward = task === "perform";
  if (forward && setback.unknown && plan.effects !== "idempotent") {
    inDoubt(pass, no, setback);
    return;
  }
  if (forward && setback.code === TOTAL_OVER) {
    leave(pass, no, setback);
    return;
  }
  if (setback.lostBy !== null) {
    if (forward && pass.occasion.now >= totalEndsAt(pass, step)) totalOver(pass, step);
    else if (step.lost < LOSSES_IN_A_ROW_MAX) makeReady(pass, no, task, setback.lostBy);
    else poison(pass, step, forward, setback);
    return;
  }
  const retry = retryOf(plan, step, task);
  const index = setback.permanent ? null : policyFor(retry, setback.code);
  const policy = index === null ? undefined : retry[index];
  const tries = index === null ? 0 : (step.tries[index] ?? 0);
  if (!policy || tries >= policy.attempts) {
    if (forward) leave(pass, no, setback);
    else undoFailed(pass, step, setback);
    return;
  }
  const { now, draw } = pass.occasion;
  const wakeAt = now + backoffMs(policy, tries, draw, setback.retryAfterMs);
  if (forward && wakeAt >= totalEndsAt(pass, step)) totalOver(pass, step);
  else emit(pass, { kind: "backed-off", step: no, task, cause: "retry", wakeAt });
}

/** `total` is over, or would be before the next try: the step fails with `drover.total`. */
export function totalOver(pass: Pass, step: Step): void {
  const { totalMs } = planStep(pass, step.no).timeouts;
  const message = `all tries together may take ${inWords(totalMs)}, which is over: raise timeouts.total`;
  keepFailure(pass, step, TOTAL_OVER, message);
  leave(pass, step.no, { ...PERMANENT, code: TOTAL_OVER, message });
}

export const PERMANENT = Object.freeze({
  permanent: true,
  unknown: false,
  retryAfterMs: null,
  lostBy: null,
});

/** A failure that no agent reported, as a row. */
export function keepFailure(pass: Pass, step: Step, code: string, message: string): void {
  const { now } = pass.occasion;
  emit(pass, {
    kind: "attempt-kept",
    attempt: {
      step: step.no,
      kind: "engine",
      fence: step.fence,
      n: 0,
      attempt: step.attempt,
      agentId: null,
      session: null,
      secret: null,
      startedAt: step.firstReadyAt ?? now,
      endedAt: now,
      outcome: {
        kind: "failure",
        class: "permanent",
        code,
        message,
        retryAfterMs: null,
        noEffect: false,
      },
      digest: null,
    },
  });
}

/** Leaves the strategy, with no effect of it in doubt: to the next one, or to rung 3. */
export function leave(pass: Pass, no: number, setback: Setback): void {
  const plan = planStep(pass, no);
  const step = stepOf(pass, no);
  if (isUnsettled(currentMark(step)) && plan.effects !== "idempotent") {
    inDoubt(pass, no, setback);
    return;
  }
  const planned = nextPlanned(pass, step);
  if (planned === null || setback.code === TOTAL_OVER) {
    fail(pass, no, setback);
  } else if (pass.occasion.now >= totalEndsAt(pass, step)) {
    totalOver(pass, step);
  } else {
    const place = nextStrategyPlace(step);
    emit(pass, { kind: "strategy-begun", step: no, place, planned, input: null });
    beginStrategy(pass, no, planned);
  }
}

/** The strategy of the plan after the one that the step is tried in; null: it was the last. */
export function nextPlanned(pass: Pass, step: Step): number | null {
  const { work } = planStep(pass, step.no);
  if (work.kind !== "task" && work.kind !== "run") return null;
  const next = (step.strategies[currentStrategy(step)]?.planned ?? 0) + 1;
  return next < work.strategies.length ? next : null;
}

/** Rung 3: what the step's `on_failure` says; undecided, what can be undone is. */
export function fail(
  pass: Pass,
  no: number,
  { code, message }: Pick<Setback, "code" | "message">,
): void {
  const { id, onFailure, always } = planStep(pass, no);
  const { pivoted } = pass.view.run;
  const says = onFailure ?? (always ? "escalate" : "compensate");
  if (says === "escalate") {
    escalate(pass, no, "step-failed", `"${id}" failed for good: ${code}: ${message}`, code);
  } else if (itemOf(no) > 0) {
    // Its map says what follows from that (map.ts).
    emit(pass, { kind: "failed", step: no, code });
  } else if (says === "compensate" && pivoted) {
    const past = `"${id}" failed after the pivot, and nothing is undone from there on`;
    escalate(pass, no, "after-pivot", `${past}: ${code}: ${message}`, code);
  } else {
    emit(pass, { kind: "failed", step: no, code });
    if (says === "continue") continueAfter(pass, no, { code, message });
    else {
      keepFacts(pass, no, { status: "FAILED", output: null, error: { code, message } });
      giveVerdict(pass, { reason: "STEP_FAILED", undo: says === "compensate" });
    }
  }
}

/** A paused run keeps its first verdict until it is resumed. */
export function giveVerdict(pass: Pass, verdict: Verdict): void {
  const { state } = pass.view.run;
  if (state.kind !== "PAUSED") stop(pass, verdict);
  else if (state.verdict === null)
    emit(pass, { kind: "run-moved", by: "verdict", state: { ...state, verdict } });
}

function undoFailed(pass: Pass, step: Step, { code, message }: Setback): void {
  const tries = `after ${step.attempt} ${step.attempt === 1 ? "try" : "tries"}`;
  const what = `"${planStep(pass, step.no).id}" could not be undone ${tries}`;
  emit(pass, { kind: "undo-failed", step: step.no });
  escalate(pass, step.no, "undo-failed", `${what}: ${code}: ${message}`, code);
}

const POISON = "drover.poison";

function poison(pass: Pass, step: Step, forward: boolean, { code }: Setback): void {
  const message = `${step.lost} agents in a row were lost with this task (${code}): it may be what kills them`;
  if (forward) {
    escalate(pass, step.no, "poison", message, POISON);
    return;
  }
  emit(pass, { kind: "undo-failed", step: step.no });
  escalate(pass, step.no, "undo-failed", message, POISON);
}
