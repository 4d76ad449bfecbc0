// Commands of a person who signs in by a JWT: no name of the environment is sent beside it, and
// what is shown says whether a name was verified.
import { afterAll, beforeAll, expect, test } from "vitest";
import { NO_IDENTITIES, oidcConfig } from "../../../server/identity-config.ts";
import { callDrover } from "../../support/drover-call.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";
import { type IdentityProvider, startIdentityProvider } from "../../support/identity-provider.ts";

const ADA = "ada@example.com";
let provider: IdentityProvider;
let server: TestServer;
let jwt: string;

beforeAll(async () => {
  provider = await startIdentityProvider();
  const { issuer, audience } = provider;
  const identities = { ...NO_IDENTITIES, oidc: oidcConfig({ issuer, audience }) };
  server = await startDroverServer(undefined, { requireTokens: true, identities });
  jwt = await provider.sign({ sub: "u-1", email: ADA, drover_roles: "admin" });
});
afterAll(async () => {
  await server?.stop();
  await provider?.close();
});

const run = (token: string, ...args: readonly string[]) =>
  callDrover([...args, "--address", server.address], {
    env: { DROVER_TOKEN: token, DROVER_USER: "bob", USER: "root" },
  });

test("the audit shows which names were verified", async () => {
  expect(await run(jwt, "queue", "pause", "mail", "--reason", "r")).toMatchObject({ code: 0 });
  const made = await run(jwt, "token", "create", "ops", "--role", "operator");
  expect(made).toMatchObject({ code: 0 });
  const resumed = await run(made.stdout.trim(), "queue", "resume", "mail");
  expect(resumed).toMatchObject({ code: 0 });
  const { stdout } = await run(jwt, "audit", "list");
  expect(stdout).toMatch(/queue\.pause +queue\/mail +ada@example\.com {2}/);
  expect(stdout).toMatch(/queue\.resume +queue\/mail +bob \(not verified\) {2}/);
});

test("another name than the proved one is refused", async () => {
  expect(await run(jwt, "agent", "cordon", "a-1", "--by", "bob")).toMatchObject({
    stderr: expect.stringMatching(/The JWT of "ada@example.com" proves who calls, and the call/),
  });
});
