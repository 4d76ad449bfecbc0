/** `drover queue list`, `pause`, `resume`: what waits for agents, and whether it is handed out. */
import {
  ListQueuesResponseSchema,
  type Pause,
  PauseQueueResponseSchema,
  type Queue,
  ResumeQueueResponseSchema,
} from "@drover/proto/drover/v1/queue_pb.ts";
import type { Command } from "commander";
import { contextOf, wholeNumber } from "../context.ts";
import { type Ended, exitCodes } from "../failure.ts";
import type { Output } from "../output.ts";
import { printTable } from "../table.ts";
import { clean, moment } from "../words.ts";

const pageMax = 1_000;
const depthMax = 10_000;

export function addQueueVerbs(queue: Command, ended: Ended): void {
  addList(queue, ended);
  queue
    .command("pause")
    .description("hand out nothing new of a queue; what is with an agent goes on")
    .argument("<queue>", "name of the queue")
    .option("--reason <text>", "why, for people", "")
    .action(async (name: string, { reason }: { reason: string }, command: Command) => {
      const { output, connect } = contextOf(command);
      const { operator, namespace } = connect();
      const answer = await operator.pauseQueue({ namespace, queue: name, reason });
      output.data(PauseQueueResponseSchema, answer);
      tell(answer.queue, output);
      output.note(`  next: drover queue resume ${clean(name)}`);
      ended(exitCodes.done);
    });
  queue
    .command("resume")
    .description("hand out again what waits in a queue")
    .argument("<queue>", "name of the queue")
    .action(async (name: string, _options: unknown, command: Command) => {
      const { output, connect } = contextOf(command);
      const { operator, namespace } = connect();
      const answer = await operator.resumeQueue({ namespace, queue: name });
      output.data(ResumeQueueResponseSchema, answer);
      tell(answer.queue, output);
      ended(exitCodes.done);
    });
}

function addList(queue: Command, ended: Ended): void {
  queue
    .command("list")
    .description("list the queues of the namespace: what waits, what agents have, what is paused")
    .option("--limit <n>", "most queues to list", wholeNumber(1, pageMax), pageMax)
    .action(async ({ limit }: { limit: number }, command: Command) => {
      const { output, connect } = contextOf(command);
      const { operator, namespace } = connect();
      const answer = await operator.listQueues({ namespace, pageSize: limit });
      output.data(ListQueuesResponseSchema, answer);
      const rows = answer.queues.map((one) => [
        clean(one.name),
        `${one.depth}${one.depth >= depthMax ? " or more" : ""}`,
        String(one.leased),
        pauseWords(one.pause),
      ]);
      const head = ["QUEUE", "WAIT", "WITH AGENTS", "PAUSED"];
      if (output.format === "table") printTable(output, head, rows);
      if (rows.length === 0) output.note("no queue: no step and no agent has named one");
      if (answer.namespacePause)
        output.note(`the namespace is paused ${pauseWords(answer.namespacePause)}`);
      if (answer.nextPageToken !== "") output.note(`only the first ${rows.length} by name`);
      ended(exitCodes.done);
    });
}

function pauseWords(pause: Pause | undefined): string {
  if (!pause) return "";
  const why = pause.reason === "" ? "" : `: ${clean(pause.reason)}`;
  return `since ${moment(pause.sinceTime)}${why}`;
}

function tell(queue: Queue | undefined, output: Output): void {
  if (output.format !== "table" || !queue) return;
  const state = queue.pause ? `is paused ${pauseWords(queue.pause)}` : "is not paused";
  output.line(
    `queue ${clean(queue.name)} ${state}; ${queue.depth} wait, ${queue.leased} with agents`,
  );
}
