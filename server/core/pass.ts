// A pass: one run, its plan, the time of the pass, and the effects decided so far. Handlers emit
// effects; each is applied at once, so the next rule sees the state that it made.

import type { RetryPolicy } from "./definition/definition.ts";
import { evolve, type Shape, untouchedStep } from "./evolve.ts";
import type { EpochMs, Outcome, TaskKind } from "./model/attempt.ts";
import { msOutside, type Outage } from "./model/circuit.ts";
import type { Effect } from "./model/effect.ts";
import type { Evaluator } from "./model/evaluator.ts";
import type { PassTime } from "./model/event.ts";
import type { Facts, StepFacts } from "./model/facts.ts";
import type { EscalationReason, Intervention, Rule } from "./model/history.ts";
import { movingSide, type Ready, type Setback, type Step, type View } from "./model/model.ts";
import { itemOf } from "./model/step-key.ts";
import { currentStrategy, type EffectStatus, plannedOf } from "./model/strategy.ts";
import {
  AVOID_SESSION_MS,
  type Plan,
  type PlanChild,
  type PlanStep,
  type PlanTask,
  plannedTask,
  planStepAt,
} from "./plan/plan.ts";

export interface Pass {
  readonly plan: Plan;
  readonly evaluator: Evaluator;
  readonly time: PassTime;
  view: View;
  /**
   * The steps of the view, changed in place: only this pass and earlier ones of the same decision
   * hold the map. A copy for each effect would make a million steps of a thousand reports on one
   * run.
   */
  readonly steps: Map<number, Step>;
  readonly effects: Effect[];
}

/** A task that has ended. */
export interface TaskEnd {
  readonly fence: number;
  /** Distinguishes verifies of one fence; 0 for other tasks. */
  readonly n: number;
  /** The session that held the task. */
  readonly session: string;
  readonly outcome: Outcome;
  /** What the step has to recover from; null: nothing failed. */
  readonly setback: Setback | null;
  /** The report settles an attempt whose outcome was open. */
  readonly settles: boolean;
}

export function emit(pass: Pass, given: Effect): void {
  const effect = notBefore(pass.time.now, given);
  const shape = (step: number) => shapeOf(planStep(pass, step));
  pass.view = evolve(pass.view, effect, shape, pass.steps);
  pass.effects.push(effect);
}

/**
 * Moves a due time in the past to now. A scan of the supervisor begins where the one before has
 * left nothing, so only the full scan, once a minute, would find an earlier time.
 */
function notBefore(now: EpochMs, effect: Effect): Effect {
  if (effect.kind === "made-ready" && effect.ready.wakeAt < now)
    return { ...effect, ready: { ...effect.ready, wakeAt: now } };
  return "wakeAt" in effect && effect.wakeAt < now ? { ...effect, wakeAt: now } : effect;
}

export function shapeOf({ needs, always, pivot, work }: PlanStep): Shape {
  return { needs: needs.length, always, pivot, isMap: work.kind === "map" };
}

/** The plan of a step, or of the item of a map. */
export function planStep({ plan }: Pick<Pass, "plan">, stepKey: number): PlanStep {
  const step = planStepAt(plan, stepKey);
  if (!step) throw new Error(`the plan of ${plan.workflow} has no step ${stepKey}`);
  return step;
}

/** The planned task to perform, verify or undo, of the step's current strategy. */
export function planTaskOf(plan: PlanStep, step: Step, task: TaskKind): PlanTask {
  return plannedTask(plan, task, plannedOf(step));
}

/** The retry policies of a task, or of a child run. */
export function retryOf(plan: PlanStep, step: Step, task: TaskKind): readonly RetryPolicy[] {
  if (plan.work.kind === "run" && task === "perform")
    return plan.work.strategies[plannedOf(step)]?.retry ?? [];
  return planTaskOf(plan, step, task).retry;
}

export function stepOf(pass: Pass, no: number): Step {
  return pass.view.steps.get(no) ?? untouchedStep(no, planStep(pass, no).needs.length);
}

