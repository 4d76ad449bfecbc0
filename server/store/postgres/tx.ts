// The transaction of the contract on PostgreSQL: locks and loads, then writes and claims.
import type { EndedAttempt } from "../../core/model/attempt.ts";
import { endedTasksOf } from "../page-reads.ts";
import type { TakenPartition } from "../partition-session.ts";
import type {
  AttemptKey,
  KeyHolder,
  KeyReservation,
  RunId,
  TransactOptions,
  Tx,
} from "../store.ts";
import { attemptsAt } from "./attempts-at.ts";
import { writeAudit } from "./audit.ts";
import { takeProbes } from "./circuits.ts";
import { columns } from "./columns.ts";
import { rewriteDerived } from "./consistency.ts";
import type { EmptyLanes } from "./empty-lanes.ts";
import { loadFacts, stepsRead } from "./facts.ts";
import { loadItemOutputs } from "./item-outputs.ts";
import { laneQuestionsOf } from "./lane-questions.ts";
import { loadMessages } from "./messages.ts";
import type { PageCache } from "./page-cache.ts";
import { createPages, type Pages } from "./pages.ts";
import { loadDecisions, loadEscalations, loadSignals } from "./people.ts";
import { permitsOf } from "./permits.ts";
import { lockShares, writeShareBuckets } from "./queue-shares.ts";
import { lockQueues, writeBuckets } from "./queues.ts";
import { createReadyRows } from "./ready-rows.ts";
import { schedulesLockedBy } from "./schedules.ts";
import type { Query, Transact, Transaction } from "./transaction.ts";
import { insertRuns, writePasses } from "./write.ts";

interface OpenTx {
  readonly tx: Tx;
  /** The transaction has committed. */
  committed(): void;
}

/** What the process knows of pages and lanes: guesses, which the database confirms or refuses. */
interface Known {
  readonly cache: PageCache;
  readonly emptyLanes: EmptyLanes;
  /** There are several shards, and each claims within its share of the limits of queues. */
  readonly hasShares: boolean;
}

/** Once it has committed, the cache has the pages that it has written. */
export async function transactOn<T>(
  transact: Transact,
  known: Known,
  options: TransactOptions,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  const { committed, result } = await transact(options, async (transaction) => {
    const open = createTx(transaction, known);
    const done = await work(open.tx);
    void open.tx.placeReady();
    return { committed: open.committed, result: done };
  });
  committed();
  return result;
}

function createTx(transaction: Transaction, { cache, emptyLanes, hasShares }: Known): OpenTx {
  const { query, send } = transaction;
  const pages = createPages(transaction, cache);
  const ready = createReadyRows(transaction, pages, emptyLanes);
  const tx: Tx = Object.freeze({
    get now() {
      return transaction.now;
    },
    holdWriter: ({ node, number }, taken) =>
      query<TakenPartition>("hold_writer", {
        node,
        number,
        ...columns(taken, { partition: (one) => one.partition, epoch: (one) => one.epoch }),
      }),
    reserveKeys: (keys) => reserveKeys(query, keys),
    lockRuns: pages.lockRuns,
    endedRuns: pages.lockEnded,
    loadSteps: pages.loadSteps,
    lastHeartbeats: async (sessions) => {
      const rows = await query<{ session: string; last_heartbeat_at: number | null }>(
        "last_heartbeats",
        { sessions },
      );
      return new Map(
        rows.flatMap(({ session, last_heartbeat_at: at }) => (at === null ? [] : [[session, at]])),
      );
    },
    loadAttempts: (keys) => loadAttempts(query, pages, keys),
    loadFacts: (wanted) => loadFacts(query, wanted, stepsRead(query, cache)),
    loadSignals: (runs) => loadSignals(query, runs),
    loadDecisions: (runs) => loadDecisions(query, runs),
    loadEscalations: (wanted) => loadEscalations(query, wanted),
    loadItemOutputs: (maps) => loadItemOutputs(query, maps),
    loadMessages: (runs) => loadMessages(query, runs),
    ...permitsOf(transaction),
    ...laneQuestionsOf(transaction),
    ...schedulesLockedBy(transaction),
    insertRuns: async (runs) => {
      pages.begin(runs);
      insertRuns(send, runs);
    },
    recordAudit: async (entries) => writeAudit(send, entries),
    rewriteDerived: async (runs) => rewriteDerived(query, cache, await pages.lockRuns(runs, true)),
    write: (passes) => writePasses(transaction, { pages, emptyLanes }, passes),
    lockReady: ready.lockReady,
    // The count is without the tasks that have ended in this transaction.
    lockQueues: (queues) => (hasShares ? lockShares : lockQueues)(query, queues),
    writeBuckets: async (queues) => (hasShares ? writeShareBuckets : writeBuckets)(send, queues),
    takeProbes: (probes) => takeProbes(query, probes),
    grant: ready.grant,
    placeReady: ready.placeReady,
  } satisfies Tx);
  return { tx, committed: pages.committed };
}

