/** `drover queue pin` and `unpin`: only agents of one version get the tasks of a workflow. */
import {
  PinQueueResponseSchema,
  UnpinQueueResponseSchema,
  type VersionPin,
} from "@drover/proto/drover/v1/queue_pb.ts";
import type { Command } from "commander";
import { contextOf, wholeNumber } from "../context.ts";
import { type Ended, exitCodes } from "../failure.ts";
import type { Output } from "../output.ts";
import { printTable } from "../table.ts";
import { clean } from "../words.ts";

const versionMax = 2_147_483_647;

interface OfOptions {
  readonly workflow: string;
  readonly version: number;
}

interface PinOptions extends OfOptions {
  readonly agentVersion: string;
}

export function addPinVerbs(queue: Command, ended: Ended): void {
  ofWorkflow(
    queue.command("pin").description("give tasks of a workflow only to agents of one version"),
  )
    .requiredOption("--agent-version <version>", "the version of the agents")
    .action(async (name: string, options: PinOptions, command: Command) => {
      const { workflow, version, agentVersion } = options;
      const { output, connect } = contextOf(command);
      const { operator, namespace } = connect();
      const request = { namespace, queue: name, workflow, version, agentVersion };
      const answer = await operator.pinQueue(request);
      output.data(PinQueueResponseSchema, answer);
      if (output.format === "table")
        output.line(
          `queue ${clean(name)} gives ${taskWords(options)} only to agents of version ${clean(agentVersion)}`,
        );
      output.next(unpinCommand(clean(name), { workflow, version }));
      ended(exitCodes.done);
    });
  ofWorkflow(queue.command("unpin").description("remove a pin: the tasks go to any agent")).action(
    async (name: string, options: OfOptions, command: Command) => {
      const { workflow, version } = options;
      const { output, connect } = contextOf(command);
      const { operator, namespace } = connect();
      const answer = await operator.unpinQueue({ namespace, queue: name, workflow, version });
      output.data(UnpinQueueResponseSchema, answer);
      const left = pinOfAllVersions(answer.pins, options);
      const to = left ? `only to agents of version ${clean(left.agentVersion)}` : "to any agent";
      if (output.format === "table")
        output.line(`queue ${clean(name)} gives ${taskWords(options)} ${to}`);
      ended(exitCodes.done);
    },
  );
}

export function unpinCommand(queue: string, { workflow, version }: OfOptions): string {
  const which = version === 0 ? "" : ` --version ${version}`;
  return `drover queue unpin ${queue} --workflow ${clean(workflow)}${which}`;
}

function ofWorkflow(command: Command): Command {
  return command
    .argument("<queue>", "name of the queue")
    .requiredOption("--workflow <name>", "the workflow of the tasks")
    .option(
      "--version <n>",
      "version of the workflow; default: all versions without a pin of their own",
      wholeNumber(1, versionMax),
      0,
    );
}

function taskWords({ workflow, version }: OfOptions): string {
  return `the tasks of ${clean(workflow)}${version === 0 ? "" : ` version ${version}`}`;
}

/** The pin of all versions of the workflow, which still pins the tasks. */
function pinOfAllVersions(
  pins: readonly VersionPin[],
  { workflow }: OfOptions,
): VersionPin | undefined {
  return pins.find((pin) => pin.workflow === workflow && pin.version === 0);
}

export function printPins(pins: readonly VersionPin[], output: Output): void {
  if (pins.length === 0) return;
  output.line("");
  const rows = pins.map((pin) => [
    clean(pin.workflow),
    pin.version === 0 ? "any" : String(pin.version),
    clean(pin.agentVersion),
    output.when(pin.pinnedTime),
  ]);
  printTable(output, ["PINNED", "VERSION", "TO AGENT VERSION", "SINCE"], rows);
}
