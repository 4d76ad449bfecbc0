// The supervisor's scan: what is due, and when the next timer comes.
//
// The wake-up time of a page says when it must be read at the latest; its timers say what is due. A
// page that was read too early gets its next wake-up here, many pages in one statement. Leases
// whose sessions are silent are found by the sessions.
import type { EpochMs } from "../../core/model/attempt.ts";
import { type PageTimer, timersOf, wakeAtOf } from "../../core/page/derived-rows.ts";
import type { Page } from "../../core/page/page.ts";
import { pageNoOf } from "../../core/page/page.ts";
import { type DueRange, type DueRef, dueRefOf, dueScan, type Outside } from "../due.ts";
import type { DueKind, DueRow, DueScan, RunId } from "../store.ts";
import { columns } from "./columns.ts";
import type { PageCache } from "./page-cache.ts";
import type { Query } from "./transaction.ts";

/** Kinds of rows in `due_rows`. */
type RowKind = "page" | "escalation" | "message" | "schedule";

/**
 * Most rows of each kind that one scan reads of a partition. Later scans read the backlog behind
 * them: if each scan read all of it, catching up would take quadratic time.
 */
const OF_PARTITION_MAX = 64;
/** Most pages with suspended timers that one scan reads for their other timers. */
const SUSPENDED_PAGES_MAX = 64;

interface DueAsked extends DueRange {
  readonly limit: number;
  readonly polledMs: number;
}

export async function dueRows(
  query: Query,
  cache: PageCache,
  partitions: readonly number[],
  asked: DueAsked,
): Promise<DueScan> {
  const { limit, since, aheadMs, without = [] } = asked;
  const seen = await query<DueColumns | NextColumns>("due_rows", {
    partitions,
    limit,
    of_partition_max: OF_PARTITION_MAX,
    since,
    ahead: aheadMs,
    ...columns(without, {
      kind: ({ kind }) => kindOf(kind),
      id: ({ id }) => id,
      place: ({ kind, place }) => (kindOf(kind) === "page" ? pageNoOf(Math.max(0, place)) : place),
    }),
  });
  const found = seen.flatMap((row) => (row.run_id === null ? [] : row));
  const next = seen.find((row) => row.run_id === null);
  if (!next) throw new Error("a scan for due rows returned without the time");
  const { now, outside } = next;
  const pages = found.flatMap((row) => (row.kind === "page" ? pageOf(row, cache) : []));
  const others = await suspendedPages(query, cache, partitions, asked);
  const timers = [...pages, ...others].flatMap((page) => dueTimers(page, now));
  const isSuspended = suspendedBy(without);
  const due = timers.filter((row) => !isSuspended(dueRefOf(row)));
  await raiseWakeUps(query, pages);
  const silent = await silentLeases(query, partitions, asked);
  const foundTo = foundToOf(found, limit) ?? now;
  const all = [
    ...(await withTakers(query, due, asked.polledMs)),
    ...silent.filter((row) => row.wakeAt <= now && !isSuspended(dueRefOf(row))),
    ...found.flatMap(rowBeside),
  ].sort((a, b) => a.wakeAt - b.wakeAt);
  const rows = all.slice(0, limit);
  const latest = now + (aheadMs ?? Number.POSITIVE_INFINITY);
  const later = pages.flatMap(({ page }) => timersOf(page).map(({ wakeAt }) => wakeAt));
  // PostgreSQL compares microseconds: a wake-up in the rest of this millisecond is still to come.
  const stored = next.wake_at === null ? null : Math.max(next.wake_at, now + 1);
  const times = [stored, ...later, ...silent.map(({ wakeAt }) => wakeAt)];
  const toCome = times.flatMap((at) => (at !== null && at > now && at <= latest ? at : []));
  const isFull = all.length >= limit || found.length >= limit;
  return dueScan({
    now,
    outside,
    due: rows,
    foundTo: isFull ? Math.min(foundTo, rows.at(-1)?.wakeAt ?? foundTo) : foundTo,
    schedules: found.flatMap(({ kind, run_id: id, partition, wake_at: wakeAt }) =>
      kind === "schedule" ? [{ id, partition, wakeAt }] : [],
    ),
    isMore: isFull || foundTo < now,
    nextAt: toCome.length === 0 ? null : toCome.reduce((a, b) => Math.min(a, b)),
  });
}

interface DueColumns {
  kind: RowKind;
  run_id: string;
  partition: number;
  /** The number of a page; the step of an escalation; else -1. */
  place: number;
  n: number | null;
  wake_at: number;
  version: number | null;
  state: string | null;
}

interface NextColumns {
  run_id: null;
  wake_at: number | null;
  now: number;
  outside: Outside[];
}

interface DuePage {
  readonly runId: RunId;
  readonly partition: number;
  readonly version: number;
  readonly storedAt: EpochMs;
  readonly page: Page;
}

function pageOf(row: DueColumns, cache: PageCache): DuePage {
  const { run_id: runId, partition, place, state } = row;
  if (state === null) throw new Error(`page ${place} of run ${runId} came without its text`);
  const version = row.version ?? 0;
  const { page } = cache.decoded(runId, place, version, state);
  return { runId, partition, version, storedAt: row.wake_at, page };
}

const UNTAKEN = { polled: false, lane: null, agentVersion: null };

function dueTimers({ runId, partition, page }: DuePage, now: EpochMs): readonly DueRow[] {
  return timersOf(page).flatMap(({ kind, step, fence, wakeAt }: PageTimer): readonly DueRow[] =>
    wakeAt <= now ? [{ ...UNTAKEN, runId, partition, kind, step, fence, wakeAt }] : [],
  );
}

