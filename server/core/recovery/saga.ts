// From a stop reason to the end of a run: stop what moves, settle unknown outcomes, undo every
// effect in reverse order, run the `always` steps.
//
//   STOPPING       begins nothing forward; cancels each lease and each child run; a success that
//                  still comes counts; an unknown outcome is verified, if it would be undone
//   COMPENSATING   undoes an effect once no later effect is left to undo
//   FINISHING      the end of the run is certain; its `always` steps run
//   ESCALATED      one of these waits for a person, and nothing else moves
//
// Whether there is an effect to undo is decided when everything has stopped, and not when the step
// failed. Otherwise the effect of a branch that succeeds while it is cancelled would be left
// behind.

import { endChild, isChildWait } from "../child.ts";
import { asks, currentEffectStatus } from "../evolve.ts";
import type { EpochMs, Outcome } from "../model/attempt.ts";
import { msOutside, startOf } from "../model/circuit.ts";
import type { RunMoveCause } from "../model/effect.ts";
import {
  type End,
  isFinal,
  isUndoLeft,
  type Run,
  type RunState,
  type Step,
  type StopReason,
} from "../model/model.ts";
import { itemOf } from "../model/step-key.ts";
import { isUnsettled, strategyToUndo } from "../model/strategy.ts";
import { leaveAsIs, open } from "../open.ts";
import {
  addFacts,
  emit,
  makeReady,
  outagesOf,
  type Pass,
  planStep,
  stepOf,
  touchedSteps,
} from "../pass.ts";
import type { Plan, PlanStep } from "../plan/plan.ts";
import { onUnknownOutcome } from "./unknown-outcome.ts";

const MOVE_CAUSES: Readonly<Record<StopReason["reason"], RunMoveCause>> = Object.freeze({
  STEP_FAILED: "stop",
  TIMED_OUT: "deadline",
  CANCELLED_BY_USER: "cancel",
  CANCELLED_BY_NEWER: "cancel",
});

/** Stops the run by a stop reason. The pass must have loaded every step of the run. */
export function stop(pass: Pass, stopReason: StopReason): void {
  const settles = touchedSteps(pass).map(({ settleUntil }) => settleUntil ?? 0);
  const settleUntil = Math.max(0, ...settles);
  emit(pass, {
    kind: "run-moved",
    by: MOVE_CAUSES[stopReason.reason],
    state: {
      kind: "STOPPING",
      stopReason,
      settleUntil: stopReason.undo && settleUntil > 0 ? settleUntil : null,
    },
  });
  for (const step of touchedSteps(pass)) stopStep(pass, step, stopReason);
}

function stopStep(pass: Pass, step: Step, stopReason: StopReason): void {
  const { no, forward } = step;
  const verifying = stopReason.undo && step.unknownOutcome !== null;
  switch (forward.kind) {
    case "LEASED":
      if (forward.cancel.kind === "none" && !(verifying && forward.task === "verify"))
        emit(pass, { kind: "cancel-asked", step: no, cause: "run", at: pass.time.now });
      return;
    case "HELD":
      if (verifying && forward.task === "verify") makeReady(pass, no, "verify");
      else stopped(pass, step, null);
      return;
    case "READY":
    case "BACKOFF":
      if (!(verifying && forward.task === "verify")) stopped(pass, step, null);
      return;
    case "MAPPING":
      stopped(pass, step, null);
      return;
    case "WAITING":
      if (isChildWait(forward.on)) endChild(pass, step, stopReason.undo);
      else stopped(pass, step, null);
      return;
    case "UNDOING":
      // A claimed undo ends by itself; an effect that it undoes need not be undone again.
      if (step.undo.kind === "LEASED") return;
      if (step.undo.kind === "FAILED")
        emit(pass, { kind: "escalation-closed", step: no, by: stopReason.reason });
      leaveUndoToRun(pass, no);
      return;
    case "ESCALATED":
      // Compensation has to know whether the effect exists: the escalation stays open, unless an
      // undo removes a possible effect.
      if (stopReason.undo && isOutcomeUnknown(pass, step) && !planStep(pass, no).compensate) return;
      emit(pass, { kind: "escalation-closed", step: no, by: stopReason.reason });
      emit(pass, { kind: "cancelled", step: no });
      return;
    default:
      return;
  }
}

/** The step no longer undoes a strategy by itself: the run undoes what is left at its end. */
export function leaveUndoToRun(pass: Pass, no: number): void {
  emit(pass, { kind: "strategy-undo-ended", step: no, attempt: 0 });
  emit(pass, { kind: "cancelled", step: no });
}

