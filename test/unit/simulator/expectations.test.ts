// What a scenario reports of a run that came out otherwise: each kind of expectation, word by word.
import { describe, expect, test } from "vitest";
import { played } from "../../support/play-scenario.ts";

const WORKFLOW = `
workflow: w
steps:
  - id: a
    task: do-a
    timeouts: { heartbeat: 2s }
    compensate: { task: undo-a }
  - { id: b, needs: [a], task: do-b }
`;

/** Agent a falls silent once, and b fails for good. */
async function differencesOf(expectation: string): Promise<readonly string[]> {
  const { differences } = await played(
    WORKFLOW,
    `scenarios:
  - scenario: s
    input: { n: 1 }
    agents:
      do-a: [freeze, succeed: { output: { n: 1, list: [1, { x: 2 }] } }]
      do-b: { fail: { code: NO, permanent: true, no_effect: true } }
    expect: ${expectation}
`,
  );
  return differences.map(({ what, expected, was }) => `${what}: ${expected} / ${was}`);
}

describe("met", () => {
  test.for([
    "COMPENSATED",
    "{ run: COMPENSATED, reason: STEP_FAILED, within: 10s }",
    "{ steps: { a: UNDONE, b: FAILED } }",
    '{ interventions: ["lease of a"], escalations: [], effects: [] }',
    '{ order: ["a SUCCEEDED", "b FAILED", "a UNDONE", "run COMPENSATED"] }',
    '{ times: { "a SUCCEEDED": 3s, "b FAILED": 3s..5s, "run COMPENSATED": ">=4s" } }',
    '{ calls: { do-a: 2, do-b: "<=1", undo-a: 1..2 } }',
    "{ outputs: { a: { n: 1 } } }",
    "{ outputs: { a: { list: [1, { x: 2 }] } } }",
  ])("%s", async (expectation) => {
    expect(await differencesOf(expectation)).toEqual([]);
  });
});

describe("not met", () => {
  test.for([
    ["COMPLETED", "run: COMPLETED / COMPENSATED (STEP_FAILED)"],
    ["{ reason: TIMED_OUT }", "reason: TIMED_OUT / STEP_FAILED"],
    ["{ steps: { a: SUCCEEDED } }", "steps.a: SUCCEEDED / UNDONE"],
    ["{ interventions: [] }", "interventions: none / lease of a"],
    ['{ interventions: ["stall of a"] }', "interventions: stall of a / lease of a"],
    ['{ escalations: ["unknown of a"] }', "escalations: unknown of a / none"],
    [
      '{ order: ["b FAILED", "a SUCCEEDED"] }',
      "order[1]: a SUCCEEDED, after b FAILED / it came before, after 3s1ms",
    ],
    ['{ order: ["b SUCCEEDED"] }', "order[0]: b SUCCEEDED / it never came"],
    ['{ times: { "a SUCCEEDED": 1s } }', "times.a SUCCEEDED: 1s / 3s1ms"],
    ['{ times: { "b SUCCEEDED": 1s } }', "times.b SUCCEEDED: 1s / it never came to that"],
    ["{ calls: { do-a: 1 } }", "calls.do-a: 1 / 2"],
    ["{ effects: [a] }", "effects: a / none"],
    ["{ outputs: { a: { n: 2 } } }", 'outputs.a: at least {"n":2} / {"n":1,"list":[1,{"x":2}]}'],
    ["{ inputs: { do-b: { n: 2 } } }", 'inputs.do-b: at least {"n":2} / {"n":1}'],
  ] as const)("%s", async ([expectation, difference]) => {
    expect(await differencesOf(expectation)).toEqual([difference]);
  });

  test("in time: a run that still continues is reported with what it waits for", async () => {
    const { came, differences } = await played(
      WORKFLOW,
      "scenarios: [{ scenario: s, agents: { do-a: hang }, expect: { run: COMPLETED, within: 30s } }]",
    );
    expect(differences.map(({ what, was }) => `${what}: ${was}`)).toEqual([
      "run: RUNNING",
      "within: still RUNNING after 30s",
    ]);
    expect(came.why).toMatch(/"a" is with agent default-1/);
  });
});

describe("a scenario that could not be played as it was written", () => {
  const troublesOf = async (more: string) => {
    const { came } = await played(
      WORKFLOW,
      `scenarios: [{ scenario: s, expect: COMPLETED, ${more} }]`,
    );
    return came.troubles;
  };

  test("an event that never came", async () => {
    expect(await troublesOf('events: [{ when: "b FAILED", cancel: leave }]')).toEqual([
      'scenarios[0].events[0] never came: nothing was ever "b FAILED"',
    ]);
  });

  test("an event that was refused", async () => {
    expect(await troublesOf("events: [{ at: 1s, answer: retry }]")).toEqual([
      "scenarios[0].events[0] was refused: no question is open now",
    ]);
  });

  test("a signal that no step of the workflow takes", async () => {
    expect(await troublesOf("events: [{ at: 0s, signal: { name: payments } }]")).toEqual([
      expect.stringMatching(
        /^scenarios\[0\]\.events\[0\] was refused: .*takes the signal "payments"/,
      ),
    ]);
  });

  test("an agent that was never asked", async () => {
    expect(await troublesOf("agents: { undo-a: hang }")).toEqual([
      'agents."undo-a" was never asked for: no such task was handed out',
    ]);
  });
});
