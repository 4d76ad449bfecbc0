// The invariants of every run between two passes. A broken one is a bug of the server, never an
// operating error; the property tests assert all of them after each decision. The view must hold
// every step of the run that is in a page.

import { asks, currentEffectStatus, untouchedStep } from "./evolve.ts";
import type { TaskKind } from "./model/attempt.ts";
import type { Items } from "./model/items.ts";
import {
  isEnded,
  isFinal,
  isMoving,
  isUndoLeft,
  movingSide,
  type Reason,
  type RunState,
  type Step,
  stageOf,
  type Undo,
  type View,
} from "./model/model.ts";
import { itemOf, numberOf } from "./model/step-key.ts";
import { currentStrategy, leavesEffect, strategyToUndo } from "./model/strategy.ts";
import { countWaits, NO_WAITS, WAIT_KINDS, waitOf } from "./model/waits.ts";
import { type Plan, type PlanStep, planStepAt } from "./plan/plan.ts";
import { isUndoable, reaches } from "./recovery/saga.ts";

interface Run {
  readonly plan: Plan;
  readonly view: View;
  /** All steps of the plan, also those that are in no page. */
  readonly steps: readonly Step[];
  /** All steps, and the items of maps that have started. */
  readonly all: readonly Step[];
  readonly state: RunState;
  /** The stage of the run; if it is suspended, the stage in which it was suspended. */
  readonly stage: "PENDING" | "RUNNING" | "STOPPING" | "COMPENSATING" | "FINISHING" | "ENDED";
}

/** Every invariant that the run breaks, as text; empty for a valid run. */
export function brokenInvariants(plan: Plan, view: View): readonly string[] {
  const steps = plan.steps.map(
    (step) => view.steps.get(step.no) ?? untouchedStep(step.no, step.needs.length),
  );
  const { state } = view.run;
  const pending = state.kind === "PENDING" ? "PENDING" : stageOf(state);
  const stage = isEnded(state) ? "ENDED" : pending;
  const items = [...view.steps.values()].filter(({ no }) => itemOf(no) > 0);
  const run: Run = { plan, view, steps, all: [...steps, ...items], state, stage };
  const broken = [...brokenCounters(run), ...brokenWaits(run), ...brokenRunState(run)];
  for (const step of run.all) {
    const planned = planStepAt(plan, step.no);
    if (!planned) continue;
    const found = [
      ...brokenSides(step, planned, run),
      ...brokenNeeds(step, planned, run),
      ...brokenMoving(step, planned, run),
      ...brokenEffect(step, planned, run),
      ...brokenTries(step, planned),
      ...(planned.work.kind === "map" ? brokenMap(step, items, run) : []),
    ];
    broken.push(...found.map((problem) => `step ${planned.id}: ${problem}`));
  }
  return broken;
}

type Counters = Pick<
  View["run"],
  "stepsLeft" | "alwaysLeft" | "moving" | "asking" | "undosLeft" | "undone"
>;

/** The counters of a run, computed from its steps; `rows`: the steps in pages. */
function runCounters(plan: Plan, rows: ReadonlyMap<number, Step>): Counters {
  const left = (always: boolean): number =>
    plan.steps.filter(
      (step) => step.always === always && !isFinal(rows.get(step.no)?.forward ?? BLOCKED),
    ).length;
  const all = [...rows.values()];
  return {
    stepsLeft: left(false),
    alwaysLeft: left(true),
    moving: all.filter((step) => movingSide(step) !== null).length,
    asking: all.filter(asks).length,
    undosLeft: all.filter((step) => isUndoLeft(step.undo)).length,
    undone: all.filter(
      ({ no, undo }) => undo.kind === "DONE" && planStepAt(plan, no)?.work.kind !== "map",
    ).length,
  };
}

const BLOCKED = Object.freeze({ kind: "BLOCKED", waitingFor: 1, ok: 0, skipped: 0 } as const);

