// When the timer scan runs: at the earliest time for which it was woken, and `everyMs` after the
// last scan at the latest. There is one scan at a time. If its time comes while a scan is in
// progress, another one follows at once.
import type { Clock, Timer } from "../clock.ts";

export interface ScanLoop {
  start(): void;
  /** No scan begins by itself any more; one in progress goes on. */
  stop(): void;
  /** The next scan begins at this monotonic time at the latest. */
  wake(atMs: number): void;
  /** Scans now, unless a scan is in progress: then it returns that one. It never rejects. */
  scanOnce(): Promise<number>;
  /** The scan in progress; null: there is none. */
  inProgress(): Promise<number> | null;
}

interface ScanLoopOptions {
  readonly clock: Clock;
  readonly everyMs: number;
  /** Returns how many rows were due. */
  readonly scan: () => Promise<number>;
  readonly onError: (error: unknown) => void;
}

interface State {
  readonly options: ScanLoopOptions;
  running: boolean;
  timer: Timer | null;
  /** When the timer fires, by the monotonic clock. */
  wakeAtMs: number;
  inProgress: Promise<number> | null;
  /** Another scan follows the one in progress at once. */
  again: boolean;
}

export function createScanLoop(options: ScanLoopOptions): ScanLoop {
  const { clock } = options;
  const state: State = {
    options,
    running: false,
    timer: null,
    wakeAtMs: Number.POSITIVE_INFINITY,
    inProgress: null,
    again: false,
  };
  return Object.freeze({
    start() {
      if (state.running) return;
      state.running = true;
      wake(state, clock.monotonicMs());
    },
    stop() {
      state.running = false;
      state.timer?.cancel();
    },
    wake: (atMs: number) => wake(state, atMs),
    scanOnce: () => scanOnce(state),
    inProgress: () => state.inProgress,
  });
}

function wake(state: State, atMs: number): void {
  if (!state.running || atMs >= state.wakeAtMs) return;
  const { clock } = state.options;
  state.wakeAtMs = atMs;
  state.timer?.cancel();
  state.timer = clock.after(Math.max(0, atMs - clock.monotonicMs()), () => {
    state.wakeAtMs = Number.POSITIVE_INFINITY;
    // The scan in progress began before this time: it may have missed what is due.
    if (state.inProgress) state.again = true;
    else void scanOnce(state);
  });
}

function scanOnce(state: State): Promise<number> {
  const { clock, everyMs, scan, onError } = state.options;
  state.inProgress ??= scan()
    .catch((error: unknown) => {
      onError(error);
      return 0;
    })
    .finally(() => {
      state.inProgress = null;
      wake(state, clock.monotonicMs() + (state.again ? 0 : everyMs));
      state.again = false;
    });
  return state.inProgress;
}
