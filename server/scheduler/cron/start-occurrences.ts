// Begins the runs of cron schedules. One transaction handles an occurrence: it locks the schedule,
// begins the run as the Schedule call would, writes the occurrence under (schedule, series, nominal
// time), and sets the next time. A transaction that comes second finds the schedule moved on, or
// the occurrence there.
//
//   due → locked → missed: written, no run begins
//                → in time: started · overlapped · refused, in the order of their times
//                → the next time is set
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
  type OccurrenceCause,
  type OccurrenceKey,
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

const FULL_AT = 100;
const ITEMS_MAX = 100;
const LOCK_WAIT_MS = 1_000;
/** Batches of events use the writer numbers before it. */
const WRITER_NUMBER = 2;

export const SCHEDULE_LABEL = "drover.schedule";
const NOMINAL_TIME_LABEL = "drover.nominal_time";

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

export interface OccurrenceOptions extends ScheduleOptions {
  /** A next time was set: a timer scan may have to run sooner. */
  readonly announce: (dueAt: EpochMs) => void;
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
      const committed = await commitAndPublish(options, use, (tx) =>
        occurDue({ options, templates, wait }, tx, items),
      );
      if (committed.nextAt !== null) options.announce(committed.nextAt);
      return committed.results;
    },
  });
  return Object.freeze({
    beginDue: (schedule: ScheduleRef, actor: SupervisorActor) =>
      batcher.submitOwn({ schedule, actor }),
    idle: () => batcher.idle(),
  });
}

/** What each run of a schedule begins with, by the present state of the workflow. */
export interface Template {
  readonly revision: number;
  readonly begins: ScheduleItem | DroverError;
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

interface Batch {
  readonly options: ScheduleOptions;
  readonly templates: ReadonlyMap<string, Template>;
  readonly wait: boolean;
}

interface Flushed extends Worked {
  readonly results: readonly ItemResult<OccurrenceAnswer>[];
  /** The earliest of the next times. */
  readonly nextAt: EpochMs | null;
}

async function occurDue(
  { options, templates, wait }: Batch,
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
    return [{ record, template, actor: item.actor, due: dueOf(record, tx.now) }];
  });
  const worked = await handleAll(options, tx, ready);
  const handled = new Map(
    ready.map(({ record, due }) => [record.id, due?.occurrences.length ?? 0]),
  );
  const toCome = ready.flatMap(({ due }) => due?.next?.wakeAt ?? []);
  return {
    ...worked,
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

async function handleAll(options: ScheduleOptions, tx: Tx, all: readonly Ready[]): Promise<Worked> {
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
  const missed = all.flatMap(({ record, actor, due }): OccurrenceRow[] => {
    if (!due?.missed) return [];
    return [withoutRuns(record, due.missed, "missed", actor)];
  });
  const { rows, ...worked } = await beginOccurrences(options, tx, wanted);
  if (rows.length + missed.length > 0) await tx.writeOccurrences([...missed, ...rows]);
  const moves = all.flatMap(({ record, due }) => (due ? [{ id: record.id, next: due.next }] : []));
  if (moves.length > 0) await tx.moveSchedules(moves);
  return worked;
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

/** An occurrence of a locked schedule that is to get a run. */
export interface Wanted {
  readonly record: ScheduleRecord;
  readonly template: Template;
  readonly key: OccurrenceKey;
  readonly at: EpochMs;
  /** Its name for people and in the labels of its run. */
  readonly text: string;
  readonly cause: OccurrenceCause;
  readonly concurrency: Concurrency | null;
  readonly reserved: ScheduleItem["reserved"];
  readonly actor: SupervisorActor | null;
}

interface StartedOccurrences extends Worked {
  /** What is to be written: one for each that had no run. */
  readonly rows: readonly OccurrenceRow[];
  /** By the index in `wanted`: the run, if this or an earlier call began one. */
  readonly runs: readonly ({ readonly runId: string; readonly created: boolean } | null)[];
  /** By the index in `wanted`: why there is no run. */
  readonly errors: readonly (DroverError | null)[];
}

/** Begins the runs of occurrences that have none yet. */
export async function beginOccurrences(
  options: ScheduleOptions,
  tx: Tx,
  wanted: readonly Wanted[],
): Promise<StartedOccurrences> {
  const known = await tx.loadOccurrences(wanted.map(({ key }) => key));
  const runOf = new Map(known.map((occurrence) => [nameOf(occurrence), occurrence.runId]));
  const open = wanted.filter(({ key }) => !runOf.get(nameOf(key)));
  const items = open.flatMap((one) => itemOf(one) ?? []);
  const { results, ...accepted } = await acceptAny(options, tx, items);
  const resultsOf = new Map(items.map(({ of }, place) => [of, results[place]]));
  const answers = wanted.map((one): OccurrenceResult => {
    const runId = runOf.get(nameOf(one.key));
    if (runId) return { run: { runId, created: false }, error: null };
    if (one.template.begins instanceof DroverError)
      return { run: null, error: one.template.begins };
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
    // The run of a repeated request has its occurrence already.
    if (result.run && !result.run.created) return [];
    return [occurrenceOf(one, result)];
  });
  return {
    ...accepted,
    rows,
    runs: answers.map(({ run }) => run),
    errors: answers.map(({ error }) => error),
  };
}

interface OccurrenceResult {
  readonly run: { readonly runId: string; readonly created: boolean } | null;
  readonly error: DroverError | null;
}

function nameOf({ scheduleId, series, nominalTime }: OccurrenceKey): string {
  return `${scheduleId}/${series}/${nominalTime}`;
}

interface WantedItem extends ScheduleItem {
  readonly of: Wanted;
}

function itemOf(wanted: Wanted): WantedItem | null {
  const { template, record, text, concurrency, reserved } = wanted;
  if (template.begins instanceof DroverError) return null;
  const { request } = template.begins;
  const labels = { ...request.labels, [SCHEDULE_LABEL]: record.name, [NOMINAL_TIME_LABEL]: text };
  return {
    ...template.begins,
    of: wanted,
    reserved,
    request: { ...request, labels, concurrency, digest: NO_DIGEST },
  };
}

/** Requests of a schedule need no digest: their key identifies them completely. */
const NO_DIGEST = "00".repeat(32);

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
