/**
 * Gathering: items share a call.
 *
 *   queued -> under way -> done
 *      ^----------'  (it has to be sent again)
 *
 * While no call is under way, an item is sent at once, with all that are added in the same turn of
 * the event loop. Items that are added while a call is under way are sent together as soon as it is
 * answered: so calls grow with the time that they take, and no timer delays an item. A full call
 * waits for no other, and neither does the next one when a call is slow; four are under way at
 * most.
 */
import { type Backoff, createBackoff } from "./backoff.ts";
import type { DroverCallError } from "./call-error.ts";
import type { Clock, Timer } from "./clock.ts";

export interface GatheringOptions<T> {
  readonly clock: Clock;
  /** Of one call. */
  readonly itemsMax: number;
  /** At most how many bytes an item takes in a message. */
  readonly sizeMax: (item: T) => number;
  /** Makes one call; called as soon as its items leave the queue, and never rejects. */
  readonly send: (batch: readonly T[]) => Promise<Sent<T>>;
}

/** The result of a call. */
export type Sent<T> =
  /** It was answered; `again` is to be sent once more, after a wait. */
  | { readonly kind: "answered"; readonly again: readonly T[] }
  /** It is unknown whether it took effect: all of it is to be sent again, after a wait. */
  | { readonly kind: "failed"; readonly error: DroverCallError }
  /** It was refused as a whole: `again` is to be sent once more, after a wait, each alone. */
  | { readonly kind: "refused"; readonly error: DroverCallError; readonly again: readonly T[] }
  /** It was refused for one of its items: each is sent alone, to find out which. */
  | { readonly kind: "spoiled" };

export interface Gathering<T> {
  add(item: T): void;
  /** Number of items that the next calls send; 0 during the wait after a failed call. */
  pending(): number;
  /** Resolves as soon as nothing is left to send. */
  flushed(): Promise<void>;
  /** Drops what is left. */
  stop(): void;
}

/** The next call waits no longer than this for one under way. */
const slowMs = 250;
/** The message limit is 4 MiB. */
const bytesMax = 3 * 1024 * 1024;
const inFlightMax = 4;

interface State<T> extends GatheringOptions<T> {
  queue: T[];
  inFlight: number;
  lastSentMs: number;
  /** End of the wait after a failed call. */
  notBeforeMs: number;
  /** Items of the next call: 1 after a refused call, until one is answered. */
  batchMax: number;
  timer: { readonly atMs: number; readonly set: Timer } | null;
  /** A pump at the end of this turn is planned. */
  pumpsSoon: boolean;
  /** Of `flushed`. */
  readonly waiters: (() => void)[];
  stopped: boolean;
  readonly backoff: Backoff;
}

export function createGathering<T>(options: GatheringOptions<T>): Gathering<T> {
  const { clock, itemsMax } = options;
  const state: State<T> = {
    ...options,
    queue: [],
    inFlight: 0,
    lastSentMs: 0,
    notBeforeMs: 0,
    batchMax: itemsMax,
    timer: null,
    pumpsSoon: false,
    waiters: [],
    stopped: false,
    backoff: createBackoff(clock),
  };
  return Object.freeze({
    add(item: T): void {
      state.queue.push(item);
      pumpSoon(state);
    },
    pending: () => (state.notBeforeMs <= clock.monotonicMs() ? state.queue.length : 0),
    flushed: () => flushed(state),
    stop: () => stop(state),
  });
}

/** Items that are added in one turn share a call. */
function pumpSoon<T>(state: State<T>): void {
  if (state.pumpsSoon) return;
  state.pumpsSoon = true;
  state.clock.soon(() => {
    state.pumpsSoon = false;
    pump(state);
  });
}

/** Makes all calls that may be made now, and plans the next one. */
function pump<T>(state: State<T>): void {
  while (!state.stopped && state.queue.length > 0 && state.inFlight < inFlightMax) {
    const nowMs = state.clock.monotonicMs();
    const dueMs = nextCallMs(state);
    if (dueMs > nowMs) {
      pumpAt(state, dueMs, nowMs);
      return;
    }
    state.lastSentMs = nowMs;
    void sendBatch(state, takeBatch(state));
  }
  if (state.queue.length === 0 && state.inFlight === 0) {
    for (const resolve of state.waiters.splice(0)) resolve();
  }
}

function nextCallMs<T>({ queue, inFlight, batchMax, lastSentMs, notBeforeMs }: State<T>): number {
  const waits = inFlight > 0 && queue.length < batchMax;
  return waits ? Math.max(lastSentMs + slowMs, notBeforeMs) : notBeforeMs;
}

function pumpAt<T>(state: State<T>, atMs: number, nowMs: number): void {
  if (state.timer?.atMs === atMs) return;
  state.timer?.set.cancel();
  const set = state.clock.after(atMs - nowMs, () => {
    state.timer = null;
    pump(state);
  });
  state.timer = { atMs, set };
}

function takeBatch<T>({ queue, batchMax, sizeMax }: State<T>): T[] {
  let bytes = 0;
  let count = 0;
  for (const item of queue.slice(0, batchMax)) {
    bytes += sizeMax(item);
    if (count > 0 && bytes > bytesMax) break;
    count += 1;
  }
  return queue.splice(0, count);
}

async function sendBatch<T>(state: State<T>, batch: readonly T[]): Promise<void> {
  state.inFlight += 1;
  try {
    settle(state, batch, await state.send(batch));
  } finally {
    state.inFlight -= 1;
    pump(state);
  }
}

function settle<T>(state: State<T>, batch: readonly T[], sent: Sent<T>): void {
  switch (sent.kind) {
    case "answered":
      state.backoff.reset();
      state.batchMax = state.itemsMax;
      if (sent.again.length > 0) repeat(state, sent.again, undefined);
      return;
    case "failed":
      repeat(state, batch, sent.error);
      return;
    case "refused":
      state.batchMax = 1;
      repeat(state, sent.again, sent.error);
      return;
    case "spoiled":
      state.batchMax = 1;
      state.queue = [...batch, ...state.queue];
  }
}

function repeat<T>(state: State<T>, batch: readonly T[], error: DroverCallError | undefined): void {
  state.queue = [...batch, ...state.queue];
  const nowMs = state.clock.monotonicMs();
  // Calls that fail together are one failure.
  if (nowMs >= state.notBeforeMs) state.notBeforeMs = nowMs + state.backoff.nextMs(error);
}

function flushed<T>(state: State<T>): Promise<void> {
  return new Promise((resolve) => {
    state.waiters.push(resolve);
    pump(state);
  });
}

function stop<T>(state: State<T>): void {
  state.stopped = true;
  state.timer?.set.cancel();
  state.timer = null;
}
