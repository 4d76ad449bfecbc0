// The supervisor's look: what is due, and when the next moment comes. A lease whose session has
// beaten needs no judgement: it moves to its next moment here, many more in one statement than a
// look has rows, since with many agents these are nearly all that is due.
import type { Moment } from "../../core/attempt.ts";
import { type DueRange, type DueRef, dueLook, leaseOf, type Outside } from "../due.ts";
import type { RunId } from "../run-head.ts";
import type { DueKind, DueLook, DueRow } from "../store.ts";
import { dueKinds } from "./codes.ts";
import type { Query } from "./transaction.ts";

const TABLES_DUE: readonly DueKind[] = [
  "lease",
  "ready",
  "backoff",
  "run",
  "message",
  "escalation",
];

/** The kind of schedules in `due_rows`. */
const SCHEDULE_DUE = 6;

/**
 * Rows of each kind that one look reads of a partition. A backlog behind them is found by the next
 * looks: reading all of it in each look made catching up quadratic.
 */
const OF_PARTITION_MAX = 64;
/** Leases that one statement moves. */
const MOVED_MAX = 2_000;

export async function dueRows(
  query: Query,
  partitions: readonly number[],
  limit: number,
  { since, aheadMs, without = [], polledMs }: DueRange & { readonly polledMs: number },
): Promise<DueLook> {
  const seen = await query<DueColumns | NextColumns>("due_rows", [
    ...[partitions, limit, OF_PARTITION_MAX, polledMs, since, aheadMs],
    without.map(({ kind }) => tableOf(kind)),
    without.map(({ id }) => id),
    without.map(({ place }) => place),
  ]);
  const due = seen.flatMap((row) => (row.run_id === null ? [] : row));
  const next = seen.find((row) => row.run_id === null);
  if (!next) throw new Error("a look at what is due came back without the time");
  const schedules = due.flatMap(({ kind, run_id: id, partition, wake_at: wakeAt }) =>
    kind === SCHEDULE_DUE ? [{ id, partition, wakeAt }] : [],
  );
  const rows = due.flatMap((row): readonly DueRow[] =>
    row.kind === SCHEDULE_DUE
      ? []
      : [
          {
            kind: dueKindOf(row),
            runId: row.run_id,
            partition: row.partition,
            step: row.step_no,
            fence: row.fence,
            wakeAt: row.wake_at,
            polled: row.polled,
            lane: row.lane,
            agentVersion: row.agent_version,
          },
        ],
  );
  const moved = rows.some(({ kind }) => kind === "lease")
    ? await moveBeaten(query, partitions, since)
    : new Map<string, Moment>();
  const { now, outside, wake_at: nextAt } = next;
  const foundTo = foundToOf(due, limit) ?? now;
  const isMore = due.length >= limit || moved.size >= MOVED_MAX || foundTo < now;
  return dueLook({ now, outside, rows, schedules, isMore, moved, nextAt, foundTo });
}

interface DueColumns {
  kind: number;
  due_kind: number | null;
  run_id: string;
  partition: number;
  step_no: number;
  fence: number;
  wake_at: number;
  polled: boolean;
  lane: number | null;
  agent_version: string | null;
}

interface NextColumns {
  run_id: null;
  wake_at: number | null;
  now: number;
  outside: Outside[];
}

/** Nothing is left out that is due before it; null: nothing is left out at all. */
function foundToOf(due: readonly DueColumns[], limit: number): Moment | null {
  const counts = new Map<string, number>();
  // Earliest first: the first that comes to as many as are read of its kind and partition.
  const capped = due.find(({ kind, partition }) => {
    const count = (counts.get(`${kind}/${partition}`) ?? 0) + 1;
    counts.set(`${kind}/${partition}`, count);
    return count >= OF_PARTITION_MAX;
  });
  const last = due.length >= limit ? due.at(-1) : undefined;
  return (capped ?? last)?.wake_at ?? null;
}

/** The next moments of those leases that need no look now, by `leaseOf`. */
async function moveBeaten(
  query: Query,
  partitions: readonly number[],
  since: DueRange["since"],
): Promise<ReadonlyMap<string, Moment>> {
  const moved = await query<{ run_id: RunId; step_no: number; wake_at: number }>("move_beaten", [
    ...[partitions, MOVED_MAX, OF_PARTITION_MAX, since],
  ]);
  return new Map(
    moved.map((row) => [leaseOf({ runId: row.run_id, step: row.step_no }), row.wake_at]),
  );
}

/** The number of a table in `due_rows`. */
function tableOf(kind: DueRef["kind"]): number {
  if (kind === "schedule") return SCHEDULE_DUE;
  const table = TABLES_DUE.indexOf(kind);
  return table === -1 ? TABLES_DUE.indexOf("backoff") : table;
}

/** Tables in the order of `due_rows`; a row of `due` itself says what it is for. */
function dueKindOf(row: { readonly kind: number; readonly due_kind: number | null }): DueKind {
  if (row.due_kind === null) return TABLES_DUE[row.kind] ?? "run";
  const name = dueKinds.name(row.due_kind);
  switch (name) {
    case "timer":
    case "signal":
    case "approval":
    case "callback":
    case "items":
    case "child":
    case "child-end":
      return name;
    default:
      return "backoff";
  }
}
