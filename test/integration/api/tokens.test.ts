/**
 * A server that requires tokens, over both transports: who is let in, what each may, and what is
 * answered to who may not.
 */

import { create, type DescMethod, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { AgentService } from "@drover/proto/drover/v1/agent_service_pb.ts";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { Code } from "@drover/proto/google/rpc/code_pb.ts";
import { Metadata } from "@grpc/grpc-js";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { apiTokenDigest, newApiToken } from "../../../server/api/auth/api-token.ts";
import { systemClock, systemRandom } from "../../../server/clock.ts";
import type { NewToken } from "../../../server/store/tokens.ts";
import { type OpenedPostgres, openPostgres } from "../../support/opened-postgres.ts";
import { type GrpcClient, grpcClient, postJson } from "./rpc-clients.ts";
import {
  AGENT,
  callbackToken,
  RUN_ID,
  runDetail,
  runRecord,
  startWorld,
  type World,
} from "./rpc-world.ts";

const { getRun, schedule, cancelRun, completeDeferred } = SchedulerService.method;
const { createToken, listTokens, revokeToken, listPartitions, listNamespaces, getOverview } =
  OperatorService.method;
const { pollTask, complete } = AgentService.method;
const run = { ref: { case: "runId", value: RUN_ID } } as const;
const by = "ada";

let postgres: OpenedPostgres;
beforeAll(async () => {
  postgres = await openPostgres();
});
afterAll(async () => {
  await postgres.close();
});

let world: World;
let grpc: GrpcClient;
let now: number;
beforeEach(async () => {
  now = 0;
  const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + now };
  const stored = { store: postgres.store, namespaceId: 1 };
  world = await startWorld({ clock, stored, config: { requireTokens: true } });
  grpc = grpcClient(world.port);
});
afterEach(async () => {
  grpc.close();
  await world.close();
});

/** The secret of a new token; for the namespace `default`, unless given otherwise. */
async function tokenOf(role: NewToken["role"], over: Partial<NewToken> = {}) {
  const { secret, id, digest } = newApiToken(systemRandom);
  const attributes = { name: `${role}-1`, queues: [], madeBy: by, validMs: null, namespaceId: 1 };
  await world.store.tokens.create({ id, digest, role, ...attributes, ...over });
  return secret;
}

async function call<M extends DescMethod>(
  secret: string | null,
  method: M,
  request: MessageInitShape<M["input"]>,
) {
  const metadata = new Metadata();
  if (secret !== null) metadata.set("authorization", `Bearer ${secret}`);
  const bytes = toBinary(method.input, create(method.input, request));
  const { code, reason, message, metadata: details } = await grpc.raw(method, bytes, metadata);
  return { code, reason, message, details };
}

const UNKNOWN = `drover_${"A".repeat(43)}`;

describe("who calls", () => {
  test.each([
    [null, "missing"],
    ["nonsense", "malformed"],
    [UNKNOWN, "unknown"],
  ])("is asked for by both transports: %s", async (secret, why) => {
    const native = await call(secret, getRun, { run });
    expect(native).toMatchObject({ code: Code.UNAUTHENTICATED, reason: "TOKEN_REQUIRED" });
    expect(native.details).toEqual({ why });
    expect(native.message).toMatch(/Bearer drover_.*--token or DROVER_TOKEN/);
    const headers: Record<string, string> =
      secret === null ? {} : { authorization: `Bearer ${secret}` };
    const json = await postJson(world.port, getRun, { run: { runId: RUN_ID } }, headers);
    expect([json.http, json.reason, json.metadata]).toEqual([401, "TOKEN_REQUIRED", { why }]);
  });

  test("is let in by both with a good token", async () => {
    const secret = await tokenOf("viewer");
    expect(await call(secret, getRun, { run })).toMatchObject({ code: Code.OK });
    const headers = { authorization: `Bearer ${secret}` };
    const json = await postJson(world.port, getRun, { run: { runId: RUN_ID } }, headers);
    expect(json.http).toBe(200);
  });

  test("gets an error when the token is revoked, here at once", async () => {
    const secret = await tokenOf("viewer");
    const admin = await tokenOf("admin");
    expect(await call(secret, getRun, { run })).toMatchObject({ code: Code.OK });
    const id = apiTokenDigest(secret).slice(0, 16);
    expect(await call(admin, revokeToken, { id, by })).toMatchObject({ code: 0 });
    const refused = await call(secret, getRun, { run });
    expect(refused).toMatchObject({ reason: "TOKEN_REQUIRED", details: { why: "revoked" } });
  });

  test("gets an error when the token has expired, by the server's own clock alone", async () => {
    const secret = await tokenOf("viewer", { validMs: 1_500 });
    expect(await call(secret, getRun, { run })).toMatchObject({ code: Code.OK });
    now += 1_600;
    const refused = await call(secret, getRun, { run });
    expect(refused).toMatchObject({ reason: "TOKEN_REQUIRED", details: { why: "expired" } });
  });

  test("need not be sent for health and readiness", async () => {
    const at = (path: string, headers = {}) =>
      fetch(`http://127.0.0.1:${world.port}${path}`, { headers }).then(({ status }) => status);
    expect([await at("/healthz"), await at("/readyz")]).toEqual([200, 200]);
  });
});

