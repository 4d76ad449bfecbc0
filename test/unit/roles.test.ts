/** The table of roles: whole, and such that a role that may more may all that one below it may. */
import { AgentService } from "@drover/proto/drover/v1/agent_service_pb.ts";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { expect, test } from "vitest";
import { fullNameOf, PERMISSIONS } from "../../server/api/auth/roles.ts";
import type { Role } from "../../server/store/tokens.ts";

const methods = [SchedulerService, OperatorService, AgentService].flatMap((one) => one.methods);
const callsOf = (role: Role) =>
  [...PERMISSIONS].filter(([, { roles }]) => roles.includes(role)).map(([name]) => name);

test("every RPC of the contract is in it, and nothing else", () => {
  expect([...PERMISSIONS.keys()].sort()).toEqual(methods.map(fullNameOf).sort());
});

test("an RPC that names no namespace has its subject in the table", () => {
  for (const method of methods) {
    const names = method.input.fields.some(({ localName }) => localName === "namespace");
    const scope = PERMISSIONS.get(fullNameOf(method))?.scope;
    expect([method.name, scope === "namespace"]).toEqual([method.name, names]);
  }
});

test("a viewer changes nothing", () => {
  const reads = /\/(Get|List|Watch|Wait|Explain|TryTrigger)/;
  expect(callsOf("viewer").filter((name) => !reads.test(name))).toEqual([]);
});

test("an operator may all that viewers and clients may, and an admin everything", () => {
  expect(callsOf("operator")).toEqual(
    expect.arrayContaining([...callsOf("viewer"), ...callsOf("client")]),
  );
  expect(callsOf("admin")).toEqual([...PERMISSIONS.keys()]);
});

test("an agent does its work, and nothing else", () => {
  expect(callsOf("agent").map((name) => name.split("/")[1])).toEqual([
    "CompleteDeferred",
    "GetClusterInfo",
    "PollTask",
    "Heartbeat",
    "Complete",
    "AppendLogs",
  ]);
});

test("tokens and namespaces are an admin's", () => {
  const above = callsOf("admin").filter((name) => !callsOf("operator").includes(name));
  expect(above.map((name) => name.split("/")[1])).toEqual([
    "EraseRun",
    "CreateNamespace",
    "SetNamespaceRetention",
    "SetNamespaceLimits",
    "SetNamespaceLogs",
    "CreateToken",
    "ListTokens",
    "RevokeToken",
    "PollTask",
    "Heartbeat",
    "Complete",
    "AppendLogs",
  ]);
});
