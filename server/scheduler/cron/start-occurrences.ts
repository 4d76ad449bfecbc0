// Begins the runs of cron schedules. One transaction handles an occurrence: it locks the schedule,
// begins the run as the Schedule call would, writes the occurrence under (schedule, series, nominal
// time), and sets the next time. A transaction that comes second finds the schedule moved on, or
// the occurrence there.
//
//   due → locked → missed: written, no run begins
//                → in time: started · overlapped · refused, in the order of their times
//                → the next time is set
//
// If the concurrency key of the run belongs to another shard, the run begins there, between two
// such transactions: the first one decides that it is due, and the second one records it. A key of
// the occurrence makes that begin one run, however often it is repeated.
//
// An event of a supervisor counts only while it owns the partition (fence.ts). The occurrence
// contains the epoch.

import { createBatcher, FLUSH_BUCKET, type ItemResult } from "../../batching/batcher.ts";
import { type DueTimes, dueTimes, type MissedTimes } from "../../core/definition/calendar.ts";
import type { EpochMs } from "../../core/model/attempt.ts";
import type { Concurrency } from "../../core/model/permits.ts";
import { DroverError } from "../../errors.ts";
import {
  markSeries,
  type Occurrence as OccurrenceRow,
  type ScheduleRecord,
  type ScheduleRef,
  type ScheduleSpec,
} from "../../store/schedules.ts";
import type { Tx } from "../../store/store.ts";
import { NOTHING_WRITTEN } from "../../store/written.ts";
import { commitAndPublish, type SupervisorActor } from "../advance.ts";
import { ANY_SIZE } from "../batch-size.ts";
import type { Worked } from "../commit-summary.ts";
import { fencedOf } from "../fence.ts";
import { createItemFinder, type ItemFinder } from "../item-finder.ts";
import type { ScheduleItem } from "../new-run.ts";
import { accept, type ScheduleOptions } from "../schedule.ts";
import { calendarTimesOf, nominalTimeText } from "./calendar-times.ts";
import {
  type Begun,
  beginElsewhere,
  idOf,
  isElsewhere,
  itemOf,
  nameOf,
  type OccurrenceOptions,
  type OccurrenceResult,
  type Template,
  type Wanted,
} from "./wanted-occurrences.ts";

const FULL_AT = 100;
const ITEMS_MAX = 100;
const LOCK_WAIT_MS = 1_000;
/** Batches of events use the writer numbers before it. */
const WRITER_NUMBER = 2;

type OccurrenceAnswer =
  /** `handled`: how many occurrences were handled, without missed ones. */
  { readonly kind: "done"; readonly handled: number } | { readonly kind: "fenced" };

interface Item {
  readonly schedule: ScheduleRef;
  readonly actor: SupervisorActor;
}

export interface Occurrences {
  /** Begins the runs of its due times, on behalf of the owner of its partition. */
  beginDue(schedule: ScheduleRef, actor: SupervisorActor): Promise<OccurrenceAnswer>;
  idle(): Promise<void>;
}

export function createOccurrences(options: OccurrenceOptions): Occurrences {
  const batcher = createBatcher<Item, OccurrenceAnswer>({
    name: "occurrences",
    clock: options.clock,
    bucket: FLUSH_BUCKET,
    fullAt: FULL_AT,
    itemsMax: ITEMS_MAX,
    inFlightMax: 1,
    keyOf: ({ schedule }) => schedule.id,
    isRetryable: options.isRetryable,
    async flush(items, wait) {
      const ids = items.map(({ schedule }) => schedule.id);
      const templates = await templatesOf(options, await options.store.schedules.byId(ids));
      const use = { name: "occurrences", ...(wait ? { lockTimeoutMs: LOCK_WAIT_MS } : {}) };
      const flush = async (some: readonly Item[], begun: BegunElsewhere): Promise<Flushed> => {
        const committed = await commitAndPublish(options, use, (tx) =>
          occurDue({ options, templates, wait, begun }, tx, some),
        );
        if (committed.nextAt !== null) options.announce(committed.nextAt);
        return committed;
      };
      const first = await flush(items, NOTHING_BEGUN);
      if (first.elsewhere.length === 0) return first.results;
      const left = items.filter(({ schedule }) => first.due.has(schedule.id));
      const begun = await beginElsewhere(options, first.elsewhere);
      const second = await flush(left, { runs: begun, wanted: first.elsewhere, due: first.due });
      const results = new Map(left.map((item, place) => [item, second.results[place]]));
      return items.flatMap((item, place) => results.get(item) ?? first.results[place] ?? []);
    },
  });
  return Object.freeze({
    beginDue: (schedule: ScheduleRef, actor: SupervisorActor) =>
      batcher.submitOwn({ schedule, actor }),
    idle: () => batcher.idle(),
  });
}