describe("what a role may", () => {
  test("a viewer reads and changes nothing", async () => {
    const refused = await call(await tokenOf("viewer"), cancelRun, { run });
    expect(refused).toMatchObject({ code: Code.PERMISSION_DENIED, reason: "NOT_ALLOWED" });
    expect(refused.details).toEqual({
      token: "viewer-1",
      role: "viewer",
      needs: "one of the roles client, operator, admin",
    });
    expect(refused.message).toMatch(/has the role "viewer", and CancelRun takes one of the roles/);
  });

  test("an agent polls the queues of its token and no other, also with Complete", async () => {
    const secret = await tokenOf("agent", { queues: ["travel"] });
    const poll = (...queues: string[]) => ({
      agent: AGENT,
      pollSeq: 1n,
      queues: queues.map((name) => ({ name })),
    });
    expect(await call(secret, pollTask, poll("travel"))).toMatchObject({ code: Code.OK });
    expect(await call(secret, pollTask, poll("travel", "cars"))).toMatchObject({
      reason: "NOT_ALLOWED",
      details: { needs: "a token for the queue cars" },
    });
    expect(await call(secret, pollTask, poll())).toMatchObject({
      details: { needs: "a token for the queue default" },
    });
    const next = { pollSeq: 2n, queues: [{ name: "cars" }] };
    expect(await call(secret, complete, { agent: AGENT, next })).toMatchObject({
      details: { needs: "a token for the queue cars" },
    });
    expect(await call(secret, getRun, { run })).toMatchObject({ reason: "NOT_ALLOWED" });
  });

  test("a token of one namespace calls for that one alone", async () => {
    const secret = await tokenOf("operator");
    expect(await call(secret, getRun, { namespace: "default", run })).toMatchObject({ code: 0 });
    const other = await call(secret, getRun, { namespace: "payments", run });
    expect(other).toMatchObject({ code: Code.PERMISSION_DENIED, reason: "NOT_ALLOWED" });
    expect(other.message).toMatch(/is for the namespace "default", and the call names "payments"/);
    const partitions = await call(secret, listPartitions, {});
    expect(partitions.details).toMatchObject({ needs: "a token for every namespace" });
    const foreign = { namespace: "payments" };
    const success = { outcome: { case: "success", value: {} } } as const;
    const deferred = { callbackToken: callbackToken(foreign), ...success };
    const client = await tokenOf("client");
    expect(await call(client, completeDeferred, deferred)).toMatchObject({ reason: "NOT_ALLOWED" });
  });

  test("one for all of them calls for each", async () => {
    const secret = await tokenOf("viewer", { namespaceId: null });
    expect(await call(secret, getOverview, {})).toMatchObject({ code: Code.OK });
    expect(await call(secret, listPartitions, {})).toMatchObject({ code: Code.OK });
  });

  test("who is of one namespace sees that one in the list", async () => {
    const asked: unknown[] = [];
    world.lists.namespaces = async ({ names }) => {
      asked.push(names);
      return [];
    };
    await call(await tokenOf("viewer"), listNamespaces, {});
    await call(await tokenOf("viewer", { namespaceId: null }), listNamespaces, {});
    expect(asked).toEqual([["default"], null]);
  });

  test("a client has work done", async () => {
    const workflow = { workflow: { case: "name", value: "holiday" } } as const;
    const secret = await tokenOf("client");
    const { reason } = await call(secret, schedule, { ...workflow, key: "k" } as never);
    expect(reason).not.toMatch(/NOT_ALLOWED|TOKEN_REQUIRED/);
  });
});

