/**
 * A server that accepts JWT of an OpenID provider, over both transports: what proves a caller, what
 * its claims allow, and what is asked of the provider.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, type DescMethod, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { AgentService } from "@drover/proto/drover/v1/agent_service_pb.ts";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { Code } from "@drover/proto/google/rpc/code_pb.ts";
import { Metadata } from "@grpc/grpc-js";
import { exportSPKI, type JWTPayload, SignJWT, UnsecuredJWT } from "jose";
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
  vi,
} from "vitest";
import { newApiToken } from "../../../server/api/auth/api-token.ts";
import { systemClock, systemRandom } from "../../../server/clock.ts";
import { NO_IDENTITIES, type OidcConfig, oidcConfig } from "../../../server/identity-config.ts";
import { type IdentityProvider, startIdentityProvider } from "../../support/identity-provider.ts";
import { type OpenedPostgres, openPostgres } from "../../support/opened-postgres.ts";
import { type GrpcClient, grpcClient, postJson } from "./rpc-clients.ts";
import { AGENT, RUN_ID, startWorld, type World } from "./rpc-world.ts";

const { getRun, cancelRun } = SchedulerService.method;
const { listNamespaces, listPartitions, getClusterInfo } = OperatorService.method;
const { pollTask } = AgentService.method;
const run = { ref: { case: "runId", value: RUN_ID } } as const;
/** Beyond the cool-down of jose, which reads the clock of the machine. */
const LATER_MS = 31_000;

let postgres: OpenedPostgres;
beforeAll(async () => {
  postgres = await openPostgres();
});
afterAll(async () => {
  await postgres.close();
});

let provider: IdentityProvider;
let world: World;
let grpc: GrpcClient;
let now: number;
beforeEach(async () => {
  now = 0;
  provider = await startIdentityProvider();
  await serve();
});
afterEach(async () => {
  grpc.close();
  await world.close();
  await provider.close();
});

async function serve(over: Partial<OidcConfig> = {}) {
  const clock = {
    ...systemClock,
    monotonicMs: () => systemClock.monotonicMs() + now,
    wallMs: () => systemClock.wallMs() + now,
  };
  const stored = { store: postgres.store, namespaceId: 1 };
  const { issuer, audience } = provider;
  const identities = { ...NO_IDENTITIES, oidc: oidcConfig({ issuer, audience, ...over }) };
  world = await startWorld({ clock, stored, config: { requireTokens: true, identities } });
  grpc = grpcClient(world.port);
}

/** The server again, with other settings. */
async function serveAgain(over: Partial<OidcConfig>) {
  grpc.close();
  await world.close();
  await serve(over);
}

const ada = { sub: "u-1", email: "ada@example.com", drover_roles: "operator" };

