/** `drover run items`: the items of a map that have begun, page after page up to a limit. */
import { create } from "@bufbuild/protobuf";
import { type Step, StepSchema, StepState } from "@drover/proto/drover/v1/run_pb.ts";
import {
  type ListItemsResponse,
  ListItemsResponseSchema,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { type Command, InvalidArgumentError } from "commander";
import type { Connection } from "../client.ts";
import { contextOf, wholeNumber } from "../context.ts";
import { type Ended, exitCodes } from "../failure.ts";
import { noteMore, readPages, writeList } from "../lists.ts";
import { runRefOf } from "../run-ref.ts";
import { printSteps } from "./run-show.ts";

const limitMax = 10_000;
const states = Object.entries(StepState).filter(([, state]) => state > StepState.BLOCKED);

interface ItemsOptions {
  readonly limit: number;
  readonly state?: StepState;
}

export function addRunItems(run: Command, ended: Ended): void {
  run
    .command("items")
    .description("list the items of a map: state, attempts, output or last failure of each")
    .argument("<run>", "id of the run, or key:NAME")
    .argument("<step>", "id of the map")
    .option("--state <state>", "those in this state, as failed", readState)
    .option("--limit <n>", "most items to list", wholeNumber(1, limitMax), 50)
    .action(async (name: string, stepId: string, options: ItemsOptions, command: Command) => {
      const { output, connect } = contextOf(command);
      const answer = await listItems(connect(), name, stepId, options);
      writeList(output, [ListItemsResponseSchema, answer], [StepSchema, answer.items]);
      const { length } = answer.items;
      if (output.format === "table" && length > 0) printSteps(answer.items, output);
      if (length === 0)
        output.note(options.state ? "no item is in that state" : "no item has begun");
      noteMore(answer, options.limit, output);
      ended(exitCodes.done);
    });
}

function readState(text: string): StepState {
  const found = states.find(([name]) => name === text.toUpperCase());
  if (found !== undefined) return found[1];
  const known = states.map(([name]) => name.toLowerCase()).join(", ");
  throw new InvalidArgumentError(`States are ${known}.`);
}

async function listItems(
  { scheduler, namespace }: Connection,
  name: string,
  stepId: string,
  { limit, state }: ItemsOptions,
): Promise<ListItemsResponse> {
  const request = { namespace, run: runRefOf(name, {}), stepId };
  const { items, nextPageToken } = await readPages<Step>(limit, async (page) => {
    const answer = await scheduler.listItems({ ...request, ...page });
    const wanted = answer.items.filter((item) => !state || item.state === state);
    return { items: wanted, nextPageToken: answer.nextPageToken };
  });
  return create(ListItemsResponseSchema, { items, nextPageToken });
}
