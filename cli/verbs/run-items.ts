/** `drover run items`: the items of a map that have begun, page after page up to a limit. */
import { create } from "@bufbuild/protobuf";
import { type Step, StepSchema } from "@drover/proto/drover/v1/run_pb.ts";
import {
  type ListItemsResponse,
  ListItemsResponseSchema,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Command } from "commander";
import type { Connection } from "../client.ts";
import { contextOf, wholeNumber } from "../context.ts";
import { type Ended, exitCodes } from "../failure.ts";
import { runRefOf } from "../run-ref.ts";
import { printSteps } from "./run-show.ts";

const pageMax = 1_000;
const limitMax = 10_000;

export function addRunItems(run: Command, ended: Ended): void {
  run
    .command("items")
    .description("list the items of a map: state, attempts, output or last failure of each")
    .argument("<run>", "id of the run, or key:NAME")
    .argument("<step>", "id of the map")
    .option("--limit <n>", "most items to list", wholeNumber(1, limitMax), 50)
    .action(
      async (name: string, stepId: string, { limit }: { limit: number }, command: Command) => {
        const { output, connect } = contextOf(command);
        const answer = await listItems(connect(), { name, stepId, limit });
        if (output.format === "json") output.data(ListItemsResponseSchema, answer);
        if (output.format === "jsonl")
          for (const item of answer.items) output.data(StepSchema, item);
        if (output.format === "table" && answer.items.length > 0) printSteps(answer.items, output);
        if (answer.items.length === 0) output.note("no item has begun");
        if (answer.nextPageToken !== "")
          output.note(`there are more\n  next: --limit ${Math.min(limit * 10, limitMax)}`);
        ended(exitCodes.done);
      },
    );
}

/** All pages in one answer, with the token of the next if the limit cut it short. */
async function listItems(
  { scheduler, namespace }: Connection,
  { name, stepId, limit }: { name: string; stepId: string; limit: number },
): Promise<ListItemsResponse> {
  const request = { namespace, run: runRefOf(name, {}), stepId };
  const items: Step[] = [];
  let pageToken = "";
  do {
    const pageSize = Math.min(limit - items.length, pageMax);
    const page = await scheduler.listItems({ ...request, pageSize, pageToken });
    items.push(...page.items);
    pageToken = page.nextPageToken;
  } while (pageToken !== "" && items.length < limit);
  return create(ListItemsResponseSchema, { items, nextPageToken: pageToken });
}
