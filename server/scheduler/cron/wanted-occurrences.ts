// Occurrences that are to get a run, and those whose run begins in another shard: the one of its
// concurrency key, or else of the key of its request.

import type { EpochMs } from "../../core/model/attempt.ts";
import type { Concurrency } from "../../core/model/permits.ts";
import { DroverError, type Reason } from "../../errors.ts";
import { ONLY_SHARD, shardOf } from "../../store/partition.ts";
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

/** A run is in the shard of its key (schedule.ts). */
export function isElsewhere(
  { shard = ONLY_SHARD, placeOfKey }: OccurrenceOptions,
  { template: { begins }, record, concurrency, reserved }: Wanted,
): boolean {
  const key = concurrency?.key ?? reserved?.key;
  if (begins instanceof DroverError || key === undefined) return false;
  return shardOf(placeOfKey(record.namespace.id, key), shard.count) !== shard.number;
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
      const key = `\u0001occurrence ${nameOf(one.key)}`;
      const reserved = item.reserved ?? { key, name: `occurrence ${one.text}` };
      try {
        return [idOf(one), { run: await submit({ ...item, reserved }), error: null }];
      } catch (error) {
        if (error instanceof DroverError && !PASSING.has(error.reason))
          return [idOf(one), { run: null, error }];
        throw error;
      }
    }),
  );
  return new Map(results);
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
