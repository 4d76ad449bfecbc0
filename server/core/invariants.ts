// What is true of every run between two passes. Broken means a bug of ours, never an operating
// error: the property tests assert it after each decision, the integrity sweep for the rows of a
// run. The view must hold every step row of the run.
import type { Plan, PlanStep } from "./definition.ts";
import { untouchedStep } from "./evolve.ts";
import {
  isEnded,
  isFinal,
  isMoving,
  isUndoLeft,
  movingSide,
  type RunState,
  type Step,
  type View,
} from "./model.ts";
import { reaches } from "./saga.ts";

interface Run {
  readonly plan: Plan;
  readonly view: View;
  /** All steps of the plan, with those that no row says anything about. */
  readonly steps: readonly Step[];
  readonly state: RunState;
}

/** Every invariant that the run breaks, in words; none for a run as it should be. */
export function brokenInvariants(plan: Plan, view: View): readonly string[] {
  const steps = plan.steps.map(
    (step) => view.steps.get(step.no) ?? untouchedStep(step.no, step.needs.length),
  );
  const run: Run = { plan, view, steps, state: view.run.state };
  const broken = [...brokenCounters(run), ...brokenRunState(run)];
  for (const step of steps) {
    const planned = plan.steps[step.no];
    if (!planned) continue;
    const found = [
      ...brokenSides(step, run),
      ...brokenNeeds(step, planned, run),
      ...brokenMoving(step, planned, run),
      ...brokenEffect(step, planned, run),
      ...brokenTries(step, planned),
    ];
    broken.push(...found.map((problem) => `step ${planned.id}: ${problem}`));
  }
  return broken;
}

function brokenCounters({ view, steps }: Run): string[] {
  const counted = {
    stepsLeft: steps.filter((step) => !isFinal(step.forward)).length,
    moving: steps.filter((step) => movingSide(step) !== null).length,
    undosLeft: steps.filter((step) => isUndoLeft(step.undo)).length,
    undone: steps.filter((step) => step.undo.kind === "DONE").length,
  };
  const names = ["stepsLeft", "moving", "undosLeft", "undone"] as const;
  return names
    .filter((name) => view.run[name] !== counted[name])
    .map((name) => `${name} is ${view.run[name]}, the steps say ${counted[name]}`);
}

/** Every state that is not final has a due moment, or a person who owns it. */
function brokenRunState({ view, steps, state }: Run): string[] {
  const { moving, stepsLeft, undosLeft, undone } = view.run;
  const broken: string[] = [];
  const must = (holds: boolean, what: string): void => {
    if (!holds) broken.push(`run ${state.kind}: ${what}`);
  };
  if (isEnded(state)) must(moving === 0, `${moving} steps still move`);
  switch (state.kind) {
    case "RUNNING":
      must(moving > 0, "nothing moves");
      break;
    case "STOPPING": {
      const settle = Math.max(...steps.map((step) => step.settleUntil ?? 0));
      const expected = state.verdict.undo && settle > 0 ? settle : null;
      must(moving > 0 || state.settleUntil !== null, "nothing will ever wake it");
      must(
        state.settleUntil === expected,
        `settles until ${state.settleUntil}, its steps until ${expected}`,
      );
      break;
    }
    case "COMPENSATING":
      must(moving > 0, "nothing moves");
      break;
    case "ESCALATED":
      must(moving === 0, `${moving} steps still move`);
      must(
        steps.some((step) =>
          state.verdict === null ? step.forward.kind === "ESCALATED" : step.undo.kind === "FAILED",
        ),
        "nothing waits for a person",
      );
      break;
    case "COMPLETED":
      must(stepsLeft === 0 && state.reason === "DONE", `${stepsLeft} steps left, ${state.reason}`);
      must(
        steps.every((step) => step.forward.kind === "SUCCEEDED"),
        "a step did not succeed",
      );
      break;
    case "COMPENSATED":
      must(undone > 0 && undosLeft === 0, `${undone} undone, ${undosLeft} left`);
      break;
    case "FAILED":
      must(undone === 0 && undosLeft === 0, `${undone} undone, ${undosLeft} left`);
      break;
    case "CANCELLED":
      must(state.reason === "CANCELLED_BY_USER", `reason ${state.reason}`);
      must(undosLeft > 0 || undone === 0, "all was undone, so it is COMPENSATED");
      break;
  }
  return broken;
}

/** Which sides of a step may be in which state, by the state of the run. */
function brokenSides({ forward, undo }: Step, { state }: Run): string[] {
  const broken: string[] = [];
  if (isMoving(forward) && isMoving(undo)) broken.push("forward and undo move at once");
  if (undo.kind !== "NONE" && !isFinal(forward))
    broken.push(`undo is ${undo.kind} while forward is ${forward.kind}`);
  const running = state.kind === "RUNNING";
  const undecided = running || (state.kind === "ESCALATED" && state.verdict === null);
  const unstarted = undecided || state.kind === "STOPPING" || state.kind === "COMPLETED";
  if (unstarted && undo.kind !== "NONE") broken.push(`undo is ${undo.kind} in a ${state.kind} run`);
  if (isMoving(undo) && state.kind !== "COMPENSATING")
    broken.push(`undo is ${undo.kind} in a ${state.kind} run`);
  if ((forward.kind === "READY" || forward.kind === "BACKOFF") && !running)
    broken.push(`${forward.kind} in a ${state.kind} run`);
  if (forward.kind === "ESCALATED" && !undecided) broken.push(`ESCALATED in a ${state.kind} run`);
  if (forward.kind === "LEASED" && state.kind === "STOPPING" && forward.cancel.kind === "none")
    broken.push("its agent is not told to stop");
  if (forward.kind === "LEASED" && !running && state.kind !== "STOPPING")
    broken.push(`LEASED in a ${state.kind} run`);
  if ((forward.kind === "FAILED" || forward.kind === "CANCELLED") && undecided)
    broken.push(`${forward.kind} in a run without a verdict`);
  return broken;
}

