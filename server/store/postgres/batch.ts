// A batch of passes as the rows of one statement a table, sent without waiting for it, and the
// guard that each row is met.
import type { RowsOfEffects } from "../rows-of-effects.ts";
import type { RunHead } from "../store.ts";
import { columns, type Value } from "./columns.ts";
import type { Send } from "./transaction.ts";

export interface Of<Row> {
  readonly head: RunHead;
  readonly actor: RowsOfEffects["actor"];
  readonly row: Row;
}

/** The rows of all changes, each with the run that it is of. */
export function ofEach<Row>(
  changes: readonly RowsOfEffects[],
  rows: (change: RowsOfEffects) => readonly Row[],
): readonly Of<Row>[] {
  return changes.flatMap((change) =>
    rows(change).map((row) => ({ head: change.head, actor: change.actor, row })),
  );
}

/** The statement for all rows, if there are any. */
export function writeRows<Row>(
  send: Send,
  name: string,
  rows: readonly Row[],
  ...of: readonly ((row: Row) => Value)[]
): void {
  if (rows.length > 0) void send(name, columns(rows, ...of));
}

/**
 * The guard of each row: a statement that found fewer rows than the pass was decided by has met a
 * broken invariant, and the batch changes nothing.
 */
export function writeEach<Row>(
  send: Send,
  name: string,
  rows: readonly Row[],
  ...of: readonly ((row: Row) => Value)[]
): void {
  if (rows.length === 0) return;
  void send(name, columns(rows, ...of), (met) => {
    if (met.length !== rows.length)
      throw new Error(`${name} should have met ${rows.length} rows and met ${met.length}`);
  });
}
