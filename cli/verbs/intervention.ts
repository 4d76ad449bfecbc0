/** `drover intervention list`: what supervisors did in all runs, newest first. */
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { ListInterventionsResponseSchema } from "@drover/proto/drover/v1/intervention_pb.ts";
import { type Intervention, InterventionSchema } from "@drover/proto/drover/v1/run_pb.ts";
import type { Command } from "commander";
import { addText, parseTime, wholeNumber } from "../context.ts";
import type { Ended } from "../failure.ts";
import { addList, documentOf } from "../list-verb.ts";
import { limitMax, readPages } from "../lists.ts";
import { between, clean } from "../words.ts";

interface ListOptions {
  readonly rule?: readonly string[];
  readonly run?: string;
  readonly after?: Timestamp;
  readonly before?: Timestamp;
  readonly limit: number;
}

export function addInterventionVerbs(intervention: Command, ended: Ended): void {
  const verb = intervention
    .command("list")
    .description("list what supervisors did in the namespace, newest first")
    .option("--rule <rule>", "only of this rule, as lease; may be given again", addText)
    .option("--run <run>", "only those of this run, by its id")
    .option("--after <time>", "only from this time on, as 2026-01-31", parseTime)
    .option("--before <time>", "only before this time, as 2026-01-31T12:00Z", parseTime)
    .option("--limit <n>", "most interventions to list", wholeNumber(1, limitMax), 50);
  addList(verb, ended, {
    headers: ["TIME", "RULE", "LATENESS", "RUN", "WORKFLOW", "STEP", "OBSERVED", "ACTION"],
    read: ({ operator, namespace }, { rule, run, after, before, limit }: ListOptions) => {
      const request = {
        namespace,
        rules: [...(rule ?? [])],
        runId: run ?? "",
        ...(after ? { actedAfter: after } : {}),
        ...(before ? { actedBefore: before } : {}),
      };
      return readPages<Intervention>(limit, async (page) => {
        const answer = await operator.listInterventions({ ...request, ...page });
        return { items: answer.interventions, nextPageToken: answer.nextPageToken };
      });
    },
    item: InterventionSchema,
    document: ({ items: interventions, nextPageToken }) =>
      documentOf(ListInterventionsResponseSchema, { interventions, nextPageToken }),
    row: (one, output) => [
      output.when(one.actedTime),
      clean(one.rule),
      between(one.dueTime, one.actedTime),
      clean(one.runId),
      clean(one.workflow),
      clean(one.stepId) || "the run",
      clean(one.saw),
      clean(one.did),
    ],
    none: "no intervention",
  });
}
