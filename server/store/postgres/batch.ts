// The rows of a batch of passes, written with one statement for each table that is sent and not
// waited for; and the guard that each row was met.
import type { RowsOfEffects } from "../rows-of-effects.ts";
import type { RunHead } from "../store.ts";
import { type Columns, columns } from "./columns.ts";
import type { Send } from "./transaction.ts";

interface Of<Row> {
  readonly head: RunHead;
  readonly actor: RowsOfEffects["actor"];
  readonly row: Row;
}

/** The rows of all changes, each with its run. */
export function ofEach<Row>(
  changes: readonly RowsOfEffects[],
  rows: (change: RowsOfEffects) => readonly Row[],
): readonly Of<Row>[] {
  return changes.flatMap((change) =>
    rows(change).map((row) => ({ head: change.head, actor: change.actor, row })),
  );
}

/** Sends the statement for all rows, if there are any. */
export function writeRows<Row>(
  send: Send,
  name: string,
  rows: readonly Row[],
  of: Columns<Row>,
): void {
  if (rows.length > 0) void send(name, columns(rows, of));
}

/**
 * As `writeRows`, with a guard for each row: if the statement met fewer rows than the pass was
 * decided by, an invariant is broken, and the batch changes nothing.
 */
export function writeEach<Row>(
  send: Send,
  name: string,
  rows: readonly Row[],
  of: Columns<Row>,
): void {
  if (rows.length === 0) return;
  void send(name, columns(rows, of), (met) => {
    if (met.length !== rows.length)
      throw new Error(`${name} should have met ${rows.length} rows and met ${met.length}`);
  });
}
