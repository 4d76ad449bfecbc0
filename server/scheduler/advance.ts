// Applies events to runs. Every change of a run after its start passes here, a batch of events in
// one transaction: lock the runs, load what the events need, decide (pure), write what has changed,
// hand tasks over to waiting agents, commit, and then publish. The events of callers and of
// supervisors share batches; an event of a supervisor counts only while it owns the run's partition
// (fence.ts).

import {
  createBatcher,
  FLUSH_BUCKET,
  type ItemResult,
  type OnFlushed,
} from "../batching/batcher.ts";
import type { Clock, Random } from "../clock.ts";
import { type Decision, decide } from "../core/decide.ts";
import { changesPagesOnly } from "../core/model/effect.ts";
import type { Answer, RunEvent } from "../core/model/event.ts";
import { isEnded } from "../core/model/model.ts";
import type { Audit, AuditEntry } from "../store/audit.ts";
import type { Actor, PassRecord } from "../store/pass-record.ts";
import type { Plans } from "../store/plans.ts";
import type {
  EngineStore,
  NewRun,
  RunHead,
  RunId,
  RunRef,
  TransactOptions,
  Tx,
} from "../store/store.ts";
import { NOTHING_WRITTEN } from "../store/written.ts";
import { batchSize } from "./batch-size.ts";
import { beginChildren } from "./children.ts";
import { type CommitSummary, commitSummary, type Worked } from "./commit-summary.ts";
import { fencedOf } from "./fence.ts";
import { laneOfPass } from "./item-lanes.ts";
import { questionsOf } from "./lane-questions.ts";
import { type Loaded, loadViews, type Submitted } from "./load.ts";
import { passPermitsOn } from "./permits.ts";
import type { RunTraces } from "./run-traces.ts";
import type { Suspensions } from "./suspensions.ts";
import type { TypicalDurations } from "./typical-durations.ts";

const FULL_AT = 500;
const ITEMS_MAX = 500;
/** Batches in flight with reports of one namespace; of all namespaces together twice as many. */
const BATCHES_OUT_MAX = 2;
const WAITING_MAX = 20_000;
const LOCK_WAIT_MS = 1_000;

/** On whose behalf a supervisor acts: its node, and the epoch in which it owns the partition. */
export type SupervisorActor = Actor;

export type Advanced = Answer | { readonly kind: "fenced" } | { readonly kind: "no-such-run" };

/** Number of a batch of events. Each try of a batch has a number of its own. */
export type BatchNo = number;

/** Serves waiting agents within a batch, from the lanes that the batch has filled. */
export interface HandOver {
  /**
   * One claim for all lanes that the transaction has filled or freed, so that one statement locks
   * all of their queues with limits. `batch`: of events; null: the transaction begins runs.
   */
  claim(tx: Tx, lanes: LanesToServe, batch: BatchNo | null): Promise<Claim | null>;
  /** Called with runs that have started, before the tasks of the same transaction are delivered. */
  started(runs: readonly NewRun[]): void;
  /** Called with runs that hand out no more tasks. */
  ended(runs: readonly RunId[]): void;
}

/** Lanes from which waiting agents may be served. */
export interface LanesToServe {
  readonly filled: readonly number[];
  /**
   * Lanes of queues with limits in which a task has ended. They are known when the store has
   * answered the writes; the first query of a claim does not wait for that.
   */
  readonly freed: () => Promise<readonly number[]>;
}

/** Tasks claimed in a transaction, to be delivered once it has committed. */
export interface Claim {
  /**
   * Lanes that need no scan: they have no ready row left, or they give none before a time or an
   * event that causes a scan anyway.
   */
  readonly drained: ReadonlySet<number>;
  deliver(): void;
  /** The transaction did not commit, or its outcome is unknown. */
  giveUp(error: unknown): void;
}

export interface AdvanceOptions {
  readonly store: EngineStore;
  readonly plans: Plans;
  readonly clock: Clock;
  readonly random: Random;
  readonly handOver: HandOver;
  readonly typical: TypicalDurations;
  readonly publish: (summary: CommitSummary) => void;
  readonly isRetryable: (error: unknown) => boolean;
  /** Called with each error after a commit. */
  readonly onError: (error: unknown) => void;
  readonly suspensions: Suspensions;
  readonly onFlushed?: OnFlushed | undefined;
  /** Called for each transaction whose decisions were based on outdated knowledge. */
  readonly onOutdated?: (() => void) | undefined;
  /** Left out: children are part of no trace. */
  readonly traces?: RunTraces | undefined;
  /** Events that may wait before callers are refused; left out: 20,000. */
  readonly waitingMax?: number | undefined;
  /** Numbers the batches of events; left out: they are those of this part alone. */
  readonly nextBatch?: (() => BatchNo) | undefined;
}

