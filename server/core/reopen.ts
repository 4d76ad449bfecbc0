// The open row of a run, made again from its steps once it is lost. What they do not say is taken
// to be what does least harm: the run goes on where its steps stand, a pause stays one, and after a
// failure what was done is undone. A start that was to come later comes now.
import type { Moment } from "./attempt.ts";
import { runWakeAt } from "./evolve.ts";
import { movingSideOf } from "./examine-place.ts";
import type { End, Parent, RunState, Verdict } from "./model.ts";
import { itemOf } from "./place.ts";
import type { Plan } from "./plan.ts";
import { planStepAt } from "./plan-at.ts";
import type { StoredOpen, StoredRun, StoredStep, Unopened } from "./stored.ts";
import { goesOnAfter } from "./warnings.ts";

/** Who watches the run waits for a greater version than any it has had: one a millisecond. */
const VERSION_MAX = 2 ** 30;

const FAILED: Verdict = Object.freeze({ reason: "STEP_FAILED", undo: true });

/** Its counters are left at 0, to be counted by its steps. */
export function reopened(
  plan: Plan,
  stored: Pick<StoredRun, "places" | "slot">,
  { createdAt, keyed, parent, escalations }: Unopened,
  now: Moment,
): StoredOpen {
  const rows = rowsOf(stored);
  const state = stateBySteps(plan, stored, parent, now);
  const counters = { stepsLeft: 0, finallyLeft: 0, moving: 0, asking: 0, undosLeft: 0, undone: 0 };
  const run = {
    ...{ ...counters, keyed, parent, escalations },
    version: Math.min(VERSION_MAX, Math.max(1, Math.round(now - createdAt))),
    warnings: rows.filter((row) => goesOnAfter(planStepAt(plan, row.no), row)).length,
    pivoted: rows.some(
      ({ no, forward }) => planStepAt(plan, no)?.pivot === true && forward === "SUCCEEDED",
    ),
  };
  return { run, kind: state.kind, state, wakeAt: runWakeAt({ ...run, state }) };
}

function rowsOf({ places }: Pick<StoredRun, "places">): readonly StoredStep[] {
  return places.flatMap(({ step }) => step ?? []);
}

/** The state that a run is in, as far as its steps say it. */
export function stateBySteps(
  plan: Plan,
  stored: Pick<StoredRun, "places" | "slot">,
  parent: Parent | null,
  now: Moment,
): RunState {
  const { places, slot } = stored;
  const rows = rowsOf(stored);
  const latest = Math.min(now + plan.timeoutMs, parent?.until ?? Number.POSITIVE_INFINITY);
  const until = Math.min(latest, ...places.flatMap((place) => deadlineIn(plan, place)));
  const stood = { leftMs: until - now, since: now };
  if (!places.some(hasBegun))
    return slot === null
      ? { kind: "PENDING", on: "start", until: now }
      : { kind: "PENDING", on: "slot", until };
  const failed = rows.some((row) => isGivenUp(plan, row));
  const always = rows.filter(({ no }) => planStepAt(plan, no)?.always === true);
  if (always.some(({ forward }) => forward !== "BLOCKED"))
    return { kind: "FINISHING", end: endOf(rows, failed) };
  const undoes = rows.filter(({ forward }) => forward !== "UNDOING");
  if (undoes.some(({ undo }) => undo !== "NONE")) return { kind: "COMPENSATING", verdict: FAILED };
  const isHeld = rows.some(({ forward, undo }) => forward === "HELD" || undo === "HELD");
  if (isHeld || (failed && places.some(isForward)))
    return { kind: "PAUSED", ...stood, verdict: failed ? FAILED : null };
  const told = places.some(
    ({ lease }) => lease && lease.cancel.kind !== "none" && lease.cancel.cause === "run",
  );
  if (failed || told) return { kind: "STOPPING", verdict: FAILED, settleUntil: null };
  const moves = rows.some((row) => movingSideOf(row) !== null || row.forward === "MAPPING");
  const asks = rows.some(({ forward, undo }) => forward === "ESCALATED" || undo === "FAILED");
  if (!moves && asks) return { kind: "ESCALATED", from: { kind: "RUNNING", ...stood } };
  return { kind: "RUNNING", deadline: until };
}

/** A ready task may run no longer than its run, and its row says until when. */
function deadlineIn(
  plan: Plan,
  { no, step, ready }: StoredRun["places"][number],
): readonly Moment[] {
  const planned = planStepAt(plan, no);
  if (!planned || !step || ready?.ready.task !== "perform" || ready.ready.until === null) return [];
  const { until, readyAt } = ready.ready;
  const totalEndsAt = (step.firstReadyAt ?? readyAt) + planned.timeouts.totalMs;
  return until < totalEndsAt ? [until] : [];
}

/** It goes on as nothing does once there is a verdict. */
function isForward({ step, lease, due, ready }: StoredRun["places"][number]): boolean {
  if (!step) return false;
  if (step.forward === "UNDOING") return !lease;
  if (movingSideOf(step) === "undo") return false;
  if (step.forward === "MAPPING" || ready?.ready.task === "perform") return true;
  if (lease) return lease.task === "perform" && lease.cancel.kind === "none";
  if (due?.kind === "WAITING") return due.on !== "child-end";
  return due?.task === "perform";
}

/** Steps that are kept of another run have ended before this one begins. */
function hasBegun({ step, ready, lease, due }: StoredRun["places"][number]): boolean {
  if (ready || lease || due) return true;
  return step !== null && !(KEPT.has(step.forward) && step.undo === "NONE");
}

const KEPT: ReadonlySet<string> = new Set(["BLOCKED", "SUCCEEDED", "SKIPPED"]);

/** Only a verdict leaves a step so. */
function isGivenUp(plan: Plan, row: StoredStep): boolean {
  if (itemOf(row.no) > 0) return false;
  const planned = planStepAt(plan, row.no);
  if (planned?.always) return false;
  return row.forward === "CANCELLED" || (row.forward === "FAILED" && !goesOnAfter(planned, row));
}

function endOf(rows: readonly StoredStep[], failed: boolean): End {
  const reason = "STEP_FAILED";
  if (rows.some(({ undo }) => undo !== "NONE" && undo !== "DONE"))
    return { kind: "FAILED", reason };
  if (rows.some(({ undo }) => undo === "DONE")) return { kind: "COMPENSATED", reason };
  return failed ? { kind: "FAILED", reason } : { kind: "COMPLETED", reason: "DONE" };
}
