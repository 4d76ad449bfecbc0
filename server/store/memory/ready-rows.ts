// Ready rows as a claim walks them.
import type { Moment } from "../../core/attempt.ts";
import type { Mark, SeenMarks } from "../marks.ts";
import type { ReadyRow, Tables } from "./tables.ts";
import type { Transactions } from "./transactions.ts";

export function byAge(a: ReadyRow, b: ReadyRow): number {
  return a.priority - b.priority || a.transaction - b.transaction || a.number - b.number;
}

/** Its time is not over, and it stands behind the mark of its lane and priority. */
export function mayBeTaken(row: ReadyRow, now: Moment, marks: readonly Mark[]): boolean {
  const { until } = row.ready;
  const mark = marks.find(({ lane, priority }) => lane === row.lane && priority === row.priority);
  return (until === null || until > now) && (!mark || BigInt(row.transaction) >= mark.from);
}

export function seeMarks(
  tables: Tables,
  marks: readonly Mark[],
  { oldest, incarnation }: Pick<Transactions, "oldest" | "incarnation">,
): SeenMarks {
  return {
    marks: marks.map(({ lane, priority, from }) => {
      const numbers = tables.ready
        .where("lane", lane)
        .filter((row) => row.priority === priority && BigInt(row.transaction) >= from)
        .map(({ transaction }) => transaction);
      return { lane, priority, first: numbers.length > 0 ? BigInt(Math.min(...numbers)) : null };
    }),
    oldest: BigInt(oldest()),
    incarnation: String(incarnation()),
  };
}
