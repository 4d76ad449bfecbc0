// The timer scan: finds timers of our partitions that are due, and sessions that are silent
// (silent-sessions.ts). It decides nothing: each finding becomes an event of a run, the rules
// decide (core/events/on-timer.ts), and the pass writes the intervention.
//
// It sleeps until the earliest due time that its last scan saw or that was announced since, at most
// `scanEveryMs`. A scan begins where nothing was left before, so that it does not read again the
// dead index entries that an old snapshot keeps. A due time that is set before that point is
// announced; if the announcement is lost, a whole scan finds it within a minute.
//
// A row whose event fails rests by itself (failed-rows.ts), and the scan leaves it out meanwhile.
// While more rows fail than can rest, it leaves what came due long ago to a walk of its own
// (backlog.ts).
import type { SupervisorConfig } from "../config.ts";
import type { EpochMs } from "../core/model/attempt.ts";
import { DroverError } from "../errors.ts";
import type { Outside } from "../store/due.ts";
import type { DueScan, EngineStore } from "../store/store.ts";
import { createBacklog } from "./backlog.ts";
import { createDueSubmissions, type SubmissionOptions } from "./due-submissions.ts";
import { createFailedRows } from "./failed-rows.ts";
import type { Owned } from "./ownership.ts";
import { createScanLoop } from "./scan-loop.ts";
import { createSilenceWatch, type ScanTime } from "./silent-sessions.ts";

/** Rows of one scan; what is left is found by another scan at once. */
const DUE_MAX = 500;
/** A due time may be read a little too early: another scan at once would find nothing. */
const SCAN_APART_MS = 5;
/** How long after its due time a row may commit; no transaction lasts half as long. */
const COMMIT_MS_MAX = 10_000;
const WHOLE_EVERY_MS = 60_000;
const RESTING_MAX = 10_000;

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
  /** How many due rows rest after a failure. */
  failedRows(): number;
}

interface TimerScanOptions extends SubmissionOptions {
  readonly store: Pick<EngineStore, "dueRows">;
  readonly settings: Pick<SupervisorConfig, "scanEveryMs" | "gapMs" | "jumpMs">;
  readonly owner: () => { readonly node: string | null; readonly owned: readonly Owned[] };
  /** Due rows that rest in memory after a failure; left out: 10,000. */
  readonly failedRowsMax?: number | undefined;
  /** Called when other work is due for our partitions. */
  readonly onOutside: (what: readonly Outside[]) => void;
}

