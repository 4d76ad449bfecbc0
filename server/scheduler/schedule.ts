// Accepts runs: reserves the key, stores the run with its first ready steps, and hands these over
// to waiting agents in the same transaction. Many Schedule calls share a transaction; a
// ScheduleBatch has its own in each shard.
//
// A run with a concurrency key begins in the place of that key, so all runs of the key are in one
// shard. Any other run with an idempotency key begins in the place of that one. A run with both
// has the place of its concurrency key; if that is another shard than the one of its idempotency
// key, the latter first keeps, in its own shard, where the run begins (key-places.ts). A run
// without a key begins in the shard whose next batch it reaches first.

import {
  type Batcher,
  createBatcher,
  FLUSH_BUCKET,
  type ItemResult,
  type OnFlushed,
} from "../batching/batcher.ts";
import type { Clock, Random } from "../clock.ts";
import { isEnded } from "../core/model/model.ts";
import { DroverError, failedOver, isStoreUnavailable } from "../errors.ts";
import { ONLY_SHARD, partitionOf, type ShardNumber, shardOf } from "../store/partition.ts";
import type { KnownPlans, Plans } from "../store/plans.ts";
import type { Shards } from "../store/shards.ts";
import type { EngineStore, KeyHolder, Tx } from "../store/store.ts";
import { NOTHING_WRITTEN } from "../store/written.ts";
import { commitAndPublish, type HandOver, slowAfterOf } from "./advance.ts";
import { type BatchSize, batchSize } from "./batch-size.ts";
import { beginChildren } from "./children.ts";
import type { CommitSummary, Worked } from "./commit-summary.ts";
import { createItemFinder } from "./item-finder.ts";
import { laneOfPass } from "./item-lanes.ts";
import type { KeyPlaces } from "./key-places.ts";
import {
  begin,
  placingKey,
  type Scheduled,
  type ScheduleItem,
  type StartedRun,
} from "./new-run.ts";
import { type KeyedRun, noPermit, openPermits, type PermitBudget } from "./permits.ts";
import type { Admit } from "./rate-limit.ts";
import { inPlace, newRunId, type PlaceOfKey } from "./run-id.ts";
import { type RunTraces, withTrace } from "./run-traces.ts";
import { scheduleBatch } from "./schedule-batch.ts";
import type { BatchAnswer, ScheduleRequest } from "./scheduler.ts";
import type { TypicalDurations } from "./typical-durations.ts";

const FULL_AT = 500;
const ITEMS_MAX = 500;
const WAITING_MAX = 20_000;
const BATCHES_WAITING_MAX = 100;
const RETRY_MS = 250;
/** A key is kept for 30 days, and at least until its run has ended. */
export const KEY_RETENTION_MS = 30 * 24 * 60 * 60 * 1_000;

export interface ScheduleOptions {
  readonly store: EngineStore;
  readonly plans: Plans & Pick<KnownPlans, "isCurrent">;
  readonly clock: Clock;
  readonly random: Random;
  readonly handOver: HandOver;
  readonly typical: TypicalDurations;
  readonly publish: (summary: CommitSummary) => void;
  readonly isRetryable: (error: unknown) => boolean;
  /** Called with each error after a commit. */
  readonly onError: (error: unknown) => void;
  readonly onFlushed?: OnFlushed | undefined;
  /** Left out: there is no rate limit. */
  readonly admitRun?: Admit;
  /** Why `admitRun` would refuse a run now; left out: it would not. */
  readonly runRefusal?: Admit;
  /** Left out: runs are part of the trace that their caller names, and of no other. */
  readonly traces?: RunTraces | undefined;
  /** Calls that may wait; left out: 20,000. */
  readonly waitingMax?: number | undefined;
  /** The shard in which the runs begin; left out: the only one. */
  readonly shard?: ShardNumber;
  readonly placeOfKey: PlaceOfKey;
  /** Of all shards; left out: that of the store. */
  readonly incarnation?: () => number;
}

type Item = ScheduleItem;

/** Begins the runs of one shard. */
export interface RunStarts {
  submit(item: ScheduleItem): Promise<Scheduled>;
  /** In one transaction; in several if it begins too much. */
  submitBatch(items: readonly ScheduleItem[]): Promise<readonly ItemResult<Scheduled>[]>;
  /** Of single calls. */
  load: Batcher<ScheduleItem, Scheduled>["load"];
  idle(): Promise<void>;
}

