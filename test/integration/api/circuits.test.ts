/** Circuits and cordons over the wire: set by hand, listed, taken back. */
import type { MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { CircuitSetting, CircuitState } from "@drover/proto/drover/v1/circuit_pb.ts";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { formatPageToken } from "../../../server/api/calls/page-token.ts";
import { type OpenedPostgres, openPostgres } from "../../support/opened-postgres.ts";
import { type GrpcClient, grpcClient } from "./rpc-clients.ts";
import { inNewNamespace, type StoredNamespace, startWorld, type World } from "./rpc-world.ts";

const { setCircuit, listCircuits } = OperatorService.method;
const { cordonAgent, uncordonAgent, listCordons } = OperatorService.method;
const OPEN = { queue: "bank", task: "pay", setting: CircuitSetting.OPEN, by: "ada" };

let postgres: OpenedPostgres;
beforeAll(async () => {
  postgres = await openPostgres();
});
afterAll(async () => {
  await postgres.close();
});

let world: World;
let stored: StoredNamespace;
let grpc: GrpcClient;
beforeEach(async () => {
  stored = await inNewNamespace(postgres.store);
  world = await startWorld({ stored });
  grpc = grpcClient(world.port);
});
afterEach(async () => {
  grpc.close();
  await world.close();
});

const answerTo: Ask = async (method, request) => {
  const { answer, message } = await grpc.unary(method, request);
  if (!answer) throw new Error(message);
  return answer;
};
type Ask = <M extends Parameters<GrpcClient["unary"]>[0]>(
  method: M,
  request: MessageInitShape<M["input"]>,
) => Promise<MessageShape<M["output"]>>;

test("a circuit that is opened by hand has who opened it and why, until that is taken back", async () => {
  const { circuit } = await answerTo(setCircuit, { ...OPEN, why: "it leaks" });
  expect(circuit).toMatchObject({ queue: "bank", task: "pay", agentId: "", setBy: "ada" });
  expect(circuit).toMatchObject({ setting: CircuitSetting.OPEN, why: "it leaks" });
  const { setTime } = circuit ?? {};
  expect(setTime && Math.abs(Date.now() - timestampMs(setTime))).toBeLessThan(60_000);
  const again = await answerTo(setCircuit, { ...OPEN, by: "bob" });
  expect(again.circuit?.setBy).toBe("ada");
  const released = { ...OPEN, setting: CircuitSetting.UNSPECIFIED };
  const { circuit: after } = await answerTo(setCircuit, released);
  expect(after).toMatchObject({ state: CircuitState.CLOSED, setBy: "" });
  expect((await answerTo(listCircuits, {})).circuits).toEqual([]);
});

test("the overview has the circuits that are open, and not those that people keep closed", async () => {
  const { getOverview } = OperatorService.method;
  await answerTo(setCircuit, { ...OPEN, agentId: "a1" });
  await answerTo(setCircuit, { ...OPEN, task: "refund", setting: CircuitSetting.CLOSED });
  const { openCircuits } = await answerTo(getOverview, {});
  expect(openCircuits).toMatchObject([{ queue: "bank", task: "pay", agentId: "a1", setBy: "ada" }]);
});

test("the overview has who is cordoned, by whom and why", async () => {
  const { getOverview, cordonAgent } = OperatorService.method;
  const of = { case: "version", value: "2.0" } as const;
  await answerTo(cordonAgent, { of, by: "ada", why: "2.0 leaks" });
  const { cordons } = await answerTo(getOverview, {});
  expect(cordons).toMatchObject([{ of, cordonedBy: "ada", why: "2.0 leaks" }]);
});

test("circuits are listed page by page", async () => {
  await answerTo(setCircuit, OPEN);
  await answerTo(setCircuit, { ...OPEN, agentId: "a1" });
  await answerTo(setCircuit, { ...OPEN, task: "refund" });
  const seen: string[] = [];
  let pageToken = "";
  do {
    const page = await answerTo(listCircuits, { pageSize: 1, pageToken });
    seen.push(...page.circuits.map(({ task, agentId }) => `${task} ${agentId}`));
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  expect(seen.toSorted()).toEqual(["pay ", "pay a1", "refund "]);
  expect(seen.indexOf("pay a1")).toBe(seen.indexOf("pay ") + 1);
  const { reason } = await grpc.unary(listCircuits, { pageToken: "never" });
  expect(reason).toBe("PAGE_TOKEN_INVALID");
});

test("the list of circuits continues after a lane of any number that a lane may have", async () => {
  const pageToken = formatPageToken(`circuits ${stored.namespaceId}`, "2147483647 a1");
  expect((await answerTo(listCircuits, { pageToken })).circuits).toEqual([]);
});

test.for<[string, object, string]>([
  ["of no queue", { queue: "" }, "queue"],
  ["of no task", { task: "" }, "task"],
  ["of a hostile agent", { agentId: "a b" }, "agent_id"],
  ["without a name", { by: "" }, "by"],
  ["with a setting that is none", { setting: 9 }, "setting"],
  ["for a reason that is a book", { why: "x".repeat(1_025) }, "why"],
])("a circuit %s is not set", async ([, over, path]) => {
  const { reason, fields } = await grpc.unary(setCircuit, { ...OPEN, ...over });
  expect(reason).toBe("INVALID_REQUEST");
  expect(fields.map(([field]) => field)).toEqual([path]);
  expect((await answerTo(listCircuits, {})).circuits).toEqual([]);
});

test("agents and versions are cordoned, listed and let go", async () => {
  const agent = { case: "agentId", value: "a1" } as const;
  const version = { case: "version", value: "1.2 beta" } as const;
  const { cordon } = await answerTo(cordonAgent, { of: agent, by: "ada", why: "slow" });
  expect(cordon).toMatchObject({ of: agent, cordonedBy: "ada", why: "slow" });
  await answerTo(cordonAgent, { of: version, by: "bob" });
  const { cordons } = await answerTo(listCordons, {});
  expect(cordons.map(({ of }) => of)).toMatchObject([agent, version]);
  expect((await answerTo(uncordonAgent, { of: agent })).uncordoned).toBe(true);
  expect((await answerTo(uncordonAgent, { of: agent })).uncordoned).toBe(false);
  expect((await answerTo(listCordons, {})).cordons).toHaveLength(1);
});

test("a cordon names its agents", async () => {
  const { reason } = await grpc.unary(cordonAgent, { by: "ada" });
  expect(reason).toBe("INVALID_REQUEST");
});
