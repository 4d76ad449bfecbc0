/** `drover workflow check`, without a server, and `drover workflow apply`, which registers. */
import { RegisterWorkflowResponseSchema } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { WorkflowDefinitionSchema } from "@drover/proto/drover/v1/workflow_pb.ts";
import type { FieldProblem } from "@drover/server/errors.ts";
import type { Command } from "commander";
import { contextOf } from "../context.ts";
import { CliFailure, type Ended, exitCodes, failureOf } from "../failure.ts";
import { readText } from "../input.ts";
import { clean } from "../words.ts";

export function addWorkflowVerbs(workflow: Command, ended: Ended): void {
  workflow
    .command("check")
    .description("say what is wrong with a workflow file, with line and column; needs no server")
    .argument("<file>", "a workflow in YAML or JSON; - for a pipe")
    .action(async (file: string, _options: unknown, command: Command) => {
      const { output } = contextOf(command);
      const { checkText } = await import("../check-text.ts");
      const checked = checkText(readText(file));
      if (checked.kind === "bad") throw refusal(file, checked.problems);
      const { definition } = checked;
      output.data(WorkflowDefinitionSchema, definition);
      const count = definition.steps.length === 1 ? "1 step" : `${definition.steps.length} steps`;
      if (output.format === "table")
        output.line(`${file}: ${definition.workflow}, ${count}, is good`);
      output.note(`  next: drover workflow apply ${file}`);
      ended(exitCodes.done);
    });
  workflow
    .command("apply")
    .description("register a workflow file; known content keeps its version")
    .argument("<file>", "a workflow in YAML or JSON; - for a pipe")
    .option("--keep-default", "leave the default version where it is")
    .action(async (file: string, options: { keepDefault?: boolean }, command: Command) => {
      const context = contextOf(command);
      const { output } = context;
      const { scheduler, namespace } = context.connect();
      const source = { case: "text" as const, value: readText(file) };
      const keepDefault = options.keepDefault ?? false;
      const answer = await scheduler
        .registerWorkflow({ namespace, source, keepDefault })
        .catch((error: unknown) => {
          const failure = failureOf(error, context.address);
          throw failure.fields.length > 0 ? refusal(file, failure.fields) : failure;
        });
      output.data(RegisterWorkflowResponseSchema, answer);
      const name = clean(answer.name);
      const did = answer.created ? "registered" : "was registered before";
      if (output.format === "table") output.line(`${name} v${answer.version} ${did}`);
      output.note(`  next: drover run start ${name} --watch`);
      ended(exitCodes.done);
    });
}

const placeAtEnd = / \(line (\d+), column (\d+)\)$/;

/** Places as `file:line:column`, which editors and terminals follow. */
function refusal(file: string, problems: readonly FieldProblem[]): CliFailure {
  const fields = problems.map(({ path, message }) => {
    const place = placeAtEnd.exec(message);
    const plain = message.replace(placeAtEnd, "");
    const where = place ? `${file}:${place[1]}:${place[2]}` : file;
    return { path: where, message: path === "text" ? plain : `${path}: ${plain}` };
  });
  const count = problems.length === 1 ? "a problem" : `${problems.length} problems`;
  return new CliFailure(`${file} has ${count}`, {
    code: exitCodes.failed,
    next: `correct the file, then drover workflow check ${file}`,
    fields,
  });
}
