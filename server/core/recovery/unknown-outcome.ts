// Unknown outcomes. A blind retry may charge a card twice, a blind failure may leave a booking
// behind. The `effects` of the step decide:
//
//   idempotent   the task is retried under the same key (recovery.ts)
//   verifiable   a verify task finds out first, once no lost attempt can act
//   once         the task is never run again: a person decides
//
// Until the outcome is settled, the step stores the setback that led to it. If there was no effect,
// the recovery policy continues from that setback.
import type { Outcome, TaskKind } from "../model/attempt.ts";
import { isDoneWithoutOutput } from "../model/evaluator.ts";
import type { Setback, Step, UnknownOutcome } from "../model/model.ts";
import { succeed } from "../open.ts";
import {
  addFacts,
  emit,
  escalate,
  makeReady,
  type Pass,
  planStep,
  planTaskOf,
  setEffectStatus,
  stepOf,
  type TaskEnd,
} from "../pass.ts";
import { PERMANENT } from "./fail-step.ts";
import { isUndoneFirst, undoStrategy } from "./leave-strategy.ts";
import { backoffMs, nextTry, policyFor, recover } from "./recovery.ts";

/** The outcome of the attempt is unknown, and the step must not be repeated blindly. */
export function onUnknownOutcome(pass: Pass, no: number, setback: Setback): void {
  const { verify, id, compensate } = planStep(pass, no);
  if (verify) {
    emit(pass, {
      kind: "outcome-unknown",
      step: no,
      unknownOutcome: { ...setback, unknown: false, tries: 0 },
    });
    afterSettling(pass, no, "verify");
  } else if (pass.view.run.state.kind === "STOPPING" && compensate) {
    emit(pass, { kind: "cancelled", step: no });
  } else {
    const message = `whether "${id}" took effect is unknown: ${setback.code}: ${setback.message}`;
    escalate(pass, no, "unknown", message, setback.code);
  }
}

/**
 * Makes the task ready. An undo, and any task of a step that is not idempotent, waits until a lost
 * attempt can act no more.
 */
export function afterSettling(pass: Pass, no: number, task: TaskKind): void {
  const { settleUntil } = stepOf(pass, no);
  const { effects } = planStep(pass, no);
  const waits = task === "compensate" || effects !== "idempotent";
  if (waits && settleUntil !== null && settleUntil > pass.time.now)
    emit(pass, { kind: "backed-off", step: no, task, cause: "settle", wakeAt: settleUntil });
  else makeReady(pass, no, task);
}

/**
 * The end of a verify task: the effect happened, it did not, or the task is inconclusive. The
 * unknown outcome is settled, verified again, or given to a person.
 */
export function verifyEnded(pass: Pass, no: number, ended: TaskEnd): void {
  const { outcome } = ended;
  const { unknownOutcome } = stepOf(pass, no);
  if (!unknownOutcome) throw new Error(`step ${no} was verified without an unknown outcome`);
  const { state } = pass.view.run;
  if (state.kind === "STOPPING" && !state.stopReason.undo && outcome.kind !== "success") {
    emit(pass, { kind: "cancelled", step: no });
  } else if (isGivenBack(outcome)) {
    makeReady(pass, no, "verify", outcome.kind === "released" ? ended.session : null);
  } else if (outcome.kind === "success") {
    emit(pass, { kind: "outcome-unknown", step: no, unknownOutcome: null });
    setEffectStatus(pass, no, "MADE");
    succeed(pass, no, { fence: ended.fence, kind: "verify", n: ended.n }, outcome.output);
  } else if (outcome.kind === "failure" && isDoneWithoutOutput(outcome.code)) {
    const { code, message } = outcome;
    emit(pass, { kind: "outcome-unknown", step: no, unknownOutcome: null });
    setEffectStatus(pass, no, "MADE");
    if (state.kind === "STOPPING") {
      const { id } = planStep(pass, no);
      emit(pass, { kind: "failed", step: no, id, code, message, effect: "none" });
      addFacts(pass, no, { status: "FAILED", output: null, error: { code, message } });
    } else recover(pass, no, "perform", { ...PERMANENT, code, message });
  } else if (outcome.kind === "failure" && outcome.noEffect) {
    emit(pass, { kind: "outcome-unknown", step: no, unknownOutcome: null });
    setEffectStatus(pass, no, "NONE");
    if (state.kind === "STOPPING") emit(pass, { kind: "cancelled", step: no });
    else recover(pass, no, "perform", unknownOutcome);
  } else {
    inconclusive(pass, no, outcome);
  }
}

function isGivenBack({ kind }: Outcome): boolean {
  return kind === "released" || kind === "undelivered" || kind === "unsent";
}

function inconclusive(pass: Pass, no: number, outcome: Outcome): void {
  const step = stepOf(pass, no);
  const tries = step.unknownOutcome?.tries ?? 0;
  const { retry } = planTaskOf(planStep(pass, no), step, "verify");
  const code = codeOf(outcome);
  const index = policyFor(retry, code);
  const policy = index === null ? undefined : retry[index];
  const permanent = outcome.kind === "failure" && outcome.class === "permanent";
  if (policy && !permanent && tries < policy.attempts) {
    const { now, draw } = pass.time;
    const after = outcome.kind === "failure" ? outcome.retryAfterMs : null;
    const asked = outcome.kind === "again" ? outcome.afterMs : after;
    const wakeAt = now + backoffMs(policy, tries, draw, asked);
    emit(pass, { kind: "backed-off", step: no, task: "verify", cause: "retry", wakeAt });
    return;
  }
  const { id, compensate } = planStep(pass, no);
  if (
    step.unknownOutcome &&
    isLeaving(pass, step, step.unknownOutcome) &&
    isUndoneFirst(pass, no)
  ) {
    undoStrategy(pass, no, step.unknownOutcome);
    return;
  }
  if (pass.view.run.state.kind === "STOPPING" && compensate) {
    // A possible effect is undone: an undo of nothing does no harm.
    emit(pass, { kind: "cancelled", step: no });
    return;
  }
  const how = tries === 1 ? "one verify" : `${tries} verifies`;
  const message = `${how} could not tell whether "${id}" took effect: ${code}`;
  escalate(pass, no, "unverified", message, code);
}

/** Whether no further try of the strategy would follow if the attempt had no effect. */
function isLeaving(pass: Pass, step: Step, unknownOutcome: UnknownOutcome): boolean {
  return (
    pass.view.run.state.kind !== "STOPPING" &&
    nextTry(pass, step, "perform", unknownOutcome) === null
  );
}

function codeOf(outcome: Outcome): string {
  return outcome.kind === "failure" || outcome.kind === "unknown" ? outcome.code : "drover.unknown";
}
