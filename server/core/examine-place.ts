// Whether the rows of one place fit each other: a step, or an item of a map, and the ready, lease
// and due rows beside it.
//
//   OPEN       has a lease or a ready row; with both, the lease counts
//   BACKOFF, WAITING     has a due row of that kind
//   any other  has nothing beside it
//
// A step without its row is made again from what stands beside it and from the tasks that ended.
import type { Moment, TaskKind } from "./attempt.ts";
import { untouchedStep } from "./evolve.ts";
import type { Finding, Lost, Stray } from "./examine.ts";
import { counted, fitting } from "./examine-fit.ts";
import { itemCounters } from "./invariants.ts";
import {
  type Forward,
  isFinal,
  type Moving,
  type RunState,
  type Step,
  type Undo,
  type Waiting,
} from "./model.ts";
import { itemOf, numberOf, placeOf } from "./place.ts";
import type { Plan, PlanStep } from "./plan.ts";
import { planStepAt } from "./plan-at.ts";
import type { StoredPlace, StoredRun, StoredStep } from "./stored.ts";

/** A run that is being examined: what was found of it so far. */
export interface Examining {
  readonly plan: Plan;
  readonly now: Moment;
  readonly state: RunState;
  readonly stored: StoredRun;
  readonly before: Map<number, Step>;
  readonly steps: Map<number, Step>;
  readonly findings: Finding[];
  readonly strays: Stray[];
  readonly lost: Lost[];
}

type Beside = Pick<StoredPlace, "ready" | "lease" | "due">;

export function examinePlace(of: Examining, place: StoredPlace): void {
  const { no } = place;
  const planned = planStepAt(of.plan, no);
  if (!planned) {
    of.findings.push({
      step: null,
      saw: `there are rows of a step ${no}, which is not in its plan`,
    });
    removeOthers(of, place, null);
    if (place.step) of.strays.push({ step: no, of: "step" });
    return;
  }
  const row = place.step ?? againOf(of, planned, place);
  if (!place.step) of.findings.push({ step: no, saw: "its row is missing" });
  const side = movingSideOf(row) ?? (isUndoLost(row) ? "undo" : null);
  const kept = side && besideOf(row[side], side, place);
  const says = removeOthers(of, place, kept);
  if (says.length > 0)
    of.findings.push({ step: no, saw: `${says.join(" and ")} beside ${row.forward}/${row.undo}` });
  if (!side) {
    keep(of, place, stepAs(row, null, null), null);
    return;
  }
  const state = kept ? fitting(of, planned, row, kept) : heldAs(row, side);
  if (state) {
    keep(of, place, stepAs(counted(row, state), side, state), kept);
    return;
  }
  if (kept) removeOthers(of, { no, ...only(kept, place) }, null);
  const again = standing(of, planned, row, side);
  if (place.step) of.findings.push({ step: no, saw: `${row[side]} ${side}, and no row says how` });
  if (again.kind === "HELD")
    of.lost.push({ step: no, task: again.task, out: row[side] === "OPEN" && !place.ready });
  keep(of, place, stepAs(row, side, again), null);
}

/** Once there is a verdict nobody counts needs any more. */
export function countsNeeds(state: RunState): boolean {
  if (state.kind === "PAUSED") return state.verdict === null;
  return (state.kind === "ESCALATED" ? state.from.kind : state.kind) === "RUNNING";
}

/** Steps that should have a row and have none at all, made again. */
export function missingPlaces(of: Examining): readonly number[] {
  const { plan, steps, state } = of;
  if (state.kind === "PENDING") return [];
  const ended = (no: number): boolean => {
    const step = steps.get(no);
    return step !== undefined && isFinal(step.forward);
  };
  const wanted = plan.steps.filter(({ no, needs, always }) => {
    if (steps.has(no)) return false;
    if (of.stored.attempts.some(({ step }) => step === no)) return true;
    return !always && (needs.length === 0 || (countsNeeds(state) && needs.some(ended)));
  });
  const items = plan.steps.flatMap(({ no, work }) => {
    if (work.kind !== "map") return [];
    const own = [...steps.keys()].filter((place) => numberOf(place) === no).map(itemOf);
    const last = Math.max(steps.get(no)?.items?.begun ?? 0, ...own, 0);
    const places = Array.from({ length: Math.min(last, steps.get(no)?.items?.total ?? last) });
    return places.map((_, at) => placeOf(no, at + 1)).filter((place) => !steps.has(place));
  });
  const missing = [...wanted.map(({ no }) => no), ...items];
  for (const no of missing) {
    const planned = planStepAt(plan, no);
    if (!planned) continue;
    const row = againOf(of, planned, { no, step: null, ready: null, lease: null, due: null });
    const side = movingSideOf(row);
    const again = side ? standing(of, planned, row, side) : null;
    if (again?.kind === "HELD") of.lost.push({ step: no, task: again.task, out: false });
    steps.set(no, stepAs(row, side, again));
  }
  return missing;
}

