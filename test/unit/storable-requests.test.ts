// What the database could not store is refused by the contract: whole numbers that are too large
// for a column, and texts that contain NUL.
import { type DescField, type DescMessage, getOption, ScalarType } from "@bufbuild/protobuf";
import { type FieldRules, field as rulesOf } from "@drover/proto/buf/validate/validate_pb.ts";
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

/** All fields of all requests, also of the messages within them. */
function fieldsOfRequests(): readonly DescField[] {
  const seen = new Set<DescMessage>();
  const visit = (message: DescMessage): readonly DescField[] => {
    if (seen.has(message) || message.typeName.startsWith("google.")) return [];
    seen.add(message);
    return message.fields.flatMap((field) =>
      field.message === undefined ? [field] : [field, ...visit(field.message)],
    );
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
  const integers = fieldsOfRequests().filter(
    ({ scalar }) => scalar !== undefined && WIDE.has(scalar),
  );
  expect(integers.length).toBeGreaterThan(10);
  const open = integers.filter((field) => !isBounded(field));
  expect(open.map(({ parent, name }) => `${parent.name}.${name}`).sort()).toEqual(UNBOUNDED);
});

/** Apart from tokens: texts that are parsed or compared, and never stored as they were sent. */
const NEVER_STORED = [
  "CronCalendar.expression",
  "CronCalendar.time_zone",
  "Payload.json",
  "PutTriggerRequest.text",
  "RegisterWorkflowRequest.text",
  "TryTriggerRequest.headers",
  "TryTriggerRequest.query",
  "TryTriggerRequest.text",
  "WatchOverviewRequest.after",
  "WatchRunRequest.after",
];

it("each text of a request that may be stored refuses NUL, which PostgreSQL does not store", () => {
  const texts = fieldsOfRequests().filter(({ scalar }) => scalar === ScalarType.STRING);
  expect(texts.length).toBeGreaterThan(100);
  const open = texts.filter((field) => !refusesNul(getOption(field, rulesOf)));
  const named = open.map(({ parent, name }) => `${parent.name}.${name}`);
  expect(named.filter((name) => !name.endsWith("_token")).sort()).toEqual(NEVER_STORED);
});

function refusesNul({ type }: FieldRules): boolean {
  if (type.case === "repeated")
    return type.value.items !== undefined && refusesNul(type.value.items);
  if (type.case === "map") return type.value.values !== undefined && refusesNul(type.value.values);
  if (type.case !== "string") return false;
  const { pattern, wellKnown, in: listed } = type.value;
  if (listed.length > 0 || wellKnown.value === true) return true;
  return pattern !== "" && !new RegExp(pattern, "u").test("a\0");
}
