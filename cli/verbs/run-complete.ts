/** `drover run complete`: a person reports the outcome of a deferred step, for its callback. */
import { create } from "@bufbuild/protobuf";
import { CompleteStepResponseSchema } from "@drover/proto/drover/v1/operator_service_pb.ts";
import {
  FailureClass,
  type Outcome,
  Outcome_FailedSchema,
  Outcome_SuccessSchema,
} from "@drover/proto/drover/v1/task_pb.ts";
import { type Command, Option } from "commander";
import {
  addChangeOptions,
  type ByOptions,
  personOf,
  type ReasonOptions,
} from "../change-options.ts";
import { contextOf } from "../context.ts";
import { type Ended, exitCodes, usageFailure } from "../failure.ts";
import { readPayload } from "../input.ts";
import { runRefOf } from "../run-ref.ts";
import { printRunState } from "../run-words.ts";
import { stepRefOf } from "../step-ref.ts";
import { clean } from "../words.ts";

interface CompleteOptions extends ByOptions, ReasonOptions {
  readonly succeed?: boolean;
  readonly payload?: string;
  readonly error?: string;
  readonly message?: string;
  readonly permanent?: boolean;
}

export function addRunComplete(run: Command, ended: Ended): void {
  addChangeOptions(run.command("complete"), { by: true, reason: "optional" })
    .description("report the outcome of a step that waits for a callback which does not come")
    .argument("<run>", "id of the run, or key:NAME")
    .argument("<step>", "id of the step, or of an item as deploy[3]")
    .option("--succeed", "the work is done; implied by --payload")
    .option("--payload <json>", "its output: JSON, or @FILE, or @- for a pipe")
    .addOption(
      new Option("--error <code>", "the work failed, with this error code").conflicts([
        "succeed",
        "payload",
      ]),
    )
    .option("--message <text>", "with --error: what went wrong")
    .option("--permanent", "with --error: trying again cannot help")
    .action(async (name: string, step: string, options: CompleteOptions, command: Command) => {
      const { output, connect } = contextOf(command);
      const outcome = outcomeOf(options);
      const by = personOf(options, command);
      const { operator, namespace } = connect();
      const answer = await operator.completeStep({
        namespace,
        run: runRefOf(name, {}),
        ...stepRefOf(step),
        outcome,
        by,
        reason: options.reason,
      });
      output.data(CompleteStepResponseSchema, answer);
      const done = outcome.case === "success" ? "succeeded" : "failed";
      const did = answer.repeated ? "was already reported as" : "is reported as";
      if (output.format === "table") output.line(`${clean(step)} ${did} ${done}`);
      printRunState(answer.run, output);
      ended(exitCodes.done);
    });
}

type End = Extract<Outcome["kind"], { case: "success" | "failed" }>;

function outcomeOf({ succeed, payload, error, message, permanent }: CompleteOptions): End {
  if (error === undefined && (message !== undefined || permanent))
    throw usageFailure("--message and --permanent describe a failure", "give --error CODE too");
  if (error !== undefined) {
    const failureClass = permanent ? FailureClass.PERMANENT : FailureClass.TRANSIENT;
    const failed = { code: error, message: message ?? "", failureClass };
    return { case: "failed", value: create(Outcome_FailedSchema, failed) };
  }
  const output = readPayload(payload, "--payload");
  if (!succeed && !output)
    throw usageFailure("no outcome was given", "--succeed, --payload JSON, or --error CODE");
  return { case: "success", value: create(Outcome_SuccessSchema, output ? { output } : {}) };
}
