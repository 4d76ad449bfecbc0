// Cron schedules and their occurrences in memory, as the .sql statements of the same names do.
import type { EpochMs } from "../../core/model/attempt.ts";
import type {
  Occurrence,
  OccurrenceKey,
  OccurrenceRecord,
  ScheduleRecord,
  Schedules,
  ScheduleTx,
} from "../schedules.ts";
import type { DueSchedule } from "../store.ts";
import { workflowKey } from "./queue-tables.ts";
import { createTable, type Table } from "./table.ts";
import { expectHere, pageOf, type Tables } from "./tables.ts";
import type { Journal, Transactions } from "./transactions.ts";

interface ScheduleRow extends Omit<ScheduleRecord, "namespace"> {
  readonly namespaceId: number;
  readonly deletedAt: EpochMs | null;
}

interface OccurrenceRow extends Occurrence {
  readonly handledAt: EpochMs;
}

export interface ScheduleTables {
  readonly schedule: Table<ScheduleRow, "namespace" | "partition">;
  readonly occurrence: Table<OccurrenceRow, "schedule">;
}

export function createTablesOfSchedules(journal: Journal): ScheduleTables {
  return {
    schedule: createTable<ScheduleRow, "namespace" | "partition">(journal, {
      name: "schedule",
      key: (row) => row.id,
      indexes: { namespace: (row) => row.namespaceId, partition: (row) => row.partition },
    }),
    occurrence: createTable<OccurrenceRow, "schedule">(journal, {
      name: "occurrence",
      key: occurrenceKey,
      indexes: { schedule: (row) => row.scheduleId },
    }),
  };
}

export function occurrenceKey({ scheduleId, series, nominalTime }: OccurrenceKey): string {
  return `${scheduleId}/${series}/${nominalTime}`;
}

export interface ScheduleWorld {
  readonly tables: Tables;
  readonly now: () => EpochMs;
  readonly namespaceOf: (id: number) => ScheduleRecord["namespace"];
}

export function createSchedules(world: ScheduleWorld, { run }: Transactions): Schedules {
  const { tables, now } = world;
  return Object.freeze({
    find: (namespaceId, name) =>
      run(() => {
        const row = named(tables, namespaceId, name);
        if (!row) return null;
        const workflow = workflowKey({ namespaceId, workflow: row.spec.workflow });
        const workflowPause = tables.pausedWorkflow.get(workflow)?.pause ?? null;
        return { ...recordOf(world, row), workflowPause };
      }),
    byId: (ids) => run(() => recordsOf(world, ids)),
    lastOccurrences: (ids, limit) =>
      run(() =>
        ids.flatMap((id) =>
          tables.occurrence
            .where("schedule", id)
            .sort((a, b) => b.at - a.at || b.series - a.series)
            .slice(0, limit)
            .map((row) => occurrenceRecordOf(tables, row)),
        ),
      ),
    delete: (namespaceId, name) =>
      run(() => {
        const row = named(tables, namespaceId, name);
        if (row) tables.schedule.put({ ...row, deletedAt: now() });
        return row !== undefined;
      }),
  } satisfies Schedules);
}

function named(tables: Tables, namespaceId: number, name: string): ScheduleRow | undefined {
  return there(tables.schedule.where("namespace", namespaceId)).find((row) => row.name === name);
}

function there(rows: readonly ScheduleRow[]): ScheduleRow[] {
  return rows.filter(({ deletedAt }) => deletedAt === null);
}

function recordsOf(
  world: Pick<ScheduleWorld, "tables" | "namespaceOf">,
  ids: readonly string[],
): readonly ScheduleRecord[] {
  const rows = ids.flatMap((id) => world.tables.schedule.get(id) ?? []);
  return there(rows).map((row) => recordOf(world, row));
}

