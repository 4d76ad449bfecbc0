// The timer scan: finds timers of our partitions that are due, and sessions that are silent
// (silent-sessions.ts). It decides nothing: each finding becomes an event of a run
// (due-submissions.ts), the rules decide (core/events/on-timer.ts), and the pass writes the
// intervention.
//
// It sleeps until the earliest due time that its last scan saw or that was announced since, at most
// `scanEveryMs` (scan-loop.ts). A scan begins where nothing was left before, so that it does not
// read again the dead index entries that an old snapshot keeps. A due time that is set before that
// point is announced; if the announcement is lost, a whole scan finds it within a minute.
//
// A row whose event fails backs off by itself (failed-rows.ts), and the scan leaves it out
// meanwhile. While more rows fail than can back off, it leaves what came due long ago to a walk of
// its own (backlog.ts).
import type { SupervisorConfig } from "../config.ts";
import type { EpochMs } from "../core/model/attempt.ts";
import { DroverError } from "../errors.ts";
import type { Outside } from "../store/due.ts";
import type { DueScan, EngineStore } from "../store/store.ts";
import { type Backlog, createBacklog } from "./backlog.ts";
import {
  createDueSubmissions,
  type DueSubmissions,
  type SubmissionOptions,
} from "./due-submissions.ts";
import { createFailedRows, type FailedRows } from "./failed-rows.ts";
import type { Owned } from "./ownership.ts";
import { createScanLoop, type ScanLoop } from "./scan-loop.ts";
import { createSilenceWatch, type ScanTime, type SilenceWatch } from "./silent-sessions.ts";

/** Rows of one scan; what is left is found by another scan at once. */
const DUE_MAX = 500;
/** A due time may be read a little too early: another scan at once would find nothing. */
const SCAN_APART_MS = 5;
/** How long after its due time a row may commit; no transaction lasts half as long. */
const COMMIT_MS_MAX = 10_000;
const WHOLE_EVERY_MS = 60_000;
const FAILED_ROWS_MAX = 10_000;

export interface TimerScan {
  start(): void;
  stop(): Promise<void>;
  /** One scan with all that follows from it; returns how many rows were due. */
  scanOnce(): Promise<number>;
  /** A due time was set: the next scan is no later. */
  announce(dueAt: EpochMs): void;
  /** These partitions begin to be watched anew. */
  taken(partitions: readonly number[]): void;
  /** Resolves when no event of this scan is in flight. */
  quiet(): Promise<void>;
  /** How many due rows back off after a failure. */
  failedRows(): number;
}

interface TimerScanOptions extends SubmissionOptions {
  readonly store: Pick<EngineStore, "dueRows">;
  readonly settings: Pick<SupervisorConfig, "scanEveryMs" | "gapMs" | "jumpMs">;
  readonly owner: () => { readonly node: string | null; readonly owned: readonly Owned[] };
  /** Due rows that back off in memory after a failure; left out: 10,000. */
  readonly failedRowsMax?: number | undefined;
  /** Called when other work is due for our partitions. */
  readonly onOutside: (what: readonly Outside[]) => void;
}

interface State {
  readonly options: TimerScanOptions;
  readonly loop: ScanLoop;
  readonly silence: SilenceWatch;
  readonly submissions: DueSubmissions;
  readonly failedRows: FailedRows;
  readonly backlog: Backlog;
  /** The time of the last scan; null: this process owned nothing then. */
  last: ScanTime | null;
  /** Where the next scan begins: nothing due is left before it; null: unknown. */
  since: EpochMs | null;
  /** The earliest of the due times that were announced since the last scan began. */
  announced: EpochMs;
  /** When the last whole scan began, by the monotonic clock. */
  wholeAtMs: number;
  /** The last whole scan needed more time than a statement may take. */
  isTooMuch: boolean;
}