async function templatesOf(
  options: ScheduleOptions,
  records: readonly ScheduleRecord[],
): Promise<ReadonlyMap<string, Template>> {
  const find = createItemFinder(options);
  const found = await Promise.all(
    records.map(async (record) => [record.id, await templateOf(find, record)] as const),
  );
  return new Map(found);
}

export async function templateOf(
  find: ItemFinder,
  { namespace, spec, revision }: Pick<ScheduleRecord, "namespace" | "spec" | "revision">,
): Promise<Template> {
  const { workflow: name, version, input, priority, labels, notify, concurrency } = spec;
  try {
    const begins = await find({
      namespace,
      target: { kind: "named", name, version },
      input,
      key: null,
      priority,
      labels,
      notify,
      startAt: null,
      concurrency,
      digest: "",
    });
    return { revision, begins };
  } catch (error) {
    if (error instanceof DroverError && error.reason === "WORKFLOW_NOT_FOUND")
      return { revision, begins: error };
    throw error;
  }
}

/** What the transaction before has found due, and what has begun of it in other shards. */
interface BegunElsewhere {
  readonly runs: Begun;
  readonly wanted: readonly Wanted[];
  /** By schedule. */
  readonly due: ReadonlyMap<string, FoundDue>;
}

interface FoundDue {
  readonly revision: number;
  readonly next: ScheduleRecord["next"];
  readonly due: DueTimes | null;
}

const NOTHING_BEGUN: BegunElsewhere = Object.freeze({
  runs: new Map(),
  wanted: [],
  due: new Map(),
});

interface Batch {
  readonly options: OccurrenceOptions;
  readonly begun: BegunElsewhere;
  readonly templates: ReadonlyMap<string, Template>;
  readonly wait: boolean;
}

interface Flushed extends Worked {
  readonly results: readonly ItemResult<OccurrenceAnswer>[];
  /** The earliest of the next times. */
  readonly nextAt: EpochMs | null;
  /** What has to begin in other shards first. */
  readonly elsewhere: readonly Wanted[];
  /** Of the schedules of these. */
  readonly due: ReadonlyMap<string, FoundDue>;
}

async function occurDue(
  { options, templates, wait, begun }: Batch,
  tx: Tx,
  items: readonly Item[],
): Promise<Flushed> {
  const fenced = await fencedOf(tx, items, WRITER_NUMBER, ({ schedule }) => schedule.partition);
  const live = items.filter((item) => !fenced.has(item));
  const ids = live.map(({ schedule }) => schedule.id);
  const locked = ids.length === 0 ? [] : await tx.lockSchedules(ids, wait);
  const asked = new Map(live.map((item) => [item.schedule.id, item]));
  const ready = locked.flatMap((record): Ready[] => {
    const template = templates.get(record.id);
    const item = asked.get(record.id);
    // The schedule was changed since it was read: it is read again.
    if (!item || template?.revision !== record.revision) return [];
    const due = foundBefore(record, begun.due.get(record.id)) ?? dueOf(record, tx.now);
    return [{ record, template, actor: item.actor, due }];
  });
  // A person may have changed the schedule since, or another owner has recorded it.
  const changed = new Set(
    locked.flatMap((record) => (foundBefore(record, begun.due.get(record.id)) ? [] : [record.id])),
  );
  const begunBefore = begun.wanted.filter(({ record }) => changed.has(record.id));
  const { elsewhere, ...worked } = await handleAll(options, tx, { ready, begunBefore }, begun.runs);
  const postponed = new Set(elsewhere.map(({ record }) => record.id));
  const done = ready.filter(({ record }) => !postponed.has(record.id));
  const handled = new Map<string, number>([
    ...done.map(({ record, due }) => [record.id, due?.occurrences.length ?? 0] as const),
    // They stay due.
    ...[...postponed].map((id) => [id, 0] as const),
  ]);
  const toCome = done.flatMap(({ due }) => due?.next?.wakeAt ?? []);
  return {
    ...worked,
    elsewhere,
    due: new Map(
      ready.flatMap(({ record: { id, revision, next }, due }) =>
        postponed.has(id) ? [[id, { revision, next, due }] as const] : [],
      ),
    ),
    nextAt: toCome.length === 0 ? null : Math.min(...toCome),
    results: items.map((item): ItemResult<OccurrenceAnswer> => {
      if (fenced.has(item)) return { kind: "done", result: { kind: "fenced" } };
      const count = handled.get(item.schedule.id);
      // With `wait`, no other transaction holds the schedule: it was deleted, or changed and stays
      // due.
      if (count === undefined && !wait) return { kind: "again" };
      return { kind: "done", result: { kind: "done", handled: count ?? 0 } };
    }),
  };
}

