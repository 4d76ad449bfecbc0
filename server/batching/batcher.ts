// Batches that form by themselves. A batch is flushed at once while its bucket has a token: a
// single call waits for no other, and no timer is set while the machine has capacity. Otherwise it
// is flushed when the next token arrives, when `fullAt` items are pending, or when the pending
// items exceed the sizes of one batch.
//
//   item: pending → in flight → resolved, or pending again ("again": another transaction holds its
//   row; "postponed": this batch did not try it)
//
// A batch that fails with a retryable error is tried once more; else it is split in halves until
// the bad item fails alone. Items with the same key are in one batch at a time; after MISSES_MAX
// tries an item is alone in its batch and may wait for the row. batch-queue.ts decides which items
// are in the next batch. The queue is bounded for callers: a call without room is refused with
// OVERLOADED, and its caller repeats it.

import type { Clock, Timer } from "../clock.ts";
import { DroverError, isStoreUnavailable } from "../errors.ts";
import { type BatchQueue, createBatchQueue, type FormedBatch, type Share } from "./batch-queue.ts";
import { createTokenBucket, type TokenBucket, type TokenBucketSize } from "./token-bucket.ts";

const MISSES_MAX = 3;
const OVERLOADED_RETRY_MS = 250;
/**
 * For batches that callers wait for: 200 a second, and 20 at once after a pause. At saturation they
 * are 5 ms apart.
 */
export const FLUSH_BUCKET: TokenBucketSize = { everyMs: 5, capacity: 20 };

export type ItemResult<Result> =
  | { readonly kind: "done"; readonly result: Result }
  | { readonly kind: "failed"; readonly error: unknown }
  /** Another transaction holds its row: it is pending again, and at last alone in its batch. */
  | { readonly kind: "again" }
  /** The batch had no room for it: it is pending again, and that is no miss. */
  | { readonly kind: "postponed" };

interface BatcherOptions<Item, Result> {
  readonly name: string;
  readonly clock: Clock;
  /** A token for each batch. */
  readonly bucket: TokenBucketSize;
  /** With this number of pending items a batch waits for no token. */
  readonly fullAt: number;
  /** Most items of one batch. */
  readonly itemsMax: number;
  /** Most of the sizes of its items together; a single item may be larger. Left out: no bound. */
  readonly sizeMax?: number;
  /** Batches in flight with items of one share; of all shares together twice as many. */
  readonly inFlightMax: number;
  /** Items that may wait before callers are refused; left out: there are no callers. */
  readonly waitingMax?: number;
  /** Items of one key are in one batch at a time; left out: items have no keys. */
  readonly keyOf?: (item: Item) => string;
  /** Left out: 1. */
  readonly sizeOf?: (item: Item) => number;
  /** Left out: all are of one share. */
  readonly shareOf?: (item: Item) => Share;
  /** The same batch may be tried again as it is. */
  readonly isRetryable: (error: unknown) => boolean;
  /** Called after each batch, applied or failed: how many items it had, and how long it took. */
  readonly onFlushed?: OnFlushed | undefined;
  /** One result for each item, in order. `wait`: a batch that may wait for locks. */
  readonly flush: (items: readonly Item[], wait: boolean) => Promise<readonly ItemResult<Result>[]>;
}

/** Called with the batch's name, item count and duration. */
export type OnFlushed = (name: string, items: number, ms: number) => void;

export interface Batcher<Item, Result> {
  /**
   * The items of one call. Throws OVERLOADED, and does not call `submit`, if `count` more items
   * have no room to wait. What `submit` submits before it returns is in one batch, if the batch has
   * room.
   */
  admit<T>(count: number, submit: () => T): T;
  submit(item: Item): Promise<Result>;
  /**
   * Work of the server itself. It is never refused, because nothing would repeat it in time: while
   * callers fill the queue, no silent agent would be noticed. The part that submits it bounds it.
   */
  submitOwn(item: Item): Promise<Result>;
  /** Items that wait, and batches that are in flight. */
  load(): { readonly waiting: number; readonly inFlight: number };
  /** Resolves when nothing is pending and nothing in flight. */
  idle(): Promise<void>;
}

