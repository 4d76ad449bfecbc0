// The backlog: due rows whose events fail, while more rows fail than can back off in memory
// (failed-rows.ts). The timer scan then leaves out what came due long ago, and finds what comes due
// now as always. The walk in this file tries what the scan leaves out, page by page, one partition
// after the other.
//
//   off ─ a row fails, and no more rows can back off ─→ on
//   on  : the first round reads page after page, since most of these rows were not tried yet; each
//         later round reads 200 rows a second, and begins a minute after the last one at least
//   on  ─ a round in which less than half as many rows fail as can back off ─→ off
import type { EpochMs } from "../core/model/attempt.ts";
import type { DueScan } from "../store/due.ts";

/** Most rows of a page. */
const PAGE_MAX = 200;
/** From the second round on: 200 rows a second. */
const MS_A_ROW = 5;
const PAGE_APART_MS = 10;
const ROUND_APART_MS = 60_000;
/** A row that commits this long after its due time, and is not announced, is found by the walk. */
const LATE_MS_MAX = 1_000;

export interface Page {
  readonly partition: number;
  /** null: from the earliest row of the partition on. */
  readonly since: EpochMs | null;
  readonly limit: number;
}

type PageFound = Pick<DueScan, "now" | "due" | "schedules" | "foundTo">;

export interface Backlog {
  isOn(): boolean;
  /** Begins with a first round, also if it is on already. */
  begin(nowMs: number): void;
  /** A row has failed. */
  failed(): void;
  /**
   * The page to be read now, in these partitions; null: none. `failedRows`: how many rows back off.
   */
  next(nowMs: number, partitions: readonly number[], failedRows: number): Page | null;
  read(page: Page, found: PageFound, nowMs: number): void;
  /** Where the timer scan continues while this is on. */
  scanFrom(found: PageFound, isMore: boolean): EpochMs;
  /** Monotonic time of the next page; null: it is off. */
  nextAtMs(): number | null;
}

interface Round {
  readonly isFirst: boolean;
  readonly beganAtMs: number;
  /** The partitions before it are done. */
  partition: number;
  since: EpochMs | null;
  failures: number;
  nextAtMs: number;
}

/** `rowsMax`: how many rows can back off. */
export function createBacklog(rowsMax: number): Backlog {
  let round: Round | null = null;
  const walked = createPlace(rowsMax);
  const scanned = createPlace(rowsMax);

  function begin(beganAtMs: number, isFirst: boolean): void {
    const place = { partition: 0, since: null };
    round = { isFirst, beganAtMs, ...place, failures: 0, nextAtMs: beganAtMs };
  }

  function end({ beganAtMs, failures }: Round, nowMs: number, failedRows: number): void {
    if (Math.max(failures, failedRows) < rowsMax / 2) round = null;
    else begin(Math.max(nowMs, beganAtMs + ROUND_APART_MS), false);
  }

  return Object.freeze({
    isOn: () => round !== null,
    begin: (nowMs: number) => begin(nowMs, true),
    failed() {
      if (round) round.failures++;
    },
    next(nowMs: number, partitions: readonly number[], failedRows: number) {
      if (!round || nowMs < round.nextAtMs) return null;
      const { partition: place, since } = round;
      const left = partitions.filter((one) => one >= place);
      if (left.length === 0) {
        end(round, nowMs, failedRows);
        return null;
      }
      const partition = left.reduce((a, b) => Math.min(a, b));
      return { partition, since: partition === place ? since : null, limit: PAGE_MAX };
    },
    read({ partition }: Page, found: PageFound, nowMs: number) {
      if (!round) return;
      const isDone = found.foundTo >= found.now;
      round.partition = isDone ? partition + 1 : partition;
      round.since = isDone ? null : walked.after(found);
      const pauseMs = round.isFirst ? 0 : Math.max(PAGE_APART_MS, rowsOf(found) * MS_A_ROW);
      round.nextAtMs = nowMs + pauseMs;
    },
    scanFrom: (found: PageFound, isMore: boolean) =>
      isMore ? scanned.after(found) : found.now - LATE_MS_MAX,
    nextAtMs: () => round?.nextAtMs ?? null,
  });
}

function rowsOf({ due, schedules }: PageFound): number {
  return due.length + schedules.length;
}

/**
 * Where the next page begins: at the time up to which all rows were found, since more rows may have
 * it. If more rows have one time than can back off, those that fail would be found again and again:
 * the next page begins after that time, and the walk finds the other rows, partition by partition.
 */
function createPlace(rowsMax: number): { after(found: PageFound): EpochMs } {
  let place: EpochMs | null = null;
  let rowsThere = 0;
  return {
    after(found) {
      rowsThere = found.foundTo === place ? rowsThere + rowsOf(found) : 0;
      place = rowsThere > rowsMax ? found.foundTo + 1 : found.foundTo;
      return place;
    },
  };
}
