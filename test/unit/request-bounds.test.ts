// The whole numbers of requests have bounds in the contract, so that none reaches the database that
// a column cannot hold.
import { type DescField, type DescMessage, getOption, ScalarType } from "@bufbuild/protobuf";
import { field as rulesOf } from "@drover/proto/buf/validate/validate_pb.ts";
import { AgentService } from "@drover/proto/drover/v1/agent_service_pb.ts";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { expect, it } from "vitest";

/** An int32 fits each column; these do not. */
const WIDE: ReadonlySet<ScalarType> = new Set([
  ScalarType.INT64,
  ScalarType.UINT32,
  ScalarType.UINT64,
]);

/** Without bounds: they are compared in memory or stored as text, and no column holds them. */
const UNBOUNDED = [
  "HeartbeatRequest.lists_all_to",
  "HeartbeatRequest.lost_polls",
  "Next.poll_seq",
  "PollTaskRequest.lost_polls",
  "PollTaskRequest.poll_seq",
  "Progress.counter",
  "WatchRunRequest.after_version",
];

/** The wide whole numbers of all requests, also of the messages within them. */
function wideIntegers(): readonly DescField[] {
  const seen = new Set<DescMessage>();
  const visit = (message: DescMessage): readonly DescField[] => {
    if (seen.has(message) || message.typeName.startsWith("google.")) return [];
    seen.add(message);
    return message.fields.flatMap((field) => {
      if (field.message !== undefined) return visit(field.message);
      return field.scalar !== undefined && WIDE.has(field.scalar) ? [field] : [];
    });
  };
  const services = [SchedulerService, AgentService, OperatorService];
  return services.flatMap(({ methods }) => methods.flatMap(({ input }) => visit(input)));
}

function isBounded(field: DescField): boolean {
  const { type } = getOption(field, rulesOf);
  const bounded = type.case === "uint32" || type.case === "int64" || type.case === "uint64";
  return bounded && type.value.lessThan.case !== undefined;
}

it("each whole number of a request that a column could not hold has an upper bound", () => {
  const integers = wideIntegers();
  expect(integers.length).toBeGreaterThan(10);
  const open = integers.filter((field) => !isBounded(field));
  expect(open.map(({ parent, name }) => `${parent.name}.${name}`).sort()).toEqual(UNBOUNDED);
});
