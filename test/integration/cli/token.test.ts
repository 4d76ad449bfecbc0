/** drover token, and a server that requires tokens, as their operator meets them. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callDrover } from "../../support/drover-call.ts";
import { startDrover } from "../../support/drover-process.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";

const ALL = ["--all-namespaces", "--by", "ada"];

let database: TestDatabase;
let server: ReturnType<typeof startDrover>;
let folder: string;
let address: string;
let admin: string;
beforeAll(async () => {
  database = await createTestDatabase({ empty: true });
  folder = mkdtempSync(join(tmpdir(), "drover-token-"));
  const url = { DATABASE_URL: database.connectionString };
  const args = ["token", "create", "first", "--role", "admin", ...ALL, "--in-database"];
  const made = await callDrover(args, { env: url, cwd: folder });
  admin = made.stdout.trim();
  expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^drover_[\w-]{43}\n$/) });
  expect(made.stderr).toMatch(/^token [0-9a-f]{16} first created, for admins in every namespace/);
  const env = { ...url, DROVER_REQUIRE_TOKENS: "yes" };
  server = startDrover(["server", "--address", "127.0.0.1:0"], { env });
  const output = await server.wrote("next: drover token create --help");
  address = /server +([\d.:]+): /.exec(output)?.[1] ?? "";
});
afterAll(async () => {
  server?.signal("SIGTERM");
  await server?.ended;
  await database?.drop();
  rmSync(folder, { recursive: true });
});

const run = (token: string | null, ...args: string[]) => {
  const credentials: Record<string, string> = token === null ? {} : { DROVER_TOKEN: token };
  return callDrover(args, { env: { DROVER_ADDRESS: address, ...credentials }, cwd: folder });
};

test("who shows no token, or one that may not, gets what to do", async () => {
  const none = await run(null, "run", "list");
  expect(none.code).toBe(1);
  expect(none.stderr).toMatch(/has no API token.*\n {2}next: pass one by --token or DROVER_TOKEN/);
  const { stdout } = await run(admin, "token", "create", "eyes", "--role", "viewer", "--by", "ada");
  const refused = await run(stdout.trim(), "queue", "pause", "travel", "--reason", "why not");
  expect(refused.code).toBe(1);
  expect(refused.stderr).toMatch(/"eyes" has the role "viewer", and PauseQueue takes one of/);
});

test("a token is sent from a flag, the environment or the file", async () => {
  expect(await run(null, "run", "list", "--token", admin)).toMatchObject({ code: 0 });
  expect(await run(admin, "run", "list")).toMatchObject({ code: 0 });
  writeFileSync(join(folder, "mine.yaml"), `token: ${admin}\n`);
  expect(await run(null, "run", "list", "--config", "mine.yaml")).toMatchObject({ code: 0 });
});

test("a token goes to another machine with TLS alone, unless that is asked for", async () => {
  const { code, stderr } = await run(admin, "run", "list", "--address", "192.0.2.1:7420");
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr:
      "drover: the token would be sent to 192.0.2.1:7420 unencrypted\n" +
      "  next: --address https://192.0.2.1:7420 for a server with TLS, or --plaintext-token if the network is trusted\n",
  });
  const plain = ["--address", "http://localhost.localdomain:1", "--plaintext-token"];
  expect(await run(admin, "run", "list", ...plain)).toMatchObject({ code: 3 });
});

test("what is no token is refused before it is sent, and not printed", async () => {
  const { code, stderr } = await run("drover_short", "run", "list");
  expect(code).toBe(2);
  expect(stderr).toMatch(/is not an API token.*\n {2}next: drover token create/);
  expect(stderr).not.toContain("drover_short");
});

test("config show shows where it comes from, and not what it is", async () => {
  const { stdout } = await run(admin, "config", "show");
  expect(stdout).toMatch(/^token +\*\*\* +environment DROVER_TOKEN$/m);
  expect(stdout).not.toContain(admin);
});

test("tokens are made, listed and revoked", async () => {
  const asked = ["--role", "agent", "--queue", "travel", "--valid-for", "30d", "--by", "ada"];
  const made = await run(admin, "token", "create", "flights", ...asked, "-o", "json");
  const { token, secret } = JSON.parse(made.stdout);
  expect(token).toMatchObject({ role: "ROLE_AGENT", queues: ["travel"], namespace: "default" });
  const { stdout: listed } = await run(admin, "token", "list");
  const mine = new RegExp(
    `^${token.id} +flights +agent +default +travel +ada, with the token`,
    "m",
  );
  expect(listed).toMatch(mine);
  expect(listed).not.toContain(secret);
  const revoked = await run(admin, "token", "revoke", token.id, "--by", "bob");
  expect(revoked.stdout).toMatch(/flights revoked by bob, with the token first at \d{4}-/);
  expect((await run(admin, "token", "list")).stdout).not.toContain(token.id);
  const ended = await run(admin, "token", "list", "--all-namespaces", "--ended");
  expect(ended.stdout).toMatch(/flights.*revoked \d{4}-.* by bob/);
});

test("what makes no sense is refused in the database as by a server", async () => {
  const env = { DATABASE_URL: database.connectionString };
  const args = ["token", "create", "x", "--role", "client", ...ALL, "--in-database"];
  const { code, stderr } = await callDrover(args, { env, cwd: folder });
  expect(code).toBe(1);
  expect(stderr).toContain('a token of the role "client" is for one namespace');
});

test("beyond loopback it wants TLS in front, and takes no for an answer", async () => {
  const env = { DATABASE_URL: database.connectionString, DROVER_TLS_IN_FRONT: "no" };
  const args = ["server", "--address", "0.0.0.0:0", "--require-tokens"];
  const { code, stderr } = await callDrover(args, { env, cwd: folder });
  expect(code).toBe(1);
  expect(stderr).toMatch(/in plain text, which exposes every token.*--tls-in-front/);
});
