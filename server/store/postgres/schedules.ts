// Cron schedules and their occurrences on PostgreSQL.

import type { PlacedTime } from "../../core/definition/calendar.ts";
import type { EpochMs } from "../../core/model/attempt.ts";
import { specFromText, specText } from "../definition-text.ts";
import type {
  NewSchedule,
  Occurrence,
  OccurrenceRecord,
  SchedulePage,
  ScheduleRecord,
  Schedules,
  ScheduleTx,
  ShownSchedule,
} from "../schedules.ts";
import type { Audited } from "./audit.ts";
import { occurrenceCauses, occurrenceOutcomes, runStates } from "./codes.ts";
import { columns, writeEach } from "./columns.ts";
import type { Values } from "./sql.ts";
import type { Query, Transaction } from "./transaction.ts";

export function createSchedules(query: Query, audited: Audited): Schedules {
  return Object.freeze({
    async find(namespaceId, name) {
      const [row] = await query<ShownRow>("find_schedule", { namespace_id: namespaceId, name });
      return row ? shownOf(row) : null;
    },
    byId: async (ids) => there(await query<ScheduleRow>("schedules_by_id", { ids })),
    async lastOccurrences(ids, limit) {
      const rows = await query<OccurrenceRow & { run_state: number | null }>("last_occurrences", {
        ids,
        limit,
      });
      return rows.map((row): OccurrenceRecord => {
        const runState = row.run_state === null ? null : runStates.name(row.run_state);
        return { ...occurrenceOf(row), handledAt: row.handled_at, runState };
      });
    },
    async delete(namespaceId, name, audit = null) {
      const deleted = await audited(audit, "delete_schedule", { namespace_id: namespaceId, name });
      return deleted.length > 0;
    },
  } satisfies Schedules);
}

export async function listSchedules(
  query: Query,
  namespaceId: number,
  { workflow, after, limit }: SchedulePage,
): Promise<readonly ShownSchedule[]> {
  const page = { namespace_id: namespaceId, after, limit };
  const rows =
    workflow === null
      ? await query<ShownRow>("list_schedules", page)
      : await query<ShownRow>("list_schedules_of_workflow", { ...page, workflow });
  return rows.map(shownOf);
}

export function schedulesLockedBy({
  query,
  send,
}: Pick<Transaction, "query" | "send">): ScheduleTx {
  return {
    async lockSchedules(ids, wait) {
      const rows = await query<ScheduleRow>(wait ? "lock_schedules_wait" : "lock_schedules_skip", {
        ids,
      });
      return there(rows);
    },
    insertSchedule: async (schedule) =>
      (await query("create_schedule", createdColumns(schedule))).length > 0,
    async loadOccurrences(keys) {
      if (keys.length === 0) return [];
      const wanted = columns(keys, {
        schedule_id: (key) => key.scheduleId,
        series: (key) => key.series,
        nominal_time: (key) => key.nominalTime,
      });
      return (await query<OccurrenceRow>("load_occurrences", wanted)).map(occurrenceOf);
    },
    writeOccurrences: async (occurrences) =>
      writeEach(send, "write_occurrences", occurrences, {
        schedule_id: (occurrence) => occurrence.scheduleId,
        series: (occurrence) => occurrence.series,
        nominal_time: (occurrence) => occurrence.nominalTime,
        at: (occurrence) => occurrence.at,
        cause: (occurrence) => occurrenceCauses.code(occurrence.cause),
        outcome: (occurrence) => occurrenceOutcomes.code(occurrence.outcome),
        run_id: (occurrence) => occurrence.runId,
        message: (occurrence) => occurrence.message,
        missed_count: (occurrence) => occurrence.missed?.count ?? null,
        missed_until: (occurrence) => occurrence.missed?.until ?? null,
        node: (occurrence) => occurrence.actor?.node ?? null,
        epoch: (occurrence) => occurrence.actor?.epoch ?? null,
      }),
    moveSchedules: async (moves) =>
      writeEach(send, "move_schedules", moves, {
        id: (move) => move.id,
        next_nominal_time: (move) => move.next?.nominalTime ?? null,
        next_at: (move) => move.next?.at ?? null,
        wake_at: (move) => move.next?.wakeAt ?? null,
      }),
    async changeSchedule({ id, spec, series, next, pause }) {
      const wakeAt = pause ? null : (next?.wakeAt ?? null);
      await query("change_schedule", {
        id,
        workflow: spec.workflow,
        spec: specText(spec),
        series,
        next_nominal_time: next?.nominalTime ?? null,
        next_at: next?.at ?? null,
        wake_at: wakeAt,
        paused_at: pause?.since ?? null,
        pause_reason: pause?.reason ?? null,
      });
    },
  };
}

