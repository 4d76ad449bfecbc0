// The state store in memory, behind the contract of ../store.ts: for simulation and for fast tests.
//
//   tables.ts          the rows        transactions.ts   one at a time, undone if they fail
//   transaction.ts     Tx              write.ts          a pass, row by row
//   catalogue.ts       definitions and lanes             partitions.ts   who watches what
//   queues.ts          what people say about queues      schedules.ts    calendars, and their fires
//   circuits.ts        what rests, and cordons           operators.ts    what people look at
//
// Time is given and stands still within a transaction. Nothing here waits for a timer.
import type { Moment } from "../../core/attempt.ts";
import { type Outside, WHOLE_RANGE } from "../due.ts";
import { KEPT_FOR_DEFAULT } from "../kept-for.ts";
import type { Reads } from "../reads.ts";
import type { Store, TransactOptions, Tx } from "../store.ts";
import { STORE_TIMES, type StoreTimes } from "../store-times.ts";
import { markAgents, markPolled, markSilent } from "./agents.ts";
import { beatSessions } from "./beats.ts";
import { type Catalogue, createCatalogue } from "./catalogue.ts";
import { createCircuits, laneCircuit } from "./circuits.ts";
import { createDurations } from "./durations.ts";
import { factsOf, taskFacts } from "./facts.ts";
import { forgetOld } from "./housekeeping.ts";
import { dueRows, type LaneFacts, outsideOf, pulse, runSigns, undelivered } from "./looks.ts";
import { createNamespaces } from "./namespaces.ts";
import { createOperators } from "./operators.ts";
import { createOutbox } from "./outbox.ts";
import { overdue } from "./overdue.ts";
import { createPartitions, type MemoryPartitions, ownsStill } from "./partitions.ts";
import { createPins } from "./pins.ts";
import { createQueues, lanePause } from "./queues.ts";
import {
  changedInputs,
  countRuns,
  findRun,
  listDefinitions,
  listEscalations,
  listRuns,
  listWorkflows,
  openRunsOf,
  runDetail,
  runItems,
  tracedRuns,
} from "./reads.ts";
import { createSchedules } from "./schedules.ts";
import { sweptRows } from "./stored-runs.ts";
import { createTables, type Tables } from "./tables.ts";
import { createTokens } from "./tokens.ts";
import { openTransaction } from "./transaction.ts";
import {
  type BegunTransaction,
  type ChangedRow,
  createTransactions,
  type Transactions,
} from "./transactions.ts";
import { createTriggers } from "./triggers.ts";
import { claimEscalation, recordIntervention } from "./write.ts";

export interface MemoryStoreOptions {
  /** The database's time, in milliseconds. It may jump. */
  now(): Moment;
  /** What the silence of sessions is measured by; left out: the database's time never jumps. */
  elapsedMs?(): number;
  /** What is left out is as STORE_TIMES. */
  readonly times?: Partial<StoreTimes>;
}

export interface MemoryStore extends Store {
  /** A number for a transaction that runs later: others may begin after it and commit before. */
  begin(): BegunTransaction;
  transact<T>(
    options: TransactOptions,
    work: (tx: Tx) => Promise<T>,
    begun?: BegunTransaction,
  ): Promise<T>;
  /**
   * What a fail-over to a standby does that had not received the last transactions, so many at
   * most: they never were. Ids of theirs are not given out again. Returns what they had changed.
   */
  loseTail(transactions: number): Promise<readonly ChangedRow[]>;
  /** What was committed until now is not lost with any tail. */
  keepTail(): void;
  /** What `dueRows` says of the world outside, without a look at moments. */
  outside(partitions: readonly number[]): Promise<readonly Outside[]>;
}

