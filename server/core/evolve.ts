// How each effect changes the state of a run. Nothing else changes a run, in memory or in SQL. The
// run's counters are computed from the step before and after, so no effect can omit them.

import { countItem, evolveStep } from "./evolve-step.ts";
import type { EpochMs } from "./model/attempt.ts";
import type { Effect } from "./model/effect.ts";
import {
  FAILURE_EFFECTS,
  FAILURE_MESSAGE_MAX,
  isFinal,
  isUndoLeft,
  type Lease,
  movingSide,
  type Run,
  type RunState,
  type Step,
  type View,
} from "./model/model.ts";
import { itemOf, numberOf } from "./model/step-key.ts";
import { currentStrategy, type EffectStatus } from "./model/strategy.ts";
import { countWaits, waitOf } from "./model/waits.ts";

/** Properties of a planned step that its state does not contain. */
export interface Shape {
  readonly needs: number;
  readonly always: boolean;
  readonly pivot: boolean;
  readonly isMap: boolean;
}

/** The state of a step that is in no page. */
export function untouchedStep(no: number, needs: number): Step {
  return {
    no,
    forward: { kind: "BLOCKED", waitingFor: needs, ok: 0, skipped: 0 },
    undo: { kind: "NONE" },
    strategies: [{ planned: 0, changed: false, effectStatus: "NONE" }],
    fence: 0,
    attempt: 0,
    lost: 0,
    tries: [],
    unknownOutcome: null,
    verifies: 0,
    firstReadyAt: null,
    settleUntil: null,
    result: null,
    items: null,
  };
}

/**
 * The view after an effect. `steps`: the map of the view's steps, which is changed in place; the
 * caller must be its only holder. Left out: the given view stays unchanged.
 */
export function evolve(
  view: View,
  effect: Effect,
  shapeOf: (step: number) => Shape,
  steps: Map<number, Step> = new Map(view.steps),
): View {
  const change = (of: View, no: number, how: (step: Step) => Step): View =>
    changeStep({ ...of, steps }, no, shapeOf(no), steps, how);
  switch (effect.kind) {
    case "run-moved":
      return { ...view, run: { ...view.run, state: effect.state } };
    case "attempt-stored":
    case "intervened":
    case "command-noted":
    case "message-sent":
    case "child-messaged":
      return view;
    case "message-applied":
      return { ...view, messages: view.messages.filter(({ no }) => no !== effect.no) };
    case "warned":
      return { ...view, run: { ...view.run, warnings: view.run.warnings + 1 } };
    case "signal-stored": {
      const { seq, id, name, payload } = effect;
      return { ...view, signals: [...view.signals, { seq, id, name, payload, taken: false }] };
    }
    case "signal-taken":
      return { ...view, signals: taken(view.signals, effect.seq) };
    case "decision-stored": {
      const { step, approver, approved } = effect;
      return { ...view, decisions: [...view.decisions, { step, approver, approved }] };
    }
    case "escalation-reminded":
      return { ...view, escalations: reminded(view.escalations, effect) };
    case "escalation-answered":
      return close(view, ({ n }) => n === effect.n, `answered "${effect.answer}" by ${effect.by}`);
    case "escalation-closed":
      return close(
        view,
        ({ step, reason }) => step === effect.step && reason !== "doubled",
        effect.by,
      );
    case "escalated": {
      const { n, step: no, reason, wakeAt, deadlineAt } = effect;
      const run = { ...view.run, escalations: n };
      const asked = { n, step: no, reason, closedBy: null, wakeAt, deadlineAt, claimed: false };
      const escalations = [...view.escalations, asked];
      return change({ ...view, run, escalations }, no, (step) => evolveStep(step, effect));
    }
    case "failed": {
      const changed = change(view, effect.step, (step) => evolveStep(step, effect));
      return { ...changed, run: noteFailure(changed.run, effect, steps.get(effect.step)) };
    }
    case "settling":
      return settling(
        change(view, effect.step, (step) => evolveStep(step, effect)),
        effect.until,
      );
    case "task-ended":
    case "attempt-settled":
      return change(remember(view, effect), effect.attempt.step, (step) =>
        evolveStep(step, effect),
      );
    default:
      return change(view, effect.step, (step) => evolveStep(step, effect));
  }
}

function taken(signals: View["signals"], seq: number): View["signals"] {
  return signals.map((one) => (one.seq === seq ? { ...one, taken: true } : one));
}

function reminded(
  escalations: View["escalations"],
  { n, wakeAt }: Extract<Effect, { kind: "escalation-reminded" }>,
): View["escalations"] {
  return escalations.map((one) => (one.n === n ? { ...one, wakeAt } : one));
}

