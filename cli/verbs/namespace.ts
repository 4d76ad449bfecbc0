/**
 * `drover namespace create` and `list`; `pause` and `resume` for all queues of the namespace.
 * Retention and limits are in namespace-settings.ts.
 */
import { create } from "@bufbuild/protobuf";
import {
  CreateNamespaceResponseSchema,
  ListNamespacesResponseSchema,
  NamespaceSchema,
  type Region,
} from "@drover/proto/drover/v1/namespace_pb.ts";
import {
  PauseNamespaceResponseSchema,
  ResumeNamespaceResponseSchema,
} from "@drover/proto/drover/v1/queue_pb.ts";
import type { Command } from "commander";
import { addChangeOptions, type ReasonOptions } from "../change-options.ts";
import { contextOf, wholeNumber } from "../context.ts";
import { type Ended, exitCodes } from "../failure.ts";
import { limitMax, noteMore, readPages, writeList } from "../lists.ts";
import { supervisorCommand } from "../region-words.ts";
import { printTable } from "../table.ts";
import { clean, pauseWords, timeWords } from "../words.ts";
import { addNamespaceSettings, namespaceLimitWords, retentionWords } from "./namespace-settings.ts";

export function addNamespaceVerbs(noun: Command, ended: Ended): void {
  addCreate(noun, ended);
  addList(noun, ended);
  addNamespaceSettings(noun, ended);
  addPauses(noun, ended);
}

function addCreate(noun: Command, ended: Ended): void {
  noun
    .command("create")
    .description("create a namespace; a new region is created with it")
    .argument("<name>", "its name")
    .option(
      "--region <region>",
      "the region of the supervisors of its runs; it cannot be changed",
      "default",
    )
    .action(async (name: string, { region }: { region: string }, command: Command) => {
      const { output, connect } = contextOf(command);
      const answer = await connect().operator.createNamespace({ name, region });
      output.data(CreateNamespaceResponseSchema, answer);
      const was = answer.existed ? "exists already" : "created";
      if (output.format === "table")
        output.line(`namespace ${clean(name)} ${was}, in the region ${clean(region)}`);
      output.note(`  next: drover run list --namespace ${clean(name)}`);
      ended(exitCodes.done);
    });
}

function addList(noun: Command, ended: Ended): void {
  noun
    .command("list")
    .description("list namespaces by name, and the regions without a supervisor")
    .option("--limit <n>", "most namespaces to list", wholeNumber(1, limitMax), 50)
    .action(async ({ limit }: { limit: number }, command: Command) => {
      const { output, connect } = contextOf(command);
      const { operator } = connect();
      let regions: readonly Region[] = [];
      const { items: namespaces, nextPageToken } = await readPages(limit, async (page) => {
        const answer = await operator.listNamespaces(page);
        regions = answer.regions;
        return { items: answer.namespaces, nextPageToken: answer.nextPageToken };
      });
      const found = { namespaces, nextPageToken, regions: [...regions] };
      const whole = create(ListNamespacesResponseSchema, found);
      writeList(output, [ListNamespacesResponseSchema, whole], [NamespaceSchema, namespaces]);
      const rows = namespaces.map((one) => [
        clean(one.name),
        clean(one.region),
        timeWords(one.createTime),
        one.retention ? retentionWords(one) : "",
        namespaceLimitWords(one.limits),
      ]);
      const headers = ["NAMESPACE", "REGION", "CREATED", "RETAINS RUNS", "LIMITS"];
      if (output.format === "table") printTable(output, headers, rows);
      for (const line of unwatchedLines(regions)) output.note(line);
      noteMore(whole, limit, output);
      ended(exitCodes.done);
    });
}

function unwatchedLines(regions: readonly Region[]): readonly string[] {
  return regions
    .filter(({ watchedPartitions, partitions }) => watchedPartitions < partitions)
    .map(({ name, watchedPartitions, partitions }) => {
      const open = partitions - watchedPartitions;
      return `region ${clean(name)}: no supervisor for ${open} of its ${partitions} partitions\n  next: ${supervisorCommand({ region: name })}`;
    });
}

function addPauses(noun: Command, ended: Ended): void {
  addChangeOptions(noun.command("pause"), { reason: "optional" })
    .description("stop handing out tasks in the namespace; agents finish the tasks that they have")
    .action(async ({ reason }: ReasonOptions, command: Command) => {
      const { output, connect } = contextOf(command);
      const { operator, namespace } = connect();
      const answer = await operator.pauseNamespace({ namespace, reason });
      output.data(PauseNamespaceResponseSchema, answer);
      const words = pauseWords(answer.pause);
      if (output.format === "table")
        output.line(`namespace ${clean(namespace)} is paused ${words}`);
      output.next("drover namespace resume");
      ended(exitCodes.done);
    });
  noun
    .command("resume")
    .description(
      "hand out tasks of the namespace again; queues that were paused by name stay paused",
    )
    .action(async (_options: unknown, command: Command) => {
      const { output, connect } = contextOf(command);
      const { operator, namespace } = connect();
      const answer = await operator.resumeNamespace({ namespace });
      output.data(ResumeNamespaceResponseSchema, answer);
      if (output.format === "table") output.line(`namespace ${clean(namespace)} resumed`);
      ended(exitCodes.done);
    });
}
