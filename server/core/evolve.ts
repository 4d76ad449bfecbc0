// What each effect means for the state. Nothing else changes a run, in memory or in SQL.
// The run's counters follow from the step before and after, so no effect can forget them.
import type { Effect } from "./effect.ts";
import {
  isFinal,
  isUndoLeft,
  type Lease,
  type Moment,
  type Moving,
  movingSide,
  type Run,
  type RunState,
  type Step,
  type View,
} from "./model.ts";

/** A step as it is while no row says otherwise. */
export function untouchedStep(no: number, needs: number): Step {
  return {
    no,
    forward: { kind: "BLOCKED", waitingFor: needs },
    undo: { kind: "NONE" },
    effect: "NONE",
    fence: 0,
    attempt: 0,
    lost: 0,
    tries: [],
    firstReadyAt: null,
    settleUntil: null,
    resultFence: null,
  };
}

/** The view after the effect. `needsOf` gives the number of needs of a step that has no row yet. */
export function evolve(view: View, effect: Effect, needsOf: (step: number) => number): View {
  switch (effect.kind) {
    case "run-moved":
      return { ...view, run: { ...view.run, state: effect.state } };
    case "attempt-kept":
    case "intervened":
    case "cancel-noted":
      return view;
    case "settling":
      return settling(
        changeStep(view, effect.step, needsOf, (step) => evolveStep(step, effect)),
        {
          until: effect.until,
        },
      );
    case "task-ended":
    case "attempt-settled":
      return changeStep(remember(view, effect), effect.attempt.step, needsOf, (step) =>
        evolveStep(step, effect),
      );
    default:
      return changeStep(view, effect.step, needsOf, (step) => evolveStep(step, effect));
  }
}

type StepEffect = Exclude<
  Effect,
  { kind: "run-moved" | "attempt-kept" | "intervened" | "cancel-noted" }
>;

function evolveStep(step: Step, effect: StepEffect): Step {
  switch (effect.kind) {
    case "need-ended": {
      if (step.forward.kind !== "BLOCKED") throw new Error(`step ${step.no} is not BLOCKED`);
      const waitingFor = step.forward.waitingFor - 1;
      return { ...step, forward: { kind: "BLOCKED", waitingFor } };
    }
    case "made-ready": {
      const firstReadyAt = step.firstReadyAt ?? effect.ready.readyAt;
      return { ...place(step, effect.side, effect.ready), firstReadyAt };
    }
    case "backed-off":
      return place(step, effect.side, { kind: "BACKOFF", wakeAt: effect.wakeAt });
    case "wake-moved":
      return changeMoving(step, (state) => ({ ...state, wakeAt: effect.wakeAt }));
    case "pickup-alarmed":
      return changeMoving(step, (state) =>
        state.kind === "READY"
          ? { ...state, alarms: state.alarms + 1, wakeAt: effect.wakeAt }
          : state,
      );
    case "cancel-asked":
      return changeMoving(step, (state) =>
        state.kind === "LEASED"
          ? { ...state, cancel: { kind: "asked", cause: effect.cause, at: effect.at } }
          : state,
      );
    case "task-ended":
      return endTask(step, effect);
    case "attempt-settled":
      return { ...charge(step, effect.counted), lost: 0 };
    case "effect-marked":
      return { ...step, effect: effect.mark };
    case "settling":
      return { ...step, settleUntil: Math.max(step.settleUntil ?? 0, effect.until) };
    case "succeeded":
      return { ...step, forward: { kind: "SUCCEEDED" }, resultFence: effect.fence };
    case "failed":
      return { ...step, forward: { kind: "FAILED" } };
    case "cancelled":
      return { ...step, forward: { kind: "CANCELLED" } };
    case "undo-planned":
      return { ...step, undo: { kind: "PENDING" }, attempt: 0, lost: 0, tries: [] };
    case "undone":
      return { ...step, undo: { kind: "DONE" } };
    case "undo-failed":
      return { ...step, undo: { kind: "FAILED" } };
    case "escalated":
      return isFinal(step.forward) ? step : { ...step, forward: { kind: "ESCALATED" } };
    case "escalation-closed":
      return step;
  }
}

