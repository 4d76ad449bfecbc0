// The engine's half of the state store in memory (EngineStore of ../store.ts): for simulation,
// the simulator and fast tests. What only people read is in PostgreSQL alone.
//
//   tables.ts          the rows        transactions.ts   one at a time, undone if they fail
//   transaction.ts     Tx              write.ts          a pass, row by row
//   catalogue.ts       definitions and lanes             partitions.ts   owners of partitions
//   queues.ts          pauses and limits of queues       schedules.ts    schedules and occurrences
//   circuits.ts        circuits and cordons              rows.ts         what a simulation reads
//
// Time is given and does not change within a transaction. Nothing here waits for a timer.
//
// A store may be several shards: each has transactions, sessions and rows of its own, and all read
// the tables that they share (shared-changes.ts). What asks a shard about a run or a partition of
// another one throws, so a caller that was sent to the wrong shard is found out.
import type { EpochMs } from "../../core/model/attempt.ts";
import { type Outside, WHOLE_RANGE } from "../due.ts";
import type { Reads } from "../reads.ts";
import { RETENTION_DEFAULT } from "../retention.ts";
import { type Shards, shardsOf } from "../shards.ts";
import type { EngineStore, TransactOptions, Tx } from "../store.ts";
import { STORE_TIMES, type StoreTimes } from "../store-times.ts";
import { markAgents, markPolled, markSilent } from "./agents.ts";
import { createCatalogue } from "./catalogue.ts";
import { createCircuits, laneCircuit } from "./circuits.ts";
import { differingRuns } from "./consistency.ts";
import {
  dueRows,
  type LaneFacts,
  outsideOf,
  pollQuery,
  runLiveness,
  undelivered,
} from "./due-scan.ts";
import { createDurations } from "./durations.ts";
import { factsOf, taskFacts } from "./facts.ts";
import { storeHeartbeats } from "./heartbeats.ts";
import { forgetOld } from "./housekeeping.ts";
import { createNamespaces } from "./namespaces.ts";
import { createOutbox } from "./outbox.ts";
import { overdue } from "./overdue.ts";
import { createPartitions, ownsStill } from "./partitions.ts";
import { createPins } from "./pins.ts";
import { createQueues, lanePause } from "./queues.ts";
import { changedInputs, findRun, runDetail, runItems, tracedRuns } from "./reads.ts";
import { createStoredRows, type StoredRows } from "./rows.ts";
import { createSchedules } from "./schedules.ts";
import {
  createSharedChanges,
  noSharedChanges,
  type ShardRows,
  type SharedChanges,
} from "./shared-changes.ts";
import {
  createHomeTables,
  createSharedTables,
  createTables,
  expectHere,
  expectRunHere,
  type Tables,
} from "./tables.ts";
import { openTransaction, type TransactionWorld } from "./transaction.ts";
import {
  type ChangedRow,
  createTransactions,
  type OpenTransaction,
  type Transactions,
} from "./transactions.ts";
import { createTriggers } from "./triggers.ts";
import { claimEscalation, recordIntervention } from "./write.ts";

interface MemoryStoreOptions {
  /** The database's time, in milliseconds. It may jump. */
  now(): EpochMs;
  /**
   * Measures the silence of sessions, in milliseconds. Left out: the database's time, which then
   * must never jump.
   */
  elapsedMs?(): number;
  /** Values that are left out are those of STORE_TIMES. */
  readonly times?: Partial<StoreTimes>;
}

export interface MemoryStore extends EngineStore {
  readonly rows: StoredRows;
  /** A number for a transaction that runs later: others may begin after it and commit before. */
  begin(): OpenTransaction;
  transact<T>(
    options: TransactOptions,
    work: (tx: Tx) => Promise<T>,
    open?: OpenTransaction,
  ): Promise<T>;
  /**
   * Simulates a fail-over to a standby that had not received the last transactions, at most this
   * many: they are undone. Their ids are not given out again. Returns what they had changed.
   */
  simulateFailover(transactions: number): Promise<readonly ChangedRow[]>;
  /** What is committed by now can no longer be lost by `simulateFailover`. */
  makeDurable(): void;
  /** The `outside` of `dueRows`, without a scan of timers. */
  outside(partitions: readonly number[]): Promise<readonly Outside[]>;
}

