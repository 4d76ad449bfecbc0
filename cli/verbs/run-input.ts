/** `drover run input`: the input that the tasks of a step get, with its expressions evaluated. */
import {
  type GetStepInputResponse,
  GetStepInputResponseSchema,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Command } from "commander";
import { contextOf } from "../context.ts";
import { type Ended, exitCodes } from "../failure.ts";
import type { Output } from "../output.ts";
import { runRefOf } from "../run-ref.ts";
import { stepRefOf } from "../step-ref.ts";
import { clean, wholePayload } from "../words.ts";

export function addRunInput(run: Command, ended: Ended): void {
  run
    .command("input")
    .description("print the input that the tasks of a step get, with expressions evaluated")
    .argument("<run>", "id of the run, or key:NAME")
    .argument("<step>", "id of a step, or of an item as deploy[3]")
    .action(async (name: string, step: string, _options: object, command: Command) => {
      const { output, connect } = contextOf(command);
      const { scheduler, namespace } = connect();
      const request = { namespace, run: runRefOf(name, {}), ...stepRefOf(step) };
      const answer = await scheduler.getStepInput(request);
      output.data(GetStepInputResponseSchema, answer);
      if (!answer.hasInput)
        output.note("there is no input: the step has not started, or it has no task");
      else if (output.format === "table") print(answer, output);
      ended(exitCodes.done);
    });
}

function print({ result }: GetStepInputResponse, output: Output): void {
  if (result.case === "payload") output.line(wholePayload(result.value));
  else if (result.case === "problem")
    output.note(`the input could not be evaluated: ${clean(result.value)}`);
  else output.note("the input is empty");
}
