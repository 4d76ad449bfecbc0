/** Schedules, which start runs by a cron expression or at an interval. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { RunState } from "@drover/proto/drover/v1/run_pb.ts";
import type * as wire from "@drover/proto/drover/v1/schedule_pb.ts";
import {
  OccurrenceCause,
  OccurrenceOutcome,
  OverlapPolicy,
  type ScheduleSpecSchema,
} from "@drover/proto/drover/v1/schedule_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Call, CallControl } from "./call.ts";
import { DroverCallError } from "./call-error.ts";
import { type Codec, encoded } from "./codec.ts";
import { type Duration, fromDuration, toDuration } from "./duration.ts";
import { readTime } from "./runs.ts";

/** A cron expression, such as `30 2 * * MON-FRI`, or an interval. */
export type CalendarSpec =
  | {
      readonly cron: string;
      /** A name of the IANA database. Default: UTC. */
      readonly timeZone?: string;
    }
  | {
      /** At least 10 s. */
      readonly every: Duration;
      /** Offset of the times from the multiples of `every` since 1970, UTC. Default: 0. */
      readonly offset?: Duration;
    };

export type Overlap = "skip" | "buffer-one" | "buffer-all" | "cancel-other" | "allow-all";

export interface RecurringSpec extends CallControl {
  readonly calendar: CalendarSpec;
  readonly workflow: string;
  /** Default: the workflow's default version at the time at which a run begins. */
  readonly version?: number;
  /** JSON, or a Payload: the input of each run. Default: none. */
  readonly input?: unknown;
  /** 1 (first) to 9 (last). Default 5. */
  readonly priority?: number;
  readonly labels?: Readonly<Record<string, string>>;
  /** The hook that is notified of the end of each run. */
  readonly notifyHook?: string;
  /**
   * What happens when a time comes while a run of the schedule is in progress. Default: the time is
   * skipped.
   */
  readonly overlap?: Overlap;
  /** How late a time may still start its run. Default 1 h. */
  readonly catchUp?: Duration;
  /** Maximum delay after each time. Default 0. */
  readonly jitter?: Duration;
}

export interface ScheduleTime {
  readonly time: Date | null;
  /** The time as text, as in the label `drover.nominal_time` of its run. */
  readonly nominalTime: string;
}

/** An occurrence: a time of a schedule that was handled, and its result. */
export interface Occurrence extends ScheduleTime {
  readonly handledTime: Date | null;
  readonly cause: keyof typeof OccurrenceCause;
  readonly outcome: keyof typeof OccurrenceOutcome;
  /** null: it has no run. */
  readonly runId: string | null;
  /** null: it has no run. */
  readonly runState: keyof typeof RunState | null;
  /** Why it has no run; empty: the outcome says everything. */
  readonly message: string;
  /** For MISSED and PAUSED: number of times, this one first. */
  readonly missed: number;
}

export interface Schedule {
  readonly name: string;
  readonly calendar:
    | { readonly cron: string; readonly timeZone: string }
    | { readonly everyMs: number; readonly offsetMs: number };
  readonly workflow: string;
  readonly overlap: Overlap;
  readonly catchUpMs: number;
  readonly jitterMs: number;
  /** null: the schedule is not paused. */
  readonly paused: { readonly since: Date | null; readonly reason: string } | null;
  /** The next times. */
  readonly next: readonly ScheduleTime[];
  /** The last occurrences, the newest first. */
  readonly last: readonly Occurrence[];
}

export interface SchedulePage {
  /** By name. */
  readonly schedules: readonly Schedule[];
  /** Empty: this is the last page. */
  readonly nextPageToken: string;
}

export interface BackfillSpec extends CallControl {
  /** First time of the range, included. */
  readonly start: Date;
  /** End of the range, excluded. */
  readonly end: Date;
  /** Maximum number of its runs in progress at a time. Default 1. */
  readonly concurrency?: number;
  /** Says what the call would do, and starts nothing. */
  readonly dryRun?: boolean;
}

export interface BackfillOccurrence extends ScheduleTime {
  /** null: it has no run. */
  readonly runId: string | null;
  /** Whether this call started the run. */
  readonly created: boolean;
  /** Why it has no run. */
  readonly message: string;
}