/** What the calls of the store share. */
interface Memory {
  readonly tables: Tables;
  readonly now: () => EpochMs;
  readonly run: Transactions["run"];
  readonly world: TransactionWorld;
  readonly liveness: LaneFacts;
}

export function createMemoryStore(options: MemoryStoreOptions): MemoryStore {
  return createMemoryShards(options, 1).home;
}

/** Their number is a power of 2. */
export function createMemoryShards(
  options: MemoryStoreOptions,
  count: number,
): Shards<MemoryStore> {
  const all = shardsOf(Array.from({ length: count }, () => createTransactions()));
  // Each node has what is shared, so no node loses it alone.
  const shared = count === 1 ? all.home : createTransactions();
  const common = {
    ...createSharedTables(shared.journal),
    ...createHomeTables(all.home.journal),
  };
  const rows = all.map((transactions, number): ShardRows => {
    const tables = createTables(transactions.journal, { number, count }, common);
    return { number, tables, transactions };
  });
  const changes = createSharedChanges(shared, rows.all);
  return rows.map((own) =>
    createShard(options, own, own.number === 0 ? changes : noSharedChanges(own.number)),
  );
}

function createShard(
  options: MemoryStoreOptions,
  { tables, transactions }: ShardRows,
  shared: SharedChanges,
): MemoryStore {
  const { now, elapsedMs = now } = options;
  const times = { ...STORE_TIMES, ...options.times };
  const { polledMs, ownerLostMs } = times;
  const catalogue = createCatalogue(tables, now, shared);
  const { namespaceOf, laneOf, isWorkflow, isVersion, regionNames } = catalogue;
  const { namespaceRows, setNamespace: set, forgetDefinitions } = catalogue;
  const namespaceName = (id: number): string => namespaceOf(id).name;
  const world = { tables, now, lanes: tables.lane.all, isWorkflow, namespaceOf, regionNames };
  const pauseOf = (lane: number) => lanePause(world, lane);
  const circuitOf = (lane: number) => laneCircuit(world, lane);
  const regions = () => [...regionNames().keys()];
  const clock = { elapsedMs, regions, ownerLostMs };
  const partitions = createPartitions(tables, transactions, clock);
  const { live } = partitions;
  const liveness = { pauseOf, laneOf, circuitOf, polledMs, regions: { tables, regionNames, live } };
  const { run, begin, simulateFailover, makeDurable } = transactions;
  const memory: Memory = { tables, now, run, world, liveness };
  // Every database has the default namespace.
  if (tables.shard.number === 0) void catalogue.calls.createNamespace("default");
  makeDurable();

  return Object.freeze({
    ...catalogue.calls,
    reads: readsOf(memory),
    rows: createStoredRows(tables, run),
    partitions,
    outbox: createOutbox({ tables, now, namespaceName }, transactions, shared),
    queues: createQueues(world, transactions, shared),
    pins: createPins({ ...world, ...catalogue.ofPins }, shared),
    schedules: createSchedules(world, transactions),
    triggers: createTriggers(world, transactions, shared),
    circuits: createCircuits(world, transactions, shared),
    durations: createDurations(tables, isVersion, transactions),
    namespaces: createNamespaces(
      { tables, now, isOnly: tables.shard.count === 1, namespaceRows, set, forgetDefinitions },
      transactions,
      shared,
    ),
    transact: (of, work, open) => transact(memory, of, work, open),
    incarnation: transactions.incarnation,
    onIncarnation: transactions.onIncarnation,
    ...callsAboutRuns(memory),
    ...callsOfAgents(memory),
    ...walksOf(memory),
    pollQuery: (asked) => run(() => pollQuery(tables, now(), asked, { pauseOf, transactions })),
    begin,
    simulateFailover,
    makeDurable,
    ready: () => run(() => undefined),
    close: async () => {
      partitions.close();
      await transactions.close();
    },
  } satisfies MemoryStore);
}

function transact<T>(
  { now, run, world }: Memory,
  { name }: TransactOptions,
  work: (tx: Tx) => Promise<T>,
  open?: OpenTransaction,
): Promise<T> {
  return run(async (transaction) => {
    const { tx, end } = openTransaction(world, { now: now(), transaction, name });
    try {
      return await work(tx);
    } finally {
      end();
    }
  }, open);
}

