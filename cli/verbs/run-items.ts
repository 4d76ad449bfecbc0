/** `drover run items`: the items of a map that have started, page by page up to a limit. */
import { create } from "@bufbuild/protobuf";
import { type Step, StepSchema, StepState } from "@drover/proto/drover/v1/run_pb.ts";
import {
  type ListItemsResponse,
  ListItemsResponseSchema,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Command } from "commander";
import type { Connection } from "../client.ts";
import { contextOf, wholeNumber } from "../context.ts";
import { cutTexts } from "../cut-texts.ts";
import { type Ended, exitCodes } from "../failure.ts";
import { noteMore, readPages, stateOption, writeList } from "../lists.ts";
import { runRefOf } from "../run-ref.ts";
import { stepStateWord } from "../state-words.ts";
import { printSteps } from "./run-show.ts";

const itemsMax = 10_000;

interface ItemsOptions {
  readonly state?: readonly StepState[];
  readonly limit: number;
  readonly full?: boolean;
}

export function addRunItems(run: Command, ended: Ended): void {
  run
    .command("items")
    .description("list the items of a map: state, attempts, output or last failure of each")
    .argument("<run>", "id of the run, or key:NAME")
    .argument("<step>", "id of the map")
    .addOption(stateOption("only items in this state", StepState, stepStateWord))
    .option("--full", "print long messages and outputs in full, as -o wide")
    .option("--limit <n>", "most items to list", wholeNumber(1, itemsMax), 50)
    .action(async (name: string, stepId: string, options: ItemsOptions, command: Command) => {
      const { output, connect } = contextOf(command, options);
      const answer = await listItems(connect(), name, stepId, options);
      writeList(output, [ListItemsResponseSchema, answer], [StepSchema, answer.items]);
      if (output.format === "table" && answer.items.length > 0)
        printSteps(answer.items, cutTexts(output), output);
      if (answer.items.length === 0)
        output.note(options.state ? "no item is in such a state" : "no item has started");
      noteMore(answer, options.limit, output);
      ended(exitCodes.done);
    });
}

async function listItems(
  { scheduler, namespace }: Connection,
  name: string,
  stepId: string,
  { state = [], limit }: ItemsOptions,
): Promise<ListItemsResponse> {
  const request = { namespace, run: runRefOf(name, {}), stepId, states: [...state] };
  const found = await readPages<Step>(limit, async (page) => {
    const { items, nextPageToken } = await scheduler.listItems({ ...request, ...page });
    return { items, nextPageToken };
  });
  return create(ListItemsResponseSchema, found);
}
