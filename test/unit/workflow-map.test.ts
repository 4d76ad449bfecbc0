// A map from its text to what its expressions come to for each item, and what is refused of one.
import { describe, expect, test } from "vitest";
import { definitionFrom } from "../../server/api/workflow/convert-definition.ts";
import type { Definition } from "../../server/core/definition/definition.ts";
import { definitionProblems } from "../../server/core/definition/definition-check.ts";
import type { Facts } from "../../server/core/model/facts.ts";
import { stepKeyOf } from "../../server/core/model/step-key.ts";
import { plannedTask, planOf, planStepAt } from "../../server/core/plan/plan.ts";
import { parseWorkflowText } from "../../server/definition-text/workflow-text.ts";
import { checkDefinition } from "../../server/expressions/definition-expressions.ts";
import { evaluatorOf } from "../../server/expressions/evaluator.ts";

const rollOut = `\
workflow: roll-out
steps:
  - { id: plan, task: plan }
  - id: deploy
    needs: [plan]
    map:
      over: \${steps.plan.output.hosts}
      task: deploy
      queue: deploy-\${item.name}
      concurrency: 5
      tolerate_percent: 5
      waves: { percent: 25, pause: 5m, gate: { task: check-health, input: { of: "\${input.fleet}" } } }
    input: { host: "\${item.name}", version: "\${input.version}" }
    compensate: { task: roll-back, queue: "undo-\${item.name}" }
`;

function parsed(text: string): Definition {
  return definitionFrom(parseWorkflowText(text).definition);
}

const json = (value: unknown) => ({ kind: "json" as const, json: JSON.stringify(value) });

function factsOf(input: unknown, plan: unknown): Facts {
  const run = { id: "r", workflow: "w", version: 1, key: null, labels: {}, createdAt: 0 };
  const ended = { status: "SUCCEEDED", output: json(plan), error: null } as const;
  return { run: { ...run, input: json(input) }, steps: new Map([[0, ended]]) };
}

const FACTS = factsOf(
  { version: 7, fleet: "eu" },
  { hosts: [{ name: "a1" }, { name: "b2" }, { name: "c3" }] },
);

test("a map is written with what it goes over, its bounds, its waves and its gate", () => {
  const definition = parsed(rollOut);
  expect(definitionProblems(definition)).toEqual([]);
  expect(checkDefinition(definition)).toEqual([]);
  expect(definition.steps[1]).toMatchObject({
    kind: "map",
    over: `\${steps.plan.output.hosts}`,
    task: "deploy",
    queue: `deploy-\${item.name}`,
    concurrency: 5,
    toleratePercent: 5,
    waves: { percent: 25, pauseMs: 300_000, gate: { task: "check-health" } },
  });
});

test("each item has its own input and its own queue", () => {
  const definition = parsed(rollOut);
  const evaluator = evaluatorOf(definition);
  const plan = planOf(definition);
  expect(evaluator.itemCount(1, FACTS)).toEqual({ kind: "value", value: 3 });
  const second = stepKeyOf(1, 2);
  expect(evaluator.input(second, 0, FACTS)).toEqual({
    kind: "value",
    value: json({ host: "b2", version: 7 }),
  });
  const step = planStepAt(plan, second);
  if (!step) throw new Error("the plan has no such item");
  const queues = (["perform", "compensate"] as const).map((task) =>
    evaluator.queue(second, plannedTask(step, task, 0).queue, FACTS),
  );
  expect(queues).toEqual([
    { kind: "value", value: "deploy-b2" },
    { kind: "value", value: "undo-b2" },
  ]);
});

test("a gate has an input of its own", () => {
  const evaluator = evaluatorOf(parsed(rollOut));
  expect(evaluator.input(1, 0, FACTS)).toEqual({ kind: "value", value: json({ of: "eu" }) });
});

test("an item without an input gets itself", () => {
  const evaluator = evaluatorOf(
    parsed("workflow: w\nsteps:\n  - id: m\n    map: { over: input.xs, task: t }\n"),
  );
  expect(evaluator.input(stepKeyOf(0, 2), 0, factsOf({ xs: ["p", "q"] }, null))).toEqual({
    kind: "value",
    value: json("q"),
  });
});

test("a number is as many items, from 0", () => {
  const evaluator = evaluatorOf(
    parsed('workflow: w\nsteps:\n  - id: m\n    map: { over: "3", task: t }\n'),
  );
  const facts = factsOf(null, null);
  expect(evaluator.itemCount(0, facts)).toEqual({ kind: "value", value: 3 });
  expect(evaluator.input(stepKeyOf(0, 3), 0, facts)).toEqual({ kind: "value", value: json(2) });
});

describe("what cannot be gone over asks a person, with a sentence", () => {
  test.each([
    ['"abc"', 'it is "abc", which is neither a list nor a number of items'],
    ["-1", "it is -1, which is neither a list nor a number of items"],
    ["1.5", "it is 1.5, which is neither a list nor a number of items"],
    ["10001", "it has 10001 items, and a map has 10000 at most"],
  ])("%s", (over, message) => {
    const evaluator = evaluatorOf({
      workflow: "w",
      steps: [{ id: "m", needs: [], kind: "map", over, task: "t" }],
    });
    expect(evaluator.itemCount(0, factsOf(null, null))).toEqual({ kind: "failed", message });
  });

  test("a queue that comes to no name", () => {
    const evaluator = evaluatorOf(parsed(rollOut));
    const facts = factsOf({}, { hosts: [{ name: "no name" }] });
    expect(evaluator.queueProblem(stepKeyOf(1, 1), facts)).toBe(
      'it is "deploy-no name", which is no name of a queue',
    );
  });
});

describe("what is refused when it is registered", () => {
  const problems = (text: string) => {
    const definition = parsed(text);
    return [...definitionProblems(definition), ...checkDefinition(definition)].map(
      ({ path, message }) => `${path}: ${message}`,
    );
  };

  test("an item where there is none: in what it goes over, in its gate, in a plain step", () => {
    const text = rollOut
      .replace("steps.plan.output.hosts", "item.hosts")
      .replace(`\${input.fleet}`, `\${item.name}`)
      .replace("{ id: plan, task: plan }", `{ id: plan, task: plan, input: "\${item}" }`);
    expect(problems(text)).toEqual([
      "steps[0].input: there is an item only in the steps of a map",
      "steps[1].map.over: there is an item only in the steps of a map",
      "steps[1].map.waves.gate.input.of: there is an item only in the steps of a map",
    ]);
  });

  test("a queue that names what is not upstream", () => {
    expect(
      problems(rollOut.replace(`deploy-\${item.name}`, `deploy-\${steps.plam.output}`)),
    ).toEqual([expect.stringMatching(/^steps\[1\]\.map\.queue: .*did you mean/)]);
  });

  test("a computed queue of a step that is no map", () => {
    const text = `workflow: w\nsteps:\n  - { id: a, task: t, compensate: { task: u, queue: "q-\${input.x}" } }\n`;
    expect(problems(text)).toEqual([
      `steps[0].compensate.queue: step "a" has the computed queue "q-\${input.x}", which only items of a map can have`,
    ]);
  });
});
