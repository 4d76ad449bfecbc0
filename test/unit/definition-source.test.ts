/** All problems of a workflow text are reported at once, whichever check finds them. */
import { expect, test } from "vitest";
import { createRequestCheck } from "../../server/api/calls/request-check.ts";
import { definitionOfText } from "../../server/api/workflow/definition-source.ts";
import { DroverError } from "../../server/errors.ts";
import { checkDefinition } from "../../server/expressions/definition-expressions.ts";
import { RPC_DEFAULTS } from "../../server/rpc-config.ts";

const check = createRequestCheck(RPC_DEFAULTS);

/** The paths, each with the line of its problem. */
function problemsOf(text: string): readonly string[] {
  try {
    definitionOfText(text, check, checkDefinition);
    return [];
  } catch (error) {
    if (!(error instanceof DroverError)) throw error;
    expect(error.reason).toBe("INVALID_DEFINITION");
    return error.fields.map(
      ({ path, message }) => `${path} ${/\(line (\d+), /.exec(message)?.[1] ?? ""}`,
    );
  }
}

test("unreadable values, names, needs, settings and expressions of one text", () => {
  const text = `workflow: a b
steps:
  - id: first
    task: go
    needs: [nobody]
    when: "\${input.}"
  - id: second
    task: go
    colour: red
  - id: third
    wait: soon
    needs: [second]
  - id: fourth
    wait: 1h
    retry: [{ attempts: 2 }]
`;
  expect(problemsOf(text)).toEqual([
    "steps[1].colour 9",
    "steps[2].wait 11",
    "workflow 1",
    "steps[0].needs[0] 5",
    "steps[3].retry 15",
    "steps[0].when 6",
  ]);
});

test("a step that cannot be read is still a step that others may need", () => {
  const text = `workflow: ok
steps:
  - id: first
    task: go
    colour: red
  - id: second
    task: go
    needs: [first]
`;
  expect(problemsOf(text)).toEqual(["steps[0].colour 5"]);
});

test("a time that cannot be read makes no other time too long", () => {
  const text = `workflow: ok
timeout: long
steps:
  - id: rest
    wait: 20d
`;
  expect(problemsOf(text)).toEqual(["timeout 2"]);
});

test.for([
  ["no steps", "workflow: ok\n", ["steps 1"]],
  ["steps that are no list", "workflow: ok\nsteps: 5\n", ["steps 2"]],
  [
    "a step that is no map",
    "workflow: ok\nsteps:\n  - 5\n  - id: b\n    task: t\n",
    ["steps[0] 3"],
  ],
] as const)("a text with %s", ([, text, problems]) => {
  expect(problemsOf(text)).toEqual(problems);
});
