/**
 * `drover queue show` and `drain`: one queue with its tasks; and pausing it until no agent holds
 * any.
 */
import { setTimeout as delay } from "node:timers/promises";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import {
  type GetQueueResponse,
  GetQueueResponseSchema,
  type QueueHolders,
  type VersionPin,
} from "@drover/proto/drover/v1/queue_pb.ts";
import type { Command } from "commander";
import { addChangeOptions, type ReasonOptions } from "../change-options.ts";
import type { Connection } from "../client.ts";
import { contextOf, parseDuration } from "../context.ts";
import { CliFailure, type Ended, exitCodes } from "../failure.ts";
import type { Output } from "../output.ts";
import { printPairs, printTable } from "../table.ts";
import { clean, counted, durationWords, limitWords, pauseWords, timeWords } from "../words.ts";
import { printPins, unpinCommand } from "./queue-pin.ts";

const pollMs = 500;
const drainMsMax = 600_000;

export function addQueueShow(queue: Command, ended: Ended): void {
  queue
    .command("show")
    .description("show a queue with its tasks and the agents that poll for them")
    .argument("<queue>", "name of the queue")
    .action(async (name: string, _options: unknown, command: Command) => {
      const { output, connect } = contextOf(command);
      const { operator, namespace } = connect();
      const answer = await operator.getQueue({ namespace, queue: name });
      output.data(GetQueueResponseSchema, answer);
      if (output.format === "table") {
        print(answer, output);
        tellNext(answer, output);
      }
      ended(exitCodes.done);
    });
  addDrain(queue, ended);
}

function print({ queue, tasks, pins, namespacePause }: GetQueueResponse, output: Output): void {
  if (!queue) return;
  printPairs(output, [
    ["queue", clean(queue.name)],
    ["wait", String(queue.depth)],
    ["oldest", queue.oldestTime ? `since ${timeWords(queue.oldestTime)}` : ""],
    ["in progress", String(queue.leased)],
    ["agents", String(queue.agents)],
    ["last poll", timeWords(queue.polledTime)],
    ["limits", limitWords(queue.limits)],
    ["paused", pauseWords(queue.pause)],
    ["namespace", namespacePause ? `paused ${pauseWords(namespacePause)}` : ""],
  ]);
  printPins(pins, output);
  if (tasks.length === 0) return;
  output.line("");
  const isPinned = tasks.some(({ agentVersion }) => agentVersion !== "");
  const headers = [
    "TASK",
    ...(isPinned ? ["FOR VERSION"] : []),
    "WAIT",
    "OLDEST",
    "IN PROGRESS",
    "AGENTS",
    "LAST POLL",
  ];
  const rows = tasks.map((task) => [
    clean(task.task),
    ...(isPinned ? [clean(task.agentVersion) || "any"] : []),
    String(task.depth),
    output.when(task.oldestTime),
    String(task.leased),
    String(task.agents),
    output.when(task.polledTime),
  ]);
  printTable(output, headers, rows);
}

/** The commands that let waiting tasks proceed. */
function tellNext(answer: GetQueueResponse, output: Output): void {
  const { queue, tasks, pins, namespacePause, holders } = answer;
  if (!queue) return;
  const name = clean(queue.name);
  if (namespacePause) output.next("drover namespace resume");
  if (queue.pause) output.next(`drover queue resume ${name}`);
  if (namespacePause || queue.pause) return;
  const unserved = tasks.filter(({ agents, depth }) => agents === 0 && depth > 0);
  if (holders) output.note(holdersWords(holders, queue.depth));
  for (const { task, agentVersion } of unserved) {
    const agent = agentVersion === "" ? "agent" : `agent of version ${clean(agentVersion)}`;
    output.note(
      `no agent polls for "${clean(task)}": start an ${agent} that polls queue ${name} for it`,
    );
  }
  const isUnserved = (pin: VersionPin) =>
    unserved.some(({ agentVersion }) => agentVersion === pin.agentVersion);
  for (const pin of pins.filter(isUnserved)) output.next(unpinCommand(name, pin));
}

/**
 * `5 tasks wait while agents hold 4, each for 45.0s or longer; of these, 4 have the label
 * tenant=acme, 4 are of workflow sync; to serve the others, start another agent`
 */
function holdersWords({ tasks, more, lastGrantedTime, shares }: QueueHolders, depth: number) {
  const heldMs = lastGrantedTime ? Math.max(0, Date.now() - timestampMs(lastGrantedTime)) : 0;
  const waits = counted(depth, "task waits", "tasks wait");
  const held = more ? `more than ${tasks}; of ${tasks} of these, each is held` : `${tasks}, each`;
  const common = shares.map(({ label, value, tasks: some }) =>
    label === ""
      ? `${some} are of workflow ${clean(value)}`
      : `${some} have the label ${clean(label)}=${clean(value)}`,
  );
  const of = common.length === 0 ? "" : `; of these, ${common.join(", ")}`;
  return `${waits} while agents hold ${held} for ${durationWords(heldMs)} or longer${of}; to serve the others, start another agent`;
}

interface DrainOptions extends ReasonOptions {
  readonly timeout: number;
}

function addDrain(queue: Command, ended: Ended): void {
  addChangeOptions(queue.command("drain"), { reason: "optional" })
    .description("pause a queue, and wait until no agent has a task of it")
    .argument("<queue>", "name of the queue")
    .option("--timeout <duration>", "how long to wait; 10m by default", parseDuration, drainMsMax)
    .action(async (name: string, options: DrainOptions, command: Command) => {
      const { output, connect } = contextOf(command);
      const connection = connect();
      const { operator, namespace } = connection;
      const { reason, timeout } = options;
      const { queue: paused } = await operator.pauseQueue({ namespace, queue: name, reason });
      const leased = paused?.leased ?? 0;
      if (leased > 0) output.note(`${counted(leased, "task")} in progress`);
      const answer = await drained(connection, name, timeout);
      output.data(GetQueueResponseSchema, answer);
      const waits = answer.queue?.depth ?? 0;
      if (output.format === "table")
        output.line(`queue ${clean(name)} drained: 0 in progress, ${waits} waiting`);
      output.next(`drover queue resume ${clean(name)}`);
      ended(exitCodes.done);
    });
}

/** Counts rounds and reads no clock: a round is never shorter than it counts. */
async function drained(
  { operator, namespace }: Connection,
  name: string,
  timeoutMs: number,
): Promise<GetQueueResponse> {
  for (let waitedMs = 0; ; waitedMs += pollMs) {
    const answer = await operator.getQueue({ namespace, queue: name });
    const leased = answer.queue?.leased ?? 0;
    if (!answer.queue?.pause)
      throw new CliFailure(`queue ${clean(name)} was resumed meanwhile: it is not drained`, {
        code: exitCodes.failed,
        next: `drover queue drain ${clean(name)}`,
      });
    if (leased === 0) return answer;
    if (waitedMs >= timeoutMs)
      throw new CliFailure(
        `queue ${clean(name)} is paused, with ${counted(leased, "task")} still in progress after ${durationWords(timeoutMs)}`,
        {
          code: exitCodes.failed,
          next: `drover agent list; drover queue drain ${clean(name)} to wait again`,
        },
      );
    await delay(Math.min(pollMs, timeoutMs));
  }
}
