/** `drover schedule create`, `update`, `list`, `show`, `pause`, `resume`, `delete`, `run`. */
import { randomUUID } from "node:crypto";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import {
  CreateScheduleResponseSchema,
  DeleteScheduleResponseSchema,
  GetScheduleResponseSchema,
  ListSchedulesResponseSchema,
  OverlapPolicy,
  PauseScheduleResponseSchema,
  ResumeScheduleResponseSchema,
  type Schedule,
  ScheduleSchema,
  type ScheduleSpecSchema,
  TriggerScheduleResponseSchema,
  UpdateScheduleResponseSchema,
} from "@drover/proto/drover/v1/schedule_pb.ts";
import { type Command, Option } from "commander";
import { addChangeOptions, type ReasonOptions } from "../change-options.ts";
import { addLabel, contextOf, parseDuration, wholeNumber } from "../context.ts";
import { type Ended, exitCodes, notThere, usageFailure } from "../failure.ts";
import { readPayload } from "../input.ts";
import { addList, documentOf } from "../list-verb.ts";
import { limitMax, readPages } from "../lists.ts";
import { calendarWords, occurrenceRows, printSchedule, stateWords } from "../schedule-words.ts";
import { clean, pauseWords, timeWords } from "../words.ts";
import { addScheduleBackfill } from "./schedule-backfill.ts";

interface SpecOptions {
  readonly cron?: string;
  readonly timeZone?: string;
  readonly every?: number;
  readonly offset?: number;
  readonly input?: string;
  readonly version: number;
  readonly priority: number;
  readonly label?: Readonly<Record<string, string>>;
  readonly overlap: keyof typeof overlaps;
  readonly catchUp?: number;
  readonly jitter?: number;
  readonly notify?: string;
}

const overlaps = {
  skip: OverlapPolicy.SKIP,
  "buffer-one": OverlapPolicy.BUFFER_ONE,
  "buffer-all": OverlapPolicy.BUFFER_ALL,
  "cancel-other": OverlapPolicy.CANCEL_OTHER,
  "allow-all": OverlapPolicy.ALLOW_ALL,
};
const versionMax = 2 ** 31 - 1;

export function addScheduleVerbs(schedule: Command, ended: Ended): void {
  addCreate(schedule, ended);
  addUpdate(schedule, ended);
  addScheduleList(schedule, ended);
  addShow(schedule, ended);
  addPause(schedule, ended);
  addResume(schedule, ended);
  addRun(schedule, ended);
  addScheduleBackfill(schedule, ended);
  addDelete(schedule, ended);
}

/** Adds the options of a verb that sets the whole schedule. */
function withSpec(command: Command): Command {
  return command
    .argument("<schedule>", "name of the schedule")
    .argument("<workflow>", "name of the workflow")
    .addOption(
      new Option(
        "--cron <expression>",
        "cron expression, as '30 2 * * MON-FRI' or @daily",
      ).conflicts("every"),
    )
    .option("--time-zone <zone>", "time zone of --cron, as Europe/Berlin; default: UTC")
    .option("--every <duration>", "interval, as 15m; at least 10s", parseDuration)
    .option("--offset <duration>", "offset of --every from full intervals", parseDuration)
    .option("--input <json>", "input of each run: JSON, or @FILE, or @- for a pipe")
    .option(
      "--version <n>",
      "version (0: the default version at that time)",
      wholeNumber(0, versionMax),
      0,
    )
    .option("--priority <n>", "1 (first) to 9 (last)", wholeNumber(1, 9), 5)
    .option("--label <key=value>", "a label of each run; may be given again", addLabel)
    .addOption(
      new Option("--overlap <policy>", "what to do while an earlier run is open")
        .choices(Object.keys(overlaps))
        .default("skip"),
    )
    .option("--catch-up <duration>", "most lateness of a start; default: 1h", parseDuration)
    .option("--jitter <duration>", "random delay of each start, at most", parseDuration)
    .option("--notify <hook>", "the hook that is notified of the end of each run");
}

