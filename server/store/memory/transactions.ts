// One transaction at a time: a mutex, and a journal that undoes what a failed one had changed.
// Plain reads take their turn too, so nobody sees half of a transaction. Whatever runs inside of
// one must use its `Tx` alone: to call the store from there is to wait for oneself.

export interface Journal {
  /** Remembers how to take a change back, if the transaction that makes it fails. */
  note(undo: () => void): void;
}

export interface Transactions {
  readonly journal: Journal;
  /** Runs when all before have ended; a throw takes back every change. Numbers grow by one. */
  run<T>(work: (number: number) => Promise<T> | T): Promise<T>;
  /** Takes back the last so many that changed something, as a fail-over does that lost them. */
  loseTail(most: number): Promise<void>;
  /** From now on every call fails; what has begun comes to its end. */
  close(): Promise<void>;
}

/** So many transactions can be taken back. */
const TAIL_MAX = 100;

export function createTransactions(): Transactions {
  const committed: (readonly (() => void)[])[] = [];
  let tail: Promise<unknown> = Promise.resolve();
  let undos: (() => void)[] = [];
  let count = 0;
  let closed = false;

  async function attempt<T>(work: (number: number) => Promise<T> | T): Promise<T> {
    count++;
    undos = [];
    try {
      const result = await work(count);
      if (undos.length > 0 && committed.push(undos) > TAIL_MAX) committed.shift();
      return result;
    } catch (error) {
      for (const undo of undos.reverse()) undo();
      throw error;
    }
  }

  function run<T>(work: (number: number) => Promise<T> | T): Promise<T> {
    if (closed) return Promise.reject(new Error("the memory store is closed: create another one"));
    const result = tail.then(() => attempt(work));
    tail = result.catch(() => undefined);
    return result;
  }

  function loseTail(most: number): Promise<void> {
    return run(() => {
      for (const changes of committed.splice(-most).reverse())
        for (const undo of changes.toReversed()) undo();
    });
  }

  return Object.freeze({
    loseTail,
    journal: Object.freeze({ note: (undo: () => void) => void undos.push(undo) }),
    run,
    close: async () => {
      closed = true;
      await tail;
    },
  });
}