interface Ready {
  readonly record: ScheduleRecord;
  readonly template: Template;
  readonly actor: SupervisorActor;
  /** null: nothing is due any more. */
  readonly due: DueTimes | null;
}

function dueOf({ id, spec, pause, next }: ScheduleRecord, now: EpochMs): DueTimes | null {
  if (pause || !next || next.wakeAt > now) return null;
  const { calendar, catchUpMs, jitterMs } = spec;
  return dueTimes({ times: calendarTimesOf(calendar), next, now, catchUpMs, jitterMs, seed: id });
}

/** The times may count as missed by now, and their runs have begun. */
function foundBefore(
  { revision, next }: ScheduleRecord,
  before: FoundDue | undefined,
): DueTimes | null {
  if (before?.revision !== revision || before.next?.nominalTime !== next?.nominalTime) return null;
  return before.due;
}

async function handleAll(
  options: OccurrenceOptions,
  tx: Tx,
  {
    ready: all,
    begunBefore,
  }: { readonly ready: readonly Ready[]; readonly begunBefore: readonly Wanted[] },
  begun: Begun,
): Promise<Worked & Pick<StartedOccurrences, "elsewhere">> {
  const wanted = all.flatMap(({ record, template, actor, due }) =>
    (due?.occurrences ?? []).map(
      ({ nominalTime, at }): Wanted => ({
        record,
        template,
        at,
        actor,
        cause: "calendar",
        reserved: null,
        key: { scheduleId: record.id, series: record.series, nominalTime },
        text: nominalTimeText(record.spec.calendar, nominalTime),
        concurrency: concurrencyOf(record),
      }),
    ),
  );
  const { rows, ...worked } = await beginOccurrences(
    options,
    tx,
    uniqueOf([...wanted, ...begunBefore]),
    begun,
  );
  const postponed = new Set(worked.elsewhere.map(({ record }) => record.id));
  const done = all.filter(({ record }) => !postponed.has(record.id));
  const missed = done.flatMap(({ record, actor, due }): OccurrenceRow[] => {
    if (!due?.missed) return [];
    return [withoutRuns(record, due.missed, "missed", actor)];
  });
  const known = new Set(begunBefore.map(({ key }) => nameOf(key)));
  const own = rows.filter((row) => !postponed.has(row.scheduleId) || known.has(nameOf(row)));
  if (own.length + missed.length > 0) await tx.writeOccurrences([...missed, ...own]);
  const moves = done.flatMap(({ record, due }) => (due ? [{ id: record.id, next: due.next }] : []));
  if (moves.length > 0) await tx.moveSchedules(moves);
  return worked;
}

function uniqueOf(all: readonly Wanted[]): readonly Wanted[] {
  return [...new Map(all.map((one) => [nameOf(one.key), one])).values()];
}

/** One row for all times of a schedule that got no run, as the first of them. */
export function withoutRuns(
  record: ScheduleRecord,
  { first, count, until }: MissedTimes,
  outcome: "missed" | "paused",
  actor: SupervisorActor | null,
): OccurrenceRow {
  return {
    scheduleId: record.id,
    series: markSeries(record),
    nominalTime: first.nominalTime,
    at: first.at,
    cause: "calendar",
    outcome,
    runId: null,
    message: "",
    missed: { count, until },
    actor,
  };
}

interface StartedOccurrences extends Worked {
  /** What is to be written: one for each that had no run. */
  readonly rows: readonly OccurrenceRow[];
  /** By the index in `wanted`: the run, if this or an earlier call began one. */
  readonly runs: readonly ({ readonly runId: string; readonly created: boolean } | null)[];
  /** By the index in `wanted`: why there is no run. */
  readonly errors: readonly (DroverError | null)[];
  /** Those whose runs have to begin in another shard first: nothing was done for them. */
  readonly elsewhere: readonly Wanted[];
}