function specOf(
  workflow: string,
  options: SpecOptions,
): MessageInitShape<typeof ScheduleSpecSchema> {
  const { version, priority, label, overlap, catchUp, jitter, notify = "" } = options;
  const input = readPayload(options.input, "--input");
  return {
    calendar: calendarOf(options),
    workflow,
    version,
    priority,
    labels: { ...label },
    overlap: overlaps[overlap],
    notifyHook: notify,
    ...(input && { input }),
    ...(catchUp !== undefined && { catchUp: durationFromMs(catchUp) }),
    ...(jitter !== undefined && { jitter: durationFromMs(jitter) }),
  };
}

function calendarOf({ cron, timeZone = "", every, offset = 0 }: SpecOptions) {
  if (cron !== undefined) return { case: "cron" as const, value: { expression: cron, timeZone } };
  if (every === undefined)
    throw usageFailure("give the times of the schedule", "--cron '30 2 * * *'");
  if (timeZone !== "") throw usageFailure("--time-zone is only for --cron", "leave it out");
  const interval = { every: durationFromMs(every), offset: durationFromMs(offset) };
  return { case: "interval" as const, value: interval };
}

function addCreate(schedule: Command, ended: Ended): void {
  withSpec(schedule.command("create").description("create a schedule"))
    .option("--paused", "create it paused")
    .action(
      async (
        name: string,
        workflow: string,
        options: SpecOptions & { readonly paused?: boolean },
        command: Command,
      ) => {
        const { output, connect } = contextOf(command);
        const { scheduler, namespace } = connect();
        const spec = specOf(workflow, options);
        const paused = options.paused ?? false;
        const answer = await scheduler.createSchedule({ namespace, name, spec, paused });
        output.data(CreateScheduleResponseSchema, answer);
        const done = answer.created ? "created" : "exists already with the same settings";
        if (output.format === "table") output.line(`schedule ${clean(name)} ${done}`);
        noteNext(answer.schedule, output.note);
        ended(exitCodes.done);
      },
    );
}

function addUpdate(schedule: Command, ended: Ended): void {
  withSpec(schedule.command("update").description("replace all settings of a schedule")).action(
    async (name: string, workflow: string, options: SpecOptions, command: Command) => {
      const { output, connect } = contextOf(command);
      const { scheduler, namespace } = connect();
      const spec = specOf(workflow, options);
      const answer = await scheduler.updateSchedule({ namespace, name, spec });
      output.data(UpdateScheduleResponseSchema, answer);
      if (output.format === "table") output.line(`schedule ${clean(name)} changed`);
      noteNext(answer.schedule, output.note);
      ended(exitCodes.done);
    },
  );
}

function noteNext(schedule: Schedule | undefined, note: (text: string) => void): void {
  const [next] = schedule?.next ?? [];
  if (next) note(`  next run: ${timeWords(next.time)}  ${clean(next.nominalTime)}`);
}

function addScheduleList(schedule: Command, ended: Ended): void {
  const verb = schedule
    .command("list")
    .description("list the schedules of the namespace")
    .option("--limit <n>", "most schedules to list", wholeNumber(1, limitMax), 50);
  addList(verb, ended, {
    headers: ["SCHEDULE", "WORKFLOW", "WHEN", "STATE", "NEXT", "LAST", "OUTCOME", "RUN"],
    read: ({ scheduler, namespace }, { limit }: { readonly limit: number }) =>
      readPages<Schedule>(limit, async (page) => {
        const answer = await scheduler.listSchedules({ namespace, ...page });
        return { items: answer.schedules, nextPageToken: answer.nextPageToken };
      }),
    item: ScheduleSchema,
    document: ({ items: schedules, nextPageToken }) =>
      documentOf(ListSchedulesResponseSchema, { schedules, nextPageToken }),
    row: (one, output) => [
      clean(one.name),
      clean(one.spec?.workflow ?? ""),
      calendarWords(one),
      stateWords(one),
      output.when(one.next[0]?.time),
      output.when(one.last[0]?.time),
      ...(occurrenceRows(one.last.slice(0, 1))[0]?.slice(1, 3) ?? []),
    ],
    nameOf: ({ name }) => name,
    none: "no schedule: drover schedule create NAME WORKFLOW",
  });
}

