// What "the same request" means for the key of a run.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { ScheduleRequestSchema } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { describe, expect, test } from "vitest";
import { requestDigest } from "../../server/api/calls/request-digest.ts";

const GOLDEN = "9ee202178693cfd427ac7da21fd613e43949ced1eae5a563cb695db7cf504696";

describe("the digest of a Schedule request", () => {
  const digest = (init: MessageInitShape<typeof ScheduleRequestSchema>) =>
    requestDigest(create(ScheduleRequestSchema, init));
  const base = {
    target: { case: "workflow" as const, value: { name: "holiday", version: 2 } },
    labels: { a: "1", b: "2" },
  };

  test("never changes, since keys outlive servers", () => {
    expect(digest(base)).toBe(GOLDEN);
  });

  test("does not depend on key, namespace, or the order of labels", () => {
    expect(digest({ ...base, key: "k", namespace: "n", labels: { b: "2", a: "1" } })).toBe(
      digest(base),
    );
  });

  test("depends on everything else, as it was sent", () => {
    const others = [
      { ...base, target: { case: "workflow" as const, value: { name: "holiday" } } },
      { ...base, priority: 5 },
      { ...base, labels: { a: "1" } },
      { ...base, startTime: timestampFromMs(1_700_000_000_000) },
      { ...base, concurrency: { key: "customer-17" } },
      { ...base, input: { body: { case: "json" as const, value: "1" } } },
      { ...base, input: { body: { case: "json" as const, value: "1 " } } },
      {
        ...base,
        input: { contentType: "application/json", body: { case: "json" as const, value: "1" } },
      },
    ];
    expect(new Set([base, ...others].map(digest)).size).toBe(others.length + 1);
  });
});
