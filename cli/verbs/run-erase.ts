/** `drover run erase`: deletes an ended run with all that is stored of it. */
import { EraseRunResponseSchema } from "@drover/proto/drover/v1/operator_service_pb.ts";
import type { Command } from "commander";
import { addChangeOptions, type ReasonOptions } from "../change-options.ts";
import { confirm } from "../confirm.ts";
import { contextOf } from "../context.ts";
import { type Ended, exitCodes } from "../failure.ts";
import { addRunRef, type RunRefOptions, runRefOf } from "../run-ref.ts";
import { clean } from "../words.ts";

interface EraseOptions extends RunRefOptions, ReasonOptions {
  readonly yes?: boolean;
}

export function addRunErase(run: Command, ended: Ended): void {
  addChangeOptions(addRunRef(run.command("erase")), { reason: "required" })
    .description("delete an ended run with all that is stored of it; admins only; asks first")
    .option("--yes", "do not ask")
    .action(async (name: string | undefined, options: EraseOptions, command: Command) => {
      const { output, connect } = contextOf(command);
      const { operator, namespace } = connect();
      const asked = runRefOf(name, options);
      await confirm(`erase the run ${clean(asked.ref.value ?? "")} for ever?`, options);
      const answer = await operator.eraseRun({ namespace, run: asked, reason: options.reason });
      output.data(EraseRunResponseSchema, answer);
      if (output.format === "table")
        output.line(`run ${clean(answer.runId)} of ${clean(answer.workflow)} is erased`);
      ended(exitCodes.done);
    });
}