/** The caller that sends an event. */
export interface Caller {
  /** The reports of one namespace delay no other namespace (batching/batch-queue.ts). */
  readonly namespaceId: number;
  /** Called each time a batch with the event is flushed, before the hand-over of that batch. */
  readonly onBatched: (batch: BatchNo) => void;
}

export interface Advance {
  /**
   * What `submit` submits goes into one batch for each shard, if the batch has room: one event for
   * each of `runs`. Throws OVERLOADED if so many events have no room to wait. See Batcher.
   */
  admit<T>(runs: readonly RunRef[], submit: () => T): T;
  /**
   * Events of the server itself. They are never refused: the queue is bounded for callers alone.
   */
  submit(run: RunRef, event: RunEvent, actor?: SupervisorActor | null): Promise<Advanced>;
  /**
   * Events of callers. Rejects with OVERLOADED if there is no room to wait. `audit` is recorded if
   * the event changes the run.
   */
  ask(run: RunRef, event: RunEvent, caller?: Caller | null, audit?: Audit): Promise<Advanced>;
  idle(): Promise<void>;
}

interface Item extends Submitted {
  readonly caller: Caller | null;
}

const UNAUDITED: readonly AuditEntry[] = Object.freeze([]);

export function createAdvance(options: AdvanceOptions): Advance {
  const { clock, random } = options;
  const numbers = Array.from({ length: BATCHES_OUT_MAX }, (_, number) => number);
  const { nextBatch = countBatches() } = options;

  const batcher = createBatcher<Item, Advanced>({
    name: "advance",
    clock,
    bucket: FLUSH_BUCKET,
    fullAt: FULL_AT,
    itemsMax: ITEMS_MAX,
    inFlightMax: BATCHES_OUT_MAX,
    waitingMax: options.waitingMax ?? WAITING_MAX,
    keyOf: (item) => item.run.runId,
    shareOf: ({ caller }) => caller?.namespaceId ?? null,
    isRetryable: options.isRetryable,
    onFlushed: options.onFlushed,
    async flush(items, wait) {
      const batch = nextBatch();
      for (const { caller } of items) caller?.onBatched(batch);
      // The events of supervisors are of one share: at most BATCHES_OUT_MAX batches in flight have
      // some, and each of these batches has a writer number of its own.
      const number = items.some(({ actor }) => actor) ? (numbers.pop() ?? 0) : null;
      const use = {
        name: "advance",
        leadsWithLock: true,
        // A batch of a supervisor first takes the lock that fences it, and no caller waits for it.
        optimistic: !wait && number === null,
        ...(wait ? { lockTimeoutMs: LOCK_WAIT_MS } : {}),
      };
      try {
        const work = (tx: Tx) => pass(options, tx, items, { wait, number });
        return (await commitAndPublish(options, use, work, batch)).results;
      } finally {
        if (number !== null) numbers.push(number);
      }
    },
  });

  return Object.freeze({
    admit: (runs, submit) => batcher.admit(runs.length, submit),
    submit: (run: RunRef, event: RunEvent, actor: SupervisorActor | null = null) =>
      batcher.submitOwn({ run, event, actor, draw: random.fraction(), caller: null, audit: null }),
    ask: (run: RunRef, event: RunEvent, caller: Caller | null = null, audit: Audit = null) =>
      batcher.submit({ run, event, actor: null, draw: random.fraction(), caller, audit }),
    idle: () => batcher.idle(),
  } satisfies Advance);
}

/** Numbers from 1. */
export function countBatches(): () => BatchNo {
  let last = 0;
  return () => ++last;
}

interface Flushed extends Worked {
  readonly results: readonly ItemResult<Advanced>[];
}

async function pass(
  options: AdvanceOptions,
  tx: Tx,
  items: readonly Item[],
  { wait, number }: { wait: boolean; number: number | null },
): Promise<Flushed> {
  const fenced =
    number === null
      ? new Set<Item>()
      : await fencedOf(tx, items, number, ({ run }) => run.partition);
  const live = items.filter((item) => !fenced.has(item));
  const found = await findRuns(tx, live, wait);
  const own = ofOwnNamespace(live, found);
  const ids = own.length === live.length ? null : new Set(own.map(({ run }) => run.runId));
  const heads = ids === null ? found : found.filter(({ runId }) => ids.has(runId));
  const { views, failed } = await loadViews(options, tx, heads, own);
  const { answers, postponed, records } = await decideAll(options, tx, views, failed);
  const written = await writeAll(options, tx, views, records);
  const outcome = { answers, fenced, failed, postponed, wait };
  return { ...written, results: items.map((item) => resultOf(item, outcome)) };
}