export interface Schedules {
  /** `created` is false if a schedule of this name with the same content exists. */
  create(
    name: string,
    spec: RecurringSpec & { readonly paused?: boolean },
  ): Promise<{ readonly created: boolean; readonly schedule: Schedule }>;
  get(name: string, options?: CallControl): Promise<Schedule>;
  list(
    options?: CallControl & { readonly pageSize?: number; readonly pageToken?: string },
  ): Promise<SchedulePage>;
  /** Replaces its whole content. */
  update(name: string, spec: RecurringSpec): Promise<Schedule>;
  pause(name: string, options?: CallControl & { readonly reason?: string }): Promise<Schedule>;
  /** Times that passed during the pause get a run only by a backfill. */
  resume(name: string, options?: CallControl): Promise<Schedule>;
  /** Its runs continue. */
  delete(name: string, options?: CallControl): Promise<{ readonly deleted: boolean }>;
  /**
   * Starts the runs of past times that have no run; each time gets one, however often this is
   * called.
   */
  backfill(name: string, spec: BackfillSpec): AsyncGenerator<BackfillOccurrence, void, undefined>;
  /** Starts a run now, as if a time of the schedule had come. */
  trigger(
    name: string,
    options?: CallControl & { readonly requestId?: string },
  ): Promise<{ readonly runId: string; readonly created: boolean }>;
}

const rpc = SchedulerService.method;
const overlaps = {
  skip: OverlapPolicy.SKIP,
  "buffer-one": OverlapPolicy.BUFFER_ONE,
  "buffer-all": OverlapPolicy.BUFFER_ALL,
  "cancel-other": OverlapPolicy.CANCEL_OTHER,
  "allow-all": OverlapPolicy.ALLOW_ALL,
} as const satisfies Record<Overlap, OverlapPolicy>;

export function createSchedules(call: Call, namespace: string, codec: Codec): Schedules {
  const read = ({ schedule }: { readonly schedule?: wire.Schedule | undefined }): Schedule =>
    readSchedule(present(schedule));

  return Object.freeze({
    async create(name: string, { paused = false, ...spec }: Parameters<Schedules["create"]>[1]) {
      const request = { namespace, name, spec: toSpec(spec, codec), paused };
      const answer = await call(rpc.createSchedule, request, { signal: spec.signal });
      return { created: answer.created, schedule: read(answer) };
    },
    async get(name: string, { signal }: CallControl = {}): Promise<Schedule> {
      return read(await call(rpc.getSchedule, { namespace, name }, { signal }));
    },
    async list({ pageSize = 0, pageToken = "", signal }: ListSpec = {}): Promise<SchedulePage> {
      const request = { namespace, pageSize, pageToken };
      const answer = await call(rpc.listSchedules, request, { signal });
      const schedules = answer.schedules.map(readSchedule);
      return { schedules, nextPageToken: answer.nextPageToken };
    },
    async update(name: string, spec: RecurringSpec): Promise<Schedule> {
      const request = { namespace, name, spec: toSpec(spec, codec) };
      return read(await call(rpc.updateSchedule, request, { signal: spec.signal }));
    },
    async pause(name: string, { reason = "", signal }: ReasonSpec = {}): Promise<Schedule> {
      return read(await call(rpc.pauseSchedule, { namespace, name, reason }, { signal }));
    },
    async resume(name: string, { signal }: CallControl = {}): Promise<Schedule> {
      return read(await call(rpc.resumeSchedule, { namespace, name }, { signal }));
    },
    async delete(name: string, { signal }: CallControl = {}) {
      const { deleted } = await call(rpc.deleteSchedule, { namespace, name }, { signal });
      return { deleted };
    },
    async *backfill(name: string, spec: BackfillSpec) {
      const { start, end, concurrency = 0, dryRun = false, signal } = spec;
      const asked = { namespace, name, endTime: timestampFromDate(end), concurrency, dryRun };
      let startTime: ReturnType<typeof timestampFromDate> | undefined = timestampFromDate(start);
      while (startTime) {
        const page: wire.BackfillScheduleResponse = await call(
          rpc.backfillSchedule,
          { ...asked, startTime },
          { signal },
        );
        yield* page.occurrences.map(readBackfill);
        startTime = page.nextStartTime;
      }
    },
    async trigger(name: string, { requestId = crypto.randomUUID(), signal }: TriggerSpec = {}) {
      const request = { namespace, name, requestId };
      const { runId, created } = await call(rpc.triggerSchedule, request, { signal });
      return { runId, created };
    },
  });
}

