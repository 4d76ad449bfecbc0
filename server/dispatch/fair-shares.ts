// How the rows of one claim are shared. Each namespace gets an equal part, or all that it wants if
// that is less; within a namespace, its lanes share in the same way. So a namespace with a hundred
// thousand tasks takes no turn from one with a single task, and a claim stays small.

export interface Demand {
  readonly lane: number;
  readonly namespaceId: number;
  /** Rows that the waiters of the lane could take; at least 1. */
  readonly rows: number;
}

/** Rows by lane: at least one each, even where the sum is then more than `rowsMax`. */
export function fairShares(
  demands: readonly Demand[],
  rowsMax: number,
): ReadonlyMap<number, number> {
  const namespaces = [...Map.groupBy(demands, ({ namespaceId }) => namespaceId).values()];
  const wanted = namespaces.map((of) => of.reduce((sum, { rows }) => sum + rows, 0));
  const given = fill(wanted, rowsMax);
  return new Map(
    namespaces.flatMap((of, place) => {
      const rows = fill(
        of.map((one) => one.rows),
        given[place] ?? 0,
      );
      return of.map(({ lane }, index) => [lane, Math.max(1, rows[index] ?? 0)] as const);
    }),
  );
}

/**
 * Equal parts, none larger than what is wanted. The remainder is shared by those that want more.
 */
function fill(wanted: readonly number[], total: number): readonly number[] {
  const given = wanted.map(() => 0);
  let left = total;
  const leastFirst = [...wanted.entries()].sort(([, a], [, b]) => a - b);
  for (const [taken, [place, wants]] of leastFirst.entries()) {
    const part = Math.min(wants, Math.floor(left / (leastFirst.length - taken)));
    given[place] = part;
    left -= part;
  }
  return given;
}
