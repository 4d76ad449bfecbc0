// A table: rows by key and by index. Each change is taken back if its transaction fails. Rows are
// values: a change replaces the row. To expect a row that does not exist, or to insert one that
// does, breaks an invariant and throws, as a row guard or a unique key does in SQL.
import type { Journal } from "./transactions.ts";

export interface Table<Row, Index extends string> {
  get(key: string): Row | undefined;
  /** The row, which must exist. */
  expect(key: string): Row;
  insert(row: Row): void;
  /** Inserts the row, or replaces the one with its key. */
  put(row: Row): void;
  /** Removes the row, which must exist. */
  remove(key: string): Row;
  removeRow(row: Row): void;
  all(): Row[];
  /** Rows with this value of an index, in no particular order. */
  where(index: Index, value: string | number): Row[];
}

/** null: an index leaves the row out. */
type IndexOf<Row> = (row: Row) => string | number | null;

interface TableShape<Row, Index extends string> {
  readonly name: string;
  readonly key: (row: Row) => string;
  readonly indexes: Readonly<Record<Index, IndexOf<Row>>>;
}

interface State<Row> {
  readonly journal: Journal;
  readonly name: string;
  readonly rows: Map<string, Row>;
  readonly indexes: ReadonlyMap<string, RowIndex<Row>>;
  /** The same indexes: each change puts its row into all of them. */
  readonly all: readonly RowIndex<Row>[];
}

export function createTable<Row, Index extends string>(
  journal: Journal,
  { name, key, indexes: keys }: TableShape<Row, Index>,
): Table<Row, Index> {
  const indexes = new Map<string, RowIndex<Row>>();
  for (const [index, keyOf] of Object.entries<IndexOf<Row>>(keys))
    indexes.set(index, createIndex(keyOf));
  const rows = new Map<string, Row>();
  const state: State<Row> = { journal, name, rows, indexes, all: [...indexes.values()] };
  return Object.freeze({
    get: (at: string) => rows.get(at),
    expect: (at: string) => expect(state, at),
    insert: (row: Row) => {
      const at = key(row);
      if (rows.has(at)) throw new Error(`${name} already has a row ${at}`);
      change(state, at, row);
    },
    put: (row: Row) => change(state, key(row), row),
    removeRow: (row: Row) => void remove(state, key(row)),
    all: () => [...rows.values()],
    remove: (at: string) => remove(state, at),
    where: (index: Index, value: string | number) => indexes.get(index)?.where(value) ?? [],
  });
}

function expect<Row>({ name, rows }: State<Row>, at: string): Row {
  const row = rows.get(at);
  if (row === undefined) throw new Error(`${name} has no row ${at}, which a change expects`);
  return row;
}

function remove<Row>(state: State<Row>, at: string): Row {
  const row = expect(state, at);
  change(state, at, undefined);
  return row;
}

/** `row` undefined: the row is removed. */
function change<Row>(state: State<Row>, at: string, row: Row | undefined): void {
  const { journal, name, rows, indexes } = state;
  const before = rows.get(at);
  const changed = row ?? before;
  journal.note(
    () => replace(state, at, before),
    () => ({
      table: name,
      key: at,
      isNew: before === undefined,
      indexed: changed === undefined ? [] : indexed(indexes, changed),
      runId: runOf(changed),
    }),
  );
  replace(state, at, row);
}

function replace<Row>({ rows, all }: State<Row>, at: string, row: Row | undefined): void {
  const before = rows.get(at);
  if (before !== undefined) {
    rows.delete(at);
    for (const index of all) index.remove(at, before);
  }
  if (row === undefined) return;
  rows.set(at, row);
  for (const index of all) index.put(at, row);
}

/** Its values by index, as `index=value`. */
function indexed<Row>(indexes: State<Row>["indexes"], row: Row): string[] {
  return [...indexes].flatMap(([name, { keyOf }]) => {
    const value = keyOf(row);
    return value === null ? [] : [`${name}=${value}`];
  });
}

interface RowIndex<Row> {
  readonly keyOf: IndexOf<Row>;
  put(at: string, row: Row): void;
  remove(at: string, row: Row): void;
  where(value: string | number): Row[];
}

function createIndex<Row>(keyOf: IndexOf<Row>): RowIndex<Row> {
  const groups = new Map<string | number, Map<string, Row>>();
  return {
    keyOf,
    put(at, row) {
      const value = keyOf(row);
      if (value === null) return;
      const group = groups.get(value);
      if (group) group.set(at, row);
      else groups.set(value, new Map([[at, row]]));
    },
    remove(at, row) {
      const value = keyOf(row);
      if (value === null) return;
      const group = groups.get(value);
      group?.delete(at);
      if (group?.size === 0) groups.delete(value);
    },
    where(value) {
      const group = groups.get(value);
      return group ? [...group.values()] : [];
    },
  };
}

function runOf(row: unknown): string | null {
  const isOfRun = typeof row === "object" && row !== null && "runId" in row;
  return isOfRun && typeof row.runId === "string" ? row.runId : null;
}

/** A table whose rows are numbered in the order of their creation. */
export type NumberedTable<Row, Index extends string> = Table<Row, Index> & { next(): number };

export function numbered<Row, Index extends string>(
  table: Table<Row, Index>,
): NumberedTable<Row, Index> {
  let count = 0;
  return Object.freeze({ ...table, next: () => ++count });
}
