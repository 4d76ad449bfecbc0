// How the rows of one claim are shared: each namespace gets as much as any other, or all that it
// wants; and of that each of its lanes. So a namespace with a hundred thousand tasks takes no turn
// of one that has a single one, and a claim stays small.

export interface Demand {
  readonly lane: number;
  readonly namespaceId: number;
  /** Rows that its waiters could take; at least 1. */
  readonly rows: number;
}

/** Rows by lane; at least one each, even where that makes more than `rowsMax`. */
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

/** Equal parts, to none more than it wants: what it leaves is shared by those that want more. */
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
