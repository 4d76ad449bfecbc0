// The database goes away for ten seconds and comes back, under a real server process.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createEmbeddedPostgres, type EmbeddedPostgres } from "../../dev-postgres/postgres.ts";
import { type ServerProcess, spawnDroverServer } from "../support/drover-server.ts";
import { makeTestFolder } from "../support/global-postgres.ts";
import { at, callJson, jsonAgent, textAt } from "../support/json-call.ts";
import { until } from "../support/until.ts";

const OUTAGE_MS = 10_000;

let postgres: EmbeddedPostgres;
let server: ServerProcess;

beforeAll(async () => {
  postgres = createEmbeddedPostgres({
    dataDir: `${await makeTestFolder()}/data`,
    log: () => undefined,
  });
  const { connectionString } = await postgres.start();
  server = await spawnDroverServer(connectionString);
});
afterAll(async () => {
  server?.child.kill("SIGKILL");
  await postgres?.stop();
});

const definition = {
  workflow: "outage",
  steps: [
    { id: "a", task: { name: "a" }, timeouts: { heartbeat: "4s" } },
    { id: "b", task: { name: "b" }, needs: ["a"] },
  ],
};

describe("the database goes away for ten seconds", () => {
  it("calls answer UNAVAILABLE, no process exits, nothing acknowledged is lost, work continues", async () => {
    const agent = jsonAgent("patient");
    const schedule = (key: string) =>
      callJson(server.address, "SchedulerService/Schedule", { definition, key });
    const scheduled = await schedule("before");
    expect(scheduled.status).toBe(200);
    const polled = await callJson(server.address, "AgentService/PollTask", { agent, pollSeq: 1 });
    const taskToken = textAt(polled.body, "tasks", 0, "taskToken");

    await postgres.stop();
    const awayAt = performance.now();
    const refused = await schedule("during");
    expect(refused.status).toBe(503);
    expect(refused.body).toMatchObject({ code: "unavailable" });
    expect(JSON.stringify(at(refused.body, "details"))).toContain("STORE_UNAVAILABLE");
    const sendHeartbeat = () =>
      callJson(server.address, "AgentService/Heartbeat", {
        agent,
        reports: [{ taskToken }],
      });
    expect((await sendHeartbeat()).status).toBe(503);
    await until(
      "the outage has lasted ten seconds",
      () => (performance.now() - awayAt >= OUTAGE_MS ? true : null),
      2 * OUTAGE_MS,
    );
    await postgres.start();
    expect(server.child.exitCode).toBeNull();

    // The lease did not end by silence: no server could have received a heartbeat meanwhile.
    const answered = await until("the server answers again", async () => {
      const answer = await sendHeartbeat();
      return answer.status === 200 ? answer.body : null;
    });
    expect(at(answered, "answers", 0)).toHaveProperty("carryOn");
    const outcome = { success: {} };
    const completed = await callJson(server.address, "AgentService/Complete", {
      agent,
      results: [{ taskToken, outcome }],
    });
    expect(at(completed.body, "answers", 0, "status")).toEqual({});
    const next = await callJson(server.address, "AgentService/PollTask", { agent, pollSeq: 2 });
    await callJson(server.address, "AgentService/Complete", {
      agent,
      results: [{ taskToken: textAt(next.body, "tasks", 0, "taskToken"), outcome }],
    });
    const waited = await callJson(server.address, "SchedulerService/WaitRun", {
      run: { key: "before" },
    });
    expect(at(waited.body, "run", "state")).toBe("RUN_STATE_COMPLETED");
    const again = await schedule("before");
    expect(at(again.body, "runId")).toBe(textAt(scheduled.body, "runId"));
    expect((await schedule("during")).status).toBe(200);
  });
});