function recordOf(
  { namespaceOf }: Pick<ScheduleWorld, "namespaceOf">,
  { namespaceId, deletedAt: _, ...row }: ScheduleRow,
): ScheduleRecord {
  const { next, pause } = row;
  const placed = next && pause ? { ...next, wakeAt: next.at } : next;
  return {
    ...row,
    next: placed,
    namespace: namespaceOf(namespaceId),
  };
}

function occurrenceRecordOf(tables: Tables, row: OccurrenceRow): OccurrenceRecord {
  if (row.runId === null) return { ...row, runState: null };
  return { ...row, runState: pageOf(tables, row.runId, 0)?.head?.run.state.kind ?? null };
}

/** Schedules of a partition that have a next occurrence and are not paused. */
export function scheduleTimers(tables: Tables, partition: number): readonly DueSchedule[] {
  return there(tables.schedule.where("partition", partition)).flatMap(({ id, next, pause }) =>
    next === null || pause !== null ? [] : [{ id, partition, wakeAt: next.wakeAt }],
  );
}

/**
 * Deletes up to `rowsMax` occurrences of a deleted schedule, and the schedule once none is left.
 * Returns whether there was such a schedule: there may be others.
 */
export function forgetSchedules(tables: Tables, rowsMax: number): boolean {
  const gone = tables.schedule.all().find(({ deletedAt }) => deletedAt !== null);
  if (!gone) return false;
  const occurrences = tables.occurrence.where("schedule", gone.id);
  for (const occurrence of occurrences.slice(0, rowsMax)) tables.occurrence.removeRow(occurrence);
  if (occurrences.length < rowsMax) tables.schedule.removeRow(gone);
  return true;
}

interface ScheduleLocks {
  readonly world: Pick<ScheduleWorld, "tables" | "namespaceOf">;
  readonly now: EpochMs;
  /** Throws if the call would break the order of locks. */
  readonly enter: (place: "schedules" | "writes and claims") => void;
}

export function schedulesLockedBy({ world, now, enter }: ScheduleLocks): ScheduleTx {
  const { tables } = world;
  const locked = new Set<string>();
  const expectLocked = (id: string): void => {
    if (!locked.has(id)) throw new Error(`the schedule ${id} must be locked before`);
  };
  return {
    lockSchedules: async (ids) => {
      enter("schedules");
      const found = recordsOf(world, [...ids].sort());
      for (const { id } of found) locked.add(id);
      return found;
    },
    insertSchedule: async ({ pauseReason, ...schedule }) => {
      enter("writes and claims");
      expectHere(tables, schedule.partition);
      if (named(tables, schedule.namespaceId, schedule.name)) return false;
      const pause = pauseReason === null ? null : { since: now, reason: pauseReason };
      const numbers = { series: 1, revision: 1 };
      const times = { createdAt: now, changedAt: now, deletedAt: null };
      tables.schedule.insert({ ...schedule, pause, ...numbers, ...times });
      return true;
    },
    loadOccurrences: async (keys) =>
      keys.flatMap((key) => {
        expectLocked(key.scheduleId);
        const row = tables.occurrence.get(occurrenceKey(key));
        if (!row) return [];
        const { handledAt: _, ...occurrence } = row;
        return [occurrence];
      }),
    writeOccurrences: async (occurrences) => {
      enter("writes and claims");
      for (const occurrence of occurrences) {
        expectLocked(occurrence.scheduleId);
        const before = tables.occurrence.get(occurrenceKey(occurrence));
        if (before?.runId)
          throw new Error(`the occurrence ${occurrenceKey(occurrence)} has a run already`);
        tables.occurrence.put({ ...occurrence, handledAt: now });
      }
    },
    moveSchedules: async (moves) => {
      enter("writes and claims");
      for (const { id, next } of moves) {
        expectLocked(id);
        tables.schedule.put({ ...tables.schedule.expect(id), next });
      }
    },
    changeSchedule: async ({ id, ...change }) => {
      enter("writes and claims");
      expectLocked(id);
      const row = tables.schedule.expect(id);
      tables.schedule.put({ ...row, ...change, revision: row.revision + 1, changedAt: now });
    },
  };
}