function brokenNeeds(step: Step, planned: PlanStep, { steps, state }: Run): string[] {
  const unfinished = planned.needs.filter((no) => steps[no]?.forward.kind !== "SUCCEEDED").length;
  if (step.forward.kind !== "BLOCKED")
    return unfinished > 0 ? [`${step.forward.kind} with ${unfinished} needs left`] : [];
  // Once there is a verdict nobody counts needs any more.
  if (state.kind !== "RUNNING" && !(state.kind === "ESCALATED" && state.verdict === null))
    return [];
  const { waitingFor } = step.forward;
  if (waitingFor !== unfinished) return [`waits for ${waitingFor} needs, ${unfinished} are left`];
  return waitingFor === 0 ? ["BLOCKED, but waits for nothing"] : [];
}

/** A ready row and a lease are the next hand-out; each moving state has a moment. */
function brokenMoving(step: Step, planned: PlanStep, { state: runState }: Run): string[] {
  const moving = movingSide(step);
  if (!moving) return [];
  const { side, state } = moving;
  const broken: string[] = [];
  if (!Number.isFinite(state.wakeAt)) broken.push(`${state.kind} without a moment`);
  if (state.kind === "BACKOFF") return broken;
  if (state.fence !== step.fence + 1)
    broken.push(`${state.kind} has fence ${state.fence}, ${step.fence} were handed out`);
  if (state.attempt !== step.attempt + 1)
    broken.push(`${state.kind} is attempt ${state.attempt}, ${step.attempt} are counted`);
  if (state.task !== (side === "forward" ? "perform" : "compensate"))
    broken.push(`${side} is ${state.kind} with the task ${state.task}`);
  if (state.kind === "READY" && side === "forward") {
    const totalEnd = (step.firstReadyAt ?? state.readyAt) + planned.timeouts.totalMs;
    if (state.wakeAt > totalEnd) broken.push("nobody looks at it when its total is over");
    const bound = runState.kind === "RUNNING" ? Math.min(totalEnd, runState.deadline) : totalEnd;
    if (state.until !== bound) broken.push(`runs until ${state.until}, and may until ${bound}`);
  }
  return broken;
}

/** What is undone is every effect, in reverse order, and nothing else. */
function brokenEffect(step: Step, planned: PlanStep, { plan, steps, state }: Run): string[] {
  const { forward, undo, effect, resultFence } = step;
  const broken: string[] = [];
  if (forward.kind === "SUCCEEDED") {
    if (effect !== "MADE") broken.push(`SUCCEEDED, but its effect is ${effect}`);
    if (resultFence === null || resultFence > step.fence || resultFence < 1)
      broken.push(`SUCCEEDED with the result of fence ${resultFence} of ${step.fence}`);
  } else {
    if (resultFence !== null) broken.push(`${forward.kind}, but has a result`);
    if (effect === "MADE") broken.push(`${forward.kind}, but its effect is MADE`);
  }
  const undoable = effect !== "NONE" && planned.compensate !== null;
  if (undo.kind !== "NONE" && !undoable) broken.push(`undo is ${undo.kind}, with nothing to undo`);
  const undoing =
    state.kind === "COMPENSATING" ||
    state.kind === "COMPENSATED" ||
    (state.kind === "ESCALATED" && state.verdict !== null);
  if (undoing && undoable && undo.kind === "NONE") broken.push("its effect is forgotten");
  if (isMoving(undo) || undo.kind === "DONE" || undo.kind === "FAILED") {
    const left = new Set(steps.flatMap((other) => (isUndoLeft(other.undo) ? [other.no] : [])));
    if (reaches(plan, step.no, left)) broken.push(`undo is ${undo.kind} before its successors`);
  }
  return broken;
}

function brokenTries(step: Step, planned: PlanStep): string[] {
  const task = step.undo.kind === "NONE" ? planned : planned.compensate;
  const broken: string[] = [];
  const charged = step.tries.reduce((sum, tries) => sum + tries, 0);
  if (charged > step.attempt) broken.push(`${charged} tries charged, ${step.attempt} counted`);
  step.tries.forEach((tries, index) => {
    const allowed = task?.retry[index]?.attempts ?? 0;
    if (tries > allowed) broken.push(`${tries} tries of policy ${index}, ${allowed} allowed`);
  });
  if (step.attempt > step.fence)
    broken.push(`${step.attempt} attempts counted of ${step.fence} hand-outs`);
  return broken;
}
