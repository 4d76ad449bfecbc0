// Watermarks: where the ready rows of a lane begin. While an old snapshot is open, claimed rows
// leave dead entries behind that every claim would scan again; a watermark lets it begin behind
// them.
//
// Ready rows are in the order of the transactions that made them ready, and a transaction that
// began earlier may commit later. So a watermark never passes a transaction that still writes, nor
// a row that a plain read sees, locked or not: all rows before it are gone for good.

/** Rows of a lane and priority before `from`, the number of a transaction, are gone. */
export interface Watermark {
  readonly lane: number;
  readonly priority: number;
  readonly from: bigint;
}

export interface SeenWatermarks {
  readonly watermarks: readonly {
    readonly lane: number;
    readonly priority: number;
    /** The transaction of the first row from the watermark on; null: there is none. */
    readonly first: bigint | null;
  }[];
  /** The oldest transaction that had not ended, in the same snapshot. */
  readonly oldest: bigint;
  /** Numbers of transactions are given out again after a crash or a fail-over. */
  readonly incarnation: string;
}

/** Rows of a lane from a priority and transaction on, up to the last priority. */
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

/** All rows of each lane except those before its watermarks, in the order of dispatch. */
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
