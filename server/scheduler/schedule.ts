// Accepts runs: reserves the key, stores the run with its first ready steps, and hands these over
// to waiting agents in the same transaction. Many Schedule calls share a transaction; a
// ScheduleBatch has its own.

import {
  type Batcher,
  createBatcher,
  FLUSH_BUCKET,
  type ItemResult,
  type OnFlushed,
} from "../batching/batcher.ts";
import type { Clock, Random } from "../clock.ts";
import { isEnded } from "../core/model/model.ts";
import { DroverError, failedOver, type Reason } from "../errors.ts";
import type { KnownPlans, Plans } from "../store/plans.ts";
import type { EngineStore, KeyHolder, Tx } from "../store/store.ts";
import { NOTHING_WRITTEN } from "../store/written.ts";
import { commitAndPublish, type HandOver, slowAfterOf } from "./advance.ts";
import { type BatchSize, batchSize } from "./batch-size.ts";
import { beginChildren } from "./children.ts";
import type { CommitSummary, Worked } from "./commit-summary.ts";
import { createItemFinder, type ItemFinder } from "./item-finder.ts";
import { laneOfPass } from "./item-lanes.ts";
import { begin, type ScheduleItem, type StartedRun } from "./new-run.ts";
import { type KeyedRun, noPermit, openPermits, type PermitBudget } from "./permits.ts";
import type { Admit } from "./rate-limit.ts";
import { newRunId } from "./run-id.ts";
import { type RunTraces, withTrace } from "./run-traces.ts";
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
}

export interface Scheduled {
  readonly runId: string;
  readonly created: boolean;
}

type Item = ScheduleItem;

export function createSchedule(options: ScheduleOptions) {
  const calls = batcherOfCalls(options);
  const batches = batcherOfBatches(options);
  return Object.freeze({
    async schedule(request: ScheduleRequest): Promise<Scheduled> {
      return calls.submit(await createItemFinder(options)(request));
    },
    scheduleBatch: (requests: readonly ScheduleRequest[]): Promise<readonly BatchAnswer[]> =>
      scheduleBatch(createItemFinder(options), batches, requests),
    /** Begins a run whose definition was found. */
    submit: (item: ScheduleItem): Promise<Scheduled> => calls.submit(item),
    idle: async () => void (await Promise.all([calls.idle(), batches.idle()])),
  });
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

async function scheduleBatch(
  find: ItemFinder,
  batches: Batches,
  requests: readonly ScheduleRequest[],
): Promise<readonly BatchAnswer[]> {
  const found = await Promise.all(
    requests.map(async (request): Promise<Item | DroverError> => {
      try {
        return await find(request);
      } catch (error) {
        if (error instanceof DroverError && OF_ONE.has(error.reason)) return error;
        throw error;
      }
    }),
  );
  const items = found.filter((one): one is Item => !(one instanceof DroverError));
  const results = await flushAll(batches, items);
  let at = 0;
  return found.map((one) => {
    if (one instanceof DroverError) return { kind: "refused", error: one };
    return batchAnswer(results[at++]);
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
  if (cause instanceof DroverError && cause.reason === "STORE_UNAVAILABLE") throw cause;
  throw new DroverError(
    "STORE_UNAVAILABLE",
    "some runs of the batch have started, and the others could not: repeat it",
    { retryAfterMs: RETRY_MS, cause },
  );
}

/**
 * Errors of one run of a batch. Any other error is about the store, and so about the whole batch.
 */
const OF_ONE: ReadonlySet<Reason> = new Set([
  ...(["INVALID_REQUEST", "WORKFLOW_NOT_FOUND", "NAMESPACE_LIMIT"] as const),
]);

function batchAnswer(result: ItemResult<Scheduled> | undefined): BatchAnswer {
  if (result?.kind === "done") return { kind: "scheduled", ...result.result };
  if (result?.kind === "failed" && result.error instanceof DroverError)
    return { kind: "refused", error: result.error };
  throw new Error("a run of a batch came back without an answer");
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
  const ids = items.map(() => newRunId(tx.now, options.random)).sort();
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
function expectCurrent({ plans, store }: ScheduleOptions, items: readonly Item[]): void {
  const now = store.incarnation();
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
