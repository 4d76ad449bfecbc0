// Transactions of a process on the simulated store: they fail before or after their commit, meet
// runs that others hold, and are started by processes that are suspended.
//
// A transaction needs its process, so it waits while that is paused; it takes no time of its own,
// as the memory store runs one after the other. But its number is of when it began, so that those
// which began later commit before it.
import { rolledBack, storeFailure } from "../../server/store/postgres/failure.ts";
import type { RunRef, TransactOptions, Tx } from "../../server/store/store.ts";
import { ALWAYS_FAILS } from "./faults.ts";
import type { StoreWire } from "./store-faults.ts";

/** The database ends what has started and does nothing. */
const TRANSACTION_MS_MAX = 5_000;
/** Of servers relieved at an occurrence: after its commit. The others are frozen before it. */
const RELIEVED_AFTER_SHARE = 0.4;
/** For how long a server asks at most whether an unanswered commit counted. */
const FATE_MS_MAX = 2_000;

export function away(): unknown {
  return storeFailure(Object.assign(new Error("the connection was reset"), { code: "ECONNRESET" }));
}

export function transact<T>(
  wire: StoreWire,
  options: TransactOptions,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  const { process, faults, store } = wire;
  return new Promise((resolve, reject) => {
    const settle = (ms: number, fn: () => void): void => void process.post(ms, fn);
    const call = { process: process.name, name: options.name, writes: true, isTransaction: true };
    const { fate, toMs, backMs } = faults.store(call);
    const opened = store.begin();
    wire.witness.after(TRANSACTION_MS_MAX, opened.end);
    if (options.name === "advance" && faults.strikes("server paused in a batch")) wire.freeze();
    const isRelieved =
      options.name === "occurrences" && faults.strikes("server relieved at a write");
    const isAfter = isRelieved && process.chance.happens(RELIEVED_AFTER_SHARE);
    if (isRelieved && !isAfter) wire.freezeUntilRelieved();
    if (options.name === "claim" && faults.strikes("server stopped in a claim")) wire.stop();
    settle(toMs, () => {
      if (!wire.isReachable()) {
        opened.end();
        settle(backMs, () => reject(away()));
        return;
      }
      const seen = wire.witness.transaction(wire.shard);
      const whole = async (tx: Tx) => {
        // What keeps a key for another shard begins no run.
        const witnessed = options.name === "key-place" ? tx : seen.watch(tx);
        const result = await work(watched(wire, wire.circuits.watch(witnessed), options));
        if (fate === "before-commit") throw away();
        if (fate === "before-commit, known" || fate === "repeatable")
          throw rolledBack(new Error("the commit did not count"));
        return result;
      };
      const first = outdated(wire, options, work);
      const run = first.then(() => store.transact(options, whole, opened));
      run.then(
        (result) => {
          seen.committed();
          if (isAfter) wire.freezeUntilRelieved();
          if (fate === "fine") settle(backMs, () => resolve(result));
          else if (options.fate !== "unasked" && fate === "after-commit, found-out")
            settle(process.chance.between(1, FATE_MS_MAX), () => resolve(result));
          else settle(FATE_MS_MAX, () => reject(away()));
        },
        (error: unknown) => settle(backMs, () => reject(error)),
      );
    });
  });
}

/**
 * The process may have decided on data that has changed since: the transaction changes nothing, and
 * its work is repeated.
 */
async function outdated<T>(
  { faults, store }: StoreWire,
  options: TransactOptions,
  work: (tx: Tx) => Promise<T>,
): Promise<void> {
  if (!options.optimistic || !faults.strikes("decided by what has changed")) return;
  const refused = new Error("what was known has changed");
  const tried = store.transact(options, async (tx) => {
    await work(tx);
    throw refused;
  });
  await tried.catch((error: unknown) => {
    if (error !== refused) throw error;
  });
}

/**
 * Another transaction locks some runs, for callers that do not wait; and each pass of one run
 * throws. That run is no child and holds no permit, since other runs would wait for it.
 */
function watched({ faults }: StoreWire, tx: Tx, options: TransactOptions): Tx {
  if (options.name !== "advance") return tx;
  return {
    ...tx,
    async lockRuns(runs: readonly RunRef[], wait: boolean) {
      const free = wait ? runs : runs.filter(() => !faults.strikes("row held by another"));
      const heads = await tx.lockRuns(free, wait);
      for (const { runId, run } of heads)
        if (!run.keyed && run.parent === null && faults.failsAlways(runId))
          throw new Error(ALWAYS_FAILS);
      return heads;
    },
  };
}
