// The state store in memory, behind the contract of ../store.ts: for simulation and for fast tests.
//
//   tables.ts          the rows        transactions.ts   one at a time, undone if they fail
//   transaction.ts     Tx              write.ts          a pass, row by row
//   catalogue.ts       definitions and lanes             partitions.ts   who watches what
//   queues.ts          what people say about queues
//
// Time is given and stands still within a transaction. Nothing here waits for a timer.
import type { Moment } from "../../core/attempt.ts";
import type { Reads } from "../reads.ts";
import type { Store, TransactOptions, Tx } from "../store.ts";
import { beatSession } from "./beats.ts";
import { createCatalogue } from "./catalogue.ts";
import { factsOf, taskFacts } from "./facts.ts";
import { forgetOld } from "./housekeeping.ts";
import { dueRows, pulse, runSigns, undelivered } from "./looks.ts";
import { createOutbox } from "./outbox.ts";
import { createPartitions } from "./partitions.ts";
import { createQueues, lanePause } from "./queues.ts";
import {
  changedInputs,
  countRuns,
  findRun,
  listEscalations,
  listRuns,
  listWorkflows,
  openRunsOf,
  runDetail,
  runItems,
} from "./reads.ts";
import { createTables } from "./tables.ts";
import { openTransaction } from "./transaction.ts";
import { createTransactions } from "./transactions.ts";
import { claimEscalation } from "./write.ts";

export interface MemoryStoreOptions {
  /** The database's time, in milliseconds. It may jump. */
  now(): Moment;
  /** What the silence of sessions is measured by; left out: the database's time never jumps. */
  elapsedMs?(): number;
}

export function createMemoryStore({ now, elapsedMs = now }: MemoryStoreOptions): Store {
  const transactions = createTransactions();
  const tables = createTables(transactions.journal);
  const { workflows, versions, namespaceName, knownLanes, queueOf, isWorkflow, ...kept } =
    createCatalogue(now);
  const { namespaceRecords, regionNames, ...catalogue } = kept;
  const world = { tables, now, lanes: knownLanes, isWorkflow };
  const pauseOf = (lane: number) => lanePause(world, lane);
  const partitions = createPartitions(tables, transactions, elapsedMs, () => [
    ...regionNames().keys(),
  ]);
  const { run } = transactions;

  const reads: Reads = Object.freeze({
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
    changedInputs: (runId) => run(() => changedInputs(tables, runId)),
    countRuns: (namespaceId, filter, most) =>
      run(() => ({ count: countRuns(tables, namespaceId, filter, most), now: now() })),
    runSigns: (runId) => run(() => runSigns(tables, now(), runId, { pauseOf, queueOf })),
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

  function transact<T>({ name }: TransactOptions, work: (tx: Tx) => Promise<T>): Promise<T> {
    return run(async (transaction) => {
      const { tx, end } = openTransaction(world, { now: now(), transaction, name });
      try {
        return await work(tx);
      } finally {
        end();
      }
    });
  }

  return Object.freeze({
    ...catalogue,
    reads,
    partitions,
    outbox: createOutbox({ tables, now, namespaceName }, transactions),
    queues: createQueues(world, transactions),
    transact,
    claimEscalation: (claim) => run(() => claimEscalation(tables, now(), claim, false)),
    releaseEscalation: (claim) => run(() => claimEscalation(tables, now(), claim, true)),
    taskFacts: (tasks) => run(() => tasks.map((task) => taskFacts(tables, task))),
    facts: (wanted) => run(() => factsOf(tables, wanted)),
    beat: (beats) => run(() => beats.map((beat) => beatSession(tables, now(), beat))),
    undelivered: (session, polls) => run(() => undelivered(tables, session, polls)),
    markPolled: (node, lanes) =>
      run(() => {
        for (const lane of lanes) tables.lanePoller.put({ lane, node, seenAt: now() });
      }),
    forgetOld: (rowsMax) => run(() => forgetOld(tables, now(), rowsMax)),
    // Users fill the inbox by SQL, so here it is always empty.
    takeInbox: async () => [],
    settleInbox: async () => undefined,
    pulse: (lanes, runs) => run(() => pulse(tables, now(), lanes, runs, pauseOf)),
    dueRows: (of, limit) => run(() => dueRows(tables, now(), of, limit, pauseOf)),
    ready: () => run(() => undefined),
    close: async () => {
      partitions.close();
      await transactions.close();
    },
  } satisfies Store);
}
