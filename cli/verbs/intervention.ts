/** `drover intervention list`: what supervisors did in all runs, newest first. */
import { create } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { ListInterventionsResponseSchema } from "@drover/proto/drover/v1/intervention_pb.ts";
import { type Intervention, InterventionSchema } from "@drover/proto/drover/v1/run_pb.ts";
import type { Command } from "commander";
import { addText, contextOf, parseTime, wholeNumber } from "../context.ts";
import { type Ended, exitCodes } from "../failure.ts";
import { limitMax, noteMore, readPages, writeList } from "../lists.ts";
import { printTable } from "../table.ts";
import { between, clean, timeWords } from "../words.ts";

interface ListOptions {
  readonly rule?: readonly string[];
  readonly run?: string;
  readonly after?: Timestamp;
  readonly before?: Timestamp;
  readonly limit: number;
}

export function addInterventionVerbs(intervention: Command, ended: Ended): void {
  intervention
    .command("list")
    .description("list what supervisors did in the namespace, newest first")
    .option("--rule <rule>", "only of this rule, as lease; may be given again", addText)
    .option("--run <run>", "only those of this run, by its id")
    .option("--after <time>", "only from this time on, as 2026-01-31", parseTime)
    .option("--before <time>", "only before this time, as 2026-01-31T12:00Z", parseTime)
    .option("--limit <n>", "most interventions to list", wholeNumber(1, limitMax), 50)
    .action(async (options: ListOptions, command: Command) => {
      const { output, connect } = contextOf(command);
      const { operator, namespace } = connect();
      const { rule, run, after, before, limit } = options;
      const request = {
        namespace,
        rules: [...(rule ?? [])],
        runId: run ?? "",
        ...(after ? { actedAfter: after } : {}),
        ...(before ? { actedBefore: before } : {}),
      };
      const page = await readPages<Intervention>(limit, async (next) => {
        const answer = await operator.listInterventions({ ...request, ...next });
        return { items: answer.interventions, nextPageToken: answer.nextPageToken };
      });
      const { items: interventions, nextPageToken } = page;
      const answer = create(ListInterventionsResponseSchema, { interventions, nextPageToken });
      const schema = ListInterventionsResponseSchema;
      writeList(output, [schema, answer], [InterventionSchema, interventions]);
      const headers = ["TIME", "RULE", "LATENESS", "RUN", "WORKFLOW", "STEP", "OBSERVED", "ACTION"];
      const rows = interventions.map((one) => [
        timeWords(one.actedTime),
        clean(one.rule),
        between(one.dueTime, one.actedTime),
        clean(one.runId),
        clean(one.workflow),
        clean(one.stepId) || "the run",
        clean(one.saw),
        clean(one.did),
      ]);
      if (output.format === "table") printTable(output, headers, rows);
      if (rows.length === 0) output.note("no intervention");
      noteMore(page, limit, output);
      ended(exitCodes.done);
    });
}
