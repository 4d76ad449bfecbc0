// The entry point of the rules: (plan, view, events) → effects, answers and the new view. Pure: the
// same arguments give the same decision, on any machine and at any time.

import { CHILD_DEPTH_MAX, messageParent } from "./child.ts";
import { onAnswer, onEscalationTimer } from "./events/on-answer.ts";
import { onCancel, onPause, onResume } from "./events/on-command.ts";
import { onDueTime, onRunTimer } from "./events/on-due.ts";
import { onMessages } from "./events/on-message.ts";
import { onCallback, onReport } from "./events/on-report.ts";
import { onDecide, onSignal } from "./events/on-signal.ts";
import { onForgotten, onLeaseTimer, onReadyTimer } from "./events/on-timer.ts";
import { onUndelivered } from "./events/on-undelivered.ts";
import { advanceByCounters } from "./map.ts";
import type { EpochMs } from "./model/attempt.ts";
import type { Effect } from "./model/effect.ts";
import type { Evaluator } from "./model/evaluator.ts";
import { type Answer, inPassOrder, type PassTime, type RunEvent } from "./model/event.ts";
import type { Facts } from "./model/facts.ts";
import {
  emptyView,
  isEnded,
  type Parent,
  type Run,
  type RunState,
  type Step,
  type View,
} from "./model/model.ts";
import { NO_WAITS } from "./model/waits.ts";
import { openRoots } from "./open.ts";
import type { Pass } from "./pass.ts";
import type { Plan } from "./plan/plan.ts";
import { type ReusedStep, reuseSteps } from "./recovery/reuse.ts";

/** A plan with the evaluator of its expressions and schemas. */
export interface Rules {
  readonly plan: Plan;
  readonly evaluator: Evaluator;
}

export interface PassItem {
  readonly event: RunEvent;
  readonly draw: number;
}

export interface Decision<Item extends PassItem> {
  readonly view: View;
  readonly effects: readonly Effect[];
  readonly answers: ReadonlyMap<Item, Answer>;
  /** Items without an effect: refused, repeated, or the state was as requested. */
  readonly unchanging: readonly Item[];
}

/** One pass over a run: handles all of its events, reports first. */
export function decide<Item extends PassItem>(
  rules: Rules,
  view: View,
  now: EpochMs,
  items: readonly Item[],
): Decision<Item> {
  const answers = new Map<Item, Answer>();
  const effects: Effect[] = [];
  const unchanging: Item[] = [];
  const steps = new Map(view.steps);
  let current: View = { ...view, steps };
  for (const item of inPassOrder(items)) {
    const time: PassTime = { now, draw: item.draw };
    const pass: Pass = { ...rules, time, view: current, steps, effects };
    const before = effects.length;
    answers.set(item, apply(pass, item.event));
    if (effects.length === before) unchanging.push(item);
    advanceByCounters(pass);
    if (!isEnded(current.run.state)) messageParent(pass);
    current = pass.view;
  }
  return { view: withVersion(current, effects), effects, answers, unchanging };
}

/** How a run begins. A field that is left out does not apply. */
export interface Begins {
  readonly startAt?: EpochMs | null;
  /** The run has a concurrency key. `waits`: it holds no permit of the key yet. */
  readonly keyed?: boolean;
  readonly waits?: boolean;
  /** The run is a child. Its own first pass begins it, so that its parent's pass begins no more. */
  readonly parent?: Parent | null;
  /** The run is a child whose workflow does not accept its input. */
  readonly refused?: boolean;
  /** Steps that are reused from the run that this one repeats. */
  readonly reused?: readonly ReusedStep[];
}

/**
 * The first pass of a run: opens the roots, or the steps after the reused ones, unless the run has
 * to wait. `facts`: those of the run itself, if it has expressions.
 */
export function start(
  rules: Rules,
  now: EpochMs,
  facts: Facts | null,
  begins: Begins = {},
): { view: View; effects: readonly Effect[] } {
  const { plan } = rules;
  const always = plan.steps.filter((step) => step.always).length;
  const run: Run = {
    state: firstState(now, now + plan.timeoutMs, begins),
    version: 1,
    stepsLeft: plan.steps.length - always,
    alwaysLeft: always,
    moving: 0,
    waits: NO_WAITS,
    asking: 0,
    undosLeft: 0,
    undone: 0,
    warnings: 0,
    failure: null,
    pivoted: false,
    keyed: begins.keyed ?? false,
    parent: begins.parent ?? null,
    escalations: 0,
  };
  const effects: Effect[] = [];
  const steps = new Map<number, Step>();
  const view: View = { ...emptyView(run), steps, facts };
  const pass: Pass = { ...rules, time: { now, draw: 0 }, view, steps, effects };
  reuseSteps(pass, begins.reused ?? []);
  if (run.state.kind === "RUNNING") openRoots(pass);
  advanceByCounters(pass);
  messageParent(pass);
  return { view: pass.view, effects };
}

function firstState(now: EpochMs, deadline: EpochMs, begins: Begins): RunState {
  const { startAt, waits, parent, refused } = begins;
  if (refused || (parent && parent.depth > CHILD_DEPTH_MAX))
    return { kind: "FAILED", reason: "REFUSED" };
  if (parent) return { kind: "PENDING", on: "start", until: now };
  if (startAt && startAt > now) return { kind: "PENDING", on: "start", until: startAt };
  if (waits) return { kind: "PENDING", on: "permit", until: deadline };
  return { kind: "RUNNING", deadline };
}

function apply(pass: Pass, event: RunEvent): Answer {
  switch (event.kind) {
    case "report":
      return onReport(pass, event);
    case "callback":
      return onCallback(pass, event);
    case "undelivered":
      return onUndelivered(pass, event);
    case "forgotten":
      return onForgotten(pass, event);
    case "signal":
      return onSignal(pass, event);
    case "decide":
      return onDecide(pass, event);
    case "answer":
      return onAnswer(pass, event);
    case "cancel":
      return onCancel(pass, event);
    case "pause":
      return onPause(pass, event);
    case "resume":
      return onResume(pass, event);
    case "messages":
      return onMessages(pass);
    case "lease-timer":
      return onLeaseTimer(pass, event);
    case "ready-timer":
      return onReadyTimer(pass, event);
    case "due-timer":
      return onDueTime(pass, event);
    case "escalation-timer":
      return onEscalationTimer(pass, event);
    case "run-timer":
      return onRunTimer(pass);
  }
}

/** Effects that a client watching the run cannot see: they make no new version. */
const INVISIBLE: ReadonlySet<Effect["kind"]> = new Set([
  "wake-moved",
  "suspected",
  "attempt-stored",
  "intervened",
  "message-sent",
  "message-applied",
  "child-messaged",
  "escalation-reminded",
]);

function withVersion(view: View, effects: readonly Effect[]): View {
  if (effects.every((effect) => INVISIBLE.has(effect.kind))) return view;
  return { ...view, run: { ...view.run, version: view.run.version + 1 } };
}