function brokenWaits({ view }: Run): string[] {
  const counted = [...view.steps.values()].reduce(
    (counts, step) => countWaits(counts, null, waitOf(step)),
    NO_WAITS,
  );
  return WAIT_KINDS.filter((kind) => view.run.waits[kind] !== counted[kind]).map(
    (kind) => `waits for ${kind} are ${view.run.waits[kind]}, the steps say ${counted[kind]}`,
  );
}

function brokenCounters({ plan, view }: Run): string[] {
  const counted = runCounters(plan, view.steps);
  const names = ["stepsLeft", "alwaysLeft", "moving", "asking", "undosLeft", "undone"] as const;
  return names
    .filter((name) => view.run[name] !== counted[name])
    .map((name) => `${name} is ${view.run[name]}, the steps say ${counted[name]}`);
}

/** Reused steps ended in another run, before this one begins. */
function hasStarted({ steps }: View): boolean {
  return [...steps.values()].some(
    ({ forward, undo }) =>
      undo.kind !== "NONE" || !["BLOCKED", "SUCCEEDED", "SKIPPED"].includes(forward.kind),
  );
}

const CANCEL_REASONS: readonly Reason[] = [
  "CANCELLED_BY_USER",
  "NEVER_STARTED",
  "CANCELLED_BY_NEWER",
];

/** Every state that is not final has a due time, or a person who has to act. */
function brokenRunState({ plan, view, steps, all, state }: Run): string[] {
  const { moving, asking, stepsLeft, alwaysLeft, undosLeft, undone } = view.run;
  const broken: string[] = [];
  const must = (holds: boolean, what: string): void => {
    if (!holds) broken.push(`run ${state.kind}: ${what}`);
  };
  if (isEnded(state)) {
    must(moving === 0, `${moving} steps still move`);
    const never = state.reason === "NEVER_STARTED" || state.reason === "REFUSED";
    const began = !never && (state.reason !== "CANCELLED_BY_NEWER" || hasStarted(view));
    must(alwaysLeft === 0 || !began, `${alwaysLeft} always steps have not run`);
    must(!never || !hasStarted(view), "steps have started of a run that never did");
  }
  switch (state.kind) {
    case "PENDING":
      must(!hasStarted(view), "steps have started");
      must(state.on === "start" || view.run.keyed, "it waits for a permit of no key");
      break;
    case "RUNNING":
    case "COMPENSATING":
    case "FINISHING":
      must(moving > 0, "nothing moves");
      break;
    case "PAUSED":
      break;
    case "STOPPING": {
      const settle = Math.max(...all.map((step) => step.settleUntil ?? 0));
      const expected = state.stopReason.undo && settle > 0 ? settle : null;
      must(moving > 0 || state.settleUntil !== null, "nothing will ever wake it");
      must(
        state.settleUntil === expected,
        `settles until ${state.settleUntil}, its steps until ${expected}`,
      );
      break;
    }
    case "ESCALATED":
      must(moving === 0, `${moving} steps still move`);
      must(asking > 0, "nothing waits for a person");
      break;
    case "COMPLETED":
      must(stepsLeft === 0 && state.reason === "DONE", `${stepsLeft} steps left, ${state.reason}`);
      must(
        steps.every(
          ({ no, forward }) =>
            forward.kind === "SUCCEEDED" ||
            forward.kind === "SKIPPED" ||
            (forward.kind === "FAILED" && plan.steps[no]?.onFailure === "continue") ||
            (forward.kind === "CANCELLED" && plan.steps[no]?.always === true),
        ),
        "a step did not succeed",
      );
      break;
    case "COMPENSATED":
      must(undone > 0 && undosLeft === 0, `${undone} undone, ${undosLeft} left`);
      break;
    case "FAILED":
      must(undosLeft > 0 || undone === 0, "all was undone, so it is COMPENSATED");
      break;
    case "CANCELLED":
      must(CANCEL_REASONS.includes(state.reason), `reason ${state.reason}`);
      must(undosLeft > 0 || undone === 0, "all was undone, so it is COMPENSATED");
      break;
  }
  return broken;
}