function isOutcomeUnknown(pass: Pass, step: Step): boolean {
  return isUnsettled(currentEffectStatus(step)) && planStep(pass, step.no).effects !== "idempotent";
}

/**
 * The forward side of a step has stopped in a run that stops; null: none of its tasks was claimed.
 */
export function stopped(pass: Pass, step: Step, outcome: Outcome | null): void {
  const { state } = pass.view.run;
  const undo = state.kind === "STOPPING" && state.stopReason.undo;
  if (undo && isOutcomeUnknown(pass, step)) {
    const message = "it was stopped, and it is unknown whether it took effect";
    onUnknownOutcome(pass, step.no, {
      code: "drover.unknown",
      message,
      permanent: false,
      unknown: true,
      retryAfterMs: null,
      lostBy: null,
    });
  } else if (outcome?.kind === "failure") {
    const { code, message } = outcome;
    const { id } = planStep(pass, step.no);
    emit(pass, { kind: "failed", step: step.no, id, code, message, effect: "none" });
    addFacts(pass, step.no, { status: "FAILED", output: null, error: { code, message } });
  } else {
    emit(pass, { kind: "cancelled", step: step.no });
  }
}

/** Moves the run to its next state, if its counters say so (map.ts: after those of its maps). */
export function advanceRunState(pass: Pass): boolean {
  const next = nextRunState(pass.view.run, pass.time.now);
  if (!next) return false;
  emit(pass, { kind: "run-moved", by: "counters", state: next });
  if (next.kind === "COMPENSATING") planUndos(pass);
  if (next.kind === "FINISHING") finish(pass);
  return true;
}

/** The state that the counters ask for; null: the run is in it already. */
function nextRunState(run: Run, now: EpochMs): RunState | null {
  const { state } = run;
  switch (state.kind) {
    case "RUNNING":
      if (run.stepsLeft === 0) return finishing(run, { kind: "COMPLETED", reason: "DONE" });
      if (run.moving > 0) return null;
      return {
        kind: "ESCALATED",
        from: { kind: "RUNNING", leftMs: leftOf(state.deadline, now), since: now },
      };
    case "STOPPING":
      if (run.moving > 0) return null;
      if (run.asking > 0) return { kind: "ESCALATED", from: state };
      if (!state.stopReason.undo) return finishing(run, endOf(run, state.stopReason));
      if (state.settleUntil !== null && state.settleUntil > now) return null;
      return { kind: "COMPENSATING", stopReason: state.stopReason };
    case "COMPENSATING":
      if (run.undosLeft === 0) return finishing(run, endOf(run, state.stopReason));
      return run.moving > 0 ? null : { kind: "ESCALATED", from: state };
    case "FINISHING":
      if (run.alwaysLeft === 0) return state.end;
      return run.moving > 0 ? null : { kind: "ESCALATED", from: state };
    default:
      return null;
  }
}

/** The rest of a deadline, so that it can be suspended; null: there is none. */
export function leftOf(deadline: EpochMs | null, now: EpochMs): number | null {
  return deadline === null ? null : Math.max(0, deadline - now);
}

/** Resumes an escalated run in the stage in which it was suspended; its times move on. */
export function resumeStopped(pass: Pass): void {
  const { state } = pass.view.run;
  if (state.kind !== "ESCALATED") return;
  if (state.from.kind === "RUNNING") resumeRunning(pass, "continue", state.from);
  else emit(pass, { kind: "run-moved", by: "continue", state: state.from });
}

/**
 * Runs again after a suspension: its deadline, and the `total` of each open step, continue as they
 * were when it began. What a step has run is counted back from now, over outages of its circuits.
 */
export function resumeRunning(
  pass: Pass,
  by: "continue" | "resume",
  { leftMs, since }: { readonly leftMs: number | null; readonly since: EpochMs },
): void {
  const { now } = pass.time;
  const deadline = leftMs === null ? null : now + leftMs;
  emit(pass, { kind: "run-moved", by, state: { kind: "RUNNING", deadline } });
  if (now <= since) return;
  for (const { no, forward, firstReadyAt } of touchedSteps(pass)) {
    if (isFinal(forward) || firstReadyAt === null) continue;
    const outages = outagesOf(pass, no);
    const ranMs = msOutside(outages, firstReadyAt, Math.max(since, firstReadyAt));
    const byMs = startOf(outages, now, ranMs) - firstReadyAt;
    emit(pass, { kind: "total-moved", step: no, byMs });
  }
}

