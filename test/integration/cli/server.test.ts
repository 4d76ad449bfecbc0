// drover server: the program on a PostgreSQL of one's own, and how it ends.
import { afterAll, beforeAll, expect, test } from "vitest";
import { drover, startDrover, withoutSlowDatabase } from "../../support/drover-process.ts";
import { callJson, jsonAgent } from "../../support/json-call.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase({ empty: true });
});
afterAll(() => database?.drop());

const start = (...args: string[]) =>
  startDrover(["server", "--address", "127.0.0.1:0", ...args], {
    env: { DATABASE_URL: database.connectionString },
  });

async function addressOf(server: ReturnType<typeof start>): Promise<string> {
  const output = await server.wrote("next: drover run list");
  return /server +([\d.:]+): /.exec(output)?.[1] ?? "";
}

test("migrates the database of DATABASE_URL, serves on it, and drains at SIGTERM", async () => {
  const server = start();
  const address = await addressOf(server);
  const agent = jsonAgent("parked");
  const parked = callJson(address, "AgentService/PollTask", { agent, pollSeq: 1, wait: "60s" });
  const listed = await drover(["run", "list"], { env: { DROVER_ADDRESS: address } });
  expect(listed).toMatchObject({ code: 0 });
  server.signal("SIGTERM");
  expect(await parked).toEqual({ status: 200, body: { waited: "0s" } });
  const { code, stderr } = await server.ended;
  expect(code).toBe(0);
  const output = "SIGTERM: draining; a second signal stops at once\nstopped\n";
  expect(withoutSlowDatabase(stderr)).toBe(output);
  const url = { env: { DATABASE_URL: database.connectionString } };
  expect(await drover(["migrate"], url)).toMatchObject({ stderr: "the database is up to date\n" });
});

test("refuses to listen for others without identities, and prints what to do", async () => {
  const { code, stderr } = await startDrover(["server", "--address", "0.0.0.0:0"], {
    env: { DATABASE_URL: database.connectionString },
  }).ended;
  expect(code).not.toBe(0);
  expect(stderr).toContain("--insecure-no-auth");
});

test("prints what to do when the database cannot be reached", async () => {
  const { code, stderr } = await startDrover(["server", "--address", "127.0.0.1:0"], {
    env: { DATABASE_URL: "postgresql://nobody@127.0.0.1:1/none" },
  }).ended;
  expect(code).toBe(3);
  expect(stderr).toBe(
    "drover: cannot use the database: no process listens there\n" +
      "  next: correct DATABASE_URL or start that PostgreSQL; drover dev starts an embedded one\n",
  );
});