/** Checks the states of both sides of a step against the state of the run. */
function brokenSides({ forward, undo }: Step, planned: PlanStep, run: Run): string[] {
  const { state, stage } = run;
  const broken: string[] = [];
  const must = (holds: boolean, what: string): void => {
    if (!holds) broken.push(`${what} in a ${state.kind} run`);
  };
  if (isMoving(forward) && isMoving(undo)) broken.push("forward and undo move at once");
  const ofStrategy = forward.kind === "UNDOING";
  if (ofStrategy) broken.push(...brokenUndoing(undo, run));
  else if (undo.kind !== "NONE") {
    if (!isFinal(forward)) broken.push(`undo is ${undo.kind} while forward is ${forward.kind}`);
    const unstarted = stage === "RUNNING" || stage === "STOPPING" || state.kind === "COMPLETED";
    must(!unstarted, `undo is ${undo.kind}`);
  }
  must(!isMoving(undo) || ofStrategy || state.kind === "COMPENSATING", `undo is ${undo.kind}`);
  if (planned.always) {
    const may = stage === "FINISHING" || stage === "ENDED" || forward.kind === "BLOCKED";
    must(may, `an always step is ${forward.kind}`);
    return broken;
  }
  switch (forward.kind) {
    case "READY":
    case "BACKOFF":
      must(mayHandOut(forward.task, state), `${forward.kind} to ${forward.task}`);
      break;
    case "LEASED":
      must(stage === "RUNNING" || stage === "STOPPING", "LEASED");
      if (state.kind === "STOPPING" && forward.cancel.kind === "none")
        must(mayHandOut(forward.task, state), "its agent is not asked to stop");
      break;
    case "WAITING":
      must(state.kind !== "ESCALATED", "WAITING");
      // A child ends before its parent does, so a run that stops has cancelled it.
      if (stage === "STOPPING") must(forward.on === "child-end", "its child is not asked to stop");
      else must(stage === "RUNNING", `WAITING for ${forward.on}`);
      break;
    case "MAPPING":
      must(stage === "RUNNING", "MAPPING");
      break;
    case "HELD":
      must(state.kind === "PAUSED", "HELD");
      break;
    case "ESCALATED":
      must(stage === "RUNNING" || stage === "STOPPING", "ESCALATED");
      break;
    case "FAILED":
      if (stage === "RUNNING" && planned.onFailure !== "continue" && itemOf(planned.no) === 0)
        must(state.kind === "PAUSED" && state.stopReason !== null, "FAILED without a stop reason");
      break;
    case "CANCELLED":
      must(stage !== "RUNNING", "CANCELLED without a stop reason");
      break;
    default:
      break;
  }
  return broken;
}

/** A strategy is undone before the step continues. */
function brokenUndoing(undo: Undo, { state, stage }: Run): string[] {
  if (stage === "STOPPING")
    return undo.kind === "LEASED" ? [] : [`UNDOING, and undo is ${undo.kind} in a STOPPING run`];
  if (stage !== "RUNNING") return [`UNDOING in a ${state.kind} run`];
  if (!isMoving(undo) && undo.kind !== "FAILED") return [`UNDOING, and undo is ${undo.kind}`];
  return undo.kind === "HELD" && state.kind !== "PAUSED" ? ["undo is HELD in no paused run"] : [];
}

function mayHandOut(task: TaskKind, state: RunState): boolean {
  if (state.kind === "RUNNING" || (state.kind === "PAUSED" && task !== "compensate")) return true;
  return task === "verify" && state.kind === "STOPPING" && state.stopReason.undo;
}