function readsOf(memory: Memory): Reads {
  const { tables, now, run, liveness } = memory;
  const about = aboutRuns(memory);
  return Object.freeze({
    findRun: (namespaceId, by) =>
      about("runId" in by ? [by] : [], () => findRun(tables, namespaceId, by)),
    runDetail: (runId, wanted) => about([{ runId }], () => runDetail(tables, runId, wanted)),
    runItems: (runId, page) => about([{ runId }], () => runItems(tables, runId, page)),
    tracedRuns: (runs) => run(() => tracedRuns(tables, runs)),
    changedInputs: (runId) => about([{ runId }], () => changedInputs(tables, runId)),
    runLiveness: (runId) => about([{ runId }], () => runLiveness(tables, now(), runId, liveness)),
    // Hosts are only shown, and this store does not keep them.
    hosts: async () => new Map(),
  } satisfies Reads);
}

/** A transaction that is about these runs. */
function aboutRuns({ tables, run }: Memory) {
  return <T>(runs: readonly { readonly runId: string }[], work: () => T): Promise<T> =>
    run(() => {
      for (const { runId } of runs) expectRunHere(tables, runId);
      return work();
    });
}

/** The same for partitions. */
function aboutPartitions({ tables, run }: Memory) {
  return <T>(partitions: readonly number[], work: () => T): Promise<T> =>
    run(() => {
      for (const partition of partitions) expectHere(tables, partition);
      return work();
    });
}

type CallsAboutRuns = Pick<
  EngineStore,
  "recordIntervention" | "claimEscalation" | "releaseEscalation" | "taskFacts" | "facts"
>;

function callsAboutRuns(memory: Memory): CallsAboutRuns {
  const { tables, now } = memory;
  const about = aboutRuns(memory);
  return {
    recordIntervention: (of, intervention, actor) =>
      about([of], () => {
        const owned = { partition: of.partition, epoch: actor.epoch };
        if (!ownsStill(tables, actor.node, owned)) return;
        recordIntervention(tables, of, { ...intervention, actedAt: now() }, actor);
      }),
    claimEscalation: (claim) => about([claim], () => claimEscalation(tables, now(), claim, false)),
    releaseEscalation: (claim) => about([claim], () => claimEscalation(tables, now(), claim, true)),
    taskFacts: (tasks) =>
      about(
        tasks.map(({ ready }) => ready),
        () => tasks.flatMap((task) => taskFacts(tables, task)),
      ),
    facts: (wanted) => about(wanted, () => factsOf(tables, wanted)),
  };
}

type CallsOfAgents = Pick<
  EngineStore,
  "heartbeat" | "undelivered" | "markPolled" | "markAgents" | "countAttempts" | "markSilent"
>;

/** What agents do, and what servers see of them. */
function callsOfAgents({ tables, now, run, world, liveness }: Memory): CallsOfAgents {
  return {
    heartbeat: (heartbeats) =>
      run((transaction) => {
        let number = 0;
        const nextNumber = () => number++;
        return storeHeartbeats({ tables, now: now(), transaction, nextNumber, world }, heartbeats);
      }),
    undelivered: (lost) => run(() => undelivered(tables, lost, liveness.laneOf)),
    markPolled: (node, lanes) => run(() => markPolled(tables, now(), node, lanes)),
    markAgents: (_server, seen) => run(() => markAgents(tables, now(), seen)),
    // Only the lists of operators read them, and this store has none.
    countAttempts: async () => undefined,
    markSilent: (silent) => run(() => markSilent(tables, now(), silent)),
  };
}

type Walks = Pick<MemoryStore, "differingRuns" | "forgetOld" | "dueRows" | "outside" | "overdue">;

/** What supervisors walk through, partition by partition or row by row. */
function walksOf(memory: Memory): Walks {
  const { tables, now, run, liveness } = memory;
  const within = aboutPartitions(memory);
  return {
    differingRuns: (of, after, limit) => within(of, () => differingRuns(tables, of, after, limit)),
    forgetOld: (rowsMax, retention) =>
      run(() => forgetOld(tables, now(), rowsMax, { ...RETENTION_DEFAULT, ...retention })),
    dueRows: (of, limit, range = WHOLE_RANGE) =>
      within(of, () => dueRows(tables, now(), { partitions: of, limit, ...range }, liveness)),
    outside: (of) => within(of, () => outsideOf(tables, now(), of)),
    overdue: (of, byMs, since = null) =>
      within(of, () => overdue(tables, now(), { partitions: of, byMs, since }, liveness.regions)),
  };
}
