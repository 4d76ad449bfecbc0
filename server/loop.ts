// A part that does the same thing again and again: `runOnce` apart from the loop, so that a test
// calls it directly. The next round begins so long after the last has ended; a round that throws is
// told and does not end the loop. Starting and stopping twice is fine.
import type { Clock, Timer } from "./clock.ts";

export interface Loop {
  start(): void;
  /** Resolves when the round under way has ended. */
  stop(): Promise<void>;
  runOnce(): Promise<void>;
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

  const runOnce = (): Promise<void> => options.runOnce().catch(options.onError);

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
