// The store of a world: one or several shards in memory, and all of them together.
import { createPlaceOfSchedule } from "../../server/scheduler/cron/schedule-control.ts";
import { createPlaceOfKey } from "../../server/scheduler/run-id.ts";
import { type AllShards, allShards } from "../../server/store/all-shards.ts";
import { createMemoryShards, type MemoryStore } from "../../server/store/memory/memory-store.ts";
import type { StoredRows } from "../../server/store/memory/rows.ts";
import type { Shards } from "../../server/store/shards.ts";
import type { EngineStore } from "../../server/store/store.ts";

export interface SimulatedStore extends AllShards {
  readonly shards: Shards<MemoryStore>;
  readonly rows: StoredRows;
}

export interface StoreClocks {
  /** The database's time, of all shards. */
  readonly now: () => number;
  readonly elapsedMs: () => number;
}

export function createSimulatedStore(
  clocks: StoreClocks,
  partitions: readonly number[],
  count = 1,
): SimulatedStore {
  const shards = createMemoryShards(clocks, count);
  return { ...together(shards, partitions), shards, rows: rowsOf(shards) };
}

/** As a process calls all shards. */
export function together(shards: Shards<EngineStore>, partitions: readonly number[]): AllShards {
  return allShards(shards, createPlaceOfSchedule(createPlaceOfKey(partitions)));
}

function rowsOf({ all, home }: Shards<MemoryStore>): StoredRows {
  if (all.length === 1) return home.rows;
  const ofAll = async <Row>(
    read: (rows: StoredRows) => Promise<readonly Row[]>,
    order: (a: Row, b: Row) => number,
  ): Promise<readonly Row[]> =>
    (await Promise.all(all.map(({ rows }) => read(rows)))).flat().sort(order);
  return Object.freeze({
    runs: (namespaceId) =>
      ofAll(
        (rows) => rows.runs(namespaceId),
        (a, b) => (a.runId < b.runId ? -1 : 1),
      ),
    openEscalations: (namespaceId) =>
      ofAll(
        (rows) => rows.openEscalations(namespaceId),
        (a, b) => (a.runId === b.runId ? a.n - b.n : a.runId < b.runId ? 1 : -1),
      ),
    refusals: (namespaceId) =>
      ofAll(
        (rows) => rows.refusals(namespaceId),
        (a, b) => b.lastAt - a.lastAt,
      ),
    deliveries: (namespaceId) =>
      ofAll(
        (rows) => rows.deliveries(namespaceId),
        (a, b) => b.createdAt - a.createdAt,
      ),
    queues: home.rows.queues,
  } satisfies StoredRows);
}
