// Calls of the audit's tests: Connect's JSON, with the name of the person who calls.
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { TestServer } from "../../support/drover-server.ts";
import { callJson, type JsonAnswer } from "../../support/json-call.ts";

/** By the name of a call. */
export const SERVICE_OF: ReadonlyMap<string, string> = new Map(
  [SchedulerService, OperatorService].flatMap((service) =>
    service.methods.map(({ name }) => [name, service.name] as const),
  ),
);

/** The person is Jürgen, if the headers say nothing else. */
export function ask(
  { address }: TestServer,
  method: string,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<JsonAnswer> {
  const service = SERVICE_OF.get(method) ?? "AgentService";
  return callJson(address, `${service}/${method}`, body, {
    "drover-by": "J%C3%BCrgen",
    ...headers,
  });
}
