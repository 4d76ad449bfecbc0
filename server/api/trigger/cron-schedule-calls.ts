// Cron schedules: create, read, update, pause, resume, delete, backfill and trigger them.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs, durationMs, timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type BackfillScheduleRequest,
  type ListSchedulesRequest,
  OccurrenceCause,
  OccurrenceOutcome,
  type OccurrenceSchema,
  OverlapPolicy,
  type ScheduleSchema,
  ScheduleSpecSchema,
  type ScheduleSpec as SpecMessage,
} from "@drover/proto/drover/v1/schedule_pb.ts";
import type { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Calendar, Overlap } from "../../core/definition/calendar.ts";
import type { Scheduler } from "../../scheduler/scheduler.ts";
import type { AllShards, WholeStore } from "../../store/all-shards.ts";
import type { AuditAction, AuditDetails, AuditEntry } from "../../store/audit.ts";
import type {
  OccurrenceRecord,
  ScheduleSpec,
  ShownSchedule,
  OccurrenceCause as StoreCause,
  OccurrenceOutcome as StoreOutcome,
} from "../../store/schedules.ts";
import type { Namespace } from "../../store/store.ts";
import { auditEntry, type Who } from "../calls/audit-entry.ts";
import { refusal } from "../calls/errors.ts";
import type { Handlers } from "../calls/mount.ts";
import type { Namespaces } from "../calls/namespace-names.ts";
import { parsePageToken } from "../calls/page-token.ts";
import { payloadField, payloadFrom } from "../calls/payload.ts";
import { epochMsFrom, timeField } from "../calls/time-field.ts";
import { pauseMessage } from "../operator/queue-calls.ts";
import { concurrencyFrom, concurrencyMessage } from "../run/convert-concurrency.ts";
import { RUN_STATES } from "../run/convert-run.ts";
import { pageOf } from "../run/run-list.ts";

interface ScheduleDeps {
  readonly scheduler: Scheduler;
  readonly store: Pick<AllShards, "schedules">;
  readonly namespaces: Namespaces;
}

interface ScheduleListDeps extends ScheduleDeps {
  readonly store: Pick<WholeStore, "schedules" | "lists">;
}

type ScheduleCalls =
  | "createSchedule"
  | "getSchedule"
  | "updateSchedule"
  | "pauseSchedule"
  | "resumeSchedule"
  | "deleteSchedule"
  | "backfillSchedule"
  | "triggerSchedule";

/** Occurrences shown of one schedule, and of each schedule in a list. */
const ALONE = { next: 10, last: 50 };
const LISTED = { next: 3, last: 3 };
const PRIORITY_DEFAULT = 5;
const CATCH_UP_MS_DEFAULT = 3_600_000;

interface Named {
  readonly namespace: string;
  readonly name: string;
}

export function createScheduleCalls(
  deps: ScheduleDeps,
): Pick<Handlers<typeof SchedulerService>, ScheduleCalls> {
  const { scheduler, store, namespaces } = deps;
  const named = async ({ namespace, name }: Named) => {
    return { namespace: await namespaces.find(namespace), name };
  };
  const shown = async ({ namespace, name }: { namespace: Namespace; name: string }) => {
    const record = await store.schedules.find(namespace.id, name);
    if (!record) throw notFound(namespace, name);
    const [schedule] = await messagesOf(deps, [record], ALONE);
    return { schedule };
  };

  return {
    async createSchedule(request, who) {
      const of = await named(request);
      const spec = specFrom(request.spec);
      const pauseReason = request.paused ? "" : null;
      const details = { ...specDetails(spec), paused: request.paused };
      const entry = entryOf(who, "schedule.create", of, { details });
      const { created } = await scheduler.createSchedule(of, spec, pauseReason, entry);
      return { created, ...(await shown(of)) };
    },
    getSchedule: async (request) => shown(await named(request)),
    async updateSchedule(request, who) {
      const of = await named(request);
      const spec = specFrom(request.spec);
      const entry = entryOf(who, "schedule.update", of, { details: specDetails(spec) });
      await scheduler.updateSchedule(of, spec, entry);
      return shown(of);
    },
    async pauseSchedule(request, who) {
      const of = await named(request);
      const { reason } = request;
      await scheduler.pauseSchedule(of, reason, entryOf(who, "schedule.pause", of, { reason }));
      return shown(of);
    },
    async resumeSchedule(request, who) {
      const of = await named(request);
      await scheduler.resumeSchedule(of, entryOf(who, "schedule.resume", of));
      return shown(of);
    },
    async deleteSchedule(request, who) {
      const of = await named(request);
      const entry = entryOf(who, "schedule.delete", of);
      return { deleted: await scheduler.deleteSchedule(of, entry) };
    },
    backfillSchedule: async (request, who) =>
      backfill(scheduler, await named(request), request, who),
    async triggerSchedule(request, who) {
      const of = await named(request);
      const entry = entryOf(who, "schedule.trigger", of);
      return scheduler.triggerSchedule(of, request.requestId, entry);
    },
  };
}

