// Counts the calls in progress, and ends the acceptance of new ones.
//
//   open → draining (begin: parked calls are notified, new ones are refused) → idle (no calls)
//
// A plain set instead of an AbortSignal: ten thousand parked polls come and go, and a signal
// removes its listeners from a list one by one.
export interface Drain {
  readonly isDraining: boolean;
  readonly inFlight: number;
  /** Calls in progress that do more than wait. */
  readonly working: number;
  /** Counts a call in; the returned function counts it out, once. */
  enter(kind?: CallKind): () => void;
  /**
   * Calls `notify` when the drain begins, or at once if it has started. Returns a function that
   * unsubscribes.
   */
  onBegin(notify: () => void): () => void;
  begin(): void;
  /** Resolves as soon as no call is in progress. */
  idle(): Promise<void>;
}

/** A waiting call takes no room from working calls. */
type CallKind = "working" | "waiting";

export function createDrain(): Drain {
  let isDraining = false;
  let inFlight = 0;
  let working = 0;
  const listeners = new Set<() => void>();
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
    get isDraining() {
      return isDraining;
    },
    get inFlight() {
      return inFlight;
    },
    get working() {
      return working;
    },
    enter,
    onBegin(notify: () => void) {
      if (isDraining) notify();
      else listeners.add(notify);
      return () => void listeners.delete(notify);
    },
    begin() {
      isDraining = true;
      const called = [...listeners];
      listeners.clear();
      for (const notify of called) notify();
    },
    idle: () =>
      inFlight === 0
        ? Promise.resolve()
        : new Promise<void>((resolve) => {
            waiters.push(resolve);
          }),
  });
}
