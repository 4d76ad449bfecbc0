// The failures of a workflow's steps, as the nodes of its graph show them.
import { create } from "@bufbuild/protobuf";
import { FailingStepSchema } from "@drover/proto/drover/v1/overview_pb.ts";
import { expect, test } from "vitest";
import { stepFailures } from "../../web/src/pages/workflows/step-failures.ts";

const failing = (stepId: string, failedAttempts: number, failedSteps = 0, undo = false) =>
  create(FailingStepSchema, { stepId, failedAttempts, failedSteps, undo });

test("a step's failures are those of all codes and of its compensation", () => {
  const counts = stepFailures([
    failing("pay", 6, 2),
    failing("pay", 3, 0, true),
    failing("ship", 1_234),
  ]);
  expect(counts.get("pay")).toMatchObject({ number: 9, words: "9 failures in 24 hours" });
  expect(counts.get("ship")?.words).toBe("1,234 failures in 24 hours");
});

test("a step that no agent performs fails without an attempt", () => {
  expect(stepFailures([failing("approve", 0, 2)]).get("approve")?.number).toBe(2);
});

test("the step that failed most is tinted most", () => {
  const counts = stepFailures([failing("pay", 10), failing("ship", 5)]);
  expect([...counts.values()].map(({ heat }) => heat)).toEqual([1, 0.5]);
});

test("without failures nothing is counted", () => {
  expect(stepFailures([]).size).toBe(0);
});
