// The cause of an undo: its step leaves a strategy (G19), or the whole run is undone (G11).
import { isFinal } from "../../../server/core/model/model.ts";
import { itemOf } from "../../../server/core/model/step-key.ts";
import { planStepAt } from "../../../server/core/plan/plan.ts";
import { answered, type HandOut, type RunFacts } from "./facts.ts";
import { childRows } from "./step-keys.ts";

/**
 * Whether an undo is surely of the run, which has stopped: false also where the rows do not tell,
 * since a step that undid a strategy when its run got its stop reason is undone again by the run.
 */
export function isOfRun(run: RunFacts, undo: HandOut): boolean {
  const row = run.run.steps.find(({ no }) => no === undo.step);
  if (!row || row.undo.kind === "NONE" || !isFinal(row.forward)) return false;
  const forward = [
    ...(run.handOuts.get(undo.step) ?? []).filter(({ task }) => task === "perform"),
    ...(run.verifies.get(undo.step) ?? []),
    ...childRows(run, undo.step),
  ];
  if (forward.some(({ fence }) => fence > undo.fence)) return false;
  // Of a strategy that was undone before, a person answered that the step has succeeded.
  const resolved = answered(run, undo.step, "succeed").filter(
    ({ reason }) => reason !== "undo-failed",
  );
  if (resolved.some(({ at }) => at > undo.startedAt)) return false;
  return !mayBeReplanned(run, undo);
}

/** Whether the step may have left an undo of a strategy to its run, which has started it anew. */
export function mayBeReplanned(run: RunFacts, { step }: HandOut): boolean {
  const row = run.run.steps.find(({ no }) => no === step);
  const planned = planStepAt(run.plan, step);
  const { work } = planned ?? {};
  const canLeave =
    ((work?.kind === "task" || work?.kind === "run") && work.strategies.length > 1) ||
    itemOf(step) > 0 ||
    planned?.onFailure === "continue" ||
    answered(run, step, "retry-changed").length > 0;
  const isStopped =
    row?.forward.kind === "CANCELLED" || answered(run, step, "compensate", "fail").length > 0;
  return canLeave && isStopped;
}

/** One undo undoes the effect of one strategy; a person may answer instead that it is done. */
export function undoings(
  run: RunFacts,
  no: number,
  name: string,
  successes: number,
): readonly string[] {
  const step = run.run.steps.find((row) => row.no === no);
  // A map is undone by its items.
  const done = step?.undo.kind === "DONE" && step.items === null;
  const succeeded = answered(run, no, "succeed");
  const resolved = succeeded.filter(({ reason }) => reason === "undo-failed").length;
  // A step whose strategy was undone and that a person has done by hand since: its effect is MADE.
  const again = succeeded.length - resolved;
  const marked =
    step?.strategies.filter(({ effectStatus }) => effectStatus === "UNDONE").length ?? 0;
  const undone = marked + again;
  const found: string[] = [];
  if (successes > 1 && successes > undone) found.push(`${name} was undone ${successes} times`);
  if (done && successes + resolved < 1) found.push(`${name} is undone, but no attempt did it`);
  if (!done && successes > undone) found.push(`${name} has an undo, but is not undone`);
  return found;
}
