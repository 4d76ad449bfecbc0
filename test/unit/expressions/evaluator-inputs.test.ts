// The values of the expressions of a definition, over the facts of a run.
import { expect, test } from "vitest";
import type { StepDefinition } from "../../../server/core/definition/definition.ts";
import type { Facts } from "../../../server/core/model/facts.ts";
import type { Payload } from "../../../server/core/model/payload.ts";
import { evaluatorOf } from "../../../server/expressions/evaluator.ts";

const json = (value: unknown): Payload => ({ kind: "json", json: JSON.stringify(value) });
const ship: StepDefinition = { kind: "task", id: "ship", needs: [], task: "ship" };
const report = json({ is: "$" + "{steps.ship.status}", why: "$" + "{steps.ship.error}" });
const nothingEnded: Facts = {
  run: {
    id: "r",
    workflow: "w",
    version: 1,
    key: null,
    labels: {},
    createdAt: 0,
    input: null,
  },
  steps: new Map(),
};

function inputOf(step: StepDefinition): unknown {
  const steps = [ship, { ...step, input: report }];
  return evaluatorOf({ workflow: "w", steps }).input(1, 0, nothingEnded);
}

test("a step that runs last sees one that never began as cancelled", () => {
  expect(inputOf({ ...ship, id: "tell", always: true })).toEqual({
    kind: "value",
    value: json({ is: "CANCELLED", why: null }),
  });
});

test("of any other, a step that is asked about has ended, or the engine has a fault", () => {
  expect(inputOf({ ...ship, id: "tell", needs: ["ship"] })).toMatchObject({ kind: "failed" });
});
