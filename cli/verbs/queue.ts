/** `drover queue`: queues, their tasks and their limits. */

import { toJson } from "@bufbuild/protobuf";
import {
  ListQueuesResponseSchema,
  PauseQueueResponseSchema,
  type Queue,
  QueueSchema,
  ResumeQueueResponseSchema,
  SetQueueLimitsResponseSchema,
} from "@drover/proto/drover/v1/queue_pb.ts";
import { type Command, InvalidArgumentError } from "commander";
import { addChangeOptions, type ReasonOptions } from "../change-options.ts";
import { contextOf, wholeNumber } from "../context.ts";
import { type Ended, exitCodes, usageFailure } from "../failure.ts";
import { addList } from "../list-verb.ts";
import type { Output } from "../output.ts";
import { clean, limitWords, pauseWords } from "../words.ts";
import { addPinVerbs } from "./queue-pin.ts";
import { addQueueShow } from "./queue-show.ts";

const pageMax = 1_000;
const depthMax = 10_000;

export function addQueueVerbs(queue: Command, ended: Ended): void {
  addQueueList(queue, ended);
  addQueueShow(queue, ended);
  addLimit(queue, ended);
  addPinVerbs(queue, ended);
  addChangeOptions(queue.command("pause"), { reason: "optional" })
    .description("stop handing out tasks of a queue; agents finish the tasks that they have")
    .argument("<queue>", "name of the queue")
    .action(async (name: string, { reason }: ReasonOptions, command: Command) => {
      const { output, connect } = contextOf(command);
      const { operator, namespace } = connect();
      const answer = await operator.pauseQueue({ namespace, queue: name, reason });
      output.data(PauseQueueResponseSchema, answer);
      printQueue(answer.queue, output);
      output.next(`drover queue resume ${clean(name)}`);
      ended(exitCodes.done);
    });
  queue
    .command("resume")
    .description("hand out tasks of a queue again")
    .argument("<queue>", "name of the queue")
    .action(async (name: string, _options: unknown, command: Command) => {
      const { output, connect } = contextOf(command);
      const { operator, namespace } = connect();
      const answer = await operator.resumeQueue({ namespace, queue: name });
      output.data(ResumeQueueResponseSchema, answer);
      printQueue(answer.queue, output);
      ended(exitCodes.done);
    });
}

interface LimitOptions {
  readonly leased?: number;
  readonly perSecond?: number;
  readonly burst?: number;
  readonly none?: boolean;
}

function addLimit(queue: Command, ended: Ended): void {
  queue
    .command("limit")
    .description("set the limits of a queue; limits that are not given are removed")
    .argument("<queue>", "name of the queue")
    .option("--leased <n>", "most tasks in progress at a time", wholeNumber(1, 1_000_000))
    .option("--per-second <rate>", "most tasks per second, as 5 or 0.2", rateOf)
    .option(
      "--burst <n>",
      "most tasks at once; default: as many as in a second",
      wholeNumber(1, 100_000),
    )
    .option("--none", "remove all limits")
    .action(async (name: string, options: LimitOptions, command: Command) => {
      const { leased = 0, perSecond = 0, burst = 0, none } = options;
      if ((leased === 0 && perSecond === 0) !== (none ?? false))
        throw usageFailure("give --leased or --per-second, or --none", "drover queue limit --help");
      const { output, connect } = contextOf(command);
      const { operator, namespace } = connect();
      const limits = { leased, perSecond, burst };
      const answer = await operator.setQueueLimits({ namespace, queue: name, limits });
      output.data(SetQueueLimitsResponseSchema, answer);
      const words = limitWords(answer.queue?.limits) || "none";
      if (output.format === "table") output.line(`queue ${clean(name)} limits: ${words}`);
      ended(exitCodes.done);
    });
}

export function rateOf(text: string): number {
  const rate = Number(text);
  if (text.trim() !== "" && rate >= 0.001 && rate <= 100_000) return rate;
  throw new InvalidArgumentError("It must be a number from 0.001 to 100000.");
}

function addQueueList(queue: Command, ended: Ended): void {
  const verb = queue
    .command("list")
    .description("list the queues of the namespace: tasks, agents, limits, pauses")
    .option("--limit <n>", "most queues to list", wholeNumber(1, pageMax), pageMax);
  addList(verb, ended, {
    headers: ["QUEUE", "WAITING", "OLDEST", "IN PROGRESS", "AGENTS", "LIMITS", "PAUSED"],
    async read({ operator, namespace }, { limit }: { readonly limit: number }) {
      const answer = await operator.listQueues({ namespace, pageSize: limit });
      return { items: answer.queues, nextPageToken: "", answer };
    },
    item: QueueSchema,
    document: ({ answer }) => toJson(ListQueuesResponseSchema, answer),
    row: (one, output) => [
      clean(one.name),
      `${one.depth}${one.depth >= depthMax ? " or more" : ""}`,
      output.when(one.oldestTime),
      String(one.leased),
      String(one.agents),
      limitWords(one.limits),
      pauseWords(one.pause),
    ],
    nameOf: ({ name }) => name,
    none: "no queue: no step and no agent has named one",
    notes({ answer: { queues, namespacePause, nextPageToken } }, output) {
      if (namespacePause) output.note(`the namespace is paused ${pauseWords(namespacePause)}`);
      if (nextPageToken !== "") output.note(`only the first ${queues.length} by name`);
    },
  });
}

function printQueue(queue: Queue | undefined, output: Output): void {
  if (output.format !== "table" || !queue) return;
  const state = queue.pause ? `paused ${pauseWords(queue.pause)};` : "resumed:";
  output.line(
    `queue ${clean(queue.name)} ${state} ${queue.depth} waiting, ${queue.leased} in progress`,
  );
}