export function createRunStarts(options: ScheduleOptions): RunStarts {
  const calls = batcherOfCalls(options);
  const batches = batcherOfBatches(options);
  return Object.freeze({
    submit: calls.submit,
    submitBatch: (items) => flushAll(batches, items),
    load: calls.load,
    idle: async () => void (await Promise.all([calls.idle(), batches.idle()])),
  } satisfies RunStarts);
}

export interface Schedule {
  schedule(request: ScheduleRequest): Promise<Scheduled>;
  scheduleBatch(requests: readonly ScheduleRequest[]): Promise<readonly BatchAnswer[]>;
  /** Begins a run whose definition was found. */
  submit(item: ScheduleItem): Promise<Scheduled>;
  idle(): Promise<void>;
}

/** Begins runs in all shards. */
export function createSchedule(
  options: Parameters<typeof createItemFinder>[0] & Pick<ScheduleOptions, "placeOfKey">,
  shards: Shards<RunStarts>,
  keyPlaces: KeyPlaces,
): Schedule {
  const choose = createShardChoice(shards, options.placeOfKey);
  const isOneShard = shards.all.length === 1;
  const submit = async (item: Item): Promise<Scheduled> => {
    await keyPlaces.keep(item);
    return choose(item).submit(item);
  };
  return Object.freeze({
    schedule: async (request) => submit(await createItemFinder(options)(request)),
    scheduleBatch: (requests) =>
      scheduleBatch(createItemFinder(options), keyPlaces, { choose, isOneShard }, requests),
    submit,
    idle: async () => void (await Promise.all(shards.all.map((one) => one.idle()))),
  } satisfies Schedule);
}

/** The shard that a run begins in. */
type ShardChoice = (item: Item) => RunStarts;

function createShardChoice(shards: Shards<RunStarts>, placeOfKey: PlaceOfKey): ShardChoice {
  let turn = 0;
  return (item) => {
    const place = placeOf(item, placeOfKey);
    if (place !== null) return shards.of(place);
    turn = (turn + 1) % shards.all.length;
    return leastBusy([...shards.all.slice(turn), ...shards.all.slice(0, turn)]) ?? shards.home;
  };
}

/**
 * Of the shards with the fewest batches in flight, the one in which most runs wait: its batch is
 * flushed next, and larger batches cost less for each run.
 */
function leastBusy(all: readonly RunStarts[]): RunStarts | undefined {
  const loads = all.map((one) => ({ one, ...one.load() }));
  return loads.sort((a, b) => a.inFlight - b.inFlight || b.waiting - a.waiting)[0]?.one;
}

/** The last byte of the id of the run; null: any. */
function placeOf(item: Item, placeOfKey: PlaceOfKey): number | null {
  const key = placingKey(item);
  return key === null ? null : placeOfKey(item.request.namespace.id, key);
}

function batcherOfCalls(options: ScheduleOptions): Batcher<Item, Scheduled> {
  return createBatcher<Item, Scheduled>({
    name: "schedule",
    clock: options.clock,
    bucket: FLUSH_BUCKET,
    fullAt: FULL_AT,
    itemsMax: ITEMS_MAX,
    inFlightMax: 1,
    waitingMax: options.waitingMax ?? WAITING_MAX,
    shareOf: ({ request }) => request.namespace.id,
    isRetryable: options.isRetryable,
    onFlushed: options.onFlushed,
    async flush(items) {
      const use = { name: "schedule" };
      const committed = await commitAndPublish(options, use, (tx) => accept(options, tx, items));
      return committed.results;
    },
  });
}

type Batches = Batcher<readonly Item[], readonly ItemResult<Scheduled>[]>;

/** A ScheduleBatch is one item, so it is one transaction or none; several if it begins too much. */
function batcherOfBatches(options: ScheduleOptions): Batches {
  return createBatcher<readonly Item[], readonly ItemResult<Scheduled>[]>({
    name: "schedule-batch",
    clock: options.clock,
    bucket: { everyMs: 0, capacity: 1 },
    fullAt: 1,
    itemsMax: 1,
    inFlightMax: 1,
    waitingMax: BATCHES_WAITING_MAX,
    shareOf: ([item]) => item?.request.namespace.id ?? null,
    isRetryable: options.isRetryable,
    onFlushed: options.onFlushed,
    async flush([items = []]) {
      const use = { name: "schedule-batch" };
      const committed = await commitAndPublish(options, use, (tx) => accept(options, tx, items));
      return [{ kind: "done", result: committed.results }];
    },
  });
}

