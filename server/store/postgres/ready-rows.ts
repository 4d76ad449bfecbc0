// Claims of one transaction. What its passes make ready is kept back until its claims have looked
// (pages.ts): what they hand out becomes a lease at once, and never was a ready row.
//
// A look gives what it would give if the rows stood in the table already. Where a pin or a paused
// workflow may have a say in where a row goes, they are written first, and looked at there.
import { movingSide } from "../../core/model.ts";
import type { PageStep } from "../../core/page/page.ts";
import type { Mark } from "../marks.ts";
import type { Grant, Granted, LockedReady, ReadyRow, RunRef, Tx } from "../store.ts";
import { columns } from "./columns.ts";
import { rangeArrays } from "./marks.ts";
import type { PageRow, Pages } from "./pages.ts";
import type { Begun } from "./transaction.ts";

type Lane = Parameters<Tx["lockReady"]>[0][number];

export interface ReadyRows extends Pick<Tx, "lockReady" | "grant" | "placeReady"> {}

export function createReadyRows(begun: Begun, pages: Pages): ReadyRows {
  const { query } = begun;
  const placed: Promise<readonly number[]>[] = [];

  function place(): Promise<readonly number[]> {
    placed.push(pages.flush());
    const lanes = Promise.all(placed).then((all) => [...new Set(all.flat())]);
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
    for (const row of found) if (row.run_id !== null) pages.adopt(row);
    const rows = found.flatMap((row) => (row.run_id === null ? [] : (readyRowOf(row) ?? [])));
    const made = pages.made();
    if (made.length === 0) return { rows, limited: limitedOf(found) };
    if (found.some(({ moves }) => moves)) {
      await place();
      return look(lanes, queuesLocked, marks);
    }
    const limited = limitedOf(found);
    const closed = new Set(limited.map(({ lane }) => lane));
    const asked = new Set(found.map((row) => row.asked));
    const own = made
      .flatMap(({ cell, step, terms, priority }) =>
        claimable({ ...cell, step, lane: terms.lane, priority }),
      )
      .filter(({ until }) => until === null || until > begun.now);
    const byLane = Map.groupBy([...rows, ...own], ({ lane }) => lane);
    const all = lanes
      .filter(({ lane }) => asked.has(lane) && !closed.has(lane))
      .flatMap(({ lane, limit }) =>
        (byLane.get(lane) ?? []).sort((a, b) => a.priority - b.priority).slice(0, limit),
      );
    return { rows: all, limited };
  }

  function readyRowOf(row: LockedReadyRow): ReadyRow | null {
    const { run_id: runId, partition, step_no: step, lane, priority } = row;
    return claimable({ runId, partition, step, lane, priority })[0] ?? null;
  }

  /** None where the page does not say that the step is READY: the consistency check rewrites it. */
  function claimable(
    at: RunRef & { readonly step: number; readonly lane: number; readonly priority: number },
  ): readonly ReadyRow[] {
    const { runId, partition, step, lane, priority } = at;
    const found = pages.ready(runId, step);
    const row = found && taskOf(found.of);
    return row ? [{ runId, partition, step, lane, priority, ...row }] : [];
  }

  return Object.freeze({
    lockReady: (lanes, queuesLocked = false, marks = []) => look(lanes, queuesLocked, marks),
    grant: async (grants) => grants.map((one) => handOut(one)),
    placeReady: place,
  } satisfies ReadyRows);

  function handOut(grant: Grant): Granted {
    const { secret, session, agentId, pollSeq } = grant;
    const { runId, step, lane } = grant.ready;
    const to = { secret, session, agentId, pollSeq, lane };
    const after = movingSide(pages.handOut(runId, step, to, begun.now).step)?.state;
    if (after?.kind !== "LEASED") throw new Error(`step ${step} was handed out and is not leased`);
    return { ...grant, grantedAt: begun.now, attemptBy: after.attemptBy };
  }
}

function taskOf({ step, terms }: PageStep) {
  const ready = movingSide(step)?.state;
  if (ready?.kind !== "READY" || !terms) return null;
  const { attemptMs, heartbeatMs, cancelMs, stallMs, plain } = terms;
  const { task, fence, attempt, readyAt, until, avoid } = ready;
  return {
    ...{ task, fence, attempt, readyAt, until, avoid },
    ...{ attemptMs, heartbeatMs, cancelMs, stallMs, plain },
  };
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

interface LockedReadyRow extends OfLane, PageRow {
  step_no: number;
  lane: number;
  priority: number;
}

function limitedOf(found: readonly (LockedReadyRow | LaneRow)[]): LockedReady["limited"] {
  return found.flatMap((row) => {
    if (row.run_id !== null || row.namespace_id === null || row.queue === null) return [];
    return [{ lane: row.asked, namespaceId: row.namespace_id, queue: row.queue }];
  });
}
