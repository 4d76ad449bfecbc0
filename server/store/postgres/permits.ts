// Permits of concurrency keys as rows, under the locks of their keys.
import type { EpochMs } from "../../core/model/attempt.ts";
import type { Concurrency, Permit, Permits } from "../../core/model/permits.ts";
import type { ConcurrencyKey, KeyHolder, PermitChange, RunId, Tx } from "../store.ts";
import { policies } from "./codes.ts";
import { columns, writeEach, writeRows } from "./columns.ts";
import type { Query, Send, Transaction } from "./transaction.ts";

/** Most waiting permits that are read: more than one batch can serve. */
const WAITERS_MAX = 501;

export function permitsOf({
  query,
  send,
}: Pick<Transaction, "query" | "send">): Pick<
  Tx,
  "concurrencyOf" | "lockPermits" | "writePermits" | "releaseKeys"
> {
  return {
    concurrencyOf: async (runs) => {
      const rows = await query<ConcurrencyRow & { run_id: RunId }>("concurrency_of_runs", {
        run_ids: runs,
      });
      return new Map(
        rows.flatMap((row) => {
          const concurrency = concurrencyOf(row);
          return concurrency ? [[row.run_id, concurrency] as const] : [];
        }),
      );
    },
    lockPermits: (keys) => lockPermits(query, keys),
    writePermits: async (changes) => writePermits(send, changes),
    releaseKeys: async (keys) => releaseKeys(send, keys),
  };
}

interface ConcurrencyRow {
  concurrency_key: string | null;
  concurrency_limit: number | null;
  concurrency_policy: number | null;
}

export function concurrencyOf(row: ConcurrencyRow): Concurrency | null {
  const { concurrency_key: key, concurrency_limit: limit, concurrency_policy: policy } = row;
  if (key === null || limit === null || policy === null) return null;
  return { key, limit, policy: policies.name(policy) };
}

interface PermitRow {
  namespace_id: number;
  key: string;
  run_id: RunId;
  max_holders: number;
  priority: number;
  since: EpochMs;
  holds: boolean;
  leaving: boolean;
}

/** The read is a statement of its own: it sees what the lock has waited for. */
async function lockPermits(
  query: Query,
  keys: readonly ConcurrencyKey[],
): Promise<readonly (ConcurrencyKey & { readonly permits: Permits })[]> {
  if (keys.length === 0) return [];
  const named = columns(keys, { namespace_id: (key) => key.namespaceId, key: (key) => key.key });
  await query("lock_concurrency_keys", named);
  const rows = await query<PermitRow>("permits_of_keys", { ...named, waiters_max: WAITERS_MAX });
  return keys.map((key) => ({
    ...key,
    permits: rows
      .filter((row) => row.namespace_id === key.namespaceId && row.key === key.key)
      .map(permitOf),
  }));
}

function permitOf(row: PermitRow): Permit {
  const { run_id: runId, max_holders: limit, priority, since, holds, leaving } = row;
  return { runId, limit, priority, since, holds, leaving };
}

function writePermits(send: Send, changes: readonly PermitChange[]): void {
  writeEach(
    send,
    "delete_permits",
    changes.filter(({ permit }) => permit === null),
    { run_ids: (row) => row.runId },
  );
  writeRows(
    send,
    "write_permits",
    changes.flatMap(({ permit, ...key }) => (permit ? [{ ...key, permit: permit }] : [])),
    {
      namespace_id: (row) => row.namespaceId,
      key: (row) => row.key,
      run_id: (row) => row.runId,
      max_holders: ({ permit }) => permit.limit,
      priority: ({ permit }) => permit.priority,
      since: ({ permit }) => permit.since,
      holds: ({ permit }) => permit.holds,
      leaving: ({ permit }) => permit.leaving,
    },
  );
}

function releaseKeys(
  send: Send,
  keys: readonly Pick<KeyHolder, "namespaceId" | "key" | "runId">[],
): void {
  writeRows(send, "release_keys", keys, {
    namespace_id: (row) => row.namespaceId,
    key: (row) => row.key,
    run_id: (row) => row.runId,
  });
}