async function call<M extends DescMethod>(
  token: string,
  method: M,
  request: MessageInitShape<M["input"]>,
) {
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer ${token}`);
  const bytes = toBinary(method.input, create(method.input, request));
  const { code, reason, message, metadata: details } = await grpc.raw(method, bytes, metadata);
  return { code, reason, message, details };
}

const readRun = (token: string) => call(token, getRun, { run });
const callAs = async (claims: JWTPayload) => readRun(await provider.sign(claims));

describe("a JWT", () => {
  test("of the provider proves who calls, over both transports", async () => {
    const token = await provider.sign(ada);
    expect(await readRun(token)).toMatchObject({ code: Code.OK });
    const headers = { authorization: `Bearer ${token}` };
    expect(await postJson(world.port, getRun, { run: { runId: RUN_ID } }, headers)).toMatchObject({
      http: 200,
    });
  });

  test("is accepted beside API tokens", async () => {
    const { secret, id, digest } = newApiToken(systemRandom);
    const attributes = { name: "v", queues: [], madeBy: "ada", validMs: null, namespaceId: 1 };
    await world.store.tokens.create({ id, digest, role: "viewer", ...attributes });
    expect(await readRun(secret)).toMatchObject({ code: Code.OK });
  });

  test.each([
    ["has expired", "expired", { expiresIn: -60, notBefore: -120 }],
    ["is not valid yet", "early", { notBefore: 120 }],
    ["is for another audience", "audience", { audience: "billing" }],
    ["is of another issuer", "issuer", { issuer: "https://login.example.com" }],
  ])("that %s is refused by both", async (problem, why, wish) => {
    const token = await provider.sign(ada, wish);
    const native = await readRun(token);
    expect(native).toMatchObject({ code: Code.UNAUTHENTICATED, reason: "TOKEN_REQUIRED" });
    expect(native.details).toEqual({ why });
    expect(native.message).toMatch(new RegExp(`^The JWT of the call ${problem}, and this server`));
    const headers = { authorization: `Bearer ${token}` };
    const json = await postJson(world.port, getRun, { run: { runId: RUN_ID } }, headers);
    expect([json.http, json.reason, json.metadata]).toEqual([401, "TOKEN_REQUIRED", { why }]);
  });

  test("may be some seconds off, as clocks are", async () => {
    for (const wish of [{ expiresIn: -10, notBefore: -60 }, { notBefore: 10 }])
      expect(await readRun(await provider.sign(ada, wish))).toMatchObject({ code: Code.OK });
  });

  test("ends at its time, by the clock of the server", async () => {
    const token = await provider.sign(ada, { expiresIn: 60 });
    expect(await readRun(token)).toMatchObject({ code: Code.OK });
    now = 100_000;
    expect(await readRun(token)).toMatchObject({ details: { why: "expired" } });
  });

  test("without an end, without a signature, or by a shared secret is refused", async () => {
    const { issuer: iss, audience: aud } = provider;
    const times = { nbf: 0, exp: Math.floor(Date.now() / 1_000) + 300 };
    const key = await provider.newKey("key-1");
    const published = await provider.newKey("key-1");
    await provider.publish(published);
    const asSecret = new TextEncoder().encode(await exportSPKI(published.publicKey));
    const header = { alg: "HS256", kid: "key-1" };
    const signed = (alg: string) =>
      new SignJWT({ ...ada, iss, aud }).setProtectedHeader({ alg, kid: "key-1" });
    const refused = [
      ["claims", await signed("RS256").sign(published.privateKey)],
      ["invalid", new UnsecuredJWT({ ...ada, ...times, iss, aud }).encode()],
      [
        "invalid",
        await new SignJWT({ ...ada, ...times, iss, aud }).setProtectedHeader(header).sign(asSecret),
      ],
      ["invalid", await provider.sign(ada, { key })],
      ["invalid", "e30.e30.e30"],
    ] as const;
    for (const [why, token] of refused)
      expect(await readRun(token)).toMatchObject({ code: Code.UNAUTHENTICATED, details: { why } });
  });

  test("is no API token where no provider is set", async () => {
    const token = await provider.sign(ada);
    const plain = await startWorld({ config: { requireTokens: true } });
    onTestFinished(() => plain.close());
    const headers = { authorization: `Bearer ${token}` };
    const json = await postJson(plain.port, getRun, { run: { runId: RUN_ID } }, headers);
    expect([json.http, json.metadata]).toEqual([401, { why: "malformed" }]);
  });
});

describe("its claims", () => {
  test("give the strongest role that they name", async () => {
    const token = await provider.sign({ ...ada, drover_roles: ["viewer", "finance", "operator"] });
    expect((await call(token, cancelRun, { run })).reason).not.toBe("NOT_ALLOWED");
    const viewer = await provider.sign({ ...ada, drover_roles: "viewer" });
    expect(await call(viewer, cancelRun, { run })).toMatchObject({
      code: Code.PERMISSION_DENIED,
      message: expect.stringMatching(/^The JWT of "ada@example.com" has the role "viewer"/),
    });
  });

  test("without a role of Drover allow nothing", async () => {
    for (const claims of [{ ...ada, drover_roles: ["finance"] }, { sub: "u-1" }])
      expect(await callAs(claims)).toMatchObject({
        code: Code.PERMISSION_DENIED,
        reason: "NOT_ALLOWED",
        details: { needs: "a role in the claim drover_roles" },
      });
  });

  test("give a name: the verified address, else the subject", async () => {
    const named = async (claims: JWTPayload) => (await callAs(claims)).message;
    const { drover_roles: _, ...withoutRole } = ada;
    expect(await named(withoutRole)).toContain('"ada@example.com"');
    expect(await named({ ...withoutRole, email_verified: false })).toContain('"u-1"');
    expect(await callAs({ drover_roles: "viewer" })).toMatchObject({ details: { why: "unnamed" } });
  });

  test("are for the namespace default, for those that they name, or for all of them", async () => {
    const at = async (namespaces: unknown, namespace: string) =>
      call(await provider.sign({ ...ada, drover_namespaces: namespaces }), getRun, {
        namespace,
        run,
      });
    expect(await at(undefined, "default")).toMatchObject({ code: Code.OK });
    expect(await at(["blue", "default"], "default")).toMatchObject({ code: Code.OK });
    expect(await at("*", "default")).toMatchObject({ code: Code.OK });
    const foreign = await at(["blue", "green"], "payments");
    expect(foreign).toMatchObject({ code: Code.PERMISSION_DENIED, reason: "NOT_ALLOWED" });
    expect(foreign.message).toContain('the namespaces "blue", "green", and the call names');
    for (const none of [[], 7, { all: true }])
      expect(await at(none, "default")).toMatchObject({ reason: "NOT_ALLOWED" });
  });

  test("of some namespaces show no other one", async () => {
    const some = await provider.sign({ ...ada, drover_namespaces: ["blue", "default"] });
    const asked: unknown[] = [];
    const { namespaces } = world.lists;
    world.lists.namespaces = (of, limit) => {
      asked.push(of.names);
      return namespaces(of, limit);
    };
    expect(await call(some, listNamespaces, {})).toMatchObject({ code: Code.OK });
    expect(await call(some, getClusterInfo, {})).toMatchObject({ code: Code.OK });
    expect(asked).toEqual([["blue", "default"]]);
    expect(await call(some, listPartitions, {})).toMatchObject({ reason: "NOT_ALLOWED" });
    const all = await provider.sign({ ...ada, drover_namespaces: ["*"] });
    expect(await call(all, listPartitions, {})).toMatchObject({ code: Code.OK });
  });

  test("bind an agent to its queues", async () => {
    const agent = { sub: "flights", drover_roles: "agent", drover_queues: ["travel"] };
    const token = await provider.sign(agent);
    const poll = (name: string) => ({ agent: AGENT, pollSeq: 1n, queues: [{ name }] });
    expect(await call(token, pollTask, poll("travel"))).toMatchObject({ code: Code.OK });
    expect(await call(token, pollTask, poll("cars"))).toMatchObject({ reason: "NOT_ALLOWED" });
  });

  test("are found by path, or by a whole name with dots", async () => {
    await serveAgain({
      rolesClaim: "realm_access.roles",
      namespacesClaim: "https://example.com/namespaces",
      nameClaim: "preferred_username",
    });
    const claims = {
      sub: "u-1",
      preferred_username: "ada",
      realm_access: { roles: ["viewer"] },
      "https://example.com/namespaces": ["blue"],
    };
    const refused = await callAs(claims);
    expect(refused.message).toMatch(/^The JWT of "ada" is for the namespace "blue"/);
  });
});

describe("the keys of the provider", () => {
  test("are read once for many calls, also for those of keys that it does not have", async () => {
    const token = await provider.sign(ada);
    const key = await provider.newKey("unknown");
    const forged = await provider.sign(ada, { key });
    const flood = Array.from({ length: 50 }, (_, n) => readRun(n % 2 === 0 ? forged : token));
    const codes = (await Promise.all(flood)).map(({ code }) => code);
    expect(codes).toEqual(codes.map((_, n) => (n % 2 === 0 ? Code.UNAUTHENTICATED : Code.OK)));
    for (let n = 0; n < 20; n++)
      expect(await readRun(forged)).toMatchObject({ details: { why: "invalid" } });
    expect(provider.keysRead()).toBe(1);
  });

  test("are read again for a new one, and the old one ends", async () => {
    const before = await provider.sign(ada);
    expect(await readRun(before)).toMatchObject({ code: Code.OK });
    await provider.publish(await provider.newKey("key-2"));
    const after = await provider.sign(ada);
    laterForJose();
    expect(await readRun(after)).toMatchObject({ code: Code.OK });
    expect(await readRun(before)).toMatchObject({ details: { why: "invalid" } });
  });

  test("that cannot be read make no statement about a JWT", async () => {
    provider.broken = { status: 503 };
    const token = await provider.sign(ada);
    const refused = await readRun(token);
    expect(refused).toMatchObject({ code: Code.UNAVAILABLE, reason: "KEYS_UNAVAILABLE" });
    expect(refused.message).toMatch(/keys of the identity provider cannot be read/);
    const headers = { authorization: `Bearer ${token}` };
    const json = await postJson(world.port, getRun, { run: { runId: RUN_ID } }, headers);
    expect([json.http, json.reason]).toEqual([503, "KEYS_UNAVAILABLE"]);
    provider.broken = null;
    now += 1_001;
    expect(await readRun(token)).toMatchObject({ code: Code.OK });
  });

  test("that are known serve on while the provider is down, whatever others send", async () => {
    const token = await provider.sign(ada);
    expect(await readRun(token)).toMatchObject({ code: Code.OK });
    provider.broken = { status: 503 };
    laterForJose();
    const forged = await provider.sign(ada, { key: await provider.newKey("unknown") });
    for (let n = 0; n < 10; n++) {
      expect(await readRun(forged)).toMatchObject({ reason: "KEYS_UNAVAILABLE" });
      expect(await readRun(token)).toMatchObject({ code: Code.OK });
    }
    expect(provider.keysRead()).toBe(2);
  });

  test("are not taken from a provider that is of another issuer", async () => {
    provider.broken = { status: 200, body: JSON.stringify({ issuer: "https://evil.example" }) };
    expect(await callAs(ada)).toMatchObject({ reason: "KEYS_UNAVAILABLE" });
  });

  test("may be in a file, which is read again", async () => {
    const folder = mkdtempSync(join(tmpdir(), "drover-keys-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, "keys.json");
    writeFileSync(file, JSON.stringify(provider.keys));
    await serveAgain({ jwks: file });
    const before = await provider.sign(ada);
    expect(await readRun(before)).toMatchObject({ code: Code.OK });
    await provider.publish(await provider.newKey("key-2"));
    writeFileSync(file, JSON.stringify(provider.keys));
    now += 10_001;
    expect(await callAs(ada)).toMatchObject({ code: Code.OK });
    expect(await readRun(before)).toMatchObject({ details: { why: "invalid" } });
    expect(provider.keysRead()).toBe(0);
    writeFileSync(file, "{}");
    await expect(serve({ jwks: file })).rejects.toThrow(/cannot be read from .*keys.json/);
  });
});

function laterForJose() {
  const real = Date.now;
  const spy = vi.spyOn(Date, "now").mockImplementation(() => real() + LATER_MS);
  onTestFinished(() => spy.mockRestore());
}
