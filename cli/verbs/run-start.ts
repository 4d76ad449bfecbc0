/** `drover run start`: starts a run, and may watch it or wait for its end. */
import { create } from "@bufbuild/protobuf";
import { type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { ConcurrencyPolicy } from "@drover/proto/drover/v1/run_pb.ts";
import {
  RunRefSchema,
  type ScheduleResponse,
  ScheduleResponseSchema,
  WaitRunResponseSchema,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { type Command, Option } from "commander";
import type { Connection } from "../client.ts";
import {
  addLabel,
  type Context,
  contextOf,
  parseDuration,
  parseTime,
  wholeNumber,
} from "../context.ts";
import { type Ended, type ExitCode, exitCodes, usageFailure } from "../failure.ts";
import { readPayload } from "../input.ts";
import { isFinal, personWords, runOutcome } from "../run-words.ts";
import { between, clean } from "../words.ts";
import { exitOfRun, watchRun } from "./run-watch.ts";

interface StartOptions {
  readonly input?: string;
  readonly key?: string;
  readonly version: number;
  readonly priority: number;
  readonly label?: Readonly<Record<string, string>>;
  readonly startAt?: Timestamp;
  readonly in?: number;
  readonly concurrency?: string;
  readonly limit?: number;
  readonly policy?: keyof typeof policies;
  readonly notify?: string;
  readonly watch?: boolean;
  readonly wait?: boolean;
}

const policies = {
  queue: ConcurrencyPolicy.QUEUE,
  refuse: ConcurrencyPolicy.REFUSE,
  "cancel-oldest": ConcurrencyPolicy.CANCEL_OLDEST,
  "queue-one": ConcurrencyPolicy.QUEUE_ONE,
};
const slotsMax = 1_000;
const versionMax = 2 ** 31 - 1;
/** How soon the command notices that the run waits for a person. */
const waitSeconds = 5;
const waitCallMsMax = (waitSeconds + 10) * 1_000;

export function addRunStart(run: Command, ended: Ended): void {
  run
    .command("start")
    .description("start a run of a registered workflow")
    .argument("<workflow>", "name of the workflow")
    .option("--input <json>", "input of the run: JSON, or @FILE, or @- for a pipe")
    .option("--key <name>", "your own key of the run; makes repeating this command safe")
    .option(
      "--version <n>",
      "version of the workflow (0: its default)",
      wholeNumber(0, versionMax),
      0,
    )
    .option("--priority <n>", "1 (first) to 9 (last)", wholeNumber(1, 9), 5)
    .option("--label <key=value>", "a label; may be given again", addLabel)
    .addOption(
      new Option("--start-at <time>", "start time, as 2026-01-31T12:00Z")
        .argParser(parseTime)
        .conflicts("in"),
    )
    .option(
      "--in <duration>",
      "delay before the start, as 1h30m; with --key, use --start-at to repeat the command",
      parseDuration,
    )
    .option("--concurrency <key>", "start only while fewer runs of this key than --limit are open")
    .option("--limit <n>", "most open runs of the key; default: 1", wholeNumber(1, slotsMax))
    .addOption(
      new Option(
        "--policy <policy>",
        "what to do when the limit is reached; default: queue",
      ).choices(Object.keys(policies)),
    )
    .option("--notify <hook>", "the hook that is notified of its end")
    .addOption(new Option("--watch", "follow the run until it has ended").conflicts("wait"))
    .option("--wait", "wait until the run has ended or waits for a person, and print its state")
    .action(async (workflow: string, options: StartOptions, command: Command) => {
      const context = contextOf(command, { names: true });
      const connection = context.connect();
      const started = await schedule(workflow, options, connection);
      ended(await follow(started, options, context, connection));
    });
}

function schedule(
  workflow: string,
  options: StartOptions,
  { scheduler, namespace }: Connection,
): Promise<ScheduleResponse> {
  const { key, version, priority, label, notify } = options;
  if (key === "") throw usageFailure("--key is empty", "--key NAME, or leave it out");
  const input = readPayload(options.input, "--input");
  return scheduler.schedule({
    namespace,
    target: { case: "workflow", value: { name: workflow, version } },
    ...(input && { input }),
    key: key ?? "",
    priority,
    labels: { ...label },
    ...startOf(options),
    ...concurrencyOf(options),
    ...(notify === undefined ? {} : { notify: { hook: notify } }),
  });
}

function startOf({ startAt, in: inMs }: StartOptions): { readonly startTime?: Timestamp } {
  if (inMs !== undefined) return { startTime: timestampFromMs(Date.now() + inMs) };
  return startAt === undefined ? {} : { startTime: startAt };
}

function concurrencyOf({ concurrency: key, limit, policy }: StartOptions) {
  if (key !== undefined)
    return { concurrency: { key, limit: limit ?? 1, policy: policies[policy ?? "queue"] } };
  if (limit === undefined && policy === undefined) return {};
  throw usageFailure("--limit and --policy need a key", "--concurrency KEY");
}

async function follow(
  started: ScheduleResponse,
  { watch, wait }: StartOptions,
  { output }: Context,
  connection: Connection,
): Promise<ExitCode> {
  const id = clean(started.runId);
  const done = started.created
    ? `started run ${id}`
    : `run ${id} was already started with this key`;
  const ref = create(RunRefSchema, { ref: { case: "runId", value: started.runId } });
  output.names([started.runId]);
  if (watch) {
    output.note(done);
    return watchRun(ref, output, connection);
  }
  if (!wait) {
    output.data(ScheduleResponseSchema, started);
    if (output.format === "table") output.line(done);
    output.next(`drover run watch ${id}`);
    return exitCodes.done;
  }
  output.note(done);
  for (;;) {
    const request = { namespace: connection.namespace, run: ref };
    const answer = await connection.scheduler.waitRun(
      { ...request, wait: { seconds: BigInt(waitSeconds) } },
      { timeoutMs: waitCallMsMax },
    );
    // It is unknown when a person acts: the command ends with a message, and the user may wait
    // again later.
    const person = answer.run ? personWords(answer.run) : "";
    if (person !== "") {
      output.data(WaitRunResponseSchema, answer);
      if (output.format === "table") output.line(`run ${id} waits for a person: ${person}`);
      output.next(`drover run why ${id}`);
      return exitCodes.asked;
    }
    if (!answer.run || !(answer.ended || isFinal(answer.run.state))) continue;
    output.data(WaitRunResponseSchema, answer);
    const took = between(answer.run.createdTime, answer.run.endedTime);
    if (output.format === "table") output.line(`${runOutcome(answer.run, output)} after ${took}`);
    if (exitOfRun(answer.run.state) !== exitCodes.done) output.next(`drover run show ${id}`);
    return exitOfRun(answer.run.state);
  }
}