function brokenNeeds(step: Step, planned: PlanStep, { steps, state, stage }: Run): string[] {
  const unfinished = planned.needs.filter((no) => {
    const kind = steps[no]?.forward.kind;
    // `always` steps run also after an `always` step that a person has left.
    if (planned.always && kind === "CANCELLED") return false;
    return kind !== "SUCCEEDED" && kind !== "SKIPPED" && kind !== "FAILED";
  }).length;
  if (step.forward.kind !== "BLOCKED")
    return unfinished > 0 ? [`${step.forward.kind} with ${unfinished} needs left`] : [];
  // Needs are no longer counted once there is a stop reason; `always` steps wait for the end.
  const stops = state.kind === "PAUSED" && state.stopReason !== null;
  if (stage !== "RUNNING" || stops || planned.always) return [];
  const { waitingFor } = step.forward;
  if (waitingFor !== unfinished) return [`waits for ${waitingFor} needs, ${unfinished} are left`];
  return waitingFor === 0 ? ["BLOCKED, but waits for nothing"] : [];
}

/** A ready task or a lease has the next fence and attempt; each moving state has a due time. */
function brokenMoving(step: Step, planned: PlanStep, { state: runState }: Run): string[] {
  const moving = movingSide(step);
  if (!moving || moving.state.kind === "HELD") return [];
  const { side, state } = moving;
  const broken: string[] = [];
  if (!Number.isFinite(state.wakeAt)) broken.push(`${state.kind} without a time`);
  if (state.kind === "WAITING") return broken;
  if ((side === "undo") !== (state.task === "compensate"))
    broken.push(`${side} is ${state.kind} with the task ${state.task}`);
  if (state.task === "verify" && step.unknownOutcome === null)
    broken.push("verified without an unknown outcome");
  if (state.kind === "BACKOFF") return broken;
  const next = state.task === "verify" ? step.fence : step.fence + 1;
  if (state.fence !== next) broken.push(`${state.kind} has fence ${state.fence}, ${next} is next`);
  const attempt = (state.task === "verify" ? step.verifies : step.attempt) + 1;
  if (state.attempt !== attempt)
    broken.push(`${state.kind} is attempt ${state.attempt}, ${attempt} is next`);
  if (state.kind === "READY" && state.task === "perform") {
    const totalEnd = (step.firstReadyAt ?? state.readyAt) + planned.timeouts.totalMs;
    // An open circuit moves the end of `total`, and no stored value says by how much.
    const until = state.until ?? totalEnd;
    // A task that was returned after that time is due at once.
    if (state.wakeAt > Math.max(totalEnd, until, state.readyAt))
      broken.push("its timer is due after its total is over");
    const deadline = runState.kind === "RUNNING" ? runState.deadline : null;
    const bound = Math.min(totalEnd, deadline ?? totalEnd);
    if (until < bound) broken.push(`runs until ${state.until}, and may until ${bound}`);
  }
  return broken;
}

/** The run undoes every effect, in reverse order, and nothing else. */
function brokenEffect(step: Step, planned: PlanStep, { plan, steps, state, stage }: Run): string[] {
  const { forward, undo, result } = step;
  const broken: string[] = [];
  const mark = currentEffectStatus(step);
  if (forward.kind === "SUCCEEDED") {
    if (planned.work.kind === "task" || planned.work.kind === "run") {
      if (mark !== "MADE" && mark !== "UNDONE") broken.push(`SUCCEEDED, but its effect is ${mark}`);
      if (result === null || result.fence > step.fence)
        broken.push(`SUCCEEDED with the result of fence ${result?.fence} of ${step.fence}`);
    }
  } else if (result !== null) broken.push(`${forward.kind}, but has a result`);
  const left = planned.work.kind === "map" ? null : strategyToUndo(step);
  const undoable = isUndoable(planned, step);
  const effects = step.strategies.filter(leavesEffect).length;
  // A reused step may have effects of another definition, maybe one without an undo. It was never
  // READY in this run; once it is undone, it cannot be distinguished from other steps.
  const mayBeReused = step.firstReadyAt === null || undo.kind !== "NONE";
  if (planned.compensate && effects > 1 && !mayBeReused)
    broken.push(`${effects} of its strategies have an effect`);
  if (isUndoLeft(undo) && !undoable) broken.push(`undo is ${undo.kind}, with nothing to undo`);
  if (undo.kind === "DONE" && left !== null) broken.push(`undo is DONE, strategy ${left} is left`);
  const undoing =
    stage === "COMPENSATING" ||
    state.kind === "COMPENSATED" ||
    (state.kind === "FINISHING" && state.end.kind === "COMPENSATED");
  // The items of a map are undone one group after another.
  const map = itemOf(step.no) > 0 ? steps[numberOf(step.no)] : undefined;
  const comes = map !== undefined && map.undo.kind !== "DONE";
  if (undoing && undoable && undo.kind === "NONE" && !comes) broken.push("its effect is forgotten");
  if (isMoving(undo) || undo.kind === "DONE" || undo.kind === "FAILED") {
    const others = new Set(steps.flatMap((other) => (isUndoLeft(other.undo) ? [other.no] : [])));
    if (reaches(plan, step.no, others)) broken.push(`undo is ${undo.kind} before its successors`);
  }
  if (step.unknownOutcome !== null && strategyToUndo(step) === null && !isFinal(forward))
    broken.push(`of unknown outcome, but its effect is ${mark}`);
  if (forward.kind === "UNDOING" && step.unknownOutcome === null)
    broken.push("UNDOING, and has no setback");
  return broken;
}