/** Its items counted again, and where its undoing is. */
export function countAgain(of: Examining, step: Step): Step {
  const { items, no } = step;
  if (!items || itemOf(no) > 0) return step;
  const own = [...of.steps.values()].filter((one) => one.no !== no && numberOf(one.no) === no);
  const counters = itemCounters(own);
  const undoFrom = Math.min(items.undoFrom, counters.begun);
  const total = Math.max(items.total, counters.begun);
  return { ...step, items: { ...items, ...counters, total, undoFrom } };
}

/** What a view before the pass has to hold: the step as it is stored, beside the row that stays. */
function keep(of: Examining, place: StoredPlace, step: Step, kept: Moving | null): void {
  of.steps.set(place.no, step);
  if (!place.step) {
    // Its own row is to be written, and what stands beside it stays.
    if (kept) of.before.set(place.no, { ...step, strategies: [...step.strategies] });
    return;
  }
  const side = movingSideOf(place.step);
  const state: Moving | null = side && (kept ?? { kind: "HELD", task: taskOf(place.step, side) });
  // A copy of its lists: whatever is found, the row is written again.
  of.before.set(place.no, copied(stepAs(place.step, side, state), step));
}

/** The very step where nothing has changed, so that nothing is written. */
function copied(before: Step, after: Step): Step {
  return JSON.stringify(before) === JSON.stringify(after)
    ? after
    : { ...before, strategies: [...before.strategies] };
}

type Side = "forward" | "undo";

export function movingSideOf({ forward, undo }: StoredStep): Side | null {
  if (MOVING.has(forward)) return "forward";
  return MOVING.has(undo) ? "undo" : null;
}

/** It was undoing a strategy, and nothing says how far that had come: it begins anew. */
function isUndoLost({ forward, undo }: StoredStep): boolean {
  return forward === "UNDOING" && undo !== "FAILED";
}

const MOVING: ReadonlySet<string> = new Set(["OPEN", "BACKOFF", "WAITING", "HELD"]);

function heldAs(row: StoredStep, side: Side): Moving | null {
  return row[side] === "HELD" && row.held !== null ? { kind: "HELD", task: row.held } : null;
}

/** What the moving side does, where no row says so any more. */
function taskOf(row: Pick<StoredStep, "held" | "doubt">, side: Side): TaskKind {
  if (row.held !== null) return row.held;
  if (side === "undo") return "compensate";
  return row.doubt === null ? "perform" : "verify";
}

/** The row beside it that its state asks for; null: there is none. */
function besideOf(kind: string, side: Side, { ready, lease, due }: Beside): Moving | null {
  const ofSide = (task: TaskKind): boolean => (task === "compensate") === (side === "undo");
  if (kind === "OPEN") {
    if (lease && ofSide(lease.task)) return lease;
    return ready && ofSide(ready.ready.task) && ready.lane ? ready.ready : null;
  }
  if (kind === "HELD" || due?.kind !== kind) return null;
  return due.kind === "WAITING" || ofSide(due.task) ? due : null;
}

/** Removes what stands beside a step and should not; says what that was. */
function removeOthers(
  of: Examining,
  { no, ready, lease, due }: Pick<StoredPlace, "no"> & Beside,
  kept: Moving | null,
): readonly string[] {
  const others = [
    ...(ready && ready.ready !== kept ? (["ready"] as const) : []),
    ...(lease && lease !== kept ? (["lease"] as const) : []),
    ...(due && due !== kept ? (["due"] as const) : []),
  ];
  for (const one of others) of.strays.push({ step: no, of: one });
  return others.map((one) =>
    one === "ready" && !ready?.lane ? "a ready row without its lane" : `a ${one} row`,
  );
}

function only(kept: Moving, { ready, lease, due }: Beside): Beside {
  return {
    ready: ready?.ready === kept ? ready : null,
    lease: lease === kept ? lease : null,
    due: due === kept ? due : null,
  };
}

