// Learned durations: rows are locked, added to and written once a minute.
import type { Durations, SeenDurations } from "../durations.ts";
import { addSamples, quantilesOf, type StoredSketch } from "../sketch.ts";
import { columns } from "./columns.ts";
import type { Query, Transact } from "./transaction.ts";

interface StoredRow {
  readonly definition_id: number;
  readonly step_no: number;
  /** null: this transaction has created the row. */
  readonly recent: string | null;
  readonly older: string | null;
}

export function createDurations(query: Query, transact: Transact): Durations {
  return Object.freeze({
    async add(seen: readonly SeenDurations[]) {
      if (seen.length === 0) return;
      await transact({}, (transaction) => addAll(transaction.query, seen));
    },
    async learned(definitionIds: readonly number[]) {
      if (definitionIds.length === 0) return [];
      const rows = await query<StoredRow>("learned_durations", { definition_ids: definitionIds });
      return rows.flatMap((row) => {
        const stored = storedOf(row);
        const { definition_id: definitionId, step_no: step } = row;
        return stored ? [{ definitionId, step, ...quantilesOf(stored) }] : [];
      });
    },
  } satisfies Durations);
}

async function addAll(query: Query, seen: readonly SeenDurations[]): Promise<void> {
  const definitionId = (one: SeenDurations) => one.definitionId;
  const step = (one: SeenDurations) => one.step;
  await query("open_durations", columns(seen, { definition_id: definitionId, step_no: step }));
  const rows = await query<StoredRow>(
    "lock_durations",
    columns(seen, { definition_id: definitionId, step_no: step }),
  );
  const more = new Map(seen.map((one) => [keyOf(one.definitionId, one.step), one.sketch]));
  const stored = rows.flatMap((row) => {
    const sketch = more.get(keyOf(row.definition_id, row.step_no));
    return sketch === undefined ? [] : [{ row, now: addSamples(storedOf(row), sketch) }];
  });
  await query(
    "keep_durations",
    columns(stored, {
      definition_id: ({ row }) => row.definition_id,
      step_no: ({ row }) => row.step_no,
      recent: ({ now }) => now.recent,
      older: ({ now }) => now.older,
    }),
  );
}

function storedOf({ recent, older }: StoredRow): StoredSketch | null {
  return recent === null ? null : { recent, older };
}

function keyOf(definitionId: number, step: number): string {
  return `${definitionId}/${step}`;
}
