/**
 * A small part of the conformance suite, so that what breaks an agent is seen by `npm run
 * test:all`. The whole of it runs by `npm run conformance`.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";
import { agents } from "./agents.ts";
import { scenarios } from "./scenarios/scenarios.ts";
import { type RunningServers, startServers } from "./servers.ts";
import { putToTheTest } from "./suite.ts";

const names = [
  "success",
  "details-resume",
  "cancel",
  "lost-answer",
  "refused-route",
  "drain-gives-back",
];
/** Their first build takes minutes. */
const elsewhere = ["stub-java", "stub-rust"];
/** The first build of a machine fetches packages. */
const agentMs = 540_000;
let database: TestDatabase;
let servers: RunningServers;

beforeAll(async () => {
  database = await createTestDatabase();
  servers = await startServers(database.connectionString);
});

afterAll(async () => {
  await servers.stop();
  await database.drop();
});

const tested = agents.filter(({ name }) => !elsewhere.includes(name));
test.for(tested)("$name does what is asked of it", { timeout: agentMs }, async (agent, context) => {
  const played = scenarios.filter(({ name }) => names.includes(name));
  const report = () => undefined;
  const options = { servers, scenarios: played, jobs: names.length, report };
  const { marks, skipped, required } = await putToTheTest(agent, options);
  if (skipped !== null) {
    if (required) throw new Error(skipped);
    context.skip(skipped);
  }
  const failed = [...marks].flatMap(([name, mark]) =>
    mark.kind === "failed" ? [`${name}: ${mark.why}`] : [],
  );
  expect(failed).toEqual([]);
  expect(marks.size).toBe(names.length);
});