function entryOf(
  who: Who,
  action: AuditAction,
  of: { readonly namespace: Namespace; readonly name: string },
  more: { readonly reason?: string; readonly details?: AuditDetails } = {},
): AuditEntry {
  const { namespace, name } = of;
  const subject = ["schedule", name] as const;
  return auditEntry(who, { action, namespaceId: namespace.id, subject, ...more });
}

function specDetails({ workflow, calendar, overlap }: ScheduleSpec): AuditDetails {
  const when =
    calendar.kind === "cron"
      ? { cron: calendar.cron, time_zone: calendar.timeZone }
      : { every_ms: calendar.everyMs };
  return { workflow, ...when, overlap };
}

function notFound(namespace: Namespace, name: string) {
  const message = `there is no schedule "${name}" in namespace "${namespace.name}"`;
  return refusal("SCHEDULE_NOT_FOUND", [{ path: "name", message }], { name });
}

export async function listSchedules(deps: ScheduleListDeps, request: ListSchedulesRequest) {
  const namespace = await deps.namespaces.find(request.namespace);
  const workflow = request.workflow || null;
  const list = `schedules ${namespace.id} ${request.workflow}`;
  const page = pageOf(list, request.pageSize);
  const after = parsePageToken(list, request.pageToken, isName);
  const limit = page.limit + 1;
  const records = await deps.store.lists.schedules(namespace.id, { workflow, after, limit });
  return {
    schedules: await messagesOf(deps, records.slice(0, page.limit), LISTED),
    nextPageToken: page.nextToken(records, ({ name }) => name),
  };
}

function isName(text: string): boolean {
  return /^[A-Za-z0-9._-]{1,128}$/.test(text);
}

async function backfill(
  scheduler: Scheduler,
  of: { readonly namespace: Namespace; readonly name: string },
  { startTime, endTime, concurrency, dryRun }: BackfillScheduleRequest,
  who: Who,
) {
  const from = epochMsFrom(startTime, "start_time") ?? 0;
  const until = epochMsFrom(endTime, "end_time") ?? 0;
  if (until <= from) {
    const message = "must be after start_time: the range is empty";
    throw refusal("INVALID_REQUEST", [{ path: "end_time", message }]);
  }
  const asked = { ...of, from, until, concurrency: concurrency === 0 ? 1 : concurrency, dryRun };
  const details = { from: new Date(from).toISOString(), until: new Date(until).toISOString() };
  const entry = entryOf(who, "schedule.backfill", of, { details });
  const { occurrences, next, count } = await scheduler.backfillSchedule(asked, entry);
  return {
    occurrences: occurrences.map(({ at, text, runId, created, message }) => ({
      time: timestampFromMs(at),
      nominalTime: text,
      runId: runId ?? "",
      created,
      message,
    })),
    ...timeField("nextStartTime", next),
    count,
  };
}

const OVERLAPS: Readonly<Record<Overlap, OverlapPolicy>> = Object.freeze({
  skip: OverlapPolicy.SKIP,
  "buffer-one": OverlapPolicy.BUFFER_ONE,
  "buffer-all": OverlapPolicy.BUFFER_ALL,
  "cancel-other": OverlapPolicy.CANCEL_OTHER,
  "allow-all": OverlapPolicy.ALLOW_ALL,
});

function overlapFrom(policy: OverlapPolicy): Overlap {
  const all = Object.keys(OVERLAPS) as Overlap[];
  return all.find((one) => OVERLAPS[one] === policy) ?? "skip";
}

function specFrom(message: SpecMessage | undefined): ScheduleSpec {
  const spec = message ?? create(ScheduleSpecSchema);
  const overlap = overlapFrom(spec.overlap);
  const concurrency = concurrencyFrom(spec.concurrency);
  if (concurrency && overlap !== "allow-all") {
    const problem =
      "is only for the overlap policy ALLOW_ALL: with others the runs have the key schedule/NAME";
    throw refusal("INVALID_REQUEST", [{ path: "spec.concurrency", message: problem }]);
  }
  return {
    calendar: calendarFrom(spec.calendar),
    workflow: spec.workflow,
    version: spec.version,
    input: payloadFrom(spec.input),
    priority: spec.priority === 0 ? PRIORITY_DEFAULT : spec.priority,
    labels: { ...spec.labels },
    notify: spec.notifyHook === "" ? null : { hook: spec.notifyHook, url: null },
    concurrency,
    overlap,
    catchUpMs: spec.catchUp ? durationMs(spec.catchUp) : CATCH_UP_MS_DEFAULT,
    jitterMs: spec.jitter ? durationMs(spec.jitter) : 0,
  };
}