/** Begins the runs of occurrences that have none yet. */
export async function beginOccurrences(
  options: OccurrenceOptions,
  tx: Tx,
  wanted: readonly Wanted[],
  begun: Begun,
): Promise<StartedOccurrences> {
  const known = await tx.loadOccurrences(wanted.map(({ key }) => key));
  const runOf = new Map(known.map((occurrence) => [nameOf(occurrence), occurrence.runId]));
  const open = wanted.filter(({ key }) => !runOf.get(nameOf(key)));
  const foreign = new Set(open.filter((one) => isElsewhere(options, one)));
  const elsewhere = [...foreign].filter((one) => !begun.has(idOf(one)));
  const items = open.flatMap((one) => (foreign.has(one) ? [] : (itemOf(one) ?? [])));
  const { results, ...accepted } = await acceptAny(options, tx, items);
  const resultsOf = new Map(items.map(({ of }, place) => [of, results[place]]));
  const answers = wanted.map((one): OccurrenceResult => {
    const runId = runOf.get(nameOf(one.key));
    if (runId) return { run: { runId, created: false }, error: null };
    if (one.template.begins instanceof DroverError)
      return { run: null, error: one.template.begins };
    if (foreign.has(one)) return begun.get(idOf(one)) ?? { run: null, error: null };
    const result = resultsOf.get(one);
    if (result?.kind === "done") return { run: result.result, error: null };
    if (result?.kind === "failed" && result.error instanceof DroverError)
      return {
        run: null,
        error: isOverlap(one, result.error) ? overlapError(one, result.error) : result.error,
      };
    throw new Error(`the occurrence ${one.text} of ${one.record.name} came back without an answer`);
  });
  const rows = wanted.flatMap((one, place): OccurrenceRow[] => {
    const result = answers[place];
    if (!result || runOf.get(nameOf(one.key))) return [];
    if (foreign.has(one) && !begun.has(idOf(one))) return [];
    // The run of a repeated request has its occurrence already, in the same transaction. One that
    // has begun elsewhere may have been left without.
    if (result.run && !result.run.created && !foreign.has(one)) return [];
    return [occurrenceOf(one, result)];
  });
  return {
    ...accepted,
    rows,
    runs: answers.map(({ run }) => run),
    errors: answers.map(({ error }) => error),
    elsewhere,
  };
}

async function acceptAny(options: ScheduleOptions, tx: Tx, items: readonly ScheduleItem[]) {
  if (items.length === 0) return { ...NOTHING_WRITTEN, records: [], started: [], results: [] };
  return accept(options, tx, items, ANY_SIZE);
}

function occurrenceOf(wanted: Wanted, { run, error }: OccurrenceResult): OccurrenceRow {
  const { key, at, cause, actor } = wanted;
  const of = { ...key, at, cause, missed: null, actor: actor && { ...actor } };
  if (run) return { ...of, outcome: "started", runId: run.runId, message: "" };
  const message = error?.message ?? "";
  const outcome = error && isOverlap(wanted, error) ? "overlapped" : "refused";
  return { ...of, outcome, runId: null, message };
}

function isOverlap({ record }: Pick<Wanted, "record">, { reason }: DroverError): boolean {
  return reason === "CONCURRENCY_LIMIT" && record.spec.overlap !== "allow-all";
}

/** The owner of a schedule knows its overlap policy, and no concurrency key. */
function overlapError({ record }: Wanted, { reason, metadata }: DroverError): DroverError {
  const { overlap } = record.spec;
  const waits = overlap === "buffer-one" ? ", and another one waits" : "";
  const message = `overlap is ${overlap}, and the run ${metadata.run_id ?? ""} is still open${waits}`;
  return new DroverError(reason, message, { metadata });
}

const POLICIES = {
  skip: "refuse",
  "buffer-one": "queue-one",
  "buffer-all": "queue",
  "cancel-other": "cancel-oldest",
} as const satisfies Partial<Record<ScheduleSpec["overlap"], Concurrency["policy"]>>;

/** Runs of one schedule share a concurrency key, which enforces the overlap policy. */
export function concurrencyOf({
  name,
  spec: { overlap, concurrency },
}: Pick<ScheduleRecord, "name" | "spec">): Concurrency | null {
  if (overlap === "allow-all") return concurrency;
  return { key: concurrencyKeyOf(name), limit: 1, policy: POLICIES[overlap] };
}

export function concurrencyKeyOf(schedule: string): string {
  return `schedule/${schedule}`;
}