function rowBeside({
  kind,
  run_id: runId,
  partition,
  place,
  n,
  wake_at,
}: DueColumns): readonly DueRow[] {
  const of = { ...UNTAKEN, runId, partition, step: place, wakeAt: wake_at };
  if (kind === "escalation") return [{ ...of, kind: "escalation", fence: n ?? 0 }];
  return kind === "message" ? [{ ...of, kind: "message", fence: 0 }] : [];
}

function suspendedBy(without: readonly DueRef[]): (ref: DueRef) => boolean {
  if (without.length === 0) return () => false;
  const suspended = new Set(without.map(({ kind, id, place }) => `${kind}/${id}/${place}`));
  return ({ kind, id, place }) => suspended.has(`${kind}/${id}/${place}`);
}

/** Only the failing step is suspended: other timers of its page may be due. */
async function suspendedPages(
  query: Query,
  cache: PageCache,
  partitions: readonly number[],
  { without = [] }: DueAsked,
): Promise<readonly DuePage[]> {
  const pages = new Map(
    without.flatMap(({ kind, id, place }) => {
      if (kindOf(kind) !== "page") return [];
      const no = pageNoOf(Math.max(0, place));
      return [[`${id}/${no}`, { id, no }] as const];
    }),
  );
  if (pages.size === 0) return [];
  const rows = await query<PageColumns>(
    "suspended_pages",
    columns([...pages.values()].slice(0, SUSPENDED_PAGES_MAX), {
      run_id: ({ id }) => id,
      no: ({ no }) => no,
    }),
  );
  return rows.flatMap(({ wake_at: wakeAt, ...row }) =>
    wakeAt === null || !partitions.includes(row.partition)
      ? []
      : [pageOf({ ...row, wake_at: wakeAt, kind: "page", place: row.no, n: null }, cache)],
  );
}

interface PageColumns extends Pick<DueColumns, "run_id" | "partition" | "version" | "state"> {
  no: number;
  wake_at: EpochMs | null;
}

/** Pages that were read too early get the wake-up time of their earliest timer. */
async function raiseWakeUps(query: Query, pages: readonly DuePage[]): Promise<void> {
  const next = pages
    .map((one) => ({ ...one, wakeAt: wakeAtOf(one.page) }))
    .filter(({ wakeAt, storedAt }) => wakeAt !== storedAt);
  if (next.length === 0) return;
  await query(
    "raise_wake_ups",
    columns(next, {
      run_id: ({ runId }) => runId,
      no: ({ page }) => page.no,
      version: ({ version }) => version,
      wake_at: ({ wakeAt }) => wakeAt,
    }),
  );
}

/** Adds to ready tasks their lanes, whether agents may be expected to claim them, and a version. */
async function withTakers(
  query: Query,
  rows: readonly DueRow[],
  polledMs: number,
): Promise<readonly DueRow[]> {
  const ready = rows.filter(({ kind }) => kind === "ready");
  if (ready.length === 0) return rows;
  const takers = await query<{
    run_id: RunId;
    step_no: number;
    lane: number;
    polled: boolean;
    agent_version: string | null;
  }>("ready_takers", {
    ...columns(ready, { run_id: ({ runId }) => runId, step_no: ({ step }) => step }),
    polled: polledMs,
  });
  const byStep = new Map(takers.map((row) => [`${row.run_id}/${row.step_no}`, row]));
  return rows.flatMap((row): readonly DueRow[] => {
    if (row.kind !== "ready") return [row];
    const found = byStep.get(`${row.runId}/${row.step}`);
    // A claim has taken it since.
    if (!found) return [];
    const { lane, polled, agent_version: agentVersion } = found;
    return [{ ...row, lane, polled, agentVersion }];
  });
}

async function silentLeases(
  query: Query,
  partitions: readonly number[],
  { silenceCountsSince, limit, aheadMs }: DueAsked,
): Promise<readonly DueRow[]> {
  const listened = partitions.flatMap((partition) => {
    const since = silenceCountsSince?.get(partition);
    return since === undefined ? [] : [{ partition, since }];
  });
  if (listened.length === 0) return [];
  const rows = await query<{
    run_id: RunId;
    partition: number;
    step_no: number;
    fence: number;
    silent_at: number;
  }>("silent_leases", {
    ...columns(listened, { partition: ({ partition }) => partition, since: ({ since }) => since }),
    limit,
    ahead: aheadMs,
  });
  return rows.map((row): DueRow => {
    const { run_id: runId, partition, step_no: step, fence, silent_at: wakeAt } = row;
    return { ...UNTAKEN, runId, partition, step, fence, kind: "lease", wakeAt };
  });
}

/** The scan has left out nothing that is due before this time; null: it left out nothing at all. */
function foundToOf(due: readonly DueColumns[], limit: number): EpochMs | null {
  const counts = new Map<string, number>();
  // Rows are in the order of time: finds the first with which its kind and partition reach the
  // limit.
  const capped = due.find(({ kind, partition }) => {
    const count = (counts.get(`${kind}/${partition}`) ?? 0) + 1;
    counts.set(`${kind}/${partition}`, count);
    return count >= OF_PARTITION_MAX;
  });
  const last = due.length >= limit ? due.at(-1) : undefined;
  return (capped ?? last)?.wake_at ?? null;
}

/** Timers of steps and of runs are in pages. */
function kindOf(kind: DueKind | "schedule"): RowKind {
  return kind === "escalation" || kind === "message" || kind === "schedule" ? kind : "page";
}
