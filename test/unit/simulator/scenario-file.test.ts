// A file of scenarios: how each mistake is reported, with line, column and what to write instead.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv } from "ajv";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { createRequestCheck } from "../../../server/api/calls/request-check.ts";
import { definitionOfText } from "../../../server/api/workflow/definition-source.ts";
import { RPC_DEFAULTS } from "../../../server/rpc-config.ts";
import { readScenarios } from "../../../simulator/scenario-file.ts";
import { unknownNames } from "../../../simulator/scenario-names.ts";
import { namesIn } from "../../../simulator/workflow-names.ts";

const root = join(import.meta.dirname, "../../..");
const WORKFLOW = `
workflow: w
steps:
  - { id: flight, task: book-flight, queue: travel, compensate: { task: cancel-flight } }
  - { id: parts, needs: [flight], map: { over: "\${3}", task: do-part } }
`;
const names = namesIn(definitionOfText(WORKFLOW, createRequestCheck(RPC_DEFAULTS), () => []));

function problemsOf(text: string): readonly string[] {
  const read = readScenarios(text);
  const problems = read.kind === "bad" ? read.problems : unknownNames(read.file, names, []);
  return problems.map(({ path, message }) => `${path}: ${message}`);
}

const file = (scenario: string) => `workflow: w.yaml\nscenarios:\n  - scenario: s\n${scenario}`;

describe("what is wrong with a file", () => {
  test.for([
    [
      "",
      "text: the text is empty: a file of scenarios begins with a line `workflow: FILE` (line 1, column 1)",
    ],
    [
      "workflow: w.yaml\n",
      "text: a file of scenarios needs the key scenarios: the scenarios (line 1, column 1)",
    ],
    [
      "workflow: w.yaml\nscenario: s\nscenarios: []\n",
      'scenario: a file of scenarios has no key "scenario": did you mean "scenarios"? (line 2, column 1)',
    ],
    [
      file("    agent: {}\n    expect: COMPLETED\n"),
      'scenarios[0].agent: a scenario has no key "agent": did you mean "agents"? (line 4, column 5)',
    ],
    [
      file("    expect: DONE\n"),
      'scenarios[0].expect: "DONE" is not known here: write one of PENDING, RUNNING, PAUSED, STOPPING, COMPENSATING, ESCALATED, COMPLETED, FAILED, COMPENSATED, CANCELLED, FINISHING (line 4, column 13)',
    ],
    [
      file("    expect: { steps: { flight: SUCEEDED } }\n"),
      'scenarios[0].expect.steps.flight: "SUCEEDED" is not known here: did you mean "SUCCEEDED"? (line 4, column 32)',
    ],
    [
      file("    agents: { book-flight: hangs }\n    expect: COMPLETED\n"),
      'scenarios[0].agents.book-flight: an act "hangs" is not known: did you mean "hang"? (line 4, column 28)',
    ],
    [
      file("    agents: { book-flight: fail }\n    expect: COMPLETED\n"),
      "scenarios[0].agents.book-flight: fail needs more: write `fail: …`, a code, or a map (line 4, column 28)",
    ],
    [
      file(
        "    agents:\n      book-flight: { fail: { permanent: true } }\n    expect: COMPLETED\n",
      ),
      "scenarios[0].agents.book-flight.fail: it needs the key code: the error code, which `retry.on` may name (line 5, column 28)",
    ],
    [
      file("    agents: { book-flight: { freeze: 30 } }\n    expect: COMPLETED\n"),
      'scenarios[0].agents.book-flight.freeze: "30" needs a unit, as 30s: durations are written as 1h30m, 250ms, 30s or 7d (line 4, column 38)',
    ],
    [
      file("    agents: { book-flight: { hang: {}, crash: 1s } }\n    expect: COMPLETED\n"),
      "scenarios[0].agents.book-flight: an act is one thing, and here are hang and crash: write the second as an item of its own (line 4, column 40)",
    ],
    [
      file("    events: [{ at: 1s, cancle: leave }]\n    expect: COMPLETED\n"),
      'scenarios[0].events[0].cancle: an event has no key "cancle": did you mean "cancel"? (line 4, column 24)',
    ],
    [
      file("    expect: { times: { flight SUCCEEDED: soon } }\n"),
      'scenarios[0].expect.times.flight SUCCEEDED: "soon" is not a time, as 12s, <=15s, >=10s or 10s..15s (line 4, column 42)',
    ],
    [
      file("    expect: { order: [flight] }\n"),
      'scenarios[0].expect.order[0]: "flight" is not a step and its state, or the run\'s: write it as hotel FAILED (line 4, column 23)',
    ],
    [
      file("    expect: { interventions: [lease of parts[2]] }\n"),
      /this is not valid YAML: .*; within \[ \] or \{ \} an item needs quotes: "chunks\[2\]" \(line 4, column \d+\)$/,
    ],
  ] as const)("is reported: %#", ([text, problem]) => {
    const [first] = problemsOf(text);
    if (typeof problem === "string") expect(first).toBe(problem);
    else expect(first).toMatch(problem);
  });
});

describe("a name that the workflow does not have", () => {
  test.for([
    [
      "agents: { book-flite: hang }",
      'scenarios[0].agents.book-flite: "book-flite" is no task of w: did you mean "book-flight"? (line 4, column 15)',
    ],
    [
      "agents: { do-part of part: hang }",
      'scenarios[0].agents.do-part of part: "part" is no step of w: did you mean "parts"? (line 4, column 15)',
    ],
    [
      "events: [{ when: flite FAILED, cancel: leave }]",
      'scenarios[0].events[0].when: "flite" is no step of w: write one of flight, parts (line 4, column 22)',
    ],
    [
      "events: [{ at: 1s, agents_leave: travle }]",
      'scenarios[0].events[0]: "travle" is no queue of w: did you mean "travel"? (line 4, column 14)',
    ],
  ])("%s", ([scenario, problem]) => {
    expect(problemsOf(file(`    ${scenario}\n    expect: COMPLETED\n`))).toEqual([problem]);
  });

  test.for([
    ['{ steps: { "flight[0]": FAILED } }', "flight is no map, and has no items: write flight"],
    ['{ order: ["fligth FAILED"] }', '"fligth" is no step of w: did you mean "flight"?'],
    [
      "{ calls: { cancel-fligth: 1 } }",
      '"cancel-fligth" is no task of w: did you mean "cancel-flight"?',
    ],
    ["{ effects: [flights] }", '"flights" is no step of w: did you mean "flight"?'],
    ["{ interventions: [lease of flihgt] }", '"flihgt" is no step of w: did you mean "flight"?'],
  ])("%s", ([expectation, problem]) => {
    expect(problemsOf(file(`    expect: ${expectation}\n`)).join()).toContain(problem);
  });
});

test("the schema for editors takes what is played, and no mistake", () => {
  const schema: object = JSON.parse(readFileSync(join(root, "docs/scenarios.schema.json"), "utf8"));
  const takes = new Ajv({ allowUnionTypes: true }).compile(schema);
  const files = globSync("agents-examples/**/*.scenarios.yaml", { cwd: root });
  expect(files.length).toBeGreaterThanOrEqual(8);
  for (const path of files) {
    takes(parse(readFileSync(join(root, path), "utf8")));
    expect(takes.errors, path).toBe(null);
  }
  for (const wrong of ["    expect: DONE\n", "    expect: COMPLETED\n    agents: { a: hangs }\n"])
    expect(takes(parse(file(wrong)))).toBe(false);
});
