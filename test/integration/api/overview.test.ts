// What the overview counts: exactly, however many runs there are, on a real server.

import { createClient as createRpcClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import type { Activity } from "@drover/proto/drover/v1/overview_pb.ts";
import { RunState } from "@drover/proto/drover/v1/run_pb.ts";
import { createAgent, PermanentError } from "@drover/sdk";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient } from "../../../sdk/typescript/client.ts";
import { silentLog } from "../../support/agent-script.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";
import { callJson, listAt } from "../../support/json-call.ts";
import { writtenSchema } from "../../support/test-shards.ts";

const FAILED = 18;
const GOOD = 1_000;
const BATCH = 500;
/** Its only step is skipped: it ends in its first pass. */
const GOOD_RUN = `workflow: good\nsteps: [{ id: a, task: never, when: '\${false}' }]\n`;
const BAD_RUN = "workflow: bad\nsteps: [{ id: a, task: fail, retry: { attempts: 1 } }]\n";
const OPEN_RUN = "workflow: open\nsteps: [{ id: a, task: never }]\n";

let server: TestServer;
let client: ReturnType<typeof createClient>;
beforeAll(async () => {
  server = await startDroverServer();
  client = createClient({ address: server.address });
  for (const text of [GOOD_RUN, BAD_RUN, OPEN_RUN]) await client.registerWorkflow(text);
});
afterAll(async () => {
  client.close();
  await server.stop();
});

async function watched(): Promise<Activity | undefined> {
  const transport = createConnectTransport({
    baseUrl: `http://${server.address}`,
    httpVersion: "1.1",
  });
  const operator = createRpcClient(OperatorService, transport);
  for await (const state of operator.watchOverview({})) return state.activity;
  return undefined;
}

async function startMany(workflow: string, count: number): Promise<void> {
  for (let started = 0; started < count; started += BATCH) {
    const runs = Array.from({ length: BATCH }, () => ({ workflow: { name: workflow } }));
    const { body } = await callJson(server.address, "SchedulerService/ScheduleBatch", { runs });
    expect(listAt(body, "results")).toHaveLength(BATCH);
  }
}

test("runs that failed do not vanish behind a thousand younger ones that completed", async () => {
  const agent = createAgent({
    address: server.address,
    id: "bad-1",
    slots: 20,
    log: silentLog,
    handlers: {
      fail: async () => {
        throw new PermanentError("broken", "it is broken");
      },
    },
  });
  agent.start();
  const bad = Array.from({ length: FAILED }, () => client.schedule({ workflow: "bad" }));
  for (const { runId } of await Promise.all(bad)) await client.waitRun(runId);
  await agent.stop();
  await client.schedule({ workflow: "open" });
  await startMany("good", GOOD);

  const seen = await watched();
  expect(seen?.states).toMatchObject([
    { state: RunState.RUNNING, count: 1 },
    { state: RunState.COMPLETED, count: GOOD },
    { state: RunState.FAILED, count: FAILED },
  ]);
  const sum = (of: "accepted" | "completed" | "failed" | "notCompleted") =>
    seen?.minutes.reduce((total, minute) => total + minute[of], 0);
  expect(sum("accepted")).toBe(FAILED + 1 + GOOD);
  expect(sum("completed")).toBe(GOOD);
  expect([sum("failed"), sum("notCompleted")]).toEqual([FAILED, FAILED]);
  expect(seen?.unsuccessfulWorkflows).toMatchObject([
    { workflow: "bad", completed: 0, failed: FAILED },
  ]);

  const { body } = await callJson(server.address, "OperatorService/GetOverview", {});
  expect(listAt(body, "activity", "states")).toEqual([
    { state: "RUN_STATE_RUNNING", count: 1 },
    { state: "RUN_STATE_COMPLETED", count: GOOD },
    { state: "RUN_STATE_FAILED", count: FAILED },
  ]);
  // What drover status prints of open runs is what the overview has.
  const { body: cluster } = await callJson(server.address, "OperatorService/GetClusterInfo", {});
  expect(listAt(cluster, "openRuns")).toEqual([{ state: "RUN_STATE_RUNNING", count: 1 }]);
});

test("a workflow's runs of a day are counted as exactly, with their durations and what failed", async () => {
  const ask = (name: string) =>
    callJson(server.address, "SchedulerService/GetWorkflow", { name, includeStatistics: true });
  const { body: good } = await ask("good");
  expect(good).toMatchObject({ statistics: { completed: GOOD, p50: expect.any(String) } });
  expect(good).not.toHaveProperty("failingSteps");
  const { body: bad } = await ask("bad");
  expect(bad).toMatchObject({
    statistics: { failed: FAILED, lastFailureTime: expect.any(String) },
    failingSteps: [
      { stepId: "a", code: "broken", failedSteps: FAILED, lastMessage: "it is broken" },
    ],
  });
  expect(bad).not.toHaveProperty("statistics.p50");
  const { body: open } = await ask("open");
  expect(open).toMatchObject({ statistics: { sinceTime: expect.any(String) } });
  expect(open).not.toHaveProperty("statistics.completed");

  const asked = { includeStatistics: true };
  const { body: list } = await callJson(server.address, "SchedulerService/ListWorkflows", asked);
  expect(listAt(list, "workflows")).toMatchObject([
    { name: "bad", statistics: { failed: FAILED } },
    { name: "good", statistics: { completed: GOOD } },
    { name: "open", statistics: {} },
  ]);
});

test("an earlier minute retains what was counted in it, added up by housekeeping or not", async () => {
  const database = new pg.Client({ connectionString: server.connectionString });
  await database.connect();
  const earlier = "date_bin('1 minute', now(), timestamptz 'epoch') - interval '10 minutes'";
  const counted = `with counted as materialized (
    select ${earlier} as at, n.id, 3 as runs, 5 as event, 'bad' as workflow
    from drover.namespace as n where n.name = 'default'
  )`;
  const row = "c.at, c.id, c.runs, c.event, c.workflow";
  await database.query(
    `${counted} insert into ${writtenSchema}.run_count (minute, namespace_id, runs, event, workflow)
     select ${row} from counted as c`,
  );
  await database.query(
    `${counted} insert into ${writtenSchema}.run_count_delta (at, namespace_id, runs, event, workflow, took)
     select ${row}, '{1,2,2}' from counted as c`,
  );
  await database.end();
  await startMany("good", GOOD);
  const { body } = await callJson(server.address, "OperatorService/GetOverview", {});
  const [first, ...younger] = listAt(body, "activity", "minutes");
  expect(first).toMatchObject({ failed: 6, notCompleted: 6 });
  expect(younger.length).toBeGreaterThan(0);
});
