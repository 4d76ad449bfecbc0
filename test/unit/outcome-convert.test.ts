/** How a task ended, from the wire to the rules. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { OutcomeSchema } from "@drover/proto/drover/v1/task_pb.ts";
import { describe, expect, test } from "vitest";
import { outcomeFrom } from "../../server/api/agent/convert-outcome.ts";
import { OUTPUT_LOST } from "../../server/core/model/evaluator.ts";
import { createWorld, workflow } from "../support/core-world.ts";

function success(value: { output?: { body: { case: "json"; value: string } } } | object) {
  const kind = { case: "success", value } as MessageInitShape<typeof OutcomeSchema>["kind"] & {};
  return create(OutcomeSchema, { kind });
}

const problem = "has 300,000 bytes and may have 262,144";
const lost = success({ outputProblem: problem });

describe("a success whose output could not be sent", () => {
  test("is the permanent failure drover.output of a perform task, and of a verify task", () => {
    const expected = {
      kind: "failure",
      class: "permanent",
      code: "drover.output",
      message: problem,
      retryAfterMs: null,
      noEffect: false,
    };
    expect(outcomeFrom(lost, "perform")).toEqual(expected);
    expect(outcomeFrom(lost, "verify")).toEqual(expected);
  });

  test("is a success of a compensate task: an undo that is done is done", () => {
    expect(outcomeFrom(lost, "compensate")).toEqual({ kind: "success", output: null });
  });

  test("is tried by no policy again, and leaves an effect that its step undoes", () => {
    const step = { compensate: { task: "undo" }, retry: [{ attempts: 5, initialMs: 0 }] };
    const world = createWorld(workflow({ a: step }));
    world.report(world.claim("a"), outcomeFrom(lost, "perform"));
    expect(world.step("a").strategies.at(-1)?.effectStatus).toBe("MADE");
    expect(world.effects).toContainEqual(
      expect.objectContaining({ kind: "failed", step: 0, code: OUTPUT_LOST }),
    );
    expect(world.step("a").undo).toMatchObject({ kind: "READY", task: "compensate" });
  });
});

test("a success with an output keeps it", () => {
  const output = { body: { case: "json", value: "5" } };
  const converted = { kind: "success", output: { kind: "json", json: "5" } };
  for (const task of ["perform", "verify", "compensate"] as const)
    expect(outcomeFrom(success({ output }), task)).toEqual(converted);
});
