// Ready rows as a claim scans them.
import type { EpochMs } from "../../core/model/attempt.ts";
import { movingSide } from "../../core/model/model.ts";
import type { SeenWatermarks, Watermark } from "../watermarks.ts";
import { pageStepOf, type ReadyRow, type Tables } from "./tables.ts";
import type { Transactions } from "./transactions.ts";

export function byAge(a: ReadyRow, b: ReadyRow): number {
  return a.priority - b.priority || a.transaction - b.transaction || a.number - b.number;
}

/** The rows of a lane that a claim may scan: none of a paused workflow. */
export function rowsInLane(tables: Tables, lane: number): readonly ReadyRow[] {
  return tables.ready.where("lane", lane).filter(({ paused }) => !paused);
}

/** Its time is not over, and it is not before the watermark of its lane and priority. */
export function mayBeTaken(row: ReadyRow, now: EpochMs, marks: readonly Watermark[]): boolean {
  const { until } = row;
  const mark = marks.find(({ lane, priority }) => lane === row.lane && priority === row.priority);
  return (until === null || until > now) && (!mark || BigInt(row.transaction) >= mark.from);
}

/** The task of a ready row, from its page. */
export function readyTaskOf(tables: Tables, { runId, step }: Pick<ReadyRow, "runId" | "step">) {
  const of = pageStepOf(tables, runId, step);
  const ready = of && movingSide(of.step)?.state;
  if (ready?.kind !== "READY" || !of?.terms)
    throw new Error(`step ${step} of run ${runId} has a ready row and is not READY`);
  return { ready, terms: of.terms };
}

export function seeWatermarks(
  tables: Tables,
  marks: readonly Watermark[],
  { oldest, incarnation }: Pick<Transactions, "oldest" | "incarnation">,
): SeenWatermarks {
  return {
    watermarks: marks.map(({ lane, priority, from }) => {
      const numbers = rowsInLane(tables, lane)
        .filter((row) => row.priority === priority && BigInt(row.transaction) >= from)
        .map(({ transaction }) => transaction);
      return { lane, priority, first: numbers.length > 0 ? BigInt(Math.min(...numbers)) : null };
    }),
    oldest: BigInt(oldest()),
    incarnation: String(incarnation()),
  };
}