/** Steps that are in pages, in the plan's order. Others are BLOCKED and have done nothing. */
export function touchedSteps(pass: Pass): readonly Step[] {
  return [...pass.view.steps.values()].sort((a, b) => a.no - b.no);
}

/** Makes a task of the step READY for its next attempt; held while the run is paused. */
export function makeReady(
  pass: Pass,
  no: number,
  task: TaskKind,
  avoidSession: string | null = null,
): void {
  if (pass.view.run.state.kind === "PAUSED") {
    emit(pass, { kind: "held", step: no, task });
    return;
  }
  const { now } = pass.time;
  const step = stepOf(pass, no);
  const { work } = planStep(pass, no);
  if (work.kind === "run" && task === "perform") {
    beginChild(pass, step, work.strategies);
    return;
  }
  const until = task === "perform" ? attemptsEndAt(pass, step) : null;
  const wakeAt = readyWakeAt(pass, step, task);
  const ready: Ready = {
    kind: "READY",
    task,
    fence: task === "verify" ? step.fence : step.fence + 1,
    attempt: (task === "verify" ? step.verifies : step.attempt) + 1,
    readyAt: now,
    until,
    avoid: avoidSession === null ? null : { session: avoidSession, until: now + AVOID_SESSION_MS },
    alarms: 0,
    // An open circuit has moved the end of `total`, and no stored value says by how much: the timer
    // is due at the last limit that is stored.
    wakeAt:
      until !== null && pass.view.outages.has(no) ? Math.min(wakeAt, Math.max(until, now)) : wakeAt,
  };
  emit(pass, { kind: "made-ready", step: no, ready });
}

/** Begins a child run, which takes the place of a task: without a queue and without a claim. */
function beginChild(pass: Pass, step: Step, strategies: readonly PlanChild[]): void {
  const { now } = pass.time;
  const { no } = step;
  const { state, pivoted } = pass.view.run;
  const planned = plannedOf(step);
  const child = strategies[planned];
  const input = pass.evaluator.input(no, planned, factsOf(pass));
  if (!child || input.kind === "failed") throw new Error(`step ${no} has no child to begin`);
  emit(pass, {
    kind: "child-began",
    step: no,
    fence: step.fence + 1,
    workflow: child.workflow,
    version: child.version,
    input: input.value,
    at: now,
    wakeAt: totalEndsAt(pass, step),
    // Once its pivot has succeeded, a run continues past its deadline.
    until: state.kind === "RUNNING" && !pivoted ? state.deadline : null,
  });
}

/** The due time of a ready task: after `pickup`, and no later than the end of `total`. */
export function readyWakeAt(pass: Pass, step: Step, task: TaskKind): EpochMs {
  const plan = planStep(pass, step.no);
  const pickupAt = pass.time.now + planTaskOf(plan, step, task).timeouts.pickupMs;
  return task === "perform" ? Math.min(pickupAt, totalEndsAt(pass, step)) : pickupAt;
}

/**
 * The end of `total`, counted from the first READY of the step. It is suspended while the run is
 * paused, and while a circuit is open.
 */
export function totalEndsAt(pass: Pass, step: Step): EpochMs {
  const { now } = pass.time;
  const { totalMs } = planStep(pass, step.no).timeouts;
  if (step.firstReadyAt === null) return now + totalMs;
  const { state } = pass.view.run;
  const until = state.kind === "PAUSED" ? Math.max(state.since, step.firstReadyAt) : now;
  const ranMs = msOutside(outagesOf(pass, step.no), step.firstReadyAt, until);
  return now - ranMs + totalMs;
}

/** Of the circuits of its lanes. */
export function outagesOf(pass: Pass, no: number): readonly Outage[] {
  return pass.view.outages.get(no) ?? [];
}

export function attemptsEndAt(pass: Pass, step: Step): EpochMs {
  const { state } = pass.view.run;
  const total = totalEndsAt(pass, step);
  return state.kind === "RUNNING" && state.deadline !== null
    ? Math.min(total, state.deadline)
    : total;
}

