// A database goes back to an earlier state while servers live on: a standby without the last
// transactions, or a backup. What a server has stored is forgotten, and no id is given out again to
// another owner: a caller of one namespace never sees another one's runs.
import { execFileSync } from "node:child_process";
import { renameSync, rmSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createEmbeddedPostgres, type EmbeddedPostgres } from "../../../dev-postgres/postgres.ts";
import { migrate } from "../../../server/store/postgres/migrate.ts";
import { MIGRATIONS } from "../../../server/store/postgres/migrations-folder.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";
import { makeTestFolder } from "../../support/global-postgres.ts";
import { at, callJson, jsonAgent, textAt } from "../../support/json-call.ts";
import { until } from "../../support/until.ts";

let folder: string;
let postgres: EmbeddedPostgres;
let url: string;

beforeAll(async () => {
  folder = await makeTestFolder();
  postgres = createEmbeddedPostgres({ dataDir: `${folder}/data`, log: () => undefined });
  ({ connectionString: url } = await postgres.start());
  await migrate(url, { folder: MIGRATIONS });
});
afterAll(() => postgres?.stop());

async function begin(server: TestServer, namespace: string, workflow: string, task: string) {
  await callJson(server.address, "OperatorService/CreateNamespace", { name: namespace });
  const definition = { workflow, steps: [{ id: `step-of-${task}`, task: { name: task } }] };
  await callJson(server.address, "SchedulerService/RegisterWorkflow", { namespace, definition });
  return start(server, namespace, workflow);
}

async function start(server: TestServer, namespace: string, workflow: string): Promise<string> {
  const input = { json: JSON.stringify({ of: namespace }) };
  const asked = { namespace, workflow: { name: workflow }, input };
  const { body } = await callJson(server.address, "SchedulerService/Schedule", asked);
  return textAt(body, "runId");
}

it("a server that lives on serves no other owner's runs, tasks and plans", async () => {
  const first = await startDroverServer(url);
  // What the standby has.
  await postgres.stop();
  // With its owner, who is another account where the tests run as root.
  execFileSync("cp", ["-a", `${folder}/data`, `${folder}/standby`]);
  await postgres.start();
  const lost = await until("the first server", () =>
    begin(first, "acme", "pay", "charge-card").catch(() => null),
  );
  // Its tail is lost.
  await postgres.stop();
  rmSync(`${folder}/data`, { recursive: true });
  renameSync(`${folder}/standby`, `${folder}/data`);
  await postgres.start();
  const second = await startDroverServer(url);
  const run = await begin(second, "globex", "ship", "ship-parcel");

  // Its first call may be the one whose connection reports that the database is another one.
  await until("the first server to forget acme", async () => {
    const asked = { namespace: "acme" };
    const { body } = await callJson(first.address, "SchedulerService/ListRuns", asked);
    expect(at(body, "runs") ?? []).toEqual([]);
    return at(body, "code") === "not_found" ? true : null;
  });
  const other = await start(first, "globex", "ship");
  const got = new Map<string, string>();
  const agent = jsonAgent("globex-1");
  for (const pollSeq of ["1", "2"]) {
    const { body } = await callJson(first.address, "AgentService/PollTask", {
      agent,
      pollSeq,
      namespace: "globex",
      tasks: ["ship-parcel"],
      maxTasks: 1,
      queues: [{ name: "default" }],
      wait: "20s",
    });
    got.set(textAt(body, "tasks", 0, "runId"), textAt(body, "tasks", 0, "stepId"));
  }
  expect(Object.fromEntries(got)).toEqual({
    [run]: "step-of-ship-parcel",
    [other]: "step-of-ship-parcel",
  });
  expect(got.has(lost)).toBe(false);
  await first.stop();
  await second.stop();
});
