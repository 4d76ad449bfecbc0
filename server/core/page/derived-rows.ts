// What is stored beside a page so that it can be found from another side: computed from the page
// alone, so only a bug can make the two disagree. A write consists of the page and of the
// difference between its derived rows before and after.
//
//   ready     a task that may run and that no agent has: found by its lane
//   lease     a task that an agent has: found by its session, and by its lane
//   wakeAt    the earliest of its timers: found by the supervisor
import type { EpochMs } from "../attempt.ts";
import { runWakeAt } from "../evolve.ts";
import { isEnded, type Lease, movingSide, type Ready, type WaitingFor } from "../model.ts";
import type { Page, PageStep, TaskTerms } from "./page.ts";

export interface DerivedReady {
  readonly step: number;
  readonly terms: TaskTerms;
  readonly ready: Ready;
}

export interface DerivedLease {
  readonly step: number;
  readonly terms: TaskTerms;
  readonly lease: Lease;
}

export interface DerivedRows {
  readonly ready: readonly DerivedReady[];
  readonly leases: readonly DerivedLease[];
  /** null: nothing of the page happens by itself. */
  readonly wakeAt: EpochMs | null;
}

export function derivedRows(page: Page): DerivedRows {
  const leases = [...page.steps.values()].flatMap((of) => leaseOf(of) ?? []);
  return { ready: readyRows(page), leases, wakeAt: wakeAtOf(page) };
}

export function readyRows(page: Page): readonly DerivedReady[] {
  return [...page.steps.values()].flatMap((of) => readyOf(of) ?? []);
}

function readyOf({ step, terms }: PageStep): DerivedReady | null {
  const state = movingSide(step)?.state;
  return state?.kind === "READY"
    ? { step: step.no, ready: state, terms: expected(step.no, terms) }
    : null;
}

function leaseOf({ step, terms }: PageStep): DerivedLease | null {
  const state = movingSide(step)?.state;
  return state?.kind === "LEASED"
    ? { step: step.no, lease: state, terms: expected(step.no, terms) }
    : null;
}

function expected(step: number, terms: TaskTerms | null): TaskTerms {
  if (terms === null) throw new Error(`step ${step} has a task, and nothing says on which terms`);
  return terms;
}

export interface DerivedChanges {
  readonly readyGone: readonly DerivedReady[];
  readonly readyNew: readonly DerivedReady[];
  /** The same task, which may now run for another time. */
  readonly readyMoved: readonly DerivedReady[];
  readonly leasesGone: readonly DerivedLease[];
  readonly leasesNew: readonly DerivedLease[];
  /** The same lease, whose agent has to be told to stop now, or has heard it. */
  readonly leasesCancelled: readonly DerivedLease[];
}

/** From one version of a page (null: there was none) to the next: of steps that have changed. */
export function derivedChanges(before: Page | null, after: Page): DerivedChanges {
  const changes = {
    readyGone: [] as DerivedReady[],
    readyNew: [] as DerivedReady[],
    readyMoved: [] as DerivedReady[],
    leasesGone: [] as DerivedLease[],
    leasesNew: [] as DerivedLease[],
    leasesCancelled: [] as DerivedLease[],
  };
  for (const [place, is] of after.steps) {
    const was = before?.steps.get(place);
    if (was === is) continue;
    const [readyWas, readyIs] = [was ? readyOf(was) : null, readyOf(is)];
    if (readyWas && readyIs && isSameReady(readyWas, readyIs)) {
      if (readyWas.ready.until !== readyIs.ready.until) changes.readyMoved.push(readyIs);
    } else {
      if (readyWas) changes.readyGone.push(readyWas);
      if (readyIs) changes.readyNew.push(readyIs);
    }
    const [leaseWas, leaseIs] = [was ? leaseOf(was) : null, leaseOf(is)];
    if (leaseWas && leaseIs && leaseWas.lease.secret === leaseIs.lease.secret) {
      if (leaseWas.lease.cancel.kind !== leaseIs.lease.cancel.kind)
        changes.leasesCancelled.push(leaseIs);
      continue;
    }
    if (leaseWas) changes.leasesGone.push(leaseWas);
    if (leaseIs) changes.leasesNew.push(leaseIs);
  }
  return changes;
}

/**
 * A ready row of the same hand-out keeps its place in the queue; not one that a pause and a resume
 * have made anew, nor one that has fallen back to another strategy.
 */
function isSameReady(was: DerivedReady, is: DerivedReady): boolean {
  return (
    was.terms === is.terms &&
    was.ready.task === is.ready.task &&
    was.ready.fence === is.ready.fence &&
    was.ready.attempt === is.ready.attempt &&
    was.ready.readyAt === is.ready.readyAt &&
    was.ready.avoid === is.ready.avoid
  );
}

export type TimerKind = "lease" | "ready" | "backoff" | "run" | WaitingFor;

/** A moment at which somebody must look at the run. */
export interface PageTimer {
  readonly kind: TimerKind;
  /** -1: of the run itself. */
  readonly step: number;
  /** Of the task; 0: it is of none. */
  readonly fence: number;
  readonly wakeAt: EpochMs;
  /** Of a ready task: where it waits. */
  readonly lane: number | null;
}

export function timersOf(page: Page): readonly PageTimer[] {
  const timers: PageTimer[] = [];
  const { head } = page;
  // What has ended has no timer, whatever has been added to it since.
  if (head && isEnded(head.run.state)) return timers;
  const runAt = head ? runWakeAt(head.run) : null;
  if (runAt !== null) timers.push({ kind: "run", step: -1, fence: 0, wakeAt: runAt, lane: null });
  for (const { step, terms } of page.steps.values()) {
    const state = movingSide(step)?.state;
    if (!state || state.kind === "HELD") continue;
    const { wakeAt } = state;
    const of = { step: step.no, wakeAt };
    if (state.kind === "LEASED")
      timers.push({ ...of, kind: "lease", fence: state.fence, lane: null });
    else if (state.kind === "READY")
      timers.push({ ...of, kind: "ready", fence: state.fence, lane: terms?.lane ?? null });
    else
      timers.push({
        ...of,
        kind: state.kind === "WAITING" ? state.on : "backoff",
        ...{ fence: 0, lane: null },
      });
  }
  return timers;
}

/** The earliest timer; null: it has none. */
export function wakeAtOf(page: Page): EpochMs | null {
  let earliest: EpochMs | null = null;
  for (const { wakeAt } of timersOf(page))
    if (earliest === null || wakeAt < earliest) earliest = wakeAt;
  return earliest;
}

/**
 * What is stored as the page's wake-up: it may come too early and never too late. So it is lowered
 * at once, and left where it is while it is early and to come, since an index that stays untouched
 * makes the write of a page cheaper. Once it has come it is raised, by the next write or by the
 * supervisor's scan: a scan begins where the one before has left nothing.
 */
export function storedWakeAt(stored: EpochMs | null, page: Page, now: EpochMs): EpochMs | null {
  const wakeAt = wakeAtOf(page);
  if (wakeAt === null || stored === null || stored <= now) return wakeAt;
  return Math.min(stored, wakeAt);
}
