/** `drover run signal`: sends a signal to a run, for a step that waits for its name. */
import { SignalResponseSchema } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Command } from "commander";
import { contextOf } from "../context.ts";
import { type Ended, exitCodes } from "../failure.ts";
import { readPayload } from "../input.ts";
import { runRefOf } from "../run-ref.ts";
import { clean } from "../words.ts";

interface SignalOptions {
  readonly payload?: string;
  readonly id?: string;
}

export function addRunSignal(run: Command, ended: Ended): void {
  run
    .command("signal")
    .description("send a signal to a run; it is stored until a step takes it")
    .argument("<run>", "id of the run, or key:NAME")
    .argument("<name>", "name of the signal")
    .option("--payload <json>", "its payload: JSON, or @FILE, or @- for a pipe")
    .option("--id <name>", "your own id of the signal; makes repeating this command safe")
    .action(async (runName: string, name: string, options: SignalOptions, command: Command) => {
      const { output, connect } = contextOf(command);
      const { scheduler, namespace } = connect();
      const payload = readPayload(options.payload, "--payload");
      const answer = await scheduler.signal({
        namespace,
        run: runRefOf(runName, {}),
        name,
        signalId: options.id ?? crypto.randomUUID(),
        ...(payload && { payload }),
      });
      output.data(SignalResponseSchema, answer);
      const did = answer.repeated ? "was already sent with this id" : "sent";
      if (output.format === "table") output.line(`signal ${clean(name)} ${did}`);
      output.next(`drover run show ${clean(runName)}`);
      ended(exitCodes.done);
    });
}