export function createTimerScan(options: TimerScanOptions): TimerScan {
  const { clock, log, settings, failedRowsMax = FAILED_ROWS_MAX } = options;
  const failedRows = createFailedRows(failedRowsMax);
  const backlog = createBacklog(failedRowsMax);
  const state: State = {
    options,
    loop: createScanLoop({
      clock,
      everyMs: settings.scanEveryMs,
      scan: () => scan(state),
      onError(error) {
        options.onFailed?.();
        log.warn({ event: "timers.scan-failed", err: String(error) });
      },
    }),
    silence: createSilenceWatch(settings),
    submissions: createDueSubmissions(options, {
      failedRows,
      backlog,
      onCrowded(nowMs) {
        log.warn({ event: "timers.crowded", rows: failedRowsMax });
        beginBacklog(state, nowMs);
      },
      onStoreFailed: (wakeAt) => findAgain(state, wakeAt),
    }),
    failedRows,
    backlog,
    last: null,
    since: null,
    announced: Number.POSITIVE_INFINITY,
    wholeAtMs: Number.NEGATIVE_INFINITY,
    isTooMuch: false,
  };
  return Object.freeze({
    start: state.loop.start,
    stop: () => stop(state),
    scanOnce: () => scanOnce(state),
    announce: (dueAt: EpochMs) => announce(state, dueAt),
    taken(partitions: readonly number[]) {
      state.silence.taken(partitions);
      state.loop.wake(clock.monotonicMs());
    },
    quiet: () => quiet(state),
    failedRows: () => failedRows.count(clock.monotonicMs()),
  });
}

async function stop(state: State): Promise<void> {
  state.loop.stop();
  await quiet(state);
}

async function scanOnce(state: State): Promise<number> {
  await state.loop.inProgress();
  state.since = null;
  const due = await state.loop.scanOnce();
  await quiet(state);
  return due;
}

async function quiet({ loop, submissions }: State): Promise<void> {
  await loop.inProgress();
  await submissions.quiet();
}

function announce(state: State, dueAt: EpochMs): void {
  const { loop, last } = state;
  state.announced = Math.min(state.announced, dueAt);
  if (last) loop.wake(last.scannedAtMs + (dueAt - last.now) + 1);
}

async function scan(state: State): Promise<number> {
  const { options, silence, submissions } = state;
  const { node, owned } = options.owner();
  if (node === null || owned.length === 0) {
    state.last = null;
    state.since = null;
    return 0;
  }
  const scannedAtMs = options.clock.monotonicMs();
  const epochs = new Map(owned.map(({ partition, epoch }) => [partition, epoch]));
  const partitions = [...epochs.keys()];
  // Partitions taken during this scan are not in it, and stay fresh for the next one.
  const fresh = silence.fresh();
  const range = chooseRange(state, scannedAtMs, fresh.size > 0);
  const found = await queryDue(state, partitions, range.isWhole, scannedAtMs);
  moveOn(state, range, found);
  const time = { scannedAtMs, now: found.now };
  silence.scanned({ partitions, fresh, time, before: state.last });
  state.last = time;
  if (found.outside.length > 0) options.onOutside(found.outside);
  submitAll(state, found, { node, epochs });
  await tryBacklog(state, { node, epochs }, scannedAtMs);
  await submissions.settled();
  plan(state, found, scannedAtMs);
  return found.due.length + found.schedules.length;
}

interface ScanRange {
  /** The scan leaves out nothing, however old; otherwise it begins at `since`. */
  readonly isWhole: boolean;
  /** The backlog is on. */
  readonly isCrowded: boolean;
}

/** Before a scan: it goes back to what was announced, and to rows whose backoff has ended. */
function chooseRange(state: State, scannedAtMs: number, isAnyFresh: boolean): ScanRange {
  const { failedRows, backlog, wholeAtMs, isTooMuch } = state;
  if (state.since !== null) state.since = Math.min(state.since, state.announced);
  state.announced = Number.POSITIVE_INFINITY;
  const backSince = failedRows.backSince(scannedAtMs);
  const isCrowded = backlog.isOn();
  if (isCrowded && isAnyFresh) backlog.begin(scannedAtMs);
  if (!isCrowded && state.since !== null && backSince !== null)
    state.since = Math.min(state.since, backSince);
  const isTime = scannedAtMs - wholeAtMs >= WHOLE_EVERY_MS;
  const isAnew = !isCrowded && (isTime || (isAnyFresh && !isTooMuch));
  return { isWhole: state.since === null || isAnew, isCrowded };
}

/**
 * While an old snapshot is open, a whole scan may need more time than a statement may take. Then
 * what came due lately is scanned all the same, and the whole again in a minute.
 */
