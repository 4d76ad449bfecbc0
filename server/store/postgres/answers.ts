// Answers that one transaction still waits for. PostgreSQL executes its statements in order, and
// after one that failed it refuses all others: the first failure is the cause of those after it.

export interface Answers {
  /**
   * The next `awaitPending` waits for it. `mustBeSeen`: it may fail the transaction by itself, so
   * `checked` waits for it too.
   */
  keep<T>(answer: Promise<T>, mustBeSeen: boolean): Promise<T>;
  /** Waits for the answers that no caller has waited for yet; throws the first failure. */
  awaitPending(): Promise<void>;
  /** Waits if an answer may still fail the transaction. */
  checked(): Promise<void>;
  /** The first failure in the order of the statements, once all are answered; null: none. */
  firstFailure(): Promise<unknown>;
}

interface State {
  /** In the order of their statements. */
  readonly all: Promise<unknown>[];
  /** Those that no caller has waited for yet. */
  pending: Promise<unknown>[];
  /** One of the pending must be seen. */
  unchecked: boolean;
}

export function createAnswers(): Answers {
  const state: State = { all: [], pending: [], unchecked: false };
  return Object.freeze({
    keep: (answer, mustBeSeen) => keep(state, answer, mustBeSeen),
    awaitPending: () => awaitPending(state),
    checked: () => checked(state),
    firstFailure: () => firstFailure(state),
  } satisfies Answers);
}

function keep<T>(state: State, answer: Promise<T>, mustBeSeen: boolean): Promise<T> {
  // The next wait reports it; if there is no next wait, an earlier statement has failed.
  answer.catch(() => undefined);
  state.all.push(answer);
  state.pending.push(answer);
  state.unchecked ||= mustBeSeen;
  return answer;
}

async function awaitPending(state: State): Promise<void> {
  const pending = state.pending;
  state.pending = [];
  state.unchecked = false;
  for (const answer of pending) await answer;
}

async function checked(state: State): Promise<void> {
  while (state.unchecked) await awaitPending(state);
}

async function firstFailure({ all }: State): Promise<unknown> {
  const answers = await Promise.allSettled(all);
  return answers.find((answer) => answer.status === "rejected")?.reason ?? null;
}
