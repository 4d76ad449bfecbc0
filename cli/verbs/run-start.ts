/** `drover run start`: starts a run, and may follow it or wait for its end. */
import { create } from "@bufbuild/protobuf";
import { type Run, RunState } from "@drover/proto/drover/v1/run_pb.ts";
import {
  RunRefSchema,
  type ScheduleResponse,
  ScheduleResponseSchema,
  WaitRunResponseSchema,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { type Command, Option } from "commander";
import type { Connection } from "../client.ts";
import { addLabel, type Context, contextOf, wholeNumber } from "../context.ts";
import { type Ended, type ExitCode, exitCodes, usageFailure } from "../failure.ts";
import { readPayload } from "../input.ts";
import { isFinal, runVerdict } from "../run-words.ts";
import { between, clean } from "../words.ts";
import { exitOfRun, watchRun } from "./run-watch.ts";

interface StartOptions {
  readonly input?: string;
  readonly key?: string;
  readonly version: number;
  readonly priority: number;
  readonly label?: Readonly<Record<string, string>>;
  readonly notify?: string;
  readonly watch?: boolean;
  readonly wait?: boolean;
}

const versionMax = 2 ** 31 - 1;
const waitSeconds = 30;
const waitCallMsMax = (waitSeconds + 10) * 1_000;

export function addRunStart(run: Command, ended: Ended): void {
  run
    .command("start")
    .description("start a run of a registered workflow")
    .argument("<workflow>", "name of the workflow")
    .option("--input <json>", "input of the run: JSON, or @FILE, or @- for a pipe")
    .option("--key <name>", "your own name for the run; makes repeating this command safe")
    .option(
      "--version <n>",
      "version of the workflow (0: its default)",
      wholeNumber(0, versionMax),
      0,
    )
    .option("--priority <n>", "1 (first) to 9 (last)", wholeNumber(1, 9), 5)
    .option("--label <key=value>", "a label; may be given again", addLabel)
    .option("--notify <hook>", "the hook that is told of its end, by a webhook")
    .addOption(new Option("--watch", "follow the run until it has ended").conflicts("wait"))
    .option("--wait", "wait until the run has ended, and say how")
    .action(async (workflow: string, options: StartOptions, command: Command) => {
      const context = contextOf(command);
      const connection = context.connect();
      const started = await schedule(workflow, options, connection);
      ended(await follow(started, options, context, connection));
    });
}

function schedule(
  workflow: string,
  { key, version, priority, label, notify, ...options }: StartOptions,
  { scheduler, namespace }: Connection,
): Promise<ScheduleResponse> {
  if (key === "") throw usageFailure("--key is empty", "--key NAME, or leave it out");
  const input = readPayload(options.input, "--input");
  return scheduler.schedule({
    namespace,
    target: { case: "workflow", value: { name: workflow, version } },
    ...(input && { input }),
    key: key ?? "",
    priority,
    labels: { ...label },
    ...(notify === undefined ? {} : { notify: { hook: notify } }),
  });
}

async function follow(
  started: ScheduleResponse,
  { watch, wait }: StartOptions,
  { output }: Context,
  connection: Connection,
): Promise<ExitCode> {
  const id = clean(started.runId);
  const said = started.created ? `started run ${id}` : `run ${id} was started before with this key`;
  const ref = create(RunRefSchema, { ref: { case: "runId", value: started.runId } });
  if (watch) {
    output.note(said);
    return watchRun(ref, output, connection);
  }
  if (!wait) {
    output.data(ScheduleResponseSchema, started);
    if (output.format === "table") output.line(said);
    output.note(`  next: drover run watch ${id}`);
    return exitCodes.done;
  }
  output.note(said);
  for (;;) {
    const request = { namespace: connection.namespace, run: ref };
    const answer = await connection.scheduler.waitRun(
      { ...request, wait: { seconds: BigInt(waitSeconds) } },
      { timeoutMs: waitCallMsMax },
    );
    if (!answer.run || !(answer.ended || isFinal(answer.run.state))) {
      noteEscalation(answer.run, id, output.note);
      continue;
    }
    output.data(WaitRunResponseSchema, answer);
    const took = between(answer.run.createdTime, answer.run.endedTime);
    if (output.format === "table") output.line(`${runVerdict(answer.run, output)} after ${took}`);
    if (exitOfRun(answer.run.state) !== exitCodes.done)
      output.note(`  next: drover run show ${id}`);
    return exitOfRun(answer.run.state);
  }
}

function noteEscalation(run: Run | undefined, id: string, note: (text: string) => void): void {
  if (run?.state === RunState.ESCALATED) note(`waits for a person: drover run show ${id}`);
}
