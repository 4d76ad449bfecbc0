/**
 * What the attempts of a random run prove about effects, without the statuses of its steps:
 * which may exist, which were undone, and whether a completed run has one effect of each step.
 */
import { expect } from "vitest";
import type { Attempt, Outcome } from "../../server/core/model/attempt.ts";
import { SCHEMA_BROKEN } from "../../server/core/model/evaluator.ts";
import type { Step } from "../../server/core/model/model.ts";
import { type PlanStep, planStepAt } from "../../server/core/plan/plan.ts";
import type { World } from "../support/core-world.ts";

export function isUnknown(outcome: Outcome): boolean {
  return outcome.kind === "unknown" || (outcome.kind === "cancelled" && !outcome.noEffect);
}

/** Whether it is known from this outcome what the attempts before it did. */
export function isConclusive(outcome: Outcome): boolean {
  return isMade(outcome) || (outcome.kind === "failure" && outcome.noEffect);
}

/** It took effect, also if its output is invalid. */
function isMade(outcome: Outcome): boolean {
  return (
    outcome.kind === "success" || (outcome.kind === "failure" && outcome.code === SCHEMA_BROKEN)
  );
}

/** `open`: only the attempt of this fence may have made one, and it may still report. */
export type MayExist = "no" | "yes" | { readonly open: number };

export interface History {
  /** An effect was made, or may have been, and no report has denied it since. */
  readonly mayExist: MayExist;
  /** A person has decided how it was. */
  readonly decided: boolean;
  /** Indexes in the list of effects. */
  readonly undoReadyAt: number | null;
  readonly undoneAt: number | null;
}

export const nothing: History = {
  mayExist: "no",
  decided: false,
  undoReadyAt: null,
  undoneAt: null,
};

export function historyOf(world: World, step: Step): History {
  let history = nothing;
  let planned = false;
  world.effects.forEach((effect, at) => {
    if (effect.kind === "task-ended" || effect.kind === "attempt-settled") {
      if (effect.attempt.step === step.no)
        history = { ...history, mayExist: mayExistAfter(effect.attempt, history.mayExist) };
    } else if (effect.kind === "escalation-answered" && effect.step === step.no) {
      history = { ...history, decided: true };
    } else if (
      effect.kind === "made-ready" &&
      effect.step === step.no &&
      effect.ready.task === "compensate"
    ) {
      history = { ...history, undoReadyAt: history.undoReadyAt ?? at };
    } else if (effect.kind === "undo-planned" && effect.step === step.no) {
      planned = true;
    } else if (effect.kind === "effect-undone" && effect.step === step.no && !planned) {
      // A strategy that the step has left: nothing of it is there any more.
      history = { ...history, mayExist: "no" };
    } else if (effect.kind === "strategy-undo-ended" && effect.step === step.no) {
      history = { ...history, undoReadyAt: null };
    } else if (effect.kind === "undone" && effect.step === step.no) {
      history = { ...history, undoneAt: at };
    }
  });
  return history;
}

function mayExistAfter({ kind, fence, outcome }: Attempt, before: MayExist): MayExist {
  // A child has ended: what a failed one did it has undone itself.
  if (kind === "answer" || kind === "engine") return isMade(outcome) ? "yes" : before;
  if (kind !== "perform" && kind !== "verify") return before;
  if (isMade(outcome)) return "yes";
  const reportsEffect = kind === "perform" || outcome.kind === "failure";
  if (reportsEffect && "noEffect" in outcome && outcome.noEffect) return "no";
  if (kind === "verify" || before === "yes" || outcome.kind === "again")
    return outcome.kind === "again" && kind === "perform" ? "yes" : before;
  const uncertain: readonly Outcome["kind"][] = ["unknown", "cancelled", "deferred"];
  const own = before === "no" || before.open === fence;
  if (uncertain.includes(outcome.kind)) return own ? { open: fence } : "yes";
  if (outcome.kind === "failure") return own ? "no" : "yes";
  return before;
}

/**
 * G19: where the run has COMPLETED, a succeeded step that could settle its effects has the one of
 * the strategy that succeeded; one that failed and was passed over has none. What a person has
 * decided about a step is the person's.
 */
export function expectOneEffect(world: World): void {
  if (world.run().state.kind !== "COMPLETED") return;
  for (const step of world.steps()) {
    const planned = planStepAt(world.plan, step.no);
    if (!planned?.compensate || planned.work.kind === "map") continue;
    if (isDecided(world, step)) continue;
    const left = [...effectsByStrategy(world, step, planned)].flatMap(([place, mayExist]) =>
      mayExist === "no" ? [] : [place],
    );
    const made = step.forward.kind === "SUCCEEDED" ? [step.strategies.length - 1] : [];
    expect({ step: step.no, effects: left }).toEqual({ step: step.no, effects: made });
  }
}

function isDecided(world: World, { no }: Step): boolean {
  return world.effects.some(
    (effect) => effect.kind === "escalation-answered" && effect.step === no,
  );
}

/** By the index of a strategy, what its attempts and its undos report. */
function effectsByStrategy(
  world: World,
  { no }: Step,
  { compensate }: PlanStep,
): ReadonlyMap<number, MayExist> {
  const found = new Map<number, MayExist>();
  const placeOf = new Map<number, number>();
  let current = 0;
  for (const effect of world.effects) {
    if (effect.kind === "strategy-started" && effect.step === no) current = effect.index;
    else if (effect.kind === "strategy-dropped" && effect.step === no) current--;
    else if (effect.kind === "child-began" && effect.step === no)
      placeOf.set(effect.fence, current);
    else if (effect.kind === "made-ready" && effect.step === no) {
      if (effect.ready.task === "perform") placeOf.set(effect.ready.fence, current);
    } else if (effect.kind === "effect-undone" && effect.step === no) {
      found.set(effect.strategy, "no");
    } else if (effect.kind === "task-ended" || effect.kind === "attempt-settled") {
      const { attempt } = effect;
      const place = placeOf.get(attempt.fence);
      if (attempt.step !== no || place === undefined) continue;
      const half = compensate?.when === "attempted" && isHalfMade(attempt);
      found.set(place, half ? "yes" : mayExistAfter(attempt, found.get(place) ?? "no"));
    }
  }
  return found;
}

/** It failed, and its agent does not report that nothing is there. */
function isHalfMade({ kind, outcome }: Attempt): boolean {
  return (
    kind !== "verify" && kind !== "compensate" && outcome.kind === "failure" && !outcome.noEffect
  );
}
