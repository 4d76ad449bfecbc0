/** API tokens of clients and agents, on a real server that requires them. */
import { Role } from "@drover/proto/drover/v1/token_pb.ts";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { createAgent } from "../../../sdk/typescript/agent.ts";
import { createClient } from "../../../sdk/typescript/client.ts";
import { createTokenInDatabase } from "../../../server/first-token.ts";
import { silentLog } from "../../support/agent-script.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";

let database: TestDatabase;
let server: TestServer;
beforeAll(async () => {
  database = await createTestDatabase();
  server = await startDroverServer(database.connectionString, { requireTokens: true });
});
afterAll(async () => {
  await server?.stop();
  await database?.drop();
});

async function tokenOf(role: Role, queues: readonly string[] = []): Promise<string> {
  const fields = { name: "a-token", by: "ada", role, queues: [...queues] };
  return (await createTokenInDatabase(database.connectionString, fields)).secret;
}

function clientWith(token?: string) {
  const { address } = server;
  const client = createClient({ address, ...(token === undefined ? {} : { token }) });
  onTestFinished(() => client.close());
  return client;
}

const charge = { workflow: "charge", steps: [{ id: "charge", task: "charge", queue: "shop" }] };

test("a client and an agent with tokens have a run done, and watch it by a stream", async () => {
  const agent = createAgent({
    address: server.address,
    id: "till",
    queues: ["shop"],
    log: silentLog,
    token: await tokenOf(Role.AGENT, ["shop"]),
    handlers: { charge: () => "paid" },
  });
  agent.start();
  onTestFinished(() => agent.stop());
  const client = clientWith(await tokenOf(Role.CLIENT));
  const { runId } = await client.schedule({ workflow: charge });
  const states: string[] = [];
  for await (const { run } of client.watchRun(runId)) states.push(run.state);
  expect(states.at(-1)).toBe("COMPLETED");
});

test("without a token, or with one that may not, a call is refused at once with the reason", async () => {
  await expect(clientWith().schedule({ workflow: charge })).rejects.toMatchObject({
    code: "UNAUTHENTICATED",
    reason: "TOKEN_REQUIRED",
  });
  const viewer = clientWith(await tokenOf(Role.VIEWER));
  await expect(viewer.schedule({ workflow: charge })).rejects.toMatchObject({
    code: "PERMISSION_DENIED",
    reason: "NOT_ALLOWED",
  });
});

test("a token of the environment is sent, unless another is given", async () => {
  vi.stubEnv("DROVER_TOKEN", await tokenOf(Role.CLIENT));
  onTestFinished(() => void vi.unstubAllEnvs());
  await expect(clientWith().schedule({ workflow: charge })).resolves.toHaveProperty("runId");
  await expect(clientWith("").schedule({ workflow: charge })).rejects.toMatchObject({
    reason: "TOKEN_REQUIRED",
  });
});

test("what cannot be a token is refused without being printed", () => {
  expect(() => createClient({ address: server.address, token: "drover_x\n" })).toThrow(
    /^The token has characters that no token has/,
  );
});

test("a token goes in plain text to this machine alone, unless that is asked for", () => {
  const elsewhere = { address: "drover.example.com:7420", token: "drover_x" };
  expect(() => createClient(elsewhere)).toThrow(/in plain text, for all to read.*plaintextToken/);
  for (const how of [{ plaintextToken: true }, { tls: {} }])
    createClient({ ...elsewhere, ...how }).close();
});