export function createMemoryStore(options: MemoryStoreOptions): MemoryStore {
  const { now, elapsedMs = now } = options;
  const times = { ...STORE_TIMES, ...options.times };
  const { polledMs, ownerLostMs } = times;
  const transactions = createTransactions();
  const tables = createTables(transactions.journal);
  const catalogue = createCatalogue(tables, now, transactions);
  const { namespaceOf, laneOf, isWorkflow, isVersion } = catalogue;
  const { namespaceRecords, regionNames, setNamespace: set, forgetDefinitions } = catalogue;
  const namespaceName = (id: number): string => namespaceOf(id).name;
  const world = { tables, now, lanes: tables.lane.all, isWorkflow, namespaceOf, regionNames };
  const pauseOf = (lane: number) => lanePause(world, lane);
  const circuitOf = (lane: number) => laneCircuit(world, lane);
  const live = (): readonly string[] => partitions.live();
  const signs = { pauseOf, laneOf, circuitOf, polledMs, regions: { tables, regionNames, live } };
  const regions = () => [...regionNames().keys()];
  const clock = { now, elapsedMs, regions, ownerLostMs };
  const partitions = createPartitions(tables, transactions, clock);
  const { run, begin, loseTail, keepTail } = transactions;
  // The default namespace is of every database.
  keepTail();

  function transact<T>(
    { name }: TransactOptions,
    work: (tx: Tx) => Promise<T>,
    begun?: BegunTransaction,
  ): Promise<T> {
    return run(async (transaction) => {
      const { tx, end } = openTransaction(world, { now: now(), transaction, name });
      try {
        return await work(tx);
      } finally {
        end();
      }
    }, begun);
  }

  return Object.freeze({
    ...catalogue.calls,
    ...sweptRows(tables, now, run),
    reads: readsOf({ tables, now, run, partitions, catalogue, signs }),
    partitions,
    outbox: createOutbox({ tables, now, namespaceName }, transactions),
    queues: createQueues(world, transactions),
    pins: createPins({ ...world, ...catalogue.ofPins }, transactions),
    schedules: createSchedules(world, transactions),
    triggers: createTriggers(world, transactions),
    tokens: createTokens(world, transactions),
    circuits: createCircuits(world, transactions),
    durations: createDurations(tables, isVersion, transactions),
    namespaces: createNamespaces(
      { tables, now, namespaceRecords, set, forgetDefinitions },
      transactions,
    ),
    operators: createOperators({ ...world, ...times, nodes: partitions.nodes }, transactions),
    transact,
    onIncarnation: transactions.onIncarnation,
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
    beat: (beats) => run(() => beatSessions(tables, now(), beats)),
    undelivered: (lost) => run(() => undelivered(tables, lost)),
    markPolled: (node, lanes) => run(() => markPolled(tables, now(), node, lanes)),
    markAgents: (server, seen) => run(() => markAgents(tables, now(), server, seen)),
    markSilent: (silent) => run(() => markSilent(tables, now(), silent)),
    forgetOld: (rowsMax, kept) =>
      run(() => forgetOld(tables, now(), rowsMax, { ...KEPT_FOR_DEFAULT, ...kept })),
    // Users fill the inbox by SQL, so here it is always empty.
    takeInbox: async () => [],
    settleInbox: async () => undefined,
    pulse: (asked) => run(() => pulse(tables, now(), asked, { pauseOf, transactions })),
    dueRows: (of, limit, range = WHOLE_RANGE) =>
      run(() => dueRows(tables, now(), { partitions: of, limit, ...range }, signs)),
    outside: (of) => run(() => outsideOf(tables, now(), of)),
    overdue: (of, byMs, since = null) =>
      run(() => overdue(tables, now(), { partitions: of, byMs, since }, signs.regions)),
    ...{ begin, loseTail, keepTail, ready: () => run(() => undefined) },
    close: async () => {
      partitions.close();
      await transactions.close();
    },
  } satisfies MemoryStore);
}

interface ReadWorld {
  readonly tables: Tables;
  readonly now: () => Moment;
  readonly run: Transactions["run"];
  readonly partitions: MemoryPartitions;
  readonly catalogue: Catalogue;
  readonly signs: LaneFacts;
}

function readsOf({ tables, now, run, partitions, catalogue, signs }: ReadWorld): Reads {
  const { workflows, versions, namespaceRecords, regionNames } = catalogue;
  return Object.freeze({
    listNamespaces: async ({ names, after }, limit) =>
      namespaceRecords()
        .filter(({ name }) => names === null || names.includes(name))
        .filter(({ name }) => after === null || name > after)
        .slice(0, limit),
    listRegions: async () =>
      regionNames().map((name, id) => ({ id, name, watched: partitions.watchedOf(id) })),
    findRun: (namespaceId, by) => run(() => findRun(tables, namespaceId, by)),
    runDetail: (runId, wanted) => run(() => runDetail(tables, runId, wanted)),
    runItems: (runId, page) => run(() => runItems(tables, runId, page)),
    tracedRuns: (runs) => run(() => tracedRuns(tables, runs)),
    changedInputs: (runId) => run(() => changedInputs(tables, runId)),
    listDefinitions: (namespaceId, filter, most) =>
      run(() => listDefinitions(tables, namespaceId, filter, most)),
    countRuns: (namespaceId, filter, most) =>
      run(() => ({ count: countRuns(tables, namespaceId, filter, most), now: now() })),
    runSigns: (runId) => run(() => runSigns(tables, now(), runId, signs)),
    listRuns: (namespaceId, page) => run(() => listRuns(tables, namespaceId, page)),
    listEscalations: (namespaceId, page) => run(() => listEscalations(tables, namespaceId, page)),
    listWorkflows: async (namespaceId, after, limit) =>
      listWorkflows(workflows(namespaceId), after, limit),
    listVersions: (namespaceId, names, limit) =>
      run(() =>
        names.flatMap((name) =>
          versions(namespaceId, name)
            .slice(0, limit)
            .map(({ definitionId, ...version }) => {
              return { name, ...version, openRuns: openRunsOf(tables, definitionId) };
            }),
        ),
      ),
  } satisfies Reads);
}