describe("tokens", () => {
  const auth = async (role: NewToken["role"], over: Partial<NewToken> = {}) => ({
    authorization: `Bearer ${await tokenOf(role, over)}`,
  });
  const made = { name: "booking", role: "ROLE_AGENT", queues: ["travel"], by };

  test("are made with a secret that is returned once, and that works", async () => {
    const headers = await auth("admin");
    const { json } = await postJson(world.port, createToken, made, headers);
    expect(json.secret).toMatch(/^drover_[A-Za-z0-9_-]{43}$/);
    expect(json.token).toMatchObject({
      name: "booking",
      role: "ROLE_AGENT",
      namespace: "default",
      queues: ["travel"],
      madeBy: "ada, with the token admin-1",
    });
    const listed = await postJson(world.port, listTokens, { pageSize: 1_000 }, headers);
    expect(JSON.stringify(listed.json)).not.toContain(json.secret);
    expect(listed.json.tokens.map(({ id }: { id: string }) => id)).toContain(json.token.id);
    const poll = { agent: AGENT, pollSeq: 1n, queues: [{ name: "travel" }] };
    expect(await call(json.secret, pollTask, poll)).toMatchObject({ code: Code.OK });
    expect(world.logged.join()).not.toContain(json.secret);
  });

  test.each([
    [{ ...made, role: "ROLE_CLIENT" }, "queues"],
    [{ ...made, allNamespaces: true }, "all_namespaces"],
    [{ ...made, role: "ROLE_ADMIN", queues: [], allNamespaces: true, namespace: "x" }, "namespace"],
    [{ ...made, validFor: "1s" }, "valid_for"],
    [{ ...made, role: 0 }, "role"],
  ])("that make no sense are refused: %j", async (request, path) => {
    const headers = await auth("admin", { namespaceId: null });
    const { reason, fields } = await postJson(world.port, createToken, request, headers);
    expect([reason, fields[0]?.[0]]).toEqual(["INVALID_REQUEST", path]);
  });

  test("an admin of one namespace makes and sees none beyond it", async () => {
    const headers = await auth("admin");
    const all = { name: "ops", role: "ROLE_ADMIN", allNamespaces: true, by };
    for (const [method, request] of [
      [createToken, all],
      [createToken, { ...made, namespace: "payments" }],
      [listTokens, { allNamespaces: true }],
    ] as const)
      expect((await postJson(world.port, method, request, headers)).reason).toBe("NOT_ALLOWED");
    const ops = await tokenOf("admin", { namespaceId: null, name: "ops" });
    const { json } = await postJson(world.port, createToken, all, {
      authorization: `Bearer ${ops}`,
    });
    const revoked = await postJson(world.port, revokeToken, { id: json.token.id, by }, headers);
    expect([revoked.http, revoked.reason]).toEqual([404, "TOKEN_NOT_FOUND"]);
  });
});

test("a stream ends when its token does", async () => {
  const secret = await tokenOf("viewer");
  const { promise: changed, resolve: change } = Promise.withResolvers<void>();
  let version = 1;
  world.reads.runDetail = async () => {
    return runDetail({ run: runRecord({ stateVersion: version }) });
  };
  world.scheduler.runChange = async () => {
    await changed;
    version++;
  };
  const response = await fetch(
    `http://127.0.0.1:${world.port}/drover.v1.SchedulerService/WatchRun`,
    {
      method: "POST",
      headers: {
        "content-type": "application/connect+json",
        authorization: `Bearer ${secret}`,
      },
      body: envelope(JSON.stringify({ run: { runId: RUN_ID } })),
    },
  );
  const reader = response.body?.getReader();
  expect(await reader?.read().then(({ value }) => textOf(value))).toContain(RUN_ID);
  await world.store.tokens.revoke(apiTokenDigest(secret).slice(0, 16), by, null);
  now += 5_001;
  change();
  expect(await reader?.read().then(({ value }) => textOf(value))).toMatch(
    /"unauthenticated".*is revoked/,
  );
});

function envelope(text: string): Uint8Array {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(Buffer.byteLength(text), 1);
  return Buffer.concat([head, Buffer.from(text)]);
}

function textOf(bytes: Uint8Array | undefined): string {
  return Buffer.from(bytes ?? []).toString();
}