/** What a side that moves is, as no row says it: HELD until it begins again, or waiting. */
function standing(
  of: Examining,
  planned: PlanStep,
  row: StoredStep,
  side: Side,
): Moving | { readonly kind: "MAPPING" } {
  const isMap = planned.work.kind === "map";
  if (isMap && row[side] === "WAITING") return { kind: "MAPPING" };
  if (row[side] !== "WAITING") return { kind: "HELD", task: taskOf(row, side) };
  const on = waitsFor(of, planned);
  const began = row.firstReadyAt ?? of.now;
  const { work, timeouts } = planned;
  const within =
    work.kind === "signal" || work.kind === "approval"
      ? work.withinMs
      : work.kind === "wait"
        ? (work.forMs ?? 0)
        : on === "callback"
          ? Math.min(timeouts.callbackMs, timeouts.totalMs)
          : on === "child"
            ? timeouts.totalMs
            : 0;
  return { kind: "WAITING", on, wakeAt: Math.max(of.now, began + within) };
}

function waitsFor({ state }: Examining, { work }: PlanStep): Waiting["on"] {
  switch (work.kind) {
    case "wait":
      return "timer";
    case "signal":
    case "approval":
      return work.kind;
    case "run":
      return state.kind === "STOPPING" ? "child-end" : "child";
    default:
      return "callback";
  }
}

function stepAs(
  { needs, held: _, forward, undo, ...rest }: StoredStep,
  side: Side | null,
  state: Moving | { readonly kind: "MAPPING" } | null,
): Step {
  const blocked: Forward = { kind: "BLOCKED", ...needs };
  const still = <Kind extends string>(kind: Kind) => ({ kind });
  return {
    ...rest,
    forward:
      side === "forward" && state
        ? state
        : forward === "BLOCKED"
          ? blocked
          : (still(forward) as Forward),
    undo: side === "undo" && state ? state : (still(undo) as Undo),
  };
}

/** A row that is gone, from what stands beside it and from the tasks of it that ended. */
function againOf(
  of: Examining,
  planned: PlanStep,
  { no, ready, lease, due }: StoredPlace,
): StoredStep {
  const ended = of.stored.attempts.filter(({ step }) => step === no);
  const done = ended.findLast(({ kind, succeeded }) => succeeded && kind !== "compensate");
  const undone = ended.some(({ kind, succeeded }) => succeeded && kind === "compensate");
  const fence = Math.max(0, ...ended.map((one) => one.fence));
  const moving = lease ?? ready?.ready ?? null;
  const { forward: _, undo: __, ...rest } = untouchedStep(no, planned.needs.length);
  const isTask = planned.work.kind === "task" || planned.work.kind === "run";
  const blank: StoredStep = {
    ...{ ...rest, fence, held: null, undo: "NONE", forward: "BLOCKED" },
    firstReadyAt: lease?.grantedAt ?? ready?.ready.readyAt ?? null,
    needs: { waitingFor: planned.needs.length, ok: 0, skipped: 0 },
  };
  if (done) {
    const mark = undone ? "UNDONE" : isTask ? "MADE" : "NONE";
    const strategies = [{ planned: 0, changed: false, mark }] as const;
    const result = { fence: done.fence, kind: done.kind, n: done.n };
    const undo = undone ? "DONE" : moving?.task === "compensate" ? "OPEN" : "NONE";
    return { ...blank, forward: "SUCCEEDED", undo, strategies, result };
  }
  const left = fence > 0 && isTask ? "LINGERING" : "NONE";
  const tried = { ...blank, strategies: [{ planned: 0, changed: false, mark: left }] } as const;
  if (moving && moving.task === "perform") {
    const attempt = Math.min(moving.attempt, moving.fence) - 1;
    return { ...tried, forward: "OPEN", fence: moving.fence - 1, attempt };
  }
  if (due) return { ...tried, forward: due.kind === "WAITING" ? "WAITING" : "BACKOFF" };
  if (hasBegunAfter(of, planned)) return { ...blank, forward: "SKIPPED" };
  if (fence > 0 || moving) return { ...tried, forward: "BACKOFF" };
  return itemOf(no) > 0 ? { ...blank, forward: "BACKOFF" } : blank;
}

/** What needs it has begun, so it has ended. */
function hasBegunAfter({ stored }: Examining, { no, successors }: PlanStep): boolean {
  if (itemOf(no) > 0) return false;
  return stored.places.some(
    ({ no: after, step }) => step && successors.includes(after) && step.forward !== "BLOCKED",
  );
}