/** The lease is gone; until the next effect of the pass says what follows, the step stands open. */
function endTask(step: Step, effect: Extract<Effect, { kind: "task-ended" }>): Step {
  // What was given back says nothing about the task: it does not break a row of losses.
  const unbroken = effect.counted ? 0 : step.lost;
  const lost = effect.lost ? step.lost + 1 : unbroken;
  return { ...charge(step, effect.counted), fence: effect.attempt.fence, lost };
}

/** Another report of the same pass finds the attempt as one of a later pass would, by its row. */
function remember(
  view: View,
  effect: Extract<Effect, { kind: "task-ended" | "attempt-settled" }>,
): View {
  const { step, kind, fence, attempt, secret, startedAt, outcome, digest } = effect.attempt;
  if (secret === null || (kind !== "perform" && kind !== "compensate")) return view;
  const lost = effect.kind === "task-ended" && effect.lost;
  const others = view.attempts.filter((ended) => ended.secret !== secret);
  const ended = {
    step,
    kind,
    fence,
    attempt,
    secret,
    startedAt,
    outcome: outcome.kind,
    lost,
    digest,
  };
  return { ...view, attempts: [...others, ended] };
}

function charge(step: Step, counted: { readonly policy: number | null } | null): Step {
  if (!counted) return step;
  const tries = [...step.tries];
  if (counted.policy !== null) {
    while (tries.length <= counted.policy) tries.push(0);
    tries[counted.policy] = (tries[counted.policy] ?? 0) + 1;
  }
  return { ...step, attempt: step.attempt + 1, tries };
}

function place(step: Step, side: "forward" | "undo", state: Moving): Step {
  return side === "forward" ? { ...step, forward: state } : { ...step, undo: state };
}

function changeMoving(step: Step, change: (state: Moving) => Moving): Step {
  const moving = movingSide(step);
  return moving ? place(step, moving.side, change(moving.state)) : step;
}

function changeStep(
  view: View,
  no: number,
  needsOf: (step: number) => number,
  change: (step: Step) => Step,
): View {
  const before = view.steps.get(no) ?? untouchedStep(no, needsOf(no));
  const after = change(before);
  const steps = new Map(view.steps).set(no, after);
  return { ...view, steps, run: count(view.run, before, after) };
}

function count(run: Run, before: Step, after: Step): Run {
  const difference = (of: (step: Step) => boolean): number =>
    Number(of(after)) - Number(of(before));
  return {
    ...run,
    stepsLeft: run.stepsLeft - difference((step) => isFinal(step.forward)),
    moving: run.moving + difference((step) => movingSide(step) !== null),
    undosLeft: run.undosLeft + difference((step) => isUndoLeft(step.undo)),
    undone: run.undone + difference((step) => step.undo.kind === "DONE"),
  };
}

function settling(view: View, { until }: { until: Moment }): View {
  const state: RunState = view.run.state;
  if (state.kind !== "STOPPING" || !state.verdict.undo) return view;
  const settleUntil = Math.max(state.settleUntil ?? 0, until);
  return { ...view, run: { ...view.run, state: { ...state, settleUntil } } };
}

/** The moment at which somebody must look at a lease: it is the earliest of those that it has. */
export function leaseWakeAt(lease: Lease, silentAt: Moment): Moment {
  if (lease.cancel.kind === "heard") return lease.cancel.by;
  return lease.cancel.kind === "asked" ? silentAt : Math.min(silentAt, lease.attemptBy);
}

/** The moment of the run itself, if its state has one. */
export function runWakeAt(run: Run): Moment | null {
  if (run.state.kind === "RUNNING") return run.state.deadline;
  // While a lease is out, its end moves the run on.
  if (run.state.kind === "STOPPING" && run.moving === 0) return run.state.settleUntil;
  return null;
}
