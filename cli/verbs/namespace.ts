/**
 * `drover namespace create` and `list`; `pause` and `resume` for all queues of the namespace.
 * Retention, limits and logs are in namespace-settings.ts.
 */
import {
  CreateNamespaceResponseSchema,
  ListNamespacesResponseSchema,
  type Namespace,
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
import { addList, documentOf } from "../list-verb.ts";
import { limitMax, readPages } from "../lists.ts";
import { supervisorCommand } from "../region-words.ts";
import { clean, pauseWords } from "../words.ts";
import { addNamespaceSettings, namespaceLimitWords, retentionWords } from "./namespace-settings.ts";

export function addNamespaceVerbs(noun: Command, ended: Ended): void {
  addCreate(noun, ended);
  addNamespaceList(noun, ended);
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

function addNamespaceList(noun: Command, ended: Ended): void {
  const verb = noun
    .command("list")
    .description("list namespaces by name, and the regions without a supervisor")
    .option("--limit <n>", "most namespaces to list", wholeNumber(1, limitMax), 50);
  addList(verb, ended, {
    ofCluster: true,
    headers: ["NAMESPACE", "REGION", "CREATED", "RETAINS RUNS", "LIMITS", "LOGS"],
    async read({ operator }, { limit }: { readonly limit: number }) {
      let regions: Region[] = [];
      const page = await readPages<Namespace>(limit, async (next) => {
        const answer = await operator.listNamespaces(next);
        regions = answer.regions;
        return { items: answer.namespaces, nextPageToken: answer.nextPageToken };
      });
      return { ...page, regions };
    },
    item: NamespaceSchema,
    document: ({ items: namespaces, nextPageToken, regions }) =>
      documentOf(ListNamespacesResponseSchema, { namespaces, nextPageToken, regions }),
    row: (one, output) => [
      clean(one.name),
      clean(one.region),
      output.when(one.createTime),
      one.retention ? retentionWords(one) : "",
      namespaceLimitWords(one.limits),
      one.noLogs ? "off" : "",
    ],
    nameOf: ({ name }) => name,
    none: "no namespace",
    notes: ({ regions }, output) => {
      for (const line of unwatchedLines(regions)) output.note(line);
    },
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