function createdColumns({
  id,
  namespaceId,
  name,
  partition,
  spec,
  next,
  pauseReason,
}: NewSchedule): Values {
  return {
    id,
    namespace_id: namespaceId,
    name,
    partition,
    workflow: spec.workflow,
    spec: specText(spec),
    next_nominal_time: next?.nominalTime ?? null,
    next_at: next?.at ?? null,
    wake_at: pauseReason === null ? (next?.wakeAt ?? null) : null,
    pause_reason: pauseReason,
  };
}

/** Filtered here: with the condition in the statement the planner takes the index of names. */
function there(rows: readonly ScheduleRow[]): readonly ScheduleRecord[] {
  return rows.filter((row) => row.deleted_at === null).map(scheduleOf);
}

interface ScheduleRow {
  id: string;
  namespace_id: number;
  namespace: string;
  region: number;
  name: string;
  partition: number;
  series: number;
  revision: number;
  spec: string;
  next_nominal_time: number | null;
  next_at: EpochMs | null;
  wake_at: EpochMs | null;
  paused_at: EpochMs | null;
  pause_reason: string | null;
  created_at: EpochMs;
  changed_at: EpochMs;
  deleted_at: EpochMs | null;
}

function scheduleOf(row: ScheduleRow): ScheduleRecord {
  const { paused_at: since, pause_reason: reason } = row;
  const spec = specFromText(row.spec);
  const next = nextOf(row);
  return {
    id: row.id,
    partition: row.partition,
    name: row.name,
    namespace: { id: row.namespace_id, name: row.namespace, region: row.region },
    series: row.series,
    revision: row.revision,
    spec,
    next,
    pause: since === null ? null : { since, reason: reason ?? "" },
    createdAt: row.created_at,
    changedAt: row.changed_at,
  };
}

/** With the pause of its workflow. */
interface ShownRow extends ScheduleRow {
  workflow_paused_at: EpochMs | null;
  workflow_reason: string | null;
}

function shownOf(row: ShownRow): ShownSchedule {
  const { workflow_paused_at: since, workflow_reason: reason } = row;
  const workflowPause = since === null ? null : { since, reason: reason ?? "" };
  return { ...scheduleOf(row), workflowPause };
}

function nextOf(row: ScheduleRow): PlacedTime | null {
  const { next_nominal_time: nominalTime, next_at: at, wake_at: wakeAt } = row;
  return nominalTime === null || at === null ? null : { nominalTime, at, wakeAt: wakeAt ?? at };
}

interface OccurrenceRow {
  schedule_id: string;
  series: number;
  nominal_time: number;
  at: EpochMs;
  handled_at: EpochMs;
  cause: number;
  outcome: number;
  run_id: string | null;
  message: string;
  missed_count: number | null;
  missed_until: EpochMs | null;
  node: string | null;
  epoch: number | null;
}

function occurrenceOf(row: OccurrenceRow): Occurrence {
  const { missed_count: count, missed_until: until, node, epoch } = row;
  return {
    scheduleId: row.schedule_id,
    series: row.series,
    nominalTime: row.nominal_time,
    at: row.at,
    cause: occurrenceCauses.name(row.cause),
    outcome: occurrenceOutcomes.name(row.outcome),
    runId: row.run_id,
    message: row.message,
    missed: count === null || until === null ? null : { count, until },
    actor: node === null || epoch === null ? null : { node, epoch },
  };
}
