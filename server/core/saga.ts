// From a verdict to an end: stop what moves, let it settle, undo every effect in reverse order.
//
//   STOPPING       nothing new forward; each lease is told to cancel; a success that still comes
//                  counts
//   COMPENSATING   an effect is undone once nothing that came after it is left to undo
//   ESCALATED      an undo has failed and nothing else moves
//
// Whether there is anything to undo is decided when all has stopped and not when the step failed: a
// branch that succeeds while it is being cancelled would otherwise be left behind.
import type { Plan } from "./definition.ts";
import { isUndoLeft, type Moment, type Run, type RunState, type Verdict } from "./model.ts";
import { emit, makeReady, type Pass, planStep, touchedSteps } from "./pass.ts";

/** Gives the verdict. The pass must have loaded every step of the run. */
export function stop(pass: Pass, verdict: Verdict): void {
  let settleUntil: Moment | null = null;
  for (const step of touchedSteps(pass)) {
    if (step.settleUntil !== null) settleUntil = Math.max(settleUntil ?? 0, step.settleUntil);
    const { forward } = step;
    if (forward.kind === "LEASED") {
      if (forward.cancel.kind === "none")
        emit(pass, { kind: "cancel-asked", step: step.no, cause: "run", at: pass.occasion.now });
    } else if (forward.kind === "READY" || forward.kind === "BACKOFF") {
      emit(pass, { kind: "cancelled", step: step.no });
    } else if (forward.kind === "ESCALATED") {
      emit(pass, { kind: "escalation-closed", step: step.no, by: verdict.reason });
      emit(pass, { kind: "cancelled", step: step.no });
    }
  }
  const state: RunState = {
    kind: "STOPPING",
    verdict,
    settleUntil: verdict.undo ? settleUntil : null,
  };
  emit(pass, { kind: "run-moved", state });
}

/** Moves the run as far as its counters say; called at the end of each event. */
export function settleRun(pass: Pass): void {
  for (;;) {
    const next = nextRunState(pass.view.run, pass.occasion.now);
    if (!next) return;
    emit(pass, { kind: "run-moved", state: next });
    if (next.kind === "COMPENSATING") planUndos(pass);
  }
}

/** The state that the counters ask for, or null where the run already is in it. */
export function nextRunState(run: Run, now: Moment): RunState | null {
  const { state } = run;
  switch (state.kind) {
    case "RUNNING":
      if (run.stepsLeft === 0) return { kind: "COMPLETED", reason: "DONE" };
      if (run.moving > 0) return null;
      return {
        kind: "ESCALATED",
        verdict: null,
        deadlineLeftMs: Math.max(0, state.deadline - now),
      };
    case "STOPPING":
      if (run.moving > 0) return null;
      if (!state.verdict.undo) return ended(run, state.verdict);
      if (state.settleUntil !== null && state.settleUntil > now) return null;
      return { kind: "COMPENSATING", verdict: state.verdict };
    case "COMPENSATING":
      if (run.undosLeft === 0) return ended(run, state.verdict);
      return run.moving > 0 ? null : { kind: "ESCALATED", verdict: state.verdict };
    case "ESCALATED":
      if (state.verdict !== null)
        return run.moving > 0 || run.undosLeft === 0
          ? { kind: "COMPENSATING", verdict: state.verdict }
          : null;
      return run.moving > 0 || run.stepsLeft === 0
        ? { kind: "RUNNING", deadline: now + state.deadlineLeftMs }
        : null;
    default:
      return null;
  }
}

function ended(run: Run, verdict: Verdict): RunState {
  const { reason } = verdict;
  if (run.undone > 0) return { kind: "COMPENSATED", reason };
  return { kind: reason === "CANCELLED_BY_USER" ? "CANCELLED" : "FAILED", reason };
}

function planUndos(pass: Pass): void {
  for (const step of touchedSteps(pass)) {
    const undoable = step.effect !== "NONE" && planStep(pass, step.no).compensate !== null;
    if (undoable && step.undo.kind === "NONE") emit(pass, { kind: "undo-planned", step: step.no });
  }
  startUndos(pass);
}

/** Makes ready each pending undo that nothing downstream is left to be undone before. */
export function startUndos(pass: Pass): void {
  const left = new Set(
    touchedSteps(pass).flatMap((step) => (isUndoLeft(step.undo) ? [step.no] : [])),
  );
  for (const step of touchedSteps(pass)) {
    if (step.undo.kind !== "PENDING") continue;
    if (!reaches(pass.plan, step.no, left)) makeReady(pass, step.no, "undo", null);
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
