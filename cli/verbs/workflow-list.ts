/** `drover workflow list`: the registered workflows, and the default version of each. */
import { ListWorkflowsResponseSchema } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import {
  type WorkflowSummary,
  WorkflowSummarySchema,
} from "@drover/proto/drover/v1/workflow_pb.ts";
import type { Command } from "commander";
import { wholeNumber } from "../context.ts";
import type { Ended } from "../failure.ts";
import { addList, documentOf } from "../list-verb.ts";
import { limitMax, readPages } from "../lists.ts";
import { clean } from "../words.ts";

export function addWorkflowList(workflow: Command, ended: Ended): void {
  const verb = workflow
    .command("list")
    .description("list the workflows of the namespace, and their default versions")
    .option("--limit <n>", "most workflows to list", wholeNumber(1, limitMax), 50);
  addList(verb, ended, {
    headers: ["WORKFLOW", "DEFAULT", "NEWEST", "REGISTERED"],
    read: ({ scheduler, namespace }, { limit }: { readonly limit: number }) =>
      readPages<WorkflowSummary>(limit, async (page) => {
        const answer = await scheduler.listWorkflows({ namespace, ...page });
        return { items: answer.workflows, nextPageToken: answer.nextPageToken };
      }),
    item: WorkflowSummarySchema,
    document: ({ items: workflows, nextPageToken }) =>
      documentOf(ListWorkflowsResponseSchema, { workflows, nextPageToken }),
    row: (one, output) => [
      clean(one.name),
      `v${one.defaultVersion}`,
      `v${one.newestVersion}`,
      output.when(one.createdTime),
    ],
    nameOf: ({ name }) => name,
    none: "no workflow is registered\n  next: drover workflow apply FILE",
  });
}
