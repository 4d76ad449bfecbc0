// The transactions that a fail-over has lost, in the form of the history.
import type { ChangedRow } from "../../server/store/memory/transactions.ts";
import type { LostTail } from "./history-facts.ts";

/** Tables of notifications about a run and of triggers: their loss does not change the run. */
const NOTIFICATION_TABLES: ReadonlySet<string> = new Set(["outbox", "delivery", "trigger_end"]);

/** `ofShard`: it was the tail of one shard of several. */
export function lostTail(changes: readonly ChangedRow[], ofShard: boolean): LostTail {
  const of = (...tables: readonly string[]) =>
    changes.filter(({ table }) => tables.includes(table));
  const runsOf = (some: readonly ChangedRow[]) =>
    distinct(some.flatMap(({ runId }) => runId ?? []));
  return {
    tables: distinct(changes.map(({ table }) => table)),
    runs: runsOf(changes.filter(({ table }) => !NOTIFICATION_TABLES.has(table))),
    allRuns: runsOf(changes),
    sessions: distinct(of("agent_session").map(({ key }) => key)),
    partitions: distinct(of("partition_lease").map(({ key }) => Number(key))),
    concurrencyKeys: distinct(of("permit").flatMap(({ indexed }) => indexed.map(concurrencyKey))),
    ...(ofShard && { keys: of("idempotency").map(({ key }) => key.slice(key.indexOf("/") + 1)) }),
  };
}

/** Of the index `key`, which names the namespace by its id before it. */
function concurrencyKey(indexed: string): string {
  return indexed.slice(indexed.indexOf("/") + 1);
}

function distinct<One>(all: readonly One[]): readonly One[] {
  return [...new Set(all)];
}
