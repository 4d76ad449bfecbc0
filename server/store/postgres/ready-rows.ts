// Ready rows of one transaction. Those that its passes make are kept back until its claims have had
// their look: what they hand out becomes a lease at once, and never was a row. What is left is
// placed before the commit.
//
// A look gives what it would give if the rows stood in the table already. Where a pin or a paused
// workflow may have a say in where a row goes, they are placed first, and looked at there.
import type { Moment } from "../../core/attempt.ts";
import type { RowChanges } from "../changes.ts";
import type { Mark } from "../marks.ts";
import type { Grant, Granted, LockedReady, ReadyRow, RunId, Tx } from "../store.ts";
import { type Of, ofEach } from "./batch.ts";
import { taskKinds } from "./codes.ts";
import { columns } from "./columns.ts";
import { rangeArrays } from "./marks.ts";
import { avoidOf } from "./step-rows.ts";
import type { Begun, Query } from "./transaction.ts";

type Made = Of<RowChanges["readyNew"][number]>;
type Lane = Parameters<Tx["lockReady"]>[0][number];

export interface ReadyRows extends Pick<Tx, "lockReady" | "grant" | "placeReady"> {
  /** Rows that a pass makes. Returns their lanes, as the definition names them. */
  make(changes: readonly RowChanges[]): readonly number[];
}

export function createReadyRows(begun: Begun): ReadyRows {
  const { query, send } = begun;
  let made = new Map<string, Made>();
  const placed: Promise<readonly { readonly lane: number }[]>[] = [];

  function place(): Promise<readonly number[]> {
    if (made.size > 0) {
      placed.push(send<{ lane: number }>("insert_ready", readyColumns([...made.values()])));
      made = new Map();
    }
    const lanes = lanesOf(placed);
    // If it fails, so does what waits for the statement.
    lanes.catch(() => undefined);
    return lanes;
  }

  async function look(
    lanes: readonly Lane[],
    queuesLocked: boolean,
    marks: readonly Mark[],
  ): Promise<LockedReady> {
    const found = await query<LockedReadyRow | LaneRow>("lock_ready", [
      ...columns(
        lanes,
        (lane) => lane.lane,
        (lane) => lane.limit,
      ),
      queuesLocked,
      ...rangeArrays(lanes, marks),
    ]);
    const rows = found.flatMap((row) => (row.run_id === null ? [] : [readyRowOf(row)]));
    if (made.size === 0) return { rows, limited: limitedOf(found) };
    if (found.some(({ moves }) => moves)) {
      await place();
      return look(lanes, queuesLocked, marks);
    }
    const limited = limitedOf(found);
    const closed = new Set(limited.map(({ lane }) => lane));
    const asked = new Set(found.map((row) => row.asked));
    const own = [...made.values()]
      .map(claimable)
      .filter(({ until }) => until === null || until > begun.now);
    const byLane = Map.groupBy([...rows, ...own], ({ lane }) => lane);
    const all = lanes
      .filter(({ lane }) => asked.has(lane) && !closed.has(lane))
      .flatMap(({ lane, limit }) =>
        (byLane.get(lane) ?? []).sort((a, b) => a.priority - b.priority).slice(0, limit),
      );
    return { rows: all, limited };
  }

  return Object.freeze({
    make(changes) {
      const rows = ofEach(changes, (change) => change.readyNew);
      for (const one of rows) made.set(keyOf(one.head.runId, one.row.step), one);
      return [...new Set(rows.map(({ row }) => row.lane))];
    },
    lockReady: (lanes, queuesLocked = false, marks = []) => look(lanes, queuesLocked, marks),
    async grant(grants) {
      const fresh = grants.flatMap((grant) => {
        const row = made.get(keyOf(grant.ready.runId, grant.ready.step));
        return row ? [{ ...row, grant }] : [];
      });
      const atOnce = new Set(fresh.map(({ grant }) => grant));
      const moved = await moveToLeases(
        query,
        grants.filter((grant) => !atOnce.has(grant)),
      );
      if (fresh.length > 0) void send("insert_leases", leaseColumns(fresh));
      for (const { head, row } of fresh) made.delete(keyOf(head.runId, row.step));
      const { now } = begun;
      return grants.map((grant) => {
        const { ready } = grant;
        return moved.get(grant) ?? { ...grant, grantedAt: now, attemptBy: attemptByOf(ready, now) };
      });
    },
    placeReady: place,
  } satisfies ReadyRows);
}

async function lanesOf(
  placed: readonly Promise<readonly { readonly lane: number }[]>[],
): Promise<readonly number[]> {
  const rows = (await Promise.all(placed)).flat();
  return [...new Set(rows.map(({ lane }) => lane))];
}

function attemptByOf({ attemptMs, until }: ReadyRow, now: Moment): Moment {
  return Math.min(now + attemptMs, until ?? Number.POSITIVE_INFINITY);
}

function claimable({ head, row }: Made): ReadyRow {
  const { attemptMs, heartbeatMs, cancelMs, stallMs } = row.task.timeouts;
  const { task, fence, attempt, readyAt, until, avoid } = row.ready;
  return {
    ...{ runId: head.runId, partition: head.partition, step: row.step, lane: row.lane },
    ...{ priority: head.priority, task, fence, attempt, readyAt, until, avoid },
    ...{ attemptMs, heartbeatMs, cancelMs, stallMs, plain: row.plain },
  };
}

