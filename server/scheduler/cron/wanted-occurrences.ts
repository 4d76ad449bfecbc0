// Occurrences that are to get a run. In a store of several shards the run begins in the shard of its
// concurrency key, and the occurrence is in that of its schedule. A key of the occurrence makes
// that one run, whoever begins it: the calendar and a backfill have different concurrency keys, so
// who comes second begins the run as the first one would have.
import { createHash } from "node:crypto";
import type { EpochMs } from "../../core/model/attempt.ts";
import type { Concurrency } from "../../core/model/permits.ts";
import { DroverError, type Reason } from "../../errors.ts";
import { ONLY_SHARD } from "../../store/partition.ts";
import type { OccurrenceCause, OccurrenceKey, ScheduleRecord } from "../../store/schedules.ts";
import type { Tx } from "../../store/store.ts";
import { commitAndPublish, type SupervisorActor } from "../advance.ts";
import type { Worked } from "../commit-summary.ts";
import type { ScheduleItem } from "../new-run.ts";
import type { Schedule, ScheduleOptions } from "../schedule.ts";

export const SCHEDULE_LABEL = "drover.schedule";
const NOMINAL_TIME_LABEL = "drover.nominal_time";

export interface OccurrenceOptions extends ScheduleOptions {
  /** A next time was set: a timer scan may have to run sooner. */
  readonly announce: (dueAt: EpochMs) => void;
  /** Begins a run whose place is in another shard; left out: the store is one shard. */
  readonly beginElsewhere?: Schedule["submit"];
}

/** What each run of a schedule begins with, by the present state of the workflow. */
export interface Template {
  readonly revision: number;
  readonly begins: ScheduleItem | DroverError;
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
  /** With what else its run may have begun; null: with nothing else. */
  readonly otherwise: Concurrency | null;
  readonly reserved: ScheduleItem["reserved"];
  readonly actor: SupervisorActor | null;
}

export interface OccurrenceResult {
  readonly run: { readonly runId: string; readonly created: boolean } | null;
  readonly error: DroverError | null;
}

export function nameOf({ scheduleId, series, nominalTime }: OccurrenceKey): string {
  return `${scheduleId}/${series}/${nominalTime}`;
}

interface WantedItem extends ScheduleItem {
  readonly of: Wanted;
}

export function itemOf(wanted: Wanted): WantedItem | null {
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

/** These reasons say nothing about the run. */
const PASSING: ReadonlySet<Reason> = new Set([
  "STORE_UNAVAILABLE",
  "OVERLOADED",
  "DRAINING",
  "INTERNAL",
]);

/** Whether its run begins in a transaction of its own, by its keys (schedule.ts). */
export function isElsewhere(
  { shard = ONLY_SHARD }: OccurrenceOptions,
  { template: { begins } }: Wanted,
): boolean {
  return shard.count > 1 && !(begins instanceof DroverError);
}

/** By their names (`idOf`), what became of occurrences whose runs begin in other shards. */
export type Begun = ReadonlyMap<string, OccurrenceResult>;

/** The reserved key of a triggered run stays when its time is chosen anew. */
export function idOf({ reserved, key }: Wanted): string {
  return reserved?.key ?? nameOf(key);
}

/** Begins runs in the shards of their keys. Throws if it is not known whether one has begun. */
export async function beginElsewhere(
  { beginElsewhere: submit }: OccurrenceOptions,
  wanted: readonly Wanted[],
): Promise<Begun> {
  const results = await Promise.all(
    wanted.map(async (one): Promise<readonly [string, OccurrenceResult]> => {
      const item = itemOf(one);
      if (!item || !submit) throw new Error(`the occurrence ${one.text} cannot begin elsewhere`);
      const ways = item.reserved ? [item] : waysOf(one, item);
      try {
        return [idOf(one), { run: await firstOf(submit, ways), error: null }];
      } catch (error) {
        if (error instanceof DroverError && !PASSING.has(error.reason))
          return [idOf(one), { run: null, error }];
        throw error;
      }
    }),
  );
  return new Map(results);
}

/** As it is wanted, and as it may have begun. The digest tells them apart. */
function waysOf({ key, text, concurrency, otherwise }: Wanted, item: WantedItem) {
  const reserved = { key: `\u0001occurrence ${nameOf(key)}`, name: `occurrence ${text}` };
  return [concurrency, otherwise].map((one) => {
    const digest = createHash("sha256")
      .update(one?.key ?? "")
      .digest("hex");
    return { ...item, reserved, request: { ...item.request, concurrency: one, digest } };
  });
}

async function firstOf(
  submit: Schedule["submit"],
  [way, ...others]: readonly ScheduleItem[],
): ReturnType<Schedule["submit"]> {
  if (!way) throw new Error("an occurrence was to begin in no way");
  try {
    return await submit(way);
  } catch (error) {
    const isBegun = error instanceof DroverError && error.reason === "KEY_REUSED";
    if (!isBegun || others.length === 0) throw error;
    return firstOf(submit, others);
  }
}

/** Runs a transaction that begins occurrences; twice, if some have to begin in other shards. */
export async function commitOccurrences<T extends Worked>(
  options: OccurrenceOptions,
  use: Parameters<typeof commitAndPublish>[1],
  work: (tx: Tx, begun: Begun) => Promise<T & { readonly elsewhere: readonly Wanted[] }>,
): Promise<T> {
  const first = await commitAndPublish(options, use, (tx) => work(tx, new Map()));
  if (first.elsewhere.length === 0) return first;
  const begun = await beginElsewhere(options, first.elsewhere);
  return commitAndPublish(options, use, (tx) => work(tx, begun));
}
