// A step leaves its current strategy, for the next one or because it has failed. It does so only
// once the effect of the strategy is settled; otherwise a run could complete with two effects of
// one step (G19). The possible effect decides the first action:
//
//   verify      the outcome of the attempt is unknown, and the step has a verify
//   undo        the run continues without this strategy, and the step has a `compensate`: a task
//               removes the effect, with the key and the input of the strategy
//   ask         the step must run once only, or it has an effect that cannot be undone: a person
//               decides
//   nothing     there is no effect; or the step is idempotent and has no `compensate`, so that
//               nothing could be undone; or the run stops and undoes all effects at its end
//
// While a strategy is undone the step is UNDOING, and stores the setback from which it continues.

import { currentEffectStatus } from "../evolve.ts";
import type { Setback, Step } from "../model/model.ts";
import { itemOf } from "../model/step-key.ts";
import {
  currentStrategy,
  isFresh,
  isUnsettled,
  leavesEffect,
  nextStrategyIndex,
  plannedOf,
} from "../model/strategy.ts";
import { beginStrategy } from "../open.ts";
import { emit, escalate, inWords, type Pass, planStep, stepOf, totalEndsAt } from "../pass.ts";
import { fail, PERMANENT, recordFailure, TOTAL_OVER } from "./fail-step.ts";
import { leaveUndoToRun, noteUndone } from "./saga.ts";
import { afterSettling, onUnknownOutcome } from "./unknown-outcome.ts";

/** `total` is over, or would be before the next try: the step fails with `drover.total`. */
export function totalOver(pass: Pass, step: Step): void {
  const { totalMs } = planStep(pass, step.no).timeouts;
  const message = `all tries together may take ${inWords(totalMs)}, which is over: raise timeouts.total`;
  recordFailure(pass, step, TOTAL_OVER, message);
  leave(pass, step.no, { ...PERMANENT, code: TOTAL_OVER, message });
}

/** Leaves the strategy once its effect is settled: begins the next one, or the step has failed. */
export function leave(pass: Pass, no: number, setback: Setback): void {
  const step = stepOf(pass, no);
  const planned = setback.code === TOTAL_OVER ? null : nextPlanned(pass, step);
  if (planned !== null && pass.time.now >= totalEndsAt(pass, step)) {
    totalOver(pass, step);
    return;
  }
  switch (firstTo(pass, step, planned !== null)) {
    case "verify":
      onUnknownOutcome(pass, no, setback);
      return;
    case "undo":
      undoStrategy(pass, no, setback);
      return;
    case "ask":
      ask(pass, no, setback);
      return;
    case "nothing":
      if (planned === null) fail(pass, no, setback);
      else beginNext(pass, no, planned);
  }
}

/** Begins another strategy of the step, with its own retries, key and effect. */
export function beginNext(pass: Pass, no: number, planned: number): void {
  const index = nextStrategyIndex(stepOf(pass, no));
  emit(pass, { kind: "strategy-started", step: no, index, planned, input: null });
  beginStrategy(pass, no, planned);
}

/** The action on the effect of the strategy before the step leaves it. */
function firstTo(pass: Pass, step: Step, hasNext: boolean): "verify" | "undo" | "ask" | "nothing" {
  const plan = planStep(pass, step.no);
  const effectStatus = currentEffectStatus(step);
  if (!leavesEffect({ effectStatus })) return "nothing";
  const continues = hasNext || isPassedOver(pass, step.no);
  if (plan.verify && effectStatus !== "MADE" && (continues || isUnsettled(effectStatus)))
    return "verify";
  if (plan.compensate && continues) return "undo";
  if (plan.effects === "idempotent") return "nothing";
  return isUnsettled(effectStatus) || hasNext ? "ask" : "nothing";
}

/** Whether the run continues although the step has failed. */
function isPassedOver(pass: Pass, no: number): boolean {
  const { onFailure } = planStep(pass, no);
  return onFailure === "continue" || (itemOf(no) > 0 && onFailure !== "escalate");
}

/** Whether a strategy that is left is undone by a task of the step, and not by its run. */
export function isUndoneFirst(pass: Pass, no: number): boolean {
  const { compensate } = planStep(pass, no);
  const hasNext = nextPlanned(pass, stepOf(pass, no)) !== null;
  return compensate !== null && (hasNext || isPassedOver(pass, no));
}

function ask(pass: Pass, no: number, setback: Setback): void {
  if (isUnsettled(currentEffectStatus(stepOf(pass, no)))) {
    onUnknownOutcome(pass, no, setback);
    return;
  }
  const { code, message } = setback;
  const made = `"${planStep(pass, no).id}" took effect and failed all the same`;
  const next = "its next strategy would take effect beside it, and nothing undoes the first";
  escalate(pass, no, "step-failed", `${made}: ${code}: ${message}; ${next}`, code);
}

/** Undoes the effect of the strategy. After that, `setback` decides what follows. */
export function undoStrategy(pass: Pass, no: number, setback: Setback): void {
  emit(pass, { kind: "strategy-undoing", step: no, unknownOutcome: { ...setback, tries: 0 } });
  afterSettling(pass, no, "compensate");
}

/** The strategy that the step leaves is undone: the step or the run continues. */
export function strategyUndone(pass: Pass, no: number): void {
  noteUndone(pass, no);
  if (pass.view.run.state.kind === "STOPPING") leaveUndoToRun(pass, no);
  else afterUndo(pass, no);
}

/**
 * The strategy that the step leaves has no effect any more: the step continues. `attempts`: those
 * of this strategy that count, if it made no effect and so may be tried again.
 */
export function afterUndo(pass: Pass, no: number, attempts = 0): void {
  const { unknownOutcome, ...undoing } = stepOf(pass, no);
  if (!unknownOutcome) throw new Error(`step ${no} undoes a strategy, and has no setback`);
  // The attempts of the undo have been counted since it began.
  const isNextFresh = isFresh({ ...undoing, attempt: 0, lost: 0 });
  emit(pass, { kind: "strategy-undo-ended", step: no, attempt: isNextFresh ? 0 : attempts });
  const step = stepOf(pass, no);
  // A person has started the next strategy, with another input.
  if (isFresh(step)) beginStrategy(pass, no, plannedOf(step));
  else leave(pass, no, unknownOutcome);
}

/** The strategy of the plan after the current one; null: the current one is the last. */
export function nextPlanned(pass: Pass, step: Step): number | null {
  const { work } = planStep(pass, step.no);
  if (work.kind !== "task" && work.kind !== "run") return null;
  const next = (step.strategies[currentStrategy(step)]?.planned ?? 0) + 1;
  return next < work.strategies.length ? next : null;
}
