// What people do to cron schedules: create, change, pause, resume, delete, trigger, backfill. Each
// operation is one transaction under the lock of the schedule, so it never overlaps with an
// occurrence.
//
//   each nominal time occurs once: a repeated backfill finds what it has already started

import {
  type CalendarTimes,
  type NominalTime,
  type PlacedTime,
  passOver,
  placed,
} from "../../core/definition/calendar.ts";
import type { EpochMs } from "../../core/model/attempt.ts";
import { DroverError } from "../../errors.ts";
import { type Audit, withDetails } from "../../store/audit.ts";
import { specText } from "../../store/definition-text.ts";
import { ONLY_SHARD, partitionOf } from "../../store/partition.ts";
import { type ScheduleRecord, type ScheduleSpec, TRIGGER_SERIES } from "../../store/schedules.ts";
import type { Shards } from "../../store/shards.ts";
import type { Namespace, Tx } from "../../store/store.ts";
import { NOTHING_WRITTEN } from "../../store/written.ts";
import { randomUuid } from "../../uuid.ts";
import { commitAndPublish } from "../advance.ts";
import { createItemFinder } from "../item-finder.ts";
import type { Scheduled } from "../new-run.ts";
import { inPlace, keyByHand, type PlaceOfKey } from "../run-id.ts";
import type { ScheduleOptions } from "../schedule.ts";
import { calendarProblem, calendarTimesOf, nominalTimeText } from "./calendar-times.ts";
import {
  beginOccurrences,
  concurrencyKeyOf,
  concurrencyOf,
  type OccurrenceOptions,
  templateOf,
  type Wanted,
  withoutRuns,
} from "./start-occurrences.ts";

const WAITS = { lockTimeoutMs: 1_000 };
/** Occurrences of one page of a backfill. */
const BACKFILL_PAGE = 500;
const BACKFILL_COUNTED_MAX = 10_000;

interface ScheduleName {
  readonly namespace: Namespace;
  readonly name: string;
}

interface BackfillRequest extends ScheduleName {
  /** Occurrences at this instant or later. */
  readonly from: EpochMs;
  /** Occurrences before this instant. */
  readonly until: EpochMs;
  /** How many runs of the backfill may be open at a time. */
  readonly concurrency: number;
  readonly dryRun: boolean;
}

interface BackfillTime {
  readonly at: EpochMs;
  readonly text: string;
  /** Its run; null: none, because of a dry run or of what the message says. */
  readonly runId: string | null;
  /** This call has started the run. */
  readonly created: boolean;
  readonly message: string;
}

interface Backfilled {
  /** Of this page. */
  readonly occurrences: readonly BackfillTime[];
  /** Where the next page begins; null: this was the last. */
  readonly next: EpochMs | null;
  /** Occurrences from `from` on, counted up to 10,001. */
  readonly count: number;
}

export interface ScheduleControl {
  /** created false: it exists and is the same. SCHEDULE_EXISTS if it is a different one. */
  createSchedule(
    of: ScheduleName,
    spec: ScheduleSpec,
    pauseReason: string | null,
    audit?: Audit,
  ): Promise<{ readonly created: boolean }>;
  /**
   * Replaces all of it. With another calendar, its next occurrence is the first one from now on.
   */
  updateSchedule(of: ScheduleName, spec: ScheduleSpec, audit?: Audit): Promise<void>;
  /** Idempotent: the first reason is kept. */
  pauseSchedule(of: ScheduleName, reason: string, audit?: Audit): Promise<void>;
  /** Occurrences that passed meanwhile get no run, except by a backfill. */
  resumeSchedule(of: ScheduleName, audit?: Audit): Promise<void>;
  /** false: there was none. */
  deleteSchedule(of: ScheduleName, audit?: Audit): Promise<boolean>;
  /** Begins a run now, as an occurrence would. */
  triggerSchedule(of: ScheduleName, requestId: string, audit?: Audit): Promise<Scheduled>;
  /** Begins the runs of occurrences that have passed and have none. */
  backfillSchedule(request: BackfillRequest, audit?: Audit): Promise<Backfilled>;
  /** The occurrences to come, the next one first. */
  timesToCome(record: ScheduleRecord, most: number): readonly NominalTime[];
  /** The name of an occurrence for people and in labels of runs. */
  nominalTimeText(spec: ScheduleSpec, nominalTime: number): string;
}

/** A schedule is in the place of its name, which its runs have too if they share its key. */
export function createPlaceOfSchedule(placeOfKey: PlaceOfKey): PlaceOfKey {
  return (namespaceId, name) => placeOfKey(namespaceId, concurrencyKeyOf(name));
}