/** Items to be tried again are flushed once more: by then the first call of each key is settled. */
async function flushAll(
  batches: Batches,
  items: readonly Item[],
): Promise<readonly ItemResult<Scheduled>[]> {
  if (items.length === 0) return [];
  const results = await batches.submit(items);
  const left = items.filter((_, index) => results[index]?.kind === "again");
  const more = [...(await flushAll(batches, left).catch(partly))];
  return results.map((result) => (result.kind === "again" ? more.shift() : null) ?? result);
}

/** A part of the batch has started, so no error may say that nothing has. */
function partly(cause: unknown): never {
  if (isStoreUnavailable(cause)) throw cause;
  throw new DroverError(
    "STORE_UNAVAILABLE",
    "some runs of the batch have started, and the others could not: repeat it",
    { retryAfterMs: RETRY_MS, cause },
  );
}

/** The items of one transaction, and what has been decided about them so far. */
interface Accepting {
  readonly options: ScheduleOptions;
  readonly tx: Tx;
  readonly size: BatchSize;
  readonly holders: KeyHolders;
  readonly permits: PermitBudget;
  readonly started: StartedRun[];
  /** By the runs that would have started. */
  readonly refused: Map<string, DroverError>;
  /** Runs for which this transaction has no room. */
  readonly postponed: Set<string>;
}

/** The runs begin in the order of the items, which is also the order of their ids. */
export async function accept(
  options: ScheduleOptions,
  tx: Tx,
  items: readonly Item[],
  size: BatchSize = batchSize(),
): Promise<Worked & { results: readonly ItemResult<Scheduled>[] }> {
  expectCurrent(options, items);
  const ids = newRunIds(options, tx, items);
  const holders = await reserve(tx, items, ids);
  const permits = await openPermits(tx, runsWithKeys(tx, items, ids, holders));
  const started: StartedRun[] = [];
  const refused = new Map<string, DroverError>();
  const postponed = new Set<string>();
  const accepting = { options, tx, size, holders, permits, started, refused, postponed };
  const results = items.map((item, index) => acceptItem(accepting, item, ids[index] ?? ""));
  const children = await beginChildren(options, tx, await recordsOf(options, started));
  const { records } = children;
  const runs = [...started.map(({ run }) => run), ...children.runs];
  if (started.length > 0) await tx.insertRuns(runs);
  const written = started.length > 0 ? await tx.write(records) : NOTHING_WRITTEN;
  const changes = permits.changes();
  if (changes.length > 0) await tx.writePermits(changes);
  // A call that was refused or postponed stores nothing: it may be repeated under the same key.
  const free = [...holders.values()].filter(
    ({ runId }) => refused.has(runId) || postponed.has(runId),
  );
  if (free.length > 0) await tx.releaseKeys(free);
  return { ...written, records, started: runs, results };
}

/** In the order of the items. */
function newRunIds(
  { random, placeOfKey, shard = ONLY_SHARD }: ScheduleOptions,
  tx: Tx,
  items: readonly Item[],
): readonly string[] {
  const ids = items.map(() => newRunId(tx.now, random)).sort();
  return ids.map((id, index) => {
    const item = items[index];
    const place = item ? placeOf(item, placeOfKey) : null;
    if (place !== null) return inPlace(id, place);
    if (shard.count === 1) return id;
    const drawn = partitionOf(0, id);
    return inPlace(id, drawn - shardOf(drawn, shard.count) + shard.number);
  });
}

function acceptItem(accepting: Accepting, item: Item, runId: string): ItemResult<Scheduled> {
  const { options, tx, size, holders, permits, refused } = accepting;
  const { reserved, request } = item;
  if (size.isFull()) {
    accepting.postponed.add(runId);
    return { kind: "again" };
  }
  const holder = reserved ? holders.get(keyOf(request, reserved.key)) : null;
  if (reserved && holder && holder.runId !== runId)
    return known(holder, request.digest, reserved.name, refused);
  const refuse = (error: DroverError): ItemResult<Scheduled> => {
    refused.set(runId, error);
    return { kind: "failed", error };
  };
  if (item.refusal) return refuse(item.refusal);
  const run = keyedNow(tx, item, runId);
  const joined = run ? permits.join(run, tx.now) : null;
  if (run && joined?.answer === "refused") return refuse(noPermit(run.concurrency, joined.permits));
  const made = begin(tx, withTrace(options, item, runId), runId, joined);
  // The run may have ended at once, if each of its steps is skipped.
  if (run && isEnded(made.run.run.state)) permits.leave(run);
  accepting.started.push(made);
  size.add(made.record.effects);
  return { kind: "done", result: { runId, created: true } };
}