type KeyRow = Readonly<{ namespace_id: number; key: string }>;

const nameOf = ({ namespaceId, key }: Pick<KeyReservation, "namespaceId" | "key">): string =>
  `${namespaceId}/${key}`;

const namesOf = (rows: readonly KeyRow[]): ReadonlySet<string> =>
  new Set(rows.map(({ namespace_id: namespaceId, key }) => nameOf({ namespaceId, key })));

async function reserveKeys(
  query: Query,
  keys: readonly KeyReservation[],
): Promise<readonly KeyHolder[]> {
  const mine = await reserve(query, keys);
  const known = keys.filter((key) => !mine.has(nameOf(key)));
  const freed = known.length === 0 ? [] : await reserveFreed(query, known);
  const isMine = new Set([...mine, ...freed]);
  const held = keys.filter((key) => !isMine.has(nameOf(key)));
  const holders =
    held.length === 0
      ? []
      : await query<{ namespace_id: number; key: string; run_id: string; digest: string }>(
          "key_holders",
          keyColumns(held),
        );
  return [
    ...keys
      .filter((key) => isMine.has(`${key.namespaceId}/${key.key}`))
      .map((key) => ({ ...key, mine: true })),
    ...holders.map((row) => ({
      namespaceId: row.namespace_id,
      key: row.key,
      runId: row.run_id,
      digest: row.digest,
      mine: false,
    })),
  ];
}

/** Returns the names of those that this transaction has now. */
async function reserve(
  query: Query,
  keys: readonly KeyReservation[],
): Promise<ReadonlySet<string>> {
  const rows = await query<KeyRow>(
    "reserve_keys",
    columns(keys, {
      namespace_id: (key) => key.namespaceId,
      key: (key) => key.key,
      run_id: (key) => key.runId,
      digest: (key) => key.digest,
      keep: (key) => key.keepMs,
    }),
  );
  return namesOf(rows);
}

/** Once those of them are free that have expired. */
async function reserveFreed(
  query: Query,
  keys: readonly KeyReservation[],
): Promise<ReadonlySet<string>> {
  const [, mine] = await Promise.all([query("free_keys", keyColumns(keys)), reserve(query, keys)]);
  return mine;
}

function keyColumns(keys: readonly KeyReservation[]) {
  return columns(keys, { namespace_id: (key) => key.namespaceId, key: (key) => key.key });
}

async function loadAttempts(
  query: Query,
  pages: Pages,
  keys: readonly AttemptKey[],
): Promise<ReadonlyMap<RunId, readonly EndedAttempt[]>> {
  const steps = await pages.steps(keys);
  const read = keys.flatMap((key, at) => {
    const of = steps[at];
    return of ? [{ ...key, of }] : [];
  });
  const attempts = await attemptsAt(query, read);
  const found = new Map<RunId, EndedAttempt[]>();
  for (const { runId, step, fence, of } of read) {
    const ended = endedTasksOf(step, attempts(runId, of), fence);
    if (ended.length > 0) found.set(runId, [...(found.get(runId) ?? []), ...ended]);
  }
  return found;
}