interface DecidedBatch {
  readonly answers: ReadonlyMap<Submitted, Advanced>;
  /** Events of runs for which this batch has no room. */
  readonly postponed: ReadonlySet<Submitted>;
  /** The passes that change something. */
  readonly records: readonly PassRecord[];
}

/** Decides each run by itself. `failed` gets the events that always throw. */
async function decideAll(
  options: AdvanceOptions,
  tx: Tx,
  views: readonly Loaded[],
  failed: Map<Submitted, unknown>,
): Promise<DecidedBatch> {
  const answers = new Map<Submitted, Advanced>();
  const postponed = new Set<Submitted>();
  const records: PassRecord[] = [];
  const size = batchSize();
  for (const { head, view, laned, events } of views) {
    if (size.isFull()) {
      for (const { item } of events) postponed.add(item);
      continue;
    }
    const decision = decided(failed, () => decide(laned, view, tx.now, events), events);
    if (!decision) continue;
    size.add(decision.effects);
    for (const [{ item }, answer] of decision.answers) answers.set(item, answer);
    if (decision.effects.length === 0) continue;
    const actor = events.find(({ item }) => item.actor)?.item.actor ?? null;
    const { view: after, effects } = decision;
    // Without facts no queue is named by an expression.
    const laneOf = after.facts
      ? await laneOfPass(options.store, head.namespaceId, laned, decision)
      : laned.laneOf;
    const slowAfter = slowAfterOf(options.typical, head);
    const audit = auditOf(events, decision);
    records.push({ head, before: view, after, effects, laneOf, slowAfter, actor, audit });
  }
  return { answers, postponed, records };
}

/** Of the events that have changed the run. */
function auditOf(
  events: Loaded["events"],
  { answers, unchanging }: Decision<Loaded["events"][number]>,
): readonly AuditEntry[] {
  if (!events.some(({ item }) => item.audit)) return UNAUDITED;
  return events.flatMap((event) => {
    const isDone = answers.get(event)?.kind === "done" && !unchanging.includes(event);
    return isDone && event.item.audit ? [event.item.audit] : [];
  });
}

/** Writes the passes. Most change the pages of their runs and nothing else. */
async function writeAll(
  options: AdvanceOptions,
  tx: Tx,
  views: readonly Loaded[],
  records: readonly PassRecord[],
): Promise<Worked> {
  if (!records.every(({ effects }) => changesPagesOnly(effects)))
    return writeWithMore(options, tx, views, records);
  const written = records.length > 0 ? await tx.write(records) : NOTHING_WRITTEN;
  return { ...written, records, started: [] };
}

/** Writes the passes, and what only some of them need: permits, child runs, lane questions. */
async function writeWithMore(
  options: AdvanceOptions,
  tx: Tx,
  views: readonly Loaded[],
  records: readonly PassRecord[],
): Promise<Worked> {
  const passed = await passPermitsOn(tx, records);
  const children = await beginChildren(options, tx, passed.records);
  if (children.runs.length > 0) await tx.insertRuns(children.runs);
  const written = await tx.write(children.records);
  if (passed.changes.length > 0) await tx.writePermits(passed.changes);
  const questions = questionsOf(views, records);
  if (questions.length > 0) await tx.writeLaneQuestions(questions);
  return {
    ...written,
    records: children.records,
    started: children.runs,
  };
}

/** An event that always throws fails alone. Of several events, the batch is split to find it. */
function decided<D>(
  failed: Map<Submitted, unknown>,
  decideNow: () => D,
  events: Loaded["events"],
): D | null {
  try {
    return decideNow();
  } catch (error) {
    const [only] = events;
    if (!only || events.length > 1) throw error;
    failed.set(only.item, error);
    return null;
  }
}

/** How long an attempt at a step of a run may take before it is slow, in milliseconds. */
export function slowAfterOf(
  typical: TypicalDurations,
  { definitionId }: Pick<RunHead, "definitionId">,
): NonNullable<PassRecord["slowAfter"]> {
  return (step) => typical.of(definitionId, step)?.slowAfterMs ?? null;
}

