// One transaction at a time: a mutex, and a journal that undoes what a failed one had changed.
// Plain reads take their turn too, so nobody sees half of a transaction. Whatever runs inside of
// one must use its `Tx` alone: to call the store from there is to wait for oneself.

export interface Journal {
  /**
   * Remembers how to take a change back, if the transaction that makes it fails, or is lost.
   * `changed` says what was lost; it is asked of few changes, so it is made only then.
   */
  note(undo: () => void, changed: () => ChangedRow): void;
}

export interface ChangedRow {
  readonly table: string;
  readonly key: string;
  /** Its values by index, as `index=value`. */
  readonly indexed: readonly string[];
  /** null: it is of no run. */
  readonly runId: string | null;
  readonly isNew: boolean;
}

export interface Transactions {
  readonly journal: Journal;
  /** Runs when all before have ended; a throw takes back every change. Numbers grow by one. */
  run<T>(work: (number: number) => Promise<T> | T, begun?: BegunTransaction): Promise<T>;
  /** Ends at once, also while another one is open: neither changes rows of the other. */
  beside<T>(work: () => T): Promise<T>;
  /** Takes a number for a transaction that runs later, beside others that begin after it. */
  begin(): BegunTransaction;
  /** The least number of those that have begun and not ended, as one sees it that runs. */
  oldest(): number;
  /** Numbers are given out again after a fail-over that lost some: then this grows. */
  incarnation(): number;
  /**
   * Takes back the last so many that changed something, as a fail-over does that lost them. Returns
   * what they had changed.
   */
  loseTail(most: number): Promise<readonly ChangedRow[]>;
  onIncarnation(listener: () => void): void;
  /** What was committed until now is not lost with any tail. */
  keepTail(): void;
  /** From now on every call fails; what has begun comes to its end. */
  close(): Promise<void>;
}

export interface BegunTransaction {
  readonly number: number;
  /** Nobody waits for it any more. Should it run all the same, it begins then. */
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
    ...{ begin, beside },
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
