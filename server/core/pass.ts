// A pass: one run, one plan, the facts of the occasion, and what the rules have decided so far.
// Handlers emit effects; each is evolved at once, so the next rule sees the state that it made.
import { AVOID_SESSION_MS, type Plan, type PlanStep, type PlanTask } from "./definition.ts";
import type { Effect, Side } from "./effect.ts";
import type { Occasion } from "./event.ts";
import { evolve, untouchedStep } from "./evolve.ts";
import type { Intervention, Moment, Ready, Rule, Step, View } from "./model.ts";

export interface Pass {
  readonly plan: Plan;
  readonly occasion: Occasion;
  view: View;
  readonly effects: Effect[];
}

export function emit(pass: Pass, effect: Effect): void {
  pass.view = evolve(pass.view, effect, (step) => planStep(pass, step).needs.length);
  pass.effects.push(effect);
}

export function planStep(pass: Pass, no: number): PlanStep {
  const step = pass.plan.steps[no];
  if (!step) throw new Error(`the plan of ${pass.plan.workflow} has no step ${no}`);
  return step;
}

/** The task that a side of a step performs. */
export function planTaskOf(pass: Pass, no: number, side: Side): PlanTask {
  const step = planStep(pass, no);
  if (side === "forward") return step;
  if (!step.compensate) throw new Error(`step ${step.id} has no compensate`);
  return step.compensate;
}

export function stepOf(pass: Pass, no: number): Step {
  return pass.view.steps.get(no) ?? untouchedStep(no, planStep(pass, no).needs.length);
}

/** Steps with a row, in the plan's order. The others are BLOCKED and have done nothing. */
export function touchedSteps(pass: Pass): readonly Step[] {
  return [...pass.view.steps.values()].sort((a, b) => a.no - b.no);
}

/** Puts the side of a step into its queue, for the next attempt at once. */
export function makeReady(pass: Pass, no: number, side: Side, avoidSession: string | null): void {
  const { now } = pass.occasion;
  const step = stepOf(pass, no);
  const until = side === "forward" ? attemptsEndAt(pass, step) : null;
  const ready: Ready = {
    kind: "READY",
    task: side === "forward" ? "perform" : "compensate",
    fence: step.fence + 1,
    attempt: step.attempt + 1,
    readyAt: now,
    until,
    avoid: avoidSession === null ? null : { session: avoidSession, until: now + AVOID_SESSION_MS },
    alarms: 0,
    wakeAt: readyWakeAt(pass, step, side),
  };
  emit(pass, { kind: "made-ready", step: no, side, ready });
}

/** When a ready row is looked at: after `pickup`, and no later than the end of `total`. */
export function readyWakeAt(pass: Pass, step: Step, side: Side): Moment {
  const pickupAt = pass.occasion.now + planTaskOf(pass, step.no, side).timeouts.pickupMs;
  return side === "forward" ? Math.min(pickupAt, totalEndsAt(pass, step)) : pickupAt;
}

/** The end of `total`, counted from the first READY of the step. */
export function totalEndsAt(pass: Pass, step: Step): Moment {
  return (step.firstReadyAt ?? pass.occasion.now) + planStep(pass, step.no).timeouts.totalMs;
}

function attemptsEndAt(pass: Pass, step: Step): Moment {
  const { state } = pass.view.run;
  const total = totalEndsAt(pass, step);
  if (state.kind === "RUNNING") return Math.min(total, state.deadline);
  // A late report is about to move the run on, with what its deadline had left.
  if (state.kind === "ESCALATED" && state.verdict === null)
    return Math.min(total, pass.occasion.now + state.deadlineLeftMs);
  return total;
}

export function intervene(
  pass: Pass,
  rule: Rule,
  about: { step: Step | null; fence: number; n?: number; dueAt: Moment; saw: string; did: string },
): void {
  const intervention: Intervention = {
    step: about.step?.no ?? null,
    fence: about.fence,
    rule,
    n: about.n ?? 0,
    saw: about.saw,
    did: about.did,
    dueAt: about.dueAt,
    actedAt: pass.occasion.now,
  };
  emit(pass, { kind: "intervened", intervention });
}

/** A duration in words for a person: `850 ms`, `12.3 s`, `4 min`. */
export function inWords(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 120_000) return `${Math.round(ms / 100) / 10} s`;
  return `${Math.round(ms / 60_000)} min`;
}
