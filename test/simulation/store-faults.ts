// The store as one server process reaches it: over a wire that takes its time and breaks, before
// and after the commit, with rows that others hold, and with notifications that get lost.
//
// A call that has begun is carried out whatever becomes of its process; only its answer then finds
// nobody. A transaction needs its process, so it waits while that is paused; it takes no time of
// its own, as the memory store runs one after the other.

import { rolledBack, storeFailure } from "../../server/store/postgres/failure.ts";
import type { RunRef, Store, TransactOptions, Tx } from "../../server/store/store.ts";
import type { Faults } from "./faults.ts";
import type { SimProcess } from "./sim-process.ts";
import { faultyPartitions } from "./store-sessions.ts";
import type { StoreWitness } from "./store-witness.ts";

export interface StoreWire {
  readonly store: Store;
  readonly process: SimProcess;
  readonly faults: Faults;
  readonly witness: StoreWitness;
  /** Whether this process reaches the store now. */
  readonly isReachable: () => boolean;
}

/** How long the fate of a commit without an answer is asked for, at most. */
const FATE_MS_MAX = 2_000;

export function away(): unknown {
  return storeFailure(Object.assign(new Error("the connection was reset"), { code: "ECONNRESET" }));
}

export function createFaultyStore(wire: StoreWire): Store {
  const { store } = wire;
  const call = <T>(work: () => Promise<T>): Promise<T> => overWire(wire, work);
  const read = <T>(work: () => Promise<T>): Promise<T> => overWire(wire, work, false);
  // While a transaction is open these are asked too, and it must not take time.
  const atOnce = <T>(work: () => Promise<T>): Promise<T> =>
    wire.isReachable() ? work() : Promise.reject(away());
  return Object.freeze({
    reads: Object.freeze({
      findRun: (...asked) => read(() => store.reads.findRun(...asked)),
      runDetail: (...asked) => read(() => store.reads.runDetail(...asked)),
      listRuns: (...asked) => read(() => store.reads.listRuns(...asked)),
      listWorkflows: (...asked) => read(() => store.reads.listWorkflows(...asked)),
    } satisfies Store["reads"]),
    partitions: faultyPartitions(wire, call),
    transact: (options, work) => transact(wire, options, work),
    namespace: (name) => atOnce(() => store.namespace(name)),
    createNamespace: (name) => call(() => store.createNamespace(name)),
    internDefinition: (...asked) =>
      call(async () => {
        const id = await store.internDefinition(...asked);
        wire.witness.defined(id, asked[1]);
        return id;
      }),
    definition: (id) => atOnce(() => store.definition(id)),
    registerWorkflow: (workflow) => call(() => store.registerWorkflow(workflow)),
    workflowVersion: (...asked) => read(() => store.workflowVersion(...asked)),
    lanes: (keys) => atOnce(() => store.lanes(keys)),
    lanesOfQueues: (...asked) => atOnce(() => store.lanesOfQueues(...asked)),
    taskFacts: (tasks) => read(() => store.taskFacts(tasks)),
    beat: (beats) =>
      call(async () => {
        const answers = await store.beat(beats);
        wire.witness.beaten(beats, answers);
        return answers.map((of) =>
          of.map((answer) =>
            wire.faults.strikes("row held by another") ? ({ kind: "busy" } as const) : answer,
          ),
        );
      }),
    undelivered: (...asked) => read(() => store.undelivered(...asked)),
    markPolled: (...asked) => call(() => store.markPolled(...asked)),
    forgetOld: (rowsMax) => call(() => store.forgetOld(rowsMax)),
    pulse: (...asked) => read(() => store.pulse(...asked)),
    dueRows: (...asked) => read(() => store.dueRows(...asked)),
    ready: () => read(() => store.ready()),
    close: () => Promise.resolve(),
  } satisfies Store);
}

/** A statement by itself: it is its own transaction. */
function overWire<T>(wire: StoreWire, work: () => Promise<T>, writes = true): Promise<T> {
  const { process, faults } = wire;
  return new Promise((resolve, reject) => {
    const settle = (fn: () => void): void => void process.post(process.chance.between(0, 2), fn);
    wire.witness.after(process.chance.between(0, 2), () => {
      const fate = faults.store(writes);
      const isLost = fate === "before-commit" || fate === "before-commit, known";
      if (!wire.isReachable() || isLost) {
        settle(() => reject(away()));
        return;
      }
      if (fate === "repeatable") {
        settle(() => reject(rolledBack(new Error("chosen as the victim of a deadlock"))));
        return;
      }
      work().then(
        (result) => settle(() => (fate === "fine" ? resolve(result) : reject(away()))),
        (error: unknown) => settle(() => reject(error)),
      );
    });
  });
}

function transact<T>(
  wire: StoreWire,
  options: TransactOptions,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  const { process, faults, store } = wire;
  return new Promise((resolve, reject) => {
    const settle = (ms: number, fn: () => void): void => void process.post(ms, fn);
    settle(process.chance.between(0, 2), () => {
      const answerMs = process.chance.between(0, 3);
      if (!wire.isReachable()) {
        settle(answerMs, () => reject(away()));
        return;
      }
      const fate = faults.store(true);
      const seen = wire.witness.transaction();
      const run = store.transact(options, async (tx) => {
        const result = await work(watched(wire, seen.watch(tx), options));
        if (fate === "before-commit") throw away();
        if (fate !== "fine" && fate !== "after-commit")
          throw rolledBack(new Error("the commit did not count"));
        return result;
      });
      run.then(
        (result) => {
          seen.committed();
          if (fate === "fine") settle(answerMs, () => resolve(result));
          else if (options.fate !== "unasked" && process.chance.happens(0.7))
            settle(process.chance.between(1, FATE_MS_MAX), () => resolve(result));
          else settle(FATE_MS_MAX, () => reject(away()));
        },
        (error: unknown) => settle(answerMs, () => reject(error)),
      );
    });
  });
}

/** Some runs are in the hands of another transaction, for those who do not wait. */
function watched({ faults }: StoreWire, tx: Tx, options: TransactOptions): Tx {
  if (options.name !== "advance") return tx;
  return {
    ...tx,
    lockRuns: (runs: readonly RunRef[], wait: boolean) =>
      tx.lockRuns(wait ? runs : runs.filter(() => !faults.strikes("row held by another")), wait),
  };
}