export function createTimerScan(options: TimerScanOptions): TimerScan {
  const { clock, log } = options;
  const { scanEveryMs } = options.settings;
  const { failedRowsMax = RESTING_MAX } = options;
  const silence = createSilenceWatch(options.settings);
  let last: ScanTime | null = null;
  /** Nothing due is left before it; null: unknown. */
  let since: EpochMs | null = null;
  /** The earliest of the due times that were announced since the last scan began. */
  let announced: EpochMs = Number.POSITIVE_INFINITY;
  let wholeAtMs = Number.NEGATIVE_INFINITY;
  /** The last whole scan needed more time than a statement may take. */
  let isTooMuch = false;
  const loop = createScanLoop({
    clock,
    everyMs: scanEveryMs,
    scan,
    onError(error) {
      options.onFailed?.();
      log.warn({ event: "timers.scan-failed", err: String(error) });
    },
  });
  const failedRows = createFailedRows(failedRowsMax);
  const backlog = createBacklog(failedRowsMax);
  const submissions = createDueSubmissions(options, {
    failedRows,
    backlog,
    onCrowded(nowMs) {
      log.warn({ event: "timers.crowded", rows: failedRowsMax });
      backlog.begin(nowMs);
      if (last) since = last.now;
    },
    onStoreFailed(wakeAt) {
      // The scan has passed it, and the walk through the backlog may take long.
      if (backlog.isOn() && since !== null && wakeAt > since - COMMIT_MS_MAX)
        announced = Math.min(announced, wakeAt);
    },
  });

  async function scan(): Promise<number> {
    const { node, owned } = options.owner();
    if (node === null || owned.length === 0) {
      last = null;
      since = null;
      return 0;
    }
    const scannedAtMs = clock.monotonicMs();
    const epochs = new Map(owned.map(({ partition, epoch }) => [partition, epoch]));
    // Partitions taken during this scan are not in it, and stay fresh for the next one.
    const fresh = silence.fresh();
    if (since !== null) since = Math.min(since, announced);
    announced = Number.POSITIVE_INFINITY;
    const backSince = failedRows.backSince(scannedAtMs);
    const isCrowded = backlog.isOn();
    if (isCrowded && fresh.size > 0) backlog.begin(scannedAtMs);
    if (!isCrowded && since !== null && backSince !== null) since = Math.min(since, backSince);
    const isTime = scannedAtMs - wholeAtMs >= WHOLE_EVERY_MS;
    const isAnew = !isCrowded && (isTime || (fresh.size > 0 && !isTooMuch));
    const isWhole = since === null || isAnew;
    const found = await queryDue([...epochs.keys()], isWhole, scannedAtMs);
    if (isWhole) since = null;
    // Rows that are left may be as old as rows that were found and have been moved on.
    const isMore = found.nextAt !== null && found.nextAt <= found.now;
    if (isCrowded) since = backlog.scanFrom(found, isMore);
    else if (!isMore) since = settledUntil(found);
    const time = { scannedAtMs, now: found.now };
    silence.scanned({ partitions: [...epochs.keys()], fresh, time, before: last });
    last = time;
    if (found.outside.length > 0) options.onOutside(found.outside);
    submitAll(found, node, epochs);
    await tryBacklog(node, epochs, scannedAtMs);
    await submissions.settled();
    plan(found, scannedAtMs);
    return found.due.length + found.schedules.length;
  }

  function submitAll(
    { now, due, schedules }: DueScan,
    node: string,
    epochs: ReadonlyMap<number, number>,
  ): void {
    for (const row of due) {
      const actor = { node, epoch: epochs.get(row.partition) ?? 0 };
      submissions.submitRow(row, silence.watchingSince(row.partition) ?? now, actor);
    }
    for (const schedule of schedules) {
      const actor = { node, epoch: epochs.get(schedule.partition) ?? 0 };
      submissions.submitSchedule(schedule, actor);
    }
  }

  /** Tries a page of the rows that the scan leaves out, if it is time. */
  async function tryBacklog(
    node: string,
    epochs: ReadonlyMap<number, number>,
    nowMs: number,
  ): Promise<void> {
    const page = backlog.next(nowMs, [...epochs.keys()], failedRows.count(nowMs));
    if (!page) return;
    const { partition, since: from, limit } = page;
    const range = { since: from, aheadMs: scanEveryMs, without: failedRows.refs(nowMs, from) };
    const found = await options.store.dueRows([partition], limit, range);
    submitAll(found, node, epochs);
    backlog.read(page, found, clock.monotonicMs());
  }

  /**
   * While an old snapshot is open, a whole scan may need more time than a statement may take. Then
   * what came due lately is scanned all the same, and the whole again in a minute.
   */
  async function queryDue(
    partitions: readonly number[],
    isWhole: boolean,
    scannedAtMs: number,
  ): Promise<DueScan> {
    const from = isWhole ? null : since;
    const without = failedRows.refs(scannedAtMs, from);
    const heardSince = silence.heardSince();
    const range = { since: from, aheadMs: scanEveryMs, without, heardSince };
    if (isWhole) wholeAtMs = scannedAtMs;
    try {
      const found = await options.store.dueRows(partitions, DUE_MAX, range);
      if (isWhole) isTooMuch = false;
      return found;
    } catch (error) {
      // An unavailable database does not say that the scan was too much.
      if (!isWhole || error instanceof DroverError) throw error;
      isTooMuch = true;
      since ??= clock.wallMs() - WHOLE_EVERY_MS;
      throw error;
    }
  }

  function plan(found: DueScan, scannedAtMs: number): void {
    const inMs = found.nextAt === null ? scanEveryMs : Math.ceil(found.nextAt - found.now) + 1;
    const full = found.due.length + found.schedules.length >= DUE_MAX;
    loop.wake(scannedAtMs + (full ? 0 : Math.min(Math.max(inMs, SCAN_APART_MS), scanEveryMs)));
    const pageAtMs = backlog.nextAtMs();
    if (pageAtMs !== null) loop.wake(Math.max(pageAtMs, scannedAtMs + SCAN_APART_MS));
  }

  async function quiet(): Promise<void> {
    await loop.inProgress();
    await submissions.quiet();
  }

  return Object.freeze({
    start: loop.start,
    async stop() {
      loop.stop();
      await quiet();
    },
    async scanOnce() {
      await loop.inProgress();
      since = null;
      const due = await loop.scanOnce();
      await quiet();
      return due;
    },
    announce(dueAt: EpochMs) {
      announced = Math.min(announced, dueAt);
      if (last) loop.wake(last.scannedAtMs + (dueAt - last.now) + 1);
    },
    taken(partitions: readonly number[]) {
      silence.taken(partitions);
      loop.wake(clock.monotonicMs());
    },
    quiet,
    failedRows: () => failedRows.count(clock.monotonicMs()),
  });
}

/** Rows that were found may still be there when the next scan begins. */
function settledUntil({ now, due, schedules }: DueScan): EpochMs {
  return [...due, ...schedules].reduce(
    (least, { wakeAt }) => Math.min(least, wakeAt),
    now - COMMIT_MS_MAX,
  );
}