function endOf(run: Run, { reason }: StopReason): End {
  if (run.undone > 0) return { kind: "COMPENSATED", reason };
  const cancelled = reason === "CANCELLED_BY_USER" || reason === "CANCELLED_BY_NEWER";
  return { kind: cancelled ? "CANCELLED" : "FAILED", reason };
}

/** FINISHING if `always` steps have to run first, else the end. */
function finishing(run: Run, end: End): RunState {
  return run.alwaysLeft > 0 ? { kind: "FINISHING", end } : end;
}

/** Begins the `always` steps that have no needs. */
function finish(pass: Pass): void {
  for (const { no, always, needs } of pass.plan.steps)
    if (always && needs.length === 0 && !pass.view.steps.has(no)) open(pass, no);
}

/**
 * Ends a run whose end waits for a person, with its effects as they are. Every open escalation is
 * closed.
 */
export function finishAsIs(pass: Pass, by: string, kind: "CANCELLED" | "FAILED"): void {
  const { state } = pass.view.run;
  for (const step of touchedSteps(pass)) {
    if (!asks(step)) continue;
    emit(pass, { kind: "escalation-closed", step: step.no, by });
    if (step.forward.kind === "ESCALATED") leaveAsIs(pass, step.no);
  }
  if (state.kind === "FINISHING") return;
  const stopReason =
    state.kind === "STOPPING" || state.kind === "COMPENSATING" ? state.stopReason : null;
  const reason = kind === "CANCELLED" || !stopReason ? "CANCELLED_BY_USER" : stopReason.reason;
  const next = finishing(pass.view.run, { kind, reason });
  emit(pass, { kind: "run-moved", by: "leave", state: next });
  if (next.kind === "FINISHING") finish(pass);
}

function planUndos(pass: Pass): void {
  for (const step of touchedSteps(pass)) {
    // The map of an item undoes it, in its turn.
    if (
      itemOf(step.no) === 0 &&
      step.undo.kind === "NONE" &&
      isUndoable(planStep(pass, step.no), step)
    )
      emit(pass, { kind: "undo-planned", step: step.no });
  }
  startUndos(pass);
}

/**
 * Whether the step has left an effect that it can undo; of a map, whether one of its items may
 * have.
 */
export function isUndoable({ work, compensate }: PlanStep, step: Step): boolean {
  if (work.kind === "map") return work.item.compensate !== null && (step.items?.started ?? 0) > 0;
  return compensate !== null && strategyToUndo(step) !== null;
}

/**
 * The effect of the step is undone: the undos that waited for it follow. A step leaves no strategy
 * before its effect is settled, so it has one effect at most. A reused step of a definition without
 * an undo may have more effects, and they are undone one after another.
 */
export function effectUndone(pass: Pass, no: number): void {
  noteUndone(pass, no);
  if (strategyToUndo(stepOf(pass, no)) !== null) {
    makeReady(pass, no, "compensate");
    return;
  }
  emit(pass, { kind: "undone", step: no });
  startUndos(pass);
}

/** Sets the status of the effect that is to be undone next to UNDONE. */
export function noteUndone(pass: Pass, no: number): void {
  const strategy = strategyToUndo(stepOf(pass, no));
  if (strategy !== null) emit(pass, { kind: "effect-undone", step: no, strategy });
}

/** Makes each pending undo ready whose downstream effects are all undone. */
export function startUndos(pass: Pass): void {
  const left = new Set(
    touchedSteps(pass).flatMap((step) => (isUndoLeft(step.undo) ? [step.no] : [])),
  );
  for (const step of touchedSteps(pass)) {
    if (step.undo.kind !== "PENDING") continue;
    if (reaches(pass.plan, step.no, left)) continue;
    if (planStep(pass, step.no).work.kind === "map")
      emit(pass, { kind: "items-due", step: step.no, side: "undo", wakeAt: pass.time.now });
    else makeReady(pass, step.no, "compensate");
  }
}

/** Whether any step downstream of `from` is in the set. */
export function reaches(plan: Plan, from: number, set: ReadonlySet<number>): boolean {
  const seen = new Set<number>();
  const queue = [...(plan.steps[from]?.successors ?? [])];
  for (let no = queue.pop(); no !== undefined; no = queue.pop()) {
    if (set.has(no)) return true;
    if (seen.has(no)) continue;
    seen.add(no);
    queue.push(...(plan.steps[no]?.successors ?? []));
  }
  return false;
}
