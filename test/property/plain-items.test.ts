/** What is not evaluated by the rules of the proto breaks none of them. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { createValidator } from "@bufbuild/protovalidate";
import {
  CompleteRequestSchema,
  HeartbeatReportSchema,
  HeartbeatRequestSchema,
  TaskResultSchema,
} from "@drover/proto/drover/v1/agent_service_pb.ts";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  isCertainlyValidReport,
  isCertainlyValidResult,
  withSampledItems,
} from "../../server/api/calls/request-check.ts";

const text = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.constantFrom("", "x".repeat(512), "x".repeat(513), "\u{1f9ad}".repeat(300)),
);
const body = fc.oneof(
  fc.record({ case: fc.constant("json" as const), value: text }),
  fc.record({ case: fc.constant("data" as const), value: fc.uint8Array() }),
  fc.constant({ case: undefined }),
);
const contentType = fc.oneof(text, fc.constantFrom("", "application/json"));
const output = fc.option(fc.record({ contentType, body }), { nil: undefined });
const outcome: fc.Arbitrary<MessageInitShape<typeof TaskResultSchema>["outcome"]> = fc.oneof(
  { weight: 5, arbitrary: output.map((out) => successOf(out)) },
  fc.constant({
    kind: { case: "success" as const, value: { outputProblem: "x".repeat(5_000) } },
  }),
  fc.constant({ kind: { case: "failed" as const, value: { code: "", message: "" } } }),
  fc.constant({ kind: { case: undefined } }),
  fc.constant(undefined),
);
const result = fc
  .record({ taskToken: text, outcome })
  .map((init) => create(TaskResultSchema, init));

const report = fc
  .record({ taskToken: text, details: output })
  .map((init) => create(HeartbeatReportSchema, init));

function successOf(out: object | undefined) {
  return { kind: { case: "success" as const, value: out === undefined ? {} : { output: out } } };
}

test("what is plain is right by the proto", () => {
  const validator = createValidator();
  let plain = 0;
  fc.assert(
    fc.property(result, (one) => {
      if (!isCertainlyValidResult(one)) return;
      plain += 1;
      expect(validator.validate(TaskResultSchema, one).kind).toBe("valid");
    }),
    { numRuns: 2_000 },
  );
  fc.assert(
    fc.property(report, (one) => {
      if (!isCertainlyValidReport(one)) return;
      plain += 1;
      expect(validator.validate(HeartbeatReportSchema, one).kind).toBe("valid");
    }),
  );
  expect(plain).toBeGreaterThan(100);
});

test("one plain item represents the others, and none that is not plain", () => {
  const plain = create(TaskResultSchema, { taskToken: "t", outcome: successOf(undefined) });
  const wrong = create(TaskResultSchema, { taskToken: "", outcome: successOf(undefined) });
  const bare = create(HeartbeatReportSchema, { taskToken: "t" });
  const heartbeat = create(HeartbeatRequestSchema, { reports: [bare, bare] });
  expect(withSampledItems(heartbeat)).toMatchObject({ reports: [bare] });
  const briefOf = (results: (typeof plain)[]) => {
    const request = create(CompleteRequestSchema, { results });
    return withSampledItems(request) === request ? "as it is" : "brief";
  };
  expect(briefOf([plain, plain])).toBe("brief");
  expect(briefOf([plain])).toBe("as it is");
  expect(briefOf([plain, wrong])).toBe("as it is");
  expect(briefOf(Array.from({ length: 1_001 }, () => plain))).toBe("as it is");
});
