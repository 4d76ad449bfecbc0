/** `drover workflow list`: the registered workflows, and the default version of each. */
import { create } from "@bufbuild/protobuf";
import { ListWorkflowsResponseSchema } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import {
  type WorkflowSummary,
  WorkflowSummarySchema,
} from "@drover/proto/drover/v1/workflow_pb.ts";
import type { Command } from "commander";
import { contextOf, wholeNumber } from "../context.ts";
import { type Ended, exitCodes } from "../failure.ts";
import { limitMax, noteMore, readPages, writeList } from "../lists.ts";
import { printTable } from "../table.ts";
import { clean, timeWords } from "../words.ts";

export function addWorkflowList(workflow: Command, ended: Ended): void {
  workflow
    .command("list")
    .description("list the workflows of the namespace, and their default versions")
    .option("--limit <n>", "most workflows to list", wholeNumber(1, limitMax), 50)
    .action(async ({ limit }: { limit: number }, command: Command) => {
      const { output, connect } = contextOf(command);
      const { scheduler, namespace } = connect();
      const page = await readPages<WorkflowSummary>(limit, async (next) => {
        const answer = await scheduler.listWorkflows({ namespace, ...next });
        return { items: answer.workflows, nextPageToken: answer.nextPageToken };
      });
      const { items: workflows, nextPageToken } = page;
      const answer = create(ListWorkflowsResponseSchema, { workflows, nextPageToken });
      writeList(output, [ListWorkflowsResponseSchema, answer], [WorkflowSummarySchema, workflows]);
      const rows = workflows.map((one) => [
        clean(one.name),
        `v${one.defaultVersion}`,
        `v${one.newestVersion}`,
        timeWords(one.createdTime),
      ]);
      if (output.format === "table")
        printTable(output, ["WORKFLOW", "DEFAULT", "NEWEST", "REGISTERED"], rows);
      if (rows.length === 0)
        output.note("no workflow is registered\n  next: drover workflow apply FILE");
      noteMore(page, limit, output);
      ended(exitCodes.done);
    });
}
