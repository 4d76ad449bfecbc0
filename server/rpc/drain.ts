// Which calls are in hand, and the end of taking new ones.
//
//   open → draining (begin: parked calls are told, new ones are refused) → idle (nothing in hand)
//
// A plain set instead of an AbortSignal: ten thousand parked polls come and go, and a signal's
// listeners are removed one by one from a list.
export interface Drain {
  readonly begun: boolean;
  readonly inFlight: number;
  /** Calls in hand that do not merely wait. */
  readonly working: number;
  /** Counts a call in; the returned function counts it out, once. */
  enter(kind?: CallKind): () => void;
  /** Calls back at the begin of the drain, at once if that was before. Returns how to forget it. */
  onBegin(tell: () => void): () => void;
  begin(): void;
  /** Resolves as soon as nothing is in flight. */
  idle(): Promise<void>;
}

/** A call that waits takes no room from those that work. */
export type CallKind = "working" | "waiting";

export function createDrain(): Drain {
  let begun = false;
  let inFlight = 0;
  let working = 0;
  const tellers = new Set<() => void>();
  let waiters: (() => void)[] = [];

  function enter(kind: CallKind = "working"): () => void {
    const work = kind === "working" ? 1 : 0;
    inFlight++;
    working += work;
    let inside = true;
    return () => {
      if (!inside) return;
      inside = false;
      inFlight--;
      working -= work;
      if (inFlight > 0) return;
      const woken = waiters;
      waiters = [];
      for (const wake of woken) wake();
    };
  }

  return Object.freeze({
    get begun() {
      return begun;
    },
    get inFlight() {
      return inFlight;
    },
    get working() {
      return working;
    },
    enter,
    onBegin(tell: () => void) {
      if (begun) tell();
      else tellers.add(tell);
      return () => void tellers.delete(tell);
    },
    begin() {
      begun = true;
      const told = [...tellers];
      tellers.clear();
      for (const tell of told) tell();
    },
    idle: () =>
      inFlight === 0
        ? Promise.resolve()
        : new Promise<void>((resolve) => {
            waiters.push(resolve);
          }),
  });
}
