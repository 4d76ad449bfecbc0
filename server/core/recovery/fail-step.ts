// Level 3 of the recovery policy: the step has failed for good, and its `on_failure` says what
// follows.
import type { Setback, Step, StopReason } from "../model/model.ts";
import { itemOf } from "../model/step-key.ts";
import { continueAfter } from "../open.ts";
import { addFacts, emit, escalate, type Pass, planStep } from "../pass.ts";
import { stop } from "./saga.ts";

export const TOTAL_OVER = "drover.total";
/** Error code of a failure that a person declared. */
export const ANSWERED = "drover.answered";

export const PERMANENT = Object.freeze({
  permanent: true,
  unknown: false,
  retryAfterMs: null,
  lostBy: null,
});

/** Stores a failure that no agent reported, as an attempt. */
export function recordFailure(pass: Pass, step: Step, code: string, message: string): void {
  const { now } = pass.time;
  emit(pass, {
    kind: "attempt-stored",
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

/**
 * Level 3: applies the step's `on_failure`. The default compensates the run; an `always` step
 * escalates.
 */
export function fail(
  pass: Pass,
  no: number,
  { code, message }: Pick<Setback, "code" | "message">,
): void {
  const { id, onFailure, always } = planStep(pass, no);
  const { pivoted } = pass.view.run;
  const choice = onFailure ?? (always ? "escalate" : "compensate");
  if (choice === "escalate") {
    escalate(pass, no, "step-failed", `"${id}" failed for good: ${code}: ${message}`, code);
  } else if (itemOf(no) > 0) {
    // The map of an item decides what follows (map.ts).
    emit(pass, { kind: "failed", step: no, id, code, message, effect: "none" });
  } else if (choice === "compensate" && pivoted) {
    const past = `"${id}" failed after the pivot, and nothing is undone from there on`;
    escalate(pass, no, "after-pivot", `${past}: ${code}: ${message}`, code);
  } else {
    const effect = choice === "continue" ? "continue" : "stop";
    emit(pass, { kind: "failed", step: no, id, code, message, effect });
    if (choice === "continue") continueAfter(pass, no, { code, message });
    else {
      addFacts(pass, no, { status: "FAILED", output: null, error: { code, message } });
      stopRun(pass, { reason: "STEP_FAILED", undo: choice === "compensate" });
    }
  }
}

/** Stops the run. A paused run keeps its first stop reason until it is resumed. */
export function stopRun(pass: Pass, stopReason: StopReason): void {
  const { state } = pass.view.run;
  if (state.kind !== "PAUSED") stop(pass, stopReason);
  else if (state.stopReason === null)
    emit(pass, { kind: "run-moved", by: "stop", state: { ...state, stopReason } });
}
