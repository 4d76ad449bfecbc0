/**
 * What the parser of the text form makes of each example, beside the parsed text: the Python SDK
 * holds its builder against it. `node test/support/python-definitions.ts` writes the file anew.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { toJson } from "@bufbuild/protobuf";
import { WorkflowDefinitionSchema } from "@drover/proto/drover/v1/workflow_pb.ts";
import { parse } from "yaml";
import { parseWorkflowText } from "../../server/definition-text/workflow-text.ts";
import { workflowTextOf } from "../../server/definition-text/writer.ts";

const root = join(import.meta.dirname, "../..");
export const pythonDefinitionsFile = join(root, "sdk/python/tests/gen/definitions.json");

export function pythonDefinitions(): string {
  const paths = globSync(["agents-examples/*/!(*.scenarios).yaml", "sdk/python/tests/*.yaml"], {
    cwd: root,
  });
  const definitions = paths.sort().map((path) => {
    const text = readFileSync(join(root, path), "utf8");
    const { definition } = parseWorkflowText(text);
    // Only texts have defaults and aliases: the builder gets what they stand for.
    const yaml = parse(text.includes("\ndefaults:") ? workflowTextOf(definition) : text);
    return { path, yaml, definition: toJson(WorkflowDefinitionSchema, definition) };
  });
  return `${JSON.stringify(definitions, null, 1)}\n`;
}

if (import.meta.main) writeFileSync(pythonDefinitionsFile, pythonDefinitions());