function readyColumns(rows: readonly Made[]): string[] {
  return columns(
    rows,
    ({ head }) => head.runId,
    ({ row }) => row.step,
    ({ head }) => head.partition,
    ({ row }) => row.lane,
    ({ head }) => head.priority,
    ({ row }) => taskKinds.code(row.ready.task),
    ({ row }) => row.ready.fence,
    ({ row }) => row.ready.attempt,
    ({ row }) => row.ready.readyAt,
    ({ row }) => row.ready.until,
    ({ row }) => row.ready.avoid?.session ?? null,
    ({ row }) => row.ready.avoid?.until ?? null,
    ({ row }) => row.ready.alarms,
    ({ row }) => row.task.timeouts.attemptMs,
    ({ row }) => row.task.timeouts.heartbeatMs,
    ({ row }) => row.task.timeouts.cancelMs,
    ({ row }) => row.task.timeouts.stallMs,
    ({ row }) => row.slowAfterMs,
    ({ row }) => row.ready.wakeAt,
    ({ head }) => head.namespaceId,
    ({ row }) => row.workflow,
    ({ head }) => head.definitionId,
    ({ row }) => row.plain,
  );
}

function leaseColumns(rows: readonly (Made & { readonly grant: Grant })[]): string[] {
  return columns(
    rows,
    ({ head }) => head.runId,
    ({ row }) => row.step,
    ({ head }) => head.partition,
    ({ row }) => row.lane,
    ({ row }) => taskKinds.code(row.ready.task),
    ({ row }) => row.ready.fence,
    ({ row }) => row.ready.attempt,
    ({ grant }) => grant.secret,
    ({ grant }) => grant.session,
    ({ grant }) => grant.agentId,
    ({ grant }) => grant.pollSeq,
    ({ row }) => row.ready.until,
    ({ row }) => row.task.timeouts.attemptMs,
    ({ row }) => row.task.timeouts.heartbeatMs,
    ({ row }) => row.task.timeouts.cancelMs,
    ({ row }) => row.task.timeouts.stallMs,
    ({ row }) => row.slowAfterMs,
  );
}

/** What is said of a lane that is asked, in each of its rows. */
interface OfLane {
  asked: number;
  /** Ready rows of its namespace may have to go somewhere else. */
  moves: boolean;
}

/** A lane that gives no row: it has none, or its queue has limits (`queue`) and is not locked. */
interface LaneRow extends OfLane {
  namespace_id: number | null;
  queue: string | null;
  run_id: null;
}

interface LockedReadyRow extends OfLane {
  run_id: string;
  partition: number;
  step_no: number;
  lane: number;
  priority: number;
  kind: number;
  fence: number;
  attempt: number;
  ready_at: number;
  until: number | null;
  avoid_session: string | null;
  avoid_until: number | null;
  attempt_ms: number;
  heartbeat_ms: number;
  cancel_ms: number;
  stall_ms: number | null;
  plain: boolean;
}

function limitedOf(found: readonly (LockedReadyRow | LaneRow)[]): LockedReady["limited"] {
  return found.flatMap((row) => {
    if (row.run_id !== null || row.namespace_id === null || row.queue === null) return [];
    return [{ lane: row.asked, namespaceId: row.namespace_id, queue: row.queue }];
  });
}

function readyRowOf(row: LockedReadyRow): ReadyRow {
  return {
    runId: row.run_id,
    partition: row.partition,
    step: row.step_no,
    lane: row.lane,
    priority: row.priority,
    task: taskKinds.name(row.kind),
    fence: row.fence,
    attempt: row.attempt,
    readyAt: row.ready_at,
    until: row.until,
    avoid: avoidOf(row.avoid_session, row.avoid_until),
    attemptMs: row.attempt_ms,
    heartbeatMs: row.heartbeat_ms,
    cancelMs: row.cancel_ms,
    stallMs: row.stall_ms,
    plain: row.plain,
  };
}

async function moveToLeases(
  query: Query,
  grants: readonly Grant[],
): Promise<ReadonlyMap<Grant, Granted>> {
  if (grants.length === 0) return new Map();
  const rows = await query<{
    run_id: string;
    step_no: number;
    granted_at: number;
    attempt_by: number;
  }>(
    "grant_leases",
    columns(
      grants,
      (grant) => grant.ready.runId,
      (grant) => grant.ready.step,
      (grant) => grant.ready.fence,
      (grant) => grant.secret,
      (grant) => grant.session,
      (grant) => grant.agentId,
      (grant) => grant.pollSeq,
    ),
  );
  if (rows.length !== grants.length)
    throw new Error(`${grants.length} ready rows were locked, ${rows.length} could be granted`);
  const byKey = new Map(rows.map((row) => [keyOf(row.run_id, row.step_no), row]));
  return new Map(
    grants.map((grant) => {
      const row = byKey.get(keyOf(grant.ready.runId, grant.ready.step));
      if (!row) throw new Error(`the grant of step ${grant.ready.step} came back without its row`);
      return [grant, { ...grant, grantedAt: row.granted_at, attemptBy: row.attempt_by }];
    }),
  );
}

function keyOf(runId: RunId, step: number): string {
  return `${runId}/${step}`;
}