export function createScheduleControl(
  shards: Shards<OccurrenceOptions>,
  placeOfKey: PlaceOfKey,
): ScheduleControl {
  const placeOfSchedule = createPlaceOfSchedule(placeOfKey);
  const placeOf = ({ namespace, name }: ScheduleName) => placeOfSchedule(namespace.id, name);
  const at = (of: ScheduleName): OccurrenceOptions => shards.of(placeOf(of));
  return Object.freeze({
    createSchedule: (of, spec, pauseReason, audit = null) =>
      create(at(of), of, { place: placeOf(of), spec, pauseReason }, audit),
    updateSchedule: (of, spec, audit = null) => update(at(of), of, spec, audit),
    pauseSchedule: (of, reason, audit = null) => pause(at(of), of, reason, audit),
    resumeSchedule: (of, audit = null) => resume(at(of), of, audit),
    deleteSchedule: (of, audit = null) =>
      at(of).store.schedules.delete(of.namespace.id, of.name, audit),
    triggerSchedule: (of, requestId, audit = null) => trigger(at(of), of, requestId, audit),
    backfillSchedule: (request, audit = null) => backfill(at(request), request, audit),
    timesToCome,
    nominalTimeText: ({ calendar }: ScheduleSpec, nominalTime: number) =>
      nominalTimeText(calendar, nominalTime),
  } satisfies ScheduleControl);
}

interface NewSchedule {
  /** The last byte of its id. */
  readonly place: number;
  readonly spec: ScheduleSpec;
  readonly pauseReason: string | null;
}

async function create(
  options: OccurrenceOptions,
  of: ScheduleName,
  { place, spec, pauseReason }: NewSchedule,
  audit: Audit,
): Promise<{ readonly created: boolean }> {
  const { store, random } = options;
  const { namespace, name } = of;
  // The same schedule again succeeds, even if its workflow exists no more.
  const known = await store.schedules.find(namespace.id, name);
  if (known) return { created: same(known, spec) };
  refuseKey(options, name, spec);
  await refuseWorkflow(options, namespace, spec);
  const id = inPlace(randomUuid(random), place);
  const next = await store.transact({ name: "create-schedule" }, async (tx) => {
    refuseCalendar(spec, tx.now);
    const first = firstOf(id, spec, tx.now);
    const placedIn = { id, partition: partitionOf(namespace.region, id) };
    const row = { ...placedIn, namespaceId: namespace.id, name, spec, next: first };
    if (!(await tx.insertSchedule({ ...row, pauseReason }))) return "taken";
    if (audit) await tx.recordAudit([audit]);
    return first;
  });
  if (next === "taken") return { created: same(await find(options, of), spec) };
  if (next && pauseReason === null) options.announce(next.wakeAt);
  return { created: true };
}

async function update(
  options: OccurrenceOptions,
  of: ScheduleName,
  spec: ScheduleSpec,
  audit: Audit,
): Promise<void> {
  await find(options, of);
  refuseKey(options, of.name, spec);
  await refuseWorkflow(options, of.namespace, spec);
  await change(options, of, audit, async (tx, record) => {
    if (specText(record.spec) === specText(spec)) return "unchanged";
    refuseCalendar(spec, tx.now);
    const { id, pause } = record;
    const isSameCalendar = textOf(record.spec.calendar) === textOf(spec.calendar);
    const series = isSameCalendar ? record.series : record.series + 1;
    const next = isSameCalendar
      ? record.next && placedBy(id, spec, record.next)
      : firstOf(id, spec, tx.now);
    await tx.changeSchedule({ id, spec, series, next, pause });
    return pause ? null : next;
  });
}

function pause(
  options: OccurrenceOptions,
  of: ScheduleName,
  reason: string,
  audit: Audit,
): Promise<void> {
  return change(options, of, audit, async (tx, record) => {
    if (record.pause) return "unchanged";
    await tx.changeSchedule({ ...record, pause: { since: tx.now, reason } });
    return null;
  });
}

function resume(options: OccurrenceOptions, of: ScheduleName, audit: Audit): Promise<void> {
  return change(options, of, audit, async (tx, record) => {
    const { id, spec } = record;
    if (!record.pause) return "unchanged";
    const times = calendarTimesOf(spec.calendar);
    const left = record.next && passOver(times, record.next, tx.now);
    const next = left?.next ? placedBy(id, spec, left.next) : null;
    if (left?.missed) await tx.writeOccurrences([withoutRuns(record, left.missed, "paused", null)]);
    await tx.changeSchedule({ ...record, next, pause: null });
    return next;
  });
}

