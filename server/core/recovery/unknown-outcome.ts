// Unknown outcomes. A blind retry may charge a card twice, a blind failure may leave a booking
// behind. The `effects` of the step decide:
//
//   idempotent   the task is retried under the same key (recovery.ts)
//   verifiable   a verify task finds out first, once no lost attempt can act (verify.ts)
//   once         the task is never run again: a person decides
//
// Until the outcome is settled, the step stores the setback that led to it. If there was no effect,
// the recovery policy continues from that setback.
import type { TaskKind } from "../model/attempt.ts";
import type { Setback } from "../model/model.ts";
import { emit, escalate, makeReady, type Pass, planStep, stepOf } from "../pass.ts";

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
    const message = `"${id}" may run once only, and nobody knows whether it did: ${setback.code}: ${setback.message}`;
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
  if (waits && settleUntil !== null && settleUntil > pass.occasion.now)
    emit(pass, { kind: "backed-off", step: no, task, cause: "settle", wakeAt: settleUntil });
  else makeReady(pass, no, task);
}
