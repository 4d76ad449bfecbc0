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
import type { EpochMs } from "../../core/model/attempt.ts";
import { type Outside, WHOLE_RANGE } from "../due.ts";
import type { Reads } from "../reads.ts";
import { RETENTION_DEFAULT } from "../retention.ts";
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
import { createTables, type Tables } from "./tables.ts";
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
  const { now, elapsedMs = now } = options;
  const times = { ...STORE_TIMES, ...options.times };
  const { polledMs, ownerLostMs } = times;
  const transactions = createTransactions();
  const tables = createTables(transactions.journal);
  const catalogue = createCatalogue(tables, now, transactions);
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
  makeDurable();

  return Object.freeze({
    ...catalogue.calls,
    reads: readsOf(memory),
    rows: createStoredRows(tables, run),
    partitions,
    outbox: createOutbox({ tables, now, namespaceName }, transactions),
    queues: createQueues(world, transactions),
    pins: createPins({ ...world, ...catalogue.ofPins }, transactions),
    schedules: createSchedules(world, transactions),
    triggers: createTriggers(world, transactions),
    circuits: createCircuits(world, transactions),
    durations: createDurations(tables, isVersion, transactions),
    namespaces: createNamespaces(
      { tables, now, namespaceRows, set, forgetDefinitions },
      transactions,
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

function readsOf({ tables, now, run, liveness }: Memory): Reads {
  return Object.freeze({
    findRun: (namespaceId, by) => run(() => findRun(tables, namespaceId, by)),
    runDetail: (runId, wanted) => run(() => runDetail(tables, runId, wanted)),
    runItems: (runId, page) => run(() => runItems(tables, runId, page)),
    tracedRuns: (runs) => run(() => tracedRuns(tables, runs)),
    changedInputs: (runId) => run(() => changedInputs(tables, runId)),
    runLiveness: (runId) => run(() => runLiveness(tables, now(), runId, liveness)),
    // Hosts are only shown, and this store does not keep them.
    hosts: async () => new Map(),
  } satisfies Reads);
}

type CallsAboutRuns = Pick<
  EngineStore,
  "recordIntervention" | "claimEscalation" | "releaseEscalation" | "taskFacts" | "facts"
>;

function callsAboutRuns({ tables, now, run }: Memory): CallsAboutRuns {
  return {
    recordIntervention: (of, intervention, actor) =>
      run(() => {
        const owned = { partition: of.partition, epoch: actor.epoch };
        if (!ownsStill(tables, actor.node, owned)) return;
        recordIntervention(tables, of, { ...intervention, actedAt: now() }, actor);
      }),
    claimEscalation: (claim) => run(() => claimEscalation(tables, now(), claim, false)),
    releaseEscalation: (claim) => run(() => claimEscalation(tables, now(), claim, true)),
    taskFacts: (tasks) => run(() => tasks.flatMap((task) => taskFacts(tables, task))),
    facts: (wanted) => run(() => factsOf(tables, wanted)),
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
function walksOf({ tables, now, run, liveness }: Memory): Walks {
  return {
    differingRuns: (of, after, limit) => run(() => differingRuns(tables, of, after, limit)),
    forgetOld: (rowsMax, retention) =>
      run(() => forgetOld(tables, now(), rowsMax, { ...RETENTION_DEFAULT, ...retention })),
    dueRows: (of, limit, range = WHOLE_RANGE) =>
      run(() => dueRows(tables, now(), { partitions: of, limit, ...range }, liveness)),
    outside: (of) => run(() => outsideOf(tables, now(), of)),
    overdue: (of, byMs, since = null) =>
      run(() => overdue(tables, now(), { partitions: of, byMs, since }, liveness.regions)),
  };
}
