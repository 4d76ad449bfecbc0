// A transaction pooler between Drover and PostgreSQL: recognised, refused for leases with the way
// out, and good enough for everything else.
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { startServer, startSupervisor } from "../../../server/main.ts";
import { createPostgresStore } from "../../../server/store/postgres/postgres-store.ts";
import { newUuid } from "../../contract/fixture.ts";
import { quietLog } from "../../support/control-plane.ts";
import { drover } from "../../support/drover-process.ts";
import { callJson, jsonAgent, listAt, textAt } from "../../support/json-call.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import {
  startTransactionPooler,
  type TransactionPooler,
} from "../../support/transaction-pooler.ts";

let database: TestDatabase;
let pooler: TransactionPooler;

beforeAll(async () => {
  database = await createTestDatabase();
  pooler = await startTransactionPooler(database.connectionString);
});
afterAll(async () => {
  await pooler?.stop();
  await database?.drop();
});

const log = { level: "silent" } as const;
const pooled = () => ({ kind: "url", url: pooler.connectionString }) as const;
const both = () => ({ ...pooled(), directUrl: database.connectionString });

describe("a transaction pooler", () => {
  it("is one that lends a session's process to others: the one of these tests does", async () => {
    const clients = [0, 1].map(() => new pg.Client({ connectionString: pooler.connectionString }));
    for (const client of clients) await client.connect();
    const pids = [];
    for (const client of clients)
      pids.push((await client.query<{ pid: number }>("select pg_backend_pid() as pid")).rows[0]);
    expect(pids[0]).toEqual(pids[1]);
    for (const client of clients) await client.end();
  });

  it("is recognised when a session is to be joined, with the way out", async () => {
    const { connectionString } = pooler;
    const store = createPostgresStore({ connectionString, log: quietLog });
    onTestFinished(() => store.close());
    const joining = store.partitions.join({ node: newUuid(), address: "test" });
    await expect(joining).rejects.toMatchObject({
      reason: "NOT_SUPPORTED",
      message: expect.stringMatching(/transaction pooler.*DROVER_DIRECT_URL or --direct-database/),
    });
    const direct = await store.lists.regions();
    expect(direct).toMatchObject([{ name: "default", watched: 0 }]);
  });

  it("is passed by where a second URL leads to PostgreSQL itself", async () => {
    const { connectionString } = pooler;
    const directConnectionString = database.connectionString;
    const store = createPostgresStore({ connectionString, directConnectionString, log: quietLog });
    onTestFinished(() => store.close());
    const session = await store.partitions.join({ node: newUuid(), address: "test" });
    expect(await session.tryLock([7])).toEqual([7]);
    expect(await session.takeOver([7])).toMatchObject([{ partition: 7 }]);
    await session.leave();
  });

  it("keeps a supervisor from starting, and a server that would watch", async () => {
    const refused = { reason: "NOT_SUPPORTED" };
    await expect(startSupervisor({ database: pooled(), log })).rejects.toMatchObject(refused);
    const server = startServer({ address: "127.0.0.1:0", database: pooled(), log });
    await expect(server).rejects.toMatchObject(refused);
    const { code, stderr } = await drover(["supervisor"], {
      env: { DATABASE_URL: pooler.connectionString },
    });
    expect(code).toBe(1);
    expect(stderr).toContain("DROVER_DIRECT_URL");
  });

  it.for([
    { what: "a server that does not watch", supervisor: "none", of: pooled },
    { what: "one that watches past it", supervisor: "embedded", of: both },
  ] as const)("serves calls through it: $what", async ({ supervisor, of }) => {
    const server = await startServer({ address: "127.0.0.1:0", database: of(), log, supervisor });
    onTestFinished(() => server.stop());
    const definition = { workflow: "pooled", steps: [{ id: "a", task: { name: supervisor } }] };
    const runs = await Promise.all(
      Array.from({ length: 20 }, () =>
        callJson(server.address, "SchedulerService/Schedule", { definition }),
      ),
    );
    const agent = jsonAgent("one");
    const polled = await callJson(server.address, "AgentService/PollTask", {
      agent,
      pollSeq: 1,
      maxTasks: 50,
      wait: "5s",
      tasks: [supervisor],
    });
    const results = listAt(polled.body, "tasks").map((task) => ({
      taskToken: textAt(task, "taskToken"),
      outcome: { success: {} },
    }));
    expect(results).toHaveLength(20);
    await callJson(server.address, "AgentService/Complete", { agent, results });
    for (const { body } of runs) {
      const runId = textAt(body, "runId");
      const { body: run } = await callJson(server.address, "SchedulerService/GetRun", {
        run: { runId },
      });
      expect(textAt(run, "run", "state")).toBe("RUN_STATE_COMPLETED");
    }
  });
});
