// Once a minute, in small batches: sessions that fell silent long ago, pollers that left, keys that
// have expired. Every server does it; two at once only find less to do.
import type { Logger } from "pino";
import type { Clock, Timer } from "../clock.ts";
import type { Store } from "../store/store.ts";

const EVERY_MS = 60_000;
const ROWS_MAX = 1_000;

export interface Housekeeping {
  start(): void;
  stop(): Promise<void>;
  runOnce(): Promise<void>;
}

export function createHousekeeping(
  store: Pick<Store, "forgetOld">,
  clock: Clock,
  log: Logger,
): Housekeeping {
  let timer: Timer | null = null;
  let running = false;
  let under: Promise<void> = Promise.resolve();

  async function runOnce(): Promise<void> {
    await store
      .forgetOld(ROWS_MAX)
      .catch((error: unknown) => log.debug({ event: "housekeeping.failed", err: String(error) }));
  }

  function plan(): void {
    if (!running) return;
    timer = clock.after(EVERY_MS, () => {
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
