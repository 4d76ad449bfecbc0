/**
 * Two servers that require tokens on one database, called as any client calls them: the first token
 * from the database, the others by RPC, and one that is revoked on the first server refused by the
 * second within its bound, over both transports.
 */
import { create, type DescMethod, toBinary } from "@bufbuild/protobuf";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { Role } from "@drover/proto/drover/v1/token_pb.ts";
import { Metadata } from "@grpc/grpc-js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TRUSTED_MS } from "../../server/api/auth/known-tokens.ts";
import { createTokenInDatabase } from "../../server/first-token.ts";
import { grpcClient, postJson } from "../integration/api/rpc-clients.ts";
import { startDroverServer, type TestServer } from "../support/drover-server.ts";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";
import { until } from "../support/until.ts";

const { listWorkflows } = SchedulerService.method;
const { createToken, revokeToken, listTokens } = OperatorService.method;
const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });
const portOf = ({ address }: TestServer) => Number(address.split(":").at(-1));

let database: TestDatabase;
let servers: TestServer[];
let admin: string;
beforeAll(async () => {
  database = await createTestDatabase();
  const start = () => startDroverServer(database.connectionString, { requireTokens: true });
  servers = [await start(), await start()];
  const first = { name: "first", role: Role.ADMIN, allNamespaces: true, by: "ada" };
  admin = (await createTokenInDatabase(database.connectionString, first)).secret;
});
afterAll(async () => {
  for (const server of servers ?? []) await server.stop();
  await database?.drop();
});

async function reasonOf(server: TestServer, secret: string | null): Promise<string> {
  const headers = secret === null ? {} : bearer(secret);
  const { reason } = await postJson(portOf(server), listWorkflows, {}, headers);
  const grpc = grpcClient(portOf(server));
  const metadata = new Metadata();
  if (secret !== null) metadata.set("authorization", bearer(secret).authorization);
  const request = toBinary(listWorkflows.input, create(listWorkflows.input));
  const native = await grpc.raw(listWorkflows, request, metadata);
  grpc.close();
  return [...new Set([reason, native.reason])].join(" or ");
}

test("without a token nothing but health and readiness is answered", async () => {
  for (const server of servers) {
    expect(await reasonOf(server, null)).toBe("TOKEN_REQUIRED");
    const status = (path: string, headers = {}) =>
      fetch(`${server.url}${path}`, { headers }).then((response) => response.status);
    expect([await status("/healthz"), await status("/readyz")]).toEqual([200, 200]);
    expect([await status("/metrics"), await status("/metrics", bearer(admin))]).toEqual([401, 200]);
  }
});

test("the first token makes others, and each is good on every server", async () => {
  const [one, other] = servers as [TestServer, TestServer];
  const asked = { name: "booking", role: "ROLE_CLIENT", by: "ada" };
  const { json } = await postJson(portOf(one), createToken, asked, bearer(admin));
  expect(json.token.madeBy).toBe("ada, with the token first");
  expect([await reasonOf(one, json.secret), await reasonOf(other, json.secret)]).toEqual(["", ""]);
  const listed = await postJson(portOf(other), listTokens, { allNamespaces: true }, bearer(admin));
  expect(listed.json.tokens.map(({ name }: { name: string }) => name).sort()).toEqual([
    "booking",
    "first",
  ]);
});

test("a token that one server revokes is refused there at once, and by the other within its bound", async () => {
  const [one, other] = servers as [TestServer, TestServer];
  const asked = { name: "leaving", role: "ROLE_VIEWER", by: "ada" };
  const { json } = await postJson(portOf(one), createToken, asked, bearer(admin));
  expect([await reasonOf(one, json.secret), await reasonOf(other, json.secret)]).toEqual(["", ""]);
  await postJson(portOf(one), revokeToken, { id: json.token.id, by: "ada" }, bearer(admin));
  const revokedAt = performance.now();
  expect(await reasonOf(one, json.secret)).toBe("TOKEN_REQUIRED");
  await until("the other refuses it, too", async () =>
    (await reasonOf(other, json.secret)) === "TOKEN_REQUIRED" ? true : null,
  );
  expect(performance.now() - revokedAt).toBeLessThan(TRUSTED_MS + 1_000);
});

test("a token of one namespace does not even learn how much there is in another", async () => {
  const [one] = servers as [TestServer];
  const { createNamespace, getClusterInfo } = OperatorService.method;
  const { schedule } = SchedulerService.method;
  const call = (method: DescMethod, body: object, secret = admin) =>
    postJson(portOf(one), method, body, bearer(secret));
  const definition = { workflow: "waits", steps: [{ id: "a", wait: { for: "3600s" } }] };
  for (const [namespace, runs] of [
    ["blue", 1],
    ["red", 3],
  ] as const) {
    await call(createNamespace, { name: namespace });
    for (let n = 0; n < runs; n++) await call(schedule, { namespace, definition });
  }
  const asked = { name: "of-blue", role: "ROLE_VIEWER", namespace: "blue", by: "ada" };
  const { json } = await call(createToken, asked);
  const seenBy = async (secret: string) =>
    (await call(getClusterInfo, {}, secret)).json.openRuns as readonly { count: number }[];
  expect((await seenBy(json.secret)).map(({ count }) => count)).toEqual([1]);
  expect((await seenBy(admin)).map(({ count }) => count)).toEqual([4]);
});

test("the time when a token was used is recorded roughly", async () => {
  const [one] = servers as [TestServer, TestServer];
  const used = async () => {
    const asked = { allNamespaces: true };
    const { json } = await postJson(portOf(one), listTokens, asked, bearer(admin));
    return json.tokens.find(({ name }: { name: string }) => name === "first")?.lastUseTime ?? null;
  };
  const at: string = await until("its use is noted", used);
  expect(Math.abs(Date.parse(at) - Date.now())).toBeLessThan(120_000);
});
