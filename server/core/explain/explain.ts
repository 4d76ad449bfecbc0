// Explains why a run is not moving, from its state alone: what the run and each of its steps wait
// for, since when, what was tried, what happens next and when, and what a person can do. There
// always is an explanation: every state that is not final has a due time, a person who has to act,
// or steps that it waits for.

import type { DeadlineAnswer } from "../definition/definition.ts";
import { untouchedStep } from "../evolve.ts";
import type { EpochMs } from "../model/attempt.ts";
import { isEnded, isFinal, isMoving, isUndoLeft, stageOf } from "../model/model.ts";
import { publicStep } from "../model/public-state.ts";
import { itemOf, numberOf } from "../model/step-key.ts";
import { type Plan, type PlanStep, planStepAt } from "../plan/plan.ts";
import { answersNow, askedWork } from "../recovery/answers.ts";
import { reaches } from "../recovery/saga.ts";
import { explainMoving, onItems, type StepSide, triedOf } from "./explain-moving.ts";
import type {
  Action,
  Explanation,
  Next,
  SeenEscalation,
  SeenRun,
  StepWait,
  Wait,
  WaitsFor,
} from "./explanation.ts";

export function explain(plan: Plan, seen: SeenRun): Explanation {
  const steps =
    isEnded(seen.state) || seen.state.kind === "PENDING"
      ? []
      : [
          ...plan.steps.flatMap((planned) => explainStep(plan, planned, seen) ?? []),
          ...explainItems(plan, seen),
        ];
  const first = steps
    .filter(waitsForSomethingExternal)
    .sort((a, b) => rank(a) - rank(b) || at(a) - at(b));
  return asWatched(seen, {
    run: explainRun(plan, seen, steps, first[0]),
    waitsOn: first.map(({ step }) => step),
    steps,
  });
}

/** Without a supervisor no due timer is handled, and one has to be started. */
function asWatched({ state, liveness }: SeenRun, explanation: Explanation): Explanation {
  const { unwatched } = liveness;
  if (!unwatched || isEnded(state)) return explanation;
  const { run, steps, ...rest } = explanation;
  // A claim lets one task through an open circuit, which needs no supervisor.
  const withUnwatched = <W extends Wait>(wait: W): W =>
    wait.next && wait.next.what !== "try-one"
      ? { ...wait, next: { ...wait.next, unwatched } }
      : wait;
  const start: Action = { kind: "start-supervisor", region: unwatched.region };
  return {
    ...rest,
    run: { ...withUnwatched(run), actions: [start, ...run.actions] },
    steps: steps.map(withUnwatched),
  };
}

/** Most explained items of each map. */
const ITEMS_EXPLAINED = 10;

/**
 * The items of maps that are not done, up to `ITEMS_EXPLAINED` of each map. Items that need a
 * person or an agent come first.
 */
function explainItems(plan: Plan, seen: SeenRun): readonly StepWait[] {
  const items = [...seen.steps.keys()].filter((stepKey) => itemOf(stepKey) > 0);
  return [...Map.groupBy(items, numberOf).values()].flatMap((places) =>
    places
      .flatMap((stepKey) => {
        const planned = planStepAt(plan, stepKey);
        return planned ? (explainStep(plan, planned, seen) ?? []) : [];
      })
      .sort((a, b) => rank(a) - rank(b) || at(a) - at(b))
      .slice(0, ITEMS_EXPLAINED),
  );
}

/** Whether the step waits for something other than steps or items. */
function waitsForSomethingExternal({ waitsFor }: StepWait): boolean {
  return !["steps", "end-of-run", "items"].includes(waitsFor.kind);
}

const BUSY = Object.freeze({ polled: true, cordoned: 0 });

/** Steps that need a person or an agent come first. */
function rank({ waitsFor }: StepWait): number {
  if (waitsFor.kind === "person") return 0;
  if (waitsFor.kind === "queue-to-resume" || waitsFor.kind === "circuit-to-close") return 1;
  const { polled, cordoned } = waitsFor.kind === "agent-to-poll" ? waitsFor : BUSY;
  return polled && cordoned === 0 ? 2 : 1;
}

function at({ next }: StepWait): EpochMs {
  return next?.at ?? Number.POSITIVE_INFINITY;
}

function explainRun(plan: Plan, seen: SeenRun, steps: readonly StepWait[], first?: StepWait): Wait {
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
    // The run gives up once it has waited for as long as it may last.
    const waits = state.on === "permit" ? state.until - plan.timeoutMs : seen.createdAt;
    const since = Math.max(seen.createdAt, waits);
    return { ...own, next, waitsFor: { kind: state.on }, since };
  }
  // Its deadline is suspended since then, also if the run was ESCALATED before the pause.
  if (state.kind === "PAUSED")
    return { ...own, waitsFor: { kind: "resume", task: null }, since: state.since };
  if (first) {
    const { waitsFor, since, next, tried } = first;
    return { waitsFor, since, next, tried, actions };
  }
  const [map] = steps.filter(({ waitsFor }) => waitsFor.kind === "items");
  if (map) return { ...map, actions };
  if (state.kind !== "STOPPING" || state.settleUntil === null)
    throw new Error(`a run is ${state.kind}, and none of its steps moves or waits for a person`);
  return {
    ...own,
    waitsFor: { kind: "settle", task: null },
    since: forwardEndedAt(seen),
    next: { what: "undo", at: state.settleUntil },
  };
}

