/** A definition that is written as YAML is read back as it was. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { create, toJsonString } from "@bufbuild/protobuf";
import {
  type WorkflowDefinition,
  WorkflowDefinitionSchema,
} from "@drover/proto/drover/v1/workflow_pb.ts";
import fc from "fast-check";
import { expect, it } from "vitest";
import { parseWorkflowText } from "../../server/definition-text/workflow-text.ts";
import { workflowTextOf } from "../../server/definition-text/writer.ts";
import { definitions } from "../support/random-workflow-text.ts";
import { treeRoot } from "../support/tree.ts";

const EXAMPLES = globSync("agents-examples/*/!(*.scenarios).yaml", { cwd: treeRoot });

const EVERYTHING = `workflow: everything
timeout: 1h30m
steps:
  - id: wait
    wait: 2d
  - id: paid
    needs: [wait]
    signal: payment
  - id: approve
    needs: [paid]
    approval:
      approvers: [ada, bo]
      need: 1
      form:
        required: [reason]
  - id: deploy
    needs: [paid, approve]
    map:
      over: \${input.servers}
      task: install
      queue: deploy-\${item.name}
      concurrency: 10
      tolerate: 0
      waves:
        percent: 12.5
        pause: 5m
        gate:
          task: check
          input:
            largest: 9007199254740993
            no: "5"
            lines: |-
              one
                two
  - id: child
    needs: [deploy]
    run: other
    on_failure: continue
    escalation:
      remind: 2h
      deadline: 1d
      then: retry
input_schema:
  type: object
`;

function expectReadBack(definition: WorkflowDefinition): string {
  const text = workflowTextOf(definition);
  const read = parseWorkflowText(text).definition;
  expect(toJsonString(WorkflowDefinitionSchema, read)).toBe(
    toJsonString(WorkflowDefinitionSchema, definition),
  );
  return text;
}

it("whatever is in it", () => {
  fc.assert(
    fc.property(definitions, (given) => {
      expectReadBack(create(WorkflowDefinitionSchema, given));
    }),
  );
});

it.for(EXAMPLES)("of %s", (path) => {
  expectReadBack(parseWorkflowText(readFileSync(join(treeRoot, path), "utf8")).definition);
});

it("in the words of an author", () => {
  const { definition } = parseWorkflowText(EVERYTHING);
  expect(expectReadBack(definition).replaceAll("\n\n", "\n")).toBe(EVERYTHING);
});

it("an input of bytes is left out, and the text says so", () => {
  const input = {
    contentType: "image/png",
    body: { case: "data", value: new Uint8Array(3) },
  } as const;
  const kind = { case: "task", value: { name: "print" } } as const;
  const steps = [{ id: "a", kind, input }];
  const text = workflowTextOf(create(WorkflowDefinitionSchema, { workflow: "w", steps }));
  expect(text).toContain("# Not in this text, because it is not JSON: steps[0].input\n");
  expect(parseWorkflowText(text).definition.steps[0]?.input).toBeUndefined();
});