interface Pending<Item, Result> {
  readonly item: Item;
  readonly share: Share;
  readonly key: string | null;
  readonly size: number;
  misses: number;
  isPatient: boolean;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

interface State<Item, Result> {
  readonly options: BatcherOptions<Item, Result>;
  readonly queue: BatchQueue<Pending<Item, Result>>;
  readonly bucket: TokenBucket;
  /** Called once nothing is pending and nothing in flight. */
  readonly idlers: (() => void)[];
  /** Flushes when the next token arrives; null: nothing waits for a token. */
  timer: Timer | null;
  /** A call is submitting its items: more of them will follow. */
  isSubmitting: boolean;
}

export function createBatcher<Item, Result>(
  options: BatcherOptions<Item, Result>,
): Batcher<Item, Result> {
  const state: State<Item, Result> = {
    options,
    queue: createBatchQueue(options),
    bucket: createTokenBucket(options.clock, options.bucket),
    idlers: [],
    timer: null,
    isSubmitting: false,
  };
  return Object.freeze({
    admit: (count, submit) => admit(state, count, submit),
    submit: (item) => submit(state, item),
    submitOwn: (item) => submitOwn(state, item),
    load: () => ({ waiting: state.queue.pending(), inFlight: state.queue.inFlight() }),
    idle: () => idle(state),
  } satisfies Batcher<Item, Result>);
}

function admit<Item, Result, T>(state: State<Item, Result>, count: number, submit: () => T): T {
  expectRoom(state, count);
  state.isSubmitting = true;
  try {
    return submit();
  } finally {
    state.isSubmitting = false;
    flushDue(state);
  }
}

async function submit<Item, Result>(state: State<Item, Result>, item: Item): Promise<Result> {
  expectRoom(state, 1);
  return submitOwn(state, item);
}

function submitOwn<Item, Result>(state: State<Item, Result>, item: Item): Promise<Result> {
  const { options, queue } = state;
  return new Promise((resolve, reject) => {
    const key = options.keyOf?.(item) ?? null;
    const share = options.shareOf?.(item) ?? null;
    const size = options.sizeOf?.(item) ?? 1;
    queue.add({ item, share, key, size, misses: 0, isPatient: false, resolve, reject });
    flushDue(state);
  });
}

function expectRoom<Item, Result>({ options, queue }: State<Item, Result>, count: number): void {
  const { name, waitingMax = Number.POSITIVE_INFINITY } = options;
  if (queue.pending() + count <= waitingMax) return;
  throw new DroverError(
    "OVERLOADED",
    `${queue.pending()} calls wait for the store already: try again a little later`,
    { retryAfterMs: OVERLOADED_RETRY_MS, metadata: { batch: name } },
  );
}

function flushDue<Item, Result>(state: State<Item, Result>): void {
  const { options, queue, bucket } = state;
  if (state.isSubmitting) return;
  for (let ready = queue.ready(); ready > 0; ready = queue.ready()) {
    const waitMs = bucket.waitMs();
    if (waitMs > 0 && ready < options.fullAt && !queue.exceedsOneBatch()) {
      flushIn(state, waitMs);
      return;
    }
    const batch = queue.next();
    if (!batch) return;
    flush(state, batch);
  }
}

function flushIn<Item, Result>(state: State<Item, Result>, ms: number): void {
  if (state.timer) return;
  state.timer = state.options.clock.after(ms, () => {
    state.timer = null;
    flushDue(state);
  });
}

function flush<Item, Result>(
  state: State<Item, Result>,
  batch: FormedBatch<Pending<Item, Result>>,
): void {
  const { options, queue, bucket, idlers } = state;
  const { name, clock } = options;
  const { items } = batch;
  bucket.take();
  const flushedAtMs = clock.monotonicMs();
  const wait = items.some(({ isPatient }) => isPatient);
  void apply(state, items, wait).finally(() => {
    options.onFlushed?.(name, items.length, clock.monotonicMs() - flushedAtMs);
    queue.finished(batch);
    flushDue(state);
    if (isIdle(state)) for (const idler of idlers.splice(0)) idler();
  });
}

async function apply<Item, Result>(
  state: State<Item, Result>,
  batch: readonly Pending<Item, Result>[],
  wait: boolean,
  tries = 0,
): Promise<void> {
  const { options } = state;
  try {
    const results = await options.flush(
      batch.map(({ item }) => item),
      wait,
    );
    for (const [index, pending] of batch.entries()) resolveItem(state, pending, results[index]);
  } catch (error) {
    if (options.isRetryable(error) && tries === 0) return apply(state, batch, wait, 1);
    // A store that is unavailable is so for all items: halves would only send more requests.
    if (batch.length === 1 || isStoreUnavailable(error)) {
      const held = options.isRetryable(error) && !isStoreUnavailable(error);
      const cause = held ? heldElsewhere(error) : error;
      for (const pending of batch) pending.reject(cause);
      return;
    }
    const half = Math.ceil(batch.length / 2);
    await apply(state, batch.slice(0, half), wait);
    await apply(state, batch.slice(half), wait);
  }
}

function resolveItem<Item, Result>(
  { options, queue }: State<Item, Result>,
  pending: Pending<Item, Result>,
  result: ItemResult<Result> | undefined,
): void {
  if (result?.kind === "done") pending.resolve(result.result);
  else if (result?.kind === "failed") pending.reject(result.error);
  else if (result?.kind === "postponed") queue.add(pending);
  else if (result?.kind === "again" && pending.misses <= MISSES_MAX) {
    pending.misses += 1;
    pending.isPatient = pending.misses >= MISSES_MAX;
    queue.add(pending);
  } else pending.reject(new Error(`an item of batch "${options.name}" got no answer`));
}

/**
 * The batch was tried twice, and another transaction held its rows both times. Nothing has changed,
 * and the call may be repeated.
 */
function heldElsewhere(cause: unknown): DroverError {
  return new DroverError(
    "STORE_UNAVAILABLE",
    "another transaction holds what this call needs: repeat it",
    { retryAfterMs: OVERLOADED_RETRY_MS, cause },
  );
}

function idle<Item, Result>(state: State<Item, Result>): Promise<void> {
  if (isIdle(state)) return Promise.resolve();
  return new Promise((resolve) => state.idlers.push(resolve));
}

function isIdle<Item, Result>({ queue }: State<Item, Result>): boolean {
  return queue.inFlight() === 0 && queue.pending() === 0;
}