async function queryDue(
  state: State,
  partitions: readonly number[],
  isWhole: boolean,
  scannedAtMs: number,
): Promise<DueScan> {
  const { store, clock, settings } = state.options;
  const since = isWhole ? null : state.since;
  const without = state.failedRows.refs(scannedAtMs, since);
  const silenceCountsSince = state.silence.silenceCountsSince();
  const range = { since, aheadMs: settings.scanEveryMs, without, silenceCountsSince };
  if (isWhole) state.wholeAtMs = scannedAtMs;
  try {
    const found = await store.dueRows(partitions, DUE_MAX, range);
    if (isWhole) state.isTooMuch = false;
    return found;
  } catch (error) {
    // An unavailable database does not say that the scan was too much.
    if (!isWhole || error instanceof DroverError) throw error;
    state.isTooMuch = true;
    state.since ??= clock.wallMs() - WHOLE_EVERY_MS;
    throw error;
  }
}

/** After a scan: the next one begins where this one has left nothing. */
function moveOn(state: State, { isWhole, isCrowded }: ScanRange, found: DueScan): void {
  if (isWhole) state.since = null;
  // Rows that are left may be as old as rows that were found and have been moved on.
  const isMore = found.nextAt !== null && found.nextAt <= found.now;
  if (isCrowded) state.since = state.backlog.scanFrom(found, isMore);
  else if (!isMore) state.since = settledUntil(found);
}

/** Rows that were found may still be there when the next scan begins. */
function settledUntil({ now, due, schedules }: DueScan): EpochMs {
  return [...due, ...schedules].reduce(
    (least, { wakeAt }) => Math.min(least, wakeAt),
    now - COMMIT_MS_MAX,
  );
}

/** This node, and the epochs of its partitions when the scan began. */
interface Owner {
  readonly node: string;
  readonly epochs: ReadonlyMap<number, number>;
}

function submitAll(state: State, { now, due, schedules }: DueScan, { node, epochs }: Owner): void {
  const { silence, submissions } = state;
  for (const row of due) {
    const actor = { node, epoch: epochs.get(row.partition) ?? 0 };
    submissions.submitRow(row, silence.silenceCountsSinceFor(row.partition) ?? now, actor);
  }
  for (const schedule of schedules) {
    const actor = { node, epoch: epochs.get(schedule.partition) ?? 0 };
    submissions.submitSchedule(schedule, actor);
  }
}

/** Tries a page of the rows that the scan leaves out, if it is time. */
async function tryBacklog(state: State, owner: Owner, nowMs: number): Promise<void> {
  const { options, failedRows, backlog } = state;
  const { store, clock, settings } = options;
  const page = backlog.next(nowMs, [...owner.epochs.keys()], failedRows.count(nowMs));
  if (!page) return;
  const { partition, since, limit } = page;
  const without = failedRows.refs(nowMs, since);
  const range = { since, aheadMs: settings.scanEveryMs, without };
  const found = await store.dueRows([partition], limit, range);
  submitAll(state, found, owner);
  backlog.read(page, found, clock.monotonicMs());
}

/** When the next scan and the next page of the backlog are due. */
function plan({ options, loop, backlog }: State, found: DueScan, scannedAtMs: number): void {
  const { scanEveryMs } = options.settings;
  const inMs = found.nextAt === null ? scanEveryMs : Math.ceil(found.nextAt - found.now) + 1;
  const full = found.due.length + found.schedules.length >= DUE_MAX;
  loop.wake(scannedAtMs + (full ? 0 : Math.min(Math.max(inMs, SCAN_APART_MS), scanEveryMs)));
  const pageAtMs = backlog.nextAtMs();
  if (pageAtMs !== null) loop.wake(Math.max(pageAtMs, scannedAtMs + SCAN_APART_MS));
}

/** More rows fail than can back off: from now on the scan leaves out what came due before it. */
function beginBacklog(state: State, nowMs: number): void {
  const { backlog, last } = state;
  backlog.begin(nowMs);
  if (last) state.since = last.now;
}

/** The store could not try a row that came due at this time. */
function findAgain(state: State, wakeAt: EpochMs): void {
  const { backlog, since } = state;
  // The scan has passed it, and the walk through the backlog may take long.
  if (backlog.isOn() && since !== null && wakeAt > since - COMMIT_MS_MAX)
    state.announced = Math.min(state.announced, wakeAt);
}
