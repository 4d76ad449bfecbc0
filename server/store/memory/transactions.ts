// One transaction at a time: a mutex, and a journal that undoes what a failed one has changed.
// Plain reads wait for their turn too, so none sees half of a transaction. Code inside of a
// transaction must use its `Tx` alone: if it calls the store, it waits for itself.

export interface Journal {
  /**
   * Records how to take a change back, if its transaction fails or is lost. `changed` describes
   * what was lost; it is called for few changes, so it is a function.
   */
  note(undo: () => void, changed: () => ChangedRow): void;
}

export interface ChangedRow {
  readonly table: string;
  readonly key: string;
  /** Its values by index, as `index=value`. */
  readonly indexed: readonly string[];
  /** null: the row belongs to no run. */
  readonly runId: string | null;
  readonly isNew: boolean;
}

export interface Transactions {
  readonly journal: Journal;
  /** Runs when all before have ended; a throw takes back every change. Numbers grow by one. */
  run<T>(work: (number: number) => Promise<T> | T, begun?: BegunTransaction): Promise<T>;
  /** Ends at once, even while another one is open: neither changes rows of the other. */
  beside<T>(work: () => T): Promise<T>;
  /** Takes a number for a transaction that runs later, beside others that begin after it. */
  begin(): BegunTransaction;
  /** The least number of those that have begun and not ended, as a running one sees it. */
  oldest(): number;
  /** Grows with each fail-over that lost transactions: their numbers are given out again. */
  incarnation(): number;
  /**
   * Takes back the last transactions that changed something, at most this many, as a fail-over that
   * lost them. Returns what they had changed.
   */
  loseTail(most: number): Promise<readonly ChangedRow[]>;
  onIncarnation(listener: () => void): void;
  /** What is committed by now can no longer be lost by `loseTail`. */
  keepTail(): void;
  /** From now on every call fails; transactions that have begun are completed. */
  close(): Promise<void>;
}

export interface BegunTransaction {
  readonly number: number;
  /** No caller waits for it any more. If it runs all the same, it begins then. */
  end(): void;
}

interface Undo {
  readonly undo: () => void;
  readonly changed: () => ChangedRow;
}

/** So many transactions can be taken back. */
const TAIL_MAX = 100;

export function createTransactions(): Transactions {
  const committed: { readonly number: number; readonly undos: readonly Undo[] }[] = [];
  const begunBefore = new Set<number>();
  let tail: Promise<unknown> = Promise.resolve();
  let undos: Undo[] = [];
  let count = 0;
  let incarnation = 1;
  const listeners: (() => void)[] = [];
  let closed = false;

  function keep(number: number): void {
    if (undos.length > 0 && committed.push({ number, undos }) > TAIL_MAX) committed.shift();
  }

  async function attempt<T>(
    work: (number: number) => Promise<T> | T,
    { number, end }: BegunTransaction,
  ): Promise<T> {
    undos = [];
    try {
      const result = await work(number);
      keep(number);
      return result;
    } catch (error) {
      for (const { undo } of undos.reverse()) undo();
      throw error;
    } finally {
      end();
    }
  }

  function begin(): BegunTransaction {
    const number = ++count;
    begunBefore.add(number);
    return Object.freeze({ number, end: () => void begunBefore.delete(number) });
  }

  async function beside<T>(work: () => T): Promise<T> {
    const open = undos;
    const { number, end } = begin();
    undos = [];
    try {
      const result = work();
      keep(number);
      return result;
    } catch (error) {
      for (const { undo } of undos.reverse()) undo();
      throw error;
    } finally {
      end();
      undos = open;
    }
  }

  function isOpen(begun: BegunTransaction | undefined): begun is BegunTransaction {
    return begun !== undefined && begunBefore.has(begun.number);
  }

  function run<T>(work: (number: number) => Promise<T> | T, begun?: BegunTransaction): Promise<T> {
    if (closed) return Promise.reject(new Error("the memory store is closed: create another one"));
    const result = tail.then(() => attempt(work, isOpen(begun) ? begun : begin()));
    tail = result.catch(() => undefined);
    return result;
  }

  function loseTail(most: number): Promise<readonly ChangedRow[]> {
    return run(() => {
      const lost = committed.splice(-most);
      for (const { undos: changes } of lost.toReversed())
        for (const { undo } of changes.toReversed()) undo();
      count = Math.min(count, ...lost.map(({ number }) => number - 1));
      incarnation++;
      for (const listener of listeners) listener();
      return lost.flatMap(({ undos: changes }) => changes.map(({ changed }) => changed()));
    });
  }

  return Object.freeze({
    begin,
    beside,
    oldest: () => Math.min(...begunBefore),
    incarnation: () => incarnation,
    loseTail,
    onIncarnation: (listener: () => void) => void listeners.push(listener),
    keepTail: () => void committed.splice(0),
    journal: Object.freeze({
      note: (undo: () => void, changed: () => ChangedRow) => void undos.push({ undo, changed }),
    }),
    run,
    close: async () => {
      closed = true;
      await tail;
    },
  });
}
