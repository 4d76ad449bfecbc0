/**
 * `drover run decide` and `drover approval decide`: an approver's decision about a step that waits
 * for approval.
 */
import {
  DecideResponseSchema,
  DecisionKind,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { type Command, Option } from "commander";
import { addText, contextOf } from "../context.ts";
import { type Ended, exitCodes, usageFailure } from "../failure.ts";
import { readPayload } from "../input.ts";
import { runRefOf } from "../run-ref.ts";
import { printRunState } from "../run-words.ts";
import { clean } from "../words.ts";

interface DecideOptions {
  readonly approve?: boolean;
  readonly reject?: boolean;
  readonly as: string;
  readonly role?: readonly string[];
  readonly comment?: string;
  readonly reason?: string;
  readonly form?: string;
}

/** `comment`: the option for the approver's words. */
export function addDecide(to: Command, ended: Ended, comment: "--comment" | "--reason"): void {
  to.command("decide")
    .description("approve or reject a step that waits for approval")
    .argument("<run>", "id of the run, or key:NAME")
    .argument("<step>", "id of the step")
    .addOption(new Option("--approve", "approve the step").conflicts("reject"))
    .option("--reject", "reject the step")
    .requiredOption("--as <name>", "the approver's name; the server does not verify it")
    .option("--role <role>", "a role of the approver; may be given again", addText)
    .option(`${comment} <text>`, "a comment; stored with the run")
    .option("--form <json>", "the form of the step: JSON, or @FILE, or @- for a pipe")
    .action(async (runName: string, stepId: string, options: DecideOptions, command: Command) => {
      const { output, connect } = contextOf(command);
      const decision = decisionOf(options);
      const form = readPayload(options.form, "--form");
      const { scheduler, namespace } = connect();
      const answer = await scheduler.decide({
        namespace,
        run: runRefOf(runName, {}),
        stepId,
        decision,
        approver: options.as,
        roles: [...(options.role ?? [])],
        comment: options.comment ?? options.reason ?? "",
        ...(form && { form }),
      });
      output.data(DecideResponseSchema, answer);
      const done = decision === DecisionKind.APPROVE ? "approved" : "rejected";
      const did = answer.repeated ? `had ${done}` : done;
      if (output.format === "table") output.line(`${clean(options.as)} ${did} ${clean(stepId)}`);
      printRunState(answer.run, output);
      ended(exitCodes.done);
    });
}

function decisionOf({ approve, reject }: DecideOptions): DecisionKind {
  if (approve) return DecisionKind.APPROVE;
  if (reject) return DecisionKind.REJECT;
  throw usageFailure("no decision was given", "--approve, or --reject");
}
