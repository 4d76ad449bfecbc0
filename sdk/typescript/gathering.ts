/**
 * Gathering: items share a call.
 *
 *   queued -> under way -> done
 *      ^----------'  (it has to be sent again)
 *
 * While no call is under way an item goes out at once, with all that come in the same turn of the
 * event loop. What comes while a call is under way goes with the next one, as soon as that is
 * answered: so calls grow with the time that they take, and no timer delays an item. A full call
 * waits for no other, and neither does the next one when a call is slow; four are under way at
 * most.
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
  /** Makes one call; begins as soon as its items leave the queue, and never rejects. */
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
  /** Items that go out with the next calls; none while it rests after one that went wrong. */
  pending(): number;
  /** Resolves as soon as nothing is left to send. */
  flushed(): Promise<void>;
  /** Drops what is left. */
  stop(): void;
}

/** A call that is under way for longer holds up no other. */
const slowMs = 250;
/** The message limit is 4 MiB. */
const bytesMax = 3 * 1024 * 1024;
const inFlightMax = 4;

export function createGathering<T>(options: GatheringOptions<T>): Gathering<T> {
  const { clock, itemsMax, sizeMax, send } = options;
  let queue: T[] = [];
  let inFlight = 0;
  let lastSentMs = 0;
  let notBeforeMs = 0;
  let batchMax = itemsMax;
  let timer: { readonly atMs: number; readonly set: Timer } | null = null;
  let pumpsSoon = false;
  const waiters: (() => void)[] = [];
  let stopped = false;
  const backoff = createBackoff(clock);

  function pump(): void {
    while (!stopped && queue.length > 0 && inFlight < inFlightMax) {
      const nowMs = clock.monotonicMs();
      const dueMs = nextCallMs();
      if (dueMs > nowMs) {
        pumpAt(dueMs, nowMs);
        return;
      }
      lastSentMs = nowMs;
      void sendBatch(takeBatch());
    }
    if (queue.length === 0 && inFlight === 0) {
      for (const resolve of waiters.splice(0)) resolve();
    }
  }

  function nextCallMs(): number {
    const waits = inFlight > 0 && queue.length < batchMax;
    return waits ? Math.max(lastSentMs + slowMs, notBeforeMs) : notBeforeMs;
  }

  function pumpAt(atMs: number, nowMs: number): void {
    if (timer?.atMs === atMs) return;
    timer?.set.cancel();
    const set = clock.after(atMs - nowMs, () => {
      timer = null;
      pump();
    });
    timer = { atMs, set };
  }

  /** What ends in one turn shares a call. */
  function pumpSoon(): void {
    if (pumpsSoon) return;
    pumpsSoon = true;
    clock.soon(() => {
      pumpsSoon = false;
      pump();
    });
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
      pumpSoon();
    },
    pending: () => (notBeforeMs <= clock.monotonicMs() ? queue.length : 0),
    flushed(): Promise<void> {
      return new Promise((resolve) => {
        waiters.push(resolve);
        pump();
      });
    },
    stop(): void {
      stopped = true;
      timer?.set.cancel();
      timer = null;
    },
  });
}
