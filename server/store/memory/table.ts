// A table: rows by key and by index, each change taken back if its transaction fails.
// Rows are values: a change replaces the row. To expect a row that is not there, or to insert one
// that is, breaks an invariant and throws, as a row guard or a unique key does in SQL.
import type { Journal } from "./transactions.ts";

export interface Table<Row, Index extends string> {
  get(key: string): Row | undefined;
  /** The row, which must be there. */
  expect(key: string): Row;
  insert(row: Row): void;
  /** Inserts the row, or replaces the one with its key. */
  put(row: Row): void;
  /** Removes the row, which must be there. */
  remove(key: string): Row;
  removeRow(row: Row): void;
  all(): Row[];
  /** Rows with this value of an index, in no order that means anything. */
  where(index: Index, value: string | number): Row[];
}

export interface TableShape<Row, Index extends string> {
  readonly name: string;
  readonly key: (row: Row) => string;
  readonly indexes: Readonly<Record<Index, (row: Row) => string | number>>;
}

export function createTable<Row, Index extends string>(
  journal: Journal,
  { name, key, indexes }: TableShape<Row, Index>,
): Table<Row, Index> {
  const rows = new Map<string, Row>();
  const found = new Map<string, Map<string, Row>>();
  const indexed = (row: Row): string[] =>
    Object.keys(indexes).map((index) => `${index}=${indexes[index as Index](row)}`);

  function replace(at: string, row: Row | undefined): void {
    const before = rows.get(at);
    if (before !== undefined) {
      rows.delete(at);
      for (const value of indexed(before)) {
        const group = found.get(value);
        group?.delete(at);
        if (group?.size === 0) found.delete(value);
      }
    }
    if (row === undefined) return;
    rows.set(at, row);
    for (const value of indexed(row)) {
      const group = found.get(value) ?? new Map<string, Row>();
      found.set(value, group.set(at, row));
    }
  }

  function change(at: string, row: Row | undefined): void {
    const before = rows.get(at);
    journal.note(() => replace(at, before));
    replace(at, row);
  }

  function expect(at: string): Row {
    const row = rows.get(at);
    if (row === undefined) throw new Error(`${name} has no row ${at}, which a change expects`);
    return row;
  }

  return Object.freeze({
    get: (at: string) => rows.get(at),
    expect,
    insert: (row: Row) => {
      const at = key(row);
      if (rows.has(at)) throw new Error(`${name} already has a row ${at}`);
      change(at, row);
    },
    put: (row: Row) => change(key(row), row),
    removeRow: (row: Row) => {
      const at = key(row);
      expect(at);
      change(at, undefined);
    },
    all: () => [...rows.values()],
    remove: (at: string) => {
      const row = expect(at);
      change(at, undefined);
      return row;
    },
    where: (index: Index, value: string | number) => [
      ...(found.get(`${index}=${value}`)?.values() ?? []),
    ],
  });
}

/** A table whose rows are numbered in the order in which they came. */
export type NumberedTable<Row, Index extends string> = Table<Row, Index> & { next(): number };

export function numbered<Row, Index extends string>(
  table: Table<Row, Index>,
): NumberedTable<Row, Index> {
  let count = 0;
  return Object.freeze({ ...table, next: () => ++count });
}
