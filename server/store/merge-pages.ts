// What several shards answer to one question, as one answer.

export type Compare<T> = (one: T, other: T) => number;

/** Pages of one order as one page, of at most `limit` rows. */
export function mergePages<T>(
  pages: readonly (readonly T[])[],
  compare: Compare<T>,
  limit = Number.POSITIVE_INFINITY,
): readonly T[] {
  return pages.flat().sort(compare).slice(0, limit);
}

/** Rows of one key become one row, at the place of the first. */
export function mergeRows<T>(
  rows: Iterable<T>,
  keyOf: (row: T) => string,
  merge: (one: T, other: T) => T,
): readonly T[] {
  const merged = new Map<string, T>();
  for (const row of rows) {
    const key = keyOf(row);
    const found = merged.get(key);
    merged.set(key, found === undefined ? row : merge(found, row));
  }
  return [...merged.values()];
}

/** The sum for each key. */
export function sumByKey<K>(counts: readonly ReadonlyMap<K, number>[]): ReadonlyMap<K, number> {
  const sums = new Map<K, number>();
  for (const [key, count] of counts.flatMap((of) => [...of]))
    sums.set(key, (sums.get(key) ?? 0) + count);
  return sums;
}

export function sumOf<T>(rows: readonly T[], count: (row: T) => number): number {
  return rows.reduce((sum, row) => sum + count(row), 0);
}

/** The least; null counts as none. */
export function earliest(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other);
}

/** The greatest; null counts as none. */
export function latest(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.max(one, other);
}

/** By the bytes of UTF-8 and by numbers, as PostgreSQL orders with collation "C". */
export function byKeys<T>(keysOf: (row: T) => readonly (string | number)[]): Compare<T> {
  return (one, other) => {
    const others = keysOf(other);
    for (const [at, key] of keysOf(one).entries()) {
      const order = compareKeys(key, others[at] ?? key);
      if (order !== 0) return order;
    }
    return 0;
  };
}

/** The reverse of an order. */
export function descending<T>(compare: Compare<T>): Compare<T> {
  return (one, other) => compare(other, one);
}

function compareKeys(one: string | number, other: string | number): number {
  if (typeof one === "number" && typeof other === "number") return one - other;
  return Buffer.compare(Buffer.from(String(one)), Buffer.from(String(other)));
}
