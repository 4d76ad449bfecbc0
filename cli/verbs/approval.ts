/** `drover approval list`, `show` and `decide`: the approvals that open runs wait for. */
import {
  type Approval,
  ApprovalSchema,
  ListApprovalsResponseSchema,
} from "@drover/proto/drover/v1/operator_service_pb.ts";
import type { Command } from "commander";
import {
  approvedWords,
  approverWords,
  deadlineWords,
  decideCommand,
  rejectCommand,
} from "../approval-words.ts";
import type { Connection } from "../client.ts";
import { addText, contextOf, wholeNumber } from "../context.ts";
import { cutTexts } from "../cut-texts.ts";
import { type Ended, exitCodes, notThere } from "../failure.ts";
import { addList, documentOf } from "../list-verb.ts";
import { limitMax, readPages } from "../lists.ts";
import type { Output } from "../output.ts";
import { runRefOf } from "../run-ref.ts";
import { printPairs } from "../table.ts";
import { clean, labelWords, statedName, timeWords, wholePayload } from "../words.ts";
import { addDecide } from "./run-decide.ts";

interface ListOptions {
  readonly for?: string;
  readonly role?: readonly string[];
  readonly limit: number;
}

export function addApprovalVerbs(approval: Command, ended: Ended): void {
  addApprovalList(approval, ended);
  approval
    .command("show")
    .description("show an open approval: who may decide, its form, and the data to decide on")
    .argument("<run>", "id of the run, or key:NAME")
    .argument("<step>", "id of the step")
    .option("--full", "print long inputs and outputs in full, as -o wide")
    .action(async (run: string, step: string, options: { full?: boolean }, command: Command) => {
      const { output, connect } = contextOf(command, options);
      const connection = connect();
      const found = await findApproval(connection, run, step);
      output.data(ApprovalSchema, found);
      if (output.format === "table") await print(connection, found, output);
      output.next(decideCommand(found));
      output.next(rejectCommand(found));
      ended(exitCodes.done);
    });
  addDecide(approval, ended);
}

function addApprovalList(approval: Command, ended: Ended): void {
  const verb = approval
    .command("list")
    .description("list open approvals, of the oldest runs first")
    .option("--for <name>", "only those on which this person may decide and has not decided")
    .option("--role <role>", "a role of that person; may be given again", addText)
    .option("--limit <n>", "most approvals to list", wholeNumber(1, limitMax), 50);
  addList(verb, ended, {
    headers: ["RUN", "STEP", "WORKFLOW", "APPROVERS", "APPROVED", "SINCE", "DEADLINE"],
    read({ operator, namespace }, { for: approver = "", role = [], limit }: ListOptions) {
      const asked = { namespace, approver, roles: [...role] };
      return readPages<Approval>(limit, async (page) => {
        const answer = await operator.listApprovals({ ...asked, ...page });
        return { items: answer.approvals, nextPageToken: answer.nextPageToken };
      });
    },
    item: ApprovalSchema,
    document: ({ items: approvals, nextPageToken }) =>
      documentOf(ListApprovalsResponseSchema, { approvals, nextPageToken }),
    row: (one, output) => [
      clean(one.runId),
      clean(one.stepId),
      clean(one.workflow),
      approverWords(one),
      approvedWords(one),
      output.when(one.sinceTime),
      deadlineWords(one, output.when(one.deadlineTime)),
    ],
    // The two arguments of the other verbs.
    nameOf: ({ runId, stepId }) => `${runId} ${stepId}`,
    none: "no approval waits",
    notes({ items: [first] }, output) {
      if (first) output.next(`drover approval show ${clean(first.runId)} ${clean(first.stepId)}`);
    },
  });
}

async function findApproval(
  { operator, namespace }: Connection,
  run: string,
  step: string,
): Promise<Approval> {
  const { approvals } = await operator.listApprovals({ namespace, run: runRefOf(run, {}) });
  const found = approvals.find(({ stepId }) => stepId === step);
  if (found) return found;
  const open = approvals.map(({ stepId }) => `"${clean(stepId)}"`).join(", ");
  const waits = open === "" ? "it waits for no approval" : `it waits for approval of ${open}`;
  throw notThere(
    `the step "${clean(step)}" of this run does not wait for approval: ${waits}`,
    `drover run why ${clean(run)}`,
  );
}

async function print(
  { scheduler, namespace }: Connection,
  approval: Approval,
  output: Output,
): Promise<void> {
  const { runId } = approval;
  const ref = { ref: { case: "runId", value: runId } } as const;
  const { run, steps, decisions } = await scheduler.getRun({
    namespace,
    run: ref,
    includeDecisions: true,
  });
  const decided = decisions
    .filter(({ stepId }) => stepId === approval.stepId)
    .map(({ approver, approverVerified }) => statedName(approver, approverVerified));
  const needs = steps.find(({ id }) => id === approval.stepId)?.needs ?? [];
  const texts = cutTexts(output);
  printPairs(output, [
    ["run", clean(runId)],
    ["key", clean(approval.runKey)],
    ["workflow", `${clean(approval.workflow)} v${approval.version}`],
    ["labels", labelWords(approval.labels)],
    ["step", clean(approval.stepId)],
    ["approvers", approverWords(approval)],
    ["approved", approvedWords(approval, decided)],
    ["since", timeWords(approval.sinceTime)],
    ["deadline", deadlineWords(approval, timeWords(approval.deadlineTime))],
    ["form", wholePayload(approval.form)],
    ["run input", texts.payload(wholePayload(run?.input))],
    ...steps
      .filter(({ id }) => needs.includes(id))
      .map(({ id, output: made }): readonly [string, string] => {
        return [`output of ${clean(id)}`, texts.payload(wholePayload(made))];
      }),
  ]);
  if (texts.cut)
    output.next(`drover approval show ${clean(runId)} ${clean(approval.stepId)} --full`);
}