/** The first passes of the runs, with the lanes of their tasks and the times of slow attempts. */
function recordsOf({ store, typical }: ScheduleOptions, started: readonly StartedRun[]) {
  return Promise.all(
    started.map(async ({ run, record, laned }) => ({
      ...record,
      laneOf: await laneOfPass(store, run.namespaceId, laned, {
        view: record.after,
        effects: record.effects,
      }),
      slowAfter: slowAfterOf(typical, run),
    })),
  );
}

/**
 * A plan that was read from an earlier incarnation of the database would begin a run with a
 * definition and lanes that exist no more; a reason that was read from it, such as the end of
 * another run, may have been lost. The transaction has its connection by now, so a change of the
 * incarnation is known.
 */
function expectCurrent(
  { plans, store, incarnation = store.incarnation }: ScheduleOptions,
  items: readonly Item[],
): void {
  const now = incarnation();
  const isCurrent = ({ laned, request: { readIn = now } }: Item): boolean =>
    readIn === now && plans.isCurrent(laned);
  if (!items.every(isCurrent)) throw failedOver();
}

/** Runs with concurrency keys that may begin now, as far as their idempotency keys say. */
function runsWithKeys(
  tx: Tx,
  items: readonly Item[],
  ids: readonly string[],
  holders: KeyHolders,
): readonly KeyedRun[] {
  const begins = ({ request, reserved, refusal }: Item, runId: string): boolean =>
    refusal === null &&
    (reserved === null || holders.get(keyOf(request, reserved.key))?.runId === runId);
  return items.flatMap((item, index) => {
    const runId = ids[index] ?? "";
    const run = begins(item, runId) ? keyedNow(tx, item, runId) : null;
    return run ? [run] : [];
  });
}

/** A run that asks for a permit now. A run that starts later asks for it then. */
function keyedNow(tx: Tx, { request }: Item, runId: string): KeyedRun | null {
  const { concurrency, namespace, priority, startAt } = request;
  if (concurrency === null || (startAt !== null && startAt > tx.now)) return null;
  return { runId, namespaceId: namespace.id, priority, concurrency };
}

/** By namespace and key. */
type KeyHolders = ReadonlyMap<string, KeyHolder>;

/** One reservation for each key of the batch: for the first call that names it. */
async function reserve(
  tx: Tx,
  items: readonly Item[],
  ids: readonly string[],
): Promise<KeyHolders> {
  const wanted = new Map(
    items
      .map(({ request, reserved }, index) => ({ request, reserved, runId: ids[index] ?? "" }))
      .reverse()
      .flatMap(({ request, reserved, runId }) => {
        const { digest, namespace, keyRetentionMs: keepMs = KEY_RETENTION_MS } = request;
        if (reserved === null) return [];
        const { key } = reserved;
        const reservation = { namespaceId: namespace.id, key, runId, digest, keepMs };
        return [[keyOf(request, key), reservation] as const];
      }),
  );
  if (wanted.size === 0) return new Map();
  const holders = await tx.reserveKeys([...wanted.values()]);
  return new Map(holders.map((holder) => [`${holder.namespaceId}/${holder.key}`, holder]));
}

function keyOf({ namespace }: ScheduleRequest, key: string): string {
  return `${namespace.id}/${key}`;
}

/** `refused`: calls of this batch that may not begin, by the run that they would have started. */
function known(
  holder: KeyHolder,
  digest: string,
  name: string,
  refused: ReadonlyMap<string, DroverError>,
): ItemResult<Scheduled> {
  const { runId } = holder;
  const error = refused.get(runId);
  if (holder.digest === digest)
    return error ? { kind: "failed", error } : { kind: "done", result: { runId, created: false } };
  // There will be no such run, and its key is free at the end of this transaction.
  if (error) return { kind: "again" };
  return {
    kind: "failed",
    error: new DroverError(
      "KEY_REUSED",
      `${name} names run ${holder.runId}, which was scheduled by another request: use a new one for a new run`,
      { metadata: { key: holder.key, run_id: holder.runId } },
    ),
  };
}