/** `work` returns the next occurrence that is to be announced; null: none is. */
async function change(
  options: OccurrenceOptions,
  of: ScheduleName,
  audit: Audit,
  work: (tx: Tx, record: ScheduleRecord) => Promise<PlacedTime | null | "unchanged">,
): Promise<void> {
  const { id } = await find(options, of);
  const use = { name: "change-schedule", ...WAITS };
  const next = await options.store.transact(use, async (tx) => {
    const changed = await work(tx, await lock(tx, of, id));
    if (audit && changed !== "unchanged") await tx.recordAudit([audit]);
    return changed;
  });
  if (next && next !== "unchanged") options.announce(next.wakeAt);
}

function timesToCome({ spec, next }: ScheduleRecord, most: number): readonly NominalTime[] {
  const times = calendarTimesOf(spec.calendar);
  const found: NominalTime[] = [];
  for (let one: NominalTime | null = next; one && found.length < most; ) {
    found.push(one);
    one = times.after(one.nominalTime);
  }
  return found;
}

function textOf(calendar: ScheduleSpec["calendar"]): string {
  return calendar.kind === "cron"
    ? `${calendar.cron} ${calendar.timeZone}`
    : `${calendar.everyMs} ${calendar.offsetMs}`;
}

async function find(
  { store }: Pick<ScheduleOptions, "store">,
  { namespace, name }: ScheduleName,
): Promise<ScheduleRecord> {
  const found = await store.schedules.find(namespace.id, name);
  if (found) return found;
  throw notFound({ namespace, name });
}

function notFound({ namespace, name }: ScheduleName): DroverError {
  return new DroverError(
    "SCHEDULE_NOT_FOUND",
    `there is no schedule "${name}" in namespace "${namespace.name}": create it, or list the schedules`,
    { metadata: { name } },
  );
}

async function lock(tx: Tx, of: ScheduleName, id: string): Promise<ScheduleRecord> {
  const [record] = await tx.lockSchedules([id], true);
  if (record) return record;
  throw notFound(of);
}

/** Locks the schedule, and refuses if it has changed since it was read. */
async function lockAsRead(tx: Tx, of: ScheduleName, read: ScheduleRecord): Promise<void> {
  const { revision } = await lock(tx, of, read.id);
  if (revision !== read.revision)
    throw new DroverError(
      "STORE_UNAVAILABLE",
      `another call has changed the schedule "${of.name}" at the same time: nothing was done, repeat it`,
    );
}

function same(known: ScheduleRecord, spec: ScheduleSpec): false {
  if (specText(known.spec) === specText(spec)) return false;
  throw new DroverError(
    "SCHEDULE_EXISTS",
    `there is a schedule "${known.name}" with another definition: update it, or use another name`,
    { metadata: { name: known.name } },
  );
}

/**
 * The runs of a schedule begin in its own shard, in the transaction that records them. A key that
 * leads to another shard would tear the two apart.
 */
function refuseKey(
  { shard = ONLY_SHARD }: Pick<ScheduleOptions, "shard">,
  name: string,
  { concurrency }: ScheduleSpec,
): void {
  const own = concurrencyKeyOf(name);
  if (shard.count === 1 || concurrency === null || concurrency.key === own) return;
  const message =
    `"${concurrency.key}" may lead to another shard than the schedule: ` +
    `in a store of several shards use "${own}", also for the other runs that share it`;
  throw new DroverError("INVALID_REQUEST", `spec.concurrency.key: ${message}`, {
    fields: [{ path: "spec.concurrency.key", message }],
  });
}

function refuseCalendar({ calendar }: ScheduleSpec, now: EpochMs): void {
  const problem = calendarProblem(calendar, now);
  if (!problem) return;
  const path = `spec.cron.${problem.field}`;
  throw new DroverError("INVALID_REQUEST", `${path}: ${problem.message}`, {
    fields: [{ path, message: problem.message }],
  });
}

/** Refuses what would be refused for each of its runs, while a caller can still correct it. */
async function refuseWorkflow(
  options: ScheduleOptions,
  namespace: Namespace,
  spec: ScheduleSpec,
): Promise<void> {
  const { begins } = await templateOf(createItemFinder(options), { namespace, spec, revision: 0 });
  const refusal = begins instanceof DroverError ? begins : begins.refusal;
  if (!refusal) return;
  const { reason, message, metadata } = refusal;
  const fields = refusal.fields.map((field) => ({ ...field, path: `spec.${field.path}` }));
  throw new DroverError(reason, message, { metadata, fields });
}

function firstOf(id: string, spec: ScheduleSpec, now: EpochMs): PlacedTime | null {
  const first = calendarTimesOf(spec.calendar).firstAfter(now);
  return first && placedBy(id, spec, first);
}

function placedBy(
  seed: string,
  { calendar, jitterMs }: ScheduleSpec,
  time: NominalTime,
): PlacedTime {
  return placed({ times: calendarTimesOf(calendar), jitterMs, seed }, time);
}

