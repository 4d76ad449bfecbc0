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
  run<T>(work: (number: number) => Promise<T> | T, open?: OpenTransaction): Promise<T>;
  /** Commits without waiting for the open transaction; the two must touch different rows. */
  runConcurrently<T>(work: () => T): Promise<T>;
  /** Takes a number for a transaction that runs later, also while others are open. */
  begin(): OpenTransaction;
  /** The least number of those that have started and not ended, as a running one sees it. */
  oldest(): number;
  /** Grows with each fail-over that lost transactions: their numbers are given out again. */
  incarnation(): number;
  /**
   * Takes back the last transactions that changed something, at most this many, as a fail-over that
   * lost them. Returns what they had changed.
   */
  simulateFailover(most: number): Promise<readonly ChangedRow[]>;
  onIncarnation(listener: () => void): void;
  /** What is committed by now can no longer be lost by `simulateFailover`. */
  makeDurable(): void;
  /** From now on every call fails; transactions that have started are completed. */
  close(): Promise<void>;
}

export interface OpenTransaction {
  readonly number: number;
  /** Cancels the number. A later `run()` with it gets a new number. */
  end(): void;
}

interface Undo {
  readonly undo: () => void;
  readonly changed: () => ChangedRow;
}

/** Most transactions that can be taken back. */
const TAIL_MAX = 100;

interface State {
  /** Those that can be taken back, in the order of their commits. */
  readonly committed: { readonly number: number; readonly undos: readonly Undo[] }[];
  /** The numbers of those that have started and not ended. */
  readonly open: Set<number>;
  readonly listeners: (() => void)[];
  /** Settles when all before have ended. */
  tail: Promise<unknown>;
  /** The changes of the one that runs now. */
  undos: Undo[];
  /** The last number that was given out. */
  count: number;
  incarnation: number;
  closed: boolean;
}

export function createTransactions(): Transactions {
  const state: State = {
    committed: [],
    open: new Set(),
    listeners: [],
    tail: Promise.resolve(),
    undos: [],
    count: 0,
    incarnation: 1,
    closed: false,
  };
  return Object.freeze({
    begin: () => begin(state),
    runConcurrently: (work) => runConcurrently(state, work),
    oldest: () => Math.min(...state.open),
    incarnation: () => state.incarnation,
    simulateFailover: (most) => simulateFailover(state, most),
    onIncarnation: (listener) => void state.listeners.push(listener),
    makeDurable: () => void state.committed.splice(0),
    journal: Object.freeze({
      note: (undo: () => void, changed: () => ChangedRow) =>
        void state.undos.push({ undo, changed }),
    }),
    run: (work, open) => run(state, work, open),
    close: async () => {
      state.closed = true;
      await state.tail;
    },
  } satisfies Transactions);
}

function begin(state: State): OpenTransaction {
  const { open } = state;
  const number = ++state.count;
  open.add(number);
  return Object.freeze({ number, end: () => void open.delete(number) });
}

function run<T>(
  state: State,
  work: (number: number) => Promise<T> | T,
  open?: OpenTransaction,
): Promise<T> {
  if (state.closed)
    return Promise.reject(new Error("the memory store is closed: create another one"));
  const result = state.tail.then(() =>
    attempt(state, work, isOpen(state, open) ? open : begin(state)),
  );
  state.tail = result.catch(() => undefined);
  return result;
}

function isOpen(state: State, open: OpenTransaction | undefined): open is OpenTransaction {
  return open !== undefined && state.open.has(open.number);
}

async function attempt<T>(
  state: State,
  work: (number: number) => Promise<T> | T,
  { number, end }: OpenTransaction,
): Promise<T> {
  state.undos = [];
  try {
    const result = await work(number);
    keep(state, number);
    return result;
  } catch (error) {
    for (const { undo } of state.undos.reverse()) undo();
    throw error;
  } finally {
    end();
  }
}

async function runConcurrently<T>(state: State, work: () => T): Promise<T> {
  const open = state.undos;
  const { number, end } = begin(state);
  state.undos = [];
  try {
    const result = work();
    keep(state, number);
    return result;
  } catch (error) {
    for (const { undo } of state.undos.reverse()) undo();
    throw error;
  } finally {
    end();
    state.undos = open;
  }
}

function keep({ committed, undos }: State, number: number): void {
  if (undos.length > 0 && committed.push({ number, undos }) > TAIL_MAX) committed.shift();
}

function simulateFailover(state: State, most: number): Promise<readonly ChangedRow[]> {
  return run(state, () => {
    const lost = state.committed.splice(-most);
    for (const { undos } of lost.toReversed()) for (const { undo } of undos.toReversed()) undo();
    state.count = Math.min(state.count, ...lost.map(({ number }) => number - 1));
    state.incarnation++;
    for (const listener of state.listeners) listener();
    return lost.flatMap(({ undos }) => undos.map(({ changed }) => changed()));
  });
}
