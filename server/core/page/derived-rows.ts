// The rows that are stored beside a page, so that it can be found by other keys. They are computed
// from the page alone, so only a bug can make the two disagree. A write consists of the page, and
// of the difference between its derived rows before and after.
//
//   ready     a task that may run and that no agent has: found by its lane
//   lease     a task that an agent has: found by its session, and by its lane
//   wakeAt    the earliest of its timers: found by the supervisor

import { runWakeAt } from "../evolve.ts";
import type { EpochMs } from "../model/attempt.ts";
import { isEnded, type Lease, movingSide, type Ready, type WaitingFor } from "../model/model.ts";
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

interface DerivedRows {
  readonly ready: readonly DerivedReady[];
  readonly leases: readonly DerivedLease[];
  /** null: the page has no timer. */
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
  if (terms === null) throw new Error(`step ${step} has a task, and its terms are missing`);
  return terms;
}

export interface DerivedChanges {
  readonly readyGone: readonly DerivedReady[];
  readonly readyNew: readonly DerivedReady[];
  /** The same task, with another time limit. */
  readonly readyMoved: readonly DerivedReady[];
  readonly leasesGone: readonly DerivedLease[];
  readonly leasesNew: readonly DerivedLease[];
  /** The same lease, whose cancel was requested, or was answered to a heartbeat. */
  readonly leasesCancelled: readonly DerivedLease[];
}

/** The changes of derived rows from one version of a page to the next. null: there was no page. */
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
    const readyWas = was ? readyOf(was) : null;
    const readyIs = readyOf(is);
    if (readyWas && readyIs && isSameReady(readyWas, readyIs)) {
      if (readyWas.ready.until !== readyIs.ready.until) changes.readyMoved.push(readyIs);
    } else {
      if (readyWas) changes.readyGone.push(readyWas);
      if (readyIs) changes.readyNew.push(readyIs);
    }
    const leaseWas = was ? leaseOf(was) : null;
    const leaseIs = leaseOf(is);
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
 * A ready row of the same task keeps its position in the queue. A task that was made ready again
 * after a pause, or for another strategy, does not.
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

/** A time at which the supervisor must act on the run. */
export interface PageTimer {
  readonly kind: TimerKind;
  /** -1: the timer of the run itself. */
  readonly step: number;
  /** Fence of the task; 0: the timer is of no task. */
  readonly fence: number;
  readonly wakeAt: EpochMs;
  /** The lane of a ready task. */
  readonly lane: number | null;
}

export function timersOf(page: Page): readonly PageTimer[] {
  const timers: PageTimer[] = [];
  const { head } = page;
  // An ended run has no timer, whatever was added to it since.
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
        fence: 0,
        lane: null,
      });
  }
  return timers;
}

/** The earliest timer; null: there is none. */
export function wakeAtOf(page: Page): EpochMs | null {
  let earliest: EpochMs | null = null;
  for (const { wakeAt } of timersOf(page))
    if (earliest === null || wakeAt < earliest) earliest = wakeAt;
  return earliest;
}

/**
 * The stored wake-up time of the page: it may be too early, and is never too late. A write lowers
 * it at once, and does not raise it while it is in the future, since the write of a page is
 * cheaper if no index changes. Once it has passed, the next write or the supervisor's scan raises
 * it: a scan begins where the one before has left nothing.
 */
export function storedWakeAt(stored: EpochMs | null, page: Page, now: EpochMs): EpochMs | null {
  const wakeAt = wakeAtOf(page);
  if (wakeAt === null || stored === null || stored <= now) return wakeAt;
  return Math.min(stored, wakeAt);
}