async function trigger(
  options: ScheduleOptions,
  of: ScheduleName,
  requestId: string,
  audit: Audit,
): Promise<Scheduled> {
  const record = await find(options, of);
  const { id, name } = record;
  const template = await templateOf(createItemFinder(options), record);
  const committed = await commitAndPublish(
    options,
    { name: "trigger-schedule", ...WAITS },
    async (tx) => {
      await lockAsRead(tx, of, record);
      const nominalTime = await freeTime(tx, id);
      const wanted: Wanted = {
        record,
        template,
        at: tx.now,
        cause: "trigger",
        actor: null,
        key: { scheduleId: id, series: TRIGGER_SERIES, nominalTime },
        text: nominalTimeText({ kind: "interval", everyMs: 1, offsetMs: 0 }, tx.now),
        concurrency: concurrencyOf(record),
        reserved: { key: keyByHand(id, requestId), name: `request "${requestId}"` },
      };
      const started = await beginOccurrences(options, tx, [wanted]);
      const run = started.runs[0];
      const error = started.errors[0];
      if (error) throw error;
      if (started.rows.length > 0) await tx.writeOccurrences(started.rows);
      if (audit && run?.created) await tx.recordAudit([withDetails(audit, { new_run: run.runId })]);
      return { ...started, run };
    },
  );
  if (committed.run) return committed.run;
  throw new Error(`the schedule ${name} was triggered and has no run`);
}

/** Two requests in the same millisecond are two occurrences. */
async function freeTime(tx: Tx, scheduleId: string): Promise<number> {
  for (let nominalTime = tx.now; ; nominalTime++) {
    const taken = await tx.loadOccurrences([{ scheduleId, series: TRIGGER_SERIES, nominalTime }]);
    if (taken.length === 0) return nominalTime;
  }
}

async function backfill(
  options: ScheduleOptions,
  request: BackfillRequest,
  audit: Audit,
): Promise<Backfilled> {
  const { from, until, concurrency: limit, dryRun } = request;
  const record = await find(options, request);
  const { id: scheduleId, name, series, spec } = record;
  const template = await templateOf(createItemFinder(options), record);
  // This may take a while, so it is done before the lock.
  const { page, next, count } = timesBetween(calendarTimesOf(spec.calendar), from, until);
  const wanted = page.map(
    ({ nominalTime, at }): Wanted => ({
      record,
      template,
      at,
      cause: "backfill",
      actor: null,
      reserved: null,
      key: { scheduleId, series, nominalTime },
      text: nominalTimeText(spec.calendar, nominalTime),
      concurrency: { key: `backfill/${name}`, limit, policy: "queue" },
    }),
  );
  const committed = await commitAndPublish(options, { name: "backfill", ...WAITS }, async (tx) => {
    await lockAsRead(tx, request, record);
    refuseFuture(until, tx.now);
    if (dryRun)
      return { ...NOTHING_WRITTEN, records: [], started: [], occurrences: await seen(tx, wanted) };
    const { rows, runs, errors, ...worked } = await beginOccurrences(options, tx, wanted);
    if (rows.length > 0) await tx.writeOccurrences(rows);
    const occurrences = wanted.map(({ at, text }, place): BackfillTime => {
      const run = runs[place];
      const message = errors[place]?.message ?? "";
      return { at, text, runId: run?.runId ?? null, created: run?.created ?? false, message };
    });
    const started = occurrences.filter(({ created }) => created).length;
    if (audit && started > 0) await tx.recordAudit([withDetails(audit, { started })]);
    return { ...worked, occurrences };
  });
  return { occurrences: committed.occurrences, next, count };
}

/** What a backfill would find. */
async function seen(tx: Tx, wanted: readonly Wanted[]): Promise<readonly BackfillTime[]> {
  const occurrences = await tx.loadOccurrences(wanted.map(({ key }) => key));
  const runOf = new Map(occurrences.map(({ nominalTime, runId }) => [nominalTime, runId]));
  return wanted.map(({ key, at, text }) => {
    return { at, text, runId: runOf.get(key.nominalTime) ?? null, created: false, message: "" };
  });
}

function refuseFuture(until: EpochMs, now: EpochMs): void {
  if (until <= now) return;
  const message = "is in the future: those runs start by themselves";
  throw new DroverError("INVALID_REQUEST", `end_time ${message}`, {
    fields: [{ path: "end_time", message }],
  });
}

function timesBetween(times: CalendarTimes, from: EpochMs, until: EpochMs) {
  const page: NominalTime[] = [];
  let next: EpochMs | null = null;
  let count = 0;
  let one = times.firstAfter(from - 1);
  while (one && one.at < until && count <= BACKFILL_COUNTED_MAX) {
    if (page.length < BACKFILL_PAGE) page.push(one);
    else next ??= one.at;
    count++;
    one = times.after(one.nominalTime);
  }
  return { page, next, count };
}