type ListSpec = NonNullable<Parameters<Schedules["list"]>[0]>;
type ReasonSpec = NonNullable<Parameters<Schedules["pause"]>[1]>;
type TriggerSpec = NonNullable<Parameters<Schedules["trigger"]>[1]>;

function toSpec(spec: RecurringSpec, codec: Codec): MessageInitShape<typeof ScheduleSpecSchema> {
  const { workflow, version = 0, priority = 0, labels, notifyHook = "", overlap } = spec;
  const input = encoded(spec.input, codec);
  return {
    calendar: toCalendar(spec.calendar),
    workflow,
    version,
    priority,
    labels: { ...labels },
    notifyHook,
    ...(input && { input }),
    ...(overlap && { overlap: overlaps[overlap] }),
    ...(spec.catchUp !== undefined && { catchUp: toDuration(spec.catchUp) }),
    ...(spec.jitter !== undefined && { jitter: toDuration(spec.jitter) }),
  };
}

function toCalendar(
  calendar: CalendarSpec,
): NonNullable<MessageInitShape<typeof ScheduleSpecSchema>["calendar"]> {
  if ("cron" in calendar) {
    const { cron: expression, timeZone = "" } = calendar;
    return { case: "cron", value: { expression, timeZone } };
  }
  const every = toDuration(calendar.every);
  return { case: "interval", value: { every, offset: toDuration(calendar.offset ?? 0) } };
}

/** The server always sends it. */
function present<T>(part: T | undefined): T {
  if (part !== undefined) return part;
  throw new DroverCallError("INTERNAL", "The server answered without a schedule.");
}

function readSchedule({ name, pause, next, last, ...schedule }: wire.Schedule): Schedule {
  const spec = present(schedule.spec);
  const names = Object.keys(overlaps) as Overlap[];
  return Object.freeze({
    name,
    calendar: readCalendar(spec.calendar),
    workflow: spec.workflow,
    overlap: names.find((one) => overlaps[one] === spec.overlap) ?? "skip",
    catchUpMs: fromDuration(spec.catchUp),
    jitterMs: fromDuration(spec.jitter),
    paused: pause ? { since: readTime(pause.sinceTime), reason: pause.reason } : null,
    next: next.map(({ time, nominalTime }) => ({ time: readTime(time), nominalTime })),
    last: last.map(readOccurrence),
  });
}

function readCalendar({ case: kind, value }: wire.ScheduleSpec["calendar"]): Schedule["calendar"] {
  if (kind === "cron") return { cron: value.expression, timeZone: value.timeZone };
  return { everyMs: fromDuration(value?.every), offsetMs: fromDuration(value?.offset) };
}

function readOccurrence(occurrence: wire.Occurrence): Occurrence {
  const { nominalTime, runId, message, missed } = occurrence;
  return {
    time: readTime(occurrence.time),
    nominalTime,
    handledTime: readTime(occurrence.handledTime),
    message,
    missed,
    cause: nameIn(OccurrenceCause, occurrence.cause),
    outcome: nameIn(OccurrenceOutcome, occurrence.outcome),
    runId: runId === "" ? null : runId,
    runState: runId === "" ? null : nameIn(RunState, occurrence.runState),
  };
}

/** A value that only a newer server knows is read as UNSPECIFIED. */
function nameIn<Values extends { readonly UNSPECIFIED: 0 }>(
  values: Values,
  value: number,
): keyof Values {
  const names = Object.keys(values) as (keyof Values)[];
  return names.find((name) => values[name] === value) ?? "UNSPECIFIED";
}

function readBackfill({
  time,
  nominalTime,
  runId,
  created,
  message,
}: wire.BackfillOccurrence): BackfillOccurrence {
  return {
    time: readTime(time),
    nominalTime,
    runId: runId === "" ? null : runId,
    created,
    message,
  };
}