/** The counters of a map match its items. */
function brokenMap({ no, forward, undo, items }: Step, all: readonly Step[], run: Run): string[] {
  const own = all.filter((item) => numberOf(item.no) === no);
  if (!items) return own.length > 0 ? [`${own.length} items of a map that has not started`] : [];
  const counted = itemCounters(own);
  const names = [
    ...(["started", "open", "succeeded", "failed", "skipped"] as const),
    ...(["undosMoving", "undosLeft"] as const),
  ];
  const broken = names
    .filter((name) => items[name] !== counted[name])
    .map((name) => `${name} is ${items[name]}, its items say ${counted[name]}`);
  const { state } = run;
  const stops = state.kind === "PAUSED" && state.stopReason !== null;
  if (forward.kind === "MAPPING" && items.open === 0 && !stops)
    broken.push("MAPPING, and none of its items is under way");
  if (undo.kind === "MAPPING" && state.kind === "COMPENSATING" && items.undosLeft === 0)
    broken.push("undo is MAPPING, and none of its items is left to undo");
  if (items.started > items.total)
    broken.push(`${items.started} of ${items.total} items have started`);
  return broken;
}

/** The counters of a map, computed from its items. */
function itemCounters(own: readonly Step[]): Omit<Items, "total" | "undoFrom"> {
  const count = (of: (item: Step) => boolean): number => own.filter(of).length;
  return {
    started: own.length,
    open: count((item) => !isFinal(item.forward)),
    succeeded: count((item) => item.forward.kind === "SUCCEEDED"),
    failed: count((item) => item.forward.kind === "FAILED"),
    skipped: count((item) => item.forward.kind === "SKIPPED"),
    undosMoving: count((item) => isMoving(item.undo)),
    undosLeft: count((item) => isUndoLeft(item.undo)),
  };
}

function brokenTries(step: Step, planned: PlanStep): string[] {
  const { work } = planned;
  const strategy = step.strategies[currentStrategy(step)]?.planned ?? 0;
  const gate = work.kind === "map" ? (work.gate?.retry ?? []) : [];
  const tried = work.kind === "task" || work.kind === "run" ? work.strategies : [];
  const forward = tried[strategy]?.retry ?? gate;
  const retry = step.undo.kind === "NONE" ? forward : (planned.compensate?.retry ?? []);
  const broken: string[] = [];
  const charged = step.tries.reduce((sum, tries) => sum + tries, 0);
  if (charged > step.attempt) broken.push(`${charged} tries charged, ${step.attempt} counted`);
  step.tries.forEach((tries, index) => {
    const allowed = retry[index]?.attempts ?? 0;
    if (tries > allowed) broken.push(`${tries} tries of policy ${index}, ${allowed} allowed`);
  });
  if (step.attempt > step.fence)
    broken.push(`${step.attempt} attempts counted of ${step.fence} hand-outs`);
  return broken;
}
