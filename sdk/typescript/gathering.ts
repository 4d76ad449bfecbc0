/**
 * Gathering: items of one moment share a call.
 *
 *   queued -> under way -> done
 *      ^----------'  (it has to be sent again)
 *
 * A lonely item goes out at once; in a busy program those of 2 ms go together, as many as a call
 * takes, and four calls in flight.
 */
import { createBackoff } from "./backoff.ts";
import type { DroverCallError } from "./call-error.ts";
import type { Clock, Timer } from "./clock.ts";

export interface GatheringOptions<T> {
  readonly clock: Clock;
  /** Of one call. */
  readonly itemsMax: number;
  /** At most how many bytes an item takes in a message. */
  readonly sizeMax: (item: T) => number;
  /** Makes one call; begins in the turn in which its items leave the queue, and never rejects. */
  readonly send: (batch: readonly T[]) => Promise<Sent<T>>;
}

/** What came of a call. */
export type Sent<T> =
  /** It was answered; `again` is to be sent once more, after a rest. */
  | { readonly kind: "answered"; readonly again: readonly T[] }
  /** It said nothing definite: all of it is to be sent again, after a rest. */
  | { readonly kind: "failed"; readonly error: DroverCallError }
  /** It was refused as a whole: `again` is to be sent once more, after a rest, each alone. */
  | { readonly kind: "refused"; readonly error: DroverCallError; readonly again: readonly T[] }
  /** One of its items must be why it was refused; alone, each finds out. */
  | { readonly kind: "spoiled" };

export interface Gathering<T> {
  add(item: T): void;
  /** Whether a call is about to go out. */
  pending(): boolean;
  /** Resolves as soon as nothing is left to send. */
  flushed(): Promise<void>;
  /** Drops what is left. */
  stop(): void;
}

const spacingMs = 2;
/** The message limit is 4 MiB. */
const bytesMax = 3 * 1024 * 1024;
const inFlightMax = 4;

export function createGathering<T>(options: GatheringOptions<T>): Gathering<T> {
  const { clock, itemsMax, sizeMax, send } = options;
  let queue: T[] = [];
  let inFlight = 0;
  let lastSentMs = -spacingMs;
  let notBeforeMs = 0;
  let batchMax = itemsMax;
  let timer: Timer | null = null;
  const waiters: (() => void)[] = [];
  let stopped = false;
  const backoff = createBackoff(clock);

  function pump(): void {
    while (!stopped && queue.length > 0 && inFlight < inFlightMax && timer === null) {
      const nowMs = clock.monotonicMs();
      const full = queue.length >= itemsMax ? 0 : lastSentMs + spacingMs;
      const dueMs = Math.max(full, notBeforeMs);
      if (dueMs > nowMs) {
        timer = clock.after(dueMs - nowMs, () => {
          timer = null;
          pump();
        });
        return;
      }
      lastSentMs = nowMs;
      void sendBatch(takeBatch());
    }
    if (queue.length === 0 && inFlight === 0) {
      for (const resolve of waiters.splice(0)) resolve();
    }
  }

  function takeBatch(): T[] {
    let bytes = 0;
    let count = 0;
    for (const item of queue.slice(0, batchMax)) {
      bytes += sizeMax(item);
      if (count > 0 && bytes > bytesMax) break;
      count += 1;
    }
    return queue.splice(0, count);
  }

  async function sendBatch(batch: readonly T[]): Promise<void> {
    inFlight += 1;
    try {
      settle(batch, await send(batch));
    } finally {
      inFlight -= 1;
      pump();
    }
  }

  function settle(batch: readonly T[], sent: Sent<T>): void {
    switch (sent.kind) {
      case "answered":
        backoff.reset();
        batchMax = itemsMax;
        if (sent.again.length > 0) repeat(sent.again, undefined);
        return;
      case "failed":
        repeat(batch, sent.error);
        return;
      case "refused":
        batchMax = 1;
        repeat(sent.again, sent.error);
        return;
      case "spoiled":
        batchMax = 1;
        queue = [...batch, ...queue];
    }
  }

  function repeat(batch: readonly T[], error: DroverCallError | undefined): void {
    queue = [...batch, ...queue];
    const nowMs = clock.monotonicMs();
    // Calls that fail together are one failure.
    if (nowMs >= notBeforeMs) notBeforeMs = nowMs + backoff.nextMs(error);
  }

  return Object.freeze({
    add(item: T): void {
      queue.push(item);
      if (queue.length >= itemsMax && notBeforeMs <= clock.monotonicMs()) {
        timer?.cancel();
        timer = null;
      }
      pump();
    },
    pending: () => queue.length > 0 && notBeforeMs <= clock.monotonicMs(),
    flushed(): Promise<void> {
      return new Promise((resolve) => {
        waiters.push(resolve);
        pump();
      });
    },
    stop(): void {
      stopped = true;
      timer?.cancel();
      timer = null;
    },
  });
}