interface BatchOutcome {
  readonly answers: ReadonlyMap<Submitted, Advanced>;
  readonly fenced: ReadonlySet<Item>;
  readonly failed: ReadonlyMap<Submitted, unknown>;
  /** Events that this batch did not try. */
  readonly postponed: ReadonlySet<Submitted>;
  readonly wait: boolean;
}

function resultOf(
  item: Item,
  { answers, fenced, failed, postponed, wait }: BatchOutcome,
): ItemResult<Advanced> {
  if (fenced.has(item)) return { kind: "done", result: { kind: "fenced" } };
  const answer = answers.get(item);
  if (answer) return { kind: "done", result: answer };
  if (failed.has(item)) return { kind: "failed", error: failed.get(item) };
  if (postponed.has(item)) return { kind: "postponed" };
  // With `wait`, no other transaction holds the run and it has not ended: there is no such run.
  return wait ? { kind: "done", result: { kind: "no-such-run" } } : { kind: "again" };
}

async function findRuns(
  tx: Tx,
  items: readonly Item[],
  wait: boolean,
): Promise<readonly RunHead[]> {
  const refs = new Map(items.map(({ run }) => [run.runId, run]));
  const open = refs.size === 0 ? [] : await tx.lockRuns([...refs.values()], wait);
  for (const head of open) refs.delete(head.runId);
  const ended = refs.size === 0 ? [] : await tx.endedRuns([...refs.values()]);
  return [...open, ...ended];
}

/**
 * A task token can be changed to name another namespace, so the run is asked. For a caller of
 * another namespace there is no such run.
 */
function ofOwnNamespace(items: readonly Item[], heads: readonly RunHead[]): readonly Item[] {
  const namespaces = new Map(heads.map(({ runId, namespaceId }) => [runId, namespaceId]));
  return items.filter(({ run, caller }) => {
    const namespaceId = namespaces.get(run.runId);
    return caller === null || namespaceId === undefined || namespaceId === caller.namespaceId;
  });
}

type CommitOptions = Pick<
  AdvanceOptions,
  "store" | "handOver" | "publish" | "typical" | "clock" | "onError" | "onOutdated"
>;

/**
 * A batch that changes runs: its work, the hand-over to agents that wait for what it made ready,
 * and the commit; then the tasks are delivered and the summary is published.
 */
export async function commitAndPublish<T extends Worked>(
  options: CommitOptions,
  use: TransactOptions,
  work: (tx: Tx) => Promise<T>,
  batch: BatchNo | null = null,
): Promise<T> {
  const { store, handOver, clock } = options;
  const leftAtMs = clock.monotonicMs();
  let claim: Claim | null = null;
  let tries = 0;
  const committed = await store
    .transact(use, async (tx) => {
      if (++tries > 1) options.onOutdated?.();
      claim?.giveUp(new Error("the state has changed since the decision"));
      claim = null;
      const worked = await work(tx);
      const freed = async () => (worked.freesNothing ? [] : (await worked.ended).freed);
      claim = await handOver.claim(tx, { filled: worked.filled, freed }, batch);
      return { worked, claim, left: tx.placeReady(), now: tx.now };
    })
    .catch((error: unknown) => {
      claim?.giveUp(error);
      throw error;
    });
  const out = { name: use.name, ms: clock.monotonicMs() - leftAtMs };
  await deliverAndPublish(options, committed, out);
  return committed.worked;
}

interface Committed extends Pick<CommitSummary, "now"> {
  readonly worked: Worked;
  readonly claim: Claim | null;
  readonly left: Promise<readonly number[]>;
}

/**
 * Delivers the tasks and publishes the summary. The transaction has committed, so an error here is
 * reported and changes no answer: a call that failed would be repeated, and its waiters served
 * twice.
 */
async function deliverAndPublish(
  options: CommitOptions,
  { worked, claim, left, now }: Committed,
  out: CommitSummary["batch"],
): Promise<void> {
  const { handOver, publish, typical } = options;
  const reported = (part: () => void): void => {
    try {
      part();
    } catch (error) {
      options.onError(error);
    }
  };
  reported(() => handOver.started(worked.started));
  if (claim) reported(() => claim.deliver());
  reported(() => handOver.ended(endedRuns(worked.records)));
  reported(() => typical.seen(worked.records));
  const [filled, ended] = await Promise.all([left, worked.ended]);
  reported(() =>
    publish(commitSummary(worked, filled, ended, claim?.drained ?? new Set(), now, out)),
  );
}

function endedRuns(records: readonly PassRecord[]): readonly RunId[] {
  return records.flatMap(({ head, after }) => (isEnded(after.run.state) ? head.runId : []));
}
