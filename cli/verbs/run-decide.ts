/**
 * `drover run decide` and `drover approval decide`: an approver's decision about a step that waits
 * for approval.
 */
import {
  DecideResponseSchema,
  DecisionKind,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { type Command, Option } from "commander";
import {
  addChangeOptions,
  type ByOptions,
  personOf,
  type ReasonOptions,
} from "../change-options.ts";
import { addText, contextOf } from "../context.ts";
import { type Ended, exitCodes, usageFailure } from "../failure.ts";
import { readPayload } from "../input.ts";
import { runRefOf } from "../run-ref.ts";
import { printRunState } from "../run-words.ts";
import { clean } from "../words.ts";

interface DecideOptions extends ByOptions, ReasonOptions {
  readonly approve?: boolean;
  readonly reject?: boolean;
  readonly role?: readonly string[];
  readonly form?: string;
}

export function addDecide(to: Command, ended: Ended): void {
  addChangeOptions(to.command("decide"), { by: true, reason: "optional" })
    .description("approve or reject a step that waits for approval")
    .argument("<run>", "id of the run, or key:NAME")
    .argument("<step>", "id of the step")
    .addOption(new Option("--approve", "approve the step").conflicts("reject"))
    .option("--reject", "reject the step")
    .option("--role <role>", "a role of the approver; may be given again", addText)
    .option("--form <json>", "the form of the step: JSON, or @FILE, or @- for a pipe")
    .action(async (runName: string, stepId: string, options: DecideOptions, command: Command) => {
      const { output, connect } = contextOf(command);
      const decision = decisionOf(options);
      const approver = personOf(options, command);
      const form = readPayload(options.form, "--form");
      const { scheduler, namespace } = connect();
      const answer = await scheduler.decide({
        namespace,
        run: runRefOf(runName, {}),
        stepId,
        decision,
        approver,
        roles: [...(options.role ?? [])],
        comment: options.reason,
        ...(form && { form }),
      });
      output.data(DecideResponseSchema, answer);
      const done = decision === DecisionKind.APPROVE ? "approved" : "rejected";
      const did = answer.repeated ? `had ${done}` : done;
      if (output.format === "table")
        output.line(`${clean(approver) || "you"} ${did} ${clean(stepId)}`);
      printRunState(answer.run, output);
      ended(exitCodes.done);
    });
}

function decisionOf({ approve, reject }: DecideOptions): DecisionKind {
  if (approve) return DecisionKind.APPROVE;
  if (reject) return DecisionKind.REJECT;
  throw usageFailure("no decision was given", "--approve, or --reject");
}