/** Adds the attempt, so that another report of the same pass finds it as a later pass would. */
function remember(
  view: View,
  effect: Extract<Effect, { kind: "task-ended" | "attempt-settled" }>,
): View {
  const { step, kind, fence, n, attempt, secret, agentId, session, startedAt, outcome, digest } =
    effect.attempt;
  if (secret === null || agentId === null || session === null) return view;
  if (kind !== "perform" && kind !== "verify" && kind !== "compensate") return view;
  const isKnown = view.attempts.some((ended) => ended.secret === secret);
  const others = isKnown ? view.attempts.filter((ended) => ended.secret !== secret) : view.attempts;
  const ended = {
    step,
    kind,
    fence,
    n,
    attempt,
    secret,
    agentId,
    session,
    startedAt,
    outcome: outcome.kind,
    transient: outcome.kind === "failure" && outcome.class === "transient",
    counted: effect.counted,
    digest,
  };
  return { ...view, attempts: [...others, ended] };
}

/** The effect status of the current strategy. */
export function currentEffectStatus(step: Step): EffectStatus {
  return step.strategies[currentStrategy(step)]?.effectStatus ?? "NONE";
}

/** Changes `steps`, which are those of the view, in place. */
function changeStep(
  view: View,
  no: number,
  shape: Shape,
  steps: Map<number, Step>,
  change: (step: Step) => Step,
): View {
  const before = steps.get(no) ?? untouchedStep(no, shape.needs);
  const after = change(before);
  steps.set(no, after);
  if (itemOf(no) > 0) {
    const map = steps.get(numberOf(no));
    if (!map) throw new Error(`the map of item ${no} was not loaded`);
    steps.set(map.no, countItem(map, before, after));
  }
  return { ...view, run: count(view.run, before, after, shape) };
}

function count(run: Run, before: Step, after: Step, { always, pivot, isMap }: Shape): Run {
  const difference = (of: (step: Step) => boolean): number =>
    Number(of(after)) - Number(of(before));
  const isItem = itemOf(after.no) > 0;
  const ended = isItem ? 0 : difference((step) => isFinal(step.forward));
  return {
    ...run,
    stepsLeft: run.stepsLeft - (always ? 0 : ended),
    alwaysLeft: run.alwaysLeft - (always ? ended : 0),
    moving: run.moving + difference((step) => movingSide(step) !== null),
    waits: countWaits(run.waits, waitOf(before), waitOf(after)),
    asking: run.asking + difference(asks),
    undosLeft: run.undosLeft + difference((step) => isUndoLeft(step.undo)),
    undone: run.undone + (isMap ? 0 : difference((step) => step.undo.kind === "DONE")),
    pivoted: run.pivoted || (pivot && after.forward.kind === "SUCCEEDED"),
  };
}

/** The first failure of the most important effect stays. */
function noteFailure(
  run: Run,
  { id, code, message, effect }: Extract<Effect, { kind: "failed" }>,
  failed: Step | undefined,
): Run {
  const known = run.failure ? FAILURE_EFFECTS.indexOf(run.failure.effect) : -1;
  if (FAILURE_EFFECTS.indexOf(effect) <= known) return run;
  const attempts = failed?.attempt ?? 0;
  const text = message.slice(0, FAILURE_MESSAGE_MAX).toWellFormed();
  return { ...run, failure: { id, effect, code, message: text, attempts } };
}

/** Whether a step waits for a person. */
export function asks(step: Step): boolean {
  return step.forward.kind === "ESCALATED" || step.undo.kind === "FAILED";
}

function settling(view: View, until: EpochMs): View {
  const state: RunState = view.run.state;
  if (state.kind !== "STOPPING" || !state.stopReason.undo) return view;
  const settleUntil = Math.max(state.settleUntil ?? 0, until);
  return { ...view, run: { ...view.run, state: { ...state, settleUntil } } };
}

function close(
  view: View,
  which: (escalation: View["escalations"][number]) => boolean,
  by: string,
): View {
  const escalations = view.escalations.map((one) =>
    one.closedBy === null && which(one) ? { ...one, closedBy: by, wakeAt: null } : one,
  );
  return { ...view, escalations };
}

export interface LeaseTimes {
  /** By then a heartbeat must have named a lease whose cancel was requested. */
  readonly unnamedAt: EpochMs;
  readonly stalledAt: EpochMs;
  readonly slowAt: EpochMs;
}

/**
 * The due time of a lease's timer: the earliest of its times. Silence is not among them: the
 * supervisor finds it by session, so a heartbeat writes no lease.
 */
export function leaseWakeAt(
  { cancel, attemptBy }: Pick<Lease, "cancel" | "attemptBy">,
  { unnamedAt, stalledAt, slowAt }: LeaseTimes,
): EpochMs {
  if (cancel.kind === "received") return cancel.by;
  return cancel.kind === "asked" ? unnamedAt : Math.min(attemptBy, stalledAt, slowAt);
}

/** The due time of the run's own timer; null: its state has none. */
export function runWakeAt(run: Run): EpochMs | null {
  if (run.state.kind === "PENDING") return run.state.until;
  if (run.state.kind === "RUNNING") return run.state.deadline;
  // While a step moves or waits for a person, the next change of that step moves the run.
  if (run.state.kind === "STOPPING" && run.moving === 0 && run.asking === 0)
    return run.state.settleUntil;
  return null;
}
