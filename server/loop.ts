// A part that does the same work again and again. `runOnce` is separate from the loop, so that a
// test calls it directly. The next round begins `everyMs` after the last one has ended. A round
// that throws is reported and does not end the loop. Starting and stopping twice has no effect.
import type { Clock, Timer } from "./clock.ts";

const LOGGED_EVERY_MS = 60_000;

export interface Loop {
  start(): void;
  /** Resolves when the round in progress has ended. */
  stop(): Promise<void>;
  runOnce(): Promise<void>;
}

/** Of failures in a row, the first is passed on, and then one a minute. */
function throttledFailures(
  clock: Pick<Clock, "monotonicMs">,
  onError: (error: unknown) => void,
): { failed(error: unknown): void; ended(): void } {
  let reportedAtMs = Number.NEGATIVE_INFINITY;
  return Object.freeze({
    failed(error: unknown): void {
      const now = clock.monotonicMs();
      if (now - reportedAtMs < LOGGED_EVERY_MS) return;
      reportedAtMs = now;
      onError(error);
    },
    ended(): void {
      reportedAtMs = Number.NEGATIVE_INFINITY;
    },
  });
}

export function createLoop(options: {
  readonly clock: Clock;
  readonly everyMs: number;
  readonly runOnce: () => Promise<void>;
  readonly onError: (error: unknown) => void;
}): Loop {
  let timer: Timer | null = null;
  let running = false;
  let under: Promise<void> = Promise.resolve();

  const failures = throttledFailures(options.clock, options.onError);
  const runOnce = (): Promise<void> => options.runOnce().then(failures.ended, failures.failed);

  function plan(): void {
    if (!running) return;
    timer = options.clock.after(options.everyMs, () => {
      under = runOnce().finally(plan);
    });
  }

  return Object.freeze({
    start() {
      if (running) return;
      running = true;
      plan();
    },
    async stop() {
      running = false;
      timer?.cancel();
      await under;
    },
    runOnce,
  });
}
