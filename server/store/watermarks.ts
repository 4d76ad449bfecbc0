// Where the ready rows of a lane begin. While an old snapshot is open, claimed rows leave dead
// entries behind that every claim would walk past again; a mark lets it begin behind them.
//
// Rows stand in the order of the transactions that made them ready, and one that began earlier may
// commit later. So a mark never passes a transaction that still writes, nor a row that a plain read
// sees, be it held by somebody or not: all before it are gone for good.

/** Rows of a lane and priority that stand before `from`, a transaction's number, are gone. */
export interface Watermark {
  readonly lane: number;
  readonly priority: number;
  readonly from: bigint;
}

export interface SeenWatermarks {
  readonly watermarks: readonly {
    readonly lane: number;
    readonly priority: number;
    /** The transaction of the first row from the mark on; null: there is none. */
    readonly first: bigint | null;
  }[];
  /** The oldest transaction that had not ended in the same instant. */
  readonly oldest: bigint;
  /** Numbers of transactions are given out again after a crash or a fail-over. */
  readonly incarnation: string;
}

/** Rows of a lane from a place on, up to a priority. */
export interface LaneRange {
  readonly lane: number;
  readonly priority: number;
  readonly from: bigint;
  readonly lastPriority: number;
}

const LAST_PRIORITY = 32_767;

export function watermarkAfter(first: bigint | null, oldest: bigint): bigint {
  return first !== null && first < oldest ? first : oldest;
}

/** Of each lane all rows but those before its marks, in the order in which they are handed out. */
export function rangesOf(
  lanes: readonly number[],
  marks: readonly Watermark[],
): readonly (readonly LaneRange[])[] {
  const byLane = Map.groupBy(marks, ({ lane }) => lane);
  return lanes.map((lane) => {
    const own = (byLane.get(lane) ?? []).sort((a, b) => a.priority - b.priority);
    const begins = [{ priority: 0, from: 0n }, ...own];
    return begins.map(({ priority, from }, place) => {
      const next = begins[place + 1];
      return { lane, priority, from, lastPriority: next ? next.priority - 1 : LAST_PRIORITY };
    });
  });
}
