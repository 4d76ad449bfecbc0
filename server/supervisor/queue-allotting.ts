// Divides the limits of queues among the shards of a store (store/queue-shares.ts): the owner of
// the first partition once a second, and every process at once when one of its claims has found a
// limit reached. Only a store of several shards needs it.
import type { Clock, Timer } from "../clock.ts";
import { createLoop, type Loop } from "../loop.ts";
import { ALLOT_EVERY_MS } from "../store/queue-shares.ts";

/** Least time between two allotments of one process. */
const APART_MS = 100;

export interface QueueAllotting extends Loop {
  /** A claim has found that a queue has reached a limit: another shard may have units left. */
  wanted(): void;
}

interface QueueAllottingOptions {
  /** Never two at once. */
  readonly allot: () => Promise<void>;
  readonly isOwner: () => boolean;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

export function createQueueAllotting(options: QueueAllottingOptions): QueueAllotting {
  const { allot, isOwner, clock, onError } = options;
  let under: Promise<void> | null = null;
  let timer: Timer | null = null;
  let stopped = false;
  let endedAtMs = Number.NEGATIVE_INFINITY;

  function once(): Promise<void> {
    under ??= allot().finally(() => {
      under = null;
      endedAtMs = clock.monotonicMs();
    });
    return under;
  }

  const loop = createLoop({
    clock,
    everyMs: ALLOT_EVERY_MS,
    runOnce: async () => {
      if (isOwner()) await once();
    },
    onError,
  });
  return Object.freeze({
    ...loop,
    wanted() {
      if (timer || stopped) return;
      const inMs = under ? APART_MS : Math.max(0, endedAtMs + APART_MS - clock.monotonicMs());
      timer = clock.after(inMs, () => {
        timer = null;
        once().catch(onError);
      });
    },
    async stop() {
      stopped = true;
      timer?.cancel();
      await loop.stop();
      await under?.catch(() => undefined);
    },
  } satisfies QueueAllotting);
}