/** Sets the effect status of a strategy, by default of the current one, if that is another. */
export function setEffectStatus(
  pass: Pass,
  no: number,
  mark: EffectStatus,
  strategy: number = currentStrategy(stepOf(pass, no)),
): void {
  const step = stepOf(pass, no);
  if (step.strategies[strategy]?.effectStatus !== mark)
    emit(pass, { kind: "effect-status-set", step: no, strategy, mark });
}

/** Asks a person. The step stops moving, unless nothing has to wait for the answer. */
export function escalate(
  pass: Pass,
  no: number,
  reason: EscalationReason,
  message: string,
  code = "",
): void {
  const n = pass.view.run.escalations + 1;
  const { now } = pass.time;
  const { id, escalation } = planStep(pass, no);
  const { remindMs, deadline } = escalation;
  // Nothing waits for an answer about a doubled effect, so there is no deadline.
  const deadlineAt = deadline && reason !== "doubled" ? now + deadline.afterMs : null;
  const wakeAt = Math.min(now + remindMs, deadlineAt ?? Number.POSITIVE_INFINITY);
  const asked = { n, reason, code, message, wakeAt, deadlineAt };
  emit(pass, { kind: "escalated", step: no, id, ...asked });
}

/** The facts for expressions, with those of steps that ended in this pass. */
export function factsOf(pass: Pass): Facts {
  if (!pass.view.facts) throw new Error(`no facts were loaded for ${pass.plan.workflow}`);
  return pass.view.facts;
}

/** Adds the facts of a step that has just ended, for expressions of this pass. */
export function addFacts(pass: Pass, no: number, facts: StepFacts): void {
  const before = pass.view.facts;
  // Expressions do not see items, but the output of their map.
  if (!before || itemOf(no) > 0) return;
  const steps = new Map(before.steps).set(no, facts);
  pass.view = { ...pass.view, facts: { ...before, steps } };
}

/** The state of a step after the rules, in words for an intervention. */
export function inShort(pass: Pass, no: number): string {
  const step = stepOf(pass, no);
  const moving = movingSide(step)?.state;
  if (step.forward.kind === "ESCALATED" || step.undo.kind === "FAILED") return "a person is asked";
  if (step.forward.kind === "MAPPING") return "the next wave begins";
  const isMap = planStep(pass, no).work.kind === "map" && itemOf(no) === 0;
  switch (moving?.kind) {
    case "READY":
      if (isMap) return "its gate checks whether the next wave may begin";
      if (moving.task === "verify") return "a verify finds out whether it took effect";
      return moving.avoid ? "ready again at once, for another agent" : "ready again";
    case "BACKOFF": {
      const left = inWords(moving.wakeAt - pass.time.now);
      return moving.task === "verify" ? `a verify in ${left}` : `next try in ${left}`;
    }
    case "HELD":
      return "held until the run is resumed";
    default:
      return `the step is ${step.forward.kind}, the run ${pass.view.run.state.kind}`;
  }
}

export function intervene(
  pass: Pass,
  rule: Rule,
  about: { step: Step | null; fence: number; n?: number; dueAt: EpochMs; saw: string; did: string },
): void {
  const intervention: Intervention = {
    step: about.step?.no ?? null,
    fence: about.fence,
    rule,
    n: about.n ?? 0,
    saw: about.saw,
    did: about.did,
    dueAt: about.dueAt,
    actedAt: pass.time.now,
  };
  emit(pass, { kind: "intervened", intervention });
}

/** A duration in words for a person: `850 ms`, `12.3 s`, `4 min`, `3 h`, `7 d`. */
export function inWords(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 120_000) return `${Math.round(ms / 100) / 10} s`;
  if (ms < 7_200_000) return `${Math.round(ms / 60_000)} min`;
  if (ms < 172_800_000) return `${Math.round(ms / 3_600_000)} h`;
  return `${Math.round(ms / 86_400_000)} d`;
}