/** The actions on the whole run that its state allows. */
function runActions(plan: Plan, seen: SeenRun): readonly Action[] {
  const { state, pivoted, escalations } = seen;
  const doubled = escalations.filter(
    ({ reason, closedAt }) => reason === "doubled" && closedAt === null,
  );
  const noted = doubled.flatMap((asked) => answerAction(plan, seen, asked));
  if (isEnded(state))
    return state.kind === "COMPLETED"
      ? noted
      : [...noted, { kind: "retry-run" }, { kind: "rerun" }];
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
  { state, pivoted, steps }: SeenRun,
  { n, step, reason }: SeenEscalation,
): readonly Action[] {
  const work = askedWork(planStepAt(plan, step), steps.get(step));
  const answers = answersNow(reason, { state, pivoted, work });
  return answers.length === 0 ? [] : [{ kind: "answer", step, escalation: n, answers }];
}

function explainStep(plan: Plan, planned: PlanStep, seen: SeenRun): StepWait | null {
  const step = seen.steps.get(planned.no) ?? untouchedStep(planned.no, planned.needs.length);
  // Once the end of the run is certain, effects that are not undone stay.
  const undoes = stageOf(seen.state) === "COMPENSATING" || step.forward.kind === "UNDOING";
  if (undoes && isUndoLeft(step.undo))
    return explainUndo(plan, { planned, step, seen, side: "undo" });
  return explainForward(plan, { planned, step, seen, side: "forward" });
}

function explainUndo(plan: Plan, stepSide: StepSide): StepWait {
  const { step, seen } = stepSide;
  if (isMoving(step.undo)) return explainMoving(stepSide, step.undo);
  if (step.undo.kind === "FAILED") return explainAsking(plan, stepSide);
  if (step.undo.kind === "MAPPING") return waitingOnItems(stepSide);
  const left = plan.steps.filter(({ no }) => {
    const undo = seen.steps.get(no)?.undo;
    return undo !== undefined && isUndoLeft(undo) && reaches(plan, step.no, new Set([no]));
  });
  const steps = left.map(({ no }) => no);
  return waiting(stepSide, { kind: "steps", steps }, forwardEndedAt(seen));
}

function explainForward(plan: Plan, stepSide: StepSide): StepWait | null {
  const { planned, step, seen } = stepSide;
  const { forward } = step;
  if (isMoving(forward)) return explainMoving(stepSide, forward);
  if (forward.kind === "ESCALATED") return explainAsking(plan, stepSide);
  if (forward.kind === "MAPPING") return waitingOnItems(stepSide);
  if (publicStep(step, seen.state, planned.always).state !== "BLOCKED") return null;
  if (planned.always && stageOf(seen.state) !== "FINISHING")
    return waiting(stepSide, { kind: "end-of-run" }, seen.createdAt);
  const steps = planned.needs.filter((no) => {
    const need = seen.steps.get(no);
    return need === undefined || !isFinal(need.forward);
  });
  return waiting(stepSide, { kind: "steps", steps }, seen.createdAt);
}

function waitingOnItems(stepSide: StepSide): StepWait {
  const { step, side } = stepSide;
  return { step: step.no, side, ...onItems(stepSide), tried: null };
}

function waiting({ step, side }: StepSide, waitsFor: WaitsFor, since: EpochMs): StepWait {
  return { step: step.no, side, waitsFor, since, next: null, tried: null, actions: [] };
}

/** The step waits for a person. */
function explainAsking(plan: Plan, stepSide: StepSide): StepWait {
  const { step, side, seen } = stepSide;
  const asked = seen.escalations.findLast(
    (one) => one.step === step.no && one.reason !== "doubled" && one.closedAt === null,
  );
  if (!asked) throw new Error(`step ${step.no} waits for a person, and has no open escalation`);
  const { n: escalation, reason, message, openedAt } = asked;
  return {
    step: step.no,
    side,
    waitsFor: { kind: "person", escalation, reason, message },
    since: openedAt,
    next: afterDeadline(stepSide, asked),
    tried: triedOf(stepSide),
    actions: answerAction(plan, seen, asked),
  };
}

/** null: no deadline is to come, or the state of the run does not allow its answer. */
function afterDeadline(
  { planned, step, seen }: StepSide,
  { reason, deadlineAt }: SeenEscalation,
): Next | null {
  const { deadline } = planned.escalation;
  if (deadline === null || deadlineAt === null || deadlineAt <= seen.now) return null;
  const work = askedWork(planned, step);
  const taken = answersNow(reason, { ...seen, work }).includes(deadline.answer);
  return taken ? { what: AFTER[deadline.answer], at: deadlineAt } : null;
}

const AFTER: Readonly<Record<DeadlineAnswer, Next["what"]>> = Object.freeze({
  retry: "make-ready",
  skip: "skip",
  compensate: "undo",
  fail: "fail",
});

/** When the last forward task ended, as far as that is known. Undoing begins after it. */
function forwardEndedAt({ attempts, createdAt }: SeenRun): EpochMs {
  const forward = attempts.filter(({ kind }) => kind !== "compensate" && kind !== "late");
  return Math.max(createdAt, ...forward.map(({ endedAt }) => endedAt));
}