function calendarFrom(calendar: SpecMessage["calendar"]): Calendar {
  switch (calendar.case) {
    case "cron": {
      const { expression, timeZone } = calendar.value;
      return { kind: "cron", cron: expression, timeZone: timeZone === "" ? "UTC" : timeZone };
    }
    case "interval": {
      const { every, offset } = calendar.value;
      const everyMs = every ? durationMs(every) : 0;
      const offsetMs = offset ? durationMs(offset) : 0;
      if (everyMs === undefined || offsetMs === undefined) break;
      if (!Number.isInteger(everyMs) || !Number.isInteger(offsetMs))
        throw interval("every", "must be whole milliseconds");
      if (offsetMs >= everyMs) throw interval("offset", "must be less than every");
      return { kind: "interval", everyMs, offsetMs };
    }
    default:
  }
  throw new Error("a schedule without a calendar has passed the rules");
}

function interval(field: string, message: string) {
  return refusal("INVALID_REQUEST", [{ path: `spec.interval.${field}`, message }]);
}

function specMessage(spec: ScheduleSpec): MessageInitShape<typeof ScheduleSpecSchema> {
  const { calendar, workflow, version, priority, labels, notify, concurrency } = spec;
  return {
    calendar:
      calendar.kind === "cron"
        ? { case: "cron", value: { expression: calendar.cron, timeZone: calendar.timeZone } }
        : {
            case: "interval",
            value: {
              every: durationFromMs(calendar.everyMs),
              offset: durationFromMs(calendar.offsetMs),
            },
          },
    workflow,
    version,
    priority,
    labels: { ...labels },
    notifyHook: notify?.hook ?? "",
    ...payloadField("input", spec.input),
    overlap: OVERLAPS[spec.overlap],
    ...(concurrency && { concurrency: concurrencyMessage(concurrency) }),
    catchUp: durationFromMs(spec.catchUpMs),
    jitter: durationFromMs(spec.jitterMs),
  };
}

type Shown = typeof ALONE;

async function messagesOf(
  { scheduler, store }: ScheduleDeps,
  records: readonly ShownSchedule[],
  most: Shown,
): Promise<MessageInitShape<typeof ScheduleSchema>[]> {
  if (records.length === 0) return [];
  const ids = records.map(({ id }) => id);
  const occurrences = Map.groupBy(
    await store.schedules.lastOccurrences(ids, most.last),
    ({ scheduleId }) => scheduleId,
  );
  const nameOf = (spec: ScheduleSpec, nominalTime: number) =>
    scheduler.nominalTimeText(spec, nominalTime);
  return records.map((record) => {
    const { id, name, spec, pause, workflowPause } = record;
    const next = pause ? [] : scheduler.timesToCome(record, most.next);
    return {
      name,
      spec: specMessage(spec),
      ...(pause && {
        pause: { sinceTime: timestampFromMs(pause.since), reason: pause.reason },
      }),
      ...(workflowPause && { workflowPause: pauseMessage(workflowPause) }),
      createdTime: timestampFromMs(record.createdAt),
      changedTime: timestampFromMs(record.changedAt),
      next: next.map(({ at, nominalTime }) => {
        return { time: timestampFromMs(at), nominalTime: nameOf(spec, nominalTime) };
      }),
      last: (occurrences.get(id) ?? []).map((occurrence) =>
        occurrenceMessage(occurrence, nameOf(spec, occurrence.nominalTime)),
      ),
    };
  });
}

const CAUSES: Readonly<Record<StoreCause, OccurrenceCause>> = Object.freeze({
  calendar: OccurrenceCause.CALENDAR,
  backfill: OccurrenceCause.BACKFILL,
  trigger: OccurrenceCause.TRIGGER,
});
const OUTCOMES: Readonly<Record<StoreOutcome, OccurrenceOutcome>> = Object.freeze({
  started: OccurrenceOutcome.STARTED,
  overlapped: OccurrenceOutcome.OVERLAPPED,
  missed: OccurrenceOutcome.MISSED,
  paused: OccurrenceOutcome.PAUSED,
  refused: OccurrenceOutcome.REFUSED,
});

function occurrenceMessage(
  occurrence: OccurrenceRecord,
  text: string,
): MessageInitShape<typeof OccurrenceSchema> {
  const { at, handledAt, cause, outcome, runId, runState, message, missed } = occurrence;
  const isOfCalendar = cause !== "trigger";
  return {
    time: timestampFromMs(at),
    nominalTime: isOfCalendar ? text : new Date(at).toISOString(),
    handledTime: timestampFromMs(handledAt),
    cause: CAUSES[cause],
    outcome: OUTCOMES[outcome],
    runId: runId ?? "",
    message,
    ...(runState && { runState: RUN_STATES[runState] }),
    missed: missed?.count ?? 0,
    ...timeField("missedBeforeTime", missed?.until ?? null),
  };
}
