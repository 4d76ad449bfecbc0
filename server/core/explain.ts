// Why a run is not moving, from its state alone: what it and each of its steps wait for, since
// when, what was tried, what happens next and when, and what a person can do. It is never
// "unknown": every state that is not final has a moment, a person who owns it, or steps that it
// waits for.
import { answersNow } from "./answers.ts";
import type { Moment } from "./attempt.ts";
import { untouchedStep } from "./evolve.ts";
import { explainMoving, type Place, triedOf } from "./explain-moving.ts";
import type { Action, Explanation, SeenRun, StepWait, Wait, WaitsFor } from "./explanation.ts";
import { isEnded, isFinal, isMoving, isUndoLeft, stageOf } from "./model.ts";
import type { Plan, PlanStep } from "./plan.ts";
import { reaches } from "./saga.ts";
import { shownStep } from "./shown.ts";

export function explain(plan: Plan, seen: SeenRun): Explanation {
  const steps =
    isEnded(seen.state) || seen.state.kind === "PENDING"
      ? []
      : plan.steps.flatMap((planned) => explainStep(plan, planned, seen) ?? []);
  const first = steps.filter(isFirst).sort((a, b) => rank(a) - rank(b) || at(a) - at(b));
  return {
    run: explainRun(plan, seen, first[0]),
    waitsOn: first.map(({ step }) => step),
    steps,
  };
}

/** It waits for more than other steps. */
function isFirst({ waitsFor }: StepWait): boolean {
  return waitsFor.kind !== "steps" && waitsFor.kind !== "end-of-run";
}

/** What needs somebody comes first. */
function rank({ waitsFor }: StepWait): number {
  if (waitsFor.kind === "person") return 0;
  if (waitsFor.kind === "queue-to-resume") return 1;
  return waitsFor.kind === "agent-to-poll" && !waitsFor.polled ? 1 : 2;
}

function at({ next }: StepWait): Moment {
  return next?.at ?? Number.POSITIVE_INFINITY;
}

function explainRun(plan: Plan, seen: SeenRun, first: StepWait | undefined): Wait {
  const { state } = seen;
  const actions = runActions(plan, seen);
  const own = { next: null, tried: null, actions };
  if (isEnded(state)) {
    const since = seen.endedAt ?? seen.now;
    return { ...own, waitsFor: { kind: "ended" }, since };
  }
  if (state.kind === "PENDING") {
    const what = state.on === "start" ? "start" : "give-up";
    const next = { what, at: state.until } as const;
    return { ...own, next, waitsFor: { kind: state.on }, since: seen.createdAt };
  }
  // From then on its clock stands still; so it does of one that was ESCALATED before.
  if (state.kind === "PAUSED")
    return { ...own, waitsFor: { kind: "resume", task: null }, since: state.since };
  if (first) {
    const { waitsFor, since, next, tried } = first;
    return { waitsFor, since, next, tried, actions };
  }
  if (state.kind !== "STOPPING" || state.settleUntil === null)
    throw new Error(`a run is ${state.kind}, and none of its steps moves or waits for a person`);
  return {
    ...own,
    waitsFor: { kind: "settle", task: null },
    since: forwardEndedAt(seen),
    next: { what: "undo", at: state.settleUntil },
  };
}

/** What the state allows to be said to the run as a whole. */
function runActions(plan: Plan, seen: SeenRun): readonly Action[] {
  const { state, pivoted, escalations } = seen;
  const doubled = escalations.filter(
    ({ reason, closedAt }) => reason === "doubled" && closedAt === null,
  );
  const noted = doubled.flatMap((asked) => answerAction(plan, seen, asked));
  if (isEnded(state)) return noted;
  const stage = stageOf(state);
  const running = stage === "RUNNING";
  if (state.kind === "PENDING") return [{ kind: "cancel", undo: ["compensate", "leave"] }];
  const actions: Action[] = [];
  if (state.kind === "PAUSED") actions.push({ kind: "resume" });
  else if (running) actions.push({ kind: "pause" });
  if (running)
    actions.push({ kind: "cancel", undo: pivoted ? ["leave"] : ["compensate", "leave"] });
  else if (state.kind === "ESCALATED") actions.push({ kind: "cancel", undo: ["leave"] });
  return [...actions, ...noted];
}

function answerAction(
  plan: Plan,
  { state, pivoted }: SeenRun,
  { n, step, reason }: SeenRun["escalations"][number],
): readonly Action[] {
  const work = plan.steps[step]?.work.kind ?? "task";
  const answers = answersNow(reason, { state, pivoted, work });
  return answers.length === 0 ? [] : [{ kind: "answer", step, escalation: n, answers }];
}

function explainStep(plan: Plan, planned: PlanStep, seen: SeenRun): StepWait | null {
  const step = seen.steps.get(planned.no) ?? untouchedStep(planned.no, planned.needs.length);
  // Once it is certain how the run ends, what is not undone stays as it is.
  if (stageOf(seen.state) === "COMPENSATING" && isUndoLeft(step.undo))
    return explainUndo(plan, { planned, step, seen, side: "undo" });
  return explainForward(plan, { planned, step, seen, side: "forward" });
}

function explainUndo(plan: Plan, place: Place): StepWait {
  const { step, seen } = place;
  if (isMoving(step.undo)) return explainMoving(place, step.undo);
  if (step.undo.kind === "FAILED") return explainAsking(plan, place);
  const left = plan.steps.filter(({ no }) => {
    const undo = seen.steps.get(no)?.undo;
    return undo !== undefined && isUndoLeft(undo) && reaches(plan, step.no, new Set([no]));
  });
  const steps = left.map(({ no }) => no);
  return waiting(place, { kind: "steps", steps }, forwardEndedAt(seen));
}

function explainForward(plan: Plan, place: Place): StepWait | null {
  const { planned, step, seen } = place;
  const { forward } = step;
  if (isMoving(forward)) return explainMoving(place, forward);
  if (forward.kind === "ESCALATED") return explainAsking(plan, place);
  if (shownStep(step, seen.state, planned.always).state !== "BLOCKED") return null;
  if (planned.always && stageOf(seen.state) !== "FINISHING")
    return waiting(place, { kind: "end-of-run" }, seen.createdAt);
  const steps = planned.needs.filter((no) => {
    const need = seen.steps.get(no);
    return need === undefined || !isFinal(need.forward);
  });
  return waiting(place, { kind: "steps", steps }, seen.createdAt);
}

function waiting({ step, side }: Place, waitsFor: WaitsFor, since: Moment): StepWait {
  return { step: step.no, side, waitsFor, since, next: null, tried: null, actions: [] };
}

/** A person is asked. */
function explainAsking(plan: Plan, place: Place): StepWait {
  const { step, side, seen } = place;
  const asked = seen.escalations.findLast(
    (one) => one.step === step.no && one.reason !== "doubled" && one.closedAt === null,
  );
  if (!asked) throw new Error(`step ${step.no} waits for a person, and no question stands open`);
  const { n: escalation, reason, message, openedAt } = asked;
  return {
    step: step.no,
    side,
    waitsFor: { kind: "person", escalation, reason, message },
    since: openedAt,
    next: null,
    tried: triedOf(place),
    actions: answerAction(plan, seen, asked),
  };
}

/** When the last task forward ended, as far as that is known: undoing begins after that. */
function forwardEndedAt({ attempts, createdAt }: SeenRun): Moment {
  const forward = attempts.filter(({ kind }) => kind !== "compensate" && kind !== "late");
  return Math.max(createdAt, ...forward.map(({ endedAt }) => endedAt));
}