function addShow(schedule: Command, ended: Ended): void {
  schedule
    .command("show")
    .description("show a schedule: its settings, its next times and its last occurrences")
    .argument("<schedule>", "name of the schedule")
    .action(async (name: string, _options: unknown, command: Command) => {
      const { output, connect } = contextOf(command);
      const { scheduler, namespace } = connect();
      const answer = await scheduler.getSchedule({ namespace, name });
      output.data(GetScheduleResponseSchema, answer);
      if (output.format === "table" && answer.schedule) printSchedule(answer.schedule, output);
      const { workflowPause: pause, spec } = answer.schedule ?? {};
      if (pause) {
        const workflow = clean(spec?.workflow ?? "");
        output.note(`its runs are held, as workflow "${workflow}" is paused ${pauseWords(pause)}`);
        output.next(`drover workflow resume ${workflow}`);
      }
      ended(exitCodes.done);
    });
}

/** Runs of a paused workflow are held, and by default a schedule waits for its last run. */

function addPause(schedule: Command, ended: Ended): void {
  addChangeOptions(schedule.command("pause"), { reason: "optional" })
    .description("pause a schedule: it starts no runs; open runs continue")
    .argument("<schedule>", "name of the schedule")
    .action(async (name: string, { reason }: ReasonOptions, command: Command) => {
      const { output, connect } = contextOf(command);
      const { scheduler, namespace } = connect();
      const answer = await scheduler.pauseSchedule({ namespace, name, reason });
      output.data(PauseScheduleResponseSchema, answer);
      if (output.format === "table") output.line(`schedule ${clean(name)} paused`);
      output.next(`drover schedule resume ${clean(name)}`);
      ended(exitCodes.done);
    });
}

function addResume(schedule: Command, ended: Ended): void {
  schedule
    .command("resume")
    .description("resume a paused schedule, with its next time")
    .argument("<schedule>", "name of the schedule")
    .action(async (name: string, _options: unknown, command: Command) => {
      const { output, connect } = contextOf(command);
      const { scheduler, namespace } = connect();
      const answer = await scheduler.resumeSchedule({ namespace, name });
      output.data(ResumeScheduleResponseSchema, answer);
      if (output.format === "table") output.line(`schedule ${clean(name)} resumed`);
      noteNext(answer.schedule, output.note);
      ended(exitCodes.done);
    });
}

function addRun(schedule: Command, ended: Ended): void {
  schedule
    .command("run")
    .description("start a run of a schedule now")
    .argument("<schedule>", "name of the schedule")
    .option("--request-id <id>", "your own id of this request; makes repeating this command safe")
    .action(
      async (
        name: string,
        { requestId = randomUUID() }: { readonly requestId?: string },
        command: Command,
      ) => {
        const { output, connect } = contextOf(command);
        const { scheduler, namespace } = connect();
        const answer = await scheduler.triggerSchedule({ namespace, name, requestId });
        output.data(TriggerScheduleResponseSchema, answer);
        const id = clean(answer.runId);
        const done = answer.created ? "started" : "was already started";
        if (output.format === "table") output.line(`run ${id} ${done}`);
        output.next(`drover run watch ${id}`);
        ended(exitCodes.done);
      },
    );
}

function addDelete(schedule: Command, ended: Ended): void {
  schedule
    .command("delete")
    .description("delete a schedule; its runs continue")
    .argument("<schedule>", "name of the schedule")
    .action(async (name: string, _options: unknown, command: Command) => {
      const { output, connect } = contextOf(command);
      const { scheduler, namespace } = connect();
      const answer = await scheduler.deleteSchedule({ namespace, name });
      output.data(DeleteScheduleResponseSchema, answer);
      if (!answer.deleted) throw notThere(`there is no schedule "${name}"`, "drover schedule list");
      if (output.format === "table") output.line(`schedule ${clean(name)} deleted`);
      ended(exitCodes.done);
    });
}
