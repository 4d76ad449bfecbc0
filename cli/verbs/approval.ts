/** `drover approval list`, `show` and `decide`: the approvals that open runs wait for. */
import { create } from "@bufbuild/protobuf";
import {
  type Approval,
  ApprovalSchema,
  type ListApprovalsResponse,
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
import { limitMax, noteMore, readPages, writeList } from "../lists.ts";
import type { Output } from "../output.ts";
import { runRefOf } from "../run-ref.ts";
import { printPairs, printTable } from "../table.ts";
import { clean, labelWords, timeWords, wholePayload } from "../words.ts";
import { addDecide } from "./run-decide.ts";

interface ListOptions {
  readonly for?: string;
  readonly role?: readonly string[];
  readonly limit: number;
}

export function addApprovalVerbs(approval: Command, ended: Ended): void {
  approval
    .command("list")
    .description("list open approvals, of the oldest runs first")
    .option("--for <name>", "only those on which this person may decide and has not decided")
    .option("--role <role>", "a role of that person; may be given again", addText)
    .option("--limit <n>", "approvals after which the list ends", wholeNumber(1, limitMax), 50)
    .action(async (options: ListOptions, command: Command) => {
      const { output, connect } = contextOf(command);
      printList(await list(options, connect()), options, output);
      ended(exitCodes.done);
    });
  approval
    .command("show")
    .description("show an open approval: who may decide, its form, and the data to decide on")
    .argument("<run>", "id of the run, or key:NAME")
    .argument("<step>", "id of the step")
    .option("--full", "print long inputs and outputs in full")
    .action(async (run: string, step: string, options: { full?: boolean }, command: Command) => {
      const { output, connect } = contextOf(command);
      const connection = connect();
      const found = await findApproval(connection, run, step);
      output.data(ApprovalSchema, found);
      if (output.format === "table") await print(connection, found, options, output);
      output.next(decideCommand(found));
      output.next(rejectCommand(found));
      ended(exitCodes.done);
    });
  addDecide(approval, ended);
}

async function list(
  { for: approver = "", role = [], limit }: ListOptions,
  { operator, namespace }: Connection,
): Promise<ListApprovalsResponse> {
  const read = await readPages<Approval>(limit, async (page) => {
    const asked = { namespace, approver, roles: [...role], ...page };
    const { approvals, nextPageToken } = await operator.listApprovals(asked);
    return { items: approvals, nextPageToken };
  });
  const { items: approvals, nextPageToken } = read;
  return create(ListApprovalsResponseSchema, { approvals, nextPageToken });
}

function printList(answer: ListApprovalsResponse, options: ListOptions, output: Output): void {
  const { approvals } = answer;
  writeList(output, [ListApprovalsResponseSchema, answer], [ApprovalSchema, approvals]);
  if (output.format === "table") {
    const headers = ["RUN", "STEP", "WORKFLOW", "APPROVERS", "APPROVED", "SINCE", "DEADLINE"];
    const rows = approvals.map((one) => [
      clean(one.runId),
      clean(one.stepId),
      clean(one.workflow),
      approverWords(one),
      approvedWords(one),
      timeWords(one.sinceTime),
      deadlineWords(one),
    ]);
    printTable(output, headers, rows);
  }
  const [first] = approvals;
  if (first === undefined)
    output.note(
      `no approval waits${options.for === undefined ? "" : ` for ${clean(options.for)}`}`,
    );
  else output.next(`drover approval show ${clean(first.runId)} ${clean(first.stepId)}`);
  noteMore(answer, options.limit, output);
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
  options: { readonly full?: boolean },
  output: Output,
): Promise<void> {
  const { runId } = approval;
  const ref = { ref: { case: "runId", value: runId } } as const;
  const { run, steps } = await scheduler.getRun({ namespace, run: ref });
  const needs = steps.find(({ id }) => id === approval.stepId)?.needs ?? [];
  const texts = cutTexts(options);
  printPairs(output, [
    ["run", clean(runId)],
    ["key", clean(approval.runKey)],
    ["workflow", `${clean(approval.workflow)} v${approval.version}`],
    ["labels", labelWords(approval.labels)],
    ["step", clean(approval.stepId)],
    ["approvers", approverWords(approval)],
    ["approved", approvedWords(approval)],
    ["since", timeWords(approval.sinceTime)],
    ["deadline", deadlineWords(approval)],
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
